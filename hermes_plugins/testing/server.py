"""The scripted server as a process: ``python -m hermes_plugins.testing.server --script FILE.json``.

It prints its base URL on a line of its own and serves until stdin closes. ``--record FILE`` appends
every request body as a line. The script is a list of ``{"reply": "say", "text": "Hi", "times": 3}``,
with the names and arguments of the reply functions.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hermes_plugins.testing import replies
from hermes_plugins.testing._server import ScriptedServer


def main(arguments: list[str] | None = None) -> int:
    """Run until stdin closes."""
    parser = argparse.ArgumentParser(prog="python -m hermes_plugins.testing.server")
    parser.add_argument("--script", type=Path, required=True, help="a JSON list of replies")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", type=Path, help="write the request bodies here at the end")
    options = parser.parse_args(arguments)
    try:
        script = replies.from_json(options.script.read_bytes())
    except (OSError, ValueError) as error:
        print(f"the script cannot be used: {error}", file=sys.stderr)
        return 2
    with ScriptedServer(script, port=options.port) as server:
        print(server.url, flush=True)
        sys.stdin.read()
    if options.record:
        lines = b"".join(request.body + b"\n" for request in server.requests)
        options.record.write_bytes(lines)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
