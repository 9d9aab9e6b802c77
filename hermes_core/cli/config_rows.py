"""The settings as ``hermes config`` shows them: a row for each, secrets hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from hermes_core import config_tree as trees
from hermes_core.config import Config
from hermes_core.config_tree import Found, Key, Node, Origin, Tree, dotted
from hermes_plugins import ConfigSection

HIDDEN = "********"
_REFERENCE = re.compile(r"\$\{\w+\}")
_NOTHING = Node(None)


class Row(msgspec.Struct, frozen=True):
    """One setting. ``origin`` says where the value was written."""

    key: str
    value: object
    origin: Origin


def rows(config: Config, sections: Mapping[str, ConfigSection]) -> Iterator[Row]:
    """Every setting as a session would have it; ``sections`` are those of the plugins that are on.

    Raises:
        ConfigError: a value does not fit a plugin's section.
    """
    own = {(name, spelled) for name in sections for spelled in (name, name.replace("-", "_"))}
    names = {spelled: name for name, spelled in own}
    for key, row in _rows(config.settings, config.tree):
        if key[0] != "plugins" or key[1] not in names:
            yield row
        elif key[2:] == ("overrides",):  # the kernel's, though it stands among the plugin's own
            yield Row(f"plugins.{names[key[1]]}.overrides", row.value, row.origin)
    for name in sorted(sections):
        found: Found = []
        section = sections[name]
        values, tree = config.plugin_values(name, section.schema, found, inherits=section.inherits)
        for item in found:
            if item.severity == "error":
                raise item.error()
        yield from (row for _, row in _rows(values, tree, f"plugins.{name}."))


def visible(value: object, item: Node, name: str, *, secret: bool) -> object:
    """A value as plain data, secrets hidden, and texts as they were before ``${NAME}`` was filled in."""
    if isinstance(value, msgspec.Struct):
        fields = trees.fields_of(type(value)).values()
        return {
            field.name: visible(
                getattr(value, field.name),
                _child(item, field.name),
                field.name,
                secret=secret or (field.secret and getattr(value, field.name) != field.default),
            )
            for field in fields
        }
    if isinstance(value, dict):
        return {
            key: visible(one, _child(item, key), key, secret=secret) for key, one in value.items()
        }
    if isinstance(value, (list, tuple)):
        nodes = item.value if isinstance(item.value, list) else [_NOTHING] * len(value)
        pairs = zip(value, nodes, strict=False)
        return [visible(one, below, name, secret=secret) for one, below in pairs]
    if item.source and (not secret or _REFERENCE.fullmatch(item.source)):
        return item.source
    is_secret = secret or (isinstance(value, str) and bool(value) and trees.is_secret_name(name))
    return HIDDEN if is_secret else value


def _rows(settings: msgspec.Struct, tree: Tree, above: str = "") -> Iterator[tuple[Key, Row]]:
    for key, value in _leaves(settings, ()):
        item = tree.get(key, _NOTHING)
        field = trees.field_at(type(settings), key)
        secret = field is not None and field.secret and value != field.default
        origin = item.origin if item.value is not None else Origin()
        yield key, Row(above + dotted(key), visible(value, item, key[-1], secret=secret), origin)


def _leaves(value: object, key: Key) -> Iterator[tuple[Key, object]]:
    """The values in a section by their keys; the fields of a rest field stand beside it."""
    if isinstance(value, msgspec.Struct):
        for field in trees.fields_of(type(value)).values():
            inner = key if field.rest else (*key, field.name)
            yield from _leaves(getattr(value, field.name), inner)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _leaves(item, (*key, name))
    else:
        yield key, value


def _child(item: Node, name: str) -> Node:
    return item.value.get(name, _NOTHING) if isinstance(item.value, dict) else _NOTHING
