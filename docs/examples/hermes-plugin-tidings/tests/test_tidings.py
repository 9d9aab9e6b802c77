"""The dialect tidings: the kit's suite, with answers in its own form."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from hermes_plugin_tidings import Tidings

from hermes_plugins import Dialect, ToolCall
from hermes_plugins.testing import DialectConformance, ScriptedServer, a_request, ask, replies
from hermes_plugins.testing.replies import Reply


class TestTidings(DialectConformance):
    def make(self) -> Dialect:
        return Tidings()

    def reply_text(self, pieces: Sequence[str]) -> Reply:
        events = [{"say": piece} for piece in pieces]
        return replies.raw(*events, {"used": [10, 5]}, {"end": "stop"})

    def reply_calls(self, calls: Sequence[ToolCall]) -> Reply:
        events = []
        for index, call in enumerate(calls):
            half = len(call.arguments) // 2
            events += [
                {"ask": [index, call.id, call.name, call.arguments[:half]]},
                {"ask": [index, call.id, "", call.arguments[half:]]},
            ]
        return replies.raw(*events, {"end": "tools"})

    def reply_cut(self, text: str) -> Reply:
        return replies.raw({"say": text}, end="cut")

    def reply_error_in_stream(self, message: str, after: str) -> Reply:
        return replies.raw({"say": after}, {"wrong": message})


async def test_extras_take_the_place_of_a_field_or_leave_it_out() -> None:
    body = Tidings().encode(a_request(max_output=9, extras={"longest": 5, "rules": None}))
    assert msgspec.json.decode(body)["longest"] == 5
    assert "rules" not in msgspec.json.decode(body)


async def test_an_event_from_the_future_is_an_error_that_shows_it(
    model_server: ScriptedServer,
) -> None:
    model_server.script(replies.raw({"sing": "la"}))
    answer = await ask(Tidings(), model_server)
    assert answer.error is not None
    assert "sing" in answer.error.body
