"""Tools: what the model may call.

`tool` builds a `Tool` from a typed function and its docstring. A parameter annotated `ToolContext`
is injected and stays out of the schema; ``Annotated[T, "text"]`` describes a parameter. A handler
is ``async def``, or a plain ``def`` that runs in a worker thread. It returns text, JSON data or a
`ToolResult`; it fails by raising `ToolError`, which the model reads as a result.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Annotated, Protocol, TypeAlias, TypeVar, get_args, get_origin, overload

import msgspec

from hermes_plugins._effects import EffectsOf
from hermes_plugins._errors import PluginError
from hermes_plugins._messages import FailureKind, Json, ResultStatus

if typing.TYPE_CHECKING:
    from hermes_plugins._clock import Clock
    from hermes_plugins._environments import Environment
    from hermes_plugins._host import Host

T = TypeVar("T")


class ToolResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a handler may return when plain text is not enough.

    ``summary`` is one line for people (default: the first line of ``text``); ``kind`` tells the
    model whether a failed call may work later.
    """

    text: str
    status: ResultStatus = "ok"
    kind: FailureKind = ""
    summary: str = ""
    meta: dict[str, Json] = {}


Handled: TypeAlias = str | ToolResult | Mapping[str, Json] | Sequence[Json] | None
Handler: TypeAlias = Callable[..., Handled] | Callable[..., Awaitable[Handled]]


class Cancelled(Protocol):
    """Tells a running tool that its call is over; every part of it is safe in any thread."""

    def is_set(self) -> bool:
        """True once the call should stop."""

    async def wait(self) -> None:
        """Return when the call should stop."""

    def on_set(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called once, from any thread, when the call should stop."""


class ToolContext(Protocol):
    """What a handler may use while it runs. Valid until the handler returns."""

    session_id: str
    turn_id: str
    call_id: str
    workspace: str
    """Absolute path of the folder that relative paths start from."""
    environment: Environment
    host: Host
    """The handle of the plugin that owns the tool."""
    clock: Clock
    result_chars: int
    """How many characters of result fit into the model's window; more is spilled to a file."""

    @property
    def cancelled(self) -> Cancelled:
        """Tells that the call should stop."""

    def progress(self, text: str) -> None:
        """Tell the person how far the call is; safe in any thread."""

    async def ask(self, question: str, choices: Sequence[str] = ()) -> str:
        """Ask the person and return the answer.

        Raises:
            ToolError: this face cannot ask, or nobody answered.
        """

    def state(self, key: str, factory: Callable[[], T]) -> T:
        """A value of this session, made once; gone when the session is closed in this process."""

    def run(self, coro: Coroutine[object, object, T]) -> T:
        """For plain handlers: run a coroutine on the host's loop and wait for it."""


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool. ``description`` and ``parameters`` stay as they are for a whole session."""

    name: str
    description: str
    parameters: dict[str, Json]
    """JSON Schema (2020-12 subset) of an object."""
    handler: Handler
    toolset: str
    effects: EffectsOf
    label: str = ""
    """Name of the argument that stands for the call in one line, such as ``path``."""
    aliases: tuple[str, ...] = ()
    available: Callable[[], str] | None = None
    """Returns "" or the reason why the tool cannot be used now; the kernel caches it for 30 s."""
    result_limit: int = 0
    """Characters; 0 takes the host's default of 100,000."""
    timeout: float = 0.0
    """Seconds; 0 takes ``tools.default_timeout``. Negative: the tool bounds itself."""
    interactive: bool = False
    untrusted_output: bool = False
    context_parameter: str = ""
    """Name of the handler's `ToolContext` parameter, "" where it takes none."""


class ToolSource(Protocol):
    """Tools that are found out at run time, such as an MCP server's. Provisional."""

    name: str

    async def tools(self) -> Sequence[Tool]:
        """The tools that exist now."""


@overload
def tool(handler: Handler, /) -> Tool: ...
@overload
def tool(
    *,
    toolset: str,
    effects: EffectsOf,
    name: str = ...,
    label: str = ...,
    aliases: Sequence[str] = ...,
    available: Callable[[], str] | None = ...,
    result_limit: int = ...,
    timeout: float = ...,
    interactive: bool = ...,
    untrusted_output: bool = ...,
) -> Callable[[Handler], Tool]: ...
def tool(
    handler: Handler | None = None,
    /,
    *,
    toolset: str = "",
    effects: EffectsOf = (),
    name: str = "",
    label: str = "",
    aliases: Sequence[str] = (),
    available: Callable[[], str] | None = None,
    result_limit: int = 0,
    timeout: float = 0.0,
    interactive: bool = False,
    untrusted_output: bool = False,
) -> Tool | Callable[[Handler], Tool]:
    """Make a `Tool` of a typed function.

    The first paragraph of the docstring is the description the model reads. Without arguments
    (``@tool``) the toolset is the module's plugin name and the effects are unknown, so every call
    is asked about.

    Raises:
        PluginError: a parameter has no annotation, or one that JSON Schema cannot say.
    """

    def build(function: Handler) -> Tool:
        parameters, context = schema_of(function)
        doc = inspect.cleandoc(function.__doc__ or "").split("\n\n", 1)[0]
        return Tool(
            name=name or function.__name__,
            description=" ".join(doc.split()),
            parameters=parameters,
            handler=function,
            toolset=toolset or function.__module__.split(".")[0].removeprefix("hermes_plugin_"),
            effects=effects,
            label=label,
            aliases=tuple(aliases),
            available=available,
            result_limit=result_limit,
            timeout=timeout,
            interactive=interactive,
            untrusted_output=untrusted_output,
            context_parameter=context,
        )

    return build(handler) if handler is not None else build


def schema_of(function: Handler) -> tuple[dict[str, Json], str]:
    """The JSON Schema of a function's parameters, and the name of its `ToolContext` parameter.

    Raises:
        PluginError: a parameter has no annotation, or one that JSON Schema cannot say.
    """
    hints = _hints_of(function)
    properties: dict[str, Json] = {}
    required: list[Json] = []
    definitions: dict[str, Json] = {}
    context = ""
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name)
        if hint is ToolContext:
            context = parameter.name
            continue
        if hint is None or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise PluginError(
                function.__module__,
                f"tool {function.__name__}: parameter {parameter.name} has no usable annotation.",
                hint="Annotate it with a plain type, such as str or list[int].",
            )
        described = _schema_of_hint(function, parameter.name, hint, definitions)
        properties[parameter.name] = described
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif parameter.default is not None:
            described["default"] = parameter.default
    schema: dict[str, Json] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if definitions:
        schema["$defs"] = definitions
    return schema, context


