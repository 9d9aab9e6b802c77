"""What can go wrong with a model provider: the reasons, and the wordings that tell them.

Data only; ``classify.py`` reads it, and compiles the patterns when an error comes. Wordings are
vendors' own, lower case, and the first match wins. A vendor's profile adds its own in
`ProviderProfile.error_words` rather than here.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import msgspec


class Reason(msgspec.Struct, frozen=True):
    """A row of the table. ``flags``: R retryable, C compress, K rotate the key, F fallback. ``hint`` may
    name the ``{key}`` to set, or be the ``{address}`` to look at."""

    flags: str
    text: str
    hint: str = ""


_OTHER_MODEL = "Try another model: hermes chat --model PROVIDER/MODEL"
_KEY = "Set a valid key: hermes config set {key} …"
_SHORTER = "Start a new session, or use a model with a larger window: hermes chat --model …"
_URL = "{address}"
_AGAIN = "Ask again, or use another model: hermes chat --model PROVIDER/MODEL"
_WAIT = "Wait a little, or use another model: hermes chat --model PROVIDER/MODEL"

REASONS: Mapping[str, Reason] = MappingProxyType(
    {
        "auth": Reason("KF", "did not accept the key", _KEY),
        "forbidden": Reason("KF", "refused the request", _OTHER_MODEL),
        "billing": Reason("KF", "says that credit or quota is used up", _OTHER_MODEL),
        "rate_limit": Reason("RKF", "gets too many requests", _WAIT),
        "upstream_rate_limit": Reason("RF", "passes on that the model's host is busy", _WAIT),
        "overloaded": Reason("RF", "is overloaded", _WAIT),
        "server_error": Reason("RF", "had an internal error", _WAIT),
        "timeout": Reason("RF", "did not answer in time", _OTHER_MODEL),
        "connection": Reason("RF", "could not be reached", _URL),
        "malformed_response": Reason("RF", "sent an answer that cannot be read", _URL),
        "empty_response": Reason("RF", "gave an empty answer", _OTHER_MODEL),
        "cut": Reason("RF", "broke off in the middle of the answer", _AGAIN),
        "ssl_cert_verification": Reason(
            "",
            "has a certificate that cannot be verified",
            "Check the proxy (HTTPS_PROXY) and the clock (`date`).",
        ),
        "context_overflow": Reason("RC", "says that the conversation is too long", _SHORTER),
        "long_context_tier": Reason("RC", "does not allow the long window for this key", _SHORTER),
        "payload_too_large": Reason("RC", "says that the request is too large", _SHORTER),
        "output_too_large": Reason(
            "R", "allows fewer output tokens than were asked for", _OTHER_MODEL
        ),
        "image_too_large": Reason("R", "says that an image is too large", "Send a smaller image."),
        "model_not_found": Reason("F", "does not know the model", _OTHER_MODEL),
        "endpoint_not_found": Reason("F", "has nothing at this address", _URL),
        "bad_url": Reason("", "has an address that cannot be used", _URL),
        "provider_policy_blocked": Reason("", "has no host that fits the data policy set there"),
        "content_policy_blocked": Reason("F", "declined the content", _OTHER_MODEL),
        "format_error": Reason("F", "did not accept the form of the request", _OTHER_MODEL),
        "invalid_encrypted_content": Reason("R", "cannot read its own earlier reasoning"),
        "thinking_signature": Reason("R", "cannot verify its own earlier reasoning"),
        "multimodal_tool_content_unsupported": Reason("R", "takes only text as a tool's result"),
        "grammar_pattern": Reason("R", "cannot use a pattern in a tool's schema"),
        "unknown": Reason("RF", "answered with an error", _OTHER_MODEL),
    }
)


def _rows(text: str) -> tuple[tuple[str, str], ...]:
    """A table of lines ``reason: wording | wording`` as (wording, reason), in order."""
    rows = (line.split(": ", 1) for line in text.strip().splitlines())
    return tuple((word, reason) for reason, words in rows for word in words.split(" | "))


# Wordings that tell the reason whatever the status is.
TELLING_WORDS = _rows("""
ssl_cert_verification: certificate verify failed | certificate_verify_failed
ssl_cert_verification: self-signed certificate
invalid_encrypted_content: invalid_encrypted_content | encrypted content could not be
thinking_signature: invalid signature in thinking | `signature` in `thinking`
grammar_pattern: failed to parse grammar | error parsing grammar
image_too_large: image exceeds | image is too large | image dimensions exceed | image_too_large
provider_policy_blocked: guardrail restrictions and data policy | matching your data policy
long_context_tier: long context beta | extra usage is required for long context
context_overflow: input length and `max_tokens` exceed | context_length_exceeded
context_overflow: maximum context length | context window | context length | context size
context_overflow: prompt is too long | prompt too long | input is too long | input token count
context_overflow: too many input tokens | maximum prompt length
context_overflow: exceeds the maximum number of tokens | exceeded model token limit
context_overflow: reduce the length of the messages | request too large for | 输入长度超 | 上下文长度
rate_limit: please retry in
billing: insufficient_quota | insufficient credit | insufficient balance | insufficient funds
billing: credit balance is too low | exceeded your current quota | billing_hard_limit
billing: payment required | 余额不足
content_policy_blocked: content_policy | content management policy | content_filter
content_policy_blocked: flagged by our safety
""")

# The output allowance is too large: no shorter prompt helps (so these come before the words above).
_OUTPUT_NAME = r"max(?:imum)?[_ ](?:completion[_ ]|output[_ ]|new[_ ])?tokens\W{0,3}"
OUTPUT_TOO_LARGE = (
    rf"{_OUTPUT_NAME}(?: or \W{_OUTPUT_NAME})?(?:value )?(?:is )?(?:too large|too high|exceeds|must be"
    rf" (?:less|at most|between)|: \d+ > |=?\d+ (?:is too large|exceeds))"
    r"|supports at most \d[\d,]* (?:completion|output) tokens"
    r"|maximum (?:allowed )?number of output tokens"
    r"|range of max_tokens"
)
# What the server allows, in a text without thousands separators.
OUTPUT_LIMIT = (
    r"(?:at most|less than or equal to|max_tokens: \d+ >|range of max_tokens (?:is|should be) \[\d+,"
    r"|maximum (?:allowed )?number of output tokens (?:is|for \S+ is))\W{0,2}(?P<limit>\d{1,9})"
)
# The window and the size of the input, where one message names both.
_WINDOW = r"context length is (?P<window>\d{1,9}).{0,80}?(?P<input>\d{1,9}) "
SUMS = (
    r"(?P<input>\d{1,9}) \+ \d+ > (?P<window>\d{1,9})",
    _WINDOW + r"(?:tokens )?(?:in|from) (?:the )?(?:messages|prompt|text|input)",
    _WINDOW + r"input tokens",
)

# Wordings believed only where neither the words above nor the status told the reason.
GENERAL_WORDS = _rows("""
auth: api key not valid | invalid api key | invalid_api_key | incorrect api key | authentication
auth: unauthorized
model_not_found: model_not_found | model not found | not a valid model | no endpoints found
overloaded: overload | at capacity
upstream_rate_limit: temporarily rate-limited upstream
rate_limit: rate limit | rate_limit | rate-limit | too many requests | throttl
rate_limit: resource_exhausted
format_error: unsupported parameter | unknown parameter | invalid_request
malformed_response: not json | malformed | invalid json
timeout: timed out | timeout
connection: connection | disconnected
server_error: internal server error | server_error
""")

STATUS: Mapping[int, str] = MappingProxyType(
    {400: "format_error", 401: "auth", 402: "billing", 403: "forbidden", 404: "endpoint_not_found",
     405: "endpoint_not_found", 408: "timeout", 413: "payload_too_large", 422: "format_error",
     429: "rate_limit", 503: "overloaded", 504: "timeout", 524: "timeout", 529: "overloaded"}
)  # fmt: skip
