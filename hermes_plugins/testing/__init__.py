"""What a plugin's tests use: ``pytest -p hermes_plugins.testing``.

Fixtures: an isolated home, no network but loopback (both automatic), `hermes` (a host with chosen
plugins), `model_server` (a scripted OpenAI-compatible server). Values: `VirtualClock`,
`ScriptedServer`, and one conformance suite per contract to subclass. Never a ``pytest11`` entry point:
a test run that does not ask for it is left alone.
"""

from __future__ import annotations

from hermes_plugins.testing import anthropic, replies
from hermes_plugins.testing._approver import FakeApprover, Seen
from hermes_plugins.testing._clock import RealClock, VirtualClock
from hermes_plugins.testing._command import Command, Ended
from hermes_plugins.testing._conformance_dialect import Answer, DialectConformance, a_request, ask
from hermes_plugins.testing._conformance_environment import EnvironmentConformance
from hermes_plugins.testing._conformance_face import FaceConformance
from hermes_plugins.testing._conformance_memory import FakeMemory, MemoryConformance
from hermes_plugins.testing._conformance_platform import (
    FakeInbox,
    FakePlatform,
    PlatformConformance,
)
from hermes_plugins.testing._conformance_provider import ProviderConformance, imported_by
from hermes_plugins.testing._conformance_tools import ToolSetConformance, call_tool
from hermes_plugins.testing._context import FakeCancelled, FakeContext, FakeHost
from hermes_plugins.testing._environments import FolderEnvironment
from hermes_plugins.testing._fixtures import (
    anyio_backend,
    command,
    hermes_home,
    model_server,
    no_outside_network,
)
from hermes_plugins.testing._host import Asked, HostFactory, TestHost, hermes
from hermes_plugins.testing._prompt import FakePrompt
from hermes_plugins.testing._recording import RecordingEnvironment, Touch, undeclared
from hermes_plugins.testing._records import FakeRecords
from hermes_plugins.testing._replay import Replay
from hermes_plugins.testing._server import ScriptedRequest, ScriptedServer
from hermes_plugins.testing._values import a_call

__all__ = [
    "Answer",
    "Asked",
    "Command",
    "DialectConformance",
    "Ended",
    "EnvironmentConformance",
    "FaceConformance",
    "FakeApprover",
    "FakeCancelled",
    "FakeContext",
    "FakeHost",
    "FakeInbox",
    "FakeMemory",
    "FakePlatform",
    "FakePrompt",
    "FakeRecords",
    "FolderEnvironment",
    "HostFactory",
    "MemoryConformance",
    "PlatformConformance",
    "ProviderConformance",
    "RealClock",
    "RecordingEnvironment",
    "Replay",
    "ScriptedRequest",
    "ScriptedServer",
    "Seen",
    "TestHost",
    "ToolSetConformance",
    "Touch",
    "VirtualClock",
    "a_call",
    "a_request",
    "anthropic",
    "anyio_backend",
    "ask",
    "call_tool",
    "command",
    "hermes",
    "hermes_home",
    "imported_by",
    "model_server",
    "no_outside_network",
    "replies",
    "undeclared",
]
