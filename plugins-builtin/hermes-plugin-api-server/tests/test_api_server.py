"""The API server as its clients see it: OpenAI's own, and plain HTTP."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import httpx
import openai
import pytest

from hermes_core.clock import SystemClock
from hermes_plugins import HermesError, Runs, Tool, hookimpl, tool, user_message
from hermes_plugins.testing import FaceConformance, ScriptedServer, VirtualClock, replies

Serve: TypeAlias = Callable[..., AbstractAsyncContextManager[Any]]
KEY = "sk-test-not-a-real-key"
HEADERS = {"authorization": f"Bearer {KEY}"}
CHAT = "/v1/chat/completions"
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="
)


class TestApiServer(FaceConformance):
    name = "api-server"
    settings: ClassVar = {"plugins.api-server.key": KEY, "plugins.api-server.port": 0}
    missing: ClassVar = {"plugins.api-server.key": "too short"}


def echo(request: Any) -> replies.Reply:
    """Says the last thing that a user said, word by word."""
    asked = [one["content"] for one in request.messages if one["role"] == "user"]
    return replies.say(f"re: {asked[-1]}", split=4)


def told(request: Any) -> list[tuple[str, Any]]:
    return [(one["role"], one["content"]) for one in request.messages if one["role"] != "system"]


def system_of(request: Any) -> str:
    return str(next(one["content"] for one in request.messages if one["role"] == "system"))


def asks(*texts: str, **more: Any) -> dict[str, Any]:
    """A body: what user and assistant said in turn, the user first."""
    said = [
        {"role": "assistant" if number % 2 else "user", "content": text}
        for number, text in enumerate(texts)
    ]
    return {"model": "hermes", "messages": said, **more}


@asynccontextmanager
async def openai_client(running: Any, key: str = KEY) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(
        api_key=key, base_url=f"{running.url}/v1", max_retries=2
    ) as client:
        yield client


@asynccontextmanager
async def http(running: Any, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=running.url, headers={**HEADERS, **headers}, timeout=20, trust_env=False
    ) as client:
        yield client


async def until(condition: Callable[[], bool]) -> None:
    async with SystemClock().timeout(20):
        while not condition():
            await asyncio.sleep(0.005)


# -- OpenAI's client -------------------------------------------------------------------


async def test_openais_client_gets_a_whole_answer(serve: Serve) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running, openai_client(running) as client:
            answer = await client.chat.completions.create(**asks("hello"))
    assert answer.choices[0].message.content == "re: hello"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.id.startswith("chatcmpl-")
    assert answer.model == "hermes"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.total_tokens) == (10, 15)


async def test_openais_client_streams_and_gets_the_usage_last(serve: Serve) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running, openai_client(running) as client:
            stream = await client.chat.completions.create(
                **asks("hello"), stream=True, stream_options={"include_usage": True}
            )
            chunks = [chunk async for chunk in stream]
    *deltas, finish, usage = chunks
    assert deltas[0].choices[0].delta.role == "assistant"
    assert "".join(one.choices[0].delta.content or "" for one in deltas) == "re: hello"
    assert finish.choices[0].finish_reason == "stop"
    assert usage.choices == []
    assert usage.usage.total_tokens == 15
    assert {one.id for one in chunks} == {chunks[0].id}


async def test_without_being_asked_for_usage_a_stream_has_none(serve: Serve) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running, openai_client(running) as client:
            stream = await client.chat.completions.create(**asks("hello"), stream=True)
            chunks = [chunk async for chunk in stream]
    assert all(one.choices and one.usage is None for one in chunks)


async def test_openais_client_lists_the_models_that_it_may_ask_for(serve: Serve) -> None:
    settings = {"plugins.api-server.models": ["custom/other"]}
    with ScriptedServer(echo) as model:
        async with serve(model, settings=settings) as running, openai_client(running) as client:
            listed = [one.id async for one in await client.models.list()]
            assert (await client.models.retrieve("custom/other")).id == "custom/other"
            with pytest.raises(openai.NotFoundError):
                await client.models.retrieve("gpt-none")
            await client.chat.completions.create(**{**asks("hello"), "model": "custom/other"})
    assert listed == ["hermes", "custom/other"]
    assert model.requests[-1].json["model"] == "other"


async def test_a_model_that_may_not_be_asked_for_is_not_replaced_in_silence(serve: Serve) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running, openai_client(running) as client:
            with pytest.raises(openai.NotFoundError, match="ask for 'hermes'") as told:
                await client.chat.completions.create(**{**asks("hi"), "model": "gpt-none"})
    assert told.value.code == "model_not_found"
    assert model.requests == []


async def test_a_failed_turn_is_an_error_that_the_client_does_not_send_again(serve: Serve) -> None:
    with ScriptedServer([replies.fail(401, "no such key")]) as model:
        async with serve(model) as running, openai_client(running) as client:
            with pytest.raises(openai.InternalServerError) as told:
                await client.chat.completions.create(**asks("hello"))
    assert told.value.status_code == 502
    assert told.value.code == "turn_failed"
    assert len(model.requests) == 1


async def test_a_stream_that_fails_before_its_first_word_is_an_error_too(serve: Serve) -> None:
    with ScriptedServer([replies.fail(401, "no such key")]) as model:
        async with serve(model) as running, openai_client(running) as client:
            with pytest.raises(openai.InternalServerError):
                await client.chat.completions.create(**asks("hello"), stream=True)


async def test_an_answer_that_breaks_off_is_no_normal_end(serve: Serve) -> None:
    with ScriptedServer(then=replies.cut("one two three", after=2, split=4)) as model:
        async with serve(model) as running:
            async with openai_client(running) as client:
                stream = await client.chat.completions.create(**asks("hello"), stream=True)
                with pytest.raises(openai.APIError):
                    [chunk async for chunk in stream]
            async with http(running) as plain:
                answer = await plain.post(CHAT, json=asks("hello", stream=True))
    events = [line for line in answer.text.splitlines() if line.startswith("data: {")]
    last = json.loads(events[-1][6:])
    assert last["choices"][0]["finish_reason"] == "error"
    assert last["error"]["message"]
    assert answer.text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("finish", "told"), [("length", "length"), ("content_filter", "content_filter")]
)
async def test_how_the_model_ended_is_told(serve: Serve, finish: str, told: str) -> None:
    with ScriptedServer(then=replies.say("as far as it goes", finish=finish)) as model:
        async with serve(model) as running, openai_client(running) as client:
            answer = await client.chat.completions.create(**asks("hello"))
    assert answer.choices[0].finish_reason == told
    assert answer.choices[0].message.content == "as far as it goes"


# -- the client's own history ----------------------------------------------------------


async def test_what_a_client_says_went_before_is_what_the_model_reads(serve: Serve) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            body = asks("my name is Ada", "Hello Ada.", "who am I?")
            body["messages"].insert(0, {"role": "system", "content": "Talk like a pirate."})
            answer = await client.post(CHAT, json=body)
            kept = await running.sessions()
    assert answer.json()["choices"][0]["message"]["content"] == "re: who am I?"
    assert told(model.requests[0]) == [
        ("user", "my name is Ada"),
        ("assistant", "Hello Ada."),
        ("user", "who am I?"),
    ]
    assert "Talk like a pirate." in system_of(model.requests[0])
    assert system_of(model.requests[0]).startswith("You are Hermes")
    assert [(one.title, one.message_count, one.face) for one in kept] == [
        ("my name is Ada", 4, "api-server")
    ]


async def test_messages_of_tools_of_the_client_are_taken_as_they_are(serve: Serve) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    lost = {"id": "c2", "type": "function", "function": {"name": "look", "arguments": {"a": 1}}}
    said = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": None, "tool_calls": [call, lost]},
        {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "a cat"}]},
        {"role": "tool", "tool_call_id": "nobody", "content": "an orphan"},
        {"role": "assistant", "content": "A cat."},
        {"role": "user", "content": "sure?"},
    ]
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            answer = await client.post(CHAT, json={"messages": said})
    assert answer.status_code == 200
    roles = [role for role, _ in told(model.requests[0])]
    assert roles == ["user", "assistant", "tool", "tool", "assistant", "user"]
    results = [text for role, text in told(model.requests[0]) if role == "tool"]
    assert results[0] == "a cat"
    assert "interrupted" in results[1]


async def test_a_result_at_the_end_is_what_is_answered(serve: Serve) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    said = [
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
    ]
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            answer = await client.post(CHAT, json={"messages": said})
    assert answer.status_code == 200
    assert told(model.requests[0]) == [("user", "look"), ("user", "[look gave:]\na cat")]


async def test_what_the_clients_system_says_in_the_middle_moves_no_prompt(serve: Serve) -> None:
    said = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "two"},
        {"role": "system", "content": "Rhyme from now on."},
        {"role": "user", "content": "three"},
    ]
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            await client.post(CHAT, json={"messages": said})
            (kept,) = await running.sessions()
            rows = await running.host.runtime.store.messages(kept.id)
    assert "Rhyme" not in system_of(model.requests[0])
    assert told(model.requests[0])[-1][1].startswith("three\n\n")
    assert "Rhyme from now on." in told(model.requests[0])[-1][1]
    assert rows[2].message.text == "three"


async def test_images_arrive_as_images(serve: Serve) -> None:
    parts = [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}},
        {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
    ]
    with ScriptedServer(then=replies.say("a dot")) as model:
        async with serve(model) as running, http(running) as client:
            answer = await client.post(
                CHAT, json={"messages": [{"role": "user", "content": parts}]}
            )
    assert answer.status_code == 200
    sent = told(model.requests[0])[0][1]
    assert [part["type"] for part in sent] == ["text", "image_url", "image_url", "text"]
    assert sent[1]["image_url"]["url"].endswith(PIXEL)
    assert "input_audio" in sent[3]["text"]


async def test_fields_that_are_not_known_are_passed_over(serve: Serve) -> None:
    more = {
        "temperature": 0.3,
        "max_tokens": 7,
        "tools": [{"type": "function", "function": {"name": "x"}}],
        "response_format": {"type": "text"},
        "stream_options": None,
        "invented": {"by": "us"},
        "n": 1,
    }
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            answer = await client.post(CHAT, json=asks("hello", **more))
    assert answer.status_code == 200


async def test_half_a_character_as_javascript_sends_it_is_no_error(serve: Serve) -> None:
    body = b'{"messages":[{"role":"user","content":"cut \\ud83d here"}]}'
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            answer = await client.post(CHAT, content=body)
    assert answer.status_code == 200
    assert told(model.requests[0])[0][1] == "cut \ufffd here"


# -- kept sessions ---------------------------------------------------------------------


async def test_a_conversation_goes_on_in_its_session(serve: Serve) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            first = await client.post(CHAT, json=asks("one"))
            second = await client.post(CHAT, json=asks("one", "re: one ", "two", stream=True))
            third = await client.post(CHAT, json=asks("one", "re: one ", "two", "re: two", "three"))
            kept = await running.sessions()
    idents = {one.headers["x-hermes-session-id"] for one in (first, second, third)}
    assert [one.id for one in kept] == [*idents]
    assert kept[0].message_count == 6
    before, after = model.requests[-2].body, model.requests[-1].body
    assert after.startswith(before.removesuffix(b"]}"))


@pytest.mark.parametrize(
    "other",
    [
        asks("one", "re: something else", "two"),
        asks("ONE", "re: one", "two"),
        asks("one", "re: one", "two", user="bob"),
        {
            "messages": [
                {"role": "system", "content": "Rhyme."},
                *asks("one", "re: one")["messages"],
            ]
        },
    ],
    ids=["answer", "question", "user", "system"],
)
async def test_a_conversation_that_differs_in_anything_is_another_one(
    serve: Serve, other: dict[str, Any]
) -> None:
    other["messages"].append({"role": "user", "content": "three"})
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            await client.post(CHAT, json=asks("one"))
            await client.post(CHAT, json=other)
            assert len(await running.sessions()) == 2


async def test_only_one_can_go_on_with_a_conversation(serve: Serve) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            await client.post(CHAT, json=asks("one"))
            left = await client.post(CHAT, json=asks("one", "re: one", "left"))
            right = await client.post(CHAT, json=asks("one", "re: one", "right"))
    assert left.headers["x-hermes-session-id"] != right.headers["x-hermes-session-id"]
    assert told(model.requests[-1])[-1] == ("user", "right")
    assert "left" not in str(told(model.requests[-1]))


async def test_a_session_that_was_used_elsewhere_is_not_taken_for_the_conversation(
    serve: Serve,
) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            await client.post(CHAT, json=asks("one"))
            (kept,) = await running.sessions()
            store = running.host.runtime.store
            lease = await store.acquire(kept.id, holder="somebody")
            await store.append(lease, [user_message("between")])
            await client.post(CHAT, json=asks("one", "re: one", "busy"))
            await store.release(lease)
            await client.post(CHAT, json=asks("one", "re: one", "busy", "re: busy", "more"))
    assert all("between" not in str(told(one)) for one in model.requests)


async def test_the_header_goes_on_with_a_session_that_only_this_server_has(serve: Serve) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            first = await client.post(CHAT, json=asks("one"))
            ident = first.headers["x-hermes-session-id"]
            again = {"x-hermes-session-id": ident}
            body = asks("two")
            body["messages"].insert(0, {"role": "system", "content": "Rhyme."})
            await client.post(CHAT, json=body, headers=again)
            await client.post(CHAT, json={**body}, headers=again)
            assert [one.id for one in await running.sessions()] == [ident]
            session = await running.host.session()  # of another face
            async with session.run("mine") as run:
                async for _ in run:
                    pass
            for wrong in (session.info.id, "20260101_000000_abcdef", ident[:10]):
                refused = await client.post(
                    CHAT, json=asks("x"), headers={"x-hermes-session-id": wrong}
                )
                assert refused.status_code == 404
                assert refused.json()["error"]["code"] == "session_not_found"
    third = told(model.requests[2])
    assert [role for role, _ in third] == ["user", "assistant", "user", "assistant", "user"]
    assert [text.count("Rhyme.") for role, text in third if role == "user"] == [0, 1, 0]


async def test_a_session_in_use_is_told_and_not_mixed(serve: Serve) -> None:
    release = threading.Event()
    with ScriptedServer(
        [replies.say("first"), replies.hold(replies.say("slow"), release)]
    ) as model:
        async with serve(model) as running, http(running) as client:
            first = await client.post(CHAT, json=asks("one"))
            again = {"x-hermes-session-id": first.headers["x-hermes-session-id"]}
            slow = asyncio.create_task(client.post(CHAT, json=asks("two"), headers=again))
            await until(lambda: len(model.requests) == 2)
            busy = await client.post(CHAT, json=asks("three"), headers=again)
            release.set()
            assert (await slow).status_code == 200
    assert (busy.status_code, busy.json()["error"]["code"]) == (409, "session_busy")


# -- who may, and what -----------------------------------------------------------------


@pytest.mark.parametrize(
    "header", ["", f"Basic {KEY}", "Bearer", "Bearer sk-test-not-the-key", f"{KEY}"]
)
async def test_without_the_key_there_is_nothing_but_health(serve: Serve, header: str) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running, authorization=header) as client:
            for answer in (await client.post(CHAT, json=asks("x")), await client.get("/v1/models")):
                assert answer.status_code == 401
                assert answer.json()["error"]["code"] == "invalid_api_key"
            for path in ("/health", "/v1/health"):
                assert (await client.get(path)).json() == {"status": "ok"}
    assert model.requests == []


async def test_a_key_in_other_letters_is_a_wrong_key(serve: Serve) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            answer = await client.get(
                "/v1/models", headers={"authorization": "Bearer schlüssel".encode()}
            )
            assert answer.status_code == 401


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[]", "no chat request"),
        (b"{}", "messages"),
        (b'{"messages":[]}', "no message of the user"),
        (b'{"messages":[{"role":"system","content":"x"}]}', "no message of the user"),
        (b'{"messages":[{"role":"user","content":" "}]}', "last message is empty"),
        (b'{"messages":[{"role":"user","content":5}]}', "content must be"),
        (b'{"messages":[{"role":"wizard","content":"x"}]}', "no role 'wizard'"),
        (
            b'{"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}',
            "last",
        ),
        (b'{"n":2,"messages":[{"role":"user","content":"x"}]}', "n must be 1"),
        (
            b'{"messages":[{"role":"user","content":[{"type":"image_url","image_url":"file:///x"}]}]}',
            "image_url must be",
        ),
    ],
)
async def test_what_cannot_be_answered_is_refused_in_words(
    serve: Serve, body: bytes, text: str
) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            answer = await client.post(CHAT, content=body)
            assert await running.sessions() == []
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert text in error["message"]
    assert model.requests == []


async def test_a_body_that_is_too_long_is_refused_also_without_a_length(serve: Serve) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(30):
            yield b" " * 1000

    settings = {"plugins.api-server.max_body_megabytes": 0.01}
    with ScriptedServer(echo) as model:
        async with serve(model, settings=settings) as running, http(running) as client:
            for content in (b" " * 20_000, pieces()):
                answer = await client.post(CHAT, content=content)
                assert answer.status_code == 413
                assert "0.01 MB" in answer.json()["error"]["message"]
            assert (await client.post(CHAT, json=asks("short"))).status_code == 200


async def test_ten_megabytes_are_the_limit_unasked(serve: Serve) -> None:
    with ScriptedServer(then=replies.say("read")) as model:
        async with serve(model) as running, http(running) as client:
            fits = await client.post(CHAT, json=asks("x" * 9_900_000))
            over = await client.post(CHAT, json=asks("x" * 10_100_000))
    assert (fits.status_code, over.status_code) == (200, 413)


async def test_unknown_paths_and_methods_are_errors_of_the_same_form(serve: Serve) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            lost = await client.get("/v2/nothing")
            wrong = await client.get(CHAT)
    assert (lost.status_code, wrong.status_code) == (404, 405)
    assert "/v1/chat/completions" in lost.json()["error"]["message"]
    assert wrong.json()["error"]["type"] == "invalid_request_error"


async def test_web_pages_are_let_in_only_where_the_settings_name_them(serve: Serve) -> None:
    asking = {"origin": "https://ui.example", "access-control-request-method": "POST"}
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            assert (
                "access-control-allow-origin"
                not in (await client.options(CHAT, headers=asking)).headers
            )
        settings = {"plugins.api-server.cors_origins": ["https://ui.example"]}
        async with serve(model, settings=settings) as running, http(running) as client:
            named = await client.options(CHAT, headers=asking)
            other = await client.options(CHAT, headers={**asking, "origin": "https://evil.example"})
    assert named.headers["access-control-allow-origin"] == "https://ui.example"
    assert "access-control-allow-origin" not in other.headers


# -- tools -----------------------------------------------------------------------------


class Workshop:
    def __init__(self) -> None:
        self.ran: list[str] = []

    @hookimpl
    def hermes_register_tools(self) -> list[Tool]:
        @tool(toolset="workshop", effects=[Runs("command")])
        async def hammer(command: str) -> str:
            """Run something."""
            self.ran.append(command)
            return "done"

        return [hammer]


async def test_what_would_ask_is_denied_because_nobody_can_be_asked(serve: Serve) -> None:
    workshop = Workshop()
    script = [
        replies.calls([("hammer", {"command": "make install"})], text="I try."),
        replies.say("It was not allowed."),
    ]
    with ScriptedServer(script) as model:
        async with (
            serve(
                model,
                plugins={("hermes.tools", "workshop"): workshop},
                settings={"toolsets.by_face.api-server": ["workshop"]},
            ) as running,
            http(running) as client,
        ):
            answer = await client.post(CHAT, json=asks("install it", stream=True))
    assert workshop.ran == []
    assert "BLOCKED" in str(told(model.requests[1])[-1])
    texts = [
        json.loads(line[6:])["choices"][0]["delta"].get("content", "")
        for line in answer.text.splitlines()
        if line.startswith("data: {")
    ]
    assert "".join(texts) == "I try.\n\nIt was not allowed."


async def test_the_face_has_tools_of_its_own_and_none_that_asks_a_person(serve: Serve) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            await client.post(CHAT, json=asks("hello"))
    names = {one["function"]["name"] for one in model.requests[0].json["tools"]}
    assert {"read_file", "terminal", "memory"} <= names
    assert "clarify" not in names


# -- many at once, leaving, stopping ---------------------------------------------------


async def test_many_clients_at_once_get_each_their_own_answer(serve: Serve) -> None:
    async def one(client: httpx.AsyncClient, number: int) -> bool:
        said = [f"first of {number}"]
        for turn in range(3):
            answer = await client.post(CHAT, json=asks(*said, stream=bool(number % 2)))
            assert answer.status_code == 200, answer.text
            expected = f"re: {said[-1]}"
            if number % 2:
                lines = [
                    json.loads(line[6:])
                    for line in answer.text.splitlines()
                    if line.startswith("data: {")
                ]
                got = "".join(line["choices"][0]["delta"].get("content", "") for line in lines)
            else:
                got = answer.json()["choices"][0]["message"]["content"]
            assert got == expected
            said += [got, f"{turn} of {number}"]
        return True

    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            assert all(await asyncio.gather(*(one(client, number) for number in range(40))))
            kept = await running.sessions()
    assert sorted(one.message_count for one in kept) == [6] * 40


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_stops_its_turn(serve: Serve, stream: bool) -> None:
    silent = replies.hang("never to be seen", split=4)
    with ScriptedServer([silent], then=replies.say("the next one")) as model:
        async with serve(model) as running:
            async with http(running) as client:
                leaving = asyncio.create_task(client.post(CHAT, json=asks("hello", stream=stream)))
                await until(lambda: len(model.requests) == 1)
                leaving.cancel()
                await asyncio.wait({leaving})
            await asyncio.to_thread(model.wait_for_hangup)  # the model is not read any longer
            async with http(running) as client:
                assert (await client.post(CHAT, json=asks("again"))).status_code == 200
                left = next(one for one in await running.sessions() if one.title == "hello")
                rows = await running.host.runtime.store.messages(left.id)
    assert all(row.message.status == "interrupted" for row in rows[1:])


async def test_silence_is_filled_so_that_nothing_in_between_hangs_up(serve: Serve) -> None:
    release, clock = threading.Event(), VirtualClock()
    with ScriptedServer([replies.hold(replies.say("at last"), release)]) as model:
        async with serve(model, clock=clock) as running, http(running) as client:
            asking = asyncio.create_task(client.post(CHAT, json=asks("x", stream=True)))
            await until(lambda: len(model.requests) == 1)
            await clock.advance(31)
            release.set()
            seen = (await asking).text
    assert "\n\n: keepalive\n\n" in seen
    assert seen.endswith("data: [DONE]\n\n")


async def test_more_than_the_limit_are_told_to_come_back(serve: Serve) -> None:
    release = threading.Event()
    settings = {"plugins.api-server.max_runs": 1}
    with ScriptedServer(
        [replies.hold(replies.say("slow"), release)], then=replies.say("quick")
    ) as model:
        async with serve(model, settings=settings) as running, http(running) as client:
            slow = asyncio.create_task(client.post(CHAT, json=asks("one")))
            await until(lambda: len(model.requests) == 1)
            refused = await client.post(CHAT, json=asks("two"))
            healthy = await client.get("/health")
            release.set()
            assert (await slow).status_code == 200
            assert (await client.post(CHAT, json=asks("three"))).status_code == 200
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert refused.json()["error"]["type"] == "rate_limit_error"
    assert healthy.status_code == 200


async def _is_listening(running: Any) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", running.server.port)
    except OSError:
        return False
    writer.close()
    return True


async def test_draining_lets_an_answer_end_and_takes_nothing_new(serve: Serve) -> None:
    release = threading.Event()
    with ScriptedServer([replies.hold(replies.say("to the end"), release)]) as model:
        async with serve(model) as running, http(running) as client:
            slow = asyncio.create_task(client.post(CHAT, json=asks("one")))
            await until(lambda: len(model.requests) == 1)
            draining = asyncio.create_task(running.server.drain())
            async with SystemClock().timeout(20):
                while await _is_listening(running):
                    await asyncio.sleep(0.005)
            assert running.server.trouble()
            release.set()
            answer = await slow
            await draining
            assert not running.task.done()
    assert answer.json()["choices"][0]["message"]["content"] == "to the end"


async def test_stopping_tells_those_who_wait(serve: Serve) -> None:
    release = threading.Event()
    with ScriptedServer([replies.hold(replies.say("never"), release)]) as model:
        async with serve(model) as running, http(running) as client:
            slow = asyncio.create_task(client.post(CHAT, json=asks("one")))
            await until(lambda: len(model.requests) == 1)
            running.task.cancel()
            answer = await slow
        release.set()
    assert answer.status_code == 503
    assert "the gateway was stopped" in answer.json()["error"]["message"]


async def test_a_taken_port_is_told_with_the_command_that_takes_another(
    serve: Serve, hermes: Any
) -> None:
    with ScriptedServer(echo) as model:
        async with serve(model) as running:
            settings = {
                "plugins.api-server.key": KEY,
                "plugins.api-server.port": running.server.port,
            }
            async with hermes(settings=settings) as host:
                spec, face = await host.face("api-server")
                with pytest.raises(HermesError, match="cannot be listened on") as told:
                    await spec.make(face).run()
    assert told.value.hint.startswith("`hermes config set plugins.api-server.port")


# -- what nobody should send ------------------------------------------------------------


async def test_a_body_that_is_nested_without_end_is_refused(serve: Serve) -> None:
    nested = b"[" * 100_000 + b"]" * 100_000
    body = b'{"messages":[{"role":"user","content":' + nested + b"}]}"
    broken = b'{"messages":[{"role":"user","content":' + b"[" * 100_000
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            for sent in (body, broken):
                answer = await client.post(CHAT, content=sent)
                assert answer.status_code == 400
            assert (await client.post(CHAT, json=asks("fine"))).status_code == 200


async def test_characters_that_nobody_sees_break_nothing(serve: Serve) -> None:
    with ScriptedServer(then=replies.say("ok")) as model:
        async with serve(model) as running, http(running) as client:
            answer = await client.post(CHAT, json=asks("a\0b\x1b[31mc", "d\0", "e\0f"))
            assert answer.status_code == 200
            (kept,) = await running.sessions()
    assert told(model.requests[0])[-1] == ("user", "ef")
    assert "\x1b" not in kept.title


async def test_a_system_message_alone_at_the_end_goes_to_the_last_user_message(
    serve: Serve,
) -> None:
    body = asks("one")
    body["messages"].append({"role": "system", "content": "In French."})
    with ScriptedServer(then=replies.say("un")) as model:
        async with serve(model) as running, http(running) as client:
            assert (await client.post(CHAT, json=body)).status_code == 200
    assert told(model.requests[0])[-1][1].startswith("one\n\n")
    assert "In French." in told(model.requests[0])[-1][1]


async def test_sessions_that_cannot_be_kept_are_told_and_not_tried_again(
    serve: Serve, hermes_home: Path
) -> None:
    hermes_home.mkdir(parents=True)
    (hermes_home / "state.db").write_bytes(b"this is no database. " * 500)
    with ScriptedServer(echo) as model:
        async with serve(model) as running, http(running) as client:
            answer = await client.post(CHAT, json=asks("one"))
            assert (await client.get("/health")).status_code == 200
    assert answer.status_code == 503
    assert answer.headers["x-should-retry"] == "false"
    assert "state.db" in answer.json()["error"]["message"]
    assert model.requests == []
