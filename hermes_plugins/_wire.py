"""What dialects share: errors in the server's own words, and JSON that every server can read.

The forms of errors: OpenAI's ``{"error": {"message", "code"}}``, OpenRouter's with ``metadata`` of the
vendor behind it, ``{"error": "text"}`` (Ollama), ``{"object": "error", "message"}`` (vLLM), FastAPI's
``{"detail"}``, ``error_type`` and ``error_message`` (Venice), and web pages of firewalls.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from hermes_plugins._errors import ProviderError
from hermes_plugins._http import HttpResponse
from hermes_plugins._messages import Json

READ_LIMIT = 64_000
"""Bytes of an error body that are read."""
_SHOWN = 500
_encode = msgspec.json.Encoder().encode
_TITLE = re.compile(rb"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)


async def check_status(response: HttpResponse, provider: str) -> None:
    """Raise what the server said unless the status is a success.

    Raises:
        ProviderError: always, with an error status.
    """
    if 200 <= response.status < 300:
        return
    try:
        body = await response.read(limit=READ_LIMIT)
    except ProviderError:
        body = b""  # the status says enough
    words = _words_of(body) or "it said nothing more"
    raise ProviderError(
        f"{provider or 'the server'} answered {response.status}: {words}",
        status=response.status,
        headers=dict(response.headers),
        body=body.decode("utf-8", "replace"),
    )


def stated_error(
    value: Mapping[str, Json], provider: str, headers: Mapping[str, str]
) -> ProviderError:
    """The error that a decoded body or event of a 200 answer states; its own code is the status."""
    error = value.get("error")
    code = error.get("code") if isinstance(error, dict) else value.get("code")
    if code is None:
        code = error.get("status") if isinstance(error, dict) else value.get("status")
    number = int(code) if isinstance(code, int) or (isinstance(code, str) and code.isdigit()) else 0
    return ProviderError(
        f"{provider or 'the server'} reported an error: {_words(value) or 'without a reason'}",
        status=number if 400 <= number < 600 else 200,
        headers=dict(headers),
        body=msgspec.json.encode(value).decode(),
        in_stream=True,
    )


def unreadable_answer(body: bytes, provider: str, headers: Mapping[str, str]) -> ProviderError:
    """For a success whose body is a web page, or anything else but an answer."""
    who = provider or "the server"
    if page := _page(body):
        message = f"{who} answered with a web page ({page}) in place of a model's answer."
        hint = "Check the address: hermes config set model.base_url URL (many end in /v1)"
    else:
        shown = body[:80].decode("utf-8", "replace")
        message, hint = f"{who} sent something that is no answer: {shown!r}", ""
    return ProviderError(
        message,
        status=200,
        headers=dict(headers),
        body=body.decode("utf-8", "replace"),
        in_stream=True,
        reason="malformed_response",
        retryable=True,
        hint=hint,
    )


def encode_json(value: Json) -> bytes:
    """JSON; a lone half of a surrogate pair, which UTF-8 cannot hold, becomes a replacement mark."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        import json

        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()


def argument_object(text: str) -> str:
    """The arguments of a past call as a server can read them: the JSON text of an object.

    Several servers parse them and refuse the whole request when they are none, so what the model got
    wrong travels as a string inside one.
    """
    if not text.strip():
        return "{}"
    try:
        msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, UnicodeEncodeError):
        return encode_json({"unparsed_arguments": text}).decode()
    return text


def _words_of(body: bytes) -> str:
    try:
        value = msgspec.json.decode(body)
    except msgspec.DecodeError:
        return _page(body) or " ".join(body.decode("utf-8", "replace").split())[:_SHOWN]
    if isinstance(value, list) and value:
        value = value[0]  # Gemini wraps its error in a list
    if isinstance(value, dict):
        return _words(value) or body.decode("utf-8", "replace")[:_SHOWN]
    return str(value)[:_SHOWN]


def _words(value: Mapping[str, Json]) -> str:
    """The message of an error object, and who behind the server said what."""
    error = value.get("error")
    if isinstance(error, dict):
        words = _words(error) or str(error.get("type") or error.get("code") or "")
        return words + _upstream(error.get("metadata"))
    for name in ("error", "error_message", "message", "detail", "msg"):
        found = value.get(name)
        if isinstance(found, str) and found:
            return found[:_SHOWN]
        if isinstance(found, dict):
            return _words(found)
        if isinstance(found, list) and found:
            return str(found[0].get("msg") if isinstance(found[0], dict) else found[0])[:_SHOWN]
    kind = value.get("error_type")
    return kind if isinstance(kind, str) else ""


def _upstream(metadata: Json) -> str:
    if not isinstance(metadata, dict):
        return ""
    name, raw = metadata.get("provider_name"), metadata.get("raw")
    said = [text for text in (name, raw) if isinstance(text, str) and text]
    return f" ({': '.join(said)[:_SHOWN]})" if said else ""


def _page(body: bytes) -> str:
    """The title of a web page, "untitled" without one, "" when it is no web page."""
    if body.lstrip()[:1] != b"<":
        return ""
    found = _TITLE.search(body)
    title = " ".join(found[1].decode("utf-8", "replace").split()) if found else ""
    return title[:200] or "untitled"
