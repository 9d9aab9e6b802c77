"""Every ``hermes_on_*`` hook as one JSON line in a file. The work stands in ``lines.py``."""

from __future__ import annotations

from hermes_plugins import (
    CallView,
    ConfigSection,
    Host,
    Message,
    ModelRequest,
    ProviderError,
    ResultView,
    SessionInfo,
    TurnEnded,
    Usage,
    hookimpl,
)


class Trace:
    """One per host; the ``seq`` of a line counts within it."""

    _seq = 0

    def _note(self, host: Host, event: str, *values: object, **facts: object) -> None:
        from . import lines

        self._seq += 1
        lines.write(host, event, values, {"seq": self._seq, **facts})

    @hookimpl
    def hermes_register_config(self) -> list[ConfigSection]:
        from .lines import Settings

        return [ConfigSection(name="trace", schema=Settings)]

    @hookimpl
    async def hermes_on_start(self, host: Host) -> None:
        self._note(host, "start")

    @hookimpl
    async def hermes_on_session_start(
        self, host: Host, session: SessionInfo, resumed: bool
    ) -> None:
        self._note(host, "session_start", session, resumed=resumed)

    @hookimpl
    async def hermes_on_turn_start(
        self, host: Host, message: Message, session: SessionInfo, turn: str
    ) -> None:
        self._note(host, "turn_start", session, message, turn=turn)

    @hookimpl
    async def hermes_on_model_request(
        self, host: Host, request: ModelRequest, session: SessionInfo
    ) -> None:
        self._note(host, "model_request", session, request)

    @hookimpl
    async def hermes_on_model_error(
        self, host: Host, error: ProviderError, attempt: int, session: SessionInfo
    ) -> None:
        self._note(host, "model_error", session, error, attempt=attempt)

    @hookimpl
    async def hermes_on_model_response(
        self, host: Host, response: Message, usage: Usage, session: SessionInfo
    ) -> None:
        self._note(host, "model_response", session, response, usage=usage)

    @hookimpl
    async def hermes_on_tool_call(self, host: Host, call: CallView) -> None:
        self._note(host, "tool_call", call)

    @hookimpl
    async def hermes_on_approval(self, host: Host, call: CallView, answer: str, by: str) -> None:
        self._note(host, "approval", call, answer=answer, by=by)

    @hookimpl
    async def hermes_on_tool_result(self, host: Host, result: ResultView) -> None:
        self._note(host, "tool_result", result)

    @hookimpl
    async def hermes_on_turn_end(self, host: Host, end: TurnEnded, session: SessionInfo) -> None:
        self._note(host, "turn_end", session, end)

    @hookimpl
    async def hermes_on_session_end(self, host: Host, session: SessionInfo) -> None:
        self._note(host, "session_end", session)

    @hookimpl
    async def hermes_on_error(self, host: Host, where: str, error: BaseException) -> None:
        self._note(host, "error", error, where=where)

    @hookimpl
    async def hermes_on_stop(self, host: Host) -> None:
        self._note(host, "stop")
