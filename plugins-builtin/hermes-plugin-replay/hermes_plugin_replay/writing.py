"""``--as-test``: plays the session, compares, and writes the test."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
import msgspec

from hermes_plugins import (
    CommandHost,
    HermesError,
    Json,
    SessionInfo,
    UsageError,
)

from . import source
from .finding import found_session
from .keeping import read
from .recording import Plan, Recorded, Said, record_of

MOST_FILES = 100
MOST_BYTES = 200_000
"""Of all that a test begins with: it is to be read."""

_REFUSED = "not done in a replay: "
"""How the kit says that a call reached out of the folder."""
_SKIPPED = frozenset([".git", ".venv", "node_modules", "__pycache__"])


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What a message led to; the fields are those of `hermes_plugins.testing.replay`."""

    calls: list[tuple[str, Json, str]]
    summaries: list[str]
    answers: list[str]
    unused: int
    outcome: str
    reason: str


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """The same, of a whole session."""

    turns: list[Turn]
    tree: dict[str, str]
    unsteady: list[str]
    unsteady_calls: list[int]


def write_test(host: CommandHost, name: str, *, file: Path, given: Sequence[str]) -> None:
    """Write the test of a session to ``file``, and tell where it differs from what was recorded.

    Raises:
        UsageError: no such session, the file is there already, or pytest is missing.
        HermesError: the session cannot be played.
    """
    is_printed = str(file) == "-"
    if file.exists() and not is_printed:
        raise UsageError(f"{file} is there already.", hint="Choose another name, or remove it.")
    if importlib.util.find_spec("pytest") is None:
        raise UsageError(
            "a test needs pytest, which is not installed here.",
            hint=f"{sys.executable} -m pip install pytest",
        )
    info, recorded, plan = asyncio.run(
        _planned(host, name, given=given, enabled=host.settings.get("plugins.enabled").value)
    )
    click.echo(f"Playing {info.id} in a scratch folder, twice …", err=True)
    played = _play(plan)
    differences = [*_differences(recorded, played, info.workspace, plan.files), *recorded.notes]
    left_open = list(_left_open(played))
    remarks = [line for line in differences if not line.startswith(" ")]
    remarks += [f"left open, because a second run differed: {line}" for line in left_open]
    steps = _steps(info, plan, played, remarks=remarks)
    text = source.text_of(steps)
    if is_printed:
        click.echo(text, nl=False)
    else:
        _write(file, text)
    _list("Not as in the session:", differences)
    _list("Left open, because a second run differed:", left_open)
    if not is_printed:
        click.echo(f"Wrote {file}: {_counted(steps)}. Run it: pytest {file}")


async def _planned(
    host: CommandHost, name: str, *, given: Sequence[str], enabled: Json
) -> tuple[SessionInfo, Recorded, Plan]:
    async with host.open() as face:
        info = await found_session(face.sessions, name)
        messages = await face.sessions.messages(info.id)
        if not messages:
            raise UsageError(f"nothing was said in {info.id}.", hint="`hermes sessions list`")
        redact = face.host.redact
        recorded = record_of(
            info,
            messages,
            read(host.paths, info.id),
            scratch=str(host.paths.cache / "scratch" / info.id),
            redact=redact,
        )
        used = set(recorded.tools)
        owners = {
            one.name: one.plugin
            for one in await face.catalog.toolsets()
            if used & {tool.name for tool in one.tools}
        }
        files = dict(_files(Path(info.workspace), given))
    strangers = set(enabled if isinstance(enabled, list) else ()) & set(owners.values())
    plan = Plan(
        turns=recorded.turns,
        toolsets=sorted(owners),
        plugins=sorted(strangers),
        files={path: redact(text) for path, text in files.items()},
    )
    return msgspec.structs.replace(info, title=redact(info.title)), recorded, plan


