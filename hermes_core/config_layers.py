"""The layers of the settings, each as a tree: the user's file, a project's file, the environment.

A project's file belongs to whoever wrote the project. `tighten` takes from it what its fields allow,
and reports the rest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import msgspec

from hermes_core import config_tree as trees
from hermes_core.config_schema import ALIASES, Settings
from hermes_core.config_tree import Field, Found, Node, Origin, Problem
from hermes_core.paths import SETTINGS_FILE
from hermes_core.patterns import lazy
from hermes_plugins import Section, UsageError

_PREFIX = "HERMES_"
_MAX_BYTES = 1 << 20
# Older names of single settings.
_VARIABLES = {"HERMES_WRITE_SAFE_ROOT": "gate.write_root"}
_REFERENCE = lazy(r"\$(\$)?\{([A-Za-z_][A-Za-z0-9_]*)\}")


def file_layer(path: Path, layer: str, found: Found) -> Node | None:
    """The tree of a file with canonical keys; None when there is no file, or it cannot be read."""
    text = read_text(path, layer, found)
    if text is None:
        return None
    # PyYAML costs more than the rest of start-up; without a file it is not imported.
    from hermes_core.config_yaml import read_yaml

    tree = read_yaml(text, layer=layer, file=str(path), found=found)
    return canonical(tree, found) if tree is not None else None


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
        if os.path.isfile(file) and not _is_same(file, user_file):
            return file
    return None


def environment_layer(environ: Mapping[str, str], found: Found) -> Node:
    """``HERMES_SECTION__KEY`` as ``section.key``; values are scalars, or lists and mappings as JSON."""
    tree = Node({})
    for name in sorted(environ):
        key = _VARIABLES.get(name, "")
        if name.startswith(_PREFIX) and "__" in name:
            key = name.removeprefix(_PREFIX).lower().replace("__", ".")
        if key and all(key.split(".")):
            origin = Origin("environment", name)
            text = environ[name]
            value = trees.parse_inline(text, origin) or trees.scalar(text, origin)
            tree = trees.put(tree, key, value)
    return canonical(tree, found)


def override_layer(overrides: Mapping[str, object], found: Found) -> Node:
    """Dotted keys from the command line."""
    tree = Node({})
    for key, value in overrides.items():
        tree = trees.put(tree, key, trees.node(value, Origin("command line")))
    return canonical(tree, found)


def canonical(tree: Node, found: Found) -> Node:
    """``tree`` with other spellings of a key moved to the key itself."""
    model = trees.at(tree, "model")
    if model is not None and isinstance(model.value, str):
        tree = trees.put(tree, "model", Node({"name": model}, origin=model.origin))
    for old, new in ALIASES:
        for name in _names(tree, old):
            tree = _move(tree, old.replace("NAME", name), new.replace("NAME", name), found)
    return tree


def canonical_key(key: str) -> str:
    """A dotted key in its own spelling."""
    if key == "model":
        return "model.name"
    for old, new in ALIASES:
        pattern = re.escape(old).replace("NAME", r"([^.]+)")
        match = re.fullmatch(pattern, key)
        if match is not None:
            return new.replace("NAME", match[1]) if match.groups() else new
    return key


def find_field(key: str, schemas: Mapping[str, type[Section]]) -> Field:
    """The setting, or the section, that a dotted key names; ``schemas`` are the plugins' by name.

    What a plugin without a schema has in its section may be anything.

    Raises:
        UsageError: there is none; names the one that it looks like.
    """
    field = _field_at(key, schemas)
    if field is None:
        raise UsageError(f"There is no setting {key}. {_meant(key, schemas)}")
    return field


def _field_at(key: str, schemas: Mapping[str, type[Section]]) -> Field | None:
    head, _, rest = key.partition(".")
    name, _, inner = rest.partition(".")
    if head == "plugins" and inner and name in schemas and inner != "overrides":
        return trees.field_at(schemas[name], inner)
    return trees.field_at(Settings, key)


def _meant(key: str, schemas: Mapping[str, type[Section]]) -> str:
    """What to write instead of a key that there is not: its first wrong name set right."""
    from difflib import get_close_matches

    names = key.split(".")
    for depth, name in enumerate(names):
        known = _names_in(names[:depth], schemas)
        if not known or name in known:
            continue
        near = get_close_matches(name, known, n=1, cutoff=0.6)
        if near:
            whole = ".".join([*names[:depth], near[0], *names[depth + 1 :]])
            whole = whole if _field_at(whole, schemas) else ".".join([*names[:depth], near[0]])
            return f"Did you mean {whole}?"
        break
    return "See `hermes config schema`."


def _names_in(names: Sequence[str], schemas: Mapping[str, type[Section]]) -> Collection[str]:
    """The names that may stand in a section; none where any may."""
    if len(names) == 2 and names[0] == "plugins":
        schema = schemas.get(names[1])
        return trees.fields_of(schema) if schema is not None else ()
    field = _field_at(".".join(names), schemas) if names else None
    kind = Settings if not names else trees.kind_of(field.hint) if field is not None else None
    if not trees.is_struct(kind):
        return ()
    own = [one.name for one in trees.fields_of(kind).values() if not one.rest]
    return [*own, *schemas] if list(names) == ["plugins"] else own


def interpolate(tree: Node, environ: Mapping[str, str], key: str, found: Found) -> Node:
    """``tree`` with every ``${NAME}`` filled in; ``$${NAME}`` stands for the text itself."""
    if isinstance(tree.value, dict):
        inside = {
            name: interpolate(item, environ, f"{key}.{name}" if key else name, found)
            for name, item in tree.value.items()
        }
        return msgspec.structs.replace(tree, value=inside)
    if isinstance(tree.value, list):
        items = [interpolate(item, environ, key, found) for item in tree.value]
        return msgspec.structs.replace(tree, value=items)
    if not isinstance(tree.value, str) or "${" not in tree.value:
        return tree

    def fill(match: re.Match[str]) -> str:
        if match[1]:
            return match[0][1:]
        if match[2] not in environ:
            message = f"{key} needs {match[2]}, which is not set."
            hint = f"Set it: hermes config set {match[2]} (or write $${{{match[2]}}} for the text)."
            found.append(Problem("error", message, key, tree.origin, hint))
        return environ.get(match[2], "")

    text = _REFERENCE.sub(fill, tree.value)
    return Node(text, text=text, source=tree.value, origin=tree.origin)


def tighten(
    schema: type[msgspec.Struct],
    project: Node,
    lower: Node,
    *,
    key: str,
    found: Found,
    flagged: bool = False,
) -> Node:
    """What a project's tree may add to ``lower``; the rest is reported as ignored.

    Only fields marked ``project`` are taken. Lists are added to, numbers only go down, ``${NAME}`` is
    not filled in. The rest field of a section is passed over: its owner asks for it later.
    """
    fields = trees.fields_of(schema)
    open_ended = any(field.rest for field in fields.values())
    taken: dict[str, Node] = {}
    for name, item in _items(project):
        full = f"{key}.{name}" if key else name
        field = fields.get(name)
        if field is None or field.rest:
            if not open_ended:
                _ignore(full, item, "is not taken from a project's file", found)
            continue
        kind = trees.kind_of(field.hint)
        marked = flagged or field.project
        below = trees.at(lower, name)
        if trees.is_struct(kind) and isinstance(item.value, dict):
            inside = tighten(kind, item, below or Node({}), key=full, found=found, flagged=marked)
            taken[name] = inside
        elif marked:
            value = _tighter(field, item, below, full, found)
            taken |= {name: value} if value is not None else {}
        elif item.value is not None:
            _ignore(full, item, "is not taken from a project's file", found)
    return Node(taken, origin=project.origin)


def _is_same(file: Path, other: Path) -> bool:
    return os.path.exists(other) and os.path.samefile(file, other)


def _tighter(field: Field, item: Node, below: Node | None, key: str, found: Found) -> Node | None:
    if "${" in str(trees.plain(item)):
        _ignore(key, item, "holds ${…}, which a project's file may not", found)
        return None
    value = trees.fit(field.hint, item, key, found)
    lower = trees.fit(field.hint, below, key, []) if below is not None else field.default
    if value is msgspec.UNSET:
        return None
    if isinstance(value, (tuple, list)):
        old = trees.node(lower, below.origin if below else Origin()).value
        new = trees.node(value, item.origin).value
        both = (old if isinstance(old, list) else []) + (new if isinstance(new, list) else [])
        return Node(both, origin=item.origin)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and isinstance(lower, (int, float)) and value > lower:  # type: ignore[operator]
        _ignore(key, item, f"may only be lowered by a project's file, and is {lower}", found)
        return None
    return item


def _ignore(key: str, item: Node, why: str, found: Found) -> None:
    hint = "Put it into your own hermes.yaml if you want it." if "taken" in why else ""
    found.append(Problem("note", f"{key} {why}; ignored.", key, item.origin, hint))


def _move(tree: Node, old: str, new: str, found: Found) -> Node:
    item = trees.at(tree, old)
    if item is None:
        return tree
    other = trees.at(tree, new)
    if other is not None:
        place = f" (line {other.origin.line})" if other.origin.line else ""
        message = f"{old} is another name of {new}{place}; keep one."
        found.append(Problem("error", message, new, item.origin))
        return tree
    found.append(
        Problem("note", f"{old} is read as {new}.", new, item.origin, f"Write {new} instead.")
    )
    return trees.put(trees.drop(tree, old), new, item)


def _names(tree: Node, key: str) -> list[str]:
    """What NAME in an alias stands for in this tree; one empty name when there is no NAME."""
    before, found, _ = key.partition(".NAME")
    if not found:
        return [""]
    section = trees.at(tree, before)
    return [name for name, _ in _items(section)] if section is not None else []


def _items(tree: Node) -> list[tuple[str, Node]]:
    return list(tree.value.items()) if isinstance(tree.value, dict) else []
