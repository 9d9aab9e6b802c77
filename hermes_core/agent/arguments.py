"""From the text a model sent to the arguments a handler gets.

`parse_arguments` reads JSON, `fit_arguments` holds it against the tool's schema. Both repair only
what loses nothing, say what they did in notes, and otherwise raise a `ToolError` that the model can
act on; arguments are never guessed and never replaced by ``{}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NoReturn, cast

import msgspec

from hermes_core.agent.schemas import Fitting, preview
from hermes_core.patterns import lazy
from hermes_plugins._errors import ToolError
from hermes_plugins._messages import Json

MAX_CHARS = 4_000_000
"""Longest argument text; far above what a model can write in one answer."""
MAX_PROBLEMS = 5
"""Problems of one call that are told at once."""

_FENCED = lazy(r"```(?:json)?\s*\n?(.*?)\n?\s*```", re.DOTALL | re.IGNORECASE)
_AGAIN = "Mend this and send the call again."


class Fitted(msgspec.Struct, frozen=True):
    """Arguments that fit the schema; ``notes`` says what was read differently from how it came."""

    arguments: dict[str, Json]
    notes: tuple[str, ...] = ()


def parse_arguments(text: str, schema: Mapping[str, Json]) -> dict[str, Json]:
    """Read the JSON object that a model sent as arguments.

    Accepted besides plain JSON, because nothing is lost: a code fence around it, raw line ends
    inside its strings, a JSON string that holds the object. No text at all counts as no arguments
    where the schema requires none.

    Raises:
        ToolError: the text is not one JSON object; says where and shows the place.
    """
    if len(text) > MAX_CHARS:
        raise ToolError(
            f"The arguments are {len(text):,} characters long; {MAX_CHARS:,} is the limit."
        )
    body = text.strip()
    fenced = _FENCED.fullmatch(body)
    value = _decoded(fenced[1] if fenced is not None else body)
    if isinstance(value, str):
        value = _decoded(value.strip())
    if value is None:
        required = schema.get("required")
        if isinstance(required, list) and required:
            names = ", ".join(map(str, required))
            raise ToolError(f"The call has no arguments, but it needs {names}.", hint=_AGAIN)
        return {}
    if not isinstance(value, dict):
        raise ToolError(
            f"The arguments must be one JSON object, not {preview(value)}.", hint=_AGAIN
        )
    return cast("dict[str, Json]", value)


def fit_arguments(
    arguments: Mapping[str, Json], schema: Mapping[str, Json], *, strict: bool = True
) -> Fitted:
    """Hold arguments against a schema, coerce what is lossless, fill in defaults.

    The subset of JSON Schema 2020-12 and the coercions stand in ``schemas.py``. With ``strict`` an
    argument that the schema does not name is an error unless ``additionalProperties`` is declared;
    foreign schemas (MCP) are meant the other way round and take ``strict=False``.

    Raises:
        ToolError: the arguments do not fit; names the path of up to five problems.
    """
    fitting = Fitting(schema, strict=strict)
    value = fitting.fit(dict(arguments))
    if fitting.problems:
        told = fitting.problems[:MAX_PROBLEMS]
        more = len(fitting.problems) - len(told)
        tail = [f"and {more} more"] if more else []
        raise ToolError(f"The arguments do not fit: {'; '.join(told + tail)}.", hint=_AGAIN)
    if not isinstance(value, dict):
        raise ToolError("The tool's schema does not describe an object.")
    return Fitted(cast("dict[str, Json]", value), tuple(fitting.notes))


def _decoded(text: str) -> Json:
    """JSON as a value; None for no text at all."""
    if not text:
        return None
    try:
        return cast("Json", msgspec.json.decode(text))
    except RecursionError:
        raise ToolError("The arguments are nested too deeply.", hint=_AGAIN) from None
    except ValueError:
        return _decoded_loosely(text)


def _decoded_loosely(text: str) -> Json:
    try:
        value = json.loads(text, strict=False, parse_constant=_refuse)
        msgspec.json.encode(value)  # what cannot be written again could not be stored either
    except json.JSONDecodeError as error:
        raise ToolError(_where(text, error), hint=_AGAIN) from None
    except RecursionError:
        raise ToolError("The arguments are nested too deeply.", hint=_AGAIN) from None
    except UnicodeEncodeError:
        raise ToolError("The arguments hold half of a character pair.", hint=_AGAIN) from None
    except ValueError as error:
        raise ToolError(f"The arguments are not valid JSON: {error}.", hint=_AGAIN) from None
    return cast("Json", value)


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _where(text: str, error: json.JSONDecodeError) -> str:
    start, end = max(0, error.pos - 30), error.pos + 20
    before = ("…" if start else "") + text[start : error.pos]
    after = text[error.pos : end] + ("…" if end < len(text) else "")
    if error.pos >= len(text) - 1 or error.msg.startswith("Unterminated"):
        return f"The arguments are not valid JSON: they end too early, after {text[-40:]!r}."
    return (
        f"The arguments are not valid JSON: {error.msg} at line {error.lineno}, "
        f"column {error.colno}: {before!r} <- here -> {after!r}."
    )
