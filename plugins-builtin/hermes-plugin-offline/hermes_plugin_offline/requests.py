"""What the stand-in understands: two tables of plain requests, and the tool calls they stand for.

Only what the person wrote is read as a request; a tool result never is, so nothing in a file can give
orders here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import msgspec

from hermes_plugins import Json


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A tool to call; ``shown`` names what it works on."""

    tool: str
    arguments: dict[str, Json]
    shown: str


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """Calls to make side by side, or else a ``topic`` to talk about."""

    calls: tuple[Call, ...] = ()
    topic: str = ""


MAX_FILES = 8
"""Files of one request: as many calls as run at once."""


def understand(text: str) -> list[Step]:
    """The steps that a request asks for, in order; none when it is not understood.

    "A, then B" is two steps where A and B are requests of their own.
    """
    parts = re.split(r"\s*,\s*(?:and\s+)?then\s+|\s+and\s+then\s+", text.strip())
    steps = [step for part in parts if (step := _understand(part))]
    if len(steps) == len(parts):
        return steps
    return [step] if (step := _understand(text)) else []


_LEAD = re.compile(r"(?i)(?:(?:please|hermes)\b[,:]?\s*|(?:can|could|would)\s+you\s+)+")
_TAIL = re.compile(r"(?i)(?:,?\s*\bplease)?\s*(?:[?!]+|(?<=[\w`\"')*])\.)?$")


def _understand(text: str) -> Step | None:
    text = text.strip()
    if lead := _LEAD.match(text):
        text = text[lead.end() :]
    return _look_up(_EXACT, text) or _look_up(_LOOSE, _TAIL.sub("", text, count=1))


def _look_up(table: Iterable[tuple[re.Pattern[str], Build]], text: str) -> Step | None:
    for pattern, build in table:
        if (match := pattern.fullmatch(text)) and (step := build(match)):
            return step
    return None


# -- From words to calls; None means "on second thoughts, not this one" ----------------------

Build = Callable[[re.Match[str]], Step | None]


def _topic(name: str) -> Build:
    return lambda match: Step(topic=name)


def _one(tool: str, shown: str, **arguments: Json) -> Step:
    return Step(calls=(Call(tool=tool, arguments=arguments, shown=shown),))


def _bare(words: str | None) -> str:
    """A name or text without its quotes."""
    name = (words or "").strip()
    if len(name) > 1 and name[0] == name[-1] and name[0] in "\"'`":
        return name[1:-1]
    return name


def _run(match: re.Match[str]) -> Step:
    command = _bare(match["command"])
    return _one("terminal", command, command=command)


def _write(match: re.Match[str]) -> Step | None:
    said, content = match["path"], _bare(match["text"])
    path = _bare(re.sub(r"(?<=[\w`\"'])\.$", "", said))
    if not match["word"] and said[0] not in "\"'`" and not re.search(r"\.\w|[/\\]", path):
        return None  # "write a poem in French"
    return _one("write_file", path, path=path, content=f"{content}\n")


def _remember(match: re.Match[str]) -> Step:
    text = match["text"].strip()
    target = "user" if re.match(r"(?i)(?:i|my|me|i['’]m|call me)\b", text) else "memory"
    return _one("memory", text, action="add", target=target, content=text)


_HERE = re.compile(
    r"(?i)(?:(?:all\s+)?(?:the\s+|this\s+|my\s+)?(?:current\s+)?(?:folder|directory|dir|files)|here)?"
)
_AROUND = re.compile(
    r"(?i)^(?:the\s+|in\s+)*(?:folder\s+|directory\s+)?(?=\S)|(?<=\S)\s+(?:folder|directory)$"
)


def _place(words: str | None) -> str:
    """The folder that is meant; "." for this one."""
    said = (words or "").strip()
    return "." if _HERE.fullmatch(said) else _bare(_AROUND.sub("", said))


def _list(match: re.Match[str]) -> Step | None:
    path = _place(match["place"])
    if not _is_name(path, _bare(match["place"]) != (match["place"] or "").strip()):
        return None
    return _one("read_file", path, path=path)  # of a folder it gives the names


def _find(match: re.Match[str]) -> Step:
    glob, path = _bare(match["glob"]), _place(match["place"])
    return _one("search_files", glob, pattern=glob, target="files", path=path)


def _search(match: re.Match[str]) -> Step:
    text, path = _bare(match["text"]), _place(match["place"])
    # The tool takes a regular expression; a plain request means its words as they stand.
    literal = re.sub(r"[\\.^$*+?{}\[\]|()]", r"\\\g<0>", text)
    return _one("search_files", text, pattern=literal, target="content", path=path)


