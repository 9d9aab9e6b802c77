"""The gate's judgement: its order, its outcomes, and what the model reads."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_core.config_schema import GateSettings
from hermes_core.gate.approve import Approvals
from hermes_core.gate.audit import Audit
from hermes_core.gate.gate import Gate, Verdict
from hermes_core.gate.paths import ProtectedPaths
from hermes_plugins import Allow, Ask, CallView, Decision, Deny, Effects
from hermes_plugins._approvals import Answer, Question
from hermes_plugins.testing import VirtualClock


class Person:
    """An approver that answers from a list, and remembers what it was asked."""

    can_ask = True

    def __init__(self, *answers: Answer | BaseException, clock: VirtualClock | None = None) -> None:
        self.answers = list(answers)
        self.clock = clock
        self.asked: list[Question] = []
        self.waiting = 0
        self.most_waiting = 0

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        self.waiting += 1
        self.most_waiting = max(self.waiting, self.most_waiting)
        try:
            if self.clock is not None:
                await self.clock.sleep(1_000)
            await asyncio.sleep(0)
        finally:
            self.waiting -= 1
        answer = self.answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Nobody(Person):
    can_ask = False


YES = Answer("once")


class Bench:
    """A gate with its surroundings, and calls to put through it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.work = root / "work"
        self.clock = VirtualClock()
        self.decisions: Sequence[tuple[str, Decision]] = ()
        self.judged: list[CallView] = []
        self.saved: list[str] = []
        self.reports: list[str] = []
        self.audit = Audit(
            root / "logs" / "audit.jsonl", clock=self.clock, report=self.reports.append
        )

    def gate(self, *, allow: Sequence[str] = (), judge_model: Any = None, **settings: Any) -> Gate:
        async def policies(call: CallView) -> Sequence[tuple[str, Decision]]:
            self.judged.append(call)
            return self.decisions

        async def save(rule: str) -> None:
            self.saved.append(rule)

        return Gate(
            settings=GateSettings(**settings),
            policies=policies,
            paths=ProtectedPaths(
                self.root / "ann", self.root / "hermes", runtime=[str(self.root / "venv")]
            ),
            approvals=Approvals(allow, save=save),
            clock=self.clock,
            audit=self.audit,
            scratch=str(self.root / "scratch"),
            judge_model=judge_model,
        )

    def call(
        self, *, tool: str = "tool", face: str = "cli", session: str = "s1", **kinds: Any
    ) -> CallView:
        arguments = kinds.pop("arguments", {})
        wanted = {k: v if k == "unknown" else (v,) for k, v in kinds.items()}
        effects = msgspec.convert(wanted, Effects)
        return CallView(
            id="c1",
            tool=tool,
            toolset="test",
            arguments=arguments,
            effects=effects,
            session=session,
            turn="t1",
            workspace=str(self.work),
            face=face,
        )

    def records(self) -> list[dict[str, Any]]:
        text = (self.root / "logs" / "audit.jsonl").read_text(encoding="utf-8")
        return [msgspec.json.decode(line) for line in text.splitlines()]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    (tmp_path / "work").mkdir()
    return Bench(tmp_path)


# --- the order ------------------------------------------------------------------------------


async def test_the_floor_holds_in_every_mode_and_against_every_yes(bench: Bench) -> None:
    call = bench.call(runs="ls && rm -rf /")
    bench.decisions = [("all", Allow())]
    for mode in ("manual", "smart", "off"):
        person = Person(YES)
        verdict = await bench.gate(mode=mode, allow=["*"]).judge(call, approver=person)
        assert (verdict.allowed, verdict.outcome) == (False, "floor")
        assert person.asked == []
    assert bench.judged == []


async def test_the_deny_list_comes_before_policies_and_holds_in_mode_off(bench: Bench) -> None:
    gate = bench.gate(mode="off", deny=["git push*"])
    verdict = await gate.judge(bench.call(runs="git push origin"), approver=Person(YES))
    assert verdict.outcome == "denied_rule"
    assert bench.judged == []


@pytest.mark.parametrize(
    "command",
    [
        "git push",
        "GIT PUSH --force",
        "git   push",
        "cd x && git push",
        r"g\it 'push'",
        "/usr/bin/git push",
        "sudo -E git push",
        "sh -c 'git push'",
        "x=git; $x push",
        "echo $(git push)",
    ],
)
async def test_the_deny_list_sees_through_the_spelling(bench: Bench, command: str) -> None:
    gate = bench.gate(mode="off", deny=["git push*"])
    verdict = await gate.judge(bench.call(runs=command), approver=None)
    assert verdict.outcome == "denied_rule"


