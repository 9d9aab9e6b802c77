"""Shell text as the simple commands that a shell would make of it.

A reader of its own, without a dependency: it takes quotes, escapes, ``$'..'``, ``${IFS}``, literal
variables, here-documents, substitutions, ``sh -c`` and wrappers apart, and never raises on broken
text. The hard floor and the deny list stand on it. It is generous about what counts as a command,
so it may not be used to call one harmless; `commands` asks the real grammar for that.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from hermes_core.patterns import lazy


def word_set(text: str) -> frozenset[str]:
    """A table of words, written as one line of text."""
    return frozenset(text.split())


UNKNOWN = "\ufffd"
"""Stands in a word for what only the running shell can know."""

MAX_CHARS = 128_000
MAX_COMMANDS = 25_000
MAX_DEPTH = 8
_MAX_VALUE = 256
"""Characters of a variable's value; a line that doubles one again and again would fill the memory."""

SHELLS = word_set("sh bash dash zsh ksh mksh ash fish")

_PLAIN = lazy(r"[^\s\\'\"$`;&|<>()#*?\[{]+")
_IN_DOUBLE = lazy(r'[^"\\$`]+')
_REDIRECT = lazy(r"&>>?|<<<|<<-?|<>|>>|>\||[<>]&|[<>]")
_BRACED = lazy(r"\$\{([!#]?)(\w+|[@*])(?:(:?[-=+?])([^{}]*)|[^{}]*)\}")
_NAMED = lazy(r"\$([A-Za-z_]\w*)")
_ANSI = lazy(r"\$'((?:[^'\\]|\\.)*)'?", re.DOTALL)
_ANSI_ESCAPE = lazy(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL
)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f"}
_SCRIPT_FLAG = lazy(r"-\w*c\w*|--command")
_ASSIGNMENT = lazy(r"([A-Za-z_]\w*)\+?=(.*)", re.DOTALL)
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_RESERVED = word_set("if then else elif fi do done while until esac ! { } coproc function")
_HEADS = frozenset({"for", "select", "case"})
_DECLARES = frozenset({"export", "declare", "local", "readonly", "typeset"})

_WRAPPERS = {
    "sudo": "ugCDhpRrTtU", "doas": "uC", "env": "uC", "nohup": "", "time": "of", "timeout": "ks",
    "nice": "n", "ionice": "cnp", "command": "", "builtin": "", "exec": "a", "xargs": "InPLdEsa",
    "setsid": "", "stdbuf": "ioe", "busybox": "", "toybox": "", "chroot": "", "flock": "wE",
    "watch": "n", "strace": "oep", "caffeinate": "tw",
    "systemd-run": "pEu", "unshare": "", "runuser": "ugG", "chrt": "",
}  # fmt: skip
"""Commands that run another one, and which of their short options take a value."""
_LONG_VALUED = frozenset({"--user", "--group", "--chdir", "--unset", "--signal", "--kill-after"})
_OPERANDS = frozenset({"timeout", "chroot", "flock"})
"""Those that take one operand before the command."""


class Simple(msgspec.Struct, frozen=True):
    """One simple command. ``inner`` is ``argv`` without its wrappers, its name without folder.

    ``redirects`` are pairs of operator and target; ``loose`` are the positions in ``argv`` that hold
    an unquoted pattern or brace.
    """

    argv: tuple[str, ...]
    inner: tuple[str, ...]
    redirects: tuple[tuple[str, str], ...] = ()
    loose: frozenset[int] = frozenset()
    assigns: bool = False


class _Line(msgspec.Struct):
    """What is known of the whole line while it is read; ``documents`` may be fed to a shell."""

    variables: dict[str, str]
    commands: list[Simple] = []
    documents: list[str] = []


class TooComplex(Exception):
    """Raised when a command is longer or deeper than anybody would write."""


def simple_commands(text: str, *, variables: Mapping[str, str] | None = None) -> list[Simple]:
    """Every simple command of ``text``, also those in substitutions and inside ``sh -c``.

    Raises:
        TooComplex: over `MAX_CHARS`, `MAX_COMMANDS` or `MAX_DEPTH`.
    """
    if len(text) > MAX_CHARS:
        raise TooComplex(f"the command is longer than {MAX_CHARS:,} characters")
    line = _Line(dict(variables or {}))
    _collect(text, line, 0)
    return line.commands


