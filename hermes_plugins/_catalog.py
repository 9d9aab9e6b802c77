"""The catalogue: which providers, models and toolsets there are, and what keeps one from being used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from hermes_plugins._dialects import ToolSpec
from hermes_plugins._messages import Usage
from hermes_plugins._providers import ModelInfo, ProviderProfile
from hermes_plugins._setup import SetupSection


class ProviderState(msgspec.Struct, frozen=True, kw_only=True):
    """A provider as these settings have it.

    ``url`` is the address that is used, "" where none is known. ``key`` says where its key comes from:
    the name of a variable, ``credentials`` or "" for nowhere.
    """

    profile: ProviderProfile
    url: str = ""
    key: str = ""

    @property
    def usable(self) -> bool:
        """Whether a request could be tried; a local server may still be off."""
        return bool(self.url) and (bool(self.key) or not self.profile.key_required)


class ModelChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What a choice of model comes to: ``label`` is ``provider/model``, ``url`` where requests go.

    ``url`` is whole, ``base_url`` what it was made from, and ``address`` the setting or variable that
    holds that, "" where it is the provider's own. ``key`` says where the key comes from, as in
    `ProviderState`. ``stand_in``: no model, but what answers where none is connected.
    """

    label: str
    url: str
    dialect: str
    info: ModelInfo
    provider: str = ""
    base_url: str = ""
    address: str = ""
    key: str = ""
    stand_in: bool = False


class ModelReply(msgspec.Struct, frozen=True, kw_only=True):
    """What came back from the smallest request; ``seconds`` is how long that took."""

    choice: ModelChoice
    text: str
    seconds: float
    usage: Usage


class ListedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool of a toolset; ``off`` is why it cannot be used here, "" where it can."""

    name: str
    description: str
    off: str = ""


class ToolsetState(msgspec.Struct, frozen=True, kw_only=True):
    """An installed toolset; ``off`` is why its plugin is not on or not loaded, "" where it is.

    ``faces`` are those of ``toolsets.by_face`` that get it. One that is not ``builtin`` goes to every
    face, unless its list has ``-NAME``.
    """

    name: str
    plugin: str
    tools: tuple[ListedTool, ...] = ()
    faces: tuple[str, ...] = ()
    off: str = ""
    builtin: bool = False


class PromptPart(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a system prompt; ``plugin`` is whose section it is, "" for the kernel's own."""

    id: str
    plugin: str
    text: str


class PromptSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What every request of a session begins with; the texts of ``parts``, joined, are ``system``."""

    system: str
    parts: tuple[PromptPart, ...]
    tools: tuple[ToolSpec, ...]


class Catalog(Protocol):
    """What there is to choose from."""

    async def providers(self) -> Sequence[ProviderState]:
        """Every provider that is on, by id; nobody is asked over the network."""

    async def models(self, provider: str) -> Sequence[ModelInfo]:
        """The models that a provider lists now.

        Raises:
            UsageError: there is no such provider.
            ProviderError: it does not answer, or not with a list.
        """

    async def choose(self, model: str = "", provider: str = "") -> ModelChoice:
        """What a session would get; "" leaves it to the settings.

        Raises:
            UsageError: the provider or model is unknown, or its key is missing.
        """

    async def probe(self, model: str = "", provider: str = "") -> ModelReply:
        """Send the smallest real request, once; no session is kept.

        Raises:
            UsageError: as `choose`.
            ProviderError: it does not answer as a model would; ``reason`` is the classifier's.
        """

    async def setup(self) -> Sequence[SetupSection]:
        """What the plugins that are on want to ask a person, in their rank; loads them."""

    async def toolsets(self) -> Sequence[ToolsetState]:
        """Every installed toolset with its tools, by name; loads their plugins."""

    async def prompt(self, *, session: str = "", face: str = "cli") -> PromptSetup:
        """The prompt that is stored with a session, by its id; else what a new one would get.

        Parts of a stored one are told by their beginnings, as the plugins that are on render them now.

        Raises:
            UsageError: no model can be chosen for a new one.
            StoreError: there is no such session.
        """
