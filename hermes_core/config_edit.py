"""Changing one setting in hermes.yaml or .env, and nothing else in the file.

PyYAML says where a value stands; the text is spliced there, so comments, order, line ends and spelling
stay byte for byte. What comes out is read again and must differ from before in that one setting alone;
what this editor cannot do that way it refuses, and the file stays as it was. A broken file is never
written to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec
import yaml

from hermes_core import config_layers as layers
from hermes_core import config_tree as trees
from hermes_core import dotenv
from hermes_core.config_schema import ALIASES
from hermes_core.config_tree import Field, Found, Node, Origin
from hermes_core.config_yaml import Unreadable, compose, read_yaml
from hermes_core.paths import SECRETS_FILE, SETTINGS_FILE, write_whole
from hermes_core.patterns import lazy
from hermes_plugins import Paths, Section, UsageError

_VARIABLE = lazy(r"[A-Z][A-Z0-9_]*")
_PLAIN = lazy(r"[A-Za-z_/][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+-]+)*")
# Words that some YAML reader takes for a switch or for nothing; written in quotes.
_WORDS = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n"])
_UNPRINTABLE = lazy("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_NO_SCHEMAS: Mapping[str, type[Section]] = {}


def set_value(
    paths: Paths,
    key: str,
    text: str,
    *,
    declared_env: Collection[str] = (),
    schemas: Mapping[str, type[Section]] = _NO_SCHEMAS,
) -> Path:
    """Write one setting and return the file that holds it.

    A name in capitals that is in ``declared_env`` goes to .env. ``schemas`` are the sections of
    plugins by name; a plugin without one takes any value.

    Raises:
        UsageError: the key is unknown, the value does not fit, or the file is broken, not writable,
            or written in a way that cannot be edited here. Nothing was changed.
    """
    if is_variable(key, declared_env):
        return _set_secret(paths, key, text)
    file, before, mark = _read(paths)
    key = layers.canonical_key(key)
    value = _checked(_field(key, schemas), key, text)
    names = _written_as(file, before, key)
    before = _opened(before, names)
    return _write(file, mark + set_text(before, names, value), _wanted(before, names, value), key)


def check_value(
    key: str,
    text: str,
    *,
    declared_env: Collection[str] = (),
    schemas: Mapping[str, type[Section]] = _NO_SCHEMAS,
) -> None:
    """Refuse what `set_value` would refuse, as far as that does not hang on what the file says.

    Raises:
        UsageError: the key is unknown, or the value does not fit.
    """
    if not is_variable(key, declared_env):
        key = layers.canonical_key(key)
        _checked(_field(key, schemas), key, text)
    elif not text or "\0" in text:
        raise _no_value(key)


def append_value(paths: Paths, key: str, item: str) -> bool:
    """Add a text to a list; False when it is there already.

    Raises:
        UsageError: as `set_value`.
    """
    file, before, mark = _read(paths)
    names = _written_as(file, before, layers.canonical_key(key))
    old = trees.at(_meaning(before), ".".join(names)) or Node(None)
    found: Found = []
    listed = trees.fit(tuple[str, ...], old, key, found)
    if found:
        raise UsageError(f"{file}: {found[0].message}", hint="Nothing was changed.")
    texts = listed if isinstance(listed, tuple) else ()
    if item in texts:
        return False
    if isinstance(old.value, str):
        after = set_text(before, names, inline([*texts, item]))
    else:
        after = _Editor(before).append(names, inline(item))
    _write(file, mark + after, _wanted(before, names, inline([*texts, item])), key)
    return True


def unset_value(paths: Paths, key: str, *, declared_env: Collection[str] = ()) -> bool:
    """Remove one setting; False when it was not set.

    Raises:
        UsageError: as `set_value`.
    """
    if is_variable(key, declared_env):
        path = paths.home / SECRETS_FILE
        before, mark = _text(path)
        left = dotenv.unset_variable(before, key)
        if left != before:
            write_whole(path, (mark + left).encode(), mode=0o600)
        return left != before
    file, before, mark = _read(paths)
    names = _written_as(file, before, layers.canonical_key(key))
    after = unset_text(before, names)
    if after is not None:
        _write(file, mark + after, _wanted(before, names, None), key)
    return after is not None


def is_variable(key: str, declared_env: Collection[str]) -> bool:
    """Whether a key is a variable of .env.

    Raises:
        UsageError: it looks like one, but nothing installed declares it.
    """
    if not _VARIABLE.fullmatch(key) or key in declared_env:
        return bool(_VARIABLE.fullmatch(key))
    raise UsageError(
        f"No installed provider, platform or tool knows the variable {key}.",
        hint="`hermes config schema` lists the settings; `hermes plugins list` what is installed.",
    )


def set_text(text: str, names: Sequence[str], value: str) -> str:
    """``text`` with a value, given as YAML in one line, at a path of keys.

    Raises:
        UsageError: the place is written in a way that cannot be edited here.
    """
    return _Editor(text).set(names, value)


def unset_text(text: str, names: Sequence[str]) -> str | None:
    """``text`` without the entry at a path of keys; None when there is none.

    Raises:
        UsageError: the place is written in a way that cannot be edited here.
    """
    return _Editor(text).unset(names)


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


class _Editor:
    """One text, and where PyYAML says things stand in it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._newline = "\r\n" if "\r\n" in text else "\n"
        # The reader written in Python counts characters; the one in C counts otherwise after a tab.
        self._root = compose(text, yaml.SafeLoader)

    def set(self, names: Sequence[str], value: str) -> str:
        if self._root is None or _is_empty(self._root):
            return self._insert(len(self._text), self._lines(names, value, 0))
        section = self._root
        for depth, name in enumerate(names):
            key, item = self._entry(section, name, names[:depth])
            if key is None or item is None:
                return self._add(section, names[depth:], value)
            if depth == len(names) - 1:
                return self._replace(key, item, value)
            if _is_empty(item):
                return self._begin(key, item, names[depth + 1 :], value)
            section = item
        raise AssertionError("a path has at least one name")

    def unset(self, names: Sequence[str]) -> str | None:
        """The text without an entry, and without the sections that held nothing else."""
        section: yaml.Node | None = self._root
        found: list[tuple[yaml.Node, yaml.Node, yaml.Node]] = []
        for depth, name in enumerate(names):
            if section is None or _is_empty(section):
                return None
            key, item = self._entry(section, name, names[:depth])
            if key is None or item is None:
                return None
            found.append((section, key, item))
            section = item
        while len(found) > 1 and self._is_only(found[-2], found[-1]):
            found.pop()
        return self._remove(*found[-1])

    def _is_only(
        self,
        outer: tuple[yaml.Node, yaml.Node, yaml.Node],
        inner: tuple[yaml.Node, yaml.Node, yaml.Node],
    ) -> bool:
        """Whether a section holds one entry and no comment of its own."""
        _, parent, section = outer
        _, key, item = inner
        if len(section.value) > 1:
            return False
        before = self._text[parent.end_mark.index : key.start_mark.index]
        if section.flow_style:
            line_end = self._text.find("\n", section.end_mark.index)
            after = self._text[_end(item) : line_end if line_end >= 0 else len(self._text)]
        else:
            after = self._indented(self._next_line(_end(item)), parent.start_mark.column)
        return not re.search(r"(^|\s)#", before + "\n" + after)

    def _indented(self, at: int, column: int) -> str:
        """The lines from ``at`` on that are blank or stand to the right of a column."""
        end = at
        while end < len(self._text):
            line = self._text[end : self._next_line(end + 1)]
            if line.strip() and len(line) - len(line.lstrip(" ")) <= column:
                break
            end += len(line)
        return self._text[at:end]

    def append(self, names: Sequence[str], value: str) -> str:
        """Add an item to a list; start the list where there is none."""
        item = self._root
        for depth, name in enumerate(names):
            if item is not None and not _is_empty(item):
                item = self._entry(item, name, names[:depth])[1]
        if not isinstance(item, yaml.SequenceNode):
            return self.set(names, f"[{value}]")
        at = _end(item) if item.value else item.end_mark.index - 1
        if item.flow_style:
            at = _end(item.value[-1]) if item.value else at
            return self._text[:at] + (", " if item.value else "") + value + self._text[at:]
        line = " " * item.start_mark.column + f"- {value}{self._newline}"
        return self._insert(self._next_line(at), line)

    def _entry(
        self, section: yaml.Node, name: str, path: Sequence[str]
    ) -> tuple[yaml.Node | None, yaml.Node | None]:
        if not isinstance(section, yaml.MappingNode):
            raise _refusal(section, f"{'.'.join(path) or 'the file'} holds a value there")
        for key, item in section.value:
            if key.value == name:
                if item.start_mark.index < key.end_mark.index:
                    raise _refusal(key, f"{name} repeats another part of the file (an alias)")
                return key, item
        return None, None

    def _replace(self, key: yaml.Node, item: yaml.Node, value: str) -> str:
        start, end = item.start_mark.index, item.end_mark.index
        if isinstance(item, yaml.MappingNode) and not (item.flow_style and value[0] == "{"):
            raise _refusal(key, f"{key.value} is a section; set the keys inside it")
        if isinstance(item, yaml.ScalarNode) and item.style in ("|", ">"):
            raise _refusal(key, f"{key.value} is a text of several lines")
        if isinstance(item, yaml.SequenceNode) and not item.flow_style:
            start, end = self._text.index(":", key.end_mark.index) + 1, _end(item)
            if re.search(r"(^|\s)#", self._text[start:end]):
                raise _refusal(key, f"{key.value} is a list with comments in it")
            value = " " + value
        return self._text[:start] + (" " if start == end else "") + value + self._text[end:]

    def _add(self, section: yaml.Node, names: Sequence[str], value: str) -> str:
        if section.flow_style:
            inner = f"{inline(names[0])}: {_nested(names[1:], value)}"
            at = _end(section.value[-1][1]) if section.value else section.end_mark.index - 1
            comma = ", " if section.value else ""
            return self._text[:at] + comma + inner + self._text[at:]
        lines = self._lines(names, value, section.value[0][0].start_mark.column)
        # A new section goes to the end of the file, so that no comment changes its neighbour.
        last = len(self._text) if section is self._root else _end(section.value[-1][1])
        return self._insert(self._next_line(last), lines)

    def _begin(self, key: yaml.Node, item: yaml.Node, names: Sequence[str], value: str) -> str:
        """The first entry of a section that has a key and nothing else."""
        if item.value:
            return self._replace(key, item, _nested(names, value))
        lines = self._lines(names, value, key.start_mark.column + 2)
        return self._insert(self._next_line(key.end_mark.index), lines)

    def _remove(self, section: yaml.Node, key: yaml.Node, item: yaml.Node) -> str:
        start, end = key.start_mark.index, _end(item)
        if section.flow_style:
            at = [name for name, _ in section.value].index(key)
            if at + 1 < len(section.value):
                end = section.value[at + 1][0].start_mark.index
            elif at:
                start = _end(section.value[at - 1][1])
            return self._text[:start] + self._text[end:]
        start = self._text.rfind("\n", 0, start) + 1
        if self._text[start : key.start_mark.index].strip():
            raise _refusal(key, f"{key.value} shares its line")
        return self._text[:start] + self._text[self._next_line(end) :]

    def _lines(self, names: Sequence[str], value: str, indent: int) -> str:
        lines = [" " * (indent + 2 * i) + inline(name) + ":" for i, name in enumerate(names)]
        return self._newline.join(lines) + f" {value}{self._newline}"

    def _next_line(self, index: int) -> int:
        if index and self._text[index - 1] == "\n":
            return index
        end = self._text.find("\n", index)
        return end + 1 if end >= 0 else len(self._text)

    def _insert(self, at: int, lines: str) -> str:
        before = self._text[:at]
        if before and not before.endswith("\n"):
            before += self._newline
        return before + lines + self._text[at:]


