"""``hermes sessions repair``: find what is wrong with the store, and mend it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import click

from hermes_core.cli.console import tell
from hermes_core.cli.kept import JSON, home_of, print_json, with_store
from hermes_core.clock import SystemClock
from hermes_core.store.sqlite import Store


@click.command("repair")
@click.option("--dry-run", is_flag=True, help="Only tell what is wrong; exit status 1 then.")
@click.option("--reindex", is_flag=True, help="Build the search index anew in any case.")
@JSON
@click.pass_context
def repair_store(ctx: click.Context, dry_run: bool, reindex: bool, as_json: bool) -> int:
    """Check state.db as it is used, and mend what is wrong.

    Looks at every page, every message and what search finds. A damaged file is copied aside first,
    and all that can be read goes into a new one; nobody may have it open then. Takes minutes for a
    million messages.

    \b
    Examples:
      hermes sessions repair --dry-run
      hermes sessions repair
    """
    path = home_of(ctx).home / "state.db"
    wrong: list[str] = []
    done: list[str] = []
    if path.exists():
        _pages(path, (wrong, done), dry_run=dry_run)
        if not (wrong and dry_run):
            with_store(ctx, lambda store: _rows(store, (wrong, done), (dry_run, reindex)))
    if as_json:
        print_json({"v": 1, "dry_run": dry_run, "wrong": wrong, "done": done})
    else:
        for line in wrong:
            click.echo(f"Wrong: {line}")
        for line in done:
            click.echo(line)
        if not wrong and not done:
            click.echo("All is well." if path.exists() else "No session yet. `hermes` starts one.")
        if wrong and dry_run:
            tell("Nothing was changed. `hermes sessions repair` mends it.\n")
    return 1 if wrong and dry_run else 0


def _pages(path: Path, told: tuple[list[str], list[str]], *, dry_run: bool) -> None:
    from hermes_core.store import salvage

    wrong, done = told
    damage = salvage.damage(path)
    if not damage:
        return
    wrong.append(f"the file is damaged: {damage}")
    if dry_run:
        return
    aside = _aside(path, "damaged")
    salvage.save(path, aside)
    done.append(f"The damaged file is kept as {aside}.")
    done.append("What can be read of it is in a new one.")


def _aside(path: Path, word: str) -> Path:
    """A name for a copy that no file has yet; the time is in it."""
    now = datetime.fromtimestamp(SystemClock().now())
    name = f"{path.name}.{word}-{now:%Y%m%d-%H%M%S}"
    taken = [one.name for one in path.parent.glob(f"{name}*")]
    return path.with_name(f"{name}-{len(taken) + 1}" if taken else name)


async def _rows(
    store: Store, told: tuple[list[str], list[str]], choices: tuple[bool, bool]
) -> None:
    from hermes_core.store import checkup, index

    wrong, done = told
    dry_run, reindex = choices
    was_saved = bool(done)
    findings = await store.read(checkup.look, store.now())
    wrong += findings.lines()
    if not dry_run and findings.lines():
        if findings.takes_something and not was_saved:
            copy = _aside(store.path, "before-repair")
            await store.read(checkup.copy, copy)
            done.append(f"A copy of the file as it was is kept as {copy}.")
        await store.write(checkup.mend, findings, store.now())
        await store.index_rest()
        left = (await store.read(checkup.look, store.now())).lines()
        done += [f"Still wrong: {line}" for line in left] or ["Mended."]
    if reindex and not dry_run:
        await store.write(index.drop_index)
        await store.index_rest()
        done.append("The search index is built anew.")
    if was_saved and (count := await store.read(checkup.lost)):
        done.append(f"{count:,} message{'s' if count > 1 else ''} could not be saved.")
