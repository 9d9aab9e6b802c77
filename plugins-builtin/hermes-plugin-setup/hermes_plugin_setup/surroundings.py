"""What is there already: providers and their keys, local servers that answer, another agent's home."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import msgspec

from hermes_plugins import (
    Catalog,
    CommandHost,
    Json,
    ModelChoice,
    ModelInfo,
    ProviderError,
    ProviderState,
    SetupSection,
    ToolsetState,
    UsageError,
)


class Surroundings(msgspec.Struct, frozen=True, kw_only=True):
    """What was found.

    ``servers`` are the local ones that answer, by id, with their models. ``chosen`` is what a session
    would get now; None where it would get none, and ``trouble`` says why.
    """

    providers: Sequence[ProviderState]
    servers: Mapping[str, Sequence[ModelInfo]]
    chosen: ModelChoice | None
    trouble: UsageError | None
    sections: Sequence[SetupSection]
    toolsets: Sequence[ToolsetState]

    def provider(self, name: str) -> ProviderState | None:
        """By id or alias."""
        return next(
            (one for one in self.providers if name in (one.profile.id, *one.profile.aliases)), None
        )

    @property
    def is_connected(self) -> bool:
        """Whether a session would get a model."""
        return self.chosen is not None and not self.chosen.stand_in


async def look(host: CommandHost, values: Mapping[str, Json] | None = None) -> Surroundings:
    """Look around; ``values`` count as set already.

    Raises:
        ConfigError: hermes.yaml is broken.
    """
    async with host.open(values) as face:
        catalog = face.catalog
        states = await catalog.providers()
        local = [one.profile.id for one in states if one.profile.local]
        answers = await asyncio.gather(*(_listed(catalog, one) for one in local))
        chosen: ModelChoice | None = None
        trouble: UsageError | None = None
        try:
            chosen = await catalog.choose()
        except UsageError as error:
            trouble = error
        return Surroundings(
            providers=states,
            servers={
                name: models
                for name, models in zip(local, answers, strict=True)
                if models is not None
            },
            chosen=chosen,
            trouble=trouble,
            sections=await catalog.setup(),
            toolsets=await catalog.toolsets(),
        )


async def _listed(catalog: Catalog, provider: str) -> Sequence[ModelInfo] | None:
    """The models of a local server; None where it does not answer as one."""
    try:
        return await catalog.models(provider)
    except (ProviderError, UsageError):
        return None
