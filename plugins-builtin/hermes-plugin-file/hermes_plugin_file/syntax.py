"""Does a file of a known format still parse after it was written? A warning, never a refusal."""

from __future__ import annotations

import warnings
from typing import Final

MAX_CHARS: Final = 200_000
"""Larger texts are not checked."""


def warning(path: str, body: str, before: str | None) -> str:
    """One line when ``body`` does not parse although ``before`` did (or there was none), else ""."""
    problem = _problem(path, body)
    if not problem or (before is not None and _problem(path, before)):
        return ""
    return f"Warning: {problem}"


def _problem(path: str, body: str) -> str:
    suffix = path.rpartition(".")[2].lower()
    if len(body) > MAX_CHARS or suffix not in ("py", "pyi", "json", "toml", "yaml", "yml"):
        return ""
    try:
        if suffix in ("py", "pyi"):
            return _python(path, body)
        if suffix == "json":
            return _json(body)
        return _toml(body) if suffix == "toml" else _yaml(body)
    except RecursionError:
        return ""


def _python(path: str, body: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(body, path, "exec", dont_inherit=True)
        except SyntaxError as error:
            return f"Python syntax error in line {error.lineno}: {error.msg}."
        except ValueError as error:
            return f"not Python: {error}."
    return ""


def _json(body: str) -> str:
    import json

    try:
        json.loads(body)
    except json.JSONDecodeError as error:
        return f"not valid JSON, line {error.lineno}, column {error.colno}: {error.msg}."
    return ""


def _toml(body: str) -> str:
    import tomllib

    try:
        tomllib.loads(body)
    except tomllib.TOMLDecodeError as error:
        return f"not valid TOML: {error}."
    return ""


def _yaml(body: str) -> str:
    try:
        import yaml
    except ImportError:
        return ""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # Events only: a tag that only its own program knows is no mistake.
        for _ in yaml.parse(body, Loader=loader):
            pass
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark is not None else ""
        return f"not valid YAML{where}: {getattr(error, 'problem', None) or 'cannot be read'}."
    return ""