def _refusal(item: yaml.Node, why: str) -> UsageError:
    line = item.start_mark.line + 1
    return UsageError(
        f"line {line}: {why}.", hint=f"Nothing was changed; edit line {line} by hand."
    )


def _is_empty(item: yaml.Node) -> bool:
    return isinstance(item, yaml.ScalarNode) and not item.style and item.value in ("", "~", "null")


def _end(item: yaml.Node) -> int:
    """Where a node ends; PyYAML lets a block end only where the next thing begins."""
    if isinstance(item, yaml.CollectionNode) and not item.flow_style and item.value:
        last = item.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(item.end_mark.index)


def _nested(names: Sequence[str], value: str) -> str:
    for name in reversed(names):
        value = f"{{{inline(name)}: {value}}}"
    return value


def _read(paths: Paths) -> tuple[Path, str, str]:
    file = paths.home / SETTINGS_FILE
    text, mark = _text(file)
    return file, text, mark


def _text(file: Path) -> tuple[str, str]:
    """A file's text, and the byte order mark before it."""
    found: Found = []
    text = layers.read_text(file, "user", found)
    if found:
        raise found[0].error()
    if text is None:
        return "", ""
    first = file.read_bytes()[:3]
    if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise UsageError(f"{file} is written in UTF-16.", hint="Save it as UTF-8.")
    return text, "\ufeff" if first == b"\xef\xbb\xbf" else ""


