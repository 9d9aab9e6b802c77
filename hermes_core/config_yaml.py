"""YAML text to nodes with lines. Imported only when there is a file, because PyYAML costs as much as
the rest of the kernel.

What is read is smaller than YAML: on, off, yes and no are texts; no dates, no tags, no merge keys; a key
that stands twice is an error; at most 20,000 values, 32 deep, counting every use of an alias, so that
no file is larger in memory than it looks.
"""

from __future__ import annotations

import yaml

from hermes_core.config_tree import Node, Origin, Problem, scalar

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE = "tag:yaml.org,2002:"
# What PyYAML says by itself; timestamp and value are the texts that look like one.
_TAGS = frozenset(
    _CORE + name
    for name in ("str", "int", "float", "bool", "null", "seq", "map", "timestamp", "value")
)
_MAX_VALUES = 20_000
_MAX_DEPTH = 32


class Unreadable(Exception):
    """Raised when a text is not the YAML that is read here."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def read_yaml(text: str, *, layer: str, file: str, found: list[Problem]) -> Node | None:
    """The tree of a text; None, and an error in ``found``, when it cannot be read.

    ``text`` carries no byte order mark. An empty text is an empty tree.
    """
    try:
        root = compose(text)
        tree = _Reading(layer, file).read(root, 0) if root is not None else Node({})
        if tree.value is not None and not isinstance(tree.value, dict):
            raise Unreadable("this is not a list of `key: value` lines.", 1)
    except Unreadable as error:
        origin = Origin(layer, file, error.line)
        hint = "Nothing was read from it; mend that line, and see `hermes config check`."
        found.append(Problem("error", str(error), "", origin, hint))
        return None
    return tree if tree.value is not None else Node({}, origin=tree.origin)


def read_inline(text: str, origin: Origin) -> Node | None:
    """A list or mapping in a text from elsewhere; None when the text is neither."""
    try:
        root = compose(text)
        tree = _Reading(origin.layer, origin.file).read(root, 0) if root is not None else None
    except Unreadable:
        return None
    if tree is None or not isinstance(tree.value, (list, dict)):
        return None
    return Node(tree.value, origin=origin)


def compose(text: str) -> yaml.Node | None:
    """PyYAML's nodes of one document.

    Raises:
        Unreadable: the text is not YAML, or holds more than one document.
    """
    try:
        reader = _LOADER(text)
        try:
            root: yaml.Node | None = reader.get_single_node()
        finally:
            reader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise Unreadable(f"not valid YAML (column {column}): {error.problem}.", line) from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise Unreadable(f"not valid YAML: {error.reason}.", line) from error
    except RecursionError as error:
        raise Unreadable("nested too deep.", 1) from error
    return root


class _Reading:
    def __init__(self, layer: str, file: str) -> None:
        self._layer = layer
        self._file = file
        self._left = _MAX_VALUES

    def read(self, item: yaml.Node, depth: int) -> Node:
        line = item.start_mark.line + 1
        self._left -= 1
        if self._left < 0:
            raise Unreadable(f"more than {_MAX_VALUES:,} values.", line)
        if depth > _MAX_DEPTH:
            raise Unreadable(f"nested deeper than {_MAX_DEPTH} levels.", line)
        if item.tag not in _TAGS:
            raise Unreadable(f"the tag {item.tag!r} is not read here.", line)
        origin = Origin(self._layer, self._file, line)
        if isinstance(item, yaml.SequenceNode):
            return Node([self.read(value, depth + 1) for value in item.value], origin=origin)
        if isinstance(item, yaml.MappingNode):
            return Node(self._mapping(item, depth), origin=origin)
        # PyYAML says "" or None for a plain scalar, by its loader.
        if item.style or item.tag == _CORE + "str":
            return Node(item.value, text=item.value, origin=origin)
        return scalar(item.value, origin)

    def _mapping(self, item: yaml.MappingNode, depth: int) -> dict[str, Node]:
        values: dict[str, Node] = {}
        lines: dict[str, int] = {}
        for name, value in item.value:
            line = name.start_mark.line + 1
            if not isinstance(name, yaml.ScalarNode) or name.tag == _CORE + "merge":
                raise Unreadable("a key must be a plain name.", line)
            if name.value in values:
                places = f"in lines {lines[name.value]} and {line}"
                raise Unreadable(f"the key {name.value} stands twice, {places}.", line)
            lines[name.value] = line
            read = self.read(value, depth + 1)
            # What a key holds is said to stand in the line of the key, also when a block begins below.
            origin = Origin(self._layer, self._file, line)
            values[name.value] = Node(read.value, text=read.text, origin=origin)
        return values
