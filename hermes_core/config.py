"""The settings of one host: layers read, checked and joined.

Later wins: defaults, the user's file, a project's file (only what tightens), ``HERMES_SECTION__KEY``,
the command line. A broken file, a key that stands twice or a wrong type refuses to start; an unknown
key is told. This and paths.py are the only places that see the environment.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec

from hermes_core import config_layers as layers
from hermes_core import config_tree as trees
from hermes_core import dotenv
from hermes_core.config_schema import Settings
from hermes_core.config_tree import Found, Node, Origin, Problem, Tree
from hermes_core.paths import SECRETS_FILE, SETTINGS_FILE
from hermes_plugins import Paths, Section

S = TypeVar("S", bound=Section)

_NOTHING: Mapping[str, object] = {}
_INHERITS: Mapping[str, str] = {}


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """The settings, and where each was written.

    ``environ`` is the environment with .env below it; ``secrets`` is what .env holds. ``layers`` are
    the trees that were joined into ``tree``, lowest first; ``project`` is a project's whole tree.
    """

    settings: Settings
    environ: Mapping[str, str]
    secrets: Mapping[str, str]
    problems: tuple[Problem, ...]
    layers: tuple[Tree, ...]
    tree: Tree
    project: Tree

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be told once: unknown keys, other spellings, what a project may not set."""
        return tuple(str(item) for item in self.problems if item.severity != "error")

    def origin(self, key: str) -> Origin:
        """Where the value that counts was written."""
        found = self.tree.get(tuple(key.split(".")))
        return found.origin if found is not None else Origin()

    def plugin_names(self) -> tuple[str, ...]:
        """The plugins that have a section of their own."""
        return tuple(self.settings.plugins.sections)

    def plugin_section(
        self, name: str, schema: type[S], *, inherits: Mapping[str, str] = _INHERITS
    ) -> S:
        """The section ``plugins.NAME``, typed; ``inherits`` is `ConfigSection.inherits`.

        Raises:
            ConfigError: a value does not fit, or a key is unknown.
        """
        found: Found = []
        value, _ = self.plugin_values(name, schema, found, inherits=inherits)
        for item in found:
            if item.severity != "note":
                raise item.error()
        return value

    def plugin_values(
        self,
        name: str,
        schema: type[S],
        found: Found,
        *,
        inherits: Mapping[str, str] = _INHERITS,
    ) -> tuple[S, Tree]:
        """The section ``plugins.NAME``, and where its values were written."""
        tree = trees.merge(self.plugin_layers(name, schema, found))
        if "overrides" not in trees.fields_of(schema):
            tree = layers.without(tree, ("overrides",))
        section = trees.fit(schema, tree, f"plugins.{name}", found)
        for field, key in inherits.items():
            if tree.get((field,), Node(None)).value is None:
                value = functools.reduce(getattr, key.split("."), self.settings)
                section = msgspec.structs.replace(section, **{field: value})
                written = self.tree.get(tuple(key.split(".")))
                tree |= {(field,): written} if written is not None else {}
        return section, tree

    def check_plugin(self, name: str, schema: type[Section]) -> tuple[Problem, ...]:
        """What there is to tell about ``plugins.NAME``, for ``hermes config check``."""
        found: Found = []
        self.plugin_values(name, schema, found)
        return tuple(found)

    def plugin_layers(self, name: str, schema: type[Section], found: Found) -> tuple[Tree, ...]:
        """As ``layers``, what stands in ``plugins.NAME``; what a project may not set is in ``found``."""
        user, _, *above = (_section(layer, name) for layer in self.layers)
        asked = _section(self.project, name)
        project = layers.tighten(schema, asked, user, key=f"plugins.{name}", found=found)
        return user, project, *above

    def plugin_overrides(self, name: str) -> tuple[str, ...]:
        """``plugins.NAME.overrides``: built-in tools that the plugin may replace.

        Raises:
            ConfigError: it is no list of names.
        """
        found: Found = []
        listed = _section(self.tree, name).get(("overrides",), Node(None))
        if listed.value is None:
            return ()
        value = trees.fit_value(tuple[str, ...], listed, f"plugins.{name}.overrides", found)
        if found:
            raise found[0].error()
        return value if isinstance(value, tuple) else ()


