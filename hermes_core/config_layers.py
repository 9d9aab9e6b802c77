"""The layers of the settings, each as a tree: the user's file, a project's file, the environment.

A project's file belongs to whoever wrote the project. `tighten` takes from it what its fields allow,
and reports the rest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec

from hermes_core import config_tree as trees
from hermes_core.config_schema import ALIASES, Settings
from hermes_core.config_tree import Field, Found, Key, Node, Origin, Problem, Tree, dotted
from hermes_core.paths import SETTINGS_FILE
from hermes_core.patterns import lazy
from hermes_plugins import Section, UsageError

_PREFIX = "HERMES_"
_MAX_BYTES = 1 << 20
# Older names of single settings.
_VARIABLES = {"HERMES_WRITE_SAFE_ROOT": "gate.write_root"}
_VARIABLE = lazy(r"[A-Z][A-Z0-9_]*")
_REFERENCE = lazy(r"\$(\$)?\{([A-Za-z_][A-Za-z0-9_]*)\}")
_NOT_TAKEN = "is not taken from a project's file"
# `model: NAME` is its name.
_EXACT = {"model": "model.name"} | {old: new for old, new in ALIASES if "NAME" not in old}
_RENAMED = {tuple(old.split(".")): tuple(new.split(".")) for old, new in _EXACT.items()}
_NAMED = [(old.split("."), new.split(".")) for old, new in ALIASES if "NAME" in old]


def file_layer(path: Path, layer: str, found: Found) -> Tree | None:
    """The tree of a file with canonical keys; None when there is no file, or it cannot be read."""
    text = read_text(path, layer, found)
    return text_layer(text, path, layer, found) if text is not None else None


def text_layer(text: str, path: Path, layer: str, found: Found) -> Tree | None:
    """As `file_layer`, of a text that stands in a file, or shall."""
    # PyYAML costs more than the rest of start-up; without a file it is not imported.
    from hermes_core.config_yaml import read_yaml

    read = read_yaml(text, layer=layer, file=str(path), found=found)
    return canonical(trees.flat(read), found) if read is not None else None


def read_text(path: Path, layer: str, found: Found) -> str | None:
    """The text of a settings file without its byte order mark; None when there is no file, or it
    cannot be read, is no text, or is larger than 1 MiB, which is an error in ``found``."""
    message, hint, line = "cannot be read.", "Check who owns it and its mode.", 0
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
        if len(data) <= _MAX_BYTES:
            # Editors, and PowerShell's `>`, write UTF-16 with a mark.
            is_utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
            return data.decode("utf-16" if is_utf16 else "utf-8-sig")
        message, hint = "is larger than 1 MiB.", "Is it the right file?"
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"cannot be read: {error.strerror or type(error).__name__}."
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        message, hint = "is not UTF-8 text.", "Save it as UTF-8."
    found.append(Problem("error", message, "", Origin(layer, str(path), line), hint))
    return None


def find_project_file(cwd: Path, user_file: Path) -> Path | None:
    """The nearest hermes.yaml from ``cwd`` up to the git root; without one, only in ``cwd`` itself.

    The user's own file is never a project's.
    """
    folders = [cwd, *cwd.parents]
    # os.path, because Path.exists raises in a folder that may not be searched.
    root = next((i for i, folder in enumerate(folders) if os.path.exists(folder / ".git")), 0)
    for folder in folders[: root + 1]:
        file = folder / SETTINGS_FILE
        # isfile: a pipe or a device in a stranger's folder would be read for ever.
        if os.path.isfile(file):
            is_users = os.path.exists(user_file) and os.path.samefile(file, user_file)
            if not is_users:
                return file
    return None


def environment_layer(environ: Mapping[str, str], found: Found) -> Tree:
    """``HERMES_SECTION__KEY`` as ``section.key``; values are scalars, or lists and mappings as JSON."""
    tree: Tree = {}
    for name in sorted(environ):
        key = _VARIABLES.get(name, "")
        if name.startswith(_PREFIX) and "__" in name:
            key = name.removeprefix(_PREFIX).lower().replace("__", ".")
        if key and all(key.split(".")):
            value = trees.written(environ[name], Origin("environment", name))
            trees.put(tree, tuple(key.split(".")), value)
    return canonical(tree, found)


def override_layer(overrides: Mapping[str, object], found: Found) -> Tree:
    """Dotted keys from the command line."""
    tree: Tree = {}
    for key, value in overrides.items():
        trees.put(tree, tuple(key.split(".")), trees.node(value, Origin("command line")))
    return canonical(tree, found)


def canonical(tree: Tree, found: Found) -> Tree:
    """``tree`` with other spellings of a key moved to the key itself."""
    for old, item in tuple(tree.items()):
        new = _canonical(old) if isinstance(item.value, str) or old != ("model",) else old
        if new == old or item.value is None or trees.is_section(item):
            continue
        if new in tree:
            place = tree[new].origin.line
            line = f" (line {place})" if place else ""
            message = f"{dotted(old)} is another name of {dotted(new)}{line}; keep one."
            found.append(Problem("error", message, dotted(new), item.origin))
            continue
        if old != ("model",):
            message = f"{dotted(old)} is read as {dotted(new)}."
            hint = f"Write {dotted(new)} instead."
            found.append(Problem("note", message, dotted(new), item.origin, hint))
        tree = without(tree, old)
        trees.put(tree, new, item)
    return tree


def canonical_key(key: str) -> str:
    """A dotted key in its own spelling."""
    return dotted(_canonical(tuple(key.split("."))))


def without(tree: Tree, key: Key) -> Tree:
    """``tree`` without a key, what is in it, and the sections that are empty then."""
    tree = {other: item for other, item in tree.items() if other[: len(key)] != key}
    above = key[:-1]
    if above and not any(other[: len(above)] == above and other != above for other in tree):
        return without(tree, above)
    return tree


def find_field(key: str, schemas: Mapping[str, type[Section]]) -> Field:
    """The setting, or the section, that a dotted key names; ``schemas`` are the plugins' by name.

    What a plugin without a schema has in its section may be anything.

    Raises:
        UsageError: there is none; names the one that it looks like.
    """
    names = tuple(key.split("."))
    field = _field_at(names, schemas)
    if field is None:
        raise UsageError(f"There is no setting {key}. {_meant(names, schemas)}")
    return field


def is_variable(key: str, declared_env: Collection[str]) -> bool:
    """Whether a key is a variable of .env.

    Raises:
        UsageError: it looks like one, but nothing installed declares it.
    """
    if not _VARIABLE.fullmatch(key) or key in declared_env:
        return bool(_VARIABLE.fullmatch(key))
    meant = trees.near(key, declared_env)
    hint = "`hermes config schema` lists the settings; `hermes plugins list` what is installed."
    raise UsageError(
        f"No installed provider, platform or tool knows the variable {key}.",
        hint=f"Did you mean {meant}?" if meant else hint,
    )


def interpolate(tree: Tree, environ: Mapping[str, str], found: Found) -> Tree:
    """``tree`` with every ``${NAME}`` filled in; ``$${NAME}`` stands for the text itself."""
    return {key: _filled(item, environ, dotted(key), found) for key, item in tree.items()}


def tighten(
    schema: type[msgspec.Struct], project: Tree, lower: Tree, *, key: str, found: Found
) -> Tree:
    """What a project's tree may add to ``lower``; the rest is reported as ignored.

    Only fields marked ``project`` are taken. Lists are added to, numbers only go down, ``${NAME}`` is
    not filled in. The rest field of a section is passed over: its owner asks for it later.
    """
    taken: Tree = {}
    sections: dict[Key, Field] = {(): trees.root_of(schema)}
    for inner, item in project.items():
        above = sections.get(inner[:-1])
        if above is None:
            continue
        field = trees.inside(above, inner[-1])
        full = f"{key}.{dotted(inner)}" if key else dotted(inner)
        if field is None:
            _ignore(full, item, _NOT_TAKEN, found)
        elif field.rest or item.value is None:
            continue
        elif trees.is_section(item) and trees.is_struct(field.kind):
            sections[inner] = field
            taken[inner] = item
        elif not field.project:
            _ignore(full, item, _NOT_TAKEN, found)
        elif (value := _tighter(field, item, lower.get(inner), full, found)) is not None:
            taken[inner] = value
    return taken


def _canonical(key: Key) -> Key:
    for old, new in _NAMED:
        if len(key) == len(old) and all(a in ("NAME", b) for a, b in zip(old, key, strict=True)):
            name = key[old.index("NAME")]
            return tuple(name if one == "NAME" else one for one in new)
    return _RENAMED.get(key, key)


def _field_at(key: Key, schemas: Mapping[str, type[Section]]) -> Field | None:
    if key[0] == "plugins" and len(key) > 2 and key[1] in schemas and key[2] != "overrides":
        return trees.field_at(schemas[key[1]], key[2:])
    return trees.field_at(Settings, key)


def _meant(key: Key, schemas: Mapping[str, type[Section]]) -> str:
    """What to write instead of a key that there is not: its first wrong name set right."""
    for depth, name in enumerate(key):
        known = trees.names_in(Settings, key[:depth])
        if key[0] == "plugins" and depth:
            schema = schemas.get(key[1])
            own = trees.names_in(schema, key[2:depth]) if schema is not None and depth > 1 else []
            known = [*known, *schemas] if depth == 1 else own
        meant = trees.near(name, known) if name not in known else ""
        if meant:
            whole = (*key[:depth], meant, *key[depth + 1 :])
            return f"Did you mean {dotted(whole if _field_at(whole, schemas) else whole[: depth + 1])}?"
    return "See `hermes config schema`."


def _filled(item: Node, environ: Mapping[str, str], key: str, found: Found) -> Node:
    if isinstance(item.value, dict) and item.value:
        inside = {name: _filled(one, environ, key, found) for name, one in item.value.items()}
        return msgspec.structs.replace(item, value=inside)
    if isinstance(item.value, list):
        items = [_filled(one, environ, key, found) for one in item.value]
        return msgspec.structs.replace(item, value=items)
    if not isinstance(item.value, str) or "${" not in item.value:
        return item

    def fill(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        if match[2] not in environ:
            message = f"{key} needs {match[2]}, which is not set."
            hint = f"Set it: hermes config set {match[2]} (or write $${{{match[2]}}} for the text)."
            found.append(Problem("error", message, key, item.origin, hint))
        return environ.get(match[2], "")

    text = _REFERENCE.sub(fill, item.value)
    return Node(text, text=text, source=item.value, origin=item.origin)


def _tighter(field: Field, item: Node, below: Node | None, key: str, found: Found) -> Node | None:
    if "${" in str(trees.plain(item)):
        _ignore(key, item, "holds ${…}, which a project's file may not", found)
        return None
    value: Any = trees.fit_value(field.hint, item, key, found)
    lower: Any = trees.fit_value(field.hint, below, key, []) if below is not None else field.default
    if value is msgspec.UNSET:
        return None
    if isinstance(value, (tuple, list)):
        return trees.node([*(lower or ()), *value], item.origin)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and isinstance(lower, (int, float)) and value > lower:
        _ignore(key, item, f"may only be lowered by a project's file, and is {lower}", found)
        return None
    return item


def _ignore(key: str, item: Node, why: str, found: Found) -> None:
    hint = "Put it into your own hermes.yaml if you want it." if why == _NOT_TAKEN else ""
    found.append(Problem("note", f"{key} {why}; ignored.", key, item.origin, hint))
