"""The exceptions of the project.

::

    HermesError                  something the user can be told in one line
      UsageError                 the user's mistake: exit status 2, no traceback
        ConfigError              a setting: file, line, key, expected, got
      PluginError                a plugin failed to load or broke its contract
      ProviderError              a model provider answered with an error, or not at all
      StoreError                 the session store could not keep or find something
        SessionBusy              another process is writing this session
      DeliveryError              a chat service did not take a message
      ToolError                  a tool call failed; becomes a result that the model reads

``hint`` is always the next thing to do, phrased as a command where there is one.
"""

from __future__ import annotations

from typing import Literal

from hermes_plugins._messages import FailureKind


class HermesError(Exception):
    """Raised when something went wrong that one line can explain."""

    exit_code: int = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class UsageError(HermesError):
    """Raised when the user asked for something that cannot be done as asked."""

    exit_code = 2


class ConfigError(UsageError):
    """Raised when a setting is unreadable, unknown or of the wrong type."""

    def __init__(
        self,
        message: str,
        *,
        file: str = "",
        line: int = 0,
        key: str = "",
        hint: str = "",
    ) -> None:
        where = f"{file}:{line}: " if file and line else f"{file}: " if file else ""
        super().__init__(f"{where}{message}", hint=hint)
        self.file = file
        self.line = line
        self.key = key


class PluginError(HermesError):
    """Raised when a plugin fails to load or breaks the contract of its group."""

    def __init__(self, plugin: str, message: str, *, hint: str = "") -> None:
        super().__init__(f"plugin {plugin}: {message}", hint=hint)
        self.plugin = plugin


class ProviderError(HermesError):
    """Raised when a model provider answers with an error, cuts the stream or stays silent.

    ``status`` is 0 when no HTTP status arrived. ``body`` is what the server said, at most 4,000
    characters. ``in_stream`` tells an error inside a 200 answer from one in place of it. The
    reason is decided later, by the kernel's classifier and the profile's own words.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        headers: dict[str, str] | None = None,
        body: str = "",
        in_stream: bool = False,
        reason: str = "",
        retryable: bool | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.headers = headers or {}
        self.body = body[:4000]
        self.in_stream = in_stream
        self.reason = reason
        self.retryable = retryable


class StoreError(HermesError):
    """Raised when the session store could not keep or find something."""


class SessionBusy(StoreError):
    """Raised when another live process holds the session's writing lease."""

    def __init__(self, session_id: str, holder: str) -> None:
        super().__init__(
            f"session {session_id} is in use by {holder}.",
            hint=f"Close it there, or go on in a copy: hermes --resume {session_id} --fork",
        )
        self.session_id = session_id
        self.holder = holder


class DeliveryError(HermesError):
    """Raised when a platform could not send a message.

    ``fate`` is ``not_sent`` (trying again is right, ``retry_after`` seconds from now where the service
    says so), ``refused`` (it never will be) or ``unknown`` (people may have it already).
    """

    def __init__(
        self,
        message: str,
        *,
        fate: Literal["not_sent", "refused", "unknown"] = "not_sent",
        retry_after: float = 0.0,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.fate = fate
        self.retry_after = retry_after


class ToolError(HermesError):
    """Raised when a tool call fails in a way that the model should read.

    ``kind`` tells the model whether the same call may work later (``transient``: rate limit,
    time-out, service unavailable) or not (``permanent``: authentication, invalid request,
    permission).
    """

    def __init__(
        self, message: str, *, kind: Literal["transient", "permanent"] = "permanent", hint: str = ""
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind: FailureKind = kind
