"""The prompt never moves: request n+1 begins with request n, byte for byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from hermes_plugins import Json, Pure, ToolStarted, hookimpl, tool, user_message
from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._host import HostFactory
from hermes_plugins.testing._server import ScriptedRequest
from hermes_plugins.testing.replies import Reply

TURNS = 50


class Toolset:
    """Two tools, one of whose results grow, and a turn transform that adds something each time."""

    @hookimpl
    def hermes_register_tools(self) -> list[object]:
        @tool(toolset="bench", effects=[Pure()])
        def repeat(text: str, times: int = 1) -> str:
            """Say it several times."""
            return text * times

        @tool(toolset="bench", effects=[Pure()])
        def fail() -> str:
            """Break."""
            raise ValueError("it broke")

        return [repeat, fail]


class Clock:
    """Adds a line that differs in each turn to what the model reads."""

    def __init__(self) -> None:
        self.count = 0

    @hookimpl
    def hermes_transform_turn(self, added: Sequence[str]) -> Sequence[str]:
        self.count += 1
        return (*added, f"This is turn {self.count}.")


def answer(request: ScriptedRequest) -> Reply:
    """By the number of messages: calls in several forms, failing ones, thoughts, and answers."""
    messages = request.messages
    if messages[-1]["role"] == "user" and "Äpfel" in str(messages[-1]["content"]):
        count = len(messages)
        wanted: list[tuple[str, Mapping[str, Json] | str, str]] = [
            ("repeat", {"times": 3, "text": "ä\n\"'\u2028" * (count % 5)}, f"one_{count}"),
            ("fail", "{}", f"two_{count}"),
            ("repeat", '{ "text" :  "spaced",\n"times": "2"}', f"three_{count}"),
        ]
        return replies.calls(wanted[: 1 + count % 3], text="Hm. " * (count % 2))
    return (
        replies.think("well", "Fertig. \U0001f600\u200d\u2620")
        if len(messages) % 2
        else replies.say("ok")
    )


async def test_fifty_turns_with_tools_and_steering_never_change_what_was_sent(
    hermes: HostFactory,
) -> None:
    plugins = {
        ("hermes.tools", "bench"): Toolset(),
        ("hermes.lifecycle", "clock"): Clock(),
    }
    with ScriptedServer(answer) as server:
        async with hermes(plugins=plugins, server=server, toolsets=("bench", "todo")) as host:
            session = await host.session()
            for number in range(TURNS):
                steered = number % 3
                async with session.run(f"Äpfel {number}\ttab") as run:
                    async for event in run:
                        if isinstance(event, ToolStarted) and steered:
                            steered = 0
                            run.steer(f"and be quick, {number}")
        bodies = [request.body for request in server.requests]
    assert len(bodies) >= 2 * TURNS
    for text in (f"This is turn {TURNS}.", "and be quick, 49", "it broke", "spacedspaced"):
        assert text.encode() in bodies[-1], text
    assert not moved(bodies)


async def test_a_session_that_is_resumed_goes_on_with_the_same_bytes(hermes: HostFactory) -> None:
    plugins = {("hermes.tools", "bench"): Toolset()}
    with ScriptedServer(answer) as server:
        async with hermes(plugins=plugins, server=server, toolsets=("bench",)) as host:
            await host.ask(user_message("Äpfel eins", added=("the clock says noon",)))
            resume = (await host.session()).info.id
        async with hermes(plugins=plugins, server=server, resume=resume) as host:
            await host.ask("Äpfel zwei")
        bodies = [request.body for request in server.requests]
    assert len(bodies) == 4
    assert not moved(bodies)


def moved(bodies: Sequence[bytes]) -> list[int]:
    """The requests that do not begin with the one before: with all of it but the closing brackets."""
    return [
        number
        for number, (before, after) in enumerate(pairwise(bodies), 1)
        if not after.startswith(_open(before))
    ]


def _open(body: bytes) -> bytes:
    """A request up to where the list of messages is closed; that has to be at its very end."""
    assert body.endswith(b"}]}"), "the messages are not the last thing in the request"
    return body[:-2]
