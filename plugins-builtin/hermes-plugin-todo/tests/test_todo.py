"""The plan list, called as the loop calls it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hermes_plugin_todo import hermes_register_tools, todo

from hermes_plugins import ToolError, resolve_effects
from hermes_plugins.testing import FakeContext


@pytest.fixture
def context(tmp_path: Path) -> FakeContext:
    return FakeContext(tmp_path)


def item(name: str, status: str = "pending", content: str = "") -> dict[str, str]:
    return {"id": name, "content": content or f"do {name}", "status": status}


def call(context: FakeContext, *items: dict[str, str], merge: bool = False) -> str:
    text = todo.handler(context=context, todos=list(items) or None, merge=merge)
    assert isinstance(text, str)
    return text


def test_a_plan_is_shown_in_its_order_with_a_mark_for_each_status(context: FakeContext) -> None:
    text = call(
        context,
        item("c", "completed"),
        item("a", "in_progress"),
        item("b"),
        item("d", "cancelled"),
    )
    assert text == "[x] c: do c\n[>] a: do a\n[ ] b: do b\n[-] d: do d\n(1 of 4 completed)"


def test_without_items_the_list_is_read(context: FakeContext) -> None:
    assert call(context) == "The list is empty."
    written = call(context, item("a"))
    assert call(context) == written


def test_a_new_list_replaces_the_old_one(context: FakeContext) -> None:
    call(context, item("a"), item("b"))
    assert call(context, item("c")) == "[ ] c: do c\n(0 of 1 completed)"


def test_an_empty_list_clears_the_plan(context: FakeContext) -> None:
    call(context, item("a"))
    assert todo.handler(context=context, todos=[]) == "The list is empty."
    assert call(context) == "The list is empty."


def test_merge_changes_known_items_in_place_and_appends_new_ones(context: FakeContext) -> None:
    call(context, item("a"), item("b"))
    text = call(context, item("c"), item("a", "completed"), merge=True)
    assert text == "[x] a: do a\n[ ] b: do b\n[ ] c: do c\n(1 of 3 completed)"


def test_an_id_given_twice_is_refused_and_the_list_stays(context: FakeContext) -> None:
    before = call(context, item("a"))
    with pytest.raises(ToolError, match="two items have the same id"):
        call(context, item("b"), item("b"))
    assert call(context) == before


def test_the_list_holds_256_items(context: FakeContext) -> None:
    full = [item(str(number)) for number in range(256)]
    assert call(context, *full).endswith("(0 of 256 completed)")
    with pytest.raises(ToolError, match="257 items; the list holds 256"):
        call(context, item("one more"), merge=True)
    assert call(context).endswith("(0 of 256 completed)")


def test_an_item_holds_4000_characters(context: FakeContext) -> None:
    call(context, item("a", content="x" * 4000))
    with pytest.raises(ToolError, match="item b is over 4,000 characters"):
        call(context, item("b", content="x" * 4001))


def test_sessions_do_not_see_each_other(tmp_path: Path) -> None:
    one, two = FakeContext(tmp_path), FakeContext(tmp_path)
    call(one, item("a"))
    assert call(two) == "The list is empty."


def test_the_tool_touches_nothing_and_says_so() -> None:
    assert hermes_register_tools() == [todo]
    assert (todo.name, todo.toolset) == ("todo", "todo")
    assert resolve_effects(todo.effects, {}).only_reads


def test_the_schema_names_every_status() -> None:
    assert "todos" not in todo.parameters.get("required", [])  # type: ignore[operator]
    text = str(todo.parameters)
    for status in ("pending", "in_progress", "completed", "cancelled"):
        assert status in text
