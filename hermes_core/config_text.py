"""The text of hermes.yaml with one setting changed, and nothing else in it.

ruamel.yaml makes the change and keeps comments, order and quotes; of what it writes only the lines
that the change touched are taken, so that every other line stays byte for byte. What comes out is read
again and must differ from before in that one setting alone; what cannot be done that way is refused.

Imported only where settings are written, because ruamel.yaml costs more than the rest of the kernel.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.resolver import VersionedResolver

from hermes_core import config_tree as trees
from hermes_core.config_tree import Found, Key, Tree
from hermes_core.config_yaml import read_yaml
from hermes_core.patterns import lazy
from hermes_plugins import UsageError

_PLAIN = lazy(r"[A-Za-z_/][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*")
# Words that some YAML reader takes for a switch or for nothing; written in quotes.
_WORDS = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n"])
_UNPRINTABLE = lazy("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
# The first key with something below it, and how far that is indented.
_BELOW = r"(?m)^( *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n(?:[ \t]*(?:#[^\n]*)?\n)*( *)"
_SECTION = lazy(_BELOW + r"[^\s#-]")
_LIST = lazy(_BELOW + r"- ")
_COMMENT = lazy(r"(^|\s)#")

_Change = Callable[[CommentedMap, Callable[[str], Any]], None]


def read_tree(text: str, file: str = "") -> Tree:
    """What a text says, by the keys as they are spelled there.

    Raises:
        ConfigError: it is broken; says where.
    """
    found: Found = []
    read = read_yaml(text, layer="user", file=file, found=found)
    if read is None:
        error = found[0].error()
        error.hint = "Nothing was changed; mend that line first."
        raise error
    return trees.flat(read)


def set_text(text: str, key: Key, value: str) -> str:
    """``text`` with a value, given as YAML in one line, at a key. What a list has more is added to it.

    Raises:
        UsageError: the place is written in a way that cannot be edited here.
    """

    def change(root: CommentedMap, read: Callable[[str], Any]) -> None:
        section, new = _section(root, key[:-1]), read(value)
        old = section.get(key[-1])
        if isinstance(old, CommentedSeq) and isinstance(new, list) and new[: len(old)] == old:
            old.extend(new[len(old) :])
            return
        section[key[-1]] = None  # else the style of the old text would be the new one's
        section[key[-1]] = new

    written = read_tree(f"value: {value}")
    return _edited(text, change, key, {inner[1:]: item for inner, item in written.items()})


def unset_text(text: str, key: Key) -> str | None:
    """``text`` without what stands at a key; None when nothing does.

    Sections that are empty then go too, unless they hold a comment.

    Raises:
        UsageError: as `set_text`.
    """
    tree, lines = read_tree(text), text.splitlines()
    if key not in tree:
        return None
    while len(key) > 1 and not _holds_more(tree, key, lines):
        key = key[:-1]

    def change(root: CommentedMap, read: Callable[[str], Any]) -> None:
        section = _section(root, key[:-1])
        del section[key[-1]]
        if key[:-1] and not section and not section.fa.flow_style():
            _section(root, key[:-2])[key[-2]] = read("")

    return _edited(text, change, key, {})


def inline(value: object) -> str:
    """A plain value as YAML in one line, fit to stand inside brackets."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{inline(str(k))}: {inline(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(inline(item) for item in value) + "]"
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    quoted = json.dumps(value, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


class _Texts(VersionedResolver):
    """Takes every plain scalar for a text, so that it is written as it was read."""

    @property
    def versioned_resolver(self) -> dict[str, object]:
        return {}


def _edited(text: str, change: _Change, key: Key, below: Tree) -> str:
    """``text`` with a change that puts ``below`` at a key, if it says so then, and nothing else."""
    wanted = {other: item for other, item in read_tree(text).items() if other[: len(key)] != key}
    for inner, item in below.items():
        trees.put(wanted, (*key, *inner), item)
    yaml = _yaml(text)
    plain = text.replace("\r\n", "\n")
    plain += "\n" if plain and not plain.endswith("\n") else ""
    root = yaml.load(plain)
    before = plain if root is None else _dumped(yaml, root)
    fresh: CommentedMap = CommentedMap() if root is None else root
    change(fresh, lambda value: yaml.load(f"value: {value}")["value"])
    after = (plain if root is None else "") + (_dumped(yaml, fresh) if fresh else "")
    for made in (_carried(plain, before, after), after):
        if _says(made, wanted) and not _comments(plain) - _comments(made):
            return made.replace("\n", "\r\n") if "\r\n" in text else made
    raise _refusal(f"{trees.dotted(key)} is written in a way that cannot be edited here")


def _carried(text: str, before: str, after: str) -> str:
    """``text`` with the lines in which ``after`` differs from ``before``; comments are never lost."""
    base, new = before.split("\n"), after.split("\n")
    old = _aligned(base, text.split("\n"))
    lines: list[str] = []
    sections: list[str] = []
    for kind, start, end, new_start, new_end in _differences(base, new):
        gone = [line for some in old[start:end] for line in some]
        if kind == "equal":
            lines += gone
            continue
        known = [(theirs, ours[0]) for theirs, ours in zip(base[:end], old, strict=False) if ours]
        fresh = [_indented(line, known) for line in new[new_start:new_end]]
        if kind == "insert" and fresh[0][:1] not in (" ", "-"):
            sections += fresh  # to the end, so that no comment changes its neighbour
            continue
        # The notes before what is new are about what follows, and stand below it.
        above = _notes(lines) if kind == "insert" else 0
        notes = lines[len(lines) - above :] + [line for line in _kept(gone) if line not in fresh]
        lines[len(lines) - above :] = [*fresh, *notes]
    return "\n".join([*lines[:-1], *sections, *lines[-1:]])


def _aligned(base: list[str], old: list[str]) -> list[list[str]]:
    """The lines of a file behind each line as the library writes it: mostly one."""
    found: list[list[str]] = [[]]
    bare = [["".join(line.split()) for line in lines] for lines in (base, old)]
    for _, start, end, old_start, old_end in _differences(*bare):
        ours = old[old_start:old_end]
        if end - start == len(ours):
            found += [[line] for line in ours]
        elif start == end:
            found[-1] += ours
        else:
            found += [ours, *([] for _ in range(end - start - 1))]
    return [found[0] + found[1], *found[2:]]


def _differences(one: list[str], other: list[str]) -> Sequence[tuple[str, int, int, int, int]]:
    return SequenceMatcher(None, one, other, autojunk=False).get_opcodes()


def _indented(line: str, known: list[tuple[str, str]]) -> str:
    """A line of the library's as deep as the file has it; ``known`` are lines as both write them."""
    depth = _depth(line)
    for theirs, ours in reversed(known):
        if theirs.strip() and not _is_note(theirs) and _depth(theirs) <= depth:
            return " " * (_depth(ours) + depth - _depth(theirs)) + line[depth:]
    return line


def _kept(gone: list[str]) -> list[str]:
    """Of lines that go: the comments, and the blank lines around."""
    first, last = _notes(gone[::-1]), len(gone) - _notes(gone)
    return [
        line
        for at, line in enumerate(gone)
        if line.lstrip().startswith("#") or (not line.strip() and not first <= at < last)
    ]


def _notes(lines: list[str]) -> int:
    """How many of the last lines are blank or comments."""
    return next((at for at, line in enumerate(lines[::-1]) if not _is_note(line)), len(lines))


def _is_note(line: str) -> bool:
    return line.lstrip()[:1] in ("", "#")


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _yaml(text: str) -> YAML:
    """A reader and writer that writes as the text is written."""
    yaml = YAML()
    yaml.Resolver = _Texts
    yaml.preserve_quotes = True
    yaml.width = 1 << 20
    yaml.explicit_start = bool(re.search(r"(?m)^---", text))
    section, listed = _SECTION.search(text), _LIST.search(text)
    offset = len(listed[2]) - len(listed[1]) if listed else 2
    mapping = len(section[2]) - len(section[1]) if section else 2
    yaml.indent(mapping=max(mapping, 1), sequence=max(offset, 0) + 2, offset=max(offset, 0))
    return yaml


def _dumped(yaml: YAML, root: object) -> str:
    stream = io.StringIO()
    yaml.dump(root, stream)
    return stream.getvalue()


def _section(root: CommentedMap, key: Key) -> CommentedMap:
    """The section at a key, made where there is none.

    Raises:
        UsageError: a value stands there.
    """
    if not isinstance(root, CommentedMap):
        raise _refusal("the file is no list of `key: value` lines")
    for depth, name in enumerate(key, 1):
        if root.get(name, "") in ("", "~", "null"):
            root[name] = CommentedMap()
        root = root[name]
        if not isinstance(root, CommentedMap):
            raise _refusal(f"{trees.dotted(key[:depth])} holds a value there")
    return root


def _holds_more(tree: Tree, key: Key, lines: list[str]) -> bool:
    """Whether the section around a key holds another one, or a comment of its own."""
    above = key[:-1]
    if any(other[:-1] == above and other != key for other in tree):
        return True
    first, *rest = lines[tree[above].origin.line - 1 :]
    for line in rest:
        if line.strip() and _depth(line) <= _depth(first):
            break
        if line.lstrip().startswith("#"):
            return True
    return bool(_COMMENT.search(first))


def _says(text: str, wanted: Tree) -> bool:
    try:
        return _meaning(read_tree(text)) == _meaning(wanted)
    except UsageError:
        return False


def _meaning(tree: Tree) -> dict[Key, object]:
    """The values of a tree, without what sets nothing."""
    return {key: trees.plain(item) for key, item in tree.items() if item.value not in (None, {})}


def _comments(text: str) -> Counter[str]:
    return Counter(line.strip() for line in text.split("\n") if line.lstrip().startswith("#"))


def _refusal(why: str) -> UsageError:
    return UsageError(f"{why}.", hint="Nothing was changed; edit the file by hand.")
