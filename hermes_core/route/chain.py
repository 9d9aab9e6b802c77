"""The routes of a session: the chosen one, and those to fall back to.

A turn begins with the chosen route unless that rests, and stays where it is while things work, so
that each model sees requests that only grow. A fallback is resolved when it is needed. An error
belongs to the route that raised it: what one provider says never makes a key of another rest.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from hermes_core.route.ask import Answer, Listener, Route, ask
from hermes_core.route.classify import Failure
from hermes_core.route.recover import Changes
from hermes_core.route.retry import RetryPolicy
from hermes_plugins._clock import Clock
from hermes_plugins._dialects import ModelRequest
from hermes_plugins._errors import HermesError

LIMIT_REST = 60.0
"""Seconds that the chosen route rests after a rate limit or used-up credit (reference 4.7)."""
EXHAUSTED_REST = 5.0
"""Seconds after every route has failed (reference 4.7)."""
_LIMITS = frozenset({"rate_limit", "upstream_rate_limit", "billing"})


class Chain:
    """Asks the model of a session, on one route after the other."""

    def __init__(
        self,
        route: Route,
        *,
        fallbacks: Sequence[str] = (),
        resolve: Callable[[str], Awaitable[Route]],
        clock: Clock,
    ) -> None:
        self.route = route
        """The chosen one."""
        self._fallbacks = [name for name in dict.fromkeys(fallbacks) if name != route.label]
        self._resolve = resolve
        self._clock = clock
        self._legs: list[Route | None] = [route, *([None] * len(self._fallbacks))]
        self._changes: dict[str, Changes] = {}
        self._at = 0
        self._rests_until = 0.0

    def with_route(self, route: Route) -> Chain:
        """The same fallbacks behind another route."""
        return Chain(route, fallbacks=self._fallbacks, resolve=self._resolve, clock=self._clock)

    def begin(self) -> None:
        """A turn begins: back to the chosen route, unless it rests."""
        if self._clock.monotonic() >= self._rests_until:
            self._at = 0

    async def ask(
        self, request: ModelRequest, *, listener: Listener, policy: RetryPolicy, token: str
    ) -> Answer:
        """Ask once, with retries and fallbacks. Never raises for what a provider does."""
        failed: list[str] = []
        while True:
            route = self._legs[self._at] or self.route
            changes = self._changes.setdefault(route.label, Changes())
            answer = await ask(
                route,
                _for_route(request, route),
                listener=listener,
                clock=self._clock,
                policy=policy,
                token=token,
                changes=changes,
                waits=self._at + 1 >= len(self._legs),
            )
            failure = answer.failure
            if failure is None or answer.interrupted or answer.shown or not failure.fallback:
                return answer
            failed.append(route.label)
            if self._at == 0 and failure.reason in _LIMITS:
                self._rests_until = self._clock.monotonic() + LIMIT_REST
            following = await self._advance(listener, failure, route)
            if following is None:
                return self._exhausted(answer, failure, failed)

    async def _advance(self, listener: Listener, failure: Failure, route: Route) -> Route | None:
        """Go to the next route that can be used; None when there is none."""
        while self._at + 1 < len(self._legs):
            self._at += 1
            following = self._legs[self._at]
            name = self._fallbacks[self._at - 1]
            if following is None:
                try:
                    following = self._legs[self._at] = await self._resolve(name)
                except HermesError as error:
                    await listener.told(f"{name} cannot stand in: {error.message}")
                    continue
            if following.label == route.label:
                continue
            why = failure.user_text.rstrip(".")
            await listener.told(f"{why}. Going on with {following.label}.")
            return following
        return None

    def _exhausted(self, answer: Answer, failure: Failure, failed: Sequence[str]) -> Answer:
        self._at = 0
        if len(failed) == 1:
            return answer
        self._rests_until = max(self._rests_until, self._clock.monotonic() + EXHAUSTED_REST)
        text = f"{failure.user_text.rstrip('.')}. All of {', '.join(failed)} failed."
        return msgspec.structs.replace(
            answer, failure=msgspec.structs.replace(failure, user_text=text)
        )


def _for_route(request: ModelRequest, route: Route) -> ModelRequest:
    """The request as this route wants it; what a plugin put into ``extras`` wins."""
    profile = route.profile
    own = msgspec.structs.replace(
        request,
        model=route.model.id,
        reasoning_field=profile.reasoning_field,
        native_of=profile.id,
    )
    if profile.request_extras is None:
        return own
    return msgspec.structs.replace(own, extras={**profile.request_extras(own), **request.extras})
