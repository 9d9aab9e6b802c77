"""patch: one replacement in a file, or a V4A patch over several files."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_plugins import Environment, FileStat, ToolContext, ToolError

from . import hunks, match, seen, syntax, v4a
from .places import Place, locate, missing
from .text import Text, decode
from .writing import diff, encoded, refuse_masks, refuse_unwritable


class _File(msgspec.Struct):
    """A file as it is (``data``, None where there is none) and as it is to be (``body``)."""

    place: Place
    data: bytes | None
    form: Text
    body: str | None
    is_link: bool = False

    @property
    def before(self) -> str | None:
        return None if self.data is None else self.form.body


async def replace(context: ToolContext, path: str, old: str, new: str, *, every: bool) -> str:
    """Put ``new`` in the place of ``old``.

    Raises:
        ToolError: no such file, no such text, more than one such place, or a failed write.
    """
    if not path:
        raise ToolError("path is empty.", hint="Give path and old_string, or a V4A patch.")
    file = await _open(context.environment, path)
    if file.data is None:
        raise await missing(context.environment, file.place)
    files = seen.of(context)
    stale = seen.is_stale(files, file.place, file.data)
    refuse_masks(new, file.form.body, "new_string")
    done = match.replace(file.form.body, old, new, every=every)
    file.body = done.body
    await _commit(context, [file])
    count = len(done.lines)
    notes = [f"{count} places" if count > 1 else f"line {done.lines[0]}"]
    if done.strategy:
        notes.append(f"not an exact match: {done.strategy}")
    if stale:
        notes.append("the file had changed since you read it")
    if file.place.note:
        notes.append(file.place.note)
    return _report(f"Changed {file.place.shown} ({'; '.join(notes)}).", [file])


async def apply_patch(context: ToolContext, patch: str, *, path: str = "", old: str = "") -> str:
    """Apply a V4A patch: everything is checked first, then all of it happens or nothing.

    Raises:
        ToolError: it is malformed, or something does not fit; names each hunk or file and why.
    """
    if path or old:
        raise ToolError("give either a V4A patch, or path and old_string, not both.")
    operations = v4a.parse(patch)
    planned: dict[str, _File] = {}
    problems: list[ToolError] = []
    for operation in operations:
        try:
            await _plan(context.environment, operation, planned)
        except ToolError as error:
            problems.append(error)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        listed = "\n".join(f"- {problem}" for problem in problems)
        raise ToolError(f"{len(problems)} parts do not fit; nothing was changed:\n{listed}")
    changed = [file for file in planned.values() if file.body != file.before]
    if not changed:
        raise ToolError("the patch changes nothing.")
    await _commit(context, changed)
    return _report(_summary(changed), changed)


async def _open(environment: Environment, path: str) -> _File:
    place = await locate(environment, path)
    refuse_unwritable(place)
    if place.stat.kind == "missing":
        return _File(place, None, Text(""), None)
    data = await environment.read(place.path)
    form = decode(data)
    if form is None:
        raise ToolError(f"{place.shown} is not a text file; nothing was changed.")
    is_link = (await environment.stat(path)).is_link
    return _File(place, data, form, form.body, is_link)


async def _plan(
    environment: Environment, operation: v4a.Operation, planned: dict[str, _File]
) -> None:
    """Work one operation into ``planned``; nothing is written."""
    file = await _planned(environment, operation.path, planned)
    refuse_masks(v4a.added_text(operation), file.form.body, f"the patch of {operation.path}")
    if operation.kind == "Add":
        if file.body is not None:
            raise ToolError(f"{operation.path} exists already.", hint="Use *** Update File.")
        text = v4a.added_text(operation)
        file.body = f"{text}\n" if text else ""
        return
    if file.body is None:
        raise await missing(environment, file.place)
    if file.is_link and (operation.kind == "Delete" or operation.move_to):
        raise ToolError(f"{operation.path} is a link; a patch neither deletes nor moves links.")
    if operation.kind == "Delete":
        file.body = None
        return
    body = hunks.apply(file.body, operation)
    if operation.move_to:
        target = await _planned(environment, operation.move_to, planned)
        if target.body is not None:
            raise ToolError(f"{operation.move_to} exists already; {operation.path} stays.")
        target.form, target.body, file.body = file.form, body, None
    else:
        file.body = body


async def _planned(environment: Environment, path: str, planned: dict[str, _File]) -> _File:
    file = await _open(environment, path)
    return planned.setdefault(file.place.path, file)


async def _commit(context: ToolContext, changed: Sequence[_File]) -> None:
    """Write all files, or put back those already written.

    Raises:
        ToolError: a write failed; says what was put back.
    """
    fresh = [
        None if file.body is None else encoded(file.place, file.body, file.form) for file in changed
    ]
    environment, files = context.environment, seen.of(context)
    done: list[tuple[_File, FileStat]] = []
    # New content first, then what goes away: a failure in between loses nothing.
    order = sorted(zip(changed, fresh, strict=True), key=lambda pair: pair[1] is None)
    try:
        for file, data in order:
            if data is None:
                await environment.remove(file.place.path)
                stat = FileStat(kind="missing")
            else:
                stat = await environment.write(file.place.path, data, expected=file.place.stat)
            done.append((file, stat))
    except ToolError as error:
        if not done:
            raise
        raise await _put_back(environment, done, error) from error
    for (file, data), (_, stat) in zip(order, done, strict=True):
        if data is None:
            files.forget(file.place.path)
        else:
            files.note(file.place.path, stat, data)


async def _put_back(
    environment: Environment, done: Sequence[tuple[_File, FileStat]], cause: ToolError
) -> ToolError:
    left: list[str] = []
    for file, stat in reversed(done):
        try:
            if file.data is None:
                await environment.remove(file.place.path)
            else:
                await environment.write(file.place.path, file.data, expected=stat)
        except ToolError as error:
            left.append(f"{file.place.shown} ({error.message})")
    if left:
        return ToolError(f"{cause.message} Could not be put back: {', '.join(left)}.")
    return ToolError(f"{cause.message} The {len(done)} files written before it were put back.")


def _summary(changed: Sequence[_File]) -> str:
    added = [file.place.shown for file in changed if file.data is None]
    gone = [file.place.shown for file in changed if file.body is None]
    rest = [f.place.shown for f in changed if f.data is not None and f.body is not None]
    parts = [
        f"{verb} {', '.join(names)}"
        for verb, names in (("changed", rest), ("added", added), ("deleted", gone))
        if names
    ]
    return f"Patch applied: {'; '.join(parts)}."


def _report(first: str, changed: Sequence[_File]) -> str:
    parts = [first]
    for file in changed:
        if file.body is not None and file.before is not None:
            if len(changed) > 1:
                parts.append(file.place.shown)
            parts.append(diff(file.before, file.body))
        if file.body is not None:
            problem = syntax.warning(file.place.path, file.body, file.before)
            parts += [f"{problem} ({file.place.shown})"] if problem else []
    return "\n".join(parts)
