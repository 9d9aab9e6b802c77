"""Setup: what a plugin has to ask a person. Provisional until a second command asks it.

`hermes setup` asks the sections of every plugin that is on, in the order of their parts, and writes
nothing before everything was answered. A question is a value: no code of the plugin runs while the
person is asked, but for a question's own ``check``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from hermes_plugins._messages import Json


class SetupQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """One question. What is proposed is the value that counts now, else ``default``."""

    key: str
    """A setting, such as ``plugins.irc.nick``, or a variable of the plugin's own, which goes to .env."""
    text: str
    """What is asked, without a mark at its end: "Server"."""
    kind: Literal["text", "list", "secret", "choice", "yes_no"] = "text"
    """A ``list`` is typed with commas; a ``secret`` is not shown."""
    choices: tuple[str, ...] = ()
    default: Json = None
    help: str = ""
    """A line above the question: what it is for, where to get it."""
    required: bool = False
    """Without a value what the section is about does not work."""
    only_if: str = ""
    """Key of an earlier question of the section; this one is left out where that is a no or empty."""
    check: Callable[[str], str] | None = None
    """What is wrong with an answer, "" where nothing is; pure. The type is checked without it."""


class SetupSection(msgspec.Struct, frozen=True, kw_only=True):
    """Questions on one thing; ``part`` is where in `hermes setup` they belong."""

    part: Literal["model", "speech", "terminal", "gateway", "tools", "agent"]
    title: str
    questions: tuple[SetupQuestion, ...]
    help: str = ""
