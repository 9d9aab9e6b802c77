"""Joins the deltas of one model answer: text, reasoning and whole tool calls.

Servers repeat, interleave and share what should tell tool calls apart, so a fragment finds its call
by index **and** id. What cannot be joined without loss is never guessed: the call stays in the
answer, with an entry in `Assembled.problems` that the model reads as the call's result. Whether the
arguments are good JSON and fit the tool is judged later, by ``agent/arguments.py``.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from itertools import pairwise

import msgspec

from hermes_core.route.think import TAGS, Split, ThinkSplitter
from hermes_plugins._dialects import (
    Delta,
    Finish,
    FinishMark,
    NativePiece,
    ReasoningPiece,
    TextPiece,
    ToolFragment,
    UsageReport,
)
from hermes_plugins._messages import NativePart, ToolCall, Usage

MAX_SPLIT = 16
"""Argument objects found in one entry that still count as calls of their own."""

_EMPTY = Split()
_decoder = json.JSONDecoder(strict=False)


class Assembled(msgspec.Struct, frozen=True, kw_only=True):
    """One whole answer.

    ``finish`` is None where the stream ended without saying so: it was cut. With tool calls in the
    answer a plain stop counts as ``tool_calls``. ``problems`` maps a call's id to why it must not
    run.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    problems: dict[str, str] = {}
    native: tuple[NativePart, ...] = ()
    usage: Usage = Usage()
    finish: Finish | None = None
    detail: str = ""


class _Draft:
    """A tool call that is still arriving."""

    def __init__(self, fragment: ToolFragment) -> None:
        self.index = fragment.index
        self.id = fragment.id
        self.name = ""
        self.pieces: list[str] = []
        self.whole = False

    def add(self, fragment: ToolFragment) -> None:
        self.id = self.id or fragment.id
        self.index = fragment.index if self.index < 0 else self.index
        if fragment.name != self.name:
            self.name += fragment.name
        if fragment.whole:
            self.pieces, self.whole = [fragment.arguments], True
        elif fragment.arguments and not self.whole:
            self.pieces.append(fragment.arguments)


