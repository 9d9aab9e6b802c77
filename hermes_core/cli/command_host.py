"""What a command of a plugin gets: the kit's `CommandHost` and `SettingsFile`, on files of the home."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from datetime import datetime
from pathlib import Path

import click

from hermes_core import __version__, config_edit, dotenv
from hermes_core.cli.config_command import found_settings, plugin_schemas
from hermes_core.cli.context import paths_of, some_folder, working_folder
from hermes_core.cli.gateway import lock_home
from hermes_core.clock import SystemClock
from hermes_core.config import process_environment, read_config, secret_values
from hermes_core.config_layers import canonical_key
from hermes_core.faces import RuntimeFace
from hermes_core.gate.redact import Redactor
from hermes_core.paths import (
    SECRETS_FILE,
    SETTINGS_FILE,
    choose_profile,
    chosen_profile,
    resolve_paths,
    write_whole,
)
from hermes_core.runtime import open_runtime
from hermes_core.store.database import connect, copy_database
from hermes_core.store.sessions import holders
from hermes_plugins._clock import Clock
from hermes_plugins._commands import Setting, SettingsFile
from hermes_plugins._doctor import Inspection
from hermes_plugins._errors import StoreError, UsageError
from hermes_plugins._faces import FaceHost
from hermes_plugins._installer import PackageInstaller
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
        return config_edit.set_value(
            self._paths, key, _text(value), declared_env=env, schemas=schemas
        )

    def set_all(self, values: Mapping[str, Json]) -> Sequence[Path]:
        files = (self.file, self._paths.home / SECRETS_FILE)
        before = {file: _bytes(file) for file in files}
        try:
            for key, value in values.items():
                if value is None:
                    self.unset(key)
            for key, value in values.items():
                if value is not None:
                    self.set(key, value)
        except BaseException:  # also a Ctrl-C between two of them
            for file, data in before.items():
                _put_back(file, data)
            raise
        return [file for file in files if _bytes(file) != before[file]]

    def check(self, key: str, value: Json) -> str:
        env, schemas = plugin_schemas(self._ctx)
        try:
            config_edit.check_value(key, _text(value), declared_env=env, schemas=schemas)
        except UsageError as error:
            return error.message
        return ""

    def unset(self, key: str) -> bool:
        env, _ = plugin_schemas(self._ctx)
        return config_edit.unset_value(self._paths, key, declared_env=env)

    def holds(self, variable: str) -> str:
        environ = process_environment()
        if environ.get(variable):
            return "environment"
        config = read_config(self._paths, cwd=self._paths.home, environ=environ)
        return ".env" if config.secrets.get(variable) else ""

    def keep(self, variable: str) -> Path:
        return self.set(variable, process_environment().get(variable, ""))

    def variables(self, file: Path) -> Mapping[str, str]:
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (OSError, ValueError):
            return {}
        found = (one for one in dotenv.scan(text) if isinstance(one, dotenv.Assignment))
        return {one.name: one.value for one in found}

    def problems(self) -> Sequence[str]:
        folder = some_folder(self._paths)
        config = read_config(self._paths, cwd=folder, environ=process_environment())
        found = list(config.problems)
        for name, schema in plugin_schemas(self._ctx)[1].items():
            found += config.check_plugin(name, schema)
        return [f"{one.severity}: {one}" for one in found]

    def copy(self) -> Path | None:
        try:
            data = self.file.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError(f"{self.file} cannot be read: {error.strerror}.") from error
        stamp = datetime.fromtimestamp(SystemClock().now()).strftime("%Y%m%d-%H%M%S")
        target = self.file.with_name(f"{self.file.name}.{stamp}")
        number = 1
        while target.exists():  # two in one second
            number += 1
            target = self.file.with_name(f"{self.file.name}.{stamp}-{number}")
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
        self._redactor: Redactor | None = None

    def open(
        self, values: Mapping[str, Json] | None = None
    ) -> AbstractAsyncContextManager[FaceHost]:
        return self._open(values or {})

    @asynccontextmanager
    async def _open(self, values: Mapping[str, Json]) -> AsyncIterator[FaceHost]:
        variables = {key: str(value) for key, value in values.items() if key.isupper()}
        runtime = await open_runtime(
            self.paths,
            environ={**process_environment(), **variables},
            cwd=working_folder(),
            overrides={key: value for key, value in values.items() if not key.isupper()},
        )
        try:
            yield RuntimeFace(runtime, self.plugin)
        finally:
            await runtime.close()

    def choose_profile(self, name: str) -> None:
        choose_profile(self.root, name)
        self.chosen_profile = chosen_profile(self.root)

    def alone(self, home: Path | None = None) -> AbstractContextManager[None]:
        return _alone(home or self.paths.home)

    async def copy_state(self, target: Path, *, home: Path | None = None) -> None:
        copy_database((home or self.paths.home) / "state.db", target)

    def inspect(self, *, scratch: Path | None = None) -> AbstractAsyncContextManager[Inspection]:
        from hermes_core.cli.inspection import open_inspection

        folder = some_folder(self.paths)
        return open_inspection(self.paths, self.plugin, cwd=folder, scratch=scratch)

    def redact(self, text: str) -> str:
        if self._redactor is None:
            environ = process_environment()
            config = read_config(self.paths, cwd=self.paths.home, environ=environ)
            self._redactor = Redactor(secret_values(config))
        return self._redactor.redact(text)

    def gateways(self) -> Mapping[str, int]:
        from hermes_core.cli.gateway import running_gateway

        homes = {"": self.root}
        try:
            homes |= {one.name: one for one in sorted((self.root / "profiles").iterdir())}
        except OSError:
            pass
        found = {name: running_gateway(home) for name, home in homes.items()}
        return {name: pid for name, pid in found.items() if pid is not None}

    def installer(self) -> PackageInstaller:
        from hermes_core.cli.installer import find_updater

        return find_updater()


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


def _text(value: Json) -> str:
    """A value as `config_edit` takes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bytes(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from error


def _put_back(file: Path, data: bytes | None) -> None:
    if data is None:
        file.unlink(missing_ok=True)
    elif _bytes(file) != data:
        write_whole(file, data)
