"""What an error of a provider means, and what people read about it."""

import json

import pytest

from hermes_core.route.classify import SHOWN_WORDS, classify
from hermes_core.route.reasons import REASONS
from hermes_plugins import ProviderError, ProviderProfile

ACME = ProviderProfile(id="acme", name="Acme", env=("ACME_API_KEY",))


def error(status: int, message: str = "", **extra: object) -> ProviderError:
    body = json.dumps({"error": {"message": message, **extra}})
    return ProviderError("the server answered with an error", status=status, body=body)


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [
        (401, "bad key", "auth"),
        (400, "API key not valid. Please pass a valid API key.", "auth"),
        (402, "pay", "billing"),
        (403, "Access denied by security policy", "forbidden"),
        (403, "Insufficient credits", "billing"),
        (429, "You exceeded your current quota", "billing"),
        (429, "You exceeded your current quota. Please retry in 34.2s.", "rate_limit"),
        (429, "slow down", "rate_limit"),
        (429, "The engine is currently overloaded", "overloaded"),
        (429, "acme/m is temporarily rate-limited upstream", "upstream_rate_limit"),
        (429, "Request too large for m: Limit 30000, Requested 50000", "context_overflow"),
        (503, "", "overloaded"),
        (529, "", "overloaded"),
        (500, "boom", "server_error"),
        (502, "", "server_error"),
        (504, "", "timeout"),
        (408, "", "timeout"),
        (413, "", "payload_too_large"),
        (404, "The model `x` does not exist", "model_not_found"),
        (400, "x is not a valid model ID", "model_not_found"),
        (404, "Not Found", "endpoint_not_found"),
        (404, "No endpoints found matching your data policy", "provider_policy_blocked"),
        (400, "Unknown parameter: 'foo'", "format_error"),
        (400, "Unsupported parameter: 'max_tokens' is not supported with this model.", "format_error"),
        (422, "", "format_error"),
        (400, "image exceeds 5 MB maximum", "image_too_large"),
        (400, "flagged by our safety system", "content_policy_blocked"),
        (400, "Invalid `signature` in `thinking` block", "thinking_signature"),
        (400, "failed to parse grammar", "grammar_pattern"),
        (418, "teapot", "unknown"),
    ],
)  # fmt: skip
def test_status_and_words_tell_the_reason(status: int, message: str, reason: str) -> None:
    assert classify(error(status, message)).reason == reason


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 "
        "tokens. Please reduce the length of the messages.",
        "This model's maximum context length is 8192 tokens. However, you requested 10192 tokens (9192 "
        "in the messages, 1000 in the completion).",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 199900 + 8192 > 200000",
        "the request exceeds the available context size. try increasing the context size",
        "The input token count (2000000) exceeds the maximum number of tokens allowed (1048576).",
        "Input is too long for requested model.",
        "您的输入长度超过了模型上下文长度",
    ],
)
def test_a_prompt_that_is_too_long_asks_for_compression(message: str) -> None:
    failure = classify(error(400, message))
    assert (failure.reason, failure.compress, failure.retryable) == ("context_overflow", True, True)


@pytest.mark.parametrize(
    ("message", "limit"),
    [
        ("max_tokens is too large: 32000. This model supports at most 16384 completion tokens", 16384),
        ("max_tokens: 99999 > 64,000, which is the maximum allowed number of output tokens", 64000),
        ("input length and `max_tokens` exceed context limit: 180000 + 32000 > 200000", 20000),
        ("This model's maximum context length is 8192 tokens. However, you requested 10192 tokens "
         "(2192 in the messages, 8000 in the completion).", 6000),
        ("'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context "
         "length is 32,768 tokens and your request has 5000 input tokens", 27768),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
        ("Range of max_tokens should be [1, 8192]", 8192),
        ("`max_tokens` must be less than or equal to `4096`", 4096),
    ],
)  # fmt: skip
def test_an_output_allowance_that_is_too_large_never_asks_for_compression(
    message: str, limit: int
) -> None:
    failure = classify(error(400, message))
    assert (failure.reason, failure.compress) == ("output_too_large", False)
    assert (failure.retryable, failure.output_limit) == (True, limit)


def test_an_error_inside_the_stream_is_read_like_a_status() -> None:
    inner = ProviderError(
        "error in the stream", body='{"code": 429, "message": "x"}', in_stream=True
    )
    typed = ProviderError(
        "error in the stream",
        body='{"error_type": "invalid_request", "error_message": "prompt is too long"}',
        in_stream=True,
    )
    assert classify(inner).reason == "rate_limit"
    failure = classify(typed)
    assert failure.reason == "context_overflow"
    assert failure.user_text.endswith(": prompt is too long")


def test_a_reason_of_the_transport_is_kept() -> None:
    certificate = classify(ProviderError("x", reason="ssl_cert_verification"))
    assert (certificate.reason, certificate.retryable) == ("ssl_cert_verification", False)
    assert classify(ProviderError("x", reason="malformed_response")).retryable


