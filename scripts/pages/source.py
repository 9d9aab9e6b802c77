"""What the pages read from modules: docstrings, signatures, fields and their defaults."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from types import ModuleType

import msgspec

WIDTH = 88
"""Longest signature that stays on one line."""


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """A field of a value, or an attribute of a contract."""

    name: str
    hint: str
    default: str = ""
    doc: str = ""


def paragraph(thing: object) -> str:
    """The first paragraph of a docstring, on one line, in Markdown."""
    return markdown(inspect.cleandoc(thing.__doc__ or "").split("\n\n")[0])


def prose(thing: object) -> str:
    """The whole docstring without its Raises, in Markdown; only the first paragraph where lines are
    set out by hand."""
    text = inspect.cleandoc(thing.__doc__ or "").partition("\nRaises:\n")[0].strip()
    if "::\n" in text:
        text = text.split("\n\n")[0]
    return "\n\n".join(markdown(part) for part in text.split("\n\n"))


def raises(thing: object) -> list[str]:
    """The lines of a docstring's Raises, in Markdown."""
    text = inspect.cleandoc(thing.__doc__ or "").partition("\nRaises:\n")[2]
    joined = re.sub(r"\n\s{5,}", " ", textwrap.dedent(text))
    return [
        re.sub(r"^(\w+): ", r"`\1`: ", markdown(line))
        for line in joined.splitlines()
        if line.strip()
    ]


def markdown(text: str) -> str:
    """A docstring's paragraph on one line; its marks for code as Markdown's."""
    return " ".join(text.replace("``", "`").split())


def attribute_docs(kind: type) -> dict[str, str]:
    """The strings that stand behind the fields of a class, in its source."""
    try:
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError, ValueError):
        return {}
    assert isinstance(node, ast.ClassDef)
    found: dict[str, str] = {}
    for field, after in zip(node.body, node.body[1:], strict=False):
        is_doc = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_doc:
            found[field.target.id] = markdown(inspect.cleandoc(str(after.value.value)))  # type: ignore[attr-defined]
    return found


def fields(kind: type) -> list[Field]:
    """The fields of a struct, or the attributes that a contract names, bases first."""
    found: dict[str, Field] = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("hermes_plugins"):
            docs = attribute_docs(base)
            for name, hint in inspect.get_annotations(base).items():
                if not name.startswith("_"):
                    doc = docs.get(name, "")
                    found[name] = Field(
                        name=name, hint=str(hint), default=_default(kind, name), doc=doc
                    )
    return list(found.values())


def _default(kind: type, name: str) -> str:
    if not issubclass(kind, msgspec.Struct):
        return ""
    field = next((one for one in msgspec.structs.fields(kind) if one.name == name), None)
    if field is None or field.required:
        return ""
    if field.default_factory is not msgspec.NODEFAULT:
        return repr(field.default_factory())
    return repr(field.default)


def methods(kind: type) -> Iterator[tuple[str, object]]:
    """Public methods and properties of a class, its own and those of bases in the kit."""
    seen: set[str] = set()
    for base in kind.__mro__:
        if not base.__module__.startswith("hermes_plugins"):
            continue
        for name, member in vars(base).items():
            function = member.fget if isinstance(member, property) else member
            if name.startswith("_") or name in seen or not inspect.isfunction(function):
                continue
            seen.add(name)
            yield name, member


def signature(name: str, function: object, *, skip_self: bool = False) -> str:
    """A call as it is written, with types; ``async`` where it is awaited."""
    if isinstance(function, property):
        return f"{name}: {inspect.signature(function.fget).return_annotation}"  # type: ignore[arg-type]
    found = inspect.signature(function)  # type: ignore[arg-type]
    parts: list[str] = []
    before: object = inspect.Parameter.POSITIONAL_ONLY
    for parameter in list(found.parameters.values())[1 if skip_self else 0 :]:
        if before is inspect.Parameter.POSITIONAL_ONLY and parts and parameter.kind is not before:
            parts.append("/")
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and before is not parameter.kind:
            parts.append("*")
        before = parameter.kind
        parts.append(_parameter(parameter))
    is_async = inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function)
    returned = "" if found.return_annotation is found.empty else f" -> {found.return_annotation}"
    head = f"{'async ' if is_async else ''}{name}"
    line = f"{head}({', '.join(parts)}){returned}"
    if len(line) <= WIDTH or skip_self:
        return line
    return f"{head}(\n    {f',{chr(10)}    '.join(parts)}\n){returned}"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
    hint = "" if parameter.annotation is parameter.empty else f": {parameter.annotation}"
    default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    return f"{stars}{parameter.name}{hint}{default}"


def construction(name: str, kind: type[msgspec.Struct]) -> str:
    """How a value is made, with types and defaults."""
    shown = [
        f"{one.name}: {one.hint}" + (f" = {one.default}" if one.default else "")
        for one in fields(kind)
    ]
    kinds = {one.kind for one in inspect.signature(kind).parameters.values()}
    star = "*, " if kinds == {inspect.Parameter.KEYWORD_ONLY} else ""
    line = f"{name}({star}{', '.join(shown)})"
    return (
        line if len(line) <= 96 else f"{name}({star.rstrip()}\n    " + ",\n    ".join(shown) + ")"
    )


def made(name: str, kind: type) -> str:
    """How an object of a plain class is made."""
    if kind.__init__ is object.__init__:  # type: ignore[misc]
        return f"{name}()"
    init = signature(name, kind.__init__, skip_self=True)  # type: ignore[misc]
    return init.removesuffix(" -> None")


def aliases(module: ModuleType) -> dict[str, str]:
    """The type aliases of a module, as they are written."""
    found: dict[str, str] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        is_alias = isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"
        if is_alias and isinstance(node.target, ast.Name) and node.value is not None:  # type: ignore[attr-defined]
            found[node.target.id] = ast.unparse(node.value)  # type: ignore[attr-defined]
    return found
