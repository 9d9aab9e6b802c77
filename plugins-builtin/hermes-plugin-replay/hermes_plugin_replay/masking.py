"""Values with their secrets masked, whatever is inside what."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

T = TypeVar("T")


def masked(value: T, redact: Callable[[str], str]) -> T:
    """A value of the same type whose texts went through ``redact``."""
    plain = msgspec.to_builtins(value)
    shown = inside(plain, redact)
    return value if shown == plain else msgspec.convert(shown, type(value))


def inside(value: object, redact: Callable[[str], str], *, name: str = "") -> object:
    """The same for what JSON is made of; ``name`` is the key that the value stands under."""
    match value:
        case str():
            shown = redact(value)
            if shown != value or not name:
                return shown
            # A field called "password" holds one, whatever it looks like.
            field = redact(f"{name}={value}")
            return field.removeprefix(f"{name}=") if field.startswith(f"{name}=") else shown
        case dict():
            return {key: inside(one, redact, name=str(key)) for key, one in value.items()}
        case list() | tuple():
            return [inside(one, redact, name=name) for one in value]
    return value
