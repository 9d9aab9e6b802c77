"""Settings before they have types: values that know where they were written, and how they get types.

A layer of settings is a flat `Tree`: every section and every value by its key, a section before what is
in it. `fit` checks a tree against a schema and makes its structs, collecting everything that is wrong
instead of stopping at the first. config.py puts layers together.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeGuard,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
)

import msgspec

from hermes_core.patterns import lazy
from hermes_plugins import ConfigError

S = TypeVar("S", bound=msgspec.Struct)


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
        place = self.origin
        return ConfigError(
            self.message, file=place.file, line=place.line, key=self.key, hint=self.hint
        )


class Node(msgspec.Struct, frozen=True):
    """A value of one layer. ``text`` is a scalar as it stands there, after ``${NAME}`` was filled in;
    ``source`` is the text before, where there was one to fill in. In a `Tree` a section is ``{}``."""

    value: Value
    text: str = ""
    source: str = ""
    origin: Origin = Origin()


Value: TypeAlias = "bool | int | float | str | list[Node] | dict[str, Node] | None"
Key: TypeAlias = "tuple[str, ...]"
Tree: TypeAlias = "dict[Key, Node]"
Found: TypeAlias = "list[Problem]"


class Field(msgspec.Struct, frozen=True):
    """A field of a schema, or an entry of one of its mappings, whose name is NAME.

    ``place`` is where its value goes in the schema's struct; a ``rest`` field takes the keys of its
    section that are no fields.
    """

    name: str
    hint: object
    kind: object
    default: object = None
    description: str = ""
    project: bool = False
    secret: bool = False
    rest: bool = False
    place: Key = ()


# A line of a section's docstring, below its first paragraph.
_MEANING = lazy(r"(?m)^[ \t]*(\w+): (.+)$")


@functools.cache
def fields_of(schema: type[msgspec.Struct]) -> Mapping[str, Field]:
    """The fields of a schema by name, in order."""
    found = {}
    meanings = dict(_MEANING.findall((schema.__doc__ or "").partition("\n\n")[2]))
    for item in msgspec.structs.fields(schema):
        metas = [meta for meta in get_args(item.type)[1:] if isinstance(meta, msgspec.Meta)]
        marks = {key: True for meta in metas for key, on in (meta.extra or {}).items() if on}
        has_factory = item.default is msgspec.NODEFAULT and callable(item.default_factory)
        written = next((meta.description for meta in metas if meta.description), "")
        found[item.name] = Field(
            name=item.name,
            hint=item.type,
            kind=kind_of(item.type),
            default=item.default_factory() if has_factory else item.default,
            description=written or meanings.get(item.name, ""),
            project="project" in marks,
            secret="secret" in marks,
            rest="rest" in marks,
        )
    return found


def summary(kind: object) -> str:
    """What a section, or each entry of a mapping, is: the first paragraph of its docstring."""
    kind = kind_of(get_args(kind)[1]) if is_mapping(kind) else kind
    text = (kind.__doc__ or "").partition("\n\n")[0] if is_struct(kind) else ""
    return " ".join(text.split()).replace("``", "`")


def root_of(schema: type[msgspec.Struct]) -> Field:
    """A schema as the field that its own fields are in."""
    return Field(name="", hint=schema, kind=schema)


def field_at(schema: type[msgspec.Struct], key: Iterable[str]) -> Field | None:
    """The field, or the entry of a mapping, that a key names; None when there is none."""
    field: Field | None = root_of(schema)
    for name in key:
        field = inside(field, name) if field is not None else None
    return field


def inside(field: Field, name: str) -> Field | None:
    """What a section, or a mapping, holds under a name; None when there is no such thing."""
    kind = field.kind
    fields = fields_of(kind) if is_struct(kind) else {}
    inner = fields.get(name)
    if inner is None or inner.rest:
        inner = next((one for one in fields.values() if one.rest), None)
        if inner is not None:
            place = (*field.place, inner.name)
            return inside(msgspec.structs.replace(inner, place=place), name)
        if not is_mapping(kind) and kind is not object:
            return None
        hint = get_args(kind)[1] if is_mapping(kind) else object
        inner = Field(name="NAME", hint=hint, kind=kind_of(hint), rest=field.rest)
    return msgspec.structs.replace(
        inner,
        place=(*field.place, name),
        secret=inner.secret or field.secret,
        project=inner.project or field.project,
    )


def names_in(schema: type[msgspec.Struct], key: Iterable[str]) -> list[str]:
    """The names that may stand in a section; none where any may."""
    field = field_at(schema, key)
    kind = field.kind if field is not None else None
    return [one.name for one in fields_of(kind).values() if not one.rest] if is_struct(kind) else []


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


def is_mapping(kind: object) -> bool:
    """Whether a kind is a section with names of the user's own."""
    return get_origin(kind) is dict


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


