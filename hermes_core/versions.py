"""Whether this host's version is in the range that a plugin asks for (PEP 440, final releases)."""

from __future__ import annotations

from hermes_core import __version__


def outside(requirement: str, *, version: str = __version__) -> str:
    """ "" when ``version`` is in the range, such as ``>=0.1,<2``, else one line that says so."""
    have = _numbers(version)
    for part in filter(None, (piece.strip() for piece in requirement.split(","))):
        operator = part[: len(part) - len(part.lstrip("<>=!~"))]
        wanted = _numbers(part[len(operator) :])
        if not _fits(have, operator, wanted, is_prefix=part.endswith("*")):
            return f"needs hermes-host {requirement}, this is {version}."
    return ""


def _fits(
    have: tuple[int, ...], operator: str, wanted: tuple[int, ...], *, is_prefix: bool
) -> bool:
    width = len(wanted)
    size = max(len(have), width)
    mine, theirs = _padded(have, size), _padded(wanted, size)
    same = mine[:width] == wanted if is_prefix else mine == theirs
    return {
        ">=": mine >= theirs,
        ">": mine > theirs,
        "<": mine < theirs,
        "<=": mine <= theirs,
        "==": same,
        "===": same,
        "!=": not same,
        "~=": mine >= theirs and mine[: width - 1] == wanted[:-1],
    }.get(operator, True)


def _padded(numbers: tuple[int, ...], size: int) -> tuple[int, ...]:
    """1.2 and 1.2.0 are the same version."""
    return numbers + (0,) * (size - len(numbers))


def _numbers(version: str) -> tuple[int, ...]:
    """The release: ``1.2.3`` of ``1.2.3rc1``, ``1.2.3.dev4`` or ``1.2.3+local``."""
    numbers = []
    for piece in version.strip().lstrip("vV").partition("+")[0].split("."):
        digits = piece[: len(piece) - len(piece.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != piece:
            break
    return tuple(numbers) or (0,)
