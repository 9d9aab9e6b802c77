"""What a plugin's tests use: ``pytest -p hermes_plugins.testing``.

Fixtures: an isolated home, no network but loopback (both automatic), `hermes` (a host with chosen
plugins), `model_server` (a scripted OpenAI-compatible server). Values: `VirtualClock`,
`ScriptedServer`, and one conformance suite per contract to subclass. Never a ``pytest11`` entry point:
a test run that does not ask for it is left alone.
"""

from __future__ import annotations

from hermes_plugins.testing._clock import VirtualClock
from hermes_plugins.testing._fixtures import anyio_backend, hermes_home, no_outside_network

__all__ = ["VirtualClock", "anyio_backend", "hermes_home", "no_outside_network"]
