"""Dialects: one wire format each, translating our values to a vendor's request and back.

A `Dialect` is a driver class, made once per session without arguments, named in the group
``hermes.dialects``. It owns no client, no retry and no key: those come with the `Endpoint`. It
yields `Delta` values; the kernel's assembler joins them.

Two rules hold for every dialect. The encoded request n+1 begins with request n up to the end of its
messages, so that the vendor's cache hits: put ``messages`` last and encode each message the same way
every time. And an argument fragment names its call by index **and** id, because servers repeat,
interleave and share either.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import msgspec

from hermes_plugins._http import HttpClient, Timeouts
from hermes_plugins._messages import Json, Message, Usage

Finish: TypeAlias = Literal["stop", "tool_calls", "length", "refusal", "error", "unknown"]


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a model.

    ``tools`` is the rendered tool list of the session: name, description and JSON Schema of each.
    ``extras`` goes to the top level of the wire request as it is, in place of what the dialect would
    send under that name; None leaves a field out. ``reasoning_field`` is the profile's. Of the
    `NativePart`s in the messages only those are sent whose dialect is this one and whose provider is
    ``native_of``.
    """

    model: str
    system: str
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    max_output: int = 0
    extras: Mapping[str, Json] = {}
    reasoning_field: str = ""
    session_id: str = ""
    native_of: str = ""


class ToolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as the model sees it."""

    name: str
    description: str
    parameters: dict[str, Json]


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where and how a request is sent; ``headers`` carry the authentication. Never logged whole.

    ``url`` is whole: the provider's ``base_url`` and the dialect's ``path``.
    """

    http: HttpClient
    url: str
    headers: Mapping[str, str] = {}
    timeouts: Timeouts = Timeouts()
    provider: str = ""


class TextPiece(msgspec.Struct, frozen=True):
    """More text of the answer."""

    text: str


class ReasoningPiece(msgspec.Struct, frozen=True):
    """More of the reasoning."""

    text: str


class ToolFragment(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a tool call; ``index`` is -1 and ``id`` "" where the server sent none.

    ``whole`` says that ``arguments`` is complete, for wires that send calls in one piece.
    """

    index: int = -1
    id: str = ""
    name: str = ""
    arguments: str = ""
    whole: bool = False


class NativePiece(msgspec.Struct, frozen=True):
    """Something to be sent back as it is in later requests; kept as a `NativePart` of the answer.

    ``call`` is the id of the tool call that it belongs to, "" where it belongs to the answer.
    """

    data: Json
    call: str = ""


class UsageReport(msgspec.Struct, frozen=True):
    """Tokens so far; the last report counts."""

    usage: Usage


class FinishMark(msgspec.Struct, frozen=True):
    """The server said that, and why, the answer is over. A stream without one was cut."""

    reason: Finish
    detail: str = ""


Delta: TypeAlias = (
    TextPiece | ReasoningPiece | ToolFragment | NativePiece | UsageReport | FinishMark
)


class Dialect(Protocol):
    """A wire format."""

    path: str
    """What stands behind a provider's ``base_url``, such as ``/chat/completions``.

    ``{model}`` in it becomes the model's name, percent-encoded.
    """

    def stream(self, request: ModelRequest, endpoint: Endpoint) -> AsyncIterator[Delta]:
        """Send the request and yield what comes back, as an async generator.

        The caller closes the generator; it must release the response then.

        Raises:
            ProviderError: an error status, an error inside the stream, or a broken connection.
        """

    def encode(self, request: ModelRequest) -> bytes:
        """The body that `stream` would send; for benches and tests."""
