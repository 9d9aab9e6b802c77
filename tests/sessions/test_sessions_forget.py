"""``hermes sessions delete`` and ``prune``: what goes, what never does, and what is told."""

from __future__ import annotations

import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from hermes_plugins import user_message


def ids(say) -> set[str]:
    return {one["id"] for one in msgspec.json.decode(say("list", "--json").out)}


def hold(home: Path, session: str, *, seconds: float = 20, pid: int | None = None) -> None:
    """As if a process (this one) wrote the session."""
    import socket

    from hermes_core.clock import SystemClock

    until = SystemClock().now() + seconds
    row = (os.getpid() if pid is None else pid, socket.gethostname(), until, session)
    with closing(sqlite3.connect(home / "state.db")) as database, database:
        database.execute(
            "UPDATE sessions SET holder = 'repl', pid = ?, host = ?, lease_until = ? WHERE id = ?",
            row,
        )


# -- delete ------------------------------------------------------------------------------


def test_a_deleted_session_takes_its_sub_agents_its_words_and_its_files_along(
    say, fill, hermes_home: Path, check_sound
) -> None:
    fill("a", "b")
    fill("child", parent="a")
    fill("grandchild", parent="child")
    for kind in ("scratch", "results"):
        for one in ("a", "grandchild", "b"):
            (hermes_home / "cache" / kind / one).mkdir(parents=True)
            (hermes_home / "cache" / kind / one / "file.txt").touch()
    deleted = say("delete", "a", "--yes")
    assert deleted.status == 0
    assert "tell me of a  and 2 of sub-agents" in deleted.lines[0]
    assert deleted.lines[1:] == ["Deleted 1 session."]
    assert ids(say) == {"b"}
    assert say("search", "grandchild").out == "Nothing found.\n"
    assert "all of b" in say("search", "all").out
    for kind in ("scratch", "results"):
        assert [one.name for one in (hermes_home / "cache" / kind).iterdir()] == ["b"]
    check_sound()


def test_without_a_yes_nothing_goes(say, fill) -> None:
    fill("a")
    refused = say("delete", "a")
    assert refused.status == 2
    assert refused.err == (
        "hermes: this needs a yes, and nobody is here to ask.\n        Add --yes.\n"
    )
    assert say("prune", "--older-than", "1h").out == "Nothing to prune.\n"
    fill("old", days=3)
    assert say("prune", "--older-than", "1d").status == 2
    assert ids(say) == {"a", "old"}


@pytest.mark.parametrize(("answer", "left"), [("n", {"a"}), ("y", set())])
def test_a_person_is_asked(
    say, fill, monkeypatch: pytest.MonkeyPatch, answer: str, left: set[str]
) -> None:
    asked: list[str] = []

    def confirm(question: str, **_: object) -> bool:
        asked.append(question)
        return answer == "y"

    fill("a")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.confirm", confirm)
    assert say("delete", "a").status == (1 if left else 0)
    assert asked == ["Delete 1 session? Nothing brings them back."]
    assert ids(say) == left


def test_a_session_that_somebody_writes_is_refused_and_the_others_stay_too(
    say, fill, hermes_home: Path
) -> None:
    fill("a", "b")
    fill("child", parent="b")
    hold(hermes_home, "child")
    refused = say("delete", "a", "b", "--yes")
    assert refused.status == 1
    assert refused.err == (
        "hermes: session b is in use by repl.\n        End that first; nothing was deleted.\n"
    )
    assert ids(say) == {"a", "b", "child"}


def test_sub_agents_of_each_other_end_the_search_for_more(say, fill, hermes_home: Path) -> None:
    fill("a", parent="b")
    fill("b", parent="a")
    assert say("delete", "a", "--yes").status == 0
    assert ids(say) == set()


def test_what_is_exported_first_brings_it_back(say, fill, tmp_path: Path) -> None:
    fill("a", "b", title="")
    fill("child", parent="a")
    file = tmp_path / "kept.jsonl"
    before = say("export", "a", "child").out
    assert say("delete", "a", "--yes", "--export", str(file)).status == 0
    assert ids(say) == {"b"}
    imported = say("import", str(file))
    assert imported.lines == [
        "a  4 messages  tell me of a",
        "child  4 messages  tell me of child",
    ]
    assert say("export", "a", "child").out == before
    assert say("delete", "b", "--yes", "--export", str(file)).err == (
        f"hermes: {file} is there already.\n        Nothing was deleted.\n"
    )
    assert "b" in ids(say)