def _set_secret(paths: Paths, name: str, value: str) -> Path:
    path = paths.home / SECRETS_FILE
    if not value or "\0" in value:
        raise _no_value(name)
    text, mark = _text(path)
    write_whole(path, (mark + dotenv.set_variable(text, name, value)).encode(), mode=0o600)
    return path


def _no_value(name: str) -> UsageError:
    return UsageError(f"No value for {name}.", hint=f"To remove it: hermes config unset {name}")


def _field(key: str, schemas: Mapping[str, type[Section]]) -> Field:
    field = layers.find_field(key, schemas)
    if trees.is_struct(trees.kind_of(field.hint)):
        raise UsageError(f"{key} is a section.", hint=f"Set a key inside it: {key}.…")
    return field


def _checked(field: Field, key: str, text: str) -> str:
    """A value as YAML in one line, after its type was checked."""
    origin = Origin("command line")
    tree = trees.parse_inline(text, origin) or trees.scalar(text, origin)
    if trees.kind_of(field.hint) is str:
        tree = Node(text, text=text, origin=origin)
    if "${" in text:
        return inline(trees.plain(tree) if isinstance(tree.value, (list, dict)) else text)
    found: Found = []
    value = trees.fit(field.hint, tree, key, found)
    if found:
        raise UsageError(found[0].message, hint=_list_hint(field, found[0].hint))
    if isinstance(tree.value, (list, dict)) or value is msgspec.UNSET:
        return inline(trees.plain(tree))
    return inline(value)