def plain(tree: Node) -> object:
    """A node as a plain value."""
    if isinstance(tree.value, dict):
        return {name: plain(item) for name, item in tree.value.items()}
    return [plain(item) for item in tree.value] if isinstance(tree.value, list) else tree.value


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


def written(text: str, origin: Origin) -> Node:
    """A text from outside a file: a scalar, or a list or mapping as JSON or YAML in one line."""
    return _parsed(text, origin) or scalar(text, origin)


def dotted(key: Iterable[str]) -> str:
    """A key as people write it."""
    return ".".join(key)


def flat(item: Node, key: Key = ()) -> Tree:
    """A node as a tree, below a key."""
    if not isinstance(item.value, dict):
        return {key: item}
    tree = {key: msgspec.structs.replace(item, value={})} if key else {}
    for name, inner in item.value.items():
        tree |= flat(inner, (*key, name))
    return tree


def is_section(item: Node | None) -> bool:
    """Whether what stands at a key of a tree is a section."""
    return item is not None and item.value == {}


def put(tree: Tree, key: Key, item: Node) -> None:
    """Set a key in ``tree``."""
    for end in range(1, len(key)):
        if not is_section(tree.get(key[:end])):
            tree[key[:end]] = Node({}, origin=item.origin)
    tree |= flat(item, key)


def merge(layers: Iterable[Tree]) -> Tree:
    """Layers as one tree: later ones win, sections are joined, an empty value sets nothing."""
    merged: Tree = {}
    for layer in layers:
        for key, item in layer.items():
            old = merged.get(key)
            if old is not None and (item.value is None or (is_section(item) and is_section(old))):
                continue
            if is_section(old):
                merged = {other: it for other, it in merged.items() if other[: len(key)] != key}
            merged[key] = item
    return merged


def fit(schema: type[S], tree: Tree, key: str, found: Found) -> S:
    """``tree``, which stands at ``key``, as a struct; what does not fit has its default."""
    values: dict[str, object] = {}
    known: dict[Key, Field] = {(): root_of(schema)}
    for inner, item in tree.items():
        above = known.get(inner[:-1])
        if above is None:  # already told
            continue
        full = f"{key}.{dotted(inner)}" if key else dotted(inner)
        field = inside(above, inner[-1])
        if field is None:
            found.append(_unknown(full, names_in(schema, inner[:-1]), item.origin))
            continue
        value = _fit_field(field, item, full, found)
        if value is not msgspec.UNSET:
            known[inner] = field
            _place(values, field.place, value)
    try:
        return cast("S", _built(schema, values))
    except (TypeError, ValueError) as error:  # a check of the section's own
        found.append(Problem("error", f"{key}: {error}.", key, next(iter(tree.values())).origin))
        return schema()


def fit_value(hint: Any, item: Node, key: str, found: Found) -> object:
    """A value as ``hint`` wants it; `msgspec.UNSET`, and the reason in ``found``, if it does not fit."""
    kind, value, before = kind_of(hint), plain(item), len(found)
    of_text = kind is str or (get_origin(kind) is Literal and isinstance(get_args(kind)[0], str))
    if _is_list(kind):
        items = _parsed(item.text, item.origin) or item
        if isinstance(items.value, list):
            inner = get_args(kind)[0]
            fitted = [
                fit_value(inner, one, f"{key}[{i}]", found) for i, one in enumerate(items.value)
            ]
            value = [one for one in fitted if one is not msgspec.UNSET]
    elif is_struct(kind) and isinstance(item.value, dict):
        return fit(kind, flat(item), key, found)
    elif of_text and not isinstance(value, (list, dict)):
        value = item.text
    elif kind is bool:
        value = {"true": True, "false": False}.get(item.text.lower(), item.text)
    elif kind in (int, float) and isinstance(value, str):
        value = scalar(value.strip(), item.origin).value
    if any(one.severity == "error" for one in found[before:]):
        return msgspec.UNSET
    try:
        # msgspec itself would take "inf" for a number and 1 for true.
        return msgspec.convert(value, hint, strict=kind in (bool, int, float))
    except msgspec.ValidationError:
        return _reject(hint, item, key, found)


