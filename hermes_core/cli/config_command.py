"""``hermes config``: see, explain, check and change settings. Bare ``hermes config`` shows them.

Reading commands answer with text, or with JSON (``--json``). Secrets are never shown.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from hermes_core import config_schema
from hermes_core import config_tree as trees
from hermes_core.cli import values
from hermes_core.cli.config_explain import explain as explain_setting
from hermes_core.cli.config_explain import explain_variable, lines
from hermes_core.cli.config_rows import Row, rows
from hermes_core.config import Config, load_config, process_environment, read_config
from hermes_core.config_layers import canonical_key, find_field, find_project_file, is_variable
from hermes_core.config_schema import PluginsSettings, Settings
from hermes_core.config_tree import Origin, Problem
from hermes_core.paths import SECRETS_FILE, SETTINGS_FILE, resolve_paths
from hermes_plugins import ConfigSection, Paths, Section, UsageError

_NO_SCHEMAS: Mapping[str, type[Section]] = {}
_as_json = click.option("--json", "as_json", is_flag=True, help="Answer with JSON.")


@click.group("config", invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show, explain and change settings.

    \b
    Examples:
      hermes config                            every setting
      hermes config explain agent.max_turns    what it means, and what sets it
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
    Examples:
      hermes config show
      hermes config show --json
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
    Examples:
      hermes config get agent.max_turns
      hermes config get terminal --json        a section
    """
    key = canonical_key(key)
    found = found_settings(ctx, key)
    if len(found) == 1 and found[0].key == key:
        value, place = found[0].value, _place(found[0].origin)
    else:
        value, place = {row.key.removeprefix(f"{key}."): row.value for row in found} or None, {}
    click.echo(_json({"key": key, "value": value, **place}) if as_json else _text(value, bare=True))