def _files(workspace: Path, given: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name and text of what the test begins with.

    Raises:
        UsageError: one is missing, no text, outside of the folder, or they are too many.
    """
    count = size = 0
    for word in given:
        place = Path(os.path.realpath(workspace / word))
        root = Path(os.path.realpath(workspace))
        if not place.is_relative_to(root) or not place.exists():
            raise UsageError(
                f"--with {word}: there is no such file in the session's folder {workspace}."
            )
        for path in sorted(_below(place)):
            data = path.read_bytes()
            count, size = count + 1, size + len(data)
            if count > MOST_FILES or size > MOST_BYTES:
                raise UsageError(
                    f"--with {word}: more than {MOST_FILES} files or {MOST_BYTES:,} bytes.",
                    hint="Name only the files that the session needs.",
                )
            try:
                yield path.relative_to(root).as_posix(), data.decode("utf-8")
            except UnicodeDecodeError:
                raise UsageError(f"--with {word}: {path} is no text.") from None


def _below(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    elif place.is_dir() and place.name not in _SKIPPED:
        for inner in place.iterdir():
            if not inner.is_symlink():
                yield from _below(inner)


def _play(plan: Plan) -> Played:
    """Play a plan in a process of its own: what it does must not touch this one's home.

    Raises:
        HermesError: it failed.
    """
    done = subprocess.run(
        [sys.executable, "-P", "-m", "hermes_plugins.testing.replay"],
        input=msgspec.json.encode(plan),
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        last = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        raise HermesError(f"the session cannot be played: {last or 'no reason was told'}")
    return msgspec.json.decode(done.stdout.splitlines()[-1], type=Played)


def _differences(
    recorded: Recorded, played: Played, workspace: str, files: Mapping[str, str]
) -> Iterator[str]:
    """What went another way than in the session, a line each."""
    number = 0
    for at, (before, turn) in enumerate(zip(recorded.calls, played.turns, strict=True), 1):
        for place, call in enumerate(before):
            number += 1
            what = f"call {number}, {call.tool}"
            if place >= len(turn.calls):
                yield f"{what}: {call.status} in the session, not reached here"
                continue
            tool, _, status = turn.calls[place]
            if (tool, status) != (call.tool, call.status):
                why = turn.summaries[place].rpartition(_REFUSED)[2]
                yield f"{what}: {call.status} in the session, {status} here ({why})"
                yield from _missing(call.arguments, workspace, files)
        if turn.unused and turn.outcome != "guardrail":
            yield f"message {at}: {turn.unused} of the model's answers were not asked for here"
        if turn.outcome == "failed" and before and len(turn.calls) >= len(before):
            yield f"message {at}: it failed here ({turn.reason})"


def _left_open(played: Played) -> Iterator[str]:
    """What the test does not look at, because a second run had it otherwise."""
    for number in played.unsteady_calls:
        yield f"how call {number + 1} ends"
    if played.unsteady:
        yield f"what is in {', '.join(played.unsteady)}"


def _missing(arguments: Json, workspace: str, files: Mapping[str, str]) -> Iterator[str]:
    """A file that the call named and the scratch folder has not."""
    for value in arguments.values() if isinstance(arguments, dict) else ():
        if not isinstance(value, str) or "\n" in value or len(value) > 500:
            continue
        name = value.replace("<workspace>/", "")
        known = name in files or not name or os.path.isabs(name) or ".." in name
        if not known and Path(workspace, name).is_file():
            yield f"  `--with {name}` begins with that file as it is now"


def _steps(
    info: SessionInfo, plan: Plan, played: Played, *, remarks: Sequence[str]
) -> source.Steps:
    first = plan.turns[0].said
    turns: list[Said] = []
    for turn, done in zip(plan.turns, played.turns, strict=True):
        used = turn.replies[: len(turn.replies) - done.unused]
        turns.append(msgspec.structs.replace(turn, replies=used, answers=done.answers))
    calls = [call for turn in played.turns for call in turn.calls]
    return source.Steps(
        name=source.name_of(info.title or first),
        about=f'A session as a test: "{info.title or first}"',
        written_by=f"Written by `hermes replay {info.id} --as-test`; change it as you like.",
        toolsets=plan.toolsets,
        plugins=plan.plugins,
        files=plan.files,
        turns=turns,
        calls=calls,
        unsteady_calls=played.unsteady_calls,
        tree=played.tree,
        unsteady=played.unsteady,
        remarks=remarks,
    )


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        spare = file.with_name(f".{file.name}.{os.getpid()}.tmp")
        try:
            spare.write_text(text, encoding="utf-8", newline="\n")
            os.replace(spare, file)
        finally:
            spare.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}.") from error


def _counted(steps: source.Steps) -> str:
    counts = {"message": len(steps.turns), "call": len(steps.calls), "file": len(steps.tree)}
    told = [f"{count} {name}{'s' * (count != 1)}" for name, count in counts.items()]
    return ", ".join(told) + " in the end"


def _list(head: str, lines: Sequence[str]) -> None:
    if lines:
        click.echo("\n".join([head, *(f"  {line}" for line in lines)]), err=True)