def test_malformed_json_from_the_server_is_retried() -> None:
    failure = classify(ProviderError("the answer is not JSON", status=200, body="{oops"))
    assert (failure.reason, failure.retryable) == ("malformed_response", True)


def test_a_connection_that_breaks_under_a_full_window_is_an_overflow() -> None:
    broken = ProviderError("the connection broke", reason="connection")
    refused = ProviderError("no connection (refused)", reason="connection")
    assert classify(broken, window=1000, prompt_tokens=950).reason == "context_overflow"
    assert classify(broken, window=1000, prompt_tokens=500).reason == "connection"
    assert classify(broken).reason == "connection"
    assert classify(refused, window=1000, prompt_tokens=950).reason == "connection"


def test_the_profile_decides_before_the_tables() -> None:
    words = ProviderProfile(id="acme", error_words={"Tokens Gone": "billing"})
    assert classify(error(429, "all tokens gone"), profile=words).reason == "billing"
    function = ProviderProfile(id="acme", classify=lambda error: "overloaded")
    assert classify(error(401), profile=function).reason == "overloaded"
    silent = ProviderProfile(id="acme", classify=lambda error: "")
    assert classify(error(401), profile=silent).reason == "auth"


def test_a_reason_that_no_table_knows_behaves_like_unknown() -> None:
    profile = ProviderProfile(id="acme", error_words={"moon": "moon_phase"})
    failure = classify(error(400, "wrong moon"), profile=profile)
    assert (failure.reason, failure.retryable) == ("moon_phase", True)


def test_the_error_may_say_itself_whether_to_retry() -> None:
    assert not classify(ProviderError("x", status=500, retryable=False)).retryable
    assert classify(ProviderError("x", status=401, retryable=True)).retryable


def test_a_403_shows_the_servers_words_and_does_not_blame_the_key() -> None:
    page = "<html><head><title>Attention\nRequired!</title></head><body>x</body></html>"
    failure = classify(ProviderError("error", status=403, body=page), profile=ACME)
    assert failure.user_text == (
        "Acme refused the request (HTTP 403): a web page titled 'Attention\\nRequired!'"
    )
    assert "key" not in failure.user_text + failure.hint
    said = classify(error(403, "Blocked by country"), profile=ACME)
    assert said.user_text == "Acme refused the request (HTTP 403): Blocked by country"


def test_texts_name_what_to_do_next() -> None:
    auth = classify(error(401, "bad key"), profile=ACME)
    assert auth.user_text == "Acme did not accept the key (HTTP 401): bad key"
    assert auth.hint == "Set a valid key: hermes config set ACME_API_KEY …"
    unknown = classify(error(404, "no such model"), profile=ACME, model="m-1")
    assert unknown.user_text.startswith("Acme does not know the model m-1 (HTTP 404)")
    assert "hermes chat --model" in unknown.hint
    overflow = classify(error(400, "prompt is too long"), profile=ACME, window=200_000)
    assert "too long for the window of 200,000 tokens" in overflow.user_text


@pytest.mark.parametrize(
    ("address", "hint"),
    [
        ("model.base_url", "hermes config set model.base_url URL"),
        ("providers.acme.base_url", "hermes config set providers.acme.base_url URL"),
        ("ACME_BASE_URL", "in the variable ACME_BASE_URL"),
        ("", "Check the network. To use another address: hermes config set providers.acme."),
    ],
)
def test_a_server_that_is_not_reached_names_where_its_address_stands(
    address: str, hint: str
) -> None:
    refused = ProviderError("no connection (refused)", reason="connection")
    assert hint in classify(refused, profile=ACME, address=address).hint


def test_a_server_that_is_local_may_not_be_running() -> None:
    refused = ProviderError("no connection (refused)", reason="connection")
    local = ProviderProfile(id="acme", local=True)
    assert classify(refused, profile=local).hint.startswith("Is it running?")
    there = classify(error(404, "Not Found"), profile=local)
    assert there.hint.startswith("To use another address:")


def test_a_hint_of_the_error_wins() -> None:
    assert classify(ProviderError("x", status=401, hint="hermes login")).hint == "hermes login"


def test_the_servers_words_are_one_short_line() -> None:
    failure = classify(error(500, "a\n\n b" * 500))
    assert "\n" not in failure.user_text
    assert len(failure.user_text) < SHOWN_WORDS + 100


@pytest.mark.parametrize(
    "body", ["", "[]", '{"error": "plain"}', '[{"error": {"message": 5}}]', "["]
)
def test_any_body_gives_a_text(body: str) -> None:
    assert classify(ProviderError("message", status=500, body=body)).user_text


def test_every_retryable_or_final_reason_has_words() -> None:
    assert all(row.text and set(row.flags) <= set("RCKF") for row in REASONS.values())