def test_a_session_used_between_the_question_and_the_yes_stays(
    say, fill, hermes_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def confirm(question: str, **_: object) -> bool:
        with closing(sqlite3.connect(hermes_home / "state.db")) as database, database:
            database.execute("UPDATE sessions SET updated = updated + 1 WHERE id = 'a'")
        return True

    fill("a", "b", days=9)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.confirm", confirm)
    assert say("delete", "a").err == (
        "hermes: session a was used in the meantime.\n        Nothing was deleted.\n"
    )
    pruned = say("prune", "--older-than", "1d")
    assert pruned.lines[-2].startswith("Deleted 1 session (")
    assert pruned.lines[-1] == "1 session used in the meantime, which stay."
    assert ids(say) == {"a"}


def test_an_id_that_is_a_path_leads_nowhere(say, fill, hermes_home: Path) -> None:
    fill("a")
    (hermes_home / "cache" / "scratch").mkdir(parents=True)
    (hermes_home / "cache" / "keep.txt").touch()
    with closing(sqlite3.connect(hermes_home / "state.db")) as database, database:
        database.execute("UPDATE sessions SET id = '..' WHERE id = 'a'")
    assert say("delete", "..", "--yes").status == 0
    assert (hermes_home / "cache" / "keep.txt").exists()


# -- prune -------------------------------------------------------------------------------


def test_prune_takes_what_is_old_and_tells_it_first(say, fill, check_sound) -> None:
    fill("old", "older", days=100)
    fill("new", days=80)
    dry = say("prune", "--older-than", "90d", "--dry-run")
    assert dry.status == 0
    assert [line.split()[0] for line in dry.lines[:2]] == ["old", "older"]
    assert dry.lines[2:] == ["2 sessions (0.8 kB of messages) would go. Nothing was deleted."]
    assert ids(say) == {"old", "older", "new"}
    pruned = say("prune", "--older-than", "90d", "--yes")
    assert pruned.lines[-1] == "Deleted 2 sessions (0.8 kB of messages)."
    assert ids(say) == {"new"}
    check_sound()


def test_prune_keeps_what_is_held_what_a_person_named_and_sub_agents_of_what_stays(
    say, fill, hermes_home: Path
) -> None:
    fill("held", "plain", days=100)
    fill("named", title="mine", days=100)
    fill("parent")
    fill("child", parent="parent", days=100)
    fill("orphan", parent="gone", days=100)
    hold(hermes_home, "held")
    pruned = say("prune", "--older-than", "12w", "--keep-titled", "--yes")
    assert pruned.lines[-2:] == [
        "1 session in use, which stay.",
        "Deleted 2 sessions (0.8 kB of messages).",
    ]
    assert ids(say) == {"held", "named", "parent", "child"}
    assert say("prune", "--older-than", "12w", "--yes").status == 0
    assert ids(say) == {"held", "parent", "child"}


def test_prune_takes_what_a_dead_process_held(say, fill, hermes_home: Path) -> None:
    fill("old", days=100)
    hold(hermes_home, "old", pid=2**22 + 1)
    if os.name == "posix":
        assert say("prune", "--older-than", "1w", "--yes").status == 0
        assert ids(say) == set()


SCHEMAS = Path(__file__).parents[1] / "store" / "schemas"


@pytest.mark.parametrize("damaged", [False, True])
def test_a_title_from_before_anybody_noted_who_chose_it_counts_as_chosen(
    say, hermes_home: Path, damaged: bool
) -> None:
    hermes_home.mkdir()
    path = hermes_home / "state.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript((SCHEMAS / "2.sql").read_text(encoding="utf-8"))
        database.execute("UPDATE sessions SET created = 5, updated = 5")
        database.execute("PRAGMA user_version = 2")
        database.commit()
    if damaged:
        path.write_bytes(bytes(100) + path.read_bytes()[100:])
        assert say("repair").status == 0
    assert say("prune", "--older-than", "1d", "--keep-titled", "--yes").lines == [
        "Nothing to prune."
    ]
    assert say("prune", "--older-than", "1d", "--yes").lines[-1].startswith("Deleted 1 session (")


def test_prune_tells_a_program_what_it_did(say, fill) -> None:
    fill("old", days=100)
    dry = msgspec.json.decode(say("prune", "--older-than", "1y", "--dry-run", "--json").out)
    assert dry == {"v": 1, "dry_run": True, "found": [], "deleted": []}
    told = msgspec.json.decode(say("prune", "--older-than", "1w", "--yes", "--json").out)
    assert told["deleted"] == ["old"]
    assert told["found"][0]["session"]["id"] == "old"
    assert told["found"][0]["bytes"] > 300


@pytest.mark.parametrize("age", ["", "90", "0d", "-3d", "d", "3 months", "9999999d"])
def test_an_age_that_is_none_is_refused(say, fill, age: str) -> None:
    fill("old", days=10_000)
    refused = say("prune", f"--older-than={age}", "--yes")
    assert refused.status == 2
    assert refused.err.endswith("        Say 48h, 90d, 12w or 1y.\n")
    assert ids(say) == {"old"}
    assert say("prune", "--yes").status == 2


def test_space_is_given_back_when_nobody_is_at_work(say, fill, hermes_home: Path) -> None:
    path = hermes_home / "state.db"
    words = " ".join(f"word{at}" for at in range(20_000))
    fill("big", days=100, messages=[user_message(f"{at} {words}") for at in range(80)])
    fill("open")
    size = path.stat().st_size
    hold(hermes_home, "open")
    waits = say("prune", "--older-than", "1w", "--yes").lines[-1]
    assert waits.endswith("others are at work, so the file is not made smaller now.")
    fill("next", days=100)
    hold(hermes_home, "open", seconds=-1)
    smaller = say("prune", "--older-than", "1w", "--yes").lines[-1]
    assert "state.db is " in smaller
    assert smaller.endswith(" MB smaller.")
    assert path.stat().st_size < size / 10
    assert "all of open" in say("search", "open").out
    if os.name == "posix":
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
