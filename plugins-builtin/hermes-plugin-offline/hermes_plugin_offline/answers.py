"""What the stand-in says. Every answer ends with what it is and how to connect a model."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from hermes_plugins import Message, ModelRequest

from .requests import Call, Step

CONNECT = (
    "I am not a language model, only the offline stand-in. To connect one: "
    "`hermes setup`, or start Ollama."
)

_HELP = """I understand plain requests, and do them with the real tools:
  read FILE [and FILE]            show what is in a file
  list this folder, ls PATH       names of files
  find files *.py [in PATH]       files by name
  search TEXT [in PATH]           lines with a text
  write TEXT to FILE              make or replace a file
  run COMMAND                     a shell command
  remember TEXT                   keep a note for later sessions
  what do you remember            show those notes
Join two with ", then"."""

_TALK = {
    "help": _HELP,
    "hello": "Hello. Say `help` for what I understand.",
    "who": "I am Hermes without a model: fixed patterns that drive the real tools.",
}

# Toolset and plugin of each tool that is ever called here.
_HOMES = {
    "read_file": "file",
    "write_file": "file",
    "search_files": "file",
    "terminal": "terminal",
    "memory": "memory",
}
_PLUGINS = {
    "file": "hermes-plugin-file",
    "terminal": "hermes-plugin-terminal",
    "memory": "hermes-plugin-memory-files",
}

_MAX_LINES = 40
_MAX_CHARS = 2000

_BAD_ENDS = {
    "failed": "failed",
    "blocked": "was not allowed, so nothing was done",
    "cancelled": "was cancelled",
    "interrupted": "was interrupted",
}


def left_to_do(steps: Sequence[Step], since: Sequence[Message]) -> list[Step]:
    """The steps with calls that were not asked for yet; one answer asks for one step."""
    done = sum(1 for message in since if message.tool_calls)
    return [step for step in steps if step.calls][done:]


def answer(request: ModelRequest, *, steps: Sequence[Step], since: Sequence[Message]) -> str:
    """The text for the person, when no tool is to be called."""
    said = _results(since)
    if not steps:
        said.append("I do not understand that: I know a few plain requests. Say `help` for them.")
    for step in steps:
        if step.topic:
            said.append(_recall(request) if step.topic == "recall" else _TALK[step.topic])
    if left := left_to_do(steps, since):
        tools = {tool.name for tool in request.tools}
        missing = [call for call in left[0].calls if call.tool not in tools]
        said.append(_missing(missing[0]) if missing else "So I left out what was to come after it.")
    return "\n\n".join([*said, CONNECT])


def _missing(call: Call) -> str:
    toolset = _HOMES[call.tool]
    return (
        f"That needs the tool `{call.tool}`, which this session does not have. It comes with the "
        f"plugin {_PLUGINS[toolset]} (toolset `{toolset}`); see `hermes plugins list`."
    )


def _results(since: Sequence[Message]) -> list[str]:
    """What came of each call, in order."""
    calls = {call.id: call for message in since for call in message.tool_calls}
    said = []
    for message in since:
        if message.role != "tool":
            continue
        call = calls.get(message.tool_call_id)
        name = message.tool_name or (call.name if call else "the tool")
        shown = _subject(call.arguments) if call else ""
        head = f"`{name}`{f' on {shown}' if shown else ''}"
        if message.status == "ok":
            said.append(f"{head} gave:\n\n{_quote(message.text)}")
        else:
            said.append(f"{head} {_BAD_ENDS[message.status]}:\n\n{_quote(message.text)}")
    return said


def _subject(arguments: str) -> str:
    try:
        values = msgspec.json.decode(arguments)
    except msgspec.DecodeError:
        return ""
    if not isinstance(values, dict):
        return ""
    names = ("command", "pattern", "path", "target")
    found = next((values[name] for name in names if isinstance(values.get(name), str)), "")
    line = " ".join(str(found).split())
    return line if len(line) <= 80 else line[:79] + "…"


def _quote(text: str) -> str:
    """The text, cut after so many lines or characters, and by how much."""
    lines = text.strip("\n").split("\n")
    kept = "\n".join(lines[:_MAX_LINES])[:_MAX_CHARS]
    left = len(text.strip("\n")) - len(kept)
    # Four spaces behind an empty line: a code block in Markdown, plain text elsewhere.
    quoted = "\n".join(f"    {line}".rstrip() for line in kept.split("\n"))
    return quoted + (f"\n  … ({left:,} more characters)" if left else "")


def _recall(request: ModelRequest) -> str:
    """The notes in the prompt, and those added since it was made."""
    block = re.search(r"(?ms)^<memory>\n(.*?)\n</memory>$", request.system)
    if block is None:
        return (
            "No memory is part of this session. It comes with the plugin "
            f"{_PLUGINS['memory']} (toolset `memory`)."
        )
    said = [f"What I was told in earlier sessions:\n\n{_quote(block[1])}"]
    if added := _added(request.messages):
        said.append("Added in this session:\n\n" + "\n".join(f"    {text}" for text in added))
    return "\n\n".join(said)


def _added(messages: Sequence[Message]) -> list[str]:
    worked = {
        message.tool_call_id
        for message in messages
        if message.role == "tool" and message.status == "ok"
    }
    added = []
    for call in (call for message in messages for call in message.tool_calls):
        if call.name == "memory" and call.id in worked:
            values = msgspec.json.decode(call.arguments)
            if isinstance(values, dict) and values.get("action") == "add":
                added.append(str(values.get("content", "")))
    return added
