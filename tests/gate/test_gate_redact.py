"""Secrets are masked everywhere the same way, and masks are recognised."""

from __future__ import annotations

import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_core.gate.redact import (
    RedactingFormatter,
    Redactor,
    StreamRedactor,
    contains_mask,
    mask,
    redact,
)

SECRETS = [
    ("sk-test-not-a-real-key", "sk-test-not-a-real-key"),
    ("key ghp_fakefakefakefakefake1234 in prose", "ghp_fakefakefakefakefake1234"),
    ("xoxb-000000000000-fakefake", "000000000000-fakefake"),
    ("AKIAFAKEFAKEFAKEFAKE", "AKIAFAKEFAKEFAKEFAKE"),
    ("AIza" + "FakeFake_" * 4, "FakeFake_FakeFake"),
    ("eyJhbGciOiJub25l.eyJzdWIiOiJmYWtlIn0.fakefake", "eyJzdWIiOiJmYWtlIn0"),
    ("123456789:AAfakefakefakefakefakefakefakefakefa", "AAfakefake"),
    ("export OPENAI_API_KEY=fake-value-1", "fake-value-1"),
    ("DB_PASSWORD='two words'", "two words"),
    ("SENTRY_DSN=https_fake_dsn", "https_fake_dsn"),
    ('{"api_key": "fakevalue99"}', "fakevalue99"),
    (r"{\"access_token\": \"fakevalue99\"}", "fakevalue99"),
    ("client-secret: fake/value", "fake/value"),
    ("password = 'swordfish'", "swordfish"),
    ("  aws_secret_access_key = fakefake/fakefake+fakefake", "fakefake/fakefake+fakefake"),
    ("Authorization: Bearer fake.token.1", "fake.token.1"),
    ('-H "Authorization: Basic ZmFrZTpmYWtl1"', "ZmFrZTpmYWtl1"),
    ("set-cookie: session=fake1234", "fake1234"),
    ("postgres://ann:hunter2@db/app", "hunter2"),
    ("https://user:p%40ss@example.org/", "p%40ss"),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nZmFrZQ==\n-----END RSA PRIVATE KEY-----",
        "ZmFrZQ==",
    ),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nZmFrZQ== and no end", "ZmFrZQ=="),
    ("İ password: hunter2!", "hunter2!"),
]


@pytest.mark.parametrize(("text", "secret"), SECRETS, ids=[text[:25] for text, _ in SECRETS])
def test_secrets_are_masked_recognisably_and_only_once(text: str, secret: str) -> None:
    shown = redact(f"before\n{text}\nafter" if "no end" not in text else text)
    assert secret not in shown
    assert contains_mask(shown)
    assert redact(shown) == shown
    if "no end" not in text:
        assert shown.startswith("before\n")
        assert shown.endswith("\nafter")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The token count is 5; the key idea is a secret garden.",
        "max_tokens: 4096\ntoken_limit = 100",
        "token: str = None",
        "def login(password: str, token: Optional[str] = None): ...",
        "token = get_token()",
        "api_key = os.environ['OPENAI_API_KEY']",
        "OPENAI_API_KEY=$KEY ${OTHER_TOKEN}",
        "PASSWORD=<your password>",
        '{"password": "Enter your password here"}',
        "bearer of bad news",
        "Authorization: required for all of it",
        "https://example.org/a:b@c",
        "scikit-learn task-oriented risk-averse-and-more-of-that",
        "some_very_long_identifier_name = another_long_identifier_name",
        "-----BEGIN CERTIFICATE-----\nZmFrZQ==\n-----END CERTIFICATE-----",
        "«quoted» text",
    ],
)
def test_ordinary_text_and_code_stay_as_they_are(text: str) -> None:
    assert redact(text) == text
    assert not contains_mask(text)


def test_a_short_secret_is_hidden_whole_and_a_long_one_keeps_its_ends() -> None:
    assert mask("a" * 17) == "«redacted»"
    assert mask("abcdef0123456789wxyz") == "«redacted:abcdef***wxyz»"


def test_values_known_to_the_host_are_masked_wherever_they_stand() -> None:
    redactor = Redactor(["correct horse", "correct horse battery", "tiny"])
    assert redactor.redact("a correct horse battery b") == "a «redacted:correc***tery» b"
    assert redactor.redact("xcorrect horsey") == "x«redacted»y"
    assert redactor.redact("tiny") == "tiny"


def test_log_lines_lose_their_secrets_with_arguments_and_traceback() -> None:
    formatter = RedactingFormatter("%(message)s", redactor=Redactor(["fake-known-value"]))
    try:
        raise ValueError("sk-test-not-a-real-key")
    except ValueError:
        info = sys.exc_info()
    record = logging.LogRecord("x", 20, "", 1, "got %s", ("fake-known-value",), info)
    line = formatter.format(record)
    assert "fake-known-value" not in line
    assert "not-a-real" not in line
    assert "ValueError" in line


def stream(pieces: list[str], redactor: Redactor | None = None) -> str:
    redacting = StreamRedactor(redactor)
    return "".join([*map(redacting.feed, pieces), redacting.flush()])


@pytest.mark.parametrize(("text", "secret"), SECRETS, ids=[text[:25] for text, _ in SECRETS])
def test_a_secret_that_arrives_one_character_at_a_time_is_masked(text: str, secret: str) -> None:
    shown = stream(list(f"It is {text} and so on"))
    assert secret not in shown
    assert contains_mask(shown)


@given(st.data())
def test_a_secret_is_masked_however_the_stream_is_cut(data: st.DataObject) -> None:
    text, secret = data.draw(st.sampled_from(SECRETS))
    whole = f"Look: {text}\nthen more words follow it"
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    pieces = [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert secret not in stream(pieces)


@given(st.lists(st.text(alphabet='ab c\n:="-_/@', max_size=8), max_size=20))
def test_a_stream_without_secrets_comes_out_whole(pieces: list[str]) -> None:
    assert stream(pieces) == "".join(pieces)


def test_plain_words_are_held_back_only_until_the_next_blank() -> None:
    redacting = StreamRedactor()
    assert redacting.feed("Hello ") == "Hello "
    assert redacting.feed("wor") == ""
    assert redacting.feed("ld. The token ") == "world. The "
    assert redacting.feed("count ") == "token count "


def test_an_endless_word_is_not_held_for_ever() -> None:
    assert StreamRedactor().feed("x" * 20_000) == "x" * 20_000