@command.command()
@click.argument("key", required=False)
@_as_json
@click.pass_context
def explain(ctx: click.Context, key: str | None, as_json: bool) -> None:
    """What KEY means and takes, every layer that sets it, and how to change it.

    KEY may be a section, or a variable of .env. Without KEY the sections are listed.

    \b
    Examples:
      hermes config explain agent.max_turns
      hermes config explain gate
      hermes config explain OPENROUTER_API_KEY
    """
    paths = _paths(ctx)
    config = read_config(paths, cwd=_folder(paths), environ=process_environment())
    if key is not None and is_variable(key, _declared_env(ctx)):
        told = [explain_variable(config, paths, key)]
    else:
        keys = [key] if key is not None else list(trees.fields_of(Settings))
        told = [explain_setting(config, one, _sections(ctx)) for one in keys]
    if key and not told[0].written and (hint := _stranger(key, _sections(ctx))):
        raise UsageError(f"There is no setting {key}. {hint}")
    if as_json:
        click.echo(_json(msgspec.to_builtins(told if key is None else told[0])))
    elif key is None:
        width = max(len(one.key) for one in told)
        click.echo("\n".join(f"{one.key:<{width}}  {one.meaning}" for one in told))
    else:
        click.echo("\n".join(lines(told[0])))


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
      hermes config set gate.deny '["git push*"]'
      hermes config set OPENROUTER_API_KEY      asks for it
    """
    from hermes_core import config_edit

    declared = _declared_env(ctx)
    secret = is_variable(key, declared)
    if value is None:
        value = _ask(key, secret)
    file = config_edit.set_value(
        _paths(ctx), key, value, declared_env=declared, schemas=_schemas(ctx)
    )
    shown = key if secret or _is_secret(key) else f"{key} = {value}"
    click.echo(f"{shown}: written to {file}")
    if hint := _stranger(key, _sections(ctx)):
        click.echo(f"note: no plugin that is on reads it. {hint}", err=True)


@command.command()
@click.argument("key", shell_complete=values.settings)
@click.pass_context
def unset(ctx: click.Context, key: str) -> None:
    """Remove KEY from hermes.yaml, or a variable from .env.

    \b
    Examples:
      hermes config unset agent.max_turns
      hermes config unset OPENROUTER_API_KEY
    """
    from hermes_core import config_edit

    declared = _declared_env(ctx)
    if config_edit.unset_value(_paths(ctx), key, declared_env=declared):
        click.echo(f"{key}: removed")
        return
    if not is_variable(key, declared):
        find_field(canonical_key(key), _schemas(ctx))
    click.echo(f"{key} was not set")


@command.command()
@click.pass_context
def edit(ctx: click.Context) -> None:
    """Open hermes.yaml in $VISUAL or $EDITOR.

    You edit a copy; it is checked before it takes the file's place, and you can go on editing when
    something is wrong in it.

    \b
    Examples:
      hermes config edit
      EDITOR="code --wait" hermes config edit
    """
    from hermes_core.cli.config_editing import edit_settings

    click.echo(edit_settings(_paths(ctx), lambda text: _problems(ctx, text)))


@command.command()
@_as_json
@click.pass_context
def path(ctx: click.Context, as_json: bool) -> None:
    """Where hermes.yaml is.

    \b
    Examples:
      hermes config path
      hermes config path --json      .env and the project's file too
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
    Examples:
      hermes config check
      hermes config check && hermes gateway run
    """
    problems = _problems(ctx)
    if as_json:
        click.echo(_json(msgspec.to_builtins(problems)))
    else:
        click.echo("\n".join(f"{item.severity}: {item}" for item in problems) or "Nothing to mend.")
    ctx.exit(1 if any(item.severity != "note" for item in problems) else 0)


@command.command()
@click.option("--json", "as_json", is_flag=True, help="It is JSON anyway.")
@click.pass_context
def schema(ctx: click.Context, as_json: bool) -> None:
    """The JSON Schema of hermes.yaml, for editors.

    \b
    Example:
      hermes config schema > hermes.schema.json
    """
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
        described = getattr(config_schema, name)
        definition["description"] = trees.summary(described)
        for field in trees.fields_of(described).values():
            meaning = field.description or trees.summary(field.kind)
            definition["properties"][field.name]["description"] = meaning
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


def found_settings(ctx: click.Context, key: str) -> Sequence[Row]:
    """The settings that a key names: one, or those of a section.

    Raises:
        UsageError: there is no such setting.
    """
    config, sections = load(ctx), _sections(ctx) if key.startswith("plugins") else {}
    find_field(key, {name: one.schema for name, one in sections.items()})
    found = [row for row in rows(config, sections) if f"{row.key}.".startswith(f"{key}.")]
    if hint := "" if found else _stranger(key, sections):
        raise UsageError(f"There is no setting {key}. {hint}")
    return found


def _stranger(key: str, sections: Mapping[str, ConfigSection]) -> str:
    """What to do where a key stands in the section of a plugin that is not on; "" where it does not."""
    head, _, rest = key.partition(".")
    name, _, inner = rest.partition(".")
    known = {*sections, *trees.fields_of(PluginsSettings)}
    if head != "plugins" or not name or name in known:
        return ""
    meant = trees.near(name, sections)
    if meant:
        return f"Did you mean plugins.{meant}{'.' if inner else ''}{inner}?"
    return "A plugin's settings are known while it is on; see `hermes plugins list`."


def _problems(ctx: click.Context, text: str | None = None) -> Sequence[Problem]:
    """What there is to tell about the settings; ``text`` is looked at in place of hermes.yaml."""
    paths = _paths(ctx)
    config = read_config(paths, cwd=_folder(paths), environ=process_environment(), text=text)
    problems = list(config.problems)
    for name, schema in _schemas(ctx).items():
        problems += config.check_plugin(name, schema)
    origin = config.origin("plugins.enabled")
    missing: Collection[str] = _given(ctx, "missing_plugins") or ()
    for name in missing:
        message = f"{name} is in plugins.enabled but not installed."
        hint = f"`hermes plugins disable {name}` forgets it."
        problems.append(Problem("note", message, "plugins.enabled", origin, hint))
    return problems


def _is_secret(key: str) -> bool:
    field = trees.field_at(Settings, canonical_key(key).split("."))
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


def _given(ctx: click.Context, name: str) -> Any:
    """What the group put into the context; a function there is called only when it is needed."""
    given = (ctx.obj or {}).get(name)
    return given() if callable(given) else given


def _declared_env(ctx: click.Context) -> Collection[str]:
    """Variables that installed plugins declare."""
    return _given(ctx, "declared_env") or ()


def _sections(ctx: click.Context) -> Mapping[str, ConfigSection]:
    """Sections of the plugins that are on, by name."""
    return _given(ctx, "plugin_sections") or {}


def _schemas(ctx: click.Context) -> Mapping[str, type[Section]]:
    return {name: section.schema for name, section in _sections(ctx).items()}


def plugin_schemas(ctx: click.Context) -> tuple[Collection[str], Mapping[str, type[Section]]]:
    """Variables and sections that the plugins that are on declare, as `config_edit.set_value` wants
    them."""
    return _declared_env(ctx), _schemas(ctx)


def _paths(ctx: click.Context) -> Paths:
    return resolve_paths(process_environment(), profile=_given(ctx, "profile") or "")


def _folder(paths: Paths) -> Path:
    """The working directory; the home when it is gone."""
    try:
        return Path.cwd()
    except OSError:
        return paths.home