def load_config(
    paths: Paths,
    *,
    cwd: Path,
    environ: Mapping[str, str],
    overrides: Mapping[str, object] = _NOTHING,
) -> Config:
    """The settings for a run that starts in ``cwd``; ``overrides`` are dotted keys.

    Raises:
        ConfigError: a file is broken, a key stands twice, a value has the wrong type, or a
            ``${NAME}`` is not set.
    """
    config = read_config(paths, cwd=cwd, environ=environ, overrides=overrides)
    errors = [item for item in config.problems if item.severity == "error"]
    if not errors:
        return config
    error = errors[0].error()
    if not error.hint:
        is_own = errors[0].origin.layer == "user" and error.key
        mend = f"Mend it: hermes config set {error.key} VALUE"
        error.hint = mend if is_own else "`hermes config check` shows what is wrong."
    if len(errors) > 1:
        more = f"{len(errors) - 1} more: hermes config check."
        error.hint = f"{error.hint} {more}".lstrip()
    raise error


def read_config(
    paths: Paths,
    *,
    cwd: Path,
    environ: Mapping[str, str],
    overrides: Mapping[str, object] = _NOTHING,
    text: str | None = None,
) -> Config:
    """As `load_config`, but errors are among the problems, and what they touch has its default.

    ``text`` is read in place of the user's file.
    """
    found: Found = []
    secrets = _read_secrets(paths.home / SECRETS_FILE, found)
    merged = {**secrets, **environ}
    file = paths.home / SETTINGS_FILE
    text = layers.read_text(file, "user", found) if text is None else text
    user = layers.text_layer(text, file, "user", found) if text is not None else None
    user = layers.interpolate(user or {}, merged, found)
    project_file = layers.find_project_file(cwd, file)
    project = layers.file_layer(project_file, "project", found) if project_file else None
    kept = (
        user,
        layers.tighten(Settings, project or {}, user, key="", found=found),
        layers.environment_layer(merged, found),
        layers.override_layer(overrides, found),
    )
    tree = trees.merge(kept)
    return Config(
        settings=trees.fit(Settings, tree, "", found),
        environ=merged,
        secrets=secrets,
        problems=tuple(found),
        layers=kept,
        tree=tree,
        project=project or {},
    )


def secret_values(config: Config) -> list[str]:
    """Values that must never be shown: everything in .env, and keys of the environment."""
    named = (
        value
        for name, value in config.environ.items()
        if name.upper().endswith(("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD"))
    )
    return [value for value in (*config.secrets.values(), *named) if len(value) >= 8]


def process_environment() -> dict[str, str]:
    """The environment of this process."""
    return dict(os.environ)


def _read_secrets(path: Path, found: Found) -> dict[str, str]:
    text = layers.read_text(path, "user", found)
    if text is None:
        return {}
    if sys.platform != "win32" and path.stat().st_mode & 0o077:
        message = "can be read by other users of this machine."
        origin = Origin("user", str(path))
        found.append(Problem("warning", message, "", origin, f"Run: chmod 600 {path}"))
    secrets = {}
    for item in dotenv.scan(text):
        if isinstance(item, dotenv.Assignment):
            secrets[item.name] = item.value
        else:
            origin = Origin("user", str(path), item.line)
            found.append(Problem("warning", "is no NAME=value line; it has no effect.", "", origin))
    return secrets


def _section(tree: Tree, name: str) -> Tree:
    """What stands in ``plugins.NAME``; variables write the ``-`` of a name as ``_``."""
    spelled = (("plugins", name), ("plugins", name.replace("-", "_")))
    return {key[2:]: item for key, item in tree.items() if key[:2] in spelled and len(key) > 2}
