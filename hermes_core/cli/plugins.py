"""``hermes plugins``: what is installed, what is on, why, and what it costs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import click
import msgspec

from hermes_core.cli.context import paths_of, working_folder
from hermes_core.config import process_environment
from hermes_core.discovery import Found
from hermes_core.hookspecs import HONOURED
from hermes_core.host import Loaded
from hermes_core.runtime import Runtime, open_runtime
from hermes_plugins._errors import HermesError, UsageError

T = TypeVar("T")

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One plugin as `list` and `info` show it."""

    name: str
    distribution: str
    version: str
    state: str
    reason: str = ""
    hint: str = ""
    source: str = "installed"
    offers: tuple[str, ...] = ()
    needs_host: str = ""
    tools: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()


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
    """Every plugin that was found: on, off or failed, and why.

    \b
    Example:
      hermes plugins list
    """
    rows = _with_runtime(ctx, _rows)
    if as_json:
        _print_json(rows)
        return
    if not rows:
        click.echo(
            "No plugin is installed. `pip install 'hermes-host[default]'` brings the usual ones."
        )
    width = max((len(row.name) for row in rows), default=0)
    for row in rows:
        click.echo(
            f"{row.name:<{width}}  {row.version or '-':<8} {row.state:<7} {', '.join(row.offers)}"
        )
        if row.reason:
            click.echo(f"{'':<{width}}  {row.reason} {row.hint}".rstrip())


