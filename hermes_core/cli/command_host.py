"""What a command of a plugin gets: the kit's `CommandHost` and `SettingsFile`, on files of the home."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from datetime import datetime
from pathlib import Path

import click

from hermes_core import __version__, config_edit
from hermes_core.cli.config_command import found_settings, plugin_schemas
from hermes_core.cli.context import paths_of, working_folder
from hermes_core.cli.gateway import lock_home
from hermes_core.clock import SystemClock
from hermes_core.config import process_environment, read_config
from hermes_core.config_layers import canonical_key
from hermes_core.faces import RuntimeFace
from hermes_core.gate.redact import Redactor
from hermes_core.paths import (
    SETTINGS_FILE,
    choose_profile,
    chosen_profile,
    resolve_paths,
    write_whole,
)
from hermes_core.runtime import open_runtime, secret_values
from hermes_core.store.database import connect, copy_database
from hermes_core.store.sessions import holders
from hermes_plugins._clock import Clock
from hermes_plugins._commands import Setting, SettingsFile
from hermes_plugins._errors import StoreError, UsageError
from hermes_plugins._faces import FaceHost
from hermes_plugins._messages import Json


class HomeSettings:
    """Implements `SettingsFile`."""

    def __init__(self, ctx: click.Context) -> None:
        self._ctx = ctx
        self._paths = paths_of(ctx)
        self.file = self._paths.home / SETTINGS_FILE

    def get(self, key: str) -> Setting:
        key = canonical_key(key)
        found = found_settings(self._ctx, key)
        if len(found) == 1 and found[0].key == key:
            origin = found[0].origin
            return Setting(
                key=key,
                value=found[0].value,
                layer=origin.layer,
                file=origin.file,
                line=origin.line,
            )
        below = {row.key.removeprefix(f"{key}."): row.value for row in found}
        return Setting(key=key, value=below or None)

    def set(self, key: str, value: Json) -> Path:
        env, schemas = plugin_schemas(self._ctx)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return config_edit.set_value(self._paths, key, text, declared_env=env, schemas=schemas)

    def unset(self, key: str) -> bool:
        env, _ = plugin_schemas(self._ctx)
        return config_edit.unset_value(self._paths, key, declared_env=env)

    def holds(self, variable: str) -> str:
        environ = process_environment()
        if environ.get(variable):
            return "environment"
        config = read_config(self._paths, cwd=self._paths.home, environ=environ)
        return ".env" if config.secrets.get(variable) else ""

    def problems(self) -> Sequence[str]:
        config = read_config(self._paths, cwd=working_folder(), environ=process_environment())
        return [f"{one.severity}: {one}" for one in config.problems]

    def copy(self) -> Path | None:
        try:
            data = self.file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError(f"{self.file} cannot be read: {error.strerror}.") from error
        stamp = datetime.fromtimestamp(SystemClock().now()).strftime("%Y%m%d-%H%M%S")
        target = self.file.with_name(f"{self.file.name}.{stamp}")
        write_whole(target, data)
        return target


class HomeCommands:
    """Implements `CommandHost` for one command of one plugin."""

    def __init__(self, ctx: click.Context, plugin: str) -> None:
        environ = process_environment()
        self.plugin = plugin
        self.version = __version__
        self.paths = paths_of(ctx)
        self.clock: Clock = SystemClock()
        self.root = resolve_paths(environ, profile="default").home
        self.chosen_profile = chosen_profile(self.root)
        self.profile = "" if self.paths.home == self.root else self.paths.home.name
        self.settings: SettingsFile = HomeSettings(ctx)

    def open(self) -> AbstractAsyncContextManager[FaceHost]:
        return self._open()

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[FaceHost]:
        runtime = await open_runtime(
            self.paths, environ=process_environment(), cwd=working_folder()
        )
        try:
            yield RuntimeFace(runtime, self.plugin)
        finally:
            await runtime.close()

    def redact(self, text: str) -> str:
        config = read_config(self.paths, cwd=self.paths.home, environ=process_environment())
        return Redactor(secret_values(config)).redact(text)

    def choose_profile(self, name: str) -> None:
        choose_profile(self.root, name)
        self.chosen_profile = chosen_profile(self.root)

    def alone(self, home: Path | None = None) -> AbstractContextManager[None]:
        return _alone(home or self.paths.home)

    async def copy_state(self, target: Path, *, home: Path | None = None) -> None:
        copy_database((home or self.paths.home) / "state.db", target)


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    handle = lock_home(home)
    if handle is None:
        raise UsageError(
            f"a gateway, or another command, works on {home}.",
            hint="`hermes gateway status`; `hermes gateway stop` ends a gateway.",
        )
    try:
        for session, holder in _open_sessions(home):
            raise UsageError(
                f"session {session} in {home} is open in {holder}.", hint="Leave it first."
            )
        yield
    finally:
        os.close(handle)


def _open_sessions(home: Path) -> Sequence[tuple[str, str]]:
    """The sessions that are open somewhere; a store that cannot be read is nobody's."""
    file = home / "state.db"
    if not file.is_file():
        return ()
    try:
        connection = connect(file)
    except StoreError:
        return ()
    try:
        return holders(connection, socket.gethostname(), SystemClock().now())
    finally:
        connection.close()
