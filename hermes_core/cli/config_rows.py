"""The settings as ``hermes config`` shows them: a row for each, secrets hidden."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from hermes_core import config_tree as trees
from hermes_core.config import Config
from hermes_core.config_tree import Node, Origin
from hermes_plugins import ConfigSection

_HIDDEN = "********"
_REFERENCE = re.compile(r"\$\{\w+\}")


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
    shown = _visible(config.settings, config.tree, "", secret=False)
    tree = config.tree
    for name in sorted(sections):
        shown, tree = _with_section(config, sections[name], shown, tree)
    return _flat(shown, tree, "")


def _with_section(
    config: Config, section: ConfigSection, shown: object, tree: Node
) -> tuple[object, Node]:
    """The settings with the section of a plugin as its schema reads it."""
    name = section.name
    values, written = config.plugin_values(name, section.schema, inherits=section.inherits)
    visible = _visible(values, written, name, secret=False)
    if not (isinstance(shown, dict) and isinstance(visible, dict)):
        return shown, tree
    known = dict(shown["plugins"])
    for spelling in (name, name.replace("-", "_")):  # variables write the `-` of a name as `_`
        raw = known.pop(spelling, {})
        overrides = _child(_child(_child(tree, "plugins"), spelling), "overrides")
        if "overrides" in raw and "overrides" not in visible:
            visible["overrides"] = raw["overrides"]
            written = trees.put(written, "overrides", overrides)
    return {**shown, "plugins": {**known, name: visible}}, trees.put(
        tree, f"plugins.{name}", written
    )


def _flat(value: object, tree: Node, key: str) -> Iterator[Row]:
    if not isinstance(value, dict):
        yield Row(key, value, tree.origin if tree.value is not None else Origin())
        return
    for name, item in value.items():
        yield from _flat(item, _child(tree, name), f"{key}.{name}" if key else name)


def _visible(value: object, tree: Node, name: str, *, secret: bool) -> object:
    """A value as plain data, secrets hidden, and texts as they were before ``${NAME}`` was filled in."""
    if isinstance(value, msgspec.Struct):
        shown: dict[str, object] = {}
        for field in trees.fields_of(type(value)).values():
            item = getattr(value, field.name)
            below = tree if field.rest else _child(tree, field.name)
            hide = secret or (field.secret and item != field.default)
            part = _visible(item, below, field.name, secret=hide)
            shown |= part if field.rest and isinstance(part, dict) else {field.name: part}
        return shown
    if isinstance(value, dict):
        return {
            key: _visible(item, _child(tree, key), key, secret=secret)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple)):
        nodes = tree.value if isinstance(tree.value, list) else [Node(None)] * len(value)
        pairs = zip(value, nodes, strict=False)
        return [_visible(item, below, name, secret=secret) for item, below in pairs]
    if tree.source and (not secret or _REFERENCE.fullmatch(tree.source)):
        return tree.source
    is_secret = secret or (isinstance(value, str) and bool(value) and trees.is_secret_name(name))
    return _HIDDEN if is_secret else value


def _child(tree: Node, name: str) -> Node:
    found = tree.value.get(name) if isinstance(tree.value, dict) else None
    return found or Node(None)
