"""The scripted model server: what it sends, keeps and refuses."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from hermes_plugins.testing import ScriptedRequest, ScriptedServer, replies


def connect(server: ScriptedServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", int(server.url.split(":")[2].split("/")[0]))


def post(
    connection: http.client.HTTPConnection, *, stream: bool = True, usage: bool = False
) -> http.client.HTTPResponse:
    body: dict[str, Any] = {"model": "m", "stream": stream, "messages": [{"role": "user"}]}
    if usage:
        body["stream_options"] = {"include_usage": True}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"X-Mine": "yes"})
    return connection.getresponse()


def events_of(response: http.client.HTTPResponse) -> list[Any]:
    found = response.read().decode().removesuffix("\n\n").split("\n\n")
    assert found.pop() == "data: [DONE]"
    return [json.loads(event.removeprefix("data: ")) for event in found]


def test_it_streams_a_reply_a_request_on_one_connection(model_server: ScriptedServer) -> None:
    model_server.script(replies.say("Hello", split=2), replies.say("Bye"))
    connection = connect(model_server)
    first = events_of(post(connection))
    second = events_of(post(connection))
    connection.close()
    pieces = [event["choices"][0]["delta"].get("content") for event in first]
    assert pieces == ["", "He", "ll", "o", None]
    assert second[1]["choices"][0]["delta"]["content"] == "Bye"
    assert model_server.connections == 1


def test_the_usage_event_comes_only_when_it_is_asked_for(model_server: ScriptedServer) -> None:
    model_server.script(replies.say("Hi"), replies.say("Hi"))
    connection = connect(model_server)
    assert [bool(event.get("usage")) for event in events_of(post(connection))].count(True) == 0
    last = events_of(post(connection, usage=True))[-1]
    connection.close()
    assert (last["choices"], last["usage"]["prompt_tokens"]) == ([], 10)


def test_without_stream_the_answer_is_one_body(model_server: ScriptedServer) -> None:
    model_server.script(replies.calls([("read_file", {"path": "a"})], text="Reading."))
    connection = connect(model_server)
    answer = json.loads(post(connection, stream=False).read())
    connection.close()
    choice = answer["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "Reading."
    function = choice["message"]["tool_calls"][0]["function"]
    assert function == {"name": "read_file", "arguments": '{"path":"a"}'}


def test_requests_are_kept_with_headers_and_exact_bodies(model_server: ScriptedServer) -> None:
    model_server.script(replies.say("Hi"))
    connection = connect(model_server)
    post(connection).read()
    connection.close()
    (request,) = model_server.requests
    assert (request.method, request.path) == ("POST", "/v1/chat/completions")
    assert request.headers["x-mine"] == "yes"
    assert json.loads(request.body) == request.json
    assert request.messages == [{"role": "user"}]


def test_a_request_after_the_script_is_refused_with_its_number(
    model_server: ScriptedServer,
) -> None:
    connection = connect(model_server)
    response = post(connection)
    said = json.loads(response.read())["error"]["message"]
    connection.close()
    assert response.status == 400
    assert said == "the script is over: request 1 was not expected"


def test_then_answers_once_the_script_is_over() -> None:
    with ScriptedServer([replies.say("one")], then=replies.say("again")) as server:
        connection = connect(server)
        texts = [events_of(post(connection))[1]["choices"][0]["delta"]["content"] for _ in "abc"]
        connection.close()
    assert texts == ["one", "again", "again"]


def test_a_function_of_the_request_may_be_the_script() -> None:
    def script(request: ScriptedRequest) -> replies.Reply:
        return replies.say(f"model {request.json['model']}")

    with ScriptedServer(script) as server:
        connection = connect(server)
        events = events_of(post(connection))
        connection.close()
    assert events[1]["choices"][0]["delta"]["content"] == "model m"


def test_it_lists_its_models() -> None:
    with ScriptedServer(models=["one", "two"]) as server:
        connection = connect(server)
        connection.request("GET", "/v1/models")
        listed = json.loads(connection.getresponse().read())
        connection.close()
        assert server.requests == []
    assert [model["id"] for model in listed["data"]] == ["one", "two"]


def test_a_held_reply_waits_for_its_release(model_server: ScriptedServer) -> None:
    release = threading.Event()
    model_server.script(replies.hold(replies.say("Hello"), release, after=2))
    connection = connect(model_server)
    response = post(connection)
    early = b"".join(response.readline() for _ in range(4))
    assert b"Hello" in early
    assert b'finish_reason":"stop' not in early
    release.set()
    assert b'finish_reason":"stop' in response.read()
    connection.close()


def test_a_cut_reply_drops_the_connection(model_server: ScriptedServer) -> None:
    model_server.script(replies.cut("abcdef", after=2, split=1))
    connection = connect(model_server)
    with pytest.raises(http.client.IncompleteRead) as caught:
        post(connection).read()
    connection.close()
    assert caught.value.partial.count(b'"content":') == 3


def test_closing_wakes_whoever_waits() -> None:
    server = ScriptedServer([replies.hang(), replies.hold(replies.say("x"), threading.Event())])
    with server:
        held = [connect(server), connect(server)]
        for number, connection in enumerate(held, 1):
            connection.request("POST", "/v1/chat/completions", '{"stream":true}')
            server.wait_for_requests(number)
    server.wait_for_hangup()
    for connection in held:
        connection.close()


def test_waiting_for_a_request_that_never_comes_says_how_many_came(
    model_server: ScriptedServer,
) -> None:
    with pytest.raises(TimeoutError, match="0 requests arrived, 1 were expected"):
        model_server.wait_for_requests(1, seconds=0.01)


async def test_it_serves_while_the_test_runs_a_loop(model_server: ScriptedServer) -> None:
    model_server.script(replies.say("Hi"))

    def client() -> list[Any]:
        connection = connect(model_server)
        try:
            return events_of(post(connection))
        finally:
            connection.close()

    found = await asyncio.to_thread(client)
    assert found[1]["choices"][0]["delta"]["content"] == "Hi"


def test_as_a_process_it_follows_a_script_file_and_records_the_bodies(tmp_path: Path) -> None:
    script, record = tmp_path / "script.json", tmp_path / "requests.jsonl"
    entries = [
        {"reply": "say", "text": "Hello", "times": 2},
        {"reply": "calls", "wanted": [["read_file", {"path": "a"}]]},
        {"reply": "fail", "status": 429, "headers": {"retry-after": "1"}},
    ]
    script.write_text(json.dumps(entries), encoding="utf-8")
    command = [sys.executable, "-m", "hermes_plugins.testing.server"]
    process = subprocess.Popen(
        [*command, "--script", str(script), "--record", str(record)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    with process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        connection = http.client.HTTPConnection("127.0.0.1", int(url.split(":")[2].split("/")[0]))
        answers = [post(connection) for _ in "a"]
        answers[0].read()
        texts = [post(connection).read() for _ in "bc"]
        refused = post(connection)
        refused.read()
        connection.close()
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(10) == 0
    assert b"Hello" in texts[0]
    assert b"read_file" in texts[1]
    assert (refused.status, refused.headers["retry-after"]) == (429, "1")
    assert len(record.read_bytes().splitlines()) == 4


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('[{"reply": "sing"}]', "'sing' is no reply; known: call, calls"),
        ('[{"reply": "say", "loud": true}]', "reply 'say': "),
        ("[", "cannot be used: Input data was truncated"),
    ],
)
def test_a_script_file_that_cannot_be_used_is_refused(
    tmp_path: Path, script: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from hermes_plugins.testing import server

    file = tmp_path / "script.json"
    file.write_text(script, encoding="utf-8")
    assert server.main(["--script", str(file)]) == 2
    assert said in capsys.readouterr().err


def test_its_help_says_what_a_script_is(capsys: pytest.CaptureFixture[str]) -> None:
    from hermes_plugins.testing import server

    with pytest.raises(SystemExit) as ended:
        server.main(["--help"])
    said = capsys.readouterr().out
    assert ended.value.code == 0
    example = said[said.index("[{") : said.index("}]") + 2]
    assert len(replies.from_json(example.encode())) == 5
    assert "sleep 600 |" in said
    assert all(name in said for name in replies.REPLIES)


def test_errors_inside_a_200_may_carry_headers(model_server: ScriptedServer) -> None:
    soon = {"retry-after-ms": "1"}
    model_server.script(
        replies.fail(200, body={"error": "busy"}, headers=soon),
        replies.error_in_stream("busy", headers=soon),
        replies.raw({"error": "busy"}, headers=soon),
    )
    connection = connect(model_server)
    for _ in range(3):
        response = post(connection)
        assert (response.status, response.headers["retry-after-ms"]) == (200, "1")
        assert b"busy" in response.read()
    connection.close()


def test_it_may_know_one_path_and_one_key() -> None:
    with ScriptedServer(then=replies.say("hello"), only="/v1/", key="k") as server:
        connection = connect(server)
        for path, headers, status in (
            ("/models", {"authorization": "Bearer k"}, 404),
            ("/v1/models", {}, 401),
            ("/v1/models", {"authorization": "Bearer k"}, 200),
        ):
            connection.request("GET", path, headers=headers)
            response = connection.getresponse()
            response.read()
            assert response.status == status
        connection.close()
        assert server.requests == []
