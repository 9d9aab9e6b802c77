"""Writes hermes.yaml.example and docs/reference/config.md from the schema.

``python scripts/generate_config_docs.py`` writes them; with ``--check`` it only says whether they are
current, with exit status 1 when they are not.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, get_args, get_origin

import msgspec

from hermes_core.config_schema import ALIASES, Settings
from hermes_core.config_text import inline
from hermes_core.config_tree import Field, describe, fields_of, is_struct, kind_of, summary

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "hermes.yaml.example"
REFERENCE = ROOT / "docs" / "reference" / "config.md"

_EXAMPLE_HEAD = """\
# Settings of Hermes, every one with its default. `hermes config path` says where the file goes.
#
# To change one, take the # off its line and off the line of its section, or run
# `hermes config set SECTION.KEY VALUE`. Keys and tokens belong into .env: `hermes config set
# OPENAI_API_KEY`. ${NAME} is filled in from .env or the environment. `hermes config check` finds
# mistakes.
"""

_REFERENCE_HEAD = """\
# Settings

Made from `hermes_core/config_schema.py` by `scripts/generate_config_docs.py`; do not edit.

Settings come in layers; a later one wins:

1. the defaults below,
2. your file, `hermes.yaml` in the home (`hermes config path` says where),
3. a project's file: the nearest `hermes.yaml` from the working directory up to the git root,
4. the environment: `HERMES_SECTION__KEY`, as in `HERMES_AGENT__MAX_TURNS=40`,
5. the command line.

A project's file belongs to whoever wrote the project. It may only tighten: of the keys marked
**project** below, lists are added to, numbers only go down, and texts and switches are taken as they
are. `${NAME}` is not filled in there. Everything else in it is ignored, and `hermes config check`
says so with its line.

`${NAME}` in your own file is taken from the environment or from `.env` in the home; one that is not
set is an error. `$${NAME}` stands for the text itself. `hermes config set OPENAI_API_KEY` writes a
variable that an installed plugin declares to `.env`; what the environment already holds wins over
`.env`.

`on`, `off`, `yes` and `no` are texts; switches are `true` and `false`. A key with nothing behind it
sets nothing. A key that stands twice, a value of the wrong type or a broken file keeps Hermes from
starting and is told with its line; an unknown key is told and has no effect.

The home is `HERMES_HOME`, else the place that the system has for a program's data. A profile
(`--profile NAME`, `HERMES_PROFILE`) is a home of its own in `profiles/NAME`.
"""


def example() -> str:
    """The text of hermes.yaml.example."""
    parts = [_EXAMPLE_HEAD]
    for field in fields_of(Settings).values():
        lines = [
            *(f"# {line}" for line in textwrap.wrap(_summary(field), 96)),
            f"#{field.name}:{_inline_default(field)}",
        ]
        kind = kind_of(field.hint)
        if is_struct(kind):
            lines += [f"#{line}" for line in _example_fields(kind, 1)]
        else:
            lines += [f"#{line}" for line in _example_named(field, 1)]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def reference() -> str:
    """The text of docs/reference/config.md."""
    parts = [_REFERENCE_HEAD]
    for field in fields_of(Settings).values():
        rows = list(_reference_rows(field, field.name, project=field.project))
        if rows:
            head = f"## {field.name}\n\n{_summary(field)}\n\n"
            table = ["| key | takes | default | meaning |", "|---|---|---|---|", *rows]
            parts.append(head + "\n".join(table) + "\n")
    aliases = [f"| `{old}` | `{new}` |" for old, new in ALIASES]
    head = (
        "## Other spellings\n\nRead as the key on the right, with a note; `model: NAME` is read as"
    )
    parts.append(
        "\n".join([f"{head} `model.name`.\n", "| written | read as |", "|---|---|", *aliases])
        + "\n"
    )
    return "\n".join(parts)


def _example_fields(schema: type[msgspec.Struct], depth: int) -> Iterator[str]:
    indent = "  " * depth
    for field in fields_of(schema).values():
        if field.rest:
            yield from _example_named(field, depth)
            continue
        note = f"{field.description} ({_takes(field.hint)})"
        for line in textwrap.wrap(note, 96 - len(indent)):
            yield f"{indent}# {line}"
        yield f"{indent}{field.name}:{_inline_default(field)}"
        if isinstance(field.default, dict):
            for name, value in field.default.items():
                yield f"{indent}  {name}: {inline(value)}"
        yield from _example_named(field, depth + 1)


def _example_named(field: Field, depth: int) -> Iterator[str]:
    """Under a mapping: what an entry looks like, as a comment that stays one."""
    kind = kind_of(field.hint)
    inner = kind_of(get_args(kind)[1]) if get_origin(kind) is dict else None
    indent = "  " * depth
    if is_struct(inner):
        yield f"{indent}# NAME:"
        for item in fields_of(inner).values():
            yield f"{indent}#   {item.name}:{_inline_default(item)}   # {item.description}"
    elif inner is not None and not field.default:
        yield f"{indent}# NAME: {'…' if inner is str or inner is object else '{…}'}"


def _inline_default(field: Field) -> str:
    if is_struct(kind_of(field.hint)) or isinstance(field.default, dict):
        return ""
    return f" {inline(field.default)}"


def _reference_rows(field: Field, key: str, *, project: bool) -> Iterator[str]:
    kind = kind_of(field.hint)
    if is_struct(kind):
        for item in fields_of(kind).values():
            inside = key if item.rest else f"{key}.{item.name}"
            yield from _reference_rows(item, inside, project=project or item.project)
        return
    inner = kind_of(get_args(kind)[1]) if get_origin(kind) is dict else None
    if is_struct(inner):
        for item in fields_of(inner).values():
            yield from _reference_rows(item, f"{key}.NAME.{item.name}", project=project)
        return
    key = f"{key}.NAME" if inner is not None else key
    marks = "".join(
        f" **{name}**" for name, on in (("project", project), ("secret", field.secret)) if on
    )
    default = "" if inner is not None else f"`{inline(field.default)}`"
    if field.default and inner is not None:
        default = "<br>".join(f"{name}: `{inline(value)}`" for name, value in field.default.items())  # type: ignore[attr-defined]
    takes = _takes(get_args(kind)[1] if inner is not None else field.hint).replace("|", "\\|")
    yield f"| `{key}` | {takes} | {default} | {field.description}{marks} |"


def _takes(hint: object) -> str:
    words = describe(hint)
    inner = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    optional = type(None) in get_args(inner)
    return f"{words}, or null" if optional else words


def _summary(field: Field) -> str:
    text = field.description or summary(field.kind)
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "…")) else ".")


def main() -> int:
    """Write both files, or with ``--check`` compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="only compare")
    arguments = parser.parse_args()
    stale = []
    for path, text in ((EXAMPLE, example()), (REFERENCE, reference())):
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(path.relative_to(ROOT))
            if not arguments.check:
                path.write_text(text, encoding="utf-8", newline="\n")
    for path in stale:
        print(f"{path} {'is not current' if arguments.check else 'written'}", file=sys.stderr)
    return 1 if stale and arguments.check else 0


if __name__ == "__main__":
    raise SystemExit(main())
