"""The author's kit: everything a Hermes plugin imports.

The lowest floor of the house: contracts and values, no kernel. Names load on first use, so an entry
module pays only for what it takes. See docs/reference/kit.md.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_plugins._approvals import Answer as Answer
    from hermes_plugins._approvals import Approver as Approver
    from hermes_plugins._approvals import Choice as Choice
    from hermes_plugins._approvals import Question as Question
    from hermes_plugins._catalog import Catalog as Catalog
    from hermes_plugins._catalog import ListedTool as ListedTool
    from hermes_plugins._catalog import ModelChoice as ModelChoice
    from hermes_plugins._catalog import ModelReply as ModelReply
    from hermes_plugins._catalog import PromptPart as PromptPart
    from hermes_plugins._catalog import PromptSetup as PromptSetup
    from hermes_plugins._catalog import ProviderState as ProviderState
    from hermes_plugins._catalog import ToolsetState as ToolsetState
    from hermes_plugins._clock import Clock as Clock
    from hermes_plugins._clock import Timeout as Timeout
    from hermes_plugins._commands import CommandHost as CommandHost
    from hermes_plugins._commands import Setting as Setting
    from hermes_plugins._commands import SettingsFile as SettingsFile
    from hermes_plugins._config import ConfigSection as ConfigSection
    from hermes_plugins._config import Meta as Meta
    from hermes_plugins._config import Section as Section
    from hermes_plugins._context_engine import ContextEngine as ContextEngine
    from hermes_plugins._decisions import Allow as Allow
    from hermes_plugins._decisions import Ask as Ask
    from hermes_plugins._decisions import CallView as CallView
    from hermes_plugins._decisions import Decision as Decision
    from hermes_plugins._decisions import Deny as Deny
    from hermes_plugins._decisions import ResultView as ResultView
    from hermes_plugins._dialects import Delta as Delta
    from hermes_plugins._dialects import Dialect as Dialect
    from hermes_plugins._dialects import Endpoint as Endpoint
    from hermes_plugins._dialects import Finish as Finish
    from hermes_plugins._dialects import FinishMark as FinishMark
    from hermes_plugins._dialects import ModelRequest as ModelRequest
    from hermes_plugins._dialects import NativePiece as NativePiece
    from hermes_plugins._dialects import ReasoningPiece as ReasoningPiece
    from hermes_plugins._dialects import TextPiece as TextPiece
    from hermes_plugins._dialects import ToolFragment as ToolFragment
    from hermes_plugins._dialects import ToolSpec as ToolSpec
    from hermes_plugins._dialects import UsageReport as UsageReport
    from hermes_plugins._doctor import DoctorCheck as DoctorCheck
    from hermes_plugins._doctor import Finding as Finding
    from hermes_plugins._doctor import Inspection as Inspection
    from hermes_plugins._doctor import Level as Level
    from hermes_plugins._doctor import PluginState as PluginState
    from hermes_plugins._effects import Effect as Effect
    from hermes_plugins._effects import Effects as Effects
    from hermes_plugins._effects import Fetches as Fetches
    from hermes_plugins._effects import Pure as Pure
    from hermes_plugins._effects import Reads as Reads
    from hermes_plugins._effects import Runs as Runs
    from hermes_plugins._effects import Sends as Sends
    from hermes_plugins._effects import Writes as Writes
    from hermes_plugins._effects import resolve_effects as resolve_effects
    from hermes_plugins._environments import Environment as Environment
    from hermes_plugins._environments import ExecResult as ExecResult
    from hermes_plugins._environments import FileStat as FileStat
    from hermes_plugins._environments import Process as Process
    from hermes_plugins._errors import ConfigError as ConfigError
    from hermes_plugins._errors import DeliveryError as DeliveryError
    from hermes_plugins._errors import HermesError as HermesError
    from hermes_plugins._errors import PluginError as PluginError
    from hermes_plugins._errors import ProviderError as ProviderError
    from hermes_plugins._errors import SessionBusy as SessionBusy
    from hermes_plugins._errors import StoreError as StoreError
    from hermes_plugins._errors import ToolError as ToolError
    from hermes_plugins._errors import UsageError as UsageError
    from hermes_plugins._events import AnyEvent as AnyEvent
    from hermes_plugins._events import ApprovalAsked as ApprovalAsked
    from hermes_plugins._events import ApprovalDone as ApprovalDone
    from hermes_plugins._events import Event as Event
    from hermes_plugins._events import MessageDone as MessageDone
    from hermes_plugins._events import Notice as Notice
    from hermes_plugins._events import Outcome as Outcome
    from hermes_plugins._events import ReasoningDelta as ReasoningDelta
    from hermes_plugins._events import RequestStarted as RequestStarted
    from hermes_plugins._events import Retrying as Retrying
    from hermes_plugins._events import Steered as Steered
    from hermes_plugins._events import TextDelta as TextDelta
    from hermes_plugins._events import ToolDone as ToolDone
    from hermes_plugins._events import ToolProgress as ToolProgress
    from hermes_plugins._events import ToolStarted as ToolStarted
    from hermes_plugins._events import TurnEnded as TurnEnded
    from hermes_plugins._events import TurnStarted as TurnStarted
    from hermes_plugins._events import UnknownEvent as UnknownEvent
    from hermes_plugins._events import decode_event as decode_event
    from hermes_plugins._events import encode_event as encode_event
    from hermes_plugins._faces import Drained as Drained
    from hermes_plugins._faces import FaceHost as FaceHost
    from hermes_plugins._faces import FaceSession as FaceSession
    from hermes_plugins._faces import FaceSpec as FaceSpec
    from hermes_plugins._faces import GatewayFace as GatewayFace
    from hermes_plugins._faces import RunHandle as RunHandle
    from hermes_plugins._faces import SessionStatus as SessionStatus
    from hermes_plugins._faces import SessionWish as SessionWish
    from hermes_plugins._faces import Shell as Shell
    from hermes_plugins._faces import SlashCommand as SlashCommand
    from hermes_plugins._faces import SlashContext as SlashContext
    from hermes_plugins._host import Host as Host
    from hermes_plugins._host import Paths as Paths
    from hermes_plugins._host import PromptContext as PromptContext
    from hermes_plugins._host import PromptSection as PromptSection
    from hermes_plugins._host import Tasks as Tasks
    from hermes_plugins._http import HttpClient as HttpClient
    from hermes_plugins._http import HttpResponse as HttpResponse
    from hermes_plugins._http import SseDecoder as SseDecoder
    from hermes_plugins._http import Timeouts as Timeouts
    from hermes_plugins._installer import PackageInstaller as PackageInstaller
    from hermes_plugins._installer import PlannedPackage as PlannedPackage
    from hermes_plugins._markers import hookimpl as hookimpl
    from hermes_plugins._memory import MemoryBackend as MemoryBackend
    from hermes_plugins._memory import Recalled as Recalled
    from hermes_plugins._messages import ImagePart as ImagePart
    from hermes_plugins._messages import Json as Json
    from hermes_plugins._messages import Message as Message
    from hermes_plugins._messages import NativePart as NativePart
    from hermes_plugins._messages import Part as Part
    from hermes_plugins._messages import TextPart as TextPart
    from hermes_plugins._messages import ToolCall as ToolCall
    from hermes_plugins._messages import UnknownPart as UnknownPart
    from hermes_plugins._messages import Usage as Usage
    from hermes_plugins._messages import assistant_message as assistant_message
    from hermes_plugins._messages import decode_message as decode_message
    from hermes_plugins._messages import encode_message as encode_message
    from hermes_plugins._messages import tool_message as tool_message
    from hermes_plugins._messages import user_message as user_message
    from hermes_plugins._platforms import Accepted as Accepted
    from hermes_plugins._platforms import Delivery as Delivery
    from hermes_plugins._platforms import Duplicate as Duplicate
    from hermes_plugins._platforms import InboundMessage as InboundMessage
    from hermes_plugins._platforms import Inbox as Inbox
    from hermes_plugins._platforms import Limits as Limits
    from hermes_plugins._platforms import OutboundMessage as OutboundMessage
    from hermes_plugins._platforms import Platform as Platform
    from hermes_plugins._platforms import PlatformSpec as PlatformSpec
    from hermes_plugins._platforms import Receipt as Receipt
    from hermes_plugins._platforms import Refused as Refused
    from hermes_plugins._platforms import Watched as Watched
    from hermes_plugins._providers import Auth as Auth
    from hermes_plugins._providers import ModelInfo as ModelInfo
    from hermes_plugins._providers import ProviderProfile as ProviderProfile
    from hermes_plugins._redaction import REDACTION_MARK as REDACTION_MARK
    from hermes_plugins._redaction import contains_mask as contains_mask
    from hermes_plugins._setup import SetupQuestion as SetupQuestion
    from hermes_plugins._setup import SetupSection as SetupSection
    from hermes_plugins._store import Record as Record
    from hermes_plugins._store import Records as Records
    from hermes_plugins._store import SearchAnswer as SearchAnswer
    from hermes_plugins._store import SearchHit as SearchHit
    from hermes_plugins._store import SessionInfo as SessionInfo
    from hermes_plugins._store import SessionReader as SessionReader
    from hermes_plugins._store import StoredMessage as StoredMessage
    from hermes_plugins._store import update_record as update_record
    from hermes_plugins._tools import Cancelled as Cancelled
    from hermes_plugins._tools import Tool as Tool
    from hermes_plugins._tools import ToolContext as ToolContext
    from hermes_plugins._tools import ToolResult as ToolResult
    from hermes_plugins._tools import ToolSource as ToolSource
    from hermes_plugins._tools import tool as tool
    from hermes_plugins._wire import argument_object as argument_object
    from hermes_plugins._wire import check_status as check_status
    from hermes_plugins._wire import encode_json as encode_json
    from hermes_plugins._wire import stated_error as stated_error
    from hermes_plugins._wire import unreadable_answer as unreadable_answer

# Where each public name lives; a test holds this table, the block above and __all__ together.
_HOME: dict[str, str] = {
    "Accepted": "_platforms",
    "Allow": "_decisions",
    "Answer": "_approvals",
    "AnyEvent": "_events",
    "ApprovalAsked": "_events",
    "ApprovalDone": "_events",
    "Approver": "_approvals",
    "Ask": "_decisions",
    "Auth": "_providers",
    "CallView": "_decisions",
    "Cancelled": "_tools",
    "Catalog": "_catalog",
    "Choice": "_approvals",
    "Clock": "_clock",
    "CommandHost": "_commands",
    "ConfigError": "_errors",
    "ConfigSection": "_config",
    "ContextEngine": "_context_engine",
    "Decision": "_decisions",
    "Delivery": "_platforms",
    "DeliveryError": "_errors",
    "Delta": "_dialects",
    "Deny": "_decisions",
    "Dialect": "_dialects",
    "DoctorCheck": "_doctor",
    "Drained": "_faces",
    "Duplicate": "_platforms",
    "Effect": "_effects",
    "Effects": "_effects",
    "Endpoint": "_dialects",
    "Environment": "_environments",
    "Event": "_events",
    "ExecResult": "_environments",
    "FaceHost": "_faces",
    "FaceSession": "_faces",
    "FaceSpec": "_faces",
    "Fetches": "_effects",
    "FileStat": "_environments",
    "Finding": "_doctor",
    "Finish": "_dialects",
    "FinishMark": "_dialects",
    "GatewayFace": "_faces",
    "HermesError": "_errors",
    "Host": "_host",
    "HttpClient": "_http",
    "HttpResponse": "_http",
    "ImagePart": "_messages",
    "InboundMessage": "_platforms",
    "Inbox": "_platforms",
    "Inspection": "_doctor",
    "Json": "_messages",
    "Level": "_doctor",
    "Limits": "_platforms",
    "ListedTool": "_catalog",
    "MemoryBackend": "_memory",
    "Message": "_messages",
    "MessageDone": "_events",
    "Meta": "_config",
    "ModelChoice": "_catalog",
    "ModelInfo": "_providers",
    "ModelReply": "_catalog",
    "ModelRequest": "_dialects",
    "NativePart": "_messages",
    "NativePiece": "_dialects",
    "Notice": "_events",
    "OutboundMessage": "_platforms",
    "Outcome": "_events",
    "PackageInstaller": "_installer",
    "Part": "_messages",
    "Paths": "_host",
    "PlannedPackage": "_installer",
    "Platform": "_platforms",
    "PlatformSpec": "_platforms",
    "PluginError": "_errors",
    "PluginState": "_doctor",
    "Process": "_environments",
    "PromptContext": "_host",
    "PromptPart": "_catalog",
    "PromptSection": "_host",
    "PromptSetup": "_catalog",
    "ProviderError": "_errors",
    "ProviderProfile": "_providers",
    "ProviderState": "_catalog",
    "Pure": "_effects",
    "Question": "_approvals",
    "REDACTION_MARK": "_redaction",
    "Reads": "_effects",
    "ReasoningDelta": "_events",
    "ReasoningPiece": "_dialects",
    "Recalled": "_memory",
    "Receipt": "_platforms",
    "Record": "_store",
    "Records": "_store",
    "Refused": "_platforms",
    "RequestStarted": "_events",
    "ResultView": "_decisions",
    "Retrying": "_events",
    "RunHandle": "_faces",
    "Runs": "_effects",
    "SearchAnswer": "_store",
    "SearchHit": "_store",
    "Section": "_config",
    "Sends": "_effects",
    "SessionBusy": "_errors",
    "SessionInfo": "_store",
    "SessionReader": "_store",
    "SessionStatus": "_faces",
    "SessionWish": "_faces",
    "Setting": "_commands",
    "SettingsFile": "_commands",
    "SetupQuestion": "_setup",
    "SetupSection": "_setup",
    "Shell": "_faces",
    "SlashCommand": "_faces",
    "SlashContext": "_faces",
    "SseDecoder": "_http",
    "Steered": "_events",
    "StoreError": "_errors",
    "StoredMessage": "_store",
    "Tasks": "_host",
    "TextDelta": "_events",
    "TextPart": "_messages",
    "TextPiece": "_dialects",
    "Timeout": "_clock",
    "Timeouts": "_http",
    "Tool": "_tools",
    "ToolCall": "_messages",
    "ToolContext": "_tools",
    "ToolDone": "_events",
    "ToolError": "_errors",
    "ToolFragment": "_dialects",
    "ToolProgress": "_events",
    "ToolResult": "_tools",
    "ToolSource": "_tools",
    "ToolSpec": "_dialects",
    "ToolStarted": "_events",
    "ToolsetState": "_catalog",
    "TurnEnded": "_events",
    "TurnStarted": "_events",
    "UnknownEvent": "_events",
    "UnknownPart": "_messages",
    "Usage": "_messages",
    "UsageError": "_errors",
    "UsageReport": "_dialects",
    "Watched": "_platforms",
    "Writes": "_effects",
    "argument_object": "_wire",
    "assistant_message": "_messages",
    "check_status": "_wire",
    "contains_mask": "_redaction",
    "decode_event": "_events",
    "decode_message": "_messages",
    "encode_event": "_events",
    "encode_json": "_wire",
    "encode_message": "_messages",
    "hookimpl": "_markers",
    "resolve_effects": "_effects",
    "stated_error": "_wire",
    "tool": "_tools",
    "tool_message": "_messages",
    "unreadable_answer": "_wire",
    "update_record": "_store",
    "user_message": "_messages",
}

__all__ = [
    "REDACTION_MARK",
    "Accepted",
    "Allow",
    "Answer",
    "AnyEvent",
    "ApprovalAsked",
    "ApprovalDone",
    "Approver",
    "Ask",
    "Auth",
    "CallView",
    "Cancelled",
    "Catalog",
    "Choice",
    "Clock",
    "CommandHost",
    "ConfigError",
    "ConfigSection",
    "ContextEngine",
    "Decision",
    "Delivery",
    "DeliveryError",
    "Delta",
    "Deny",
    "Dialect",
    "DoctorCheck",
    "Drained",
    "Duplicate",
    "Effect",
    "Effects",
    "Endpoint",
    "Environment",
    "Event",
    "ExecResult",
    "FaceHost",
    "FaceSession",
    "FaceSpec",
    "Fetches",
    "FileStat",
    "Finding",
    "Finish",
    "FinishMark",
    "GatewayFace",
    "HermesError",
    "Host",
    "HttpClient",
    "HttpResponse",
    "ImagePart",
    "InboundMessage",
    "Inbox",
    "Inspection",
    "Json",
    "Level",
    "Limits",
    "ListedTool",
    "MemoryBackend",
    "Message",
    "MessageDone",
    "Meta",
    "ModelChoice",
    "ModelInfo",
    "ModelReply",
    "ModelRequest",
    "NativePart",
    "NativePiece",
    "Notice",
    "OutboundMessage",
    "Outcome",
    "PackageInstaller",
    "Part",
    "Paths",
    "PlannedPackage",
    "Platform",
    "PlatformSpec",
    "PluginError",
    "PluginState",
    "Process",
    "PromptContext",
    "PromptPart",
    "PromptSection",
    "PromptSetup",
    "ProviderError",
    "ProviderProfile",
    "ProviderState",
    "Pure",
    "Question",
    "Reads",
    "ReasoningDelta",
    "ReasoningPiece",
    "Recalled",
    "Receipt",
    "Record",
    "Records",
    "Refused",
    "RequestStarted",
    "ResultView",
    "Retrying",
    "RunHandle",
    "Runs",
    "SearchAnswer",
    "SearchHit",
    "Section",
    "Sends",
    "SessionBusy",
    "SessionInfo",
    "SessionReader",
    "SessionStatus",
    "SessionWish",
    "Setting",
    "SettingsFile",
    "SetupQuestion",
    "SetupSection",
    "Shell",
    "SlashCommand",
    "SlashContext",
    "SseDecoder",
    "Steered",
    "StoreError",
    "StoredMessage",
    "Tasks",
    "TextDelta",
    "TextPart",
    "TextPiece",
    "Timeout",
    "Timeouts",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolDone",
    "ToolError",
    "ToolFragment",
    "ToolProgress",
    "ToolResult",
    "ToolSource",
    "ToolSpec",
    "ToolStarted",
    "ToolsetState",
    "TurnEnded",
    "TurnStarted",
    "UnknownEvent",
    "UnknownPart",
    "Usage",
    "UsageError",
    "UsageReport",
    "Watched",
    "Writes",
    "argument_object",
    "assistant_message",
    "check_status",
    "contains_mask",
    "decode_event",
    "decode_message",
    "encode_event",
    "encode_json",
    "encode_message",
    "hookimpl",
    "resolve_effects",
    "stated_error",
    "tool",
    "tool_message",
    "unreadable_answer",
    "update_record",
    "user_message",
]


def __getattr__(name: str) -> object:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'hermes_plugins' has no attribute {name!r}")
    value: object = getattr(import_module(f"hermes_plugins.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
