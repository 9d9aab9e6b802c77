"""The kernel as a shell sees it: the kit's `FaceHost` on a runtime."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import cast

import msgspec

from hermes_core.agent.agent import Session
from hermes_core.catalog import RuntimeCatalog
from hermes_core.dispatch import Fault
from hermes_core.runtime import Runtime
from hermes_core.slash import run_line
from hermes_core.slash_commands import kernel_commands
from hermes_plugins._catalog import Catalog
from hermes_plugins._errors import UsageError
from hermes_plugins._faces import SessionWish, SlashCommand, SlashContext
from hermes_plugins._host import Host
from hermes_plugins._store import SessionReader


class RuntimeFace:
    """Implements the kit's `FaceHost` for one shell."""

    def __init__(self, runtime: Runtime, plugin: str) -> None:
        self._runtime = runtime
        self._own = kernel_commands(runtime)
        self.host: Host = runtime.handle(plugin)
        self.sessions: SessionReader = runtime.store
        self.catalog: Catalog = RuntimeCatalog(runtime)
        self.display = cast(
            "Mapping[str, object]", msgspec.to_builtins(runtime.config.settings.display)
        )

    async def open(self, wish: SessionWish) -> Session:
        return await self._runtime.open_session(wish)

    def notices(self) -> Sequence[str]:
        problems = self._runtime.host.problems
        return [
            *self._runtime.config.notes,
            *(f"{one.plugin}: {one.text} {one.hint}".strip(": ") for one in problems),
        ]

    def commands(self) -> Sequence[SlashCommand]:
        """The kernel's own win: a plugin cannot take ``/quit`` away, and is told so."""
        taken = {name for one in self._own for name in (one.name, *one.aliases)}
        found = list(self._own)
        for plugin, loaded in self._runtime.host.loaded.items():
            for command in loaded.slash_commands:
                if lost := sorted(taken & {command.name, *command.aliases}):
                    text = f"its /{lost[0]} is left out: that is a command of Hermes itself"
                    self._runtime.host.report_problem(plugin, text)
                else:
                    run = partial(self._run_foreign, plugin, command)
                    found.append(msgspec.structs.replace(command, run=run))
        return sorted(found, key=lambda one: one.name)

    async def command(self, context: SlashContext, line: str) -> str | None:
        return await run_line(context, line)

    async def models(self) -> Sequence[str]:
        return await self._runtime.router().known()

    async def edit(self, text: str) -> str:
        environ = self._runtime.config.environ
        usual = "notepad" if os.name == "nt" else "vi"
        editor = environ.get("VISUAL") or environ.get("EDITOR") or usual
        return await asyncio.to_thread(_edited, editor, text)

    async def _run_foreign(
        self, plugin: str, command: SlashCommand, context: SlashContext, argument: str
    ) -> str:
        run: Callable[[], Awaitable[str]] = partial(command.run, context, argument)
        try:
            return await self._runtime.host.dispatch.command(plugin, command.name, run)
        except Fault as fault:
            self._runtime.host.report_problem(plugin, fault.text)
            return f"The plugin {plugin} failed: {fault.text}"


def _edited(editor: str, text: str) -> str:
    """Run the editor on a temporary file.

    Raises:
        UsageError: it does not start, or says that it failed.
    """
    import subprocess
    import tempfile

    hint = "Set EDITOR to the command of your editor."
    with tempfile.TemporaryDirectory(prefix="hermes-") as folder:
        path = os.path.join(folder, "message.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            words = shlex.split(editor, posix=os.name != "nt")
            status = subprocess.call([*words, path])
        except (OSError, ValueError) as error:
            raise UsageError(f"the editor {editor!r} does not start.", hint=hint) from error
        if status:
            raise UsageError(f"the editor {editor!r} ended with {status}.", hint=hint)
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().rstrip("\n")
