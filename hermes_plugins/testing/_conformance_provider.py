"""What every provider plugin must do, as tests to subclass."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import ClassVar, Final
from urllib.parse import urlsplit

import msgspec
import pytest

from hermes_plugins._dialects import ModelRequest, ToolSpec
from hermes_plugins._messages import user_message
from hermes_plugins._providers import ProviderProfile

HEAVY: Final = frozenset(
    [
        "aiohttp",
        "anthropic",
        "asyncio",
        "click",
        "hermes_core",
        "httpx",
        "openai",
        "prompt_toolkit",
        "requests",
        "rich",
        "yaml",
    ]
)
"""Modules that an entry module must not bring: start-up imports every entry module that it needs."""

_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?|::1")
_ENV = re.compile(r"[A-Z][A-Z0-9_]*")
_ID = re.compile(r"[a-z][a-z0-9_-]*")


def imported_by(module: str, call: str) -> set[str]:
    """The top-level modules that a fresh interpreter has after importing ``module`` and ``call``."""
    return _imported(f"import {module}\nlist({module}.{call}())")


def imported_by_the_kit() -> set[str]:
    """The same for every name of the kit: what an entry module may take without a second thought."""
    return _imported("from hermes_plugins import *")


def import_chain(module: str, wanted: str) -> str:
    """How importing ``module`` comes to ``wanted``, such as ``mine -> pathlib -> urllib``."""
    command = [sys.executable, "-X", "importtime", "-c", f"import {module}"]
    told = subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stderr
    chain: list[str] = []
    depth = -1
    for line in told.splitlines():  # what a module imports stands before it, two spaces deeper
        name = line.rpartition("|")[2].rstrip()
        deep = len(name) - len(name.lstrip())
        name = name.strip()
        if not chain and name.partition(".")[0] == wanted:
            chain, depth = [name], deep
        elif chain and deep < depth:
            chain.append(name)
            depth = deep
            if name == module:
                break
    return " -> ".join(reversed(chain))


def _imported(code: str) -> set[str]:
    told = f"import sys\n{code}\nprint(*sys.modules)"
    found = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, check=True, encoding="utf-8"
    )
    return {name.partition(".")[0] for name in found.stdout.split()}


class ProviderConformance:
    """Subclass as ``Test…`` and set ``module``; a suite covers every profile that it registers."""

    module: ClassVar[str] = ""
    """Name of the entry module."""
    models_answer: ClassVar[bytes] = b""
    """An answer of ``GET {base_url}/models``, where the profile has ``parse_models``."""
    models_expected: ClassVar[tuple[str, ...]] = ()
    """The ids in it."""

    @pytest.fixture
    def profiles(self) -> list[ProviderProfile]:
        """What the plugin registers."""
        return list(import_module(self.module).hermes_register_providers())

    def test_it_registers_profiles_without_io(self, profiles: list[ProviderProfile]) -> None:
        assert profiles
        assert all(isinstance(profile, ProviderProfile) for profile in profiles)
        assert profiles == list(import_module(self.module).hermes_register_providers())

    def test_every_profile_has_an_entry_point_of_its_name(
        self, profiles: list[ProviderProfile]
    ) -> None:
        found = entry_points(group="hermes.providers")
        for profile in profiles:
            assert _ID.fullmatch(profile.id)
            assert [point.value for point in found if point.name == profile.id] == [self.module]

    def test_ids_and_aliases_are_different(self, profiles: list[ProviderProfile]) -> None:
        names = [name for profile in profiles for name in (profile.id, *profile.aliases)]
        assert len(set(names)) == len(names)

    def test_the_base_url_is_whole_and_safe(self, profiles: list[ProviderProfile]) -> None:
        for profile in profiles:
            if not profile.base_url:
                continue
            url = urlsplit(profile.base_url)
            if url.scheme not in ("http", "https"):
                continue  # the address of a dialect that opens no connection
            assert url.scheme == ("http" if profile.local else "https"), profile.id
            assert not profile.base_url.endswith("/"), profile.id
            assert (url.username, url.query, url.fragment) == (None, "", ""), profile.id
            assert profile.local or url.hostname in profile.hosts, profile.id

    def test_hosts_are_exact_names(self, profiles: list[ProviderProfile]) -> None:
        for profile in profiles:
            for host in profile.hosts:
                assert _HOST.fullmatch(host), f"{profile.id}: {host}"

    def test_env_names_are_capitals(self, profiles: list[ProviderProfile]) -> None:
        for profile in profiles:
            names = [*profile.env, *([profile.base_url_env] if profile.base_url_env else [])]
            assert all(_ENV.fullmatch(name) for name in names), profile.id
            assert profile.env or not profile.key_required, f"{profile.id}: no variable for its key"

    def test_the_dialects_are_installed(self, profiles: list[ProviderProfile]) -> None:
        installed = {point.name for point in entry_points(group="hermes.dialects")}
        for profile in profiles:
            assert {profile.dialect, *profile.dialect_by_model.values()} <= installed, profile.id

    def test_headers_are_not_those_of_the_key(self, profiles: list[ProviderProfile]) -> None:
        for profile in profiles:
            assert profile.key_header == profile.key_header.lower()
            assert profile.key_header not in {name.lower() for name in profile.headers}, profile.id

    def test_error_words_are_lower_case(self, profiles: list[ProviderProfile]) -> None:
        for profile in profiles:
            for words, reason in profile.error_words.items():
                assert words == words.lower().strip() != "", f"{profile.id}: {words!r}"
                assert _ID.fullmatch(reason), f"{profile.id}: {reason!r}"

    def test_request_extras_are_json_and_always_the_same(
        self, profiles: list[ProviderProfile]
    ) -> None:
        spec = ToolSpec(name="t", description="d", parameters={"type": "object"})
        for profile in profiles:
            if profile.request_extras is None:
                continue
            model = profile.default_model or "some-model"
            for tools in ((), (spec,)):
                short = ModelRequest(model=model, system="", messages=(), tools=tools, max_output=9)
                longer = msgspec.structs.replace(short, messages=(user_message("Hello"),))
                extras = profile.request_extras(short)
                assert json.dumps(extras) == json.dumps(profile.request_extras(longer)), profile.id

    def test_parse_models_reads_the_sample(self, profiles: list[ProviderProfile]) -> None:
        readers = [profile.parse_models for profile in profiles if profile.parse_models]
        assert bool(readers) == bool(self.models_answer), "models_answer belongs to parse_models"
        for read in readers:
            models = read(self.models_answer)
            assert tuple(model.id for model in models) == self.models_expected
            assert all(model.context_length >= 0 for model in models)

    def test_the_entry_module_is_cheap(self) -> None:
        assert imported_by(self.module, "hermes_register_providers") & HEAVY == set()
