"""Keeps listed words from the model's provider: stand-ins go out, the words come back.

The transcript keeps the real words; only what is sent is masked, the same way each time, so that a
provider's cache keeps working. The work stands in ``stand_ins.py``.
"""

from __future__ import annotations

from typing import Annotated

from hermes_plugins import ConfigSection, Host, Message, Meta, ModelRequest, Section, hookimpl


class Mask(Section, frozen=True, kw_only=True):
    """Section ``plugins.mask``."""

    words: Annotated[
        tuple[str, ...],
        Meta(
            description="Words that must not reach the provider; add new ones at the end",
            extra={"secret": True},
        ),
    ] = ()


@hookimpl
async def hermes_transform_model_request(host: Host, request: ModelRequest) -> ModelRequest:
    """Put stand-ins in place of the words."""
    from . import stand_ins

    return stand_ins.mask(request, host.section(Mask).words)


@hookimpl
async def hermes_transform_model_response(host: Host, response: Message) -> Message:
    """Put the words in place of their stand-ins, in text and in tool calls."""
    from . import stand_ins

    return stand_ins.unmask(response, host.section(Mask).words)


@hookimpl
def hermes_register_config() -> list[ConfigSection]:
    """The words."""
    return [ConfigSection(name="mask", schema=Mask)]