async def test_the_deny_list_names_tools_and_their_targets(bench: Bench) -> None:
    gate = bench.gate(mode="off", deny=["tool:send_mail", "tool:write_file */secret.txt"])
    mail = await gate.judge(bench.call(tool="send_mail"), approver=None)
    secret = bench.call(tool="write_file", writes=str(bench.work / "secret.txt"))
    other = bench.call(tool="write_file", writes=str(bench.work / "other.txt"))
    assert mail.outcome == "denied_rule"
    assert (await gate.judge(secret, approver=None)).outcome == "denied_rule"
    assert (await gate.judge(other, approver=None)).allowed


async def test_the_strictest_policy_wins(bench: Bench) -> None:
    bench.decisions = [("a", Allow()), ("b", Ask("hm")), ("c", Deny("not on Fridays."))]
    verdict = await bench.gate(mode="off").judge(bench.call(), approver=Person(YES))
    assert (verdict.outcome, verdict.by) == ("policy", "c")
    assert "not on Fridays." in verdict.text


async def test_a_policy_that_asks_reaches_a_person_in_mode_off_too(bench: Bench) -> None:
    bench.decisions = [("prod", Ask("this touches production"))]
    person = Person(YES)
    verdict = await bench.gate(mode="off").judge(bench.call(runs="ls"), approver=person)
    assert verdict.allowed
    assert person.asked[0].reason == "the policy prod asks: this touches production"
    assert person.asked[0].shown == "ls"
    unasked = await bench.gate(mode="off").judge(bench.call(runs="ls"), approver=None)
    assert unasked.outcome == "unavailable"


async def test_a_rule_of_the_operator_does_not_answer_for_a_policy(bench: Bench) -> None:
    bench.decisions = [("prod", Ask("this touches production"))]
    person = Person(Answer("always"))
    gate = bench.gate(allow=["ls"])
    assert (await gate.judge(bench.call(runs="ls"), approver=person)).allowed
    assert person.asked[0].choices == ("once", "session", "deny")
    assert bench.saved == []


# --- the risk of the effects -------------------------------------------------------------------


async def test_pure_calls_reads_and_writes_in_the_workspace_pass(bench: Bench) -> None:
    gate = bench.gate()
    for call in (
        bench.call(),
        bench.call(reads="/usr/share/dict/words"),
        bench.call(writes=str(bench.work / "new" / "a.py")),
        bench.call(writes=str(bench.root / "scratch" / "s1" / "a.py")),
        bench.call(runs="git status | head"),
        bench.call(fetches="https://example.org/"),
    ):
        verdict = await gate.judge(call, approver=None)
        assert (verdict.allowed, verdict.by) == (True, "effects")


@pytest.mark.parametrize(
    "kinds",
    [
        {"unknown": True},
        {"runs": "make"},
        {"sends": "ann@example.org"},
        {"fetches": "http://localhost:8000"},
        {"fetches": "file:///etc/passwd"},
        {"writes": "WORK/../elsewhere.txt"},
        {"writes": "WORK/.git/config"},
        {"writes": "SCRATCH/s2/x"},
    ],
    ids=str,
)
async def test_everything_that_reaches_further_asks(bench: Bench, kinds: dict[str, Any]) -> None:
    roots = {"WORK": str(bench.work), "SCRATCH": str(bench.root / "scratch")}
    for name, root in roots.items():
        kinds = {k: v.replace(name, root) if isinstance(v, str) else v for k, v in kinds.items()}
    person = Person(YES)
    assert (await bench.gate().judge(bench.call(**kinds), approver=person)).allowed
    assert len(person.asked) == 1
    assert (await bench.gate(mode="off").judge(bench.call(**kinds), approver=None)).allowed


@pytest.mark.parametrize(
    ("kinds", "word"),
    [
        ({"writes": "ROOT/hermes/hermes.yaml"}, "part of Hermes"),
        ({"writes": "ROOT/ann/.ssh/config"}, "keys"),
        ({"writes": "ROOT/venv/bin/python"}, "runs from it"),
        ({"reads": "ROOT/work/.env"}, "secrets"),
        ({"runs": "rm -r ROOT/venv"}, "runs from it"),
        ({"runs": "mv ROOT/venv x"}, "runs from it"),
        ({"runs": "cd ROOT && rm -rf venv/lib"}, "runs from it"),
        ({"runs": "echo 'gate: {mode: off}' > ROOT/hermes/hermes.yaml"}, "part of Hermes"),
        ({"fetches": "http://169.254.169.254/"}, "credentials of the machine"),
    ],
    ids=str,
)
async def test_protected_things_are_refused_without_a_question_in_every_mode(
    bench: Bench, kinds: dict[str, str], word: str
) -> None:
    call = bench.call(**{k: v.replace("ROOT", str(bench.root)) for k, v in kinds.items()})
    for mode in ("manual", "off"):
        person = Person(YES)
        verdict = await bench.gate(mode=mode, allow=["*", "tool:*"]).judge(call, approver=person)
        assert verdict.outcome == "blocked"
        assert word in verdict.text
        assert person.asked == []


