"""What ``hermes config explain`` says of one setting, or of a section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, cast, get_args, get_origin

import msgspec

from hermes_core import config_tree as trees
from hermes_core import dotenv
from hermes_core.cli.config_rows import HIDDEN, visible
from hermes_core.config import Config
from hermes_core.config_layers import canonical_key, find_field, read_text
from hermes_core.config_schema import Settings
from hermes_core.config_tree import Field, Found, Key, Origin, Problem, Tree
from hermes_core.paths import SECRETS_FILE
from hermes_plugins import ConfigSection, Paths


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """A value of one layer; one of a setting's counts."""

    origin: Origin
    value: object
    counts: bool


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """One setting. ``inside`` has the meanings of the keys of a section, by name."""

    key: str
    meaning: str
    takes: str
    default: object = None
    written: Sequence[Written] = ()
    inside: Mapping[str, str] = {}
    change: Sequence[str] = ()
    problems: Sequence[Problem] = ()


def explain(config: Config, key: str, sections: Mapping[str, ConfigSection]) -> Explanation:
    """What a key means, what sets it and how to change it; ``sections`` are the plugins' by name.

    Raises:
        UsageError: there is no such setting; names the one that it looks like.
    """
    key = key if trees.field_at(Settings, [key]) else canonical_key(key)
    field = find_field(key, {name: one.schema for name, one in sections.items()})
    layers, problems = config.layers, [*config.problems]
    inner, default = tuple(key.split(".")), field.default
    if inner[0] == "plugins" and len(inner) > 2 and inner[1] in sections:
        section, found = sections[inner[1]], cast("Found", [])
        layers = config.plugin_layers(section.name, section.schema, found)
        problems += config.check_plugin(section.name, section.schema)
        inner = inner[2:]
        if inner[0] in section.inherits:
            default = f"that of {section.inherits[inner[0]]}"
    inside = _inside(field, key, sections)
    written = () if inside else _written(layers, inner, field)
    return Explanation(
        key=key,
        meaning=_meaning(field) or "settings of your own, or of a plugin",
        takes=trees.describe(field.hint),
        default=None if inside else msgspec.to_builtins(default),
        written=written,
        inside=inside,
        change=tuple(_change(field, key, written)),
        problems=[one for one in problems if one.key == key],
    )


def explain_variable(config: Config, paths: Paths, name: str) -> Explanation:
    """Where a variable of .env is set; never its value."""
    file = paths.home / SECRETS_FILE
    text = read_text(file, "user", []) or ""
    lines = [
        text.count("\n", 0, item.start) + 1
        for item in dotenv.scan(text)
        if isinstance(item, dotenv.Assignment) and item.name == name
    ]
    origins = [Origin("user", str(file), lines[-1])] if lines else []
    # .env is read below the environment, so what differs from it is from there.
    if name in config.environ and (config.environ[name] != config.secrets.get(name)):
        origins.append(Origin("environment", name))
    return Explanation(
        key=name,
        meaning="a variable that something installed reads; hermes.yaml has it as ${" + name + "}",
        takes="",
        written=_counted([(origin, HIDDEN) for origin in origins]),
        change=(f"hermes config set {name}",),
    )


def lines(told: Explanation) -> Iterator[str]:
    """An explanation as text."""
    yield told.key
    yield f"  {told.meaning}"
    if told.inside:
        width = max(map(len, told.inside))
        yield from (f"    {name:<{width}}  {text}".rstrip() for name, text in told.inside.items())
    elif told.takes:
        yield f"  takes    {told.takes}"
        yield f"  default  {_text(told.default)}"
    for number, one in enumerate(told.written):
        mark = "   <- counts" if one.counts and len(told.written) > 1 else ""
        yield f"  {'' if number else 'set':<7}  {_text(one.value)}   ({one.origin}){mark}"
    for number, line in enumerate(told.change):
        yield f"  {'' if number else 'change':<7}  {line}"
    yield from (f"{one.severity}: {one}" for one in told.problems)


def _written(layers: Sequence[Tree], key: Key, field: Field) -> Sequence[Written]:
    found = []
    for layer in layers:
        item = layer.get(key)
        if item is not None and item.value is not None:
            found.append((item.origin, _shown(layer, key, field)))
    return _counted(found)


def _shown(layer: Tree, key: Key, field: Field) -> object:
    if not trees.is_section(layer[key]):
        return visible(trees.plain(layer[key]), layer[key], key[-1], secret=field.secret)
    inner = [other for other in layer if other[:-1] == key]
    return {other[-1]: _shown(layer, other, field) for other in inner}


def _counted(found: Sequence[tuple[Origin, object]]) -> Sequence[Written]:
    last = len(found) - 1
    return [
        Written(origin=origin, value=value, counts=number == last)
        for number, (origin, value) in enumerate(found)
    ]


def _inside(field: Field, key: str, sections: Mapping[str, ConfigSection]) -> Mapping[str, str]:
    kind, above = field.kind, key
    name = key.removeprefix("plugins.")
    if name in sections and name != key:
        kind = sections[name].schema
    elif trees.is_mapping(kind):
        kind, above = trees.kind_of(get_args(kind)[1]), f"{key}.NAME"
    if not trees.is_struct(kind):
        return {}
    known = {
        f"{above}.{one.name}": _meaning(one)
        for one in trees.fields_of(kind).values()
        if not one.rest
    }
    plugins = {f"plugins.{name}": "settings of that plugin" for name in sorted(sections)}
    return known | plugins if key == "plugins" else known


def _meaning(field: Field) -> str:
    return (field.description or trees.summary(field.kind)).rstrip(".")


def _change(field: Field, key: str, written: Sequence[Written]) -> Iterator[str]:
    if trees.is_struct(field.kind) or trees.is_mapping(field.kind):
        return
    value = "true|false" if field.kind is bool else "VALUE"
    if get_origin(field.kind) is Literal:
        value = "|".join(map(str, get_args(field.kind)))
    if get_origin(field.kind) in (tuple, list):
        value = """'["…", "…"]'"""
    yield f"hermes config set {key} {'' if field.secret else value}".rstrip()
    if field.project:
        yield "a project's hermes.yaml may tighten it"
    origin = written[-1].origin if written else Origin()
    if origin.layer == "user":
        yield f"hermes config unset {key}   (back to the default)"
    elif origin.layer == "environment":
        yield f"{origin.file} is set in the environment, and wins over hermes.yaml"
    elif origin.layer == "project":
        yield f"{origin.file} is the project's, and tightens what your own says"


def _text(value: object) -> str:
    return value if isinstance(value, str) and value else msgspec.json.encode(value).decode()