@command.command("info")
@click.argument("name")
@_JSON
@click.pass_context
def info(ctx: click.Context, name: str, as_json: bool) -> None:
    """One plugin: where it comes from and what it contributes.

    \b
    Example:
      hermes plugins info file
    """
    row = _one(_with_runtime(ctx, _rows), name)
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
        ("problem", f"{row.reason} {row.hint}".strip()),
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
        await _load_everything(runtime)
        for loaded in runtime.host.loaded.values():
            for one in loaded.tools:
                if tool in (one.name, *one.aliases):
                    return {
                        "tool": one.name,
                        "plugin": loaded.name,
                        "distribution": f"{loaded.distribution} {loaded.version}".strip(),
                        "toolset": one.toolset,
                        "reason": _hidden(runtime, one.name),
                    }
        blamed = [one for one in runtime.host.problems if tool in one.text]
        if blamed:
            return {"tool": tool, "plugin": blamed[0].plugin, "reason": blamed[0].text}
        off = [
            f"{one.plugin} ({reason})"
            for one in runtime.host.found
            if one.group == "hermes.tools" and (reason := runtime.host.why_off(one))
        ]
        hint = f" It may be in one that is off: {', '.join(off)}." if off else ""
        raise UsageError(f"no plugin that is on offers {tool!r}.{hint}")

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
        await _load_everything(runtime)
        rows = [
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
        return sorted(rows, key=lambda row: -float(str(row["load_ms"])))

    rows = _with_runtime(ctx, measure)
    if as_json:
        _print_json(rows)
        return
    for row in rows:
        click.echo(f"{row['load_ms']:>8} ms  {row['plugin']}")


@command.command("enable")
@click.argument("name")
@click.pass_context
def enable(ctx: click.Context, name: str) -> None:
    """Switch a plugin on.

    \b
    Example:
      hermes plugins enable weather
    """
    from hermes_core.cli.plugin_switch import switch

    row = _one(_with_runtime(ctx, _rows), name)
    switch(paths_of(ctx), row.name, on=True)
    click.echo(f"{row.name} is on. It offers: {', '.join(row.offers)}.")


@command.command("disable")
@click.argument("name")
@click.pass_context
def disable(ctx: click.Context, name: str) -> None:
    """Switch a plugin off; also one that keeps Hermes from starting.

    \b
    Example:
      hermes plugins disable weather
    """
    from hermes_core.cli.plugin_switch import switch

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
    """
    from hermes_core.cli.plugin_install import install_distribution
    from hermes_core.cli.plugin_switch import switch

    paths = paths_of(ctx)
    place = install_distribution(distribution, paths)
    name = _base_name(distribution).removeprefix("hermes-plugin-")
    row = _one(_with_runtime(ctx, _rows, fresh=True), name)
    click.echo(f"Installed {row.distribution} {row.version} {place}.")
    click.echo(f"  offers: {', '.join(row.offers)}")
    if row.tools:
        click.echo(f"  tools: {', '.join(row.tools)}")
    if row.state == "on":
        return
    asked = yes or (sys.stdin.isatty() and click.confirm("Switch it on?", err=True))
    if asked:
        switch(paths, row.name, on=True)
        click.echo(f"{row.name} is on.")
    else:
        click.echo(f"It is off. `hermes plugins enable {row.name}` switches it on.")


@command.command("uninstall")
@click.argument("distribution")
@click.pass_context
def uninstall(ctx: click.Context, distribution: str) -> None:
    """Remove a distribution; its settings stay.

    \b
    Example:
      hermes plugins uninstall hermes-plugin-weather
    """
    from hermes_core.cli.plugin_install import uninstall_distribution

    uninstall_distribution(distribution, paths_of(ctx))
    click.echo(f"{distribution} is removed.")


@command.command("new")
@click.argument("name")
@click.option(
    "--kind",
    type=click.Choice(["tools", "provider", "platform", "memory", "policy", "lifecycle"]),
    default="tools",
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
    click.echo(f"Wrote {made}. Next:\n  pip install -e {made}\n  hermes plugins enable {name}")


@command.command("check")
@click.argument("name", required=False)
@_JSON
@click.pass_context
def check(ctx: click.Context, name: str | None, as_json: bool) -> None:
    """Load every plugin that is on (or one) and report what is wrong; exit status 1 then.

    \b
    Example:
      hermes plugins check weather
    """
    rows = _with_runtime(ctx, _rows)
    chosen = [_one(rows, name)] if name else rows
    failed = [row for row in chosen if row.state == "failed"]
    if as_json:
        _print_json(failed)
    for row in () if as_json else failed:
        click.echo(f"{row.name}: {row.reason} {row.hint}".rstrip())
    if not failed and not as_json:
        click.echo(f"{len(chosen)} checked, nothing wrong.")
    if failed:
        ctx.exit(1)


def _with_runtime(
    ctx: click.Context, work: Callable[[Runtime], Awaitable[T]], *, fresh: bool = True
) -> T:
    async def run() -> T:
        runtime = await open_runtime(
            paths_of(ctx), environ=process_environment(), cwd=working_folder(), fresh=fresh
        )
        try:
            return await work(runtime)
        finally:
            await runtime.close()

    return asyncio.run(run())


async def _load_everything(runtime: Runtime) -> None:
    for group in HONOURED:
        await runtime.host.load(group, runtime.host.names(group))


async def _rows(runtime: Runtime) -> list[Row]:
    """One row a plugin, whatever the number of its entry points."""
    host = runtime.host
    await _load_everything(runtime)
    for found in host.found:
        if (
            found.group not in HONOURED
            and found.group != "hermes.services"
            and not host.why_off(found)
        ):
            try:
                await host.driver(found.group, found.name)
            except HermesError as error:
                host.report_problem(found.plugin, error.message, error.hint)
    rows = []
    for name in dict.fromkeys(one.plugin for one in host.found):
        points = [one for one in host.found if one.plugin == name]
        rows.append(_row(runtime, name, points))
    known = {row.name for row in rows}
    rows += [
        Row(
            name=one.plugin,
            distribution="",
            version="",
            state="failed",
            reason=one.text,
            hint=one.hint,
        )
        for one in host.problems
        if one.plugin and one.plugin not in known
    ]
    return sorted(rows, key=lambda row: row.name)


def _row(runtime: Runtime, name: str, points: Sequence[Found]) -> Row:
    host = runtime.host
    first = points[0]
    loaded: Loaded | None = host.loaded.get(name)
    problem = next((one for one in host.problems if one.plugin == name), None)
    off = host.why_off(first)
    plain = [one for one in points if one.group in HONOURED]
    failed = bool(plain and loaded is None) or (problem is not None and not off)
    return Row(
        name=name,
        distribution=first.distribution,
        version=first.version,
        state="off" if off else "failed" if failed else "on",
        reason=off or (problem.text if problem else ""),
        hint="" if off or problem is None else problem.hint,
        source=first.location or first.source,
        offers=tuple(f"{one.group.removeprefix('hermes.')}:{one.name}" for one in points),
        needs_host=first.requires_host,
        tools=tuple(tool.name for tool in loaded.tools) if loaded else (),
        providers=tuple(one.id for one in loaded.providers) if loaded else (),
    )


def _one(rows: Sequence[Row], name: str) -> Row:
    for row in rows:
        if name in (row.name, row.distribution) or _base_name(name) == row.distribution:
            return row
    from difflib import get_close_matches

    close = get_close_matches(name, [row.name for row in rows], n=1)
    guess = f" Did you mean {close[0]}?" if close else ""
    raise UsageError(
        f"there is no plugin {name!r}.{guess}", hint="`hermes plugins list` shows all."
    )


def _hidden(runtime: Runtime, tool: str) -> str:
    settings = runtime.config.settings.tools
    if tool in settings.blocked:
        return "left out by tools.blocked"
    if settings.allowed and tool not in settings.allowed:
        return "left out by tools.allowed"
    return ""


def _base_name(distribution: str) -> str:
    """``Hermes_Plugin_X[extra]>=1`` -> ``hermes-plugin-x`` (PEP 503)."""
    name = distribution
    for mark in "[<>=!~ @;":
        name = name.partition(mark)[0]
    return name.lower().replace("_", "-").replace(".", "-")


def _print_json(value: object) -> None:
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")
