"""Settings before they have types: values that know where they were written, and how they get types.

A layer of settings is a tree of `Node`. `fit` checks a tree against a schema and makes its structs,
collecting everything that is wrong instead of stopping at the first. config.py puts layers together.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeGuard, Union, get_args, get_origin

import msgspec

from hermes_core.patterns import lazy
from hermes_plugins import ConfigError


class Origin(msgspec.Struct, frozen=True):
    """Where a value was written.

    ``layer`` is default, user, project, environment or command line; ``file`` is the file, or the
    name of the variable; ``line`` counts from 1 and is 0 outside of files.
    """

    layer: str = "default"
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        return f"{self.layer} {place}".rstrip()


class Problem(msgspec.Struct, frozen=True):
    """Something to tell about the settings.

    An error keeps Hermes from starting. A warning is a setting that has no effect although somebody
    meant one. A note is worth knowing.
    """

    severity: Literal["error", "warning", "note"]
    message: str
    key: str = ""
    origin: Origin = Origin()
    hint: str = ""

    def __str__(self) -> str:
        return str(self.error())

    def error(self) -> ConfigError:
        """The exception that says the same."""
        return ConfigError(
            self.message,
            file=self.origin.file,
            line=self.origin.line,
            key=self.key,
            hint=self.hint,
        )


class Node(msgspec.Struct, frozen=True):
    """A value of one layer. ``text`` is a scalar as it stands there, after ``${NAME}`` was filled in;
    ``source`` is the text before, where there was one to fill in."""

    value: Value
    text: str = ""
    source: str = ""
    origin: Origin = Origin()


Value: TypeAlias = "bool | int | float | str | list[Node] | dict[str, Node] | None"
Found: TypeAlias = "list[Problem]"


class Field(msgspec.Struct, frozen=True):
    """A field of a schema."""

    name: str
    hint: object
    default: object
    description: str
    project: bool
    secret: bool
    rest: bool


@functools.cache
def fields_of(schema: type[msgspec.Struct]) -> Mapping[str, Field]:
    """The fields of a schema by name, in order."""
    found = {}
    for item in msgspec.structs.fields(schema):
        metas = [meta for meta in get_args(item.type)[1:] if isinstance(meta, msgspec.Meta)]
        marks = {key: True for meta in metas for key, on in (meta.extra or {}).items() if on}
        default = item.default
        if default is msgspec.NODEFAULT and item.default_factory is not msgspec.NODEFAULT:
            default = item.default_factory()
        found[item.name] = Field(
            name=item.name,
            hint=item.type,
            default=default,
            description=next((meta.description for meta in metas if meta.description), ""),
            project="project" in marks,
            secret="secret" in marks,
            rest="rest" in marks,
        )
    return found


def field_at(schema: type[msgspec.Struct], key: str) -> Field | None:
    """The field, or the value of a mapping, that a dotted key names; None when there is none."""
    field = Field(
        name="", hint=schema, default=None, description="", project=False, secret=False, rest=False
    )
    for name in key.split("."):
        kind = kind_of(field.hint)
        if is_struct(kind):
            fields = fields_of(kind)
            known = fields.get(name)
            if known is None or known.rest:
                known = next((item for item in fields.values() if item.rest), None)
                known = known and _inside(known)
        else:
            known = _inside(field) if _is_mapping(kind) or kind is object else None
        if known is None:
            return None
        secret, project = known.secret or field.secret, known.project or field.project
        field = msgspec.structs.replace(known, secret=secret, project=project)
    return field


def kind_of(hint: object) -> object:
    """A type without its notes, and without None."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        return kind_of(options[0]) if len(options) == 1 else hint
    return object if hint is Any else hint


def is_struct(kind: object) -> TypeGuard[type[msgspec.Struct]]:
    """Whether a kind is a section with named fields."""
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def node(value: object, origin: Origin) -> Node:
    """A plain value as a node."""
    if isinstance(value, Mapping):
        return Node({str(key): node(item, origin) for key, item in value.items()}, origin=origin)
    if isinstance(value, (list, tuple)):
        return Node([node(item, origin) for item in value], origin=origin)
    if value is None or isinstance(value, (bool, int, float)):
        text = "" if value is None else json.dumps(value)
        return Node(value, text=text, origin=origin)
    return Node(str(value), text=str(value), origin=origin)


def plain(tree: Node, *, source: bool = False) -> object:
    """A node as a plain value; with ``source``, texts as they were before ``${NAME}`` was filled in."""
    if isinstance(tree.value, dict):
        return {name: plain(item, source=source) for name, item in tree.value.items()}
    if isinstance(tree.value, list):
        return [plain(item, source=source) for item in tree.value]
    return tree.source if source and tree.source else tree.value


# No sign and no leading zero to lose: +49… and 0123 are texts.
_INT = lazy(r"-?(?:0|[1-9][0-9]{0,17})")
_FLOAT = lazy(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]{1,3})?")
_WORDS: dict[str, bool | None] = {"true": True, "false": False, "null": None, "~": None, "": None}


