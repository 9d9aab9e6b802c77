"""Holds a JSON value against a JSON Schema and coerces where nothing is lost.

Understood (2020-12 subset): type (also a list of types), enum, const, required, properties,
additionalProperties, items, prefixItems, anyOf, oneOf (read as anyOf), allOf, $ref into the schema,
minimum, maximum, exclusive ones, minLength, maxLength, pattern, minItems, maxItems, default. Other
keywords are not looked at.

Coerced: ``"5"`` and ``5.0`` to 5, ``"true"`` to true, a string that holds JSON to the array or
object wanted, a lone value to a list of it, null for an optional argument to its absence. A number
for a string is an error: who sends ``007`` as 7 has lost something already.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final, cast

import msgspec

from hermes_plugins._messages import Json

Schema = Mapping[str, Json]

MAX_DEPTH = 64
MAX_STEPS = 100_000
"""Values looked at for one call, counting each branch of an anyOf that is tried."""
MAX_PATTERN_CHARS = 10_000
"""Longer strings are not held against a pattern, which may take exponential time."""

_INTEGER = r"[+-]?[0-9]{1,18}"
_NUMBER = r"[+-]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][+-]?[0-9]{1,3})?"
_EXACT = 2.0**53
_MISSING: Final = object()
_BOUNDS: tuple[tuple[str, str, Callable[[float, float], bool]], ...] = (
    ("minimum", "at least", operator.ge),
    ("maximum", "at most", operator.le),
    ("exclusiveMinimum", "more than", operator.gt),
    ("exclusiveMaximum", "less than", operator.lt),
)


def preview(value: Json) -> str:
    """A value in a few words, for a message."""
    if isinstance(value, str):
        return repr(value if len(value) <= 40 else value[:39] + "…")
    if isinstance(value, dict | list):
        return f"{kind_of(value)} of {len(value)}"
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)[:40]


def kind_of(value: Json) -> str:
    """The JSON Schema type of a value; an integer is also a number."""
    if value is None:
        return "null"
    for type_, name in (
        (bool, "boolean"),
        (str, "string"),
        (int, "integer"),
        (float, "number"),
        (list, "array"),
    ):
        if isinstance(value, type_):
            return name
    return "object"


class Fitting:
    """One pass over one value; ``problems`` and ``notes`` fill up on the way."""

    def __init__(self, schema: Schema, *, strict: bool = True) -> None:
        self.problems: list[str] = []
        self.notes: list[str] = []
        self._root = schema
        self._strict = strict
        self._steps = 0

    def fit(self, value: Json) -> Json:
        """The value as the schema wants it; only meaningful without problems."""
        return self._fit(value, self._root, "", 0)

    def _fit(self, value: Json, schema: Json, path: str, depth: int) -> Json:
        self._steps += 1
        if self._steps > MAX_STEPS or depth > MAX_DEPTH:
            self._report(path, "too large or nested too deeply to check")
            return value
        if not isinstance(schema, Mapping):
            if schema is False:
                self._report(path, "not allowed")
            return value
        flat, further = self._flat(schema)
        value = self._coerced(value, flat, path)
        if not self._fits_type(value, flat, path):
            return value
        for keyword in ("anyOf", "oneOf"):
            branches = flat.get(keyword)
            if isinstance(branches, list) and branches:
                value = self._fit_any(value, branches, path, depth)
        self._check_values(value, flat, path)
        if isinstance(value, str):
            self._check_string(value, flat, path)
        elif isinstance(value, list):
            value = self._fit_list(value, flat, path, depth)
        elif isinstance(value, dict):
            value = self._fit_object(value, flat, path, depth)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            self._check_number(value, flat, path)
        for more in further:
            value = self._fit(value, more, path, depth + 1)
        return value

    def _report(self, path: str, problem: str) -> None:
        if len(self.problems) < 100:
            self.problems.append(f"{path}: {problem}" if path else problem)

    # Schemas

    def _flat(self, schema: Schema) -> tuple[dict[str, Json], list[Schema]]:
        """A schema with its $ref and allOf merged in, and what could not be merged.

        Properties are united so that a part of an allOf does not call the others' arguments
        unknown.
        """
        flat: dict[str, Json] = {}
        further: list[Schema] = []
        pending: list[Json] = [schema]
        for _ in range(MAX_DEPTH):
            if not pending:
                break
            part = pending.pop(0)
            if not isinstance(part, Mapping):
                continue
            if isinstance(part.get("$ref"), str):
                pending.append(self._target(str(part["$ref"])))
            members = part.get("allOf")
            if isinstance(members, list):
                pending.extend(members)
            self._merge(flat, part, further)
        return flat, further

    @staticmethod
    def _merge(flat: dict[str, Json], part: Schema, further: list[Schema]) -> None:
        for key, said in part.items():
            had = flat.get(key, _MISSING)
            if key in ("$ref", "allOf", "$defs", "definitions"):
                continue
            if key == "properties" and isinstance(had, dict) and isinstance(said, Mapping):
                flat[key] = {**had, **said}
            elif key == "required" and isinstance(had, list) and isinstance(said, list):
                flat[key] = [*had, *said]
            elif had is _MISSING:
                flat[key] = dict(said) if isinstance(said, Mapping) else said
            elif had != said and key not in ("title", "description", "default"):
                further.append({key: said})

    def _target(self, reference: str) -> Json:
        """What a local reference points to; anything goes where it points nowhere."""
        found: Json = self._root
        for step in reference.removeprefix("#").strip("/").split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            if name:
                found = found.get(name) if isinstance(found, Mapping) else None
        return found if reference.startswith("#") else None

    def _accepts(self, schema: Json, kind: str) -> bool:
        """Whether a value of this type could fit, by type alone."""
        if not isinstance(schema, Mapping):
            return schema is not False
        flat, _ = self._flat(schema)
        types = _types(flat)
        if types:
            return kind in types or (kind == "integer" and "number" in types)
        for keyword in ("anyOf", "oneOf"):
            branches = flat.get(keyword)
            if isinstance(branches, list):
                return any(
                    not isinstance(branch, Mapping) or kind in _types(branch) or not _types(branch)
                    for branch in branches
                )
        values = _constants(flat)
        return not values or any(kind_of(choice) == kind for choice in values)

    # Types and coercion

    def _coerced(self, value: Json, flat: Schema, path: str) -> Json:
        types = _types(flat) or tuple(dict.fromkeys(kind_of(choice) for choice in _constants(flat)))
        if not types or _is_one_of(value, types):
            return value
        for wanted in types:
            found = self._converted(value, wanted, flat)
            if found is not _MISSING:
                if type(found) is not type(value) or not isinstance(value, float):
                    self.notes.append(f"{path}: {preview(value)} read as {wanted}")
                return found
        return value

    def _converted(self, value: Json, wanted: str, flat: Schema) -> Json:
        if wanted == "integer" and isinstance(value, float):
            return int(value) if value.is_integer() and abs(value) < _EXACT else _MISSING
        if isinstance(value, str):
            text = value.strip()
            if wanted in ("integer", "number"):
                return _number(text, wanted)
            if wanted == "boolean" and text.lower() in ("true", "false"):
                return text.lower() == "true"
            if wanted in ("array", "object") and text[:1] in ("[", "{"):
                read = _json(text)
                if kind_of(read) == wanted:
                    return read
                if '"' in text:
                    return _MISSING  # broken JSON rather than a word that begins with a bracket
        if wanted == "array" and not isinstance(value, list) and value not in (None, ""):
            items = flat.get("items", True)
            if "prefixItems" not in flat and self._accepts(items, kind_of(value)):
                return [value]
        return _MISSING

    def _fits_type(self, value: Json, flat: Schema, path: str) -> bool:
        types = _types(flat)
        if not types or _is_one_of(value, types):
            return True
        kind = "number" if kind_of(value) == "integer" else kind_of(value)
        told = f"{kind} {preview(value)}" if isinstance(value, float) else kind
        self._report(path, f"expected {' or '.join(types)}, got {told}")
        return False

    def _fit_any(self, value: Json, branches: list[Json], path: str, depth: int) -> Json:
        """The first branch that fits as it is, else the first that fits after coercion."""
        start, noted, best = len(self.problems), len(self.notes), None
        changed: tuple[Json, list[str]] | None = None
        for branch in branches:
            fitted = self._fit(value, branch, path, depth + 1)
            problems, notes = self.problems[start:], self.notes[noted:]
            del self.problems[start:], self.notes[noted:]
            if not problems and not notes:
                return fitted
            if not problems and changed is None:
                changed = fitted, notes
            if problems and (best is None or len(problems) < len(best)):
                best = problems
        if changed is not None:
            self.notes.extend(changed[1])
            return changed[0]
        types = [
            kind for branch in branches if isinstance(branch, Mapping) for kind in _types(branch)
        ]
        if types and not _is_one_of(value, tuple(types)):
            self._report(
                path, f"expected {' or '.join(dict.fromkeys(types))}, got {kind_of(value)}"
            )
        else:
            self.problems.extend(best or [])
        return value

    # Parts

    def _check_values(self, value: Json, flat: Schema, path: str) -> None:
        choices = _constants(flat)
        if choices and not any(_same(value, choice) for choice in choices):
            listed = ", ".join(preview(choice) for choice in choices[:20])
            near = _nearest(value, (choice for choice in choices if isinstance(choice, str)))
            self._report(path, f"{preview(value)} is not one of {listed}{near}")

    def _check_number(self, value: int | float, flat: Schema, path: str) -> None:
        for keyword, words, holds in _BOUNDS:
            limit = flat.get(keyword)
            if (
                isinstance(limit, int | float)
                and not isinstance(limit, bool)
                and not holds(value, limit)
            ):
                self._report(path, f"must be {words} {limit}, got {value}")

    def _check_size(self, size: int, unit: str, bounds: tuple[Json, Json], path: str) -> None:
        least, most = bounds
        if isinstance(least, int) and size < least:
            self._report(path, f"needs at least {least} {unit}, got {size}")
        if isinstance(most, int) and size > most:
            self._report(path, f"takes at most {most} {unit}, got {size}")

    def _check_string(self, value: str, flat: Schema, path: str) -> None:
        self._check_size(
            len(value), "characters", (flat.get("minLength"), flat.get("maxLength")), path
        )
        pattern = flat.get("pattern")
        if isinstance(pattern, str) and len(value) <= MAX_PATTERN_CHARS:
            try:
                matches = re.search(pattern, value) is not None
            except (re.error, RecursionError, OverflowError):
                return  # written for another engine: not ours to judge
            if not matches:
                self._report(path, f"{preview(value)} does not match the pattern {pattern}")

    def _fit_list(self, value: list[Json], flat: Schema, path: str, depth: int) -> list[Json]:
        self._check_size(len(value), "items", (flat.get("minItems"), flat.get("maxItems")), path)
        first = flat.get("prefixItems")
        schemas = first if isinstance(first, list) else []
        rest = flat.get("items", True)
        fitted: list[Json] = []
        for position, item in enumerate(value):
            if self._steps > MAX_STEPS:
                break
            schema = schemas[position] if position < len(schemas) else rest
            fitted.append(self._fit(item, schema, f"{path}[{position}]", depth + 1))
        return fitted

    def _fit_object(
        self, value: dict[str, Json], flat: Schema, path: str, depth: int
    ) -> dict[str, Json]:
        declared = flat.get("properties")
        properties: Mapping[str, Json] = declared if isinstance(declared, Mapping) else {}
        named = flat.get("required")
        required: list[Json] = named if isinstance(named, list) else []
        fitted: dict[str, Json] = {}
        for name, item in value.items():
            if self._steps > MAX_STEPS:
                break
            where = f"{path}.{name}" if path else name
            if name in properties:
                schema = properties[name]
                if item is None and name not in required and not self._accepts(schema, "null"):
                    self.notes.append(f"{where}: null read as left out")
                    continue
                fitted[name] = self._fit(item, schema, where, depth + 1)
            else:
                fitted[name] = self._fit_unnamed(item, (flat, properties), where, depth)
        for name in dict.fromkeys(
            (*properties, *(key for key in required if isinstance(key, str)))
        ):
            if name not in fitted:
                self._fill_in(fitted, name, properties.get(name), (name in required, path))
        return fitted

    def _fit_unnamed(
        self, item: Json, owner: tuple[Schema, Mapping[str, Json]], where: str, depth: int
    ) -> Json:
        flat, properties = owner
        further = flat.get("additionalProperties", _MISSING)
        if further is _MISSING:
            closed = self._strict and "properties" in flat and "patternProperties" not in flat
            further = not closed
        if further is not False:
            return self._fit(item, further, where, depth + 1)
        known = ", ".join(properties) or "none"
        name = where.rsplit(".", 1)[-1]
        self._report(where, f"unknown argument{_nearest(name, properties)}; known: {known}")
        return item

    def _fill_in(
        self, fitted: dict[str, Json], name: str, schema: Json, place: tuple[bool, str]
    ) -> None:
        required, path = place
        default = schema.get("default", _MISSING) if isinstance(schema, Mapping) else _MISSING
        if default is not _MISSING and (default is not None or self._accepts(schema, "null")):
            fitted[name] = cast("Json", msgspec.to_builtins(default))  # a copy
        elif required:
            self._report(f"{path}.{name}" if path else name, "required, but missing")


def _types(schema: Schema) -> tuple[str, ...]:
    said = schema.get("type")
    if isinstance(said, str):
        return (said,)
    return tuple(map(str, said)) if isinstance(said, list) else ()


def _constants(schema: Schema) -> list[Json]:
    if "const" in schema:
        return [schema["const"]]
    choices = schema.get("enum")
    return choices if isinstance(choices, list) else []


def _is_one_of(value: Json, types: tuple[str, ...]) -> bool:
    kind = kind_of(value)
    return kind in types or (kind == "integer" and "number" in types)


def _same(left: Json, right: Json) -> bool:
    """Equal as JSON: 1 and 1.0 are, 1 and true are not."""
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def _number(text: str, wanted: str) -> Json:
    if re.fullmatch(_INTEGER, text):
        return int(text)
    if not re.fullmatch(_NUMBER, text):
        return _MISSING
    number = float(text)
    if wanted == "number":
        return number if math.isfinite(number) else _MISSING
    return int(number) if number.is_integer() and abs(number) < _EXACT else _MISSING


def _json(text: str) -> Json:
    try:
        return cast("Json", msgspec.json.decode(text))
    except (ValueError, RecursionError):
        return None


def _nearest(value: Json, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(str(value)[:100], list(known), 1) if isinstance(value, str) else []
    return f' (did you mean "{near[0]}"?)' if near else ""
