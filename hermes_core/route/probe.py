"""The smallest real request: does the route lead to a model, and how fast?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from hermes_core.route.ask import Interruption, Route, ask
from hermes_core.route.assemble import Assembled
from hermes_core.route.classify import Failure
from hermes_core.route.retry import RetryPolicy
from hermes_plugins._clock import Clock
from hermes_plugins._dialects import ModelRequest
from hermes_plugins._errors import ProviderError
from hermes_plugins._messages import user_message

QUESTION = "Reply with the word hello."


class _Never:
    """Implements `Interruption`: cancelling the task is enough."""

    def is_set(self) -> bool:
        return False

    async def wait(self) -> None:
        await asyncio.Event().wait()


class _Silence:
    """Implements `Listener`: hears nothing, and keeps the last error."""

    def __init__(self) -> None:
        self.cancelled: Interruption = _Never()
        self.error: ProviderError | None = None

    def shown(self, text: str, reasoning: str) -> None:
        return None

    async def failed(self, error: ProviderError, failure: Failure, attempt: int) -> None:
        self.error = error

    async def retrying(self, failure: Failure, attempt: int, seconds: float) -> None:
        return None

    async def told(self, text: str) -> None:
        """Nobody is told."""

    def sending(self, request: ModelRequest) -> None:
        return None


async def probe(route: Route, clock: Clock, *, redact: Callable[[str], str]) -> Assembled:
    """Ask once, without tools and without a system prompt.

    Raises:
        ProviderError: there is no whole answer; says what a turn would say.
    """
    profile = route.profile
    request = ModelRequest(model=route.model.id, system="", messages=[user_message(QUESTION)])
    if profile.request_extras is not None:
        request = msgspec.structs.replace(request, extras=profile.request_extras(request))
    silence = _Silence()
    policy = RetryPolicy(attempts=1)
    answer = await ask(route, request, listener=silence, clock=clock, policy=policy)
    if (failure := answer.failure) is not None:
        raise ProviderError(
            redact(failure.user_text),
            status=silence.error.status if silence.error else 0,
            reason=failure.reason,
            hint=failure.hint,
        )
    return answer.assembled
