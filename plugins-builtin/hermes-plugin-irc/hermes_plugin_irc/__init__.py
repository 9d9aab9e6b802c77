"""The platform irc. The connection stands in ``client.py``, imported when the gateway starts it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from hermes_plugins import (
    ConfigSection,
    DoctorCheck,
    Finding,
    Host,
    Meta,
    Platform,
    PlatformSpec,
    Section,
    SetupSection,
    hookimpl,
)

SERVER_PASSWORD = "IRC_PASSWORD"
SASL_PASSWORD = "IRC_SASL_PASSWORD"
_NICK = r"^[A-Za-z\[\]\\`_^{|}][A-Za-z0-9\[\]\\`_^{|}-]{0,29}$"


class Settings(Section, frozen=True, kw_only=True):
    """Section ``plugins.irc``. Passwords stand in .env: IRC_SASL_PASSWORD, IRC_PASSWORD."""

    server: Annotated[str, Meta(description="name or address of the server")] = "localhost"
    port: Annotated[int, Meta(description="its port", ge=1, le=65535)] = 6697
    tls: Annotated[bool, Meta(description="encrypt the connection and check the certificate")] = (
        True
    )
    ca_file: Annotated[str, Meta(description="certificates to trust in place of the system's")] = ""
    nick: Annotated[str, Meta(description="what the agent is called", pattern=_NICK)] = "hermes"
    account: Annotated[
        str, Meta(description="account to log in to with SASL; needs IRC_SASL_PASSWORD")
    ] = ""
    channels: Annotated[
        tuple[Annotated[str, Meta(pattern=r"^[#&+!][^\x00\x07\r\n ,]{1,63}$")], ...],
        Meta(description="channels to join"),
    ] = ()


@hookimpl
def hermes_register_config() -> list[ConfigSection]:
    """Where the server is, and who we are there."""
    return [ConfigSection(name="irc", schema=Settings, env=(SASL_PASSWORD, SERVER_PASSWORD))]


@hookimpl
def hermes_register_setup() -> list[SetupSection]:
    """Which server, under which name, and who may talk to the agent."""
    from .questions import section

    return [section(SASL_PASSWORD)]


@hookimpl
def hermes_register_platforms() -> list[PlatformSpec]:
    """The one platform. IRC knows no message ids and keeps nothing for who is away."""
    return [PlatformSpec(id="irc", make=_make)]


@hookimpl
def hermes_register_doctor() -> list[DoctorCheck]:
    """Whether the settings fit together and the server is there."""
    return [DoctorCheck(id="irc.settings", title="IRC", run=_look)]


async def _look(host: Host) -> Sequence[Finding]:
    from . import checks

    return await checks.look_at_settings(host)


def _make(host: Host) -> Platform:
    from .client import Irc

    return Irc(host)
