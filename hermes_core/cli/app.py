"""The command group: names are known, modules are imported when their command runs.

``hermes`` alone, and ``hermes`` with options only, is ``hermes chat``. Commands of plugins (group
``hermes.commands``) stand beside the kernel's own.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

import click

from hermes_core import __version__
from hermes_core.cli.console import prepare_streams, print_error
from hermes_plugins._errors import HermesError

if TYPE_CHECKING:
    from hermes_core.discovery import Found

COMMANDS: Final = {
    "chat": ("hermes_core.cli.chat:command", "Talk to the agent (this is the default)."),
    "sessions": ("hermes_core.cli.sessions:command", "List, show, search and export sessions."),
    "config": ("hermes_core.cli.config_command:command", "Show, check and change settings."),
    "plugins": ("hermes_core.cli.plugins:command", "See, switch, install and write plugins."),
    "version": ("hermes_core.cli.version:command", "Print the version."),
}
INTERRUPTED: Final = 130

_log = logging.getLogger("hermes.cli")


class LazyGroup(click.Group):
    """Imports a command's module when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*COMMANDS, *(one.name for one in _plugin_commands(ctx))])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, _, attribute = COMMANDS[cmd_name][0].partition(":")
            return cast("click.Command", getattr(import_module(module), attribute))
        for found in _plugin_commands(ctx):
            if found.name == cmd_name:
                from hermes_core.discovery import load_target

                return cast("click.Command", load_target(found))
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, COMMANDS[name][1]) for name in COMMANDS]
        rows += [(one.name, f"From the plugin {one.plugin}.") for one in _plugin_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            close = get_close_matches(args[0], self.list_commands(ctx), n=1)
            guess = (
                f" Did you mean `hermes {close[0]}`?" if close else " `hermes --help` lists them."
            )
            raise click.UsageError(f"there is no command {args[0]!r}.{guess}", ctx) from error


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="`hermes COMMAND --help` explains a command, with examples.",
)
@click.version_option(
    __version__, "-V", "--version", prog_name="hermes", message="%(prog)s %(version)s"
)
@click.option("-p", "--profile", default="", metavar="NAME", help="Use the home of that profile.")
@click.pass_context
def hermes(ctx: click.Context, profile: str) -> None:
    """A personal agent in the terminal, on a server and in chat apps."""
    from hermes_core.cli.context import declared

    ctx.obj = {
        "profile": profile,
        "declared_env": lambda: declared(ctx).env,
        "plugin_schemas": lambda: declared(ctx).schemas,
    }


def run(arguments: Sequence[str]) -> int:
    """Run a command line; returns the exit status. Errors are one or two lines, never a traceback."""
    prepare_streams()
    try:
        result = hermes.main(with_chat(list(arguments)), "hermes", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        print_error(error.format_message(), hint=_usage_hint(error))
        return error.exit_code
    except HermesError as error:
        print_error(error.message, hint=error.hint)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _silence_stdout()
        return 1
    except Exception as error:
        _log.exception("internal error")
        print_error(
            f"internal error: {type(error).__name__}: {error}",
            hint="Please report it; the log in the home has the details.",
        )
        return 1


def with_chat(arguments: list[str]) -> list[str]:
    """Insert ``chat`` where the command is left out."""
    position = 0
    while position < len(arguments):
        word = arguments[position]
        if word in ("-p", "--profile"):
            position += 2
        elif word.startswith("--profile="):
            position += 1
        else:
            break
    rest = arguments[position:]
    if rest and (not rest[0].startswith("-") or rest[0] in ("-h", "--help", "-V", "--version")):
        return arguments
    return [*arguments[:position], "chat", *rest]


def _plugin_commands(ctx: click.Context) -> list[Found]:
    """Commands of enabled plugins, from the table of entry points."""
    from hermes_core.cli.context import discovered

    return [one for one in discovered(ctx) if one.name not in COMMANDS]


def _usage_hint(error: click.ClickException) -> str:
    ctx = getattr(error, "ctx", None)
    if ctx is None or "`hermes" in error.format_message():
        return ""
    return f"`{ctx.command_path} --help` shows how."


def _silence_stdout() -> None:
    """The reader of our output is gone; keep the interpreter from complaining at exit."""
    import os

    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
