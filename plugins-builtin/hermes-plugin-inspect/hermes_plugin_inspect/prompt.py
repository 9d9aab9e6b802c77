"""Measuring a request: what it consists of, how large each part is, and what the provider counted.

The wire formats of vendors add a little around each part, which is not counted here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from hermes_plugins import (
    CommandHost,
    FaceHost,
    ImagePart,
    Message,
    PromptPart,
    PromptSetup,
    SessionInfo,
    UsageError,
)

BYTES_PER_TOKEN: Final = 4
"""For English text and code in UTF-8; a rule of thumb, which other scripts miss by up to a half."""
_ORDER: Final = ("tools", "system", "memory", "history")


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What the next request of a session would hold; ``info`` is None for a new one."""

    setup: PromptSetup
    messages: tuple[Message, ...] = ()
    info: SessionInfo | None = None
    face: str = "cli"


class Size(msgspec.Struct, frozen=True, kw_only=True):
    """One part and its bytes. ``group`` is tools, system, memory or history."""

    group: str
    name: str
    bytes: int
    count: int = 1

    @property
    def tokens(self) -> int:
        """The estimate."""
        return -(-self.bytes // BYTES_PER_TOKEN)


async def read(host: CommandHost, *, session: str, face: str) -> Request:
    """The request of a session, or the first one of a new one.

    Raises:
        UsageError: there is no such session, or no model can be chosen.
    """
    async with host.open() as kernel:
        if not session:
            return Request(setup=await kernel.catalog.prompt(face=face), face=face)
        info = await _found(kernel, session)
        stored = await kernel.sessions.messages(info.id)
        return Request(
            setup=await kernel.catalog.prompt(session=info.id, face=info.face),
            messages=tuple(one.message for one in stored),
            info=info,
            face=info.face,
        )


async def _found(kernel: FaceHost, name: str) -> SessionInfo:
    found = await kernel.sessions.find(name)
    if not found:
        raise UsageError(
            f"there is no session {name!r}.", hint="`hermes sessions list` shows them."
        )
    exact = [one for one in found if one.id == name]
    if len(found) > 1 and not exact:
        ids = ", ".join(one.id for one in found[:5])
        raise UsageError(f"{name!r} may be {len(found)} sessions.", hint=f"Use a whole id: {ids}")
    return (exact or found)[0]


def measured(request: Request) -> list[Size]:
    """Every part, in the order of the groups; within history by role."""
    sizes = [
        Size(group="tools", name=tool.name, bytes=len(msgspec.json.encode(tool)))
        for tool in request.setup.tools
    ]
    sizes += [
        Size(group=_group(part), name=_name(part), bytes=len(part.text.encode()))
        for part in request.setup.parts
    ]
    pieces: dict[str, list[int]] = {}
    for message in request.messages:
        for name, text in _pieces(message):
            pieces.setdefault(name, []).append(len(text.encode("utf-8", "replace")))
    sizes += [
        Size(group="history", name=name, bytes=sum(each), count=len(each))
        for name, each in pieces.items()
    ]
    return sorted(sizes, key=lambda one: _ORDER.index(one.group))


def _group(part: PromptPart) -> str:
    return "memory" if "memory" in part.id or part.plugin.startswith("memory") else "system"


def _name(part: PromptPart) -> str:
    return f"{part.id} (plugin {part.plugin})" if part.plugin else part.id


def _pieces(message: Message) -> Iterator[tuple[str, str]]:
    names = {"user": "user", "assistant": "assistant", "tool": "tool results"}
    if message.text:
        yield names.get(message.role, message.role), message.text
    if message.added:
        yield "added for the model", "\n\n".join(message.added)
    for call in message.tool_calls:
        yield "tool calls", call.name + call.arguments
    if message.reasoning:
        yield "reasoning", message.reasoning


def images(request: Request) -> int:
    """Pictures in the history; they are billed by their size in pixels, which is not known here."""
    return sum(isinstance(part, ImagePart) for one in request.messages for part in one.parts)


def table(request: Request, sizes: Sequence[Size]) -> str:
    """The sizes for a person: groups with their parts, largest first, and the sum."""
    what = f"session {request.info.id}" if request.info else f"a new session on {request.face}"
    rows: list[tuple[str, int, int]] = []
    for group in _ORDER:
        inside = sorted((one for one in sizes if one.group == group), key=lambda one: -one.bytes)
        if not inside:
            continue
        rows.append((group, sum(one.bytes for one in inside), sum(one.tokens for one in inside)))
        for one in inside:
            count = f", {one.count}" if group == "history" else ""
            rows.append((f"  {one.name}{count}", one.bytes, one.tokens))
    total = sum(one.bytes for one in sizes), sum(one.tokens for one in sizes)
    rows.append(("together", *total))
    width = max(len(name) for name, _, _ in rows)
    lines = [
        f"The next request of {what}. Tokens are estimated: one for {BYTES_PER_TOKEN} bytes.",
        "",
        f"{'':<{width}}  {'bytes':>9}  {'tokens':>8}  {'part':>5}",
    ]
    for name, size, tokens in rows:
        share = 100 * size / total[0] if total[0] else 0
        lines.append(f"{name:<{width}}  {size:>9,}  {tokens:>8,}  {share:>4.0f}%")
    return "\n".join([*lines, *_notes(request)])


def _notes(request: Request) -> Iterator[str]:
    if count := images(request):
        yield f"{count} image{'' if count == 1 else 's'} not counted: vendors bill them by their pixels."
    usage = request.info.usage if request.info else None
    if usage is None or not (usage.input or usage.output):
        return
    answers = sum(one.role == "assistant" for one in request.messages)
    yield ""
    yield (
        f"Counted by the provider so far, {answers} answers: {usage.input:,} tokens in "
        f"({usage.cached:,} from its cache, {usage.input - usage.cached:,} fresh), {usage.output:,} out."
    )


def as_data(request: Request) -> str:
    """The sizes as JSON; ``counted`` is the provider's own count, over all requests of the session."""
    sizes = measured(request)
    usage = request.info.usage if request.info else None
    has_usage = usage is not None and bool(usage.input or usage.output)
    whole = {
        "v": 1,
        "session": request.info.id if request.info else "",
        "face": request.face,
        "estimate": f"bytes/{BYTES_PER_TOKEN}",
        "parts": [
            {
                "group": one.group,
                "name": one.name,
                "count": one.count,
                "bytes": one.bytes,
                "tokens": one.tokens,
            }
            for one in sizes
        ],
        "bytes": sum(one.bytes for one in sizes),
        "tokens": sum(one.tokens for one in sizes),
        "images": images(request),
        "counted": {
            "input": usage.input,
            "cached": usage.cached,
            "output": usage.output,
            "reasoning": usage.reasoning,
        }
        if usage is not None and has_usage
        else None,
    }
    return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode()


def whole(request: Request) -> str:
    """Everything the model reads, as text."""
    parts = [request.setup.system, "# tools"]
    parts += [
        msgspec.json.format(msgspec.json.encode(tool), indent=2).decode()
        for tool in request.setup.tools
    ]
    for message in request.messages:
        calls = "".join(f"\n[calls {call.name} {call.arguments}]" for call in message.tool_calls)
        head = f"{message.role} {message.tool_name}".strip()
        parts.append(f"# {head}\n{message.sent_text}{calls}")
    return "\n\n".join(parts)