def scalar(text: str, origin: Origin) -> Node:
    """An unquoted text as a node: a number, true, false, null, or the text. on, off, yes and no,
    dates and 1:30 are texts."""
    value: Value = text
    if text in _WORDS or (text in (text.title(), text.upper()) and text.lower() in _WORDS):
        value = _WORDS[text.lower()]
    elif _INT.fullmatch(text):
        value = int(text)
    elif _FLOAT.fullmatch(text):
        value = float(text)
    return Node(value, text=text, origin=origin)


def at(tree: Node, key: str) -> Node | None:
    """The node that a dotted key names."""
    found: Node | None = tree
    for name in key.split("."):
        if found is None or not isinstance(found.value, dict):
            return None
        found = found.value.get(name)
    return found


def put(tree: Node, key: str, value: Node) -> Node:
    """``tree`` with ``value`` at a dotted key."""
    name, _, rest = key.partition(".")
    inside = dict(tree.value) if isinstance(tree.value, dict) else {}
    below = inside.get(name) or Node({}, origin=value.origin)
    inside[name] = put(below, rest, value) if rest else value
    return msgspec.structs.replace(tree, value=inside)


def drop(tree: Node, key: str) -> Node:
    """``tree`` without a dotted key, and without the sections that are empty then."""
    name, _, rest = key.partition(".")
    inside = dict(tree.value) if isinstance(tree.value, dict) else {}
    if rest and name in inside:
        inside[name] = drop(inside[name], rest)
    if not rest or (name in inside and inside[name].value == {}):
        inside.pop(name, None)
    return msgspec.structs.replace(tree, value=inside)


def merge(layers: Iterable[Node]) -> Node:
    """Layers as one tree: later ones win, sections are joined, an empty value sets nothing."""
    merged = Node({})
    for layer in layers:
        merged = _merge(merged, layer)
    return merged


def _merge(lower: Node, upper: Node) -> Node:
    if upper.value is None:
        return lower
    if not isinstance(lower.value, dict) or not isinstance(upper.value, dict):
        return upper
    joined = dict(lower.value)
    for name, item in upper.value.items():
        joined[name] = _merge(joined[name], item) if name in joined else item
    return Node(joined, origin=upper.origin)


def fit(hint: object, tree: Node, key: str, found: Found) -> object:
    """``tree`` as a value of type ``hint``; `msgspec.UNSET` where it sets nothing or does not fit."""
    kind = kind_of(hint)
    if tree.value is None:
        return msgspec.UNSET
    if is_struct(kind):
        return _fit_section(kind, tree, key, found)
    if _is_mapping(kind):
        return _fit_mapping(kind, tree, key, found)
    if get_origin(kind) is list or (get_origin(kind) is tuple and get_args(kind)[-1] is ...):
        return _fit_list(hint, kind, tree, key, found)
    if kind in (str, bool, int, float) or get_origin(kind) is Literal:
        return _fit_scalar(hint, kind, tree, key, found)
    return _convert(plain(tree), hint, tree, key, found)


def unknown(key: str, known: Iterable[str], origin: Origin) -> Problem:
    """A key that means nothing, and the known one that it looks like."""
    from difflib import get_close_matches

    section, _, name = key.rpartition(".")
    near = get_close_matches(name, list(known), n=1, cutoff=0.6)
    prefix = f"{section}." if section else ""
    hint = f"Did you mean {prefix}{near[0]}?" if near else "See `hermes config schema`."
    return Problem("warning", f"unknown key {key}; it has no effect.", key, origin, hint)


def describe(hint: object) -> str:
    """What a type takes, in words."""
    kind = kind_of(hint)
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    if get_origin(kind) in (tuple, list):
        return "a list" + _limits(hint)
    if is_struct(kind) or _is_mapping(kind):
        return "a section"
    words = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
    return words.get(kind, "a value") + _limits(hint) if isinstance(kind, type) else "a value"


def parse_inline(text: str, origin: Origin) -> Node | None:
    """A list or mapping that stands in a text, as JSON or as YAML in one line; None when none does."""
    if text[:1] not in ("[", "{"):
        return None
    try:
        return node(json.loads(text), origin)
    except (ValueError, RecursionError):
        from hermes_core import config_yaml

        return config_yaml.read_inline(text, origin)


def _fit_section(schema: type[msgspec.Struct], tree: Node, key: str, found: Found) -> object:
    if not isinstance(tree.value, dict):
        return _reject(schema, tree, key, found)
    fields = fields_of(schema)
    rest = next((item for item in fields.values() if item.rest), None)
    values: dict[str, object] = {}
    others: dict[str, Node] = {}
    for name, item in tree.value.items():
        field = fields.get(name)
        if field is not None and not field.rest:
            value = fit(field.hint, item, _join(key, name), found)
            if isinstance(value, dict) and isinstance(field.default, dict):
                value = field.default | value
            if value is not msgspec.UNSET:
                values[name] = value
        elif rest is not None:
            others[name] = item
        else:
            known = [item.name for item in fields.values()]
            found.append(unknown(_join(key, name), known, item.origin))
    if rest is not None and others:
        values[rest.name] = fit(rest.hint, Node(others, origin=tree.origin), key, found)
    return schema(**values)


