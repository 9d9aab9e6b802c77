"""The model: which one is chosen, whether its server answers and takes the key, whose clock is right."""

from __future__ import annotations

from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import Final

import msgspec

from hermes_plugins import (
    FaceHost,
    Finding,
    HermesError,
    ModelChoice,
    ProviderError,
    ProviderState,
    Timeouts,
)

SKEW: Final = 300.0
"""Seconds that two clocks may differ: what most signed requests and tokens allow."""
_TIMEOUTS: Final = Timeouts(connect=5.0, first=10.0, idle=10.0)


async def look(face: FaceHost) -> tuple[Sequence[Finding], bool]:
    """Findings, and whether a turn can be tried."""
    try:
        choice = await face.catalog.choose()
    except (HermesError, TimeoutError) as error:
        hint = error.hint if isinstance(error, HermesError) else ""
        text = (
            error.message if isinstance(error, HermesError) else "choosing a model took too long."
        )
        return [Finding(level="fail", text=text, hint=hint)], False
    name = choice.label.partition("/")[0]
    states = {one.profile.id: one for one in await face.catalog.providers()}
    state = states.get(name)
    if state is None:
        return [Finding(level="ok", text=f"{choice.label}, at {choice.url}.")], True
    if is_stand_in(state):
        text = "No model is connected; what answers is a stand-in for a few plain requests."
        hint = "`hermes config set OPENROUTER_API_KEY`, or start a local server such as Ollama."
        return [Finding(level="warn", text=text, hint=hint)], True
    key = f", key from {state.key}" if state.key else ", without a key"
    chosen = Finding(level="ok", text=f"{choice.label}, at {choice.url}{key}.")
    reached = await _reached(face, state, choice)
    return [chosen, *reached], not any(one.level == "fail" for one in reached)


def is_stand_in(state: ProviderState) -> bool:
    """What answers where no model is connected: no key can be set for it, and it is no server."""
    return not (state.profile.env or state.profile.local or state.profile.key_required) and not (
        state.url.startswith(("http:", "https:"))
    )


async def _reached(face: FaceHost, state: ProviderState, choice: ModelChoice) -> Sequence[Finding]:
    host, name = face.host, state.profile.id
    began = host.clock.monotonic()
    try:
        response = await host.http.open(
            "GET", f"{state.url.rstrip('/')}/models", timeouts=_TIMEOUTS
        )
    except ProviderError as error:
        hint = "Start the server" if state.profile.local else "Check the network and the address"
        hint += f"; `hermes config get providers.{name}.base_url` shows one of your own."
        return [Finding(level="fail", text=error.message, hint=hint)]
    try:
        date = response.headers.get("date", "")
    finally:
        await response.aclose()
    took = host.clock.monotonic() - began
    return [*_skewed(date, host.clock.now()), await _listed(face, state, choice, took)]


async def _listed(
    face: FaceHost, state: ProviderState, choice: ModelChoice, took: float
) -> Finding:
    name = state.profile.id
    reached = f"{name} answers within {took:.1f} s"
    try:
        models = await face.catalog.models(name)
    except ProviderError as error:
        if error.status in (401, 403):
            text = f"{name} does not accept the key from {state.key or 'nowhere'} ({error.status})."
            variable = next(iter(state.profile.env), "")
            hint = f"`hermes config set {variable}`" if variable else ""
            where = state.profile.signup_url
            return Finding(level="fail", text=text, hint=f"{hint}  {where}".strip())
        return Finding(level="info", text=f"{reached}, but lists no models ({error.status}).")
    except (HermesError, TimeoutError, msgspec.MsgspecError):
        return Finding(level="info", text=f"{reached}, but lists no models.")
    known = {one.id for one in models}
    if known and choice.info.id not in known:
        text = f"{reached}, but has no model {choice.info.id!r} among its {len(known)}."
        hint = f"`hermes config set model.name {name}/MODEL`"
        return Finding(level="warn", text=text, hint=hint)
    return Finding(level="ok", text=f"{reached} and lists {len(known)} models.")


def _skewed(date: str, now: float) -> Sequence[Finding]:
    try:
        theirs = parsedate_to_datetime(date).timestamp()
    except (ValueError, TypeError):
        return []
    if abs(now - theirs) <= SKEW:
        return []
    minutes = round(abs(now - theirs) / 60)
    text = f"This machine's clock is {minutes} minutes {'ahead' if now > theirs else 'behind'}."
    hint = "Have the system set it: signatures, certificates and sign-ins fail with a wrong clock."
    return [Finding(level="warn", text=text, hint=hint)]
