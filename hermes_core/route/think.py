"""Reasoning that a model writes between tags, told apart from its answer while it streams.

A tag counts where it opens the answer or stands first on a line, outside code fences; anywhere else
it is text that talks about tags. The split does not depend on how the text was cut into pieces.

Decisions: a tag that is never closed keeps the rest as reasoning, so that a cut answer never leaks
it; an answer of nothing else is then an answer without text, which the turn tells the person about.
A closing tag without an opening one (chat templates that put the opening tag into the prompt) makes
everything before it reasoning: `ThinkSplitter.orphan` says how many characters of shown text that
are. White space around a leading block of reasoning is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from hermes_core.patterns import lazy


class Split(msgspec.Struct, frozen=True):
    """What one piece of stream adds to the answer and to the reasoning."""

    text: str = ""
    reasoning: str = ""


NOTHING = Split()

_NAMES = (
    "think",
    "thinking",
    "thought",
    "reasoning",
    "mm:think",
    "seed:think",
    "思考",
    "思维",
    "推理",
)
_FINAL = "<|channel|>final<|message|>"


def tags_of(names: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """``<name>`` and its ``</name>`` for each name, as a table for `ThinkSplitter`."""
    return {f"<{name}>": (f"</{name}>",) for name in names}


TAGS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **tags_of(_NAMES),
        "◁think▷": ("◁/think▷",),
        "<|channel>thought": ("<channel|>",),
        "<|channel|>analysis<|message|>": (_FINAL, "<|end|>"),
        "<|start|>assistant" + _FINAL: (),
        _FINAL: (),
    }
)
"""Opening tag -> the tags that close it, lower case; none: a marker that is dropped. No opening tag
is the beginning of another, nor a closing one."""


class ThinkSplitter:
    """Splits one answer; make a new one for each."""

    def __init__(self, tags: Mapping[str, tuple[str, ...]] = TAGS) -> None:
        self.orphan = 0
        self._tags = tags
        ends = {end for closings in tags.values() for end in closings if end[:2] in ("</", "◁/")}
        self._orphans = frozenset(ends)
        self._longest = max(map(len, (*tags, *ends)), default=0)
        self._held = ""
        self._blank = True  # nothing but white space on this line so far
        self._started = False  # the answer's first visible character was seen
        self._shown = 0
        self._reasoned = False
        self._fence = ""
        self._closing: re.Pattern[str] | None = None  # set inside a block of reasoning
        self._closings: tuple[str, ...] = ()
        self._text: list[str] = []
        self._reasoning: list[str] = []

    def feed(self, text: str) -> Split:
        """Take the next piece; what could be the beginning of a tag is held back."""
        if not self._blank and self._closing is None and "\n" not in text:
            self._shown += len(text)
            return Split(text)
        return self._split(self._held + text, final=False)

    def flush(self) -> Split:
        """The answer is over: give back what was held."""
        return self._split(self._held, final=True)

    def _split(self, buffer: str, *, final: bool) -> Split:
        self._text, self._reasoning = [], []
        position = 0
        while position >= 0 and position < len(buffer):
            start = position
            if self._closing is not None:
                position = self._in_reasoning(buffer, start, self._closing, final=final)
            elif self._blank:
                position = self._at_line_start(buffer, start, final=final)
            else:
                position = buffer.find("\n", start) + 1
                self._blank = position > 0
                position = position or len(buffer)
                self._say(buffer[start:position])
            self._held = buffer[start:]
        if position >= 0:
            self._held = ""
        return Split("".join(self._text), "".join(self._reasoning))

    def _say(self, text: str) -> None:
        self._text.append(text)
        self._shown += len(text)

    # Each of these returns where to go on, or -1 to hold back what begins at ``start``.

    def _in_reasoning(
        self, buffer: str, start: int, closing: re.Pattern[str], *, final: bool
    ) -> int:
        found = closing.search(buffer, start)
        if found is not None:
            self._reasoning.append(buffer[start : found.start()])
            self._closing, self._blank = None, True
            return found.end()
        keep = 0 if final else _beginning_at_end(buffer[start:], self._closings)
        if len(buffer) - keep == start:
            return -1
        self._reasoning.append(buffer[start : len(buffer) - keep])
        return len(buffer) - keep

    def _at_line_start(self, buffer: str, start: int, *, final: bool) -> int:
        body = start
        while body < len(buffer) and buffer[body].isspace():
            body += 1
        space = buffer[start:body]
        if body == len(buffer):
            if not self._started:
                return len(buffer) if final and self._reasoned else self._wait(space, final)
            self._say(space)
            return body
        if buffer[body] in "`~":
            return self._at_fence(buffer, start, body, final=final)
        if not self._fence:
            rest = buffer[body : body + self._longest].lower()
            for tag, closings in self._tags.items():
                if rest.startswith(tag):
                    self._open(space, closings)
                    return body + len(tag)
            for tag in self._orphans if not self._reasoned else ():
                if rest.startswith(tag):
                    self._say(space)
                    self.orphan, self._reasoned, self._started = self._shown, True, False
                    return body + len(tag)
            if not final and self._may_become_tag(rest):
                if body > start and self._started:
                    self._say(space)
                    return body
                return -1
        self._begin(space)
        self._blank = False
        return body

    def _wait(self, space: str, final: bool) -> int:
        """White space before the first word: shown only once a word, or the end, follows."""
        if not final:
            return -1
        self._say(space)
        return len(space)

    def _begin(self, space: str) -> None:
        """The line has visible text; white space between reasoning and answer is dropped."""
        if self._started or not self._reasoned:
            self._say(space)
        self._started = True

    def _open(self, space: str, closings: tuple[str, ...]) -> None:
        if self._started:
            self._say(space)
        self._reasoned = True
        if closings:
            self._closings = closings
            self._closing = lazy("|".join(map(re.escape, closings)), re.IGNORECASE)

    def _may_become_tag(self, rest: str) -> bool:
        if any(tag.startswith(rest) for tag in self._tags):
            return True
        return not self._reasoned and any(tag.startswith(rest) for tag in self._orphans)

    def _at_fence(self, buffer: str, start: int, body: int, *, final: bool) -> int:
        mark, end = buffer[body], body
        while end < len(buffer) and buffer[end] == mark:
            end += 1
        if end == len(buffer) and not final:
            return -1
        run = buffer[body:end]
        if not self._fence:
            self._fence = run if len(run) >= 3 else ""
        elif run.startswith(self._fence) and (end == len(buffer) or buffer[end].isspace()):
            self._fence = ""
        self._begin(buffer[start:body])
        self._say(run)
        self._blank = False
        return end


def _beginning_at_end(text: str, closings: tuple[str, ...]) -> int:
    """How many last characters of ``text`` could be the beginning of a closing tag."""
    firsts = {closing[0] for closing in closings}
    if firsts.isdisjoint(text):
        return 0
    longest = max(map(len, closings)) - 1
    for size in range(min(longest, len(text)), 0, -1):
        tail = text[-size:].lower()
        if tail[0] in firsts and any(closing.startswith(tail) for closing in closings):
            return size
    return 0