async def test_a_scratch_folder_that_is_a_link_is_nobody_s_own(bench: Bench) -> None:
    (bench.root / "scratch").mkdir()
    (bench.root / "other").mkdir()
    (bench.root / "scratch" / "s1").symlink_to(bench.root / "other", target_is_directory=True)
    call = bench.call(writes=str(bench.root / "scratch" / "s1" / "x"))
    assert (await bench.gate().judge(call, approver=None)).outcome == "unavailable"


async def test_mode_off_without_the_parser_names_what_to_install(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_bash", None)
    gate = bench.gate(mode="off")
    assert (await gate.judge(bench.call(runs="ls -l"), approver=None)).allowed
    verdict = await gate.judge(bench.call(runs="make"), approver=None)
    assert verdict.outcome == "blocked"
    assert "pip install tree-sitter tree-sitter-bash" in verdict.text


# --- the person ----------------------------------------------------------------------------------


async def test_a_no_reaches_the_model_in_the_person_s_own_words(bench: Bench) -> None:
    person = Person(Answer("deny", "use the {staging} box"))
    verdict = await bench.gate().judge(bench.call(runs="make"), approver=person)
    assert verdict.outcome == "person"
    assert verdict.reason == "use the {staging} box"
    assert "use the {staging} box" in verdict.text
    assert "the person said no" in verdict.text


async def test_silence_is_told_apart_from_a_no(bench: Bench) -> None:
    person = Person(YES, clock=bench.clock)
    task = asyncio.create_task(bench.gate().judge(bench.call(runs="make"), approver=person))
    await bench.clock.advance(59)
    assert not task.done()
    await bench.clock.advance(1)
    verdict = await task
    assert verdict.outcome == "timeout"
    assert "within 60 seconds" in verdict.text
    assert "silence is not consent" in verdict.text


@pytest.mark.parametrize(
    "approver", [None, Nobody(YES), Person(EOFError())], ids=["none", "mute", "gone"]
)
async def test_where_nobody_can_be_asked_the_answer_is_there_at_once(
    bench: Bench, approver: Person | None
) -> None:
    verdict = await bench.gate().judge(bench.call(runs="make"), approver=approver)
    assert verdict.outcome == "unavailable"
    assert "nobody can be asked here" in verdict.text
    assert bench.clock.slept == []


async def test_a_scheduled_run_may_be_let_through_by_the_operator(bench: Bench) -> None:
    call = bench.call(runs="make", face="cron")
    assert not (await bench.gate().judge(call, approver=None)).allowed
    assert (await bench.gate(cron="allow").judge(call, approver=None)).by == "gate.cron"
    other = bench.call(runs="make", face="api-server")
    assert not (await bench.gate(cron="allow").judge(other, approver=None)).allowed


async def test_an_answer_reaches_as_far_as_its_word(bench: Bench) -> None:
    gate = bench.gate()
    person = Person(YES, Answer("session"), Answer("always"), YES, YES)
    for runs, session, questions in (
        ("make", "s1", 1),  # once
        ("make", "s1", 2),  # asked again: session
        ("make", "s1", 2),
        ("make install", "s1", 3),  # another command: always
        ("make install", "s2", 3),
        ("make", "s2", 4),  # another session
        ("make install x", "s2", 5),
    ):
        verdict = await gate.judge(bench.call(runs=runs, session=session), approver=person)
        assert verdict.allowed
        assert len(person.asked) == questions
    assert bench.saved == ["make install"]


async def test_what_was_always_allowed_still_stands_behind_the_deny_list(bench: Bench) -> None:
    gate = bench.gate(allow=["make*"], deny=["make clean"])
    assert (await gate.judge(bench.call(runs="make all"), approver=None)).by == "gate.allow: make*"
    assert (await gate.judge(bench.call(runs="make clean"), approver=None)).outcome == "denied_rule"


async def test_questions_of_one_session_come_one_at_a_time(bench: Bench) -> None:
    gate = bench.gate()
    person = Person(Answer("session"), YES)
    calls = [bench.call(runs=line) for line in ("make", "make", "make x")]
    verdicts = await asyncio.gather(*(gate.judge(call, approver=person) for call in calls))
    assert [verdict.by for verdict in verdicts] == ["person", "an answer in this session", "person"]
    assert person.most_waiting == 1


async def test_the_question_shows_everything_and_nothing_hidden(bench: Bench) -> None:
    person = Person(YES)
    command = "make\nrm x \x1b[2K\u202e KEY=sk-test-not-a-real-key " + "y" * 5_000
    await bench.gate().judge(bench.call(runs=command), approver=person)
    question = person.asked[0]
    assert (question.call, question.tool) == ("c1", "tool")
    assert "make\nrm x \\x1b[2K\\u202e" in question.shown
    assert "not-a-real" not in question.shown
    assert question.shown.endswith("y" * 5_000)


async def test_a_call_with_unknown_effects_shows_its_arguments(bench: Bench) -> None:
    person = Person(Answer("session"))
    gate = bench.gate()
    call = bench.call(unknown=True, arguments={"b": 1, "a": "x"})
    assert (await gate.judge(call, approver=person)).allowed
    assert person.asked[0].shown == '{"a":"x","b":1}'
    assert (await gate.judge(call, approver=None)).allowed
    other = bench.call(unknown=True, arguments={"b": 2})
    assert not (await gate.judge(other, approver=None)).allowed


async def test_smart_lets_a_model_say_yes_but_never_no(bench: Bench) -> None:
    async def likes_make(question: Question) -> bool:
        return question.shown == "make"

    gate = bench.gate(mode="smart", judge_model=likes_make)
    assert (await gate.judge(bench.call(runs="make"), approver=None)).by == "model"
    person = Person(YES)
    assert (await gate.judge(bench.call(runs="ant"), approver=person)).by == "person"
    bench.decisions = [("prod", Ask("why"))]
    assert (await gate.judge(bench.call(runs="make"), approver=None)).outcome == "unavailable"


async def test_smart_without_a_model_asks_the_person(bench: Bench) -> None:
    person = Person(YES)
    verdict = await bench.gate(mode="smart").judge(bench.call(runs="make"), approver=person)
    assert verdict.by == "person"


# --- what the model reads, what is kept --------------------------------------------------------


async def test_every_refusal_begins_the_same_and_offers_no_way_round(bench: Bench) -> None:
    floor = await bench.gate().judge(bench.call(runs="reboot"), approver=None)
    rule = await bench.gate(deny=["x"]).judge(bench.call(runs="x"), approver=None)
    alone = await bench.gate().judge(bench.call(runs="make"), approver=None)
    no = await bench.gate().judge(bench.call(runs="make"), approver=Person(Answer("deny")))
    read = await bench.gate().judge(bench.call(reads=str(bench.work / ".env")), approver=None)
    bench.decisions = [("p", Deny("no."))]
    policy = await bench.gate().judge(bench.call(), approver=None)
    for verdict in (floor, rule, alone, no, read, policy):
        assert verdict.text.startswith("BLOCKED")
        assert "do not repeat it, reword it, or reach the same end by another" in verdict.text
    assert floor.text.startswith("BLOCKED, always: it turns the machine off.")
    assert rule.text.startswith("BLOCKED by the owner's rule 'x' (gate.deny).")
    assert policy.text.startswith("BLOCKED by the policy p: no.")


async def test_every_verdict_is_recorded_without_secrets(bench: Bench) -> None:
    gate = bench.gate()
    await gate.judge(bench.call(reads="/a"), approver=None)
    await gate.judge(bench.call(runs="make KEY=sk-test-not-a-real-key"), approver=None)
    allowed, refused = bench.records()
    assert (allowed["v"], allowed["outcome"], allowed["targets"]) == (1, "allowed", ["/a"])
    assert (refused["outcome"], refused["session"], refused["tool"]) == (
        "unavailable",
        "s1",
        "tool",
    )
    assert "not-a-real" not in str(refused)
    if sys.platform != "win32":
        assert (bench.root / "logs" / "audit.jsonl").stat().st_mode & 0o777 == 0o600


async def test_a_record_that_cannot_be_written_is_reported_once_and_blocks_nothing(
    bench: Bench,
) -> None:
    (bench.root / "logs").write_text("a file in the way", encoding="utf-8")
    gate = bench.gate()
    for _ in range(3):
        assert (await gate.judge(bench.call(), approver=None)).allowed
    assert len(bench.reports) == 1
    assert "audit.jsonl cannot be written" in bench.reports[0]


async def test_a_path_that_is_no_text_is_recorded_too(bench: Bench) -> None:
    await bench.gate().judge(bench.call(reads="/a\udcff"), approver=None)
    assert bench.records()[0]["targets"] == ["/a?"]


def test_a_verdict_is_plain_data() -> None:
    verdict = Verdict(allowed=True, outcome="allowed")
    assert msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict) == verdict
