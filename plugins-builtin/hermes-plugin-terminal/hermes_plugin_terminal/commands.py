"""What the terminal tool does: judge the call's form, run it, and say in words how it ended."""

from __future__ import annotations

import os
import re
import shlex
from collections import deque
from collections.abc import Iterator, Sequence

from hermes_plugins import ExecResult, ToolContext, ToolError, ToolResult

from . import Settings

# CSI, OSC (also unfinished), character sets, and two-character escapes of ECMA-48; then the controls
# that mean nothing in a text.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|\x1b[()*+][ -~]"
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
_HEREDOC = re.compile(
    r"<<-?[ \t]*(['\"]?)(\w+)\1(.*?)\n.*?^[ \t]*\2[ \t]*$", re.DOTALL | re.MULTILINE
)
_SEPARATORS = re.compile(r"[;&|()\n]+")
_DETACHING = ("nohup", "setsid", "disown")
_BEFORE_A_COMMAND = re.compile(r"then|do|else|fi|done|[{}!]|time|exec|command|sudo|env|\w+=.*")
_ADVICE = "Use background=true instead; process reads its output and ends it."

# Exit codes that are an answer and not a failure, by program (grep(1), diff(1), cmp(1), test(1)).
_MEANINGS: dict[tuple[str, int], str] = {
    ("grep", 1): "no match",
    ("egrep", 1): "no match",
    ("fgrep", 1): "no match",
    ("rg", 1): "no match",
    ("ag", 1): "no match",
    ("pgrep", 1): "no match",
    ("diff", 1): "they differ",
    ("cmp", 1): "they differ",
    ("test", 1): "false",
    ("[", 1): "false",
    ("[[", 1): "false",
    ("curl", 6): "host not found",
    ("curl", 7): "no connection",
    ("curl", 28): "timed out",
}
# What the shell itself says (POSIX, Shell Command Language 2.8.2), and 128 + the common signals.
_ANYWHERE: dict[int, str] = {
    126: "not executable",
    127: "command not found",
    130: "interrupted",
    137: "killed, perhaps for lack of memory",
    139: "crashed",
    143: "terminated",
}


async def run(
    context: ToolContext, command: str, *, timeout: float | None, workdir: str
) -> ToolResult:
    """Run a command in the foreground.

    Raises:
        ToolError: the call is not one for the foreground, or could not be started.
    """
    settings = context.host.section(Settings)
    seconds = _seconds(timeout, settings)
    reason = _detaches(command)
    if reason:
        raise ToolError(f"{reason}, so its end and its output would be lost.", hint=_ADVICE)
    result = await context.environment.exec(
        command,
        cwd=workdir,
        timeout=seconds,
        output_limit=min(settings.output_chars, context.result_chars),
        session_key=context.session_id,
        cancelled=context.cancelled,
    )
    return _told(command, result, seconds)


async def start(context: ToolContext, command: str, *, workdir: str) -> ToolResult:
    """Start a command in the background.

    Raises:
        ToolError: it could not be started.
    """
    if not command.strip():
        raise ToolError("the command is empty.")
    # The background is ours to make: with its own "&" the shell would end and look finished.
    line = re.sub(r"(?<![&|>\\])&\s*$", "", command)
    process = await context.environment.start(line, cwd=workdir, session_key=context.session_id)
    return ToolResult(
        text=f"Started {process.id} (pid {process.pid}).",
        meta={"process": process.id, "pid": process.pid},
    )


def clean(text: str) -> str:
    """Text without terminal escapes and control characters, with plain line ends."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _ESCAPES.sub("", text)


def _seconds(timeout: float | None, settings: Settings) -> float:
    if timeout is None:
        return settings.timeout
    if timeout <= 0:
        raise ToolError("timeout is a number of seconds above 0.")
    if timeout > settings.max_timeout:
        raise ToolError(
            f"timeout is at most {settings.max_timeout:g} s in the foreground.",
            hint="Use background=true for longer jobs.",
        )
    return timeout


def _detaches(command: str) -> str:
    """Why a line would leave something running behind the tool's back, or ""."""
    if not command.strip():
        raise ToolError("the command is empty.")
    line = _HEREDOC.sub(r"\3", command).rstrip()
    words = _words(line)
    if line.endswith("&") and not line.endswith("\\&") and words and words[-1] == "&":
        return 'the command ends with "&"'
    for word in _programs(words):
        if word in _DETACHING:
            return f"the command uses {word}"
    return ""


def _programs(words: Sequence[str]) -> Iterator[str]:
    """Names of the programs that a line runs, as far as words show them."""
    first = True
    for word in words:
        if _SEPARATORS.fullmatch(word):
            first = True
        elif first and not _BEFORE_A_COMMAND.fullmatch(word):
            first = False
            yield os.path.basename(word)


def _words(line: str) -> list[str]:
    """Words and operators, quotes respected; where the quotes do not close, whatever is there."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    words: list[str] = []
    try:
        words.extend(lexer)
    except ValueError:
        pass
    return words


def _told(command: str, result: ExecResult, seconds: float) -> ToolResult:
    text = clean(result.output)
    if text and not text.endswith("\n"):
        text += "\n"
    meta: dict[str, object] = {"exit_code": result.exit_code, "cwd": result.cwd}
    if result.cancelled:
        return ToolResult(text=f"{text}[interrupted]", status="interrupted", meta=meta)
    if result.timed_out:
        note = f"[timed out after {seconds:g} s; killed]"
        return ToolResult(
            text=text + note, status="failed", kind="transient", summary=note[1:-1], meta=meta
        )
    code = result.exit_code
    if not code:
        return ToolResult(text=text.rstrip("\n") or "(no output)", meta=meta)
    program = deque(_programs(_words(command)), maxlen=1)  # the last one's code is the line's
    meaning = _ANYWHERE.get(code) or _MEANINGS.get((program.pop() if program else "", code), "")
    note = f"exit {code}: {meaning}" if meaning else f"exit {code}"
    failed = code in (126, 127)  # it never ran; any other code is an answer of the program
    return ToolResult(
        text=f"{text}[{note}]",
        status="failed" if failed else "ok",
        kind="permanent" if failed else "",
        summary=note,
        meta=meta,
    )
