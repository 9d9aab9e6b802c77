"""Regular expressions that are compiled when they are first used.

Compiling costs 0.1 to 3 ms each; most runs of the program use few of them.
"""

from __future__ import annotations

import re
from typing import cast


class _Lazy:
    """Stands for a pattern; turns into it at the first look at one of its attributes."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._source = (pattern, flags)

    def __getattr__(self, name: str) -> object:
        compiled = re.compile(*self._source)
        for method in ("search", "match", "fullmatch", "sub", "finditer", "findall", "split"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Like ``re.compile``, later. A wrong pattern shows at its first use, so each has a test."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))
