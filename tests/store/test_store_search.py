"""Searching: what people type is never an error, and never a silent nothing."""

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from hermes_core.store import index
from hermes_core.store import search as search_module
from hermes_core.store.sqlite import Lease, Store
from hermes_plugins import assistant_message, tool_message, user_message
from hermes_plugins._messages import Message, TextPart, ToolCall
from hermes_plugins.testing import VirtualClock

Begin: TypeAlias = Callable[..., Awaitable[Lease]]

TEXTS = {
    1: "Deploy foo-bar to node.js, mail me@example.org about /usr/local/bin",
    2: "foo and bar went to a bar; C++ is hard, so is x:y",
    3: "我在北京大学学习机器学习",
    4: "用Python写代码很开心",
    5: "Café résumé naïve",
    6: 'she said "hello world" loudly',
    7: "ПРИВЕТ мир",
    8: "こんにちは世界、カタカナ",
    9: "안녕하세요 세계",
    10: "snake_case_name and 100% of {braces} (parens) it's",
    11: "new york\ntimes",
    12: "time to go to york, a new town",
    13: "AND OR NOT are words too",
    14: "smile 😀 here",
    15: "odd a\u1cf2b",
}


@pytest.fixture(params=[True, False], ids=["fts5", "without-fts5"])
async def filled(
    request: pytest.FixtureRequest, path: Path, clock: VirtualClock, begin: Begin
) -> AsyncIterator[Store]:
    store = Store(path, clock=clock, process="p", full_text=request.param)
    lease = await begin("s", into=store, title="T")
    await store.append(lease, [user_message(text) for text in TEXTS.values()])
    yield store
    await store.close()


@pytest.mark.parametrize(
    ("query", "positions"),
    [
        # Words
        ("deploy", {1}),
        ("DEPLOY", {1}),
        ("foo bar", {1, 2}),
        ("bar foo", {1, 2}),
        ("dep*", {1}),
        ("dep", set()),
        ("hello, loudly!", {6}),
        ("", set()),
        ("   ", set()),
        # Punctuation: as it stands
        ("foo-bar", {1}),
        ("node.js", {1}),
        ("me@example.org", {1}),
        ("/usr/local", {1}),
        ("C++", {2}),
        ("x:y", {2}),
        ("snake_case_name", {10}),
        ("100%", {10}),
        ("{braces}", {10}),
        ("(parens)", {10}),
        ("it's", {10}),
        ("++", {2}),
        ("@", {1}),
        ("😀", {14}),
        ("%", {10}),
        # As it stands nowhere, so as words
        ("foo+bar", {1, 2}),
        ("foo*bar", {1, 2}),
        ("deploy:", {1}),
        ("node-js", {1}),
        # Stray quotes and operators
        ('"hello', {6}),
        ('hello"', {6}),
        ('"', {6}),
        ("foo AND", {2}),
        ("OR foo", {1, 2}),
        ("NOT foo", {1, 2}),
        ("foo AND OR bar", {1, 2}),
        ("NEAR(foo bar)", set()),
        ("(foo", {1, 2}),
        ("foo)", {1, 2}),
        ("AND", {2, 10, 13}),
        # Operators that mean something
        ("deploy OR york", {1, 11, 12}),
        ("deploy AND foo", {1}),
        ("foo NOT deploy", {2}),
        ('york NOT "new york"', {12}),
        ('"new york" OR deploy', {1, 11}),
        # Quotes
        ('"new york"', {11}),
        ('"york new"', set()),
        ('"hello world"', {6}),
        ('"foo bar"', {1}),
        # Chinese, Japanese, Korean: any part of a run
        ("北京", {3}),
        ("京大", {3}),
        ("大学", {3}),
        ("北京大学", {3}),
        ("京学", set()),
        ("北大", set()),
        ("大学北京", set()),
        ("北", {3}),
        ("习", {3}),
        ("学习 北京", {3}),
        ("世界", {8}),
        ("カタ", {8}),
        ("세계", {9}),
        ("녕하세", {9}),
        # Latin glued to it
        ("Python", {4}),
        ("python 代码", {4}),
        ("用Python写", {4}),
        ("Pytho", set()),
        ("a\u1cf2b", {15}),
    ],
)
async def test_a_query_finds(filled: Store, query: str, positions: set[int]) -> None:
    answer = await filled.search(query)
    assert {hit.position for hit in answer.hits} == positions
    assert not answer.more


@pytest.mark.parametrize(
    ("query", "positions"), [("cafe", {5}), ("CAFÉ", {5}), ("привет", {7}), ("Мир", {7})]
)
async def test_case_and_accents_do_not_matter_to_the_index(
    store: Store, begin: Begin, query: str, positions: set[int]
) -> None:
    lease = await begin("s")
    await store.append(lease, [user_message(text) for text in TEXTS.values()])
    assert {hit.position for hit in (await store.search(query)).hits} == positions


@pytest.mark.parametrize(
    ("query", "literal"),
    [("deploy", False), ("foo-bar", True), ('"hello', True), ("foo OR", True), ("北京大学", False)],
)
async def test_the_answer_says_when_words_were_taken_as_they_stand(
    filled: Store, query: str, literal: bool
) -> None:
    assert (await filled.search(query)).literal is literal


