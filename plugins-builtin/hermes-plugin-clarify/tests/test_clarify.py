"""The clarify tool, with a person who answers and with none."""

from __future__ import annotations

from pathlib import Path

import pytest
from hermes_plugin_clarify import clarify, hermes_register_tools

from hermes_plugins import ToolError, resolve_effects
from hermes_plugins.testing import FakeContext


async def call(context: FakeContext, **arguments: object) -> object:
    return await clarify.handler(context=context, **arguments)  # type: ignore[misc]


async def test_the_person_is_asked_and_the_answer_is_told(tmp_path: Path) -> None:
    context = FakeContext(tmp_path, answers=["tabs "])
    answer = await call(context, question=" Tabs or spaces? ", choices=["tabs", "spaces"])
    assert answer == "The person answered: tabs"
    assert context.asked == [("Tabs or spaces?", ("tabs", "spaces"))]


async def test_a_question_needs_no_choices(tmp_path: Path) -> None:
    context = FakeContext(tmp_path, answers=["Ada"])
    assert await call(context, question="Your name?") == "The person answered: Ada"
    assert context.asked == [("Your name?", ())]


async def test_the_person_may_answer_outside_the_choices(tmp_path: Path) -> None:
    context = FakeContext(tmp_path, answers=["neither"])
    answer = await call(context, question="Tabs or spaces?", choices=["tabs", "spaces"])
    assert answer == "The person answered: neither"


async def test_empty_and_repeated_choices_are_left_out(tmp_path: Path) -> None:
    context = FakeContext(tmp_path, answers=["a"])
    await call(context, question="Which?", choices=["a", "", "b", "a ", " ", "b", "c", "d"])
    assert context.asked == [("Which?", ("a", "b", "c", "d"))]


async def test_more_than_four_choices_are_refused_and_nobody_is_asked(tmp_path: Path) -> None:
    context = FakeContext(tmp_path, answers=["a"])
    with pytest.raises(ToolError, match="5 choices; at most 4"):
        await call(context, question="Which?", choices=list("abcde"))
    assert context.asked == []


async def test_an_empty_question_is_refused(tmp_path: Path) -> None:
    context = FakeContext(tmp_path, answers=["a"])
    with pytest.raises(ToolError, match="the question is empty"):
        await call(context, question=" ")
    assert context.asked == []


async def test_an_empty_answer_is_not_taken_for_consent(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="go on as you judge best, and say what you assumed"):
        await call(FakeContext(tmp_path, answers=["  "]), question="Delete it?", choices=["yes"])


async def test_where_nobody_can_be_asked_the_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="cannot ask"):
        await call(FakeContext(tmp_path), question="Which?")


def test_it_runs_alone_waits_an_hour_and_touches_nothing() -> None:
    assert hermes_register_tools() == [clarify]
    assert clarify.interactive
    assert clarify.timeout == 3600.0
    assert resolve_effects(clarify.effects, {"question": "?"}).only_reads
