"""The two pluggy markers of the project, and what a hook's name promises.

A plugin decorates its functions with `hookimpl`; the kernel's ``hookspecs.py`` uses `hookspec`.
Wrappers, ``tryfirst``, ``trylast`` and ``firstresult`` are refused when a plugin is loaded: order
is the operator's (configuration, then name), so it cannot depend on who was imported last.
"""

from __future__ import annotations

from typing import Final

import pluggy

PROJECT: Final = "hermes"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