async def test_a_hit_says_where_it_is_and_shows_what_is_around(
    store: Store, begin: Begin, clock: VirtualClock
) -> None:
    lease = await begin("s", title="T")
    await store.append(lease, [user_message("x " * 300 + "needle" + " y" * 300)])
    (hit,) = (await store.search("needle")).hits
    assert (hit.session, hit.title, hit.position, hit.role) == ("s", "T", 1, "user")
    assert hit.time == clock.now()
    assert " needle " in hit.snippet
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert len(hit.snippet) < 180


async def test_a_search_can_be_kept_to_one_session_or_role(store: Store, begin: Begin) -> None:
    call = ToolCall(id="c", name="read_file", arguments="{}")
    for name in ("a", "b"):
        lease = await begin(name)
        await store.append(lease, [user_message("word"), assistant_message("word")])
        await store.append(lease, [tool_message(call, "word")])
    hits = (await store.search("word", session="a")).hits
    assert {(hit.session, hit.position) for hit in hits} == {("a", 1), ("a", 2), ("a", 3)}
    hits = (await store.search("word", role="tool")).hits
    assert {(hit.session, hit.position) for hit in hits} == {("a", 3), ("b", 3)}
    assert (await store.search("word", session="no")).hits == ()
    assert len((await store.search("word", limit=2)).hits) == 2
    assert (await store.search("word", limit=0)).hits == ()


async def test_only_what_was_written_is_searched(store: Store, begin: Begin) -> None:
    lease = await begin("s")
    await store.append(
        lease,
        [
            user_message("shown", added=("recalled",)),
            Message(role="system", parts=(TextPart("instruction"),)),
            Message(role="assistant", reasoning="thought", parts=(TextPart("said"),)),
        ],
    )
    for query, found in (("shown", 1), ("said", 1), ("recalled", 0), ("instruction", 0)):
        assert len((await store.search(query)).hits) == found, query
    assert (await store.search("thought")).hits == ()


async def test_the_best_match_comes_first(store: Store, begin: Begin) -> None:
    lease = await begin("s")
    texts = ["common " * 5 + "rare", "common rare rare rare", "rare " + "padding " * 100 + "common"]
    await store.append(lease, [user_message(text) for text in texts])
    await store.append(lease, [user_message("common only") for _ in range(50)])
    hits = (await store.search("common rare")).hits
    assert [hit.position for hit in hits] == [2, 1, 3]


async def test_among_equals_the_newest_comes_first(store: Store, begin: Begin) -> None:
    lease = await begin("s")
    await store.append(lease, [user_message("same words") for _ in range(5)])
    assert [hit.position for hit in (await store.search("same")).hits] == [5, 4, 3, 2, 1]


async def test_the_answer_says_when_there_are_more_than_were_ranked(
    store: Store, begin: Begin
) -> None:
    lease = await begin("s")
    window = search_module.WINDOW
    await store.append(lease, [user_message("word") for _ in range(window)])
    assert not (await store.search("word")).more
    await store.append(lease, [user_message("word")])
    assert (await store.search("word")).more


async def test_without_fts5_there_is_one_warning_and_everything_else_works(
    path: Path, clock: VirtualClock, begin: Begin, caplog: pytest.LogCaptureFixture
) -> None:
    store = Store(path, clock=clock, process="p", full_text=False)
    lease = await begin("s", into=store)
    await store.append(lease, [user_message("hello")])
    for _ in range(3):
        assert len((await store.search("hello")).hits) == 1
    assert caplog.text.count("no FTS5") == 1
    assert any("no FTS5" in line for line in await store.check())
    await store.close()


async def test_what_was_written_without_fts5_is_indexed_by_the_next_who_has_it(
    path: Path, clock: VirtualClock, begin: Begin, store: Store
) -> None:
    without = Store(path, clock=clock, process="p", full_text=False)
    lease = await begin("s", into=without)
    await without.append(lease, [user_message("hello 北京"), user_message("bye")])
    await without.close()
    assert [hit.position for hit in (await store.search("hello")).hits] == [1]
    assert [hit.position for hit in (await store.search("北京")).hits] == [1]
    assert not [line for line in await store.check() if "Search" in line]


async def test_check_notices_an_index_that_finds_nothing_and_reindex_mends_it(
    store: Store, begin: Begin, path: Path
) -> None:
    lease = await begin("s")
    await store.append(lease, [user_message("hello world")])
    assert not [line for line in await store.check() if "Search" in line]
    connection = sqlite3.connect(path)
    connection.execute("INSERT INTO message_index (message_index) VALUES ('delete-all')")
    connection.commit()
    connection.close()
    (line,) = [line for line in await store.check() if "Search" in line]
    assert "hermes sessions repair" in line
    await store.write(index.drop_index)
    await store.index_rest()
    assert len((await store.search("hello")).hits) == 1
    assert not [line for line in await store.check() if "Search" in line]
