"""What an approval covers, and what it never covers."""

from __future__ import annotations

import pytest

from hermes_core.gate.approve import Approvals, Subject, Target, visible
from hermes_plugins import ConfigError


def run(command: str, *policies: str) -> Subject:
    return Subject("terminal", (Target("runs", command),), policies)


def write(*paths: str) -> Subject:
    return Subject("patch", tuple(Target("writes", path) for path in paths))


@pytest.mark.parametrize(
    "command",
    ["make; rm x", "make\nrm x", "make | sh", "make > x", "make `x`", "make $(x)", "make & x"],
)
def test_no_rule_covers_a_command_with_operators(command: str) -> None:
    approvals = Approvals(["*", "make*", "tool:*", "tool:terminal *", command])
    assert approvals.covers(run(command), "s") == ""
    assert approvals.choices(run(command)) == ("once", "session", "deny")


def test_rules_are_globs_for_commands_and_name_tools_for_the_rest() -> None:
    approvals = Approvals(["make *", "tool:patch /data/*", "tool:mail"])
    assert approvals.covers(run("make all"), "s") == "gate.allow: make *"
    assert approvals.covers(run("MAKE all"), "s") == ""
    assert approvals.covers(write("/data/a"), "s")
    assert approvals.covers(write("/data/a", "/other"), "s") == ""
    assert approvals.covers(Subject("mail", (Target("sends", "ann"),)), "s")
    assert approvals.covers(Subject("make x", (Target("sends", "make x"),)), "s") == ""


async def saved(approvals: Approvals, subject: Subject) -> str:
    return await approvals.remember(subject, "s", "always")


async def test_always_keeps_exactly_what_was_shown() -> None:
    rules: list[str] = []

    async def save(rule: str) -> None:
        rules.append(rule)

    approvals = Approvals(save=save)
    await saved(approvals, run("ls *.py [a-c] what?"))
    await saved(approvals, write("/data/a b", "/data/[c]"))
    assert rules == ["ls [*].py [[]a-c] what[?]", "tool:patch /data/a b", "tool:patch /data/[[]c]"]
    again = Approvals(rules)
    assert again.covers(run("ls *.py [a-c] what?"), "other")
    assert again.covers(run("ls x.py a what!"), "other") == ""
    assert again.covers(write("/data/[c]"), "other")
    assert again.covers(write("/data/c"), "other") == ""


async def test_a_rule_that_cannot_be_saved_holds_for_the_process_and_says_so() -> None:
    async def save(rule: str) -> None:
        raise ConfigError("hermes.yaml cannot be written.")

    approvals = Approvals(save=save)
    assert "this process only" in await saved(approvals, run("make"))
    assert approvals.covers(run("make"), "another session")


async def test_a_session_s_answers_end_with_it() -> None:
    approvals = Approvals()
    await approvals.remember(run("make; x"), "s", "session")
    assert approvals.covers(run("make; x"), "s")
    assert approvals.covers(run("make; x"), "t") == ""
    assert approvals.covers(run("make; x", "policy"), "s") == ""
    approvals.forget("s")
    assert approvals.covers(run("make; x"), "s") == ""


def test_always_is_not_offered_where_it_could_not_be_kept() -> None:
    assert Approvals().choices(run("make")) == ("once", "session", "deny")


def test_control_characters_are_spelled_out_and_lines_stay_lines() -> None:
    assert visible("a\tb\nc\r\x1b[1m\u200b\u202e\u200d\x9b") == (
        "a\tb\nc\\r\\x1b[1m\\u200b\\u202e\\u200d\\x9b"
    )
    assert visible("äöü 漢字 \\n") == "äöü 漢字 \\n"
