"""Switching a plugin on or off: ``plugins.enabled`` and ``plugins.disabled`` in the owner's hermes.yaml.

Called by ``hermes plugins enable|disable|install|uninstall``. It does not ask whether the plugin
exists, so that one which keeps Hermes from starting can still be switched off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_core.config_edit import append_value, set_value, unset_value
from hermes_core.config_layers import file_layer
from hermes_core.config_text import inline
from hermes_core.config_tree import plain
from hermes_core.paths import SETTINGS_FILE
from hermes_plugins import Paths

if TYPE_CHECKING:
    from hermes_core.config_tree import Found

_ENABLED = "plugins.enabled"
_DISABLED = "plugins.disabled"


def switch(paths: Paths, name: str, *, on: bool) -> None:
    """Write it into hermes.yaml, which need not exist yet; the rest of the file stays as it is.

    A name that is in both lists is off. Switching off leaves ``plugins.enabled`` alone, because the
    order there is the rank, which the plugin has again when it comes back.

    Raises:
        UsageError: the file is broken, not writable, or written in a way that cannot be edited.
    """
    if not on:
        append_value(paths, _DISABLED, name)
        return
    _remove(paths, _DISABLED, name)
    append_value(paths, _ENABLED, name)


def forget(paths: Paths, name: str) -> None:
    """Take a plugin that is gone out of both lists; the settings under its own name stay.

    Raises:
        UsageError: as `switch`.
    """
    for key in (_ENABLED, _DISABLED):
        _remove(paths, key, name)


def _remove(paths: Paths, key: str, name: str) -> None:
    listed = _listed(paths, key)
    short = name.removeprefix("hermes-plugin-")
    kept = [item for item in listed if item not in (short, f"hermes-plugin-{short}")]
    if kept == listed:
        return
    if kept:
        set_value(paths, key, inline(kept))
    else:
        unset_value(paths, key)


def _listed(paths: Paths, key: str) -> list[str]:
    found: Found = []
    tree = file_layer(paths.home / SETTINGS_FILE, "user", found) or {}
    node = tree.get(tuple(key.split(".")))
    value = plain(node) if node is not None else None
    return [str(item) for item in value] if isinstance(value, (list, tuple)) else []
