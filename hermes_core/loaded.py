"""What the host knows of a plugin once it is loaded, and what it keeps of one that is not."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from hermes_plugins._config import ConfigSection
from hermes_plugins._doctor import DoctorCheck
from hermes_plugins._faces import FaceSpec, SlashCommand
from hermes_plugins._host import PromptSection
from hermes_plugins._platforms import PlatformSpec
from hermes_plugins._providers import ProviderProfile
from hermes_plugins._setup import SetupSection
from hermes_plugins._tools import Tool


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """Something about a plugin that its owner should know. ``plugin`` is "" for the host itself."""

    plugin: str
    text: str
    hint: str = ""


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """A plugin that is part of this host, and what it declared. ``seconds`` is what loading took."""

    name: str
    value: str
    groups: tuple[str, ...]
    distribution: str
    version: str
    source: str = "installed"
    tools: tuple[Tool, ...] = ()
    providers: tuple[ProviderProfile, ...] = ()
    platforms: tuple[PlatformSpec | FaceSpec, ...] = ()
    prompt_sections: tuple[PromptSection, ...] = ()
    config: tuple[ConfigSection, ...] = ()
    slash_commands: tuple[SlashCommand, ...] = ()
    setup: tuple[SetupSection, ...] = ()
    doctor: tuple[DoctorCheck, ...] = ()
    hooks: tuple[str, ...] = ()
    seconds: float = 0.0


class HostSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What configuration says about plugins. ``overrides`` is plugin name -> tool names."""

    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    overrides: Mapping[str, tuple[str, ...]] = {}
