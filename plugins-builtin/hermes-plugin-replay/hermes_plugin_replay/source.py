"""The text of a test: short, and written as a person would."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

import msgspec

from hermes_plugins import Json

from .recording import SCRATCH, WORKSPACE, Said

WIDTH = 96


class Steps(msgspec.Struct, frozen=True, kw_only=True):
    """What a test does and expects. ``remarks`` become comments."""

    name: str
    about: str
    written_by: str
    toolsets: Sequence[str]
    plugins: Sequence[str]
    files: Mapping[str, str]
    turns: Sequence[Said]
    calls: Sequence[tuple[str, Json, str]]
    unsteady_calls: Sequence[int]
    tree: Mapping[str, str]
    unsteady: Sequence[str]
    remarks: Sequence[str]


def text_of(steps: Steps) -> str:
    """The file."""
    lines = [f'"""{_plain(steps.about)}', "", steps.written_by, '"""', ""]
    lines += ["from pathlib import Path"]
    if steps.unsteady or steps.unsteady_calls:
        lines.append("from unittest.mock import ANY")
    lines += ["", "from hermes_plugins.testing import Replay, replies", "", ""]
    lines += [f"def test_{steps.name}(tmp_path: Path) -> None:"]
    lines += [" " * 4 + "with Replay(tmp_path) as replay:"]
    started = [literal(name) for name in steps.toolsets]
    started += [f"plugins={literal(tuple(steps.plugins))}"] if steps.plugins else []
    started += [f"files={literal(dict(steps.files), 12)}"] if steps.files else []
    lines.append(_call("replay.start", started))
    for turn in steps.turns:
        lines.append(_call("replay.said", list(_said(turn))))
    lines += [" " * 8 + f"# {line}" for line in steps.remarks]
    calls = [
        _tuple([*call[:2], _ANY if at in steps.unsteady_calls else call[2]], 12)
        for at, call in enumerate(steps.calls)
    ]
    lines.append(_block("assert replay.calls == [", calls, "]"))
    tree = [
        f"{literal(name)}: {'ANY' if name in steps.unsteady else literal(text, 12, keep=True)}"
        for name, text in steps.tree.items()
    ]
    lines.append(_block("assert replay.tree == {", tree, "}"))
    return "\n".join(lines) + "\n"


def name_of(text: str) -> str:
    """A function's name from what was said first."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    name = ""
    for word in words:
        if len(name) + len(word) > 50:
            break
        name = f"{name}_{word}" if name else word
    return name or "session"


def literal(value: Json, column: int = 8, *, keep: bool = False) -> str:
    """Python for a value; folders are those of the replay, unless ``keep`` leaves their names."""
    if value is _ANY:
        return "ANY"
    match value:
        case str():
            return _string(value, column, keep=keep)
        case dict():
            items = [
                f"{_string(str(k), 0, keep=keep)}: {literal(v, column + 4, keep=keep)}"
                for k, v in value.items()
            ]
            return _collection("{", items, "}", column)
        case list():
            return _collection(
                "[", [literal(one, column + 4, keep=keep) for one in value], "]", column
            )
        case tuple():
            return _tuple(value, column)
    return repr(value)


_ANY = object()


def _said(turn: Said) -> Sequence[str]:
    parts = [literal(turn.said, 12), *map(_reply, turn.replies)]
    parts += [f"answers={_tuple(turn.answers, 12)}"] if turn.answers else []
    parts += [f"words={_tuple(turn.words, 12)}"] if turn.words else []
    if turn.steered:
        items = [f"{at}: {literal(text, 16)}" for at, text in turn.steered.items()]
        parts.append(f"steered={_collection('{', items, '}', 12)}")
    return parts


def _reply(reply: Mapping[str, Json]) -> str:
    """A call of the function of that name; ids are left to it."""
    given = {name: value for name, value in reply.items() if name not in ("reply", "id")}
    wanted = given.get("wanted")
    if isinstance(wanted, list):
        given["wanted"] = [tuple(call[:2]) for call in wanted]
    parts: list[str] = []
    for name, value in given.items():
        bare = not parts or name == "arguments"
        parts.append(literal(value, 16) if bare else f"{name}={literal(value, 16)}")
    return _collection(f"replies.{reply['reply']}(", parts, ")", 12)


def _call(name: str, parts: Sequence[str]) -> str:
    return " " * 8 + _collection(f"{name}(", parts, ")", 8)


def _block(head: str, parts: Sequence[str], end: str) -> str:
    if not parts:
        return " " * 8 + head + end
    return "\n".join([" " * 8 + head, *(" " * 12 + f"{one}," for one in parts), " " * 8 + end])


def _tuple(values: Sequence[Json], column: int) -> str:
    items = [literal(one, column + 4) for one in values]
    if len(items) == 1 and "\n" not in items[0]:
        return f"({items[0]},)"
    return _collection("(", items, ")", column)


def _collection(head: str, items: Sequence[str], end: str, column: int) -> str:
    one_line = head + ", ".join(items) + end
    if column + len(one_line) <= WIDTH and "\n" not in one_line:
        return one_line
    inner = " " * (column + 4)
    return "\n".join([head, *(f"{inner}{item}," for item in items), " " * column + end])


def _string(text: str, column: int, *, keep: bool) -> str:
    whole = _quoted(text, keep=keep)
    lines = text.splitlines(keepends=True)
    if column == 0 or column + len(whole) <= WIDTH - 8 or len(lines) < 2:
        return whole
    inner = "\n".join(" " * (column + 4) + _quoted(line, keep=keep) for line in lines)
    return f"(\n{inner}\n{' ' * column})"


def _quoted(text: str, *, keep: bool) -> str:
    plain = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")
    if keep or not (WORKSPACE in text or SCRATCH in text):
        return plain
    plain = plain.replace("{", "{{").replace("}", "}}")
    plain = plain.replace(WORKSPACE, "{replay.workspace}").replace(SCRATCH, "{replay.scratch}")
    return f"f{plain}"


def _plain(text: str) -> str:
    """For a docstring."""
    line = " ".join(text.split()).replace("\\", "").replace('"""', "'''")
    line = line if len(line) <= WIDTH - 10 else line[: WIDTH - 11] + "…"
    return f"{line}." if line.endswith('"') else line