def _read(match: re.Match[str]) -> Step | None:
    names = match["names"]
    quoted = re.findall(r"`[^`]+`|\"[^\"]+\"|'[^']+'", names)
    paths = [_bare(name) for name in quoted or re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", names)]
    sure = bool(match["sure"] or match["word"] or quoted)
    if len(paths) > MAX_FILES or not all(_is_name(path, bool(quoted)) for path in paths):
        return None
    if not sure and not all(re.search(r"[./\\]", path) for path in paths):
        return None
    calls = (Call(tool="read_file", arguments={"path": path}, shown=path) for path in paths)
    return Step(calls=tuple(calls))


def _is_name(path: str, quoted: bool) -> bool:
    """Whether it may be a file's name: unquoted words are a sentence, unless a dot or slash says no."""
    return bool(path) and (quoted or " " not in path or bool(re.search(r"\.\w|[/\\]", path)))


def _table(*rows: tuple[str, Build]) -> tuple[tuple[re.Pattern[str], Build], ...]:
    return tuple((re.compile(pattern, re.IGNORECASE | re.DOTALL), build) for pattern, build in rows)


_QUOTED = r"(?:`[^`]+`|\"[^\"]+\"|'[^']+')"
_NAME = rf"(?:{_QUOTED}|\S+)"
_FOLDER = (
    rf"(?P<place>(?:(?:the|this|my|current|folder|directory)\s+)*{_NAME}"
    r"(?:\s+(?:folder|directory))?)"
)
_SEARCH = r"(?:search|grep|find|look)\s+(?:for\s+)?"
_IN = rf"\s+(?:in|under|inside|within)\s+{_FOLDER}"

# Taken to the last character: a command, a text.
_EXACT = _table(
    (r"(?:run|execute|exec)(?: the command)?:?\s+(?P<command>.+)", _run),
    (r"[!$]\s*(?P<command>.+)", _run),
    (
        r"(?:write|save|put)\s+(?P<text>.+)\s+(?:to|into|in)\s+(?:the\s+)?(?P<word>file\s+)?"
        rf"(?P<path>{_NAME})",
        _write,
    ),
    (
        rf"create\s+(?:(?:a|the)\s+)?(?P<word>file\s+)?(?P<path>{_NAME})\s+"
        r"(?:with|containing)\s+(?P<text>.+)",
        _write,
    ),
    (r"(?:remember|note)(?:\s+that\b|:)?\s+(?P<text>.+)", _remember),
)

# "please" and the last mark taken off.
_LOOSE = _table(
    (r"help|commands|what (?:can|do) you (?:do|understand|know)|", _topic("help")),
    (r"(?:hi|hello|hey|good (?:morning|day|evening))(?:,? (?:there|hermes))?", _topic("hello")),
    (
        r"(?:who|what) are you|are you (?:an? )?(?:human|person|ai|bot|llm|(?:language )?model)"
        r"|(?:which|what) model (?:are you|is this)",
        _topic("who"),
    ),
    (
        r"what do you (?:remember|know about me)(?: about me)?"
        r"|(?:show|list|read)(?: me)? (?:your|the) (?:memory|memories|notes)",
        _topic("recall"),
    ),
    (
        r"(?:find|list|show)(?: me)?(?: all)?(?: the)?\s+files?\s+"
        rf"(?:(?:named|called|matching|like)\s+)?(?P<glob>\S*[*?.]\S*)(?:{_IN})?",
        _find,
    ),
    (
        r"(?:find|show(?: me)?|what(?: files)?(?: is| are|'s)(?: in)?)\s+"
        r"(?P<place>(?:this|the|the current) (?:folder|directory)|here|(?:all )?(?:the )?files)",
        _list,
    ),
    (rf"(?:search|grep)\s+in\s+(?P<place>{_NAME})\s+for\s+(?P<text>.+)", _search),
    (rf"{_SEARCH}(?P<text>{_QUOTED})(?:{_IN})?", _search),
    (rf"{_SEARCH}(?P<text>.+){_IN}", _search),
    (rf"{_SEARCH}(?P<text>.+)(?P<place>)", _search),
    (r"(?:ls|dir|list)(?:\s+(?:files\s+(?:in|of)\s+)?(?P<place>.+))?", _list),
    (
        r"(?:(?P<sure>read|cat|type)|show|open|print|display|view)(?: me)?(?: the)?"
        r"(?P<word>\s+files?)?\s+(?P<names>.+)",
        _read,
    ),
)