def near(name: str, known: Iterable[str]) -> str:
    """The known name that a mistyped one looks like; "" when there is none."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(known), n=1, cutoff=0.6)), "")


def describe(hint: object) -> str:
    """What a type takes, in words."""
    from msgspec import inspect

    kind: Any = kind_of(hint)
    if is_struct(kind) or is_mapping(kind):
        return "a section"
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    words = {str: "text", bool: "true or false", int: "a whole number", float: "a number"}
    word = "a list" if get_origin(kind) in (tuple, list) else words.get(kind, "a value")
    info: Any = inspect.type_info(hint)
    while isinstance(info, (inspect.Metadata, inspect.UnionType)):
        options = info.types if isinstance(info, inspect.UnionType) else [info.type]
        info = next(one for one in options if not isinstance(one, inspect.NoneType))
    names = {"ge": "at least", "gt": "above", "le": "at most", "pattern": "matching"}
    limits = [(more, getattr(info, name, None)) for name, more in names.items()]
    told = [
        f"{more} {at if isinstance(at, str) else f'{at:g}'}"
        for more, at in limits
        if at is not None
    ]
    return f"{word} {' and '.join(told)}".rstrip()


_SECRET_NAME = lazy(r"(?i)(api_?key|token(?!s)|secret|passw|authorization|^key$)")


def is_secret_name(key: str) -> bool:
    """Whether a key looks as if it held a secret, for sections without a schema."""
    return bool(_SECRET_NAME.search(key.rpartition(".")[2]))


def _fit_field(field: Field, item: Node, key: str, found: Found) -> object:
    kind = field.kind
    has_names = is_struct(kind) or is_mapping(kind)
    if item.value is None:
        # A name with nothing behind it is there all the same.
        none = None if kind is object else msgspec.UNSET
        return msgspec.UNSET if field.name != "NAME" else {} if has_names else none
    if is_section(item) and (has_names or kind is object):
        return dict(field.default) if isinstance(field.default, dict) else {}
    if has_names:
        return _reject(kind, item, key, found)
    return fit_value(field.hint, item, key, found)


def _place(values: dict[str, Any], place: Key, value: object) -> None:
    for name in place[:-1]:
        values = values.setdefault(name, {})
    values[place[-1]] = value


def _built(hint: object, value: object) -> object:
    """A fitted value with its structs made; cheaper than msgspec's, which reads all types first."""
    kind = kind_of(hint)
    if is_mapping(kind) and isinstance(value, dict):
        inner = get_args(kind)[1]
        return {name: _built(inner, item) for name, item in value.items()}
    if not is_struct(kind) or not isinstance(value, dict):
        return value
    fields = fields_of(kind)
    return kind(**{name: _built(fields[name].hint, item) for name, item in value.items()})


def _unknown(key: str, known: Iterable[str], origin: Origin) -> Problem:
    section, dot, name = key.rpartition(".")
    meant = near(name, known)
    hint = f"Did you mean {section}{dot}{meant}?" if meant else "See `hermes config schema`."
    return Problem("warning", f"unknown key {key}; it has no effect.", key, origin, hint)


def _reject(hint: object, item: Node, key: str, found: Found) -> object:
    message = f"{key} must be {describe(hint)}, not {_shown(key, item)}."
    found.append(Problem("error", message, key, item.origin))
    return msgspec.UNSET


def _shown(key: str, item: Node) -> str:
    if isinstance(item.value, (dict, list)):
        return "a section" if isinstance(item.value, dict) else "a list"
    if is_secret_name(key) or item.source:
        return "what is there"
    if not isinstance(item.value, str):  # a number is one, though a text may look like it
        return item.text
    return repr(item.text if len(item.text) <= 60 else item.text[:57] + "…")


def _parsed(text: str, origin: Origin) -> Node | None:
    if text[:1] not in ("[", "{"):
        return None
    try:
        return node(json.loads(text), origin)
    except (ValueError, RecursionError):
        from hermes_core.config_yaml import read_inline

        return read_inline(text, origin)


def _is_list(kind: object) -> bool:
    return get_origin(kind) is list or (get_origin(kind) is tuple and get_args(kind)[-1] is ...)
