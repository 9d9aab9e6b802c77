"""Every hook, in the order in which it fires: the map of the program.

The family's name is its failure policy:

====================  ==========================================  =================================
family                a result                                    when a plugin raises or hangs
====================  ==========================================  =================================
hermes_register_*     an iterable of values; pure, no arguments   the plugin is dropped whole
hermes_transform_*    the value, changed or not, in rank order    reported, the value unchanged
hermes_before_*       Allow, Ask or Deny; the strictest wins      counts as Deny
hermes_on_*           ignored                                     reported; off if it keeps failing
====================  ==========================================  =================================

An implementation names only the arguments it needs, in any order; ``host`` is its own handle, and
every hook but the ``register`` ones may take it. Implementations may be ``async def`` (about 4
microseconds a call) or plain (about 90: they run in a thread of the plugin's own). Each gets its own
copy of what could be changed in place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hermes_plugins._config import ConfigSection
from hermes_plugins._decisions import CallView, Decision, ResultView
from hermes_plugins._dialects import ModelRequest
from hermes_plugins._doctor import DoctorCheck
from hermes_plugins._errors import ProviderError
from hermes_plugins._events import Event, TurnEnded
from hermes_plugins._faces import FaceSpec, SlashCommand
from hermes_plugins._host import Host, PromptSection
from hermes_plugins._markers import hookspec
from hermes_plugins._messages import Json, Message, Usage
from hermes_plugins._platforms import PlatformSpec
from hermes_plugins._providers import ProviderProfile
from hermes_plugins._setup import SetupSection
from hermes_plugins._store import SessionInfo
from hermes_plugins._tools import Tool

# --------------------------------------------------------------------------------------
# Declarations: when a plugin is loaded. Pure, plain, without arguments.
# --------------------------------------------------------------------------------------


@hookspec
def hermes_register_config() -> Iterable[ConfigSection]:
    """Name the plugin's section of hermes.yaml and its secrets. Any group."""


@hookspec
def hermes_register_tools() -> Iterable[Tool]:
    """Offer tools. Groups: hermes.tools, hermes.memory."""


@hookspec
def hermes_register_providers() -> Iterable[ProviderProfile]:
    """Offer model providers. Group: hermes.providers."""


@hookspec
def hermes_register_platforms() -> Iterable[PlatformSpec | FaceSpec]:
    """Offer chat services, and faces that the gateway runs. Group: hermes.platforms."""


@hookspec
def hermes_register_prompt_sections() -> Iterable[PromptSection]:
    """Offer text for the system prompt. Groups: hermes.tools, hermes.memory, hermes.lifecycle."""


@hookspec
def hermes_register_slash_commands() -> Iterable[SlashCommand]:
    """Offer commands of the prompt. Groups: hermes.tools, hermes.memory, hermes.lifecycle."""


@hookspec
def hermes_register_setup() -> Iterable[SetupSection]:
    """Name what a person has to be asked before the plugin works. Any group."""


@hookspec
def hermes_register_doctor() -> Iterable[DoctorCheck]:
    """Name what ``hermes doctor`` should look at. Any group."""


# --------------------------------------------------------------------------------------
# The host and the session
# --------------------------------------------------------------------------------------


@hookspec
def hermes_on_start(host: Host) -> None:
    """The host is ready and its agents may start."""


@hookspec
def hermes_on_session_start(host: Host, session: SessionInfo, resumed: bool) -> None:
    """A session was opened, new or again."""


# --------------------------------------------------------------------------------------
# The turn
# --------------------------------------------------------------------------------------


@hookspec
def hermes_transform_turn(
    host: Host, added: Sequence[str], message: Message, session: SessionInfo
) -> Sequence[str]:
    """Change what is added for the model to this turn's user message. Value: ``added``.

    It is stored with the message, so a later request repeats it byte for byte.
    """


@hookspec
def hermes_on_turn_start(host: Host, message: Message, session: SessionInfo, turn: str) -> None:
    """A turn begins; ``hermes_on_turn_end`` follows exactly once."""


# --------------------------------------------------------------------------------------
# The model
# --------------------------------------------------------------------------------------


@hookspec
def hermes_transform_model_request(
    host: Host, request: ModelRequest, session: SessionInfo
) -> ModelRequest:
    """Change a request before it is encoded. Value: ``request``.

    What stands in front of the tail must come out the same every time, or the vendor's cache misses.
    """


@hookspec
def hermes_on_model_request(host: Host, request: ModelRequest, session: SessionInfo) -> None:
    """A request is about to be sent; once per attempt."""