def base_name(word: str) -> str:
    """The name of a program: no folder, no ``.exe``, in lower case."""
    return re.split(r"[/\\]", word)[-1].lower().removesuffix(".exe")


def unwrap(argv: Sequence[str]) -> tuple[str, ...]:
    """``argv`` without sudo, env, timeout and their kind, the name reduced to its base.

    What is unknown in a name counts as nothing, which an unset variable is.
    """
    words = list(argv)
    while words:
        name = base_name(words[0].replace(UNKNOWN, ""))
        if not name and UNKNOWN in words[0]:
            words = words[1:]
            continue
        only_asks = name == "command" and words[1:2] in (["-v"], ["-V"])
        rest = _after_options(name, words[1:]) if name in _WRAPPERS else []
        if only_asks or not rest:
            return (name, *words[1:])
        words = rest
    return ()


def _after_options(name: str, words: list[str]) -> list[str]:
    at = 0
    while at < len(words) and (words[at].startswith("-") or "=" in words[at]):
        if words[at] == "--":
            at += 1
            break
        valued = re.fullmatch(rf"-[^-{_WRAPPERS[name]}]*[{_WRAPPERS[name]}-]", words[at])
        at += 2 if valued or words[at] in _LONG_VALUED else 1
    return words[at + (name in _OPERANDS) :]


