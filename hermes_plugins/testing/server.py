"""The scripted server as a process: ``python -m hermes_plugins.testing.server --script FILE.json``.

It prints its base URL on a line of its own and serves until its standard input closes. The script is
a list of ``{"reply": "say", "text": "Hi", "times": 3}``: ``reply`` is the name of a reply function,
``times`` repeats it, and every other key is an argument of that function.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from hermes_plugins.testing import replies
from hermes_plugins.testing._server import ScriptedServer

_ABOUT = """\
A model server on loopback that answers by script, in OpenAI's chat completions form. It prints its
base URL and serves until its standard input closes, so that this serves for ten minutes:

  sleep 600 | python -m hermes_plugins.testing.server --script FILE --port 8080

The script is a JSON list. In each entry "reply" is the name of a reply, "times" says how often it is
given (once), and every other key is an argument of that reply:

  [{"reply": "call", "name": "read_file", "arguments": {"path": "a.txt"}},
   {"reply": "fail", "status": 429, "headers": {"retry-after-ms": "1"}},
   {"reply": "say", "text": "Done.", "times": 3}]
"""


def main(arguments: list[str] | None = None) -> int:
    """Run until stdin closes."""
    parser = argparse.ArgumentParser(
        prog="python -m hermes_plugins.testing.server",
        description=_ABOUT,
        epilog=f"replies: {', '.join(sorted(replies.REPLIES))}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--script", type=Path, required=True, help="a JSON list of replies")
    parser.add_argument(
        "--port", type=int, default=0, help="on 127.0.0.1; without it, or with 0, one that is free"
    )
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="write the bodies of all requests there at the end, a line each",
    )
    options = parser.parse_args(arguments)
    try:
        script = replies.from_json(options.script.read_bytes())
    except (OSError, ValueError) as error:
        print(f"the script {options.script} cannot be used: {error}", file=sys.stderr)
        print("`python -m hermes_plugins.testing.server --help` shows one.", file=sys.stderr)
        return 2
    server = ScriptedServer(script, port=options.port)
    try:
        server.start()
    except OSError as error:
        print(
            f"port {options.port} cannot be used: {os.strerror(error.errno or 0)}.", file=sys.stderr
        )
        print(
            "`python -m hermes_plugins.testing.server --script FILE` takes one that is free.",
            file=sys.stderr,
        )
        return 2
    try:
        print(server.url, flush=True)
        sys.stdin.read()
    finally:
        server.close()
    if options.record:
        lines = b"".join(request.body + b"\n" for request in server.requests)
        options.record.write_bytes(lines)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