def _fit_mapping(kind: object, tree: Node, key: str, found: Found) -> object:
    if not isinstance(tree.value, dict):
        return _reject(kind, tree, key, found)
    inner = get_args(kind)[1]
    fitted = {}
    for name, item in tree.value.items():
        value = fit(inner, item, _join(key, name), found)
        value = _empty(kind_of(inner)) if item.value is None else value
        if value is not msgspec.UNSET:
            fitted[name] = value
    return fitted


def _empty(kind: object) -> object:
    """What a name with nothing behind it stands for in a mapping."""
    if is_struct(kind):
        return kind()
    return {} if _is_mapping(kind) else None if kind is object else msgspec.UNSET


def _fit_list(hint: object, kind: object, tree: Node, key: str, found: Found) -> object:
    items = tree
    if isinstance(tree.value, str):
        items = parse_inline(tree.value, tree.origin) or tree
    if not isinstance(items.value, list):
        return _reject(hint, tree, key, found)
    inner, before = get_args(kind)[0], len(found)
    fitted = [fit(inner, item, f"{key}[{i}]", found) for i, item in enumerate(items.value)]
    if len(found) > before:
        return msgspec.UNSET
    return _convert([item for item in fitted if item is not msgspec.UNSET], hint, tree, key, found)


def _fit_scalar(hint: object, kind: object, tree: Node, key: str, found: Found) -> object:
    value: object = tree.value
    if isinstance(value, (list, dict)):
        return _reject(hint, tree, key, found)
    if kind is bool:
        value = {"true": True, "false": False}.get(tree.text.lower())
    elif kind is str or (get_origin(kind) is Literal and isinstance(get_args(kind)[0], str)):
        value = tree.text
    elif isinstance(value, str):
        value = scalar(value.strip(), tree.origin).value
    # msgspec would also take "inf" for a number, which `scalar` leaves a text.
    if value is None or (isinstance(value, str) and kind in (int, float)):
        return _reject(hint, tree, key, found)
    return _convert(value, hint, tree, key, found)


def _convert(value: object, hint: Any, tree: Node, key: str, found: Found) -> object:
    try:
        return msgspec.convert(value, hint, strict=False)
    except msgspec.ValidationError:
        return _reject(hint, tree, key, found)


def _reject(hint: object, tree: Node, key: str, found: Found) -> object:
    got = _shown(key, tree)
    message = f"{key} must be {describe(hint)}, not {got}."
    found.append(Problem("error", message, key, tree.origin))
    return msgspec.UNSET


_SECRET_NAME = lazy(r"(?i)(api_?key|token(?!s)|secret|passw|authorization|^key$)")


def is_secret_name(key: str) -> bool:
    """Whether a key looks as if it held a secret, for sections without a schema."""
    return bool(_SECRET_NAME.search(key.rpartition(".")[2]))


def _shown(key: str, tree: Node) -> str:
    if isinstance(tree.value, (dict, list)):
        return "a section" if isinstance(tree.value, dict) else "a list"
    if is_secret_name(key) or tree.source:
        return "what is there"
    if not isinstance(tree.value, str):  # a number is one, though a text may look like it
        return tree.text
    return repr(tree.text if len(tree.text) <= 60 else tree.text[:57] + "…")


def _limits(hint: object) -> str:
    """The limits among a type's notes, in words."""
    words = []
    for meta in _metas(hint):
        words += [f"at least {meta.ge:g}"] if meta.ge is not None else []
        words += [f"above {meta.gt:g}"] if meta.gt is not None else []
        words += [f"at most {meta.le:g}"] if meta.le is not None else []
        words += [f"matching {meta.pattern}"] if meta.pattern is not None else []
    return " " + " and ".join(words) if words else ""


def _metas(hint: object) -> list[msgspec.Meta]:
    if get_origin(hint) is Annotated:
        own = [meta for meta in get_args(hint)[1:] if isinstance(meta, msgspec.Meta)]
        return _metas(get_args(hint)[0]) + own
    if get_origin(hint) in (Union, UnionType):
        return [meta for option in get_args(hint) for meta in _metas(option)]
    return []


def _inside(field: Field) -> Field:
    """What a mapping field holds under a name, as a field."""
    kind = kind_of(field.hint)
    hint = get_args(kind)[1] if _is_mapping(kind) else object
    return msgspec.structs.replace(field, name="NAME", hint=hint, default=None, rest=False)


def _is_mapping(kind: object) -> bool:
    return get_origin(kind) is dict


def _join(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name
