"""What a model may send, good and bad, and what the person sees of it."""

from __future__ import annotations

from hermes_plugins import TextDelta, ToolDone
from hermes_plugins.testing import HostFactory, ScriptedServer, replies


async def test_two_calls_in_one_answer(hermes: HostFactory, model_server: ScriptedServer) -> None:
    model_server.script(
        replies.calls([("read_file", {"path": "a.txt"}), ("read_file", {"path": "b.txt"})]),
        replies.say("Read both.", split=3),
    )
    async with hermes(server=model_server, toolsets=("file",)) as host:
        (host.workspace / "a.txt").write_text("A", encoding="utf-8")
        answer = await host.ask("Read a.txt and b.txt.")
    assert [done.status for done in answer.of(ToolDone)] == ["ok", "failed"]
    assert "".join(delta.text for delta in answer.of(TextDelta)) == "Read both."
    question, results = model_server.requests
    assert question.messages[-1]["content"] == "Read a.txt and b.txt."
    assert [message["role"] for message in results.messages[-2:]] == ["tool", "tool"]


async def test_a_stream_that_breaks(hermes: HostFactory, model_server: ScriptedServer) -> None:
    model_server.script(replies.cut("The answer is"))
    async with hermes(server=model_server, toolsets=("todo",)) as host:
        answer = await host.ask("What is the answer?")
    assert answer.end.outcome == "incomplete"
    assert answer.text == "The answer is"
