"""``hermes config``: show, get, set, unset, path, check, schema. Bare ``hermes config`` shows.

Reading commands answer with text, or with JSON (``--json``). Secrets are never shown.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from pathlib import Path

import click
import msgspec

from hermes_core import config_tree as trees
from hermes_core.cli import values
from hermes_core.cli.config_rows import Row, rows
from hermes_core.config import Config, load_config, process_environment, read_config
from hermes_core.config_layers import canonical_key, find_field, find_project_file
from hermes_core.config_schema import PluginsSettings, Settings
from hermes_core.config_tree import Origin, Problem
from hermes_core.paths import SECRETS_FILE, SETTINGS_FILE, resolve_paths
from hermes_plugins import ConfigSection, Paths, Section, UsageError

_NO_SCHEMAS: Mapping[str, type[Section]] = {}
_as_json = click.option("--json", "as_json", is_flag=True, help="Answer with JSON.")


@click.group("config", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show and change settings.

    \b
    Examples:
      hermes config                            every setting
      hermes config set model.name openrouter/openai/gpt-5
      hermes config set OPENROUTER_API_KEY     goes to .env, and is not shown
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(show)


@command.command()
@_as_json
@click.pass_context
def show(ctx: click.Context, as_json: bool = False) -> None:
    """Every setting, and where it comes from.

    \b
    Example:
      hermes config show
    """
    shown = list(rows(load(ctx), _sections(ctx)))
    if as_json:
        click.echo(_json({row.key: {"value": row.value, **_place(row.origin)} for row in shown}))
        return
    width = min(max(len(row.key) for row in shown), 40)
    for row in shown:
        origin = "" if row.origin.layer == "default" else f"   ({row.origin})"
        click.echo(f"{row.key:<{width}}  {_text(row.value)}{origin}")


@command.command()
@click.argument("key", shell_complete=values.settings)
@_as_json
@click.pass_context
def get(ctx: click.Context, key: str, as_json: bool) -> None:
    """The value of KEY.

    \b
    Example:
      hermes config get agent.max_turns
    """
    key = canonical_key(key)
    found = _found(ctx, key)
    if len(found) == 1 and found[0].key == key:
        value, place = found[0].value, _place(found[0].origin)
    else:
        value, place = {row.key.removeprefix(f"{key}."): row.value for row in found} or None, {}
    click.echo(_json({"key": key, "value": value, **place}) if as_json else _text(value, bare=True))


@command.command("set")
@click.argument("key", shell_complete=values.settings)
@click.argument("value", required=False)
@click.pass_context
def set_(ctx: click.Context, key: str, value: str | None) -> None:
    """Set KEY to VALUE in hermes.yaml.

    A variable such as OPENAI_API_KEY goes to .env. Without VALUE it is asked for, unseen, or read from
    standard input, so that it stays out of the shell's history.

    \b
    Examples:
      hermes config set agent.max_turns 50
      hermes config set OPENROUTER_API_KEY      asks for it
    """
    from hermes_core import config_edit

    declared = _declared_env(ctx)
    secret = config_edit.is_variable(key, declared)
    if value is None:
        value = _ask(key, secret)
    file = config_edit.set_value(
        _paths(ctx), key, value, declared_env=declared, schemas=_schemas(ctx)
    )
    shown = key if secret or _is_secret(key) else f"{key} = {value}"
    click.echo(f"{shown}: written to {file}")


@command.command()
@click.argument("key", shell_complete=values.settings)
@click.pass_context
def unset(ctx: click.Context, key: str) -> None:
    """Remove KEY from hermes.yaml, or a variable from .env.

    \b
    Example:
      hermes config unset agent.max_turns
    """
    from hermes_core import config_edit

    removed = config_edit.unset_value(_paths(ctx), key, declared_env=_declared_env(ctx))
    click.echo(f"{key}: removed" if removed else f"{key} was not set")


@command.command()
@_as_json
@click.pass_context
def path(ctx: click.Context, as_json: bool) -> None:
    """Where hermes.yaml is.

    \b
    Example:
      hermes config path
    """
    paths = _paths(ctx)
    file = paths.home / SETTINGS_FILE
    if not as_json:
        click.echo(str(file))
        return
    project = find_project_file(_folder(paths), file)
    files = {"settings": file, "secrets": paths.home / SECRETS_FILE, "project": project}
    click.echo(_json({name: str(item) if item else None for name, item in files.items()}))


@command.command()
@_as_json
@click.pass_context
def check(ctx: click.Context, as_json: bool) -> None:
    """Tell what is wrong with the settings; exit status 1 when something is.

    \b
    Example:
      hermes config check
    """
    paths = _paths(ctx)
    config = read_config(paths, cwd=_folder(paths), environ=process_environment())
    problems = list(config.problems)
    for name, schema in _schemas(ctx).items():
        problems += config.check_plugin(name, schema)
    problems += [_missing(config, name) for name in _missing_plugins(ctx)]
    bad = any(item.severity != "note" for item in problems)
    if as_json:
        click.echo(_json([msgspec.to_builtins(item) for item in problems]))
    else:
        for item in problems:
            click.echo(f"{item.severity}: {item}")
        if not problems:
            click.echo("Nothing to mend.")
    ctx.exit(1 if bad else 0)


@command.command()
@_as_json
@click.pass_context
def schema(ctx: click.Context, as_json: bool) -> None:
    """The JSON Schema of hermes.yaml, for editors.

    \b
    Example:
      hermes config schema > hermes.schema.json
    """
    del as_json
    click.echo(_json(json_schema(_schemas(ctx))))


def load(ctx: click.Context) -> Config:
    """The settings that a command works with.

    Raises:
        ConfigError: a file is broken.
    """
    paths = _paths(ctx)
    return load_config(paths, cwd=_folder(paths), environ=process_environment())


def json_schema(schemas: Mapping[str, type[Section]] = _NO_SCHEMAS) -> dict[str, object]:
    """The JSON Schema of hermes.yaml; ``schemas`` are the sections of plugins by name.

    What stands in the section of another plugin is left open.
    """
    whole = msgspec.json.schema(Settings, schema_hook=_any_value)
    definitions = whole["$defs"]
    for name, definition in definitions.items():
        section = {"ToolsetsSettings": "sets", "PluginsSettings": "sections"}.get(name)
        if section is not None:
            definition["additionalProperties"] = definition["properties"].pop(section)[
                "additionalProperties"
            ]
    names = {"type": "array", "items": {"type": "string"}}
    for name, schema in schemas.items():
        (own,), parts = msgspec.json.schema_components(
            [schema], schema_hook=_any_value, ref_template=f"#/$defs/{name}.{{name}}"
        )
        definitions |= {f"{name}.{part}": definition for part, definition in parts.items()}
        section = own["$ref"].removeprefix("#/$defs/")
        definitions[section]["properties"].setdefault("overrides", names)
        definitions["PluginsSettings"]["properties"][name] = own
    return whole


def _any_value(kind: type) -> dict[str, object]:
    return {"description": "any value"}


def _found(ctx: click.Context, key: str) -> list[Row]:
    """The settings that a key names: one, or those of a section.

    Raises:
        UsageError: there is no such setting.
    """
    config = load(ctx)
    head, _, rest = key.partition(".")
    sections = _sections(ctx) if head == "plugins" else {}
    find_field(key, {name: one.schema for name, one in sections.items()})
    shown = rows(config, sections)
    found = [row for row in shown if row.key == key or row.key.startswith(f"{key}.")]
    plugin = rest.partition(".")[0]
    is_own = head == "plugins" and plugin and plugin not in trees.fields_of(PluginsSettings)
    if is_own and not found and not (plugin in sections and key.endswith(".overrides")):
        near = get_close_matches(plugin, sections, n=1, cutoff=0.7)
        meant = ".".join(["plugins", *near, *key.split(".")[2:]])
        hint = "A plugin's settings are known while it is on; see `hermes plugins list`."
        if near:
            raise UsageError(f"There is no setting {key}. Did you mean {meant}?")
        raise UsageError(f"There is no setting {key}.", hint=hint)
    return found


def _missing(config: Config, name: str) -> Problem:
    return Problem(
        "note",
        f"{name} is in plugins.enabled but not installed.",
        "plugins.enabled",
        config.origin("plugins.enabled"),
        f"`hermes plugins disable {name}` forgets it.",
    )


def _is_secret(key: str) -> bool:
    field = trees.field_at(Settings, canonical_key(key))
    return (field is not None and field.secret) or trees.is_secret_name(key)


def _place(origin: Origin) -> dict[str, object]:
    return {"layer": origin.layer, "file": origin.file, "line": origin.line}


def _text(value: object, *, bare: bool = False) -> str:
    """A value on one line; with ``bare``, a text as it is."""
    if isinstance(value, str) and (bare or (value and "\n" not in value)):
        return value
    return "" if value is None and bare else json.dumps(value, ensure_ascii=False)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _ask(key: str, secret: bool) -> str:
    if sys.stdin.isatty():
        answer: str = click.prompt(key, hide_input=secret or _is_secret(key))
        return answer
    return sys.stdin.readline().rstrip("\r\n")


def _given(ctx: click.Context, name: str, default: object) -> object:
    """What the group put into the context; a function there is called only when it is needed."""
    given = ctx.obj.get(name, default) if isinstance(ctx.obj, dict) else default
    return given() if callable(given) else given


def _declared_env(ctx: click.Context) -> Collection[str]:
    """Variables that installed plugins declare."""
    given = _given(ctx, "declared_env", ())
    return given if isinstance(given, Collection) else ()


def _sections(ctx: click.Context) -> Mapping[str, ConfigSection]:
    """Sections of the plugins that are on, by name."""
    given = _given(ctx, "plugin_sections", {})
    return given if isinstance(given, Mapping) else {}


def _schemas(ctx: click.Context) -> Mapping[str, type[Section]]:
    return {name: section.schema for name, section in _sections(ctx).items()}


def _missing_plugins(ctx: click.Context) -> Collection[str]:
    """Names in ``plugins.enabled`` that nothing installed goes by."""
    given = _given(ctx, "missing_plugins", ())
    return given if isinstance(given, Collection) else ()


def _paths(ctx: click.Context) -> Paths:
    return resolve_paths(process_environment(), profile=str(_given(ctx, "profile", "") or ""))


def _folder(paths: Paths) -> Path:
    """The working directory; the home when it is gone."""
    try:
        return Path.cwd()
    except OSError:
        return paths.home
