"""The terminal: whether it can show what an answer may hold, and which face it gets."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence

from hermes_plugins import Finding, Host


def look(host: Host) -> Sequence[Finding]:
    """Encoding, kind and size."""
    variables = host.child_environment()
    kind = variables.get("TERM", "")
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    found = []
    if encoding != "utf8":
        text = (
            f"Its encoding is {sys.stdout.encoding}: what that lacks is shown as ?, and `hermes` "
            "opens its plain face."
        )
        hint = "Use a UTF-8 locale, such as `export LC_ALL=C.UTF-8`."
        found.append(Finding(level="warn", text=text, hint=hint))
    if not sys.stdout.isatty():
        text = "The output goes to a file or a pipe, so the terminal itself was not looked at."
        return [*found, Finding(level="info", text=text)]
    if kind in ("", "dumb") and sys.platform != "win32":
        text = f"TERM is {kind or 'not set'}: `hermes` opens its plain face."
        hint = "A terminal that can draw says so: `export TERM=xterm-256color`."
        found.append(Finding(level="info", text=text, hint=hint))
    columns, rows = shutil.get_terminal_size()
    if columns < 40:
        text = f"Only {columns} columns wide: lines of the REPL will break."
        found.append(Finding(level="info", text=text))
    colour = ", without colour (NO_COLOR)" if variables.get("NO_COLOR") else ""
    if not found:
        said = f"{kind or sys.platform}, {sys.stdout.encoding}, {columns} by {rows}{colour}."
        found.append(Finding(level="ok", text=said))
    return found