def _hints_of(function: Handler) -> dict[str, object]:
    """Resolved annotations; the names imported only for type checking are lent for the look-up."""
    lent = {"ToolContext": ToolContext}
    try:
        return typing.get_type_hints(function, localns=lent, include_extras=True)
    except NameError as error:
        raise PluginError(
            function.__module__,
            f"tool {function.__name__}: annotation {error.name!r} is not known at run time.",
            hint="Import it outside TYPE_CHECKING.",
        ) from error


_PLAIN: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


def _schema_of_hint(
    function: Handler, name: str, hint: object, definitions: dict[str, Json]
) -> dict[str, Json]:
    text = ""
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        text = next((extra for extra in extras if isinstance(extra, str)), "")
    if hint in _PLAIN:
        schema: dict[str, Json] = {"type": _PLAIN[hint]}
    else:
        try:
            (schema,), found = msgspec.json.schema_components([hint], ref_template="#/$defs/{name}")
        except TypeError as error:
            raise PluginError(
                function.__module__, f"tool {function.__name__}: parameter {name}: {error}"
            ) from error
        definitions.update(found)
        schema = _without_null(schema)
    return {**schema, "description": text} if text else schema


def _without_null(schema: dict[str, Json]) -> dict[str, Json]:
    """An optional parameter is one that may be left out: models do better without ``null``."""
    choices = schema.get("anyOf")
    if not isinstance(choices, list):
        return schema
    kept = [choice for choice in choices if choice != {"type": "null"}]
    return kept[0] if len(kept) == 1 else {**schema, "anyOf": kept}
