"""A model in a process of its own: what it answers depends on the model's name alone.

    say             one short answer
    read-40         asks for read_file 40 times, then answers how many notes it read
    echo            says the last token-… of the request again, in pieces of 4 characters
    deltas-20000    an answer of 20,000 deltas of one token
    markdown-5000   5,000 lines of Markdown (paragraphs, lists, code), 6 characters a delta
    kept-…          the same, and the request's body becomes a line of the file

``model.py FILE`` prints its URL and serves until stdin closes.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from hermes_plugins.testing import ScriptedRequest, ScriptedServer, replies
from hermes_plugins.testing.replies import Reply


def answer(request: ScriptedRequest) -> Reply:
    """The reply that the model's name asks for."""
    body = request.json
    model = str(body.get("model", "")).rpartition("/")[2]
    kind, _, count = model.removeprefix("kept-").partition("-")
    if kind == "deltas":
        return _deltas(int(count))
    if kind == "echo":
        tokens = re.findall(rb"token-[0-9-]*[0-9]", request.body)
        return replies.say(f"You said {tokens[-1].decode() if tokens else 'nothing'}.", split=4)
    if kind == "markdown":
        return _markdown(int(count))
    if kind == "read" and body.get("tools"):
        return _next_read(request, int(count))
    return replies.say("The answer is 42.")


def _next_read(request: ScriptedRequest, count: int) -> Reply:
    """The next note, until so many were read since the person last spoke."""
    done = 0
    for message in reversed(request.messages):
        if message["role"] == "user":
            break
        if message["role"] == "tool":
            if "nothing much" not in str(message["content"]):
                return replies.say(f"A read failed: {message['content']}")
            done += 1
    if done == count:
        return replies.say(f"{count} notes read.")
    path = f"notes/{len(request.messages) % 600:03}.txt"
    return replies.call("read_file", {"path": path}, id=f"call_{len(request.messages)}")


_ready: dict[int, Reply] = {}


def _deltas(count: int) -> Reply:
    if count not in _ready:
        _ready[count] = replies.say("word " * count, split=["word "] * count)
    return _ready[count]


def _markdown(count: int) -> Reply:
    if -count not in _ready:
        pieces = [
            f"Paragraph {number} with **bold**, `code` and a few more words in it.\n\n"
            f"- an item\n- another [one](https://example.org/{number})\n\n"
            f"```python\ndef f{number}(x):\n    return x + {number}\n```\n\n"
            for number in range(count // 10)
        ]
        _ready[-count] = replies.say("".join(pieces) + "The last line.", split=6)
    return _ready[-count]


def main() -> None:
    """Serve until stdin closes."""
    file = Path(sys.argv[1])

    def script(request: ScriptedRequest) -> Reply:
        server.requests.clear()  # kept for tests; here they would fill memory
        if b'"kept-' in request.body:
            with file.open("ab") as lines:
                lines.write(request.body + b"\n")
        return answer(request)

    with ScriptedServer(script, models=("say",)) as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
