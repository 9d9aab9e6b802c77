"""What a shell command risks: harmless, to be asked about, or under the hard floor.

Harmless is only what two readers agree on: the real grammar of bash (tree-sitter, optional) finds
nothing but plain commands, pipes and lists, and `words` splits the line into as many commands of as
many words; then each has to stand in a table of commands that only read. All else asks.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from hermes_core.gate import floor
from hermes_core.gate.words import UNKNOWN, Simple, TooComplex, simple_commands, unwrap, word_set
from hermes_core.patterns import lazy

if TYPE_CHECKING:
    from tree_sitter import Node

    from hermes_core.gate.paths import ProtectedPaths

INSTALL_LINE = "pip install tree-sitter tree-sitter-bash"

Level: TypeAlias = Literal["harmless", "ask", "floor"]


class CommandRisk(msgspec.Struct, frozen=True):
    """``commands`` are the simple commands found, wrappers taken off; ``argvs`` the same with them.

    ``writes`` are paths that the line visibly writes or removes; it may touch others.
    """

    level: Level
    reason: str
    commands: tuple[str, ...] = ()
    argvs: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    removes: tuple[str, ...] = ()


def parser_available() -> bool:
    """Whether the grammar is installed."""
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError:
        return False
    return bool(tree_sitter and tree_sitter_bash)


def assess(command: str, *, workspace: str, paths: ProtectedPaths | None = None) -> CommandRisk:
    """Judge ``command`` as it would run in ``workspace``. With ``paths``, reading those asks."""
    home = paths.home if paths else ""
    variables = {"HOME": home, "USERPROFILE": home} if home else {}
    try:
        simples = simple_commands(command, variables={**variables, "PWD": workspace})
    except TooComplex as error:
        return CommandRisk("floor", str(error))
    forbidden = floor.text_reason(command) or floor.reason(simples, home=home, cwd=workspace)
    reason = "" if forbidden else _objection(command, simples, workspace, paths)
    writes, removes = _touched(simples, workspace)
    return CommandRisk(
        "floor" if forbidden else "ask" if reason else "harmless",
        forbidden or reason,
        tuple(" ".join(simple.inner) for simple in simples if simple.inner),
        tuple(" ".join(simple.argv) for simple in simples if simple.argv),
        writes,
        removes,
    )


def _objection(
    command: str, simples: list[Simple], workspace: str, paths: ProtectedPaths | None
) -> str:
    """Why the command is not plainly harmless, or ""."""
    if not parser_available():
        if not _SPELLED_OUT.fullmatch(command):
            return f"it cannot be analysed without the shell parser ({INSTALL_LINE})"
    elif reason := _structure(command, simples):
        return reason
    place = _Place(workspace, paths)
    return next((reason for simple in simples if (reason := place.objection(simple))), "")


# --- the grammar's word -------------------------------------------------------------------

_SPELLED_OUT = lazy(r"[\w ./,:@%+-]*", re.ASCII)
_STRANGE = lazy(r"[^\S \t\n]|[\x00-\x08\x0e-\x1f\x7f]|\\\n|\\'")
"""Blanks that only one of the readers may take for blanks, and quoting on which shells differ."""

_MAX_PARSED = 4_000
"""Characters; the grammar's recovery from errors is quadratic (30 s for 120,000 characters)."""

_NODES = word_set(
    "program list pipeline command command_name word number string string_content raw_string "
    "concatenation negated_command redirected_statement file_redirect file_descriptor comment "
    "command_substitution test_command unary_expression binary_expression test_operator"
)
_TOKENS = word_set("&& || | |& ; ! $( ) [ ] > >& &> < = == != -a -o") | {"\n", '"'}


def _structure(command: str, simples: list[Simple]) -> str:
    if len(command) > _MAX_PARSED:
        return f"it is longer than {_MAX_PARSED:,} characters"
    if _STRANGE.search(command):
        return "it has characters that shells read differently"
    root = _parse(command)
    if root.has_error:
        return "it could not be parsed"
    lengths = []
    for node in _walk(root):
        allowed = _NODES if node.is_named else _TOKENS
        if node.type not in allowed or node.is_missing:
            kind = node.type.replace("_", " ") if node.is_named else repr(node.type)
            return f"it is more than plain commands: {kind}"
        if node.type == "command_substitution" and not _is_quoted(node):
            return "it runs a command inside another"
        if node.type == "command":
            lengths.append(sum(child.type not in _REDIRECTS for child in node.named_children))
    plain = (len(simple.argv) for simple in simples if simple.argv[:1] != ("[",))
    if sorted(lengths) != sorted(length for length in plain if length):
        return "it could not be parsed with certainty"
    return ""


_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})


def _parse(command: str) -> Node:
    import tree_sitter
    import tree_sitter_bash

    language = tree_sitter.Language(tree_sitter_bash.language())
    return tree_sitter.Parser(language).parse(command.encode()).root_node


