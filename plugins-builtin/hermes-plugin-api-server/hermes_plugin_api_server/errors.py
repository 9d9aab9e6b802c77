"""What goes wrong, in the form in which OpenAI's clients read it.

The form: https://platform.openai.com/docs/guides/error-codes
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

_KINDS: Final = {
    401: "authentication_error",
    404: "not_found_error",
    408: "timeout_error",
    409: "conflict_error",
    429: "rate_limit_error",
}
_FINAL: Final = {"x-should-retry": "false"}
"""OpenAI's clients send most failed requests again; a turn that failed may have used tools."""


class ApiError(Exception):
    """Raised when a request gets an error in place of an answer."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str = "",
        param: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        usual = "server_error" if status >= 500 else "invalid_request_error"
        self.value = {
            "message": message,
            "type": _KINDS.get(status, usual),
            "param": param or None,
            "code": code or None,
        }

    @property
    def body(self) -> bytes:
        """JSON."""
        return msgspec.json.encode({"error": self.value})


def final(status: int, message: str, *, code: str) -> ApiError:
    """An error after which the same request must not be sent again by itself."""
    return ApiError(status, message, code=code, headers=_FINAL)
