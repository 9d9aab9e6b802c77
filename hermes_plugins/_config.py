"""Settings that a plugin owns: its section ``plugins.NAME`` in hermes.yaml.

A section is a frozen `msgspec.Struct` whose fields all have defaults. Describe a field with
``Annotated[int, Meta(description="…")]``; mark one that a project's own hermes.yaml may tighten with
``Meta(extra={"project": True})``, and one that is never shown with ``Meta(extra={"secret": True})``.
The example file, ``hermes config check`` and the docs come from it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

Meta = msgspec.Meta


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of a plugin's settings."""


class ConfigSection(msgspec.Struct, frozen=True, kw_only=True):
    """What ``hermes_register_config`` returns: the plugin's section and the names of its secrets.

    ``env`` lists variables that ``hermes config set NAME …`` writes to .env. ``inherits`` maps a
    field to the kernel's key (such as ``memory.memory_chars``) that it takes where the section is
    silent.
    """

    name: str
    schema: type[Section]
    env: tuple[str, ...] = ()
    inherits: Mapping[str, str] = {}
