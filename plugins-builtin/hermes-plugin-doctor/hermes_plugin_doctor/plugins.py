"""The plugins: what is on and works, what is on and does not, and what is there but off."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hermes_plugins import CommandHost, Finding, Inspection, PluginState


async def look(host: CommandHost, inspection: Inspection) -> Sequence[Finding]:
    """What failed first, so that it is not overlooked."""
    states = await inspection.plugins()
    found = [_failed(one) for one in states if one.state == "failed"]
    found += [_missing(host, one) for one in states if one.state == "missing"]
    on = [one for one in states if one.state == "on"]
    found += [
        Finding(level="warn", text=f"{one.name}: {one.reason}", hint=one.hint)
        for one in on
        if one.reason
    ]
    text = f"{len(on)} are on and loaded."
    found.append(Finding(level="ok" if on else "fail", text=text, hint="" if on else _BRING))
    off = [one.name for one in states if one.state == "off"]
    if off:
        text = f"Installed but off: {', '.join(off)}."
        hint = "`hermes plugins enable NAME` switches one on."
        found.append(Finding(level="info", text=text, hint=hint))
    return found


_BRING = "`pip install 'hermes-host[default]'` brings the usual ones."


def _failed(state: PluginState) -> Finding:
    is_policy = any(offer.startswith("policies:") for offer in state.offers)
    text = f"{state.name} does not work: {state.reason}"
    if is_policy:
        text += " It is a policy, so no session starts."
    hint = state.hint or f"`hermes plugins disable {state.name}` goes on without it."
    return Finding(level="fail" if is_policy else "warn", text=text, hint=hint)


def _missing(host: CommandHost, state: PluginState) -> Finding:
    text = f"{state.name} is in plugins.enabled but not installed."
    return Finding(level="warn", text=text, hint=state.hint, fix=partial(_forget, host, state.name))


async def _forget(host: CommandHost, name: str) -> str:
    listed = host.settings.get("plugins.enabled").value
    kept = [one for one in listed if one != name] if isinstance(listed, list | tuple) else []
    if kept:
        host.settings.set("plugins.enabled", kept)
    else:
        host.settings.unset("plugins.enabled")
    return f"{name} is out of plugins.enabled now."
