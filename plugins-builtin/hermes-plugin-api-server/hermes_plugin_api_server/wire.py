"""Requests: a chat-completions body to our values.

Lenient: what is not known is passed over, as OpenAI's own clients send more every year. Only what
would be answered wrongly is refused. The form: https://platform.openai.com/docs/api-reference/chat
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from hermes_plugins import ImagePart, Json, Message, Part, TextPart, ToolCall, UnknownPart

from .errors import ApiError

_TEXTS = {"text", "input_text", "output_text", "refusal"}
_IMAGES = {"image_url", "input_image"}
_NOTE = "Instructions of the program through which you are asked:\n{}"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a client wants answered, and what it says went before."""

    instructions: str
    """Its system prompt."""
    history: tuple[Message, ...]
    message: Message
    """What is to be answered."""
    model: str
    user: str
    stream: bool
    with_usage: bool
    """A stream ends with what it cost."""


class _Function(msgspec.Struct):
    name: str = ""
    arguments: Json = ""


class _Call(msgspec.Struct):
    id: str | None = None
    function: _Function | None = None


class _Said(msgspec.Struct):
    role: str
    content: Json = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None
    name: str | None = None


class _StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class _Body(msgspec.Struct):
    messages: list[_Said]
    model: str | None = None
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    n: int | None = None
    user: str | None = None


_decode = msgspec.json.Decoder(_Body).decode


def read_request(body: bytes) -> Asked:
    """What the body asks for.

    Raises:
        ApiError: it is no chat-completions request, or asks for what cannot be given.
    """
    sent = _decoded(body)
    if sent.n is not None and sent.n != 1:
        raise ApiError(400, "n must be 1: a turn has one answer.", param="n")
    texts, said = _split_leading(sent.messages)
    history = _history(said)
    if not history:
        raise ApiError(400, "there is no message of the user to answer.", param="messages")
    *before, last = history
    if last.role == "assistant":
        text = "the last message must be the user's: an answer cannot be continued."
        raise ApiError(400, text, param="messages")
    if last.role == "tool":
        before, last = _asked_by_results(history)
    if not (last.text.strip() or any(isinstance(part, ImagePart) for part in last.parts)):
        raise ApiError(400, "the last message is empty.", param="messages")
    return Asked(
        instructions="\n\n".join(texts),
        history=tuple(before),
        message=last,
        model=sent.model or "",
        user=sent.user or "",
        stream=bool(sent.stream),
        with_usage=bool(sent.stream_options and sent.stream_options.include_usage),
    )


def noted(message: Message, instructions: str) -> Message:
    """The message with instructions of the client behind it."""
    note = _NOTE.format(instructions)
    return msgspec.structs.replace(message, added=(*message.added, note))


def _decoded(body: bytes) -> _Body:
    try:
        return _decode(body)
    except RecursionError:
        raise ApiError(400, "the body is nested too deeply.") from None
    except msgspec.ValidationError as error:
        raise ApiError(400, f"this is no chat request: {error}") from None
    except msgspec.DecodeError as error:
        loose = _decoded_loosely(body)
        if loose is None:
            raise ApiError(400, f"the body is not JSON: {error}") from None
        return loose


def _decoded_loosely(body: bytes) -> _Body | None:
    """For half a surrogate pair in an escape, as JavaScript sends, which msgspec does not read."""
    import json

    try:
        text = json.dumps(json.loads(body), ensure_ascii=False)
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return _decode(whole.encode())
    except (ValueError, RecursionError):
        return None


def _split_leading(messages: Sequence[_Said]) -> tuple[list[str], Sequence[_Said]]:
    """The texts of the system messages in front, and the rest."""
    count = 0
    while count < len(messages) and messages[count].role in ("system", "developer"):
        count += 1
    texts = [_plain(_parts(one.content)) for one in messages[:count]]
    return [text for text in texts if text], messages[count:]


def _history(messages: Sequence[_Said]) -> list[Message]:
    """Our messages. What a client's system says in the middle stands with the user's next message,
    or with the one before where none comes: the prompt does not move."""
    history: list[Message] = []
    names: dict[str, str] = {}
    notes: list[str] = []
    for said in messages:
        if said.role in ("system", "developer"):
            notes.append(_plain(_parts(said.content)))
            continue
        message = _message(said, names)
        if message.role == "user":
            for note in notes:
                message = noted(message, note)
            notes = []
        history.append(message)
    for note in notes:
        for place in range(len(history) - 1, -1, -1):
            if history[place].role == "user":
                history[place] = noted(history[place], note)
                break
    return history


def _message(said: _Said, names: dict[str, str]) -> Message:
    parts = _parts(said.content)
    if said.role == "user":
        return Message(role="user", parts=parts)
    if said.role == "assistant":
        calls = tuple(_call(one, number) for number, one in enumerate(said.tool_calls or ()))
        names.update({call.id: call.name for call in calls})
        return Message(role="assistant", parts=parts, tool_calls=calls)
    if said.role in ("tool", "function"):
        ident = said.tool_call_id or ""
        name = names.get(ident) or said.name or ""
        return Message(role="tool", parts=parts, tool_call_id=ident, tool_name=name)
    text = f"there is no role {said.role!r}: system, developer, user, assistant, tool."
    raise ApiError(400, text, param="messages")


def _call(call: _Call, number: int) -> ToolCall:
    function = call.function or _Function()
    arguments = function.arguments
    if not isinstance(arguments, str):
        arguments = msgspec.json.encode(arguments).decode()
    return ToolCall(id=call.id or f"call_{number}", name=function.name, arguments=arguments)


def _asked_by_results(history: Sequence[Message]) -> tuple[list[Message], Message]:
    """A client that ran a tool of its own and sends what came out: that is what is to be answered."""
    before = list(history)
    results: list[Message] = []
    while before and before[-1].role == "tool":
        results.insert(0, before.pop())
    texts = [f"[{one.tool_name or 'a tool'} gave:]\n{one.text}" for one in results]
    if before and before[-1].tool_calls:
        calls = before.pop()
        if calls.text:
            before.append(msgspec.structs.replace(calls, tool_calls=()))
    return before, Message(role="user", parts=(TextPart("\n\n".join(texts)),))


def _parts(content: Json) -> tuple[Part, ...]:
    if content is None or content == "":
        return ()
    if isinstance(content, str):
        return (TextPart(content),)
    if isinstance(content, list):
        return tuple(map(_part, content))
    raise ApiError(400, "content must be text or a list of parts.", param="messages")


def _part(part: Json) -> Part:
    if isinstance(part, str):
        return TextPart(part)
    if not isinstance(part, dict):
        raise ApiError(400, "a part of content must be an object.", param="messages")
    kind = str(part.get("type", ""))
    if kind in _TEXTS:
        return TextPart(str(part.get("text") or part.get("refusal") or ""))
    if kind in _IMAGES:
        return _image(part.get("image_url"))
    return UnknownPart(kind or "part without a type")


def _image(image: Json) -> ImagePart:
    url = image.get("url") if isinstance(image, dict) else image
    if isinstance(url, str) and url.startswith(("https://", "http://")):
        return ImagePart(media_type="", url=url)
    if isinstance(url, str) and url.startswith("data:"):
        kind, _, data = url.removeprefix("data:").partition(",")
        media_type, _, coding = kind.rpartition(";")
        if coding == "base64" and media_type.startswith("image/") and data:
            return ImagePart(media_type=media_type.partition(";")[0], data=data)
    text = "image_url must be an http address, or data:image/…;base64,…"
    raise ApiError(400, text, param="messages")


def _plain(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, TextPart))