class Assembler:
    """Takes the deltas of one answer in order; make a new one for each request.

    ``token`` goes into the ids made for calls that came without one; give something that differs
    between requests of a session. ``dialect`` and ``provider`` are whose answer it is.
    """

    def __init__(
        self,
        *,
        token: str = "",
        dialect: str = "",
        provider: str = "",
        tags: Mapping[str, tuple[str, ...]] = TAGS,
    ) -> None:
        self._token = token
        self._maker = (dialect, provider)
        self._native: list[NativePart] = []
        self._splitter = ThinkSplitter(tags)
        self._text: list[str] = []
        self._tagged: list[str] = []
        self._reasoning: list[str] = []
        self._drafts: list[_Draft] = []
        self._last: _Draft | None = None
        self._usage = Usage()
        self._finish: FinishMark | None = None

    def feed(self, delta: Delta) -> Split:
        """Take one delta and return what can be shown now."""
        if type(delta) is TextPiece:
            split = self._splitter.feed(delta.text)
            return self._keep(split)
        if isinstance(delta, ReasoningPiece):
            self._reasoning.append(delta.text)
            return Split("", delta.text)
        if isinstance(delta, ToolFragment):
            self._last = self._draft_of(delta)
            self._last.add(delta)
        elif isinstance(delta, NativePiece):
            self._native.append(NativePart(*self._maker, delta.data, delta.call))
        elif isinstance(delta, UsageReport):
            self._usage = delta.usage
        elif isinstance(delta, FinishMark):
            self._finish = delta
        return _EMPTY

    def flush(self) -> Split:
        """What was held back as a possible tag; call it before `finish` to show the tail."""
        return self._keep(self._splitter.flush())

    def finish(self) -> Assembled:
        """The stream is over: everything joined."""
        self.flush()
        text, tagged = "".join(self._text), "".join(self._tagged)
        if self._splitter.orphan and not self._reasoning:
            tagged = text[: self._splitter.orphan] + tagged
            text = text[self._splitter.orphan :]
        calls, problems = self._calls()
        mark = self._finish
        return Assembled(
            text=text if text.strip() else "",
            reasoning="\n\n".join(filter(None, ("".join(self._reasoning), tagged.strip()))),
            tool_calls=calls,
            problems=problems,
            native=tuple(self._native),
            usage=self._usage,
            finish=None if mark is None else _finish_of(mark.reason, bool(calls)),
            detail="" if mark is None else mark.detail,
        )

    def _keep(self, split: Split) -> Split:
        if split.text:
            self._text.append(split.text)
        if split.reasoning:
            self._tagged.append(split.reasoning)
        return split

    def _draft_of(self, fragment: ToolFragment) -> _Draft:
        """The draft that a fragment belongs to, made where there is none."""
        found = self._known_draft(fragment)
        if found is None or _begins_another(found, fragment):
            found = _Draft(fragment)
            self._drafts.append(found)
        return found

    def _known_draft(self, fragment: ToolFragment) -> _Draft | None:
        index, call_id = fragment.index, fragment.id
        latest = self._drafts[::-1]
        if not call_id:
            if index < 0:
                return self._last
            return next((draft for draft in latest if draft.index == index), None)
        same_id = [draft for draft in latest if draft.id == call_id]
        exact = [draft for draft in same_id if index < 0 or draft.index in (index, -1)]
        if exact or (same_id and not fragment.name):
            return (exact or same_id)[0]
        if index < 0:
            # An id that comes late, on a wire without indexes.
            last = self._last
            return last if last is not None and not last.id and not fragment.name else None
        at_index = next((draft for draft in latest if draft.index == index), None)
        if at_index is not None and (not at_index.id or not fragment.name):
            return at_index  # the id came late, or the server makes up a new one for each delta
        return None

    def _calls(self) -> tuple[tuple[ToolCall, ...], dict[str, str]]:
        calls: list[ToolCall] = []
        problems: dict[str, str] = {}
        taken = {draft.id for draft in self._drafts if draft.id}
        used: set[str] = set()
        for draft in self._drafts:
            texts, problem = self._arguments(draft)
            for number, arguments in enumerate(texts):
                call_id = draft.id if number == 0 else ""
                if not call_id or call_id in used:
                    call_id = self._made_id(len(calls) + 1, draft.name + arguments, taken)
                used.add(call_id)
                calls.append(ToolCall(id=call_id, name=draft.name, arguments=arguments))
                if problem:
                    problems[call_id] = problem
        return tuple(calls), problems

    def _made_id(self, number: int, content: str, taken: set[str]) -> str:
        salt = 0
        while True:
            seed = f"{self._token}:{number}:{salt}:{content}".encode("utf-8", "replace")
            made = f"call_{number}_{zlib.crc32(seed):08x}"
            if made not in taken:
                taken.add(made)
                return made
            salt += 1

    def _arguments(self, draft: _Draft) -> tuple[list[str], str]:
        """The argument texts of an entry, one a call, and the problem where there is one."""
        text = "".join(draft.pieces)
        cut = self._finish is None or self._finish.reason == "length"
        if not draft.name:
            return [text], "The call came without a tool name, so nothing was run. Send it again."
        if not text.strip():
            return [text], self._cut_off(draft, text) if cut and draft is self._last else ""
        if _is_json(text):
            return [text], ""
        if len(draft.pieces) > 1 and _is_json(draft.pieces[-1]) and _grows(draft.pieces):
            return [draft.pieces[-1]], ""
        objects, rest = _leading_objects(text)
        if objects and not rest:
            return _distinct(objects, draft.name)
        if cut:
            return [text], self._cut_off(draft, text)
        if objects and rest.startswith("{"):
            return [text], (
                f"One call of {draft.name} carried several argument objects, and number "
                f"{len(objects) + 1} is not valid JSON, so nothing was run. Send one call for each."
            )
        return [text], ""

    def _cut_off(self, draft: _Draft, text: str) -> str:
        if self._finish is None:
            why, advice = "the connection broke", "Send the call again."
        else:
            why = "the output limit was reached"
            advice = "Do the work in several smaller calls, for example write a file in parts."
        return (
            f"The arguments of {draft.name} were cut off after {len(text):,} characters because "
            f"{why}, so nothing was run. {advice}"
        )


def _begins_another(draft: _Draft, fragment: ToolFragment) -> bool:
    """Whether a fragment that points at ``draft`` is the beginning of the next call all the same."""
    begun = draft.whole or bool(draft.pieces)
    if fragment.name and draft.name and fragment.name != draft.name and begun:
        return True
    if not (fragment.whole and draft.whole):
        return False
    return not (fragment.id and fragment.arguments == draft.pieces[0])


def _finish_of(reason: Finish, has_calls: bool) -> Finish:
    if has_calls and reason in ("stop", "unknown"):
        return "tool_calls"
    return "stop" if reason == "tool_calls" and not has_calls else reason


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return False
    return True


def _grows(pieces: list[str]) -> bool:
    """Whether each delta carried everything so far and a little more."""
    return all(later.startswith(earlier) for earlier, later in pairwise(pieces))


def _leading_objects(text: str) -> tuple[list[str], str]:
    """The JSON objects that ``text`` begins with, and what follows them."""
    objects: list[str] = []
    rest = text.strip()
    while rest.startswith("{"):
        try:
            _, end = _decoder.raw_decode(rest)
        except (ValueError, RecursionError):
            break
        objects.append(rest[:end])
        rest = rest[end:].lstrip()
    return objects, rest


def _distinct(objects: list[str], name: str) -> tuple[list[str], str]:
    """Argument objects sent in one entry, as calls of their own.

    Sound because every object is whole and nothing stands between them. Equal ones are one call
    that the server repeated; an empty one beside others is a placeholder, not a call.
    """
    kept = list(dict.fromkeys(objects))
    kept = [text for text in kept if text.strip("{} \t\r\n")] or kept[:1]
    if len(kept) <= MAX_SPLIT:
        return kept, ""
    return ["".join(objects)], (
        f"One call of {name} carried {len(kept)} argument objects, so nothing was run. "
        f"Send one call for each, at most {MAX_SPLIT} at a time."
    )
