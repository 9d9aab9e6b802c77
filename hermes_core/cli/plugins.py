"""``hermes plugins``: what is installed, what is on, why, and what it costs."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click
import msgspec

from hermes_core.cli import values
from hermes_core.cli.context import config_of, paths_of, working_folder
from hermes_core.cli.plugin_rows import (
    Row,
    base_name,
    load_everything,
    one_row,
    plugin_name,
    rows,
    sentences,
    why_hidden,
)
from hermes_core.config import process_environment
from hermes_plugins._errors import HermesError, UsageError

if TYPE_CHECKING:
    from hermes_core.runtime import Runtime

T = TypeVar("T")

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group("plugins")
def command() -> None:
    """See, switch, install and write plugins.

    \b
    Examples:
      hermes plugins list
      hermes plugins why read_file
      hermes plugins install hermes-plugin-weather
      hermes plugins new weather --kind tools
    """


@command.command("list")
@_JSON
@click.pass_context
def list_plugins(ctx: click.Context, as_json: bool) -> None:
    """Every plugin that was found: on, off or failed, and why; and what is enabled but missing.

    \b
    Example:
      hermes plugins list
    """
    found = _with_runtime(ctx, rows)
    if as_json:
        _print_json(found)
        return
    if not found:
        click.echo(
            "No plugin is installed. `pip install 'hermes-host[default]'` brings the usual ones."
        )
    width = max((len(row.name) for row in found), default=0)
    for row in found:
        line = f"{row.name:<{width}}  {row.version or '-':<8} {row.state:<7} "
        click.echo(f"{line}{', '.join(row.offers)}".rstrip())
        if row.reason:
            click.echo(f"{'':<{width}}  {row.line}")


@command.command("info")
@click.argument("name", shell_complete=values.plugins)
@_JSON
@click.pass_context
def info(ctx: click.Context, name: str, as_json: bool) -> None:
    """One plugin: where it comes from and what it contributes.

    \b
    Example:
      hermes plugins info file
    """
    row = one_row(_with_runtime(ctx, rows), name)
    if as_json:
        _print_json(row)
        return
    click.echo(f"{row.name} {row.version}  ({row.state})")
    for label, value in (
        ("distribution", row.distribution),
        ("from", row.source),
        ("needs hermes-host", row.needs_host),
        ("offers", ", ".join(row.offers)),
        ("tools", ", ".join(row.tools)),
        ("providers", ", ".join(row.providers)),
        ("hooks", ", ".join(row.hooks)),
        ("settings", ", ".join(row.settings)),
        ("secrets", ", ".join(row.secrets)),
        ("why" if row.state == "off" else "problem", row.line),
    ):
        if value:
            click.echo(f"  {label}: {value}")


@command.command("why")
@click.argument("tool")
@_JSON
@click.pass_context
def why(ctx: click.Context, tool: str, as_json: bool) -> None:
    """Where a tool comes from, or why it is not there.

    \b
    Example:
      hermes plugins why read_file
    """

    async def look(runtime: Runtime) -> dict[str, str]:
        await load_everything(runtime)
        return _origin(runtime, tool)

    found = _with_runtime(ctx, look)
    if as_json:
        _print_json(found)
        return
    for key, value in found.items():
        if value:
            click.echo(f"{key}: {value}")


@command.command("profile")
@_JSON
@click.pass_context
def profile(ctx: click.Context, as_json: bool) -> None:
    """What each plugin costs to load, in milliseconds of wall time.

    \b
    Example:
      hermes plugins profile
    """

    async def measure(runtime: Runtime) -> list[dict[str, object]]:
        await load_everything(runtime)
        costs: list[dict[str, object]] = [
            {
                "plugin": one.name,
                "load_ms": round(one.seconds * 1000, 2),
                "hooks": {
                    hook: {"calls": calls, "ms": round(seconds * 1000, 2)}
                    for (name, hook), (calls, seconds) in runtime.host.dispatch.seconds.items()
                    if name == one.name
                },
            }
            for one in runtime.host.loaded.values()
        ]
        return sorted(costs, key=lambda cost: -float(str(cost["load_ms"])))

    costs = _with_runtime(ctx, measure)
    if as_json:
        _print_json(costs)
        return
    for cost in costs:
        click.echo(f"{cost['load_ms']:>8.2f} ms  {cost['plugin']}")


@command.command("enable")
@click.argument("name", shell_complete=values.plugins)
@click.pass_context
def enable(ctx: click.Context, name: str) -> None:
    """Switch a plugin on.

    \b
    Example:
      hermes plugins enable weather
    """
    from hermes_core.cli.plugin_switch import switch

    row = one_row(_with_runtime(ctx, rows), name)
    if row.state == "missing":
        raise UsageError(f"{row.name} is not installed.", hint=row.hint)
    switch(paths_of(ctx), row.name, on=True)
    row = one_row(_with_runtime(ctx, rows), row.name)
    if row.state != "on":
        raise HermesError(f"{row.name} is switched on, but it does not work: {row.line}")
    click.echo(f"{row.name} is on. It offers: {', '.join(row.offers)}.")
    for line in _next_steps(ctx, row):
        click.echo(line)


@command.command("disable")
@click.argument("name", shell_complete=values.plugins)
@click.pass_context
def disable(ctx: click.Context, name: str) -> None:
    """Switch a plugin off; also one that keeps Hermes from starting.

    \b
    Example:
      hermes plugins disable weather
    """
    from hermes_core.cli.plugin_switch import forget, switch

    name, is_missing = _meant(ctx, name)
    if is_missing:
        forget(paths_of(ctx), name)
        click.echo(f"{name} is not installed; it is out of plugins.enabled now.")
        return
    switch(paths_of(ctx), name, on=False)
    click.echo(f"{name} is off. `hermes plugins enable {name}` brings it back.")


@command.command("install")
@click.argument("distribution")
@click.option("--yes", is_flag=True, help="Switch it on without asking.")
@click.pass_context
def install(ctx: click.Context, distribution: str, yes: bool) -> None:
    """Install a distribution by its full name, show what it brings, then ask.

    \b
    Example:
      hermes plugins install hermes-plugin-weather
      hermes plugins install ./FOLDER
    """
    from hermes_core.cli.plugin_install import about, distribution_name, install_distribution
    from hermes_core.cli.plugin_switch import switch

    paths = paths_of(ctx)
    full = distribution_name(distribution)
    place = install_distribution(distribution, paths)
    row = one_row(_with_runtime(ctx, rows), full)
    click.echo(f"Installed {row.distribution} {row.version} {place}.")
    if facts := about(full, paths):
        click.echo(f"  about: {facts}")
    click.echo(f"  offers: {', '.join(row.offers)}")
    if row.tools:
        click.echo(f"  tools: {', '.join(row.tools)}")
    if row.state == "on":
        click.echo("It is on.")
        return
    asked = yes or (sys.stdin.isatty() and click.confirm("Switch it on?", err=True))
    if asked:
        switch(paths, row.name, on=True)
        click.echo(f"{row.name} is on.")
        for line in _next_steps(ctx, row):
            click.echo(line)
    else:
        click.echo(f"It is off. `hermes plugins enable {row.name}` switches it on.")


@command.command("uninstall")
@click.argument("distribution")
@click.pass_context
def uninstall(ctx: click.Context, distribution: str) -> None:
    """Remove a distribution, and its name from plugins.enabled; its own settings stay.

    \b
    Example:
      hermes plugins uninstall hermes-plugin-weather
    """
    from hermes_core.cli.plugin_install import uninstall_distribution
    from hermes_core.cli.plugin_switch import forget

    uninstall_distribution(distribution, paths_of(ctx))
    click.echo(f"{distribution} is removed.")
    forget(paths_of(ctx), base_name(distribution))


@command.command("new")
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(
        ["tools", "provider", "platform", "memory", "policy", "lifecycle", "command"]
    ),
    default="tools",
    help="What it is to offer.",
)
@click.option("--folder", type=click.Path(file_okay=False), default=".", help="Where to write it.")
def new(name: str, kind: str, folder: str) -> None:
    """Write a plugin to start from: a distribution with a test that passes.

    \b
    Example:
      hermes plugins new weather --kind tools
    """
    from pathlib import Path

    from hermes_core.cli.plugin_new import write_plugin

    made = write_plugin(name, kind, Path(folder))
    # Without a ./ some installers take it for a name on an index.
    place = made if made.is_absolute() else os.path.join(os.curdir, made)
    what = shlex.quote(f"{place}[test]")
    click.echo(f"Wrote {made}. Next:")
    click.echo(f"  pip install -e {what}    (or: uv pip install -e {what})")
    click.echo(f"  hermes plugins enable {name}")


@command.command("check")
@click.argument("name", required=False, shell_complete=values.plugins)
@_JSON
@click.pass_context
def check(ctx: click.Context, name: str | None, as_json: bool) -> None:
    """Load every plugin that is on (or one) and report what is wrong; exit status 1 then.

    \b
    Example:
      hermes plugins check weather
    """
    found = _with_runtime(ctx, rows)
    chosen = [one_row(found, name)] if name else [row for row in found if row.state != "off"]
    failed = [row for row in chosen if row.state in ("failed", "missing")]
    if as_json:
        _print_json(failed)
    for row in () if as_json else failed:
        click.echo(f"{row.name}: {row.line}")
    if chosen and chosen[0].state == "off" and not as_json:
        click.echo(f"{chosen[0].name} was not loaded: {chosen[0].line}")
    elif not failed and not as_json:
        click.echo(f"{len(chosen)} checked, nothing wrong.")
    if failed:
        ctx.exit(1)


def _with_runtime(
    ctx: click.Context, work: Callable[[Runtime], Awaitable[T]], *, fresh: bool = True
) -> T:
    import asyncio

    from hermes_core.runtime import open_runtime

    async def run() -> T:
        runtime = await open_runtime(
            paths_of(ctx), environ=process_environment(), cwd=working_folder(), fresh=fresh
        )
        try:
            return await work(runtime)
        finally:
            await runtime.close()

    return asyncio.run(run())


def _meant(ctx: click.Context, name: str) -> tuple[str, bool]:
    """The plugin's own name, and whether it is missing. What is broken must not keep a plugin from
    being switched off.

    Raises:
        UsageError: there is no such plugin.
    """

    async def known(runtime: Runtime) -> tuple[str, bool] | UsageError:
        try:
            found = plugin_name(runtime, name)
        except UsageError as error:
            return error
        return found, found in runtime.host.missing

    try:
        found = _with_runtime(ctx, known)
    except HermesError:
        return base_name(name).removeprefix("hermes-plugin-"), False
    if isinstance(found, UsageError):
        raise found
    return found


def _next_steps(ctx: click.Context, row: Row) -> list[str]:
    """What a plugin that is on still needs before anything uses it."""
    offered = [offer.partition(":") for offer in row.offers]
    backends = [name for kind, _, name in offered if kind == "memory"]
    lines = []
    if backends and config_of(ctx).settings.memory.backend not in backends:
        lines.append(f"`hermes config set memory.backend {backends[0]}` has it used.")
    platforms = [name for kind, _, name in offered if kind == "platforms"]
    lines += [
        f"`hermes config set platforms.{name}.enabled true` and `hermes gateway run` start it."
        for name in platforms
    ]
    return lines


def _origin(runtime: Runtime, tool: str) -> dict[str, str]:
    """Where a tool comes from.

    Raises:
        UsageError: from nowhere; says which plugins might have it.
    """
    host = runtime.host
    for loaded in host.loaded.values():
        for one in loaded.tools:
            if tool in (one.name, *one.aliases):
                return {
                    "tool": one.name,
                    "plugin": loaded.name,
                    "distribution": f"{loaded.distribution} {loaded.version}".strip(),
                    "toolset": one.toolset,
                    "reason": why_hidden(runtime, one),
                }
    for problem in host.problems:
        if tool in problem.text.split():
            line = sentences(problem.text, problem.hint)
            return {"tool": tool, "plugin": problem.plugin, "reason": line}
    if any(tool in (one.plugin, one.distribution) for one in host.found):
        raise UsageError(
            f"no tool is called {tool!r}.",
            hint=f"`hermes plugins info {tool}` tells about the plugin.",
        )
    off = {one.plugin: host.why_off(one) for one in host.found if one.group == "hermes.tools"}
    failed = [name for name, reason in off.items() if not reason and name not in host.loaded]
    told = [f"{name} ({reason})" for name, reason in off.items() if reason]
    told += [f"{name} (failed; `hermes plugins info {name}`)" for name in failed]
    guess = f" It may be in one that is not: {', '.join(told)}." if told else ""
    raise UsageError(
        f"no plugin that is on offers {tool!r}.{guess}",
        hint="`hermes plugins list` shows what each offers, `hermes plugins info NAME` its tools.",
    )


def _print_json(value: object) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
