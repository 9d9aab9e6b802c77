"""A model in a process of its own: what it answers depends on the model's name alone.

    say             one short answer
    read-40         asks for read_file 40 times, then answers
    deltas-20000    an answer of 20,000 deltas of one token

It prints its URL and serves until stdin closes. With ``--record FILE`` every request body becomes a
line of that file as it arrives.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from hermes_plugins.testing import ScriptedRequest, ScriptedServer, replies
from hermes_plugins.testing.replies import Reply


def answer(request: ScriptedRequest) -> Reply:
    """The reply that the model's name asks for."""
    body = request.json
    kind, _, count = str(body.get("model", "")).rpartition("/")[2].partition("-")
    if kind == "deltas":
        return _deltas(int(count))
    if kind == "read" and body.get("tools"):
        done = _results_of_this_turn(request)
        if done < int(count):
            path = f"notes/{done:03}.txt"
            return replies.call("read_file", {"path": path}, id=f"call_{len(request.messages)}")
    return replies.say("The answer is 42.")


def _results_of_this_turn(request: ScriptedRequest) -> int:
    """How many tool results follow the last message of the person."""
    count = 0
    for message in reversed(request.messages):
        if message["role"] == "user":
            return count
        count += message["role"] == "tool"
    return count


_ready: dict[int, Reply] = {}


def _deltas(count: int) -> Reply:
    if count not in _ready:
        _ready[count] = replies.say("word " * count, split=["word "] * count)
    return _ready[count]


def recording(path: Path, script: Callable[[ScriptedRequest], Reply]) -> Callable[..., Reply]:
    """The same script, writing down what it is asked."""

    def record(request: ScriptedRequest) -> Reply:
        with path.open("ab") as file:
            file.write(request.body + b"\n")
        return script(request)

    return record


def main() -> None:
    """Serve until stdin closes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", type=Path)
    options = parser.parse_args()
    script = recording(options.record, answer) if options.record else answer

    def forgetful(request: ScriptedRequest) -> Reply:
        server.requests.clear()  # the server keeps them for tests; here they would fill memory
        return script(request)

    with ScriptedServer(forgetful, models=("say",)) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
