"""A session of 50 turns in one process, two tool calls each, and a person who steers: ``URL HOME``.

Prints how many messages the session has at the end.
"""

import asyncio
import os
import sys
from pathlib import Path

from hermes_core.paths import resolve_paths
from hermes_core.runtime import open_runtime
from hermes_plugins import SessionWish, ToolStarted

TURNS = 50


async def main() -> None:
    """Talk."""
    url, home = sys.argv[1:]
    environ = {
        **os.environ,
        "HERMES_HOME": home,
        "HERMES_MODEL__PROVIDER": "custom",
        "HERMES_MODEL__BASE_URL": url,
        "HERMES_MODEL__NAME": "kept-read-2",
    }
    runtime = await open_runtime(resolve_paths(environ), environ=environ, cwd=Path.cwd())
    session = await runtime.open_session(SessionWish())
    for turn in range(TURNS):
        async with session.run(f"Question {turn}: what do the notes say?") as run:
            steered = turn % 2 == 0  # every other turn
            async for event in run:
                if isinstance(event, ToolStarted) and not steered:
                    steered = True
                    run.steer(f"Mind note {turn} as well.")
        if run.end is None or run.end.outcome != "completed":
            sys.exit(f"turn {turn} ended with {run.end}")
    print(len(session.history))
    await session.close()
    await runtime.close()


if __name__ == "__main__":
    asyncio.run(main())