@hookspec
def hermes_on_model_error(
    host: Host, error: ProviderError, attempt: int, session: SessionInfo
) -> None:
    """An attempt failed; ``error.reason`` is the classifier's."""


@hookspec
def hermes_transform_model_response(host: Host, response: Message, session: SessionInfo) -> Message:
    """Change an answer before it is stored and acted on. Value: ``response``.

    While a plugin does this, text is buffered instead of streamed, and the start line says so.
    """


@hookspec
def hermes_on_model_response(
    host: Host, response: Message, usage: Usage, session: SessionInfo
) -> None:
    """An answer is complete."""


# --------------------------------------------------------------------------------------
# A tool call: transform -> validate, effects -> before -> execute -> transform -> on
# --------------------------------------------------------------------------------------


@hookspec
def hermes_transform_tool_call(
    host: Host, arguments: dict[str, Json], tool: str, session: SessionInfo
) -> dict[str, Json]:
    """Change a call's arguments, before every judgement. Value: ``arguments``."""


@hookspec
def hermes_before_tool_call(host: Host, call: CallView) -> Decision:
    """Judge a call. Group: hermes.policies only."""


@hookspec
def hermes_on_approval(host: Host, call: CallView, answer: str, by: str) -> None:
    """The gate has asked about a call: once, session, always, deny or timeout; ``by`` whom."""


@hookspec
def hermes_on_tool_call(host: Host, call: CallView) -> None:
    """A call passed the gate and is about to run."""


@hookspec
def hermes_transform_tool_result(host: Host, text: str, call: CallView) -> str:
    """Change a result's text before it is cut to its budget and stored. Value: ``text``."""


@hookspec
def hermes_on_tool_result(host: Host, result: ResultView) -> None:
    """A call ended, whatever its status; the last hook of a call."""


# --------------------------------------------------------------------------------------
# Ends
# --------------------------------------------------------------------------------------


@hookspec
def hermes_on_turn_end(host: Host, end: TurnEnded, session: SessionInfo) -> None:
    """A turn ended; exactly once per ``hermes_on_turn_start``, with its outcome."""


@hookspec
def hermes_on_events(host: Host, events: Sequence[Event], session: SessionInfo) -> None:
    """What a turn told its readers, deltas too: in batches of 256, the last at the turn's end."""


@hookspec
def hermes_on_session_end(host: Host, session: SessionInfo) -> None:
    """A session was closed in this process."""


@hookspec
def hermes_on_error(host: Host, where: str, error: BaseException) -> None:
    """Something failed that was contained: a hook, a tool, a task."""


@hookspec
def hermes_on_stop(host: Host) -> None:
    """The host is about to stop; 5 seconds to finish."""


# --------------------------------------------------------------------------------------
# Which group may implement what
# --------------------------------------------------------------------------------------

_ANY = frozenset(
    {
        "hermes_register_config",
        "hermes_register_setup",
        "hermes_register_doctor",
        "hermes_on_start",
        "hermes_on_stop",
        "hermes_on_session_start",
        "hermes_on_session_end",
    }
)
_WATCH = frozenset(
    {
        "hermes_on_turn_start",
        "hermes_on_model_request",
        "hermes_on_model_error",
        "hermes_on_model_response",
        "hermes_on_tool_call",
        "hermes_on_approval",
        "hermes_on_tool_result",
        "hermes_on_turn_end",
        "hermes_on_events",
        "hermes_on_error",
    }
)
_TRANSFORM = frozenset(
    {
        "hermes_transform_turn",
        "hermes_transform_model_request",
        "hermes_transform_model_response",
        "hermes_transform_tool_call",
        "hermes_transform_tool_result",
    }
)

_OFFERS = frozenset({"hermes_register_prompt_sections", "hermes_register_slash_commands"})

HONOURED: dict[str, frozenset[str]] = {
    "hermes.tools": _ANY | _OFFERS | {"hermes_register_tools"},
    "hermes.providers": _ANY | {"hermes_register_providers"},
    "hermes.platforms": _ANY | {"hermes_register_platforms"},
    "hermes.memory": _ANY | _OFFERS | {"hermes_register_tools"},
    "hermes.policies": _ANY | _WATCH | {"hermes_before_tool_call"},
    "hermes.lifecycle": _ANY | _WATCH | _TRANSFORM | _OFFERS,
}
"""Hooks that count in a plugin group; elsewhere they are a load error that names the right group."""

DRIVER_GROUPS = frozenset(
    {
        "hermes.dialects",
        "hermes.context",
        "hermes.environments",
        "hermes.stores",
        "hermes.shells",
        "hermes.commands",
        "hermes.services",
    }
)
"""Groups whose entry points name a class, command or factory instead of a plugin."""
