"""What `hermes doctor` says of the shell: which one it is, and whether it runs a command."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from hermes_plugins import Finding, Host, ToolError

from . import Settings, shell

_SET = "`hermes config set plugins.terminal.shell /bin/sh`, or the path of another one."


async def look_at_shell(host: Host) -> Sequence[Finding]:
    """Run `echo` in the shell that commands get."""
    variables = host.child_environment()
    try:
        program = shell.choose(host.section(Settings).shell, variables)
    except ToolError as error:
        return [Finding(level="fail", text=error.message, hint=_SET)]
    try:
        said, status = await _run(shell.argv(program, "echo ready"), variables)
    except OSError as error:
        text = f"the shell {program} does not start: {error.strerror}."
        return [Finding(level="fail", text=text, hint=_SET)]
    if "ready" in said:
        return [Finding(level="ok", text=f"Commands run in {program}.")]
    first = " ".join(said.split())[:200]
    text = f"the shell {program} ended with {status} and did not run `echo ready`"
    return [Finding(level="fail", text=f"{text}: {first}" if first else f"{text}.", hint=_SET)]


async def _run(words: Sequence[str], variables: dict[str, str]) -> tuple[str, int | None]:
    process = await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env=variables,
    )
    try:
        out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return out.decode("utf-8", "replace"), process.returncode
