"""Who may talk to the agent."""

import pytest

from hermes_core.gateway.authorize import is_allowed


@pytest.mark.parametrize(
    ("sender", "allow", "allowed"),
    [
        ("ada", (), False),
        ("ada", ("",), False),
        ("", ("*",), False),
        ("ada", ("ada",), True),
        ("Ada", ("ada",), True),
        ("adam", ("ada",), False),
        ("mallory", ("ada", "bob"), False),
        ("ada!a@box.example.org", ("ada",), False),
        ("ada!a@box.example.org", ("*!*@*.example.org",), True),
        ("ada!a@example.org.evil.test", ("*!*@*.example.org",), False),
        ("[ada]", ("[ada]",), True),
        ("a", ("[ada]",), False),
        ("anybody", ("*",), True),
    ],
)
def test_only_who_is_named_is_let_in(sender: str, allow: tuple[str, ...], allowed: bool) -> None:
    assert is_allowed(sender, allow) is allowed