def _collect(text: str, line: _Line, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise TooComplex("the command is nested too deeply")
    first = len(line.commands)
    _Reader(text, line, depth).read()
    new = line.commands[first:]
    if len(line.commands) > MAX_COMMANDS:
        raise TooComplex(f"the command has more than {MAX_COMMANDS:,} parts")
    by_find: list[Simple] = []
    for simple in itertools.chain(new, by_find):
        for script in _scripts(simple, by_find if len(by_find) < MAX_DEPTH else []):
            _collect(script, line, depth + 1)
    line.commands += by_find
    if any(_reads_script(simple.inner) for simple in new):
        spoken = [" ".join(simple.inner[1:]) for simple in new if simple.inner[:1] in _SPEAKERS]
        documents, line.documents = line.documents, []
        for script in [*documents, *spoken]:
            _collect(script, line, depth + 1)


_NO_SCRIPT = ("-", "+", UNKNOWN, "")
_SPEAKERS = (("echo",), ("printf",))


def _reads_script(inner: tuple[str, ...]) -> bool:
    """Whether it is a shell that takes its script from standard input."""
    if not inner or inner[0] not in SHELLS:
        return False
    return "-s" in inner or all(word[:1] in "-+" or word == "/dev/stdin" for word in inner[1:])


def _scripts(simple: Simple, found: list[Simple]) -> Iterator[str]:
    """Shell text among the arguments; a program that ``find`` runs goes to ``found`` as it is."""
    name, *words = simple.inner or ("",)
    outer = base_name(simple.argv[0]) if simple.argv else ""
    if name in SHELLS or name == "su":
        flag = next(
            (at for at, word in enumerate(words) if _SCRIPT_FLAG.fullmatch(word)), len(words)
        )
        yield from [word for word in words[flag + 1 :] if word[:1] not in _NO_SCRIPT][:1]
    elif name in ("eval", "trap"):
        yield " ".join(words if name == "eval" else words[:1])
    elif outer == "watch":
        yield " ".join(_after_options("watch", list(simple.argv[1:])))
    elif outer == "env":
        starts = [at for at, word in enumerate(simple.argv) if word.startswith("-S")]
        for at in starts[:1]:
            yield " ".join([simple.argv[at][2:], *simple.argv[at + 1 :]])
    elif name == "find":
        starts = [at for at, word in enumerate(words) if word in _FIND_RUNS]
        for at in starts[:MAX_DEPTH]:
            argv = tuple(itertools.takewhile(lambda word: word not in (";", "+"), words[at + 1 :]))
            found.append(Simple(argv, unwrap(argv)))


class _Reader:
    """Goes over the text once; nested substitutions are read by readers of their own."""

    def __init__(self, text: str, line: _Line, depth: int, *, at: int = 0) -> None:
        if depth > MAX_DEPTH * 4:
            raise TooComplex("the command is nested too deeply")
        self.text = text
        self.line = line
        self.depth = depth
        self.at = at
        self.inside = at > 0
        self.open = 0
        self.word: list[str] | None = None
        self.loose_word = False
        self.quoted_word = False
        self.words: list[str] = []
        self.loose: set[int] = set()
        self.redirects: list[tuple[str, str]] = []
        self.operator = ""
        self.delimiters: list[tuple[str, bool]] = []

    def read(self) -> None:
        while self.at < len(self.text):
            if self.inside and not self.open and self.text[self.at] == ")":
                self.at += 1
                break
            self._step()
        self._end_command()

    def _step(self) -> None:
        text, at = self.text, self.at
        char = text[at]
        self.quoted_word = self.quoted_word or char in "'\"\\"
        if plain := _PLAIN.match(text, at):
            self._add(plain[0], plain.end())
        elif char == "\\":
            self._add("" if text[at + 1 : at + 2] == "\n" else text[at + 1 : at + 2], at + 2)
        elif char == "'":
            end = text.find("'", at + 1)
            end = len(text) if end < 0 else end
            self._add(text[at + 1 : end], end + 1)
        elif char == '"':
            self._double(at + 1)
        elif char == "`":
            self._backticks()
        elif char == "$":
            self._dollar(quoted=False)
        elif char == "#" and self.word is None:
            end = text.find("\n", at)
            self.at = len(text) if end < 0 else end
        elif char == "\n":
            self.at += 1
            self._end_word()
            self._read_documents()
            self._end_command()
        elif char.isspace():
            self._end_word()
            self.at += 1
        elif char in "<>" or text.startswith("&>", at):
            self._redirect()
        elif char in ";&|()":
            self.open += {"(": 1, ")": -1}.get(char, 0)
            self._end_command()
            self.at += 1
        else:
            self.loose_word = self.loose_word or char in "*?[{"
            self._add(char, at + 1)

    def _add(self, piece: str, at: int) -> None:
        if self.word is None:
            self.word = []
        self.word.append(piece)
        self.at = at

    def _double(self, at: int) -> None:
        self._add("", at)
        while self.at < len(self.text):
            text, at = self.text, self.at
            if plain := _IN_DOUBLE.match(text, at):
                self._add(plain[0], plain.end())
            elif text[at] == '"':
                self.at += 1
                return
            elif text[at] == "\\":
                escaped = text[at + 1 : at + 2]
                plain_backslash = "" if escaped in ("$", "`", '"', "\\", "\n") else "\\"
                self._add(plain_backslash + escaped.replace("\n", ""), at + 2)
            elif text[at] == "`":
                self._backticks()
            else:
                self._dollar(quoted=True)

    def _backticks(self) -> None:
        end = self.at + 1
        while end < len(self.text) and self.text[end] != "`":
            end += 2 if self.text[end] == "\\" else 1
        inner = self.text[self.at + 1 : end].replace("\\`", "`")
        _Reader(inner, self.line, self.depth + 1).read()
        self._add(UNKNOWN, end + 1)

    def _nested(self, at: int) -> None:
        nested = _Reader(self.text, self.line, self.depth + 1, at=at)
        nested.read()
        self._add(UNKNOWN, nested.at)

    def _dollar(self, *, quoted: bool) -> None:
        text, at = self.text, self.at
        after = text[at + 1 : at + 2]
        if after == "(":
            self._nested(at + 2)
        elif after == "'" and not quoted and (ansi := _ANSI.match(text, at)):
            self._add(_ANSI_ESCAPE.sub(_decode_escape, ansi[1]), ansi.end())
        elif after == '"' and not quoted:
            self._double(at + 2)
        elif braced := _BRACED.match(text, at):
            self.at = braced.end()
            self._expand(self._braced(braced), quoted=quoted)
        elif named := _NAMED.match(text, at):
            self.at = named.end()
            self._expand(self._value(named[1]), quoted=quoted)
        elif after in ("@", "*"):
            self._add("", at + 2)
        elif after and after in "?#!$-0123456789":
            self._add(UNKNOWN, at + 2)
        else:
            self._add("$", at + 1)

    def _value(self, name: str) -> str:
        value = " " if name == "IFS" else self.line.variables.get(name, UNKNOWN)
        return value if len(value) <= _MAX_VALUE else UNKNOWN

    def _braced(self, match: re.Match[str]) -> str:
        prefix, name, operator, other = match.groups()
        if name in ("@", "*") and not prefix:
            return ""
        if operator and operator[-1] in "-=" and name not in self.line.variables and name != "IFS":
            return other.strip("'\"")
        plain = not prefix and match[0] == f"${{{name}}}"
        return self._value(name) if plain or name == "IFS" else UNKNOWN

    def _expand(self, value: str, *, quoted: bool) -> None:
        pieces = [value] if quoted else re.split(r"\s+", value)
        for number, piece in enumerate(pieces):
            if number:
                self._end_word()
            if piece or quoted:
                self._add(piece, self.at)

    def _redirect(self) -> None:
        match = _REDIRECT.match(self.text, self.at)
        assert match is not None
        if self.text.startswith("(", match.end()) and match[0] in "<>":
            self._nested(match.end() + 1)
            return
        if self.word is not None and "".join(self.word).isdigit():
            self.word = None
        self._end_word()
        self.operator = match[0]
        self.at = match.end()

    def _end_word(self) -> None:
        if self.word is None:
            return
        word = "".join(self.word)
        if self.operator:
            self.redirects.append((self.operator, word))
            if self.operator == "<<<":
                self.line.documents.append(word)
            elif self.operator.startswith("<<"):
                self.delimiters.append((word, self.quoted_word))
            self.operator = ""
        else:
            if self.loose_word and word != "[":
                self.loose.add(len(self.words))
            self.words.append(word)
        self.word = None
        self.loose_word = self.quoted_word = False

    def _read_documents(self) -> None:
        for delimiter, quoted in self.delimiters:
            ending = lazy(rf"^\t*{re.escape(delimiter)}$", re.MULTILINE)
            end = ending.search(self.text, self.at)
            stop = end.start() if end else len(self.text)
            body = self.text[self.at : stop]
            self.line.documents.append(body)
            if not quoted and ("$" in body or "`" in body):
                inner = body.replace('"', '\\"')
                _Reader(f': "{inner}"', self.line, self.depth + 1).read()
            self.at = end.end() if end else stop
        self.delimiters = []

    def _end_command(self) -> None:
        self._end_word()
        start = 0
        while start < len(self.words) and self.words[start] in _RESERVED:
            start += 2 if self.words[start] == "function" else 1
        assigned = start
        while assigned < len(self.words) and (match := _ASSIGNMENT.fullmatch(self.words[assigned])):
            self.line.variables[match[1]] = match[2]
            assigned += 1
        argv = tuple(self.words[assigned:])
        if argv and argv[0] in _DECLARES:
            pairs = (_ASSIGNMENT.fullmatch(word) for word in argv[1:])
            self.line.variables.update((pair[1], pair[2]) for pair in pairs if pair)
        if argv[:1] != () and argv[0] in _HEADS:
            argv = ()
        if argv or self.redirects or assigned > start:
            loose = frozenset(at - assigned for at in self.loose if at >= assigned)
            redirects = tuple(self.redirects)
            self.line.commands.append(
                Simple(argv, unwrap(argv), redirects, loose, assigned > start)
            )
        self.words, self.loose, self.redirects, self.operator = [], set(), [], ""


def _decode_escape(match: re.Match[str]) -> str:
    hexadecimal = match[1] or match[2] or match[3]
    code = int(hexadecimal, 16) if hexadecimal else int(match[4], 8) if match[4] else None
    if code is None:
        return _ANSI_LETTERS.get(match[5], match[5])
    return chr(code) if code <= 0x10FFFF else UNKNOWN
