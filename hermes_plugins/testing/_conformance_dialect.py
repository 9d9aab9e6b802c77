"""What every dialect must do, as tests to subclass.

A subclass gives `DialectConformance.make`. The replies are those of the chat-completions wire; a
dialect of another wire overrides the ``reply_…`` methods with `Reply` values of its own, and
`stable_part`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from itertools import pairwise
from typing import ClassVar, Final, cast

import msgspec
import pytest

from hermes_plugins._dialects import (
    Delta,
    Dialect,
    Endpoint,
    FinishMark,
    ModelRequest,
    ReasoningPiece,
    TextPiece,
    ToolFragment,
    ToolSpec,
    UsageReport,
)
from hermes_plugins._errors import ProviderError
from hermes_plugins._messages import (
    ImagePart,
    Message,
    NativePart,
    TextPart,
    ToolCall,
    Usage,
    assistant_message,
    decode_message,
    encode_message,
    tool_message,
    user_message,
)
from hermes_plugins.testing import replies
from hermes_plugins.testing._server import ScriptedServer
from hermes_plugins.testing.replies import Reply


class Answer(msgspec.Struct, kw_only=True):
    """What a dialect made of one reply; ``error`` is what it raised after the deltas."""

    deltas: list[Delta] = []
    error: ProviderError | None = None

    @property
    def text(self) -> str:
        """All text."""
        return "".join(delta.text for delta in self.deltas if isinstance(delta, TextPiece))

    @property
    def reasoning(self) -> str:
        """All reasoning."""
        return "".join(delta.text for delta in self.deltas if isinstance(delta, ReasoningPiece))

    @property
    def fragments(self) -> list[ToolFragment]:
        """The fragments of tool calls."""
        return [delta for delta in self.deltas if isinstance(delta, ToolFragment)]

    @property
    def calls(self) -> list[ToolCall]:
        """The fragments joined: a new id begins a call, and without an id the index says whose it is."""
        begun: dict[str, ToolCall] = {}
        current: dict[int, str] = {}
        for part in self.fragments:
            ident = part.id or current.get(part.index, "")
            current[part.index] = ident
            call = begun.get(ident) or ToolCall(id=ident, name=part.name, arguments="")
            arguments = call.arguments + part.arguments
            begun[ident] = msgspec.structs.replace(call, arguments=arguments)
        return list(begun.values())

    @property
    def usage(self) -> Usage | None:
        """The last report."""
        reports = [delta.usage for delta in self.deltas if isinstance(delta, UsageReport)]
        return reports[-1] if reports else None

    @property
    def finishes(self) -> list[FinishMark]:
        """The finish marks; a good answer has one."""
        return [delta for delta in self.deltas if isinstance(delta, FinishMark)]


def a_request(*messages: Message, **fields: object) -> ModelRequest:
    """A request with one user message unless others are given."""
    given = messages or (user_message("Hello"),)
    base = ModelRequest(model="scripted", system="You are terse.", messages=given)
    return msgspec.structs.replace(base, **fields)


async def ask(
    dialect: Dialect,
    server: ScriptedServer,
    request: ModelRequest | None = None,
    *,
    headers: Mapping[str, str] | None = None,
) -> Answer:
    """Send a request to the scripted server and collect what the dialect yields and raises."""
    from hermes_core.clock import SystemClock
    from hermes_core.http import KernelHttp

    http = KernelHttp(clock=SystemClock())
    endpoint = Endpoint(
        http=http, url=server.url + dialect.path, headers=headers or {}, provider="scripted"
    )
    answer = Answer(deltas=[])
    try:
        async for delta in dialect.stream(request or a_request(), endpoint):
            answer.deltas.append(delta)
    except ProviderError as error:
        answer.error = error
    finally:
        await http.aclose()
    return answer


_CALLS: Final = (
    ToolCall(id="call_a", name="read_file", arguments='{"path":"ä.txt","limit":20}'),
    ToolCall(id="call_b", name="search_files", arguments='{"pattern":"x {y}","path":"."}'),
)
_TOOLS: Final = (
    ToolSpec(name="read_file", description="Read.", parameters={"type": "object"}),
    ToolSpec(name="search_files", description="Search.", parameters={"type": "object"}),
)


def _conversation() -> list[Message]:
    """One of every kind of message, in an order that vendors accept."""
    image = ImagePart(media_type="image/png", data="aGk=")
    return [
        user_message("Read ä.txt ☕", added=("(recalled: likes tea)", "(it is Monday)")),
        assistant_message("Reading.", tool_calls=_CALLS),
        tool_message(_CALLS[0], 'He said "hi"\nand left.'),
        tool_message(_CALLS[1], "nothing found", status="failed"),
        msgspec.structs.replace(assistant_message("Done."), reasoning="It was short."),
        Message(role="user", parts=(TextPart("And this?"), image)),
        assistant_message("A picture."),
        user_message("Thanks"),
    ]


@pytest.mark.anyio
class DialectConformance:
    """Subclass as ``Test…`` and give `make` and ``name``."""

    name: ClassVar[str] = "chat_completions"
    """As in the group ``hermes.dialects``."""

    def make(self) -> Dialect:
        """A new driver."""
        raise NotImplementedError

    def reply_text(self, pieces: Sequence[str]) -> Reply:
        """The server says the pieces, a delta each, and reports 10 tokens in and 5 out."""
        return replies.say("".join(pieces), split=pieces)

    def reply_calls(self, calls: Sequence[ToolCall]) -> Reply:
        """The server asks for the calls, one after the other."""
        return replies.calls(calls)

    def reply_cut(self, text: str) -> Reply:
        """The connection drops after the text."""
        return replies.cut(text)

    def reply_error_in_stream(self, message: str, after: str) -> Reply:
        """The server says some text and then states an error inside the stream."""
        return replies.error_in_stream(message, after=after)

    def reply_refused(self, status: int, message: str) -> Reply:
        """The server answers with an error status."""
        return replies.fail(status, message, headers={"retry-after": "7"})

    def stable_part(self, body: bytes) -> bytes:
        """The part of a body with which the next one must begin."""
        return body.removesuffix(b"]}")

    def test_it_is_made_without_arguments_and_names_its_path(self) -> None:
        made = type(self.make())()
        assert made.path.startswith("/")

    async def test_text_arrives_whole_and_in_order(self, model_server: ScriptedServer) -> None:
        pieces = ["Hel", "lo ", "wörld ", "☕", "\n", "data: [DONE]", " end"]
        model_server.script(self.reply_text(pieces))
        answer = await ask(self.make(), model_server)
        assert answer.error is None
        assert answer.text == "".join(pieces)
        assert [mark.reason for mark in answer.finishes] == ["stop"]

    async def test_usage_is_reported(self, model_server: ScriptedServer) -> None:
        model_server.script(self.reply_text(["Hi"]))
        answer = await ask(self.make(), model_server)
        assert answer.usage is not None
        assert (answer.usage.input, answer.usage.output) == (10, 5)

    @pytest.mark.parametrize("count", [1, 2])
    async def test_tool_calls_keep_their_ids_names_and_arguments(
        self, model_server: ScriptedServer, count: int
    ) -> None:
        model_server.script(self.reply_calls(_CALLS[:count]))
        answer = await ask(self.make(), model_server)
        assert answer.calls == list(_CALLS[:count])
        assert [mark.reason for mark in answer.finishes] == ["tool_calls"]

    async def test_a_cut_stream_keeps_its_text_and_has_no_finish(
        self, model_server: ScriptedServer
    ) -> None:
        model_server.script(self.reply_cut("Half an ans"))
        answer = await ask(self.make(), model_server)
        assert answer.text == "Half an ans"
        assert answer.finishes == []

    async def test_an_error_inside_the_stream_is_raised_in_the_servers_words(
        self, model_server: ScriptedServer
    ) -> None:
        model_server.script(self.reply_error_in_stream("the kitchen is on fire", "So far"))
        answer = await ask(self.make(), model_server)
        assert answer.text == "So far"
        assert answer.error is not None
        assert answer.error.in_stream
        assert "the kitchen is on fire" in answer.error.message

    @pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
    async def test_an_error_status_is_raised_with_words_and_headers(
        self, model_server: ScriptedServer, status: int
    ) -> None:
        model_server.script(self.reply_refused(status, "no soup for you"))
        answer = await ask(self.make(), model_server)
        assert answer.error is not None
        assert answer.error.status == status
        assert answer.error.headers["retry-after"] == "7"
        assert "no soup for you" in answer.error.message
        assert not answer.error.in_stream

    async def test_the_body_sent_is_the_body_encoded(self, model_server: ScriptedServer) -> None:
        model_server.script(self.reply_text(["Hi"]))
        request = a_request(*_conversation(), tools=_TOOLS)
        await ask(self.make(), model_server, request, headers={"x-mine": "yes"})
        (sent,) = model_server.requests
        assert sent.body == self.make().encode(request)
        assert sent.headers["x-mine"] == "yes"

    def test_every_request_begins_with_the_one_before(self) -> None:
        dialect, messages = self.make(), _conversation()
        bodies = [
            dialect.encode(a_request(*messages[:count], tools=_TOOLS))
            for count in range(1, len(messages) + 1)
        ]
        for earlier, later in pairwise(bodies):
            assert later.startswith(self.stable_part(earlier))

    def test_a_resumed_session_sends_the_same_bytes(self) -> None:
        messages = _conversation()
        stored = [decode_message(encode_message(message)) for message in messages]
        lived = self.make()
        for count in range(1, len(messages)):
            lived.encode(a_request(*messages[:count], tools=_TOOLS))
        request = a_request(*messages, tools=_TOOLS)
        assert self.make().encode(a_request(*stored, tools=_TOOLS)) == lived.encode(request)

    def test_native_parts_of_others_are_never_sent(self) -> None:
        mark = "0pen-sesame"
        foreign = (
            NativePart("another_dialect", "scripted", {"id": mark, "text": mark}),
            NativePart(self.name, "another_provider", {"id": mark, "text": mark}),
        )
        answer = Message(role="assistant", parts=(*foreign, TextPart("Yes.")))
        asked = a_request(user_message("Is it?"), answer, user_message("Why?"))
        body = self.make().encode(msgspec.structs.replace(asked, native_of="scripted"))
        assert mark.encode() not in body
        assert b"Yes." in body

    def test_what_was_compressed_away_is_not_sent(self) -> None:
        dialect, messages = self.make(), _conversation()
        dialect.encode(a_request(*messages))
        compressed = [user_message("Summary so far."), *messages[-2:]]
        body = dialect.encode(a_request(*compressed))
        assert body == self.make().encode(a_request(*compressed))
        assert b"nothing found" not in body

    async def test_closing_the_stream_early_hangs_up(self, model_server: ScriptedServer) -> None:
        from hermes_core.clock import SystemClock
        from hermes_core.http import KernelHttp

        silent = msgspec.structs.replace(self.reply_text(["One", "Two"]), end="hang")
        model_server.script(silent)
        http, dialect = KernelHttp(clock=SystemClock()), self.make()
        endpoint = Endpoint(http=http, url=model_server.url + dialect.path)
        stream = cast(AsyncGenerator[Delta], dialect.stream(a_request(), endpoint))
        try:
            async with aclosing(stream):
                async for delta in stream:
                    if isinstance(delta, TextPiece):
                        break
            await asyncio.to_thread(model_server.wait_for_hangup)
        finally:
            await http.aclose()
