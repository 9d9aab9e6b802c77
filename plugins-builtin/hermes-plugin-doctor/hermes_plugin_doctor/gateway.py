"""The gateway: whether it runs where it should, and whether somebody waits for an answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hermes_plugins import CommandHost, Finding, HermesError, Inspection


async def look(host: CommandHost, inspection: Inspection) -> Sequence[Finding]:
    """Platforms that are on, who may talk there, and what was left lying."""
    platforms = _enabled(host)
    running = host.gateways()
    is_running = host.profile in running
    unanswered, unsent = await inspection.unsent()
    found = []
    if is_running:
        found.append(Finding(level="ok", text=f"Runs, process {running[host.profile]}."))
    elif platforms:
        names = ", ".join(platforms)
        text = f"Does not run, so nobody is answered on {names}."
        found.append(Finding(level="warn", text=text, hint="`hermes gateway run`"))
    if unanswered or unsent:
        level, hint = (
            ("info", "It works on them.") if is_running else ("warn", "`hermes gateway run`")
        )
        text = f"{unanswered:,} messages wait for an answer, {unsent:,} answers wait to be sent."
        found.append(Finding(level="warn" if level == "warn" else "info", text=text, hint=hint))
    for name in platforms:
        if not _allowed(host, name):
            text = f"platforms.{name}.allow is empty: nobody may talk to the agent there."
            hint = f"`hermes config set platforms.{name}.allow '[\"SENDER\"]'`"
            found.append(Finding(level="warn", text=text, hint=hint))
    return found or [Finding(level="ok", text="No chat platform is on.")]


def _enabled(host: CommandHost) -> list[str]:
    try:
        values = host.settings.get("platforms").value
    except HermesError:
        return []
    if not isinstance(values, Mapping):
        return []
    return [
        key.removesuffix(".enabled")
        for key, on in values.items()
        if key.endswith(".enabled") and on
    ]


def _allowed(host: CommandHost, name: str) -> bool:
    return bool(host.settings.get(f"platforms.{name}.allow").value)
