"""A recorded session, played twice in scratch folders: ``python -m hermes_plugins.testing.replay``.

`hermes replay --as-test` calls it to learn what to expect. It reads a `Plan` as JSON from standard input
and prints a `Played`. What two runs in a row do not agree on is named, so that no test stands on it.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from hermes_plugins._approvals import Choice
from hermes_plugins._messages import Json
from hermes_plugins.testing import replies
from hermes_plugins.testing._replay import Replay

T = TypeVar("T", bound=msgspec.Struct)

WORKSPACE, SCRATCH = "<workspace>", "<scratch>"
"""In a plan: the folder of the session, and its temporary one."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the person. ``replies`` as in a script file; ``decide`` is what was said, by call."""

    said: str
    replies: list[dict[str, Json]] = []
    decide: dict[str, Choice] = {}
    words: list[str] = []
    steered: dict[int, str] = {}


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to play."""

    turns: list[Message]
    toolsets: list[str] = []
    plugins: list[str] = []
    files: dict[str, str] = {}


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """What a message led to. ``answers`` are those that the gate asked for, in order."""

    calls: list[tuple[str, Json, str]]
    summaries: list[str]
    answers: list[Choice]
    unused: int
    outcome: str
    reason: str


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """What happened. ``unsteady`` are the files that differed in a second run, ``unsteady_calls`` the
    numbers, from 0, of the calls that ended differently there."""

    turns: list[Turn]
    tree: dict[str, str]
    unsteady: list[str] = []
    unsteady_calls: list[int] = []


def play(data: bytes, folder: Path) -> Played:
    """Play a plan once.

    Raises:
        msgspec.ValidationError: it is no plan.
        HermesError: the session cannot be opened.
    """
    plan = msgspec.json.decode(data, type=Plan)
    with Replay(folder) as replay:
        replay.start(*plan.toolsets, plugins=plan.plugins, files=plan.files)
        names = {WORKSPACE: str(replay.workspace), SCRATCH: str(replay.scratch)}
        turns = [_turn(replay, _replaced(turn, names), names) for turn in plan.turns]
        return Played(turns=turns, tree=replay.tree)


def _turn(replay: Replay, turn: Message, names: Mapping[str, str]) -> Turn:
    from hermes_plugins import ToolDone

    answers: list[Choice] = []

    def decide(call: str) -> Choice:
        answers.append(turn.decide.get(call, "deny"))
        return answers[-1]

    before = len(replay.calls)
    script = replies.from_json(msgspec.json.encode(turn.replies))
    asked = replay.said(turn.said, *script, answers=decide, words=turn.words, steered=turn.steered)
    ended = Turn(
        calls=replay.calls[before:],
        summaries=[one.summary for one in asked.of(ToolDone)],
        answers=answers,
        unused=replay.unused,
        outcome=asked.end.outcome,
        reason=asked.end.reason,
    )
    return _replaced(ended, {path: name for name, path in names.items()})


def _replaced(value: T, words: Mapping[str, str]) -> T:
    """The same value with words in its texts replaced."""

    def inside(part: object) -> object:
        match part:
            case str():
                for word, other in words.items():
                    part = part.replace(word, other)
                return part
            case dict():
                return {inside(name): inside(one) for name, one in part.items()}
            case list() | tuple():
                return [inside(one) for one in part]
        return part

    return msgspec.convert(inside(msgspec.to_builtins(value)), type(value), strict=False)


def main() -> int:
    """Play the plan of standard input, twice."""
    data = sys.stdin.buffer.read()
    with tempfile.TemporaryDirectory(prefix="hermes-replay-") as folder:
        place = Path(folder).resolve()
        first, second = (play(data, place / name) for name in ("first", "second"))
    names = sorted({*first.tree, *second.tree})
    ends = zip(_ends(first), _ends(second), strict=False)
    played = msgspec.structs.replace(
        first,
        unsteady=[name for name in names if first.tree.get(name) != second.tree.get(name)],
        unsteady_calls=[number for number, (one, other) in enumerate(ends) if one != other],
    )
    sys.stdout.buffer.write(msgspec.json.encode(played) + b"\n")
    return 0


def _ends(played: Played) -> list[str]:
    return [status for turn in played.turns for _, _, status in turn.calls]


if __name__ == "__main__":
    raise SystemExit(main())
