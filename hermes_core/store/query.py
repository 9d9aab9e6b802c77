"""What a person typed into search, as terms. Nothing typed is an error.

Words must all occur; quotes keep words together; ``word*`` finds beginnings; AND, OR and NOT in
capitals join. Where that gives no sense (a stray quote, an operator without a word beside it), and for
words with punctuation in them, the text is looked for as it stands.
"""

from __future__ import annotations

import re

import msgspec

from hermes_core.patterns import lazy
from hermes_core.store.index import CJK

_LATIN = f"[^\\W_{CJK}]"
_TOKEN = lazy(f"[{CJK}]+|{_LATIN}+")
_IS_LATIN = lazy(_LATIN)
_IS_CJK = lazy(f"[{CJK}]")
_PIECE = lazy(r'"[^"]*"(?!\S)|\S+')
_SENTENCE_ENDS = "?!,;.？！，；。、"
_ACCENTED = lazy("[\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff]")
_ACCENT = lazy("[\u0300-\u036f]")
_OPERATORS = frozenset({"AND", "OR", "NOT"})


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that must occur.

    ``tokens`` are what the index is asked for, all of them, in FTS5's language. ``needle`` is counted
    in the folded text. ``checked``: the tokens alone say too little, ``pattern`` must be found in the
    text, and with ``begins`` or ``ends`` not inside a longer Latin word. ``literal``: it has
    punctuation, which the index knows nothing of.
    """

    tokens: tuple[str, ...]
    needle: str
    pattern: str
    begins: bool = False
    ends: bool = False
    checked: bool = False
    literal: bool = False

    def occurs(self, text: str) -> bool:
        """Whether it stands in a folded text."""
        if self.needle not in text:
            return False
        for found in re.finditer(self.pattern, text):
            start, end = found.span()
            inside = self.begins and start > 0 and _IS_LATIN.match(text[start - 1])
            if not inside and not (self.ends and _IS_LATIN.match(text, end)):
                return True
        return False


class Alternative(msgspec.Struct, frozen=True, kw_only=True):
    """Terms that must all occur, and terms that must not."""

    wanted: tuple[Term, ...]
    unwanted: tuple[Term, ...] = ()

    def holds(self, text: str) -> bool:
        """Whether a folded text has the one and not the other."""
        return all(term.occurs(text) for term in self.wanted) and not any(
            term.occurs(text) for term in self.unwanted
        )


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Alternatives, one of which must hold.

    ``literal``: something is looked for as it stands. ``checked``: the texts must be looked at, the
    index alone would find too much.
    """

    alternatives: tuple[Alternative, ...] = ()
    literal: bool = False
    checked: bool = False

    @property
    def wanted(self) -> tuple[Term, ...]:
        """Every term that counts for a message."""
        return tuple(term for one in self.alternatives for term in one.wanted)

    def holds(self, text: str) -> bool:
        """Whether a folded text is one that was asked for."""
        return any(one.holds(text) for one in self.alternatives)


def fold(text: str) -> str:
    """Lower case, Latin without accents: what the index does to words, done to a text."""
    text = text.lower()
    if text.isascii() or not _ACCENTED.search(text):
        return text
    from unicodedata import normalize

    return normalize("NFC", _ACCENT.sub("", normalize("NFD", text)))


def parse(text: str) -> Query:
    """The query; one without alternatives finds nothing, because nothing was asked."""
    pieces: list[str] = _PIECE.findall(text)
    if text.count('"') % 2 == 0:
        alternatives = _alternatives(pieces)
        if alternatives:
            return _query(alternatives)
    terms = tuple(_term(piece) for piece in pieces)
    return _query([Alternative(wanted=terms)] if terms else [], literal=True)


def relax(text: str) -> Query:
    """The bare words of a query that found nothing as it stood: no punctuation, no operators."""
    words = [word for word in text.split() if word not in _OPERATORS]
    terms = tuple(_word(token) for word in words for token in _TOKEN.findall(fold(word)))
    return _query([Alternative(wanted=terms)] if terms else [], literal=True)


def expression(query: Query) -> str:
    """The query in FTS5's language; "" when the index can say nothing about it."""
    joined = []
    for one in query.alternatives:
        wanted = " AND ".join(token for term in one.wanted for token in term.tokens)
        if not wanted:
            return ""
        # What must not occur and needs a look at the text cannot be asked of the index.
        unwanted = [token for term in one.unwanted if not term.checked for token in term.tokens]
        joined.append(" NOT ".join([f"({wanted})", *unwanted]))
    return " OR ".join(f"({part})" for part in joined)


def _query(alternatives: list[Alternative], *, literal: bool = False) -> Query:
    terms = [term for one in alternatives for term in (*one.wanted, *one.unwanted)]
    return Query(
        alternatives=tuple(alternatives),
        literal=literal or any(term.literal for term in terms),
        checked=any(term.checked for term in terms),
    )


def _alternatives(pieces: list[str]) -> list[Alternative]:
    """What the operators say; nothing where one of them has no word beside it."""
    groups: list[Alternative] = []
    wanted: list[Term] = []
    unwanted: list[Term] = []
    operator = "OR"
    for piece in [*pieces, "OR"]:
        if piece not in _OPERATORS:
            (unwanted if operator == "NOT" else wanted).append(_term(piece))
            operator = ""
        elif operator and (operator, piece) != ("AND", "NOT"):
            return []
        elif piece == "OR":
            if not wanted:
                return []
            groups.append(Alternative(wanted=tuple(wanted), unwanted=tuple(unwanted)))
            wanted, unwanted = [], []
            operator = piece
        else:
            operator = piece
    return groups


def _term(piece: str) -> Term:
    quoted = len(piece) > 1 and piece[0] == piece[-1] == '"'
    folded = fold(piece[1:-1] if quoted else piece).strip()
    if not quoted:
        folded = folded.rstrip(_SENTENCE_ENDS) or folded
    tokens = _TOKEN.findall(folded)
    if tokens == [folded]:
        return _word(folded, checked=len(folded) > 2)
    if tokens and folded == f"{tokens[0]}*":
        return _word(tokens[0], prefix=True)
    words = folded.split() or [piece]
    return Term(
        tokens=tuple(part for token in tokens for part in _word(token).tokens),
        needle=max(words, key=len),
        pattern=r"[\W_]+".join(re.escape(word) for word in words),
        begins=_IS_LATIN.match(words[0]) is not None,
        ends=_IS_LATIN.match(words[-1][-1]) is not None,
        checked=True,
        literal="".join(tokens) != "".join(words),
    )


def _word(token: str, *, prefix: bool = False, checked: bool = False) -> Term:
    """A term of letters and digits only, already folded."""
    if not _IS_CJK.match(token):
        return Term(
            tokens=(f'"{token}"*' if prefix else f'"{token}"',),
            needle=token,
            pattern=re.escape(token),
            begins=True,
            ends=not prefix,
        )
    pairs = [f'"{token[at : at + 2]}"' for at in range(len(token) - 1)]
    return Term(
        tokens=tuple(pairs) or (f'"{token}"*',),
        needle=token,
        pattern=re.escape(token),
        checked=checked,
    )
