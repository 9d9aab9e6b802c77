"""Guardrails: a model that goes in circles is warned, then stopped."""

from hermes_core.agent.guardrails import Finding, Guardrails


def levels(findings: list[Finding]) -> list[str]:
    return [finding.level for finding in findings]


def fail(rails: Guardrails, key: str, *, name: str = "patch") -> Finding:
    return rails.after(name, key, ok=False, result="error", is_read=False)


def read(rails: Guardrails, result: str, *, key: str = "{}") -> Finding:
    return rails.after("read_file", key, ok=True, result=result, is_read=True)


def test_the_same_failing_call_warns_at_two_and_stops_at_five() -> None:
    rails = Guardrails()
    findings = [fail(rails, "{}") for _ in range(5)]
    assert levels(findings) == ["ok", "warn", "warn", "warn", "stop"]
    assert "failed 2 times" in findings[1].text
    assert findings[4].text == (
        "I stopped because patch failed 5 times in a row with the same arguments. "
        "Tell me how to go on."
    )
    assert rails.before("patch", "{}") is not None
    assert rails.before("patch", '{"a":1}') is None


def test_one_tool_failing_in_many_ways_warns_at_three_and_stops_at_eight() -> None:
    rails = Guardrails()
    findings = [fail(rails, str(number)) for number in range(8)]
    assert levels(findings) == ["ok", "ok", *["warn"] * 5, "stop"]
    assert "patch failed 8 times in a row." in findings[7].text


def test_a_success_starts_the_counts_again() -> None:
    rails = Guardrails()
    for _ in range(3):
        assert fail(rails, "{}").level == "ok"
        rails.after("patch", "{}", ok=True, result="", is_read=False)


def test_tools_are_counted_apart() -> None:
    rails = Guardrails()
    assert levels([fail(rails, "{}", name=name) for name in "abcdefghij"]) == ["ok"] * 10


def test_the_same_result_of_a_read_warns_at_two_and_stops_at_five() -> None:
    rails = Guardrails()
    assert levels([read(rails, "same") for _ in range(5)]) == ["ok", "warn", "warn", "warn", "stop"]
    assert rails.before("read_file", "{}") is not None


def test_a_read_whose_result_changes_may_go_on() -> None:
    rails = Guardrails()
    assert levels([read(rails, str(number)) for number in range(9)]) == ["ok"] * 9
    assert levels([read(rails, "x", key=str(number)) for number in range(9)]) == ["ok"] * 9


def test_the_same_result_of_a_call_that_acts_is_no_circle() -> None:
    rails = Guardrails()
    findings = [rails.after("now", "{}", ok=True, result="x", is_read=False) for _ in range(9)]
    assert levels(findings) == ["ok"] * 9