def _list_hint(field: Field, hint: str) -> str:
    return 'Write a list as \'["a", "b"]\'.' if "list" in trees.describe(field.hint) else hint


def _written_as(file: Path, text: str, key: str) -> list[str]:
    """The path of a key as this file spells it."""
    found: Found = []
    tree = read_yaml(text, layer="user", file=str(file), found=found)
    if tree is None:
        error = found[0].error()
        error.hint = "Nothing was changed; mend that line first."
        raise error
    if key == "model.name" and isinstance(getattr(trees.at(tree, "model"), "value", None), str):
        return ["model"]
    for old, new in ALIASES:
        if new == key and trees.at(tree, old) is not None:
            return old.split(".")
    return key.split(".")


def _opened(text: str, names: Sequence[str]) -> str:
    """``model: NAME`` written as a section, where another key of it is about to be set."""
    short = trees.at(_meaning(text), "model") if names[0] == "model" and len(names) > 1 else None
    if short is None or not isinstance(short.value, str):
        return text
    return set_text(text, ["model"], inline({"name": short.value}))


def _wanted(before: str, names: Sequence[str], value: str | None) -> Node:
    """What a text says, but for one setting."""
    key = ".".join(names)
    wanted = trees.drop(_meaning(before), key)
    if value is None:
        return wanted
    written = trees.at(_meaning(f"value: {value}"), "value") or Node(None)
    return trees.put(wanted, key, written)


def _write(file: Path, after: str, wanted: Node, key: str) -> Path:
    """Write ``after`` if it says what is wanted, and nothing else."""
    try:
        meant = trees.plain(_meaning(after.removeprefix("\ufeff")))
    except Unreadable:
        meant = None
    if _pruned(meant) != _pruned(trees.plain(wanted)):
        raise UsageError(
            f"{file} is written in a way that cannot be edited here.",
            hint=f"Nothing was changed; change {key} by hand.",
        )
    write_whole(file, after.encode())
    return file


def _meaning(text: str) -> Node:
    found: Found = []
    tree = read_yaml(text, layer="user", file="", found=found)
    if tree is None:
        raise Unreadable(found[0].message, found[0].origin.line)
    return tree


def _pruned(value: object) -> object:
    """``value`` without what sets nothing."""
    if isinstance(value, dict):
        inside = {name: _pruned(item) for name, item in value.items()}
        return {name: item for name, item in inside.items() if item is not None and item != {}}
    return [_pruned(item) for item in value] if isinstance(value, list) else value