def _walk(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


def _is_quoted(node: Node) -> bool:
    return node.parent is not None and node.parent.type == "string"


# --- the table ----------------------------------------------------------------------------

_NAMES_ONLY = word_set(
    "echo printf pwd true false : whoami id groups uname arch nproc uptime sleep seq ls dirname "
    "basename which type df date test [ find cd hostname command"
)
"""Commands that show no file's content, so protected paths may stand among their arguments."""

_READERS = word_set(
    "cat head tail wc grep egrep fgrep stat cut tr nl tac rev cmp diff comm join paste column fold "
    "md5sum sha1sum sha256sum sha512sum cksum readlink realpath od strings jq du"
)
_FOLDED = word_set("ls cat head tail wc grep egrep fgrep stat echo du diff")
"""Commands for which no file name can act as a dangerous option, so patterns may stand there."""

_VERSIONED = word_set(
    "python python3 pip pip3 uv node npm npx pnpm yarn deno bun ruby perl php go rustc cargo java "
    "javac gcc g++ clang make cmake git docker bash zsh tmux jq rg ruff mypy pytest"
)
_WIDE = lazy(r"^[/~]|\.\.|[{]|(?:^|/)\.[^/]*[*?\[]")
"""Patterns that may reach outside the workspace or to hidden files."""

_TRUSTED_FOLDERS = frozenset({"/bin", "/usr/bin", "/usr/local/bin"})

_FIND_ACTS = lazy(r"-(?:exec|ok|delete|fprint|fls|files0).*")
_SORT = lazy(r"-[bdfghiMnRrsuVz]+|-k[\d.,a-zA-Z]*|-t.?|--(?:reverse|unique|numeric-sort)|[^-].*")
_SED = lazy(r"(?:\d+|\$)(?:,(?:\d+|\$))?[pq]?")
_GIT_READS = word_set(
    "status log diff show rev-parse ls-files blame describe shortlog branch tag remote stash"
)
_GIT_BAD = lazy(r"--(?:ou|ex).*")
_GIT_LISTS = {
    "branch": lazy(r"-a|-r|-v|-vv|--list|--all|--remotes|--show-current|--no-color"),
    "tag": lazy(r"-l|--list|-n\d*"),
    "remote": lazy(r"-v|--verbose"),
    "stash": lazy(r"list"),
}


def _git(words: Sequence[str]) -> bool:
    words = [word for word in words if word != "--no-pager"]
    if not words or words[0] not in _GIT_READS or any(map(_GIT_BAD.fullmatch, words)):
        return False
    lists = _GIT_LISTS.get(words[0])
    if lists is None:
        return True
    return all(map(lists.fullmatch, words[1:])) and (words[0] != "stash" or len(words) > 1)


def _no(*banned: str) -> Callable[[Sequence[str]], bool]:
    return lambda words: not any(word.startswith(banned) for word in words)


_CHECKS: dict[str, Callable[[Sequence[str]], bool]] = {
    "find": lambda words: not any(map(_FIND_ACTS.fullmatch, words)),
    "sort": lambda words: all(map(_SORT.fullmatch, words)),
    "uniq": lambda words: sum(not word.startswith(("-", "+")) for word in words) <= 1,
    "sed": lambda words: len(words) >= 2 and words[0] == "-n" and bool(_SED.fullmatch(words[1])),
    "git": _git,
    "rg": _no("--pre", "--hostname-bin"),
    "tree": _no("-o", "-R", "--ou"),
    "file": _no("-C", "--c", "-m", "--m"),
    "date": lambda words: all(re.fullmatch(r"\+.*|-u|-R|-I\w*|--utc", word) for word in words),
    "hostname": lambda words: not words,
    "printf": _no("-v"),
    "test": lambda words: not any(re.search(r"[$`]|^-[vR]$", word) for word in words),
    "command": lambda words: len(words) == 2 and words[0] in ("-v", "-V"),
}
_CHECKS["["] = _CHECKS["test"]


class _Place:
    """Where a line's commands run, one after the other, and what may be read there."""

    def __init__(self, workspace: str, paths: ProtectedPaths | None) -> None:
        self.workspace = workspace
        self.folder = workspace
        self.paths = paths

    def objection(self, simple: Simple) -> str:
        """Why this command is not harmless, or ""."""
        if simple.assigns:
            return "it sets a variable"
        for operator, target in simple.redirects:
            if reason := self._redirect(operator, target):
                return reason
        if not simple.argv:
            return ""
        argv = _timed(simple.argv)
        folder, _, name = argv[0].rpartition("/")
        if folder and folder not in _TRUSTED_FOLDERS:
            return f"it runs {argv[0]}"
        words = argv[1:]
        if words and simple.loose and name not in _FOLDED:
            return f"a pattern may add arguments to {name}"
        if any(UNKNOWN in word for word in argv) and name != "echo":
            return "its arguments are not known before it runs"
        if name == "cd":
            return self._enter(words)
        if any(_WIDE.search(simple.argv[at]) for at in simple.loose):
            return "its pattern may name protected files"
        return self._by_table(name, words) or self._reads(name, words)

    def _by_table(self, name: str, words: Sequence[str]) -> str:
        if name in _VERSIONED and len(words) == 1 and words[0] in ("--version", "-V"):
            return ""
        check = _CHECKS.get(name)
        if check is not None:
            return "" if check(words) else f"{name} can change things when it is called like this"
        known = name in _NAMES_ONLY or name in _READERS
        return "" if known else f"{name} is not on the list of commands that only read"

    def _redirect(self, operator: str, target: str) -> str:
        if operator in (">", "&>") and target == "/dev/null":
            return ""
        if operator in (">&", "<&") and target.isdigit():
            return ""
        if operator == "<" and UNKNOWN not in target:
            return self._protected(target)
        return "it writes to a file" if ">" in operator else "it reads from a redirect"

    def _enter(self, words: Sequence[str]) -> str:
        """`cd` stays harmless inside the workspace only: a shell may keep it for the next call."""
        target = os.path.join(self.folder, words[0]) if len(words) == 1 else ""
        if not target or words[0].startswith(("-", "~")) or not self._inside(target):
            return "it leaves the workspace"
        self.folder = target
        return ""

    def _inside(self, target: str) -> bool:
        real, root = os.path.realpath(target), os.path.realpath(self.workspace)
        return real == root or real.startswith(root.rstrip(os.sep) + os.sep)

    def _reads(self, name: str, words: Sequence[str]) -> str:
        if name in _NAMES_ONLY or self.paths is None:
            return ""
        for path in (path for word in words for path in _spelled_paths(word)):
            if reason := self._protected(path):
                return reason
        return self._reads_below(name, words)

    def _reads_below(self, name: str, words: Sequence[str]) -> str:
        recursive = name == "rg" or (
            name in ("grep", "egrep", "fgrep", "diff")
            and any(re.match(r"-[a-zA-Z]*[rR]|--(?:de)?re", word) for word in words)
        )
        if not recursive or self.paths is None:
            return ""
        roots = [word for word in words if not word.startswith("-")] or ["."]
        folders = [*map(self._resolve, roots), *([self.folder] if len(roots) < 2 else [])]
        if any(self.paths.holds_secrets(folder) for folder in folders):
            return "it would read a folder that holds secrets"
        return ""

    def _protected(self, path: str) -> str:
        reason = self.paths.read_reason(self._resolve(path)) if self.paths else ""
        return f"it reads {path}: {reason}" if reason else ""

    def _resolve(self, path: str) -> str:
        return path if path.startswith("~") else os.path.join(self.folder, path)


def _timed(argv: tuple[str, ...]) -> tuple[str, ...]:
    """``argv`` without a leading ``time``, ``nice`` or ``timeout`` and their options."""
    inner = unwrap(argv)
    bare = inner[0] == argv[len(argv) - len(inner)]
    return inner if argv[0] in ("time", "nice", "timeout") and bare else argv


def _spelled_paths(word: str) -> Iterable[str]:
    """What in an argument may be a path: all of it, behind ``=`` or ``:``, behind a short option."""
    if not word.startswith("-"):
        yield word
    for separator in ("=", ":"):
        if separator in word:
            yield word.split(separator, 1)[1]
    if re.match(r"-[a-zA-Z].", word):
        yield word[2:]


# --- what is visibly written -------------------------------------------------------------------

_WRITERS = word_set("tee mv cp touch truncate shred ln install chmod chown sponge mkdir")
_REMOVERS = word_set("rm rmdir unlink mv shred rd del")


def _touched(simples: list[Simple], workspace: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Literal paths written, and removed or moved away."""
    folder = workspace
    writes: list[str] = []
    removes: list[str] = []
    for simple in simples:
        found = [
            to for by, to in simple.redirects if ">" in by and not to.isdigit() and to != os.devnull
        ]
        name, *words = simple.inner or ("",)
        operands = [word for word in words if word and not word.startswith("-")]
        if name == "cd" and operands:
            folder = os.path.join(folder, operands[0])
        if name == "dd":
            found += [word[3:] for word in words if word.startswith("of=")]
        if name in _WRITERS or (
            name == "sed" and any(word.startswith(("-i", "--i")) for word in words)
        ):
            found += operands
        places = [
            path if path.startswith("~") else os.path.join(folder, path)
            for path in [*found, *(operands if name in _REMOVERS else [])]
            if UNKNOWN not in path
        ]
        (removes if name in _REMOVERS else writes).extend(places)
    return tuple(writes), tuple(removes)
