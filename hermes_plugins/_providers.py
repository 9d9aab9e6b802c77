"""Providers: declarative facts about a vendor or a server.

A `ProviderProfile` owns no client, no retry and no streaming. The kernel's tables (hosts, env names,
aliases) are the sum of the profiles, so adding a vendor is one folder and no edit elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from hermes_plugins._dialects import ModelRequest
from hermes_plugins._errors import ProviderError
from hermes_plugins._http import HttpClient, Timeouts
from hermes_plugins._messages import Json


class ModelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One model a provider offers; zeros mean "not told". Prices are US dollars a million tokens."""

    id: str
    context_length: int = 0
    max_output: int = 0
    input_price: float | None = None
    output_price: float | None = None
    cached_price: float | None = None
    write_price: float | None = None
    """Of what is written to the cache; the input price where it is None."""


class Auth(Protocol):
    """For vendors where a key in a header is not enough. Provisional."""

    async def login(self, http: HttpClient) -> Mapping[str, str]:
        """Sign in with the person's help and return the secrets to keep."""

    async def refresh(self, http: HttpClient, secrets: Mapping[str, str]) -> Mapping[str, str]:
        """Renew what has run out."""

    def apply(self, secrets: Mapping[str, str]) -> Mapping[str, str]:
        """The headers of a request."""


class ProviderProfile(msgspec.Struct, frozen=True, kw_only=True):
    """What the kernel must know about a provider."""

    id: str
    dialect: str = "chat_completions"
    base_url: str = ""
    """Up to and without the path that the dialect appends, such as ``https://api.x.test/v1``."""
    name: str = ""
    aliases: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    """Exact host names that mean this provider."""
    dialect_by_model: Mapping[str, str] = {}
    """Model-name prefix -> dialect; the longest prefix wins."""
    env: tuple[str, ...] = ()
    """Names of the variables that may hold the key, in order."""
    base_url_env: str = ""
    default_model: str = ""
    models: tuple[ModelInfo, ...] = ()
    context_length: int = 0
    """Of a model that ``models`` does not list; 0 = unknown."""
    headers: Mapping[str, str] = {}
    key_header: str = "authorization"
    """``authorization`` sends ``Bearer KEY``; any other header gets the key alone."""
    key_required: bool = True
    reasoning_field: str = ""
    """Name of the wire field in which past reasoning must be sent back; "" where it must not."""
    local: bool = False
    """A server on this machine: offered when its port answers, no key, no cost."""
    priority: int = 50
    """With ``model.name: auto``, the lowest number among the usable ones is taken."""
    timeouts: Timeouts = Timeouts()
    error_words: Mapping[str, str] = {}
    """Lower-case text of an error -> reason of the classifier (see docs/reference/errors)."""
    signup_url: str = ""
    auth: Auth | None = None
    request_extras: Callable[[ModelRequest], Mapping[str, Json]] | None = None
    parse_models: Callable[[bytes], Sequence[ModelInfo]] | None = None
    """Reads the answer of ``GET {base_url}/models``; the default reads ``data[].id``."""
    classify: Callable[[ProviderError], str] | None = None
    """Returns a reason of the classifier, or "" for no opinion."""

    @property
    def stand_in(self) -> bool:
        """True for what answers where no model is connected: no key can be set, and it is no server."""
        return not (self.env or self.local)
