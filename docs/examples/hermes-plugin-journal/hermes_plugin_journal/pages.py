"""Reading and writing the journal, through the session's environment."""

from __future__ import annotations

from datetime import UTC, datetime

from hermes_plugins import ToolContext, ToolError


async def write(context: ToolContext, path: str, text: str) -> str:
    """Append one line; the file is replaced whole, or not at all.

    Raises:
        ToolError: the line is empty, or the file cannot be read or written.
    """
    line = " ".join(text.split())
    if not line:
        raise ToolError("there is nothing to write.", hint="Give the line as `text`.")
    environment = context.environment
    before = await environment.stat(path)
    old = await environment.read(path) if before.kind == "file" else b""
    day = datetime.fromtimestamp(context.clock.now(), UTC).date().isoformat()
    new = f"{day} {line}\n".encode()
    await environment.write(path, old + new, expected=before)
    return f"Written to {path}: {day} {line}"


async def read(context: ToolContext, path: str, word: str, *, limit: int) -> str:
    """The newest lines, oldest first.

    Raises:
        ToolError: the file cannot be read.
    """
    if (await context.environment.stat(path)).kind == "missing":
        return "The journal is empty."
    lines = (await context.environment.read(path)).decode("utf-8", "replace").splitlines()
    found = [line for line in lines if word.lower() in line.lower()]
    return "\n".join(found[-limit:]) or f"No line has {word!r}."
