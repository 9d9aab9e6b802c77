"""Changing one setting in hermes.yaml or .env, and nothing else in the file.

Processes take turns, and a reader sees the old file or the new one. A broken file is refused, and
what cannot be edited: then the file stays as it was.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hermes_core import config_layers as layers
from hermes_core import config_tree as trees
from hermes_core import dotenv
from hermes_core.config_schema import ALIASES
from hermes_core.config_text import inline, read_tree, set_text, unset_text
from hermes_core.config_tree import Found, Key, Node, Origin
from hermes_core.filelock import lock
from hermes_core.paths import SECRETS_FILE, SETTINGS_FILE, write_whole
from hermes_plugins import Paths, Section, UsageError

_NO_SCHEMAS: Mapping[str, type[Section]] = {}


def set_value(
    paths: Paths,
    key: str,
    text: str,
    *,
    declared_env: Collection[str] = (),
    schemas: Mapping[str, type[Section]] = _NO_SCHEMAS,
) -> Path:
    """Write one setting and return the file that holds it.

    A name in capitals that is in ``declared_env`` goes to .env. ``schemas`` are the sections of
    plugins by name; a plugin without one takes any value.

    Raises:
        UsageError: the key is unknown, the value does not fit, or the file is broken, not writable,
            or written in a way that cannot be edited here. Nothing was changed.
    """
    if layers.is_variable(key, declared_env):
        if not text or "\0" in text:
            raise _no_value(key)
        file = paths.home / SECRETS_FILE
        _rewrite(file, lambda before: dotenv.set_variable(before, key, text), mode=0o600)
        return file
    value = _checked(layers.canonical_key(key), text, schemas)
    file = paths.home / SETTINGS_FILE

    def changed(before: str) -> str:
        place = _written_as(file, before, key)
        return set_text(_opened(before, place), place, value)

    _rewrite(file, changed)
    return file


def check_value(
    key: str,
    text: str,
    *,
    declared_env: Collection[str] = (),
    schemas: Mapping[str, type[Section]] = _NO_SCHEMAS,
) -> None:
    """Refuse what `set_value` would refuse, as far as that does not hang on what the file says.

    Raises:
        UsageError: the key is unknown, or the value does not fit.
    """
    if not layers.is_variable(key, declared_env):
        _checked(layers.canonical_key(key), text, schemas)
    elif not text or "\0" in text:
        raise _no_value(key)


def append_value(paths: Paths, key: str, item: str) -> bool:
    """Add a text to a list; False when it is there already.

    Raises:
        UsageError: as `set_value`.
    """
    file = paths.home / SETTINGS_FILE

    def append(before: str) -> str | None:
        names = _written_as(file, before, key)
        old = read_tree(before).get(names, Node(None))
        found: Found = []
        listed = trees.fit_value(tuple[str, ...], old, key, found) if old.value is not None else ()
        if found:
            raise UsageError(f"{file}: {found[0].message}", hint="Nothing was changed.")
        texts = listed if isinstance(listed, tuple) else ()
        return set_text(before, names, inline([*texts, item])) if item not in texts else None

    return _rewrite(file, append)


def unset_value(paths: Paths, key: str, *, declared_env: Collection[str] = ()) -> bool:
    """Remove one setting; False when it was not set.

    Raises:
        UsageError: as `set_value`.
    """
    if layers.is_variable(key, declared_env):
        file = paths.home / SECRETS_FILE
        return _rewrite(file, lambda before: dotenv.unset_variable(before, key), mode=0o600)
    file = paths.home / SETTINGS_FILE
    return _rewrite(file, lambda before: unset_text(before, _written_as(file, before, key)))


def replace_text(paths: Paths, before: str, after: str) -> bool:
    """Put a text in place of the whole hermes.yaml; False when that no longer says ``before``.

    Raises:
        UsageError: the file is not writable.
    """
    file = paths.home / SETTINGS_FILE
    return _rewrite(file, lambda text: after if text == before else None)


def _rewrite(file: Path, change: Callable[[str], str | None], *, mode: int | None = None) -> bool:
    """Change a file's text, which is "" when there is none; False when that leaves it as it is."""
    with _alone(file.parent):
        found: Found = []
        text = layers.read_text(file, "user", found)
        if found:
            raise found[0].error()
        first = file.read_bytes()[:3] if text else b""
        if first[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise UsageError(f"{file} is written in UTF-16.", hint="Save it as UTF-8.")
        after = change(text or "")
        if after is None or after == text:
            return False
        mark = "\ufeff" if first == b"\xef\xbb\xbf" else ""
        write_whole(file, (mark + after).encode(), mode=mode)
        return True


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """No other process writes the files of a home meanwhile, where its file system has locks."""
    handle = -1
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        place, flags = home, os.O_RDONLY
        if sys.platform == "win32":  # which does not open folders
            place, flags = home / "hermes.yaml.lock", os.O_RDWR | os.O_CREAT
        handle = os.open(place, flags, 0o600)
        lock(handle, wait=True)
    except OSError:
        pass  # what keeps the file from being written is said when it is
    try:
        yield
    finally:
        if handle >= 0:
            os.close(handle)


def _no_value(name: str) -> UsageError:
    return UsageError(f"No value for {name}.", hint=f"To remove it: hermes config unset {name}")


def _checked(key: str, text: str, schemas: Mapping[str, type[Section]]) -> str:
    """A value as YAML in one line, after its type was checked."""
    field = layers.find_field(key, schemas)
    if trees.is_struct(field.kind):
        raise UsageError(f"{key} is a section.", hint=f"Set a key inside it: {key}.…")
    origin = Origin("command line")
    item = trees.written(text, origin)
    if field.kind is str:
        item = Node(text, text=text, origin=origin)
    if "${" in text:
        return inline(trees.plain(item) if isinstance(item.value, (list, dict)) else text)
    found: Found = []
    value = trees.fit_value(field.hint, item, key, found)
    if found:
        is_list = "list" in trees.describe(field.hint)
        hint = 'Write a list as \'["a", "b"]\'.' if is_list else found[0].hint
        raise UsageError(found[0].message, hint=hint)
    return inline(trees.plain(item) if isinstance(item.value, (list, dict)) else value)


def _opened(text: str, key: Key) -> str:
    """``model: NAME`` written as a section, where another key of it is about to be set."""
    short = read_tree(text).get(("model",)) if key[0] == "model" and len(key) > 1 else None
    if short is None or not isinstance(short.value, str):
        return text
    return set_text(text, ("model",), inline({"name": short.value}))


def _written_as(file: Path, text: str, key: str) -> Key:
    """A key as this file spells it.

    Raises:
        ConfigError: the file is broken.
    """
    tree = read_tree(text, str(file))
    key = layers.canonical_key(key)
    if key == "model.name" and isinstance(tree.get(("model",), Node(None)).value, str):
        return ("model",)
    for old, new in ALIASES:
        if new == key and tuple(old.split(".")) in tree:
            return tuple(old.split("."))
    return tuple(key.split("."))
