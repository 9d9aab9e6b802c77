"""What `hermes doctor` says of IRC: whether the settings fit together and the server answers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from contextlib import suppress

from hermes_plugins import Finding, Host

from . import SASL_PASSWORD, Settings


async def look_at_settings(host: Host) -> Sequence[Finding]:
    """Only what was set is looked at: nobody has to use IRC."""
    settings = host.section(Settings)
    if settings == Settings():
        return []
    found = []
    if settings.account and not host.secret(SASL_PASSWORD):
        text = f"plugins.irc.account is {settings.account}, but it has no password."
        hint = f"`hermes config set {SASL_PASSWORD}`, or `hermes config unset plugins.irc.account`"
        found.append(Finding(level="fail", text=text, hint=hint))
    if not settings.channels:
        text = "It joins no channel: people can only write to it in private."
        hint = "`hermes config set plugins.irc.channels '[\"#CHANNEL\"]'`"
        found.append(Finding(level="info", text=text, hint=hint))
    return [*found, await _reached(settings)]


async def _reached(settings: Settings) -> Finding:
    where = f"{settings.server}:{settings.port}"
    try:
        tls = ssl.create_default_context(cafile=settings.ca_file or None) if settings.tls else None
        _, writer = await asyncio.open_connection(settings.server, settings.port, ssl=tls)
    except ssl.SSLCertVerificationError as error:
        text = f"the certificate of {where} is not valid: {error.verify_message}."
        hint = "`hermes config set plugins.irc.ca_file FILE` trusts one of your own."
        return Finding(level="fail", text=text, hint=hint)
    except ssl.SSLError:
        hint = "Is that a port for TLS? `hermes config set plugins.irc.tls false` goes without it."
        return Finding(level="fail", text=f"{where} does not speak TLS.", hint=hint)
    except OSError as error:
        text = f"{where} cannot be reached: {error.strerror or error}."
        hint = "Check plugins.irc.server and plugins.irc.port: `hermes config get plugins.irc`"
        return Finding(level="fail", text=text, hint=hint)
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()
    return Finding(level="ok", text=f"{where} can be reached.")
