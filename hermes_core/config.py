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
from hermes_core.config_tree import Found, Node, Origin, Problem
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
    layers: tuple[Node, ...]
    tree: Node
    project: Node

    @property
    def notes(self) -> tuple[str, ...]:
        """What should be told once: unknown keys, other spellings, what a project may not set."""
        return tuple(str(item) for item in self.problems if item.severity != "error")

    def origin(self, key: str) -> Origin:
        """Where the value that counts was written."""
        found = trees.at(self.tree, key)
        return found.origin if found is not None else Origin()

    def explain(self, key: str) -> str:
        """Every layer that sets a key, one a line, the one that counts last."""
        found = [trees.at(layer, key) for layer in self.layers]
        lines = [f"{item.origin}: {self._shown(key, item)}" for item in found if item is not None]
        field = trees.field_at(Settings, key)
        if field is not None and field.name != "NAME" and not trees.is_struct(field.hint):
            lines.insert(0, f"default: {field.default!r}")
        return "\n".join(lines)

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
        value, _ = self._plugin_values(name, schema, inherits, found)
        for item in found:
            if item.severity != "note":
                raise item.error()
        return value

    def plugin_values(
        self, name: str, schema: type[S], *, inherits: Mapping[str, str] = _INHERITS
    ) -> tuple[S, Node]:
        """As `plugin_section`, but without unknown keys, and with where its values were written.

        Raises:
            ConfigError: a value does not fit.
        """
        found: Found = []
        values = self._plugin_values(name, schema, inherits, found)
        for item in found:
            if item.severity == "error":
                raise item.error()
        return values

    def check_plugin(self, name: str, schema: type[Section]) -> tuple[Problem, ...]:
        """What there is to tell about ``plugins.NAME``, for ``hermes config check``."""
        found: Found = []
        self._plugin_values(name, schema, _INHERITS, found)
        return tuple(found)

    def plugin_overrides(self, name: str) -> tuple[str, ...]:
        """``plugins.NAME.overrides``: built-in tools that the plugin may replace.

        Raises:
            ConfigError: it is no list of names.
        """
        found: Found = []
        tree = trees.merge(_section(layer, name) for layer in self.layers)
        listed = trees.at(tree, "overrides") or Node(None)
        value = trees.fit(tuple[str, ...], listed, f"plugins.{name}.overrides", found)
        if found:
            raise found[0].error()
        return value if isinstance(value, tuple) else ()

    def _plugin_values(
        self, name: str, schema: type[S], inherits: Mapping[str, str], found: Found
    ) -> tuple[S, Node]:
        tree = self._plugin_tree(name, schema, found)
        value = trees.fit(schema, tree, f"plugins.{name}", found)
        section = value if isinstance(value, schema) else schema()
        for field, key in inherits.items():
            if trees.at(tree, field) is None:
                value = functools.reduce(getattr, key.split("."), self.settings)
                section = msgspec.structs.replace(section, **{field: value})
                written = trees.at(self.tree, key)
                tree = trees.put(tree, field, written) if written is not None else tree
        return section, tree

    def _plugin_tree(self, name: str, schema: type[Section], found: Found) -> Node:
        user, _, *above = [_section(layer, name) for layer in self.layers]
        asked = _section(self.project, name)
        project = layers.tighten(schema, asked, user, key=f"plugins.{name}", found=found)
        tree = trees.merge([user, project, *above])
        return tree if "overrides" in trees.fields_of(schema) else trees.drop(tree, "overrides")

    def _shown(self, key: str, item: Node) -> str:
        field = trees.field_at(Settings, key)
        if (field is not None and field.secret) or trees.is_secret_name(key):
            return "(secret)"
        return repr(trees.plain(item, source=True))


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
) -> Config:
    """As `load_config`, but errors are among the problems, and what they touch has its default."""
    found: Found = []
    secrets = _read_secrets(paths.home / SECRETS_FILE, found)
    merged = {**secrets, **environ}
    file = paths.home / SETTINGS_FILE
    user = layers.file_layer(file, "user", found) or Node({})
    user = layers.interpolate(user, merged, "", found)
    project_file = layers.find_project_file(cwd, file)
    project = project_file and layers.file_layer(project_file, "project", found)
    project = project or Node({})
    kept = (
        user,
        layers.tighten(Settings, project, user, key="", found=found),
        layers.environment_layer(merged, found),
        layers.override_layer(overrides, found),
    )
    tree = trees.merge(kept)
    settings = trees.fit(Settings, tree, "", found)
    return Config(
        settings=settings if isinstance(settings, Settings) else Settings(),
        environ=merged,
        secrets=secrets,
        problems=tuple(found),
        layers=kept,
        tree=tree,
        project=project,
    )


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


def _section(layer: Node, name: str) -> Node:
    """``plugins.NAME`` of a layer; variables write the ``-`` of a name as ``_``."""
    plugins = layer.value.get("plugins") if isinstance(layer.value, dict) else None
    inside = plugins.value if plugins is not None else None
    if not isinstance(inside, dict):
        return Node(None)
    return inside.get(name) or inside.get(name.replace("-", "_")) or Node(None)
