"""The command group: names are known, modules are imported when their command runs.

``hermes`` alone, and ``hermes`` with options only, is ``hermes chat``. Commands of plugins (group
``hermes.commands``) stand beside the kernel's own.
"""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Final, cast

import click

from hermes_core import __version__
from hermes_core.cli import values
from hermes_core.cli.completion import VARIABLE, answer
from hermes_core.cli.console import prepare_streams, print_error, silence, tell
from hermes_core.config import process_environment
from hermes_core.log import LOGGED
from hermes_plugins._errors import HermesError, PluginError, UsageError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from hermes_core.discovery import Found

COMMANDS: Final = {
    "chat": ("hermes_core.cli.chat:command", "Talk to the agent (this is the default)."),
    "sessions": ("hermes_core.cli.sessions:command", "See, name, move, forget, repair sessions."),
    "config": ("hermes_core.cli.config_command:command", "Show, check and change settings."),
    "gateway": ("hermes_core.cli.gateway:command", "Run the chat platforms; see how they are."),
    "plugins": ("hermes_core.cli.plugins:command", "See, switch, install and write plugins."),
    "completion": ("hermes_core.cli.completion:command", "Have Tab complete in bash, zsh or fish."),
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
                return _plugin_command(found)
        return None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_begun = len(args) > _leading(args)[0]  # else Tab may still be on its way to a command
        return super().parse_args(
            ctx, with_chat(args) if is_begun or not ctx.resilient_parsing else args
        )

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, COMMANDS[name][1]) for name in COMMANDS]
        rows += [(one.name, _short_help(one)) for one in _plugin_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[str]]:
        """Names of commands, none of which is imported; options are also those of `hermes chat`."""
        if not incomplete.startswith("-"):
            rows = [(name, COMMANDS[name][1]) for name in COMMANDS]
            rows += [(one.name, f"From the plugin {one.plugin}.") for one in _plugin_commands(ctx)]
            return values.items(rows, incomplete)
        chat = click.Context(cast("click.Command", self.get_command(ctx, "chat")), parent=ctx)
        own = click.Command.shell_complete(self, ctx, incomplete)
        return own + [
            one for one in chat.command.shell_complete(chat, incomplete) if one.value != "--help"
        ]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise self._unknown(ctx, args[0]) from error
        if command is None:  # as for a completion, which has nothing to offer then
            raise self._unknown(ctx, args[0])
        return name, command, rest

    def _unknown(self, ctx: click.Context, word: str) -> UsageError:
        from difflib import get_close_matches

        if " " in word.strip():  # nobody calls a command that: it is a question
            return UsageError("a question needs -q.", hint='`hermes -q "…"`; `hermes` alone talks.')
        close = get_close_matches(word, self.list_commands(ctx), n=1, cutoff=0.7)
        guess = f"Did you mean `hermes {close[0]}`?" if close else "`hermes --help` lists them."
        return UsageError(f"there is no command {word!r}.", hint=guess)


@click.command(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="`hermes COMMAND --help` explains a command, with examples.",
)
@click.version_option(
    __version__, "-V", "--version", prog_name="hermes", message="%(prog)s %(version)s"
)
@click.option(
    "-p",
    "--profile",
    default="",
    metavar="NAME",
    shell_complete=values.profiles,
    help="Use the home of that profile.",
)
@click.pass_context
def hermes(ctx: click.Context, profile: str) -> None:
    """A personal agent in the terminal, on a server and in chat apps."""
    _tell_new_profile(profile)
    from functools import cache

    from hermes_core.cli.context import declared

    # The call as it is, behind the back of a command of a plugin, whose object is its CommandHost.
    own = click.Context(ctx.command)
    known = cache(lambda: declared(own))
    own.obj = ctx.obj = {
        "profile": profile,
        "declared_env": lambda: known().env,
        "plugin_sections": lambda: known().sections,
        "missing_plugins": lambda: known().missing,
    }
    name = ctx.invoked_subcommand
    if name in COMMANDS:
        return
    if found := next((one for one in _plugin_commands(own) if one.name == name), None):
        from hermes_core.cli.command_host import HomeCommands

        ctx.obj = HomeCommands(own, found.plugin)


def run(arguments: Sequence[str]) -> int:
    """Run a command line; returns the exit status. Errors are one or two lines, never a traceback."""
    prepare_streams()
    words = list(arguments)
    try:
        if asked := process_environment().get(VARIABLE):
            silence(sys.stderr)
            return answer(hermes, asked)
        result = hermes.main(words, "hermes", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.Abort:
        return INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        tell(f"{error.format_message()}\n")
        return error.exit_code
    except click.ClickException as error:
        print_error(" ".join(error.format_message().split()), hint=_usage_hint(error, words))
        return error.exit_code
    except HermesError as error:
        print_error(error.message, hint=error.hint)
        return error.exit_code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        silence(sys.stdout)
        return 1
    except OSError as error:
        what, hint = _refused(error, words)
        silence(sys.stdout)
        print_error(what, hint=hint)
        return 1
    except Exception as error:
        print_error(f"internal error: {type(error).__name__}: {error}", hint=_report(error, words))
        return 1


def log_stray_errors() -> None:
    """What fails where nobody waits for it (a thread, a destructor) goes to the log, not the screen."""

    def in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None:
            _log.error("a thread failed", exc_info=args.exc_value)

    def unraisable(args: sys.UnraisableHookArgs) -> None:
        if args.exc_value is not None:
            _log.error("%s", args.err_msg or "ignored", exc_info=args.exc_value)

    threading.excepthook = in_thread
    sys.unraisablehook = unraisable
    for name in LOGGED:
        logging.getLogger(name).addHandler(logging.NullHandler())  # else Python prints to stderr


def with_chat(arguments: list[str]) -> list[str]:
    """Insert ``chat`` where the command is left out."""
    position, _ = _leading(arguments)
    rest = arguments[position:]
    if rest and (not rest[0].startswith("-") or rest[0] in ("-h", "--help", "-V", "--version")):
        return arguments
    return [*arguments[:position], "chat", *rest]


def _leading(arguments: list[str]) -> tuple[int, str]:
    """How many words stand before the command, and the profile that they name."""
    position, profile = 0, ""
    while position < len(arguments):
        word = arguments[position]
        if word in ("-p", "--profile"):
            profile = "".join(arguments[position + 1 : position + 2])
            position += 2
        elif word.startswith("--profile="):
            profile = word.partition("=")[2]
            position += 1
        else:
            break
    return position, profile


def _tell_new_profile(name: str) -> None:
    """A profile is made by its first use, also where its name was mistyped; so that is said."""
    from difflib import get_close_matches

    from hermes_core.paths import resolve_paths

    if name in ("", "default"):
        return
    home = resolve_paths(process_environment(), profile=name).home
    if home.exists():
        return
    others = [one.name for one in home.parent.iterdir()] if home.parent.is_dir() else []
    near = get_close_matches(name, others, n=1, cutoff=0.6)
    print_error(
        f"the profile {name} is new: a home of its own, without your settings, in {home}.",
        hint=f"Did you mean `hermes -p {near[0]}`?"
        if near
        else "`hermes -p default` is the first.",
    )


def _report(error: Exception, arguments: list[str]) -> str:
    """What a person can do about a mistake of ours."""
    where = _kept(error, arguments)
    return f"Please report it; {where} has the details." if where else "Please report it."


def _kept(error: Exception, arguments: list[str]) -> str:
    """Write an error to the log; returns the log's place, "" where there is none."""
    from hermes_core.gate.redact import Redactor
    from hermes_core.log import start_log, stop_log
    from hermes_core.paths import resolve_paths

    try:
        paths = resolve_paths(process_environment(), profile=_leading(arguments)[1])
    except HermesError:
        return ""
    path = paths.logs / "hermes.log"
    log = start_log(path, Redactor([]), level="info", max_bytes=10_000_000, keep=1)
    try:
        _log.error("internal error", exc_info=error)
    finally:
        stop_log(log)
    return str(path)


def _plugin_commands(ctx: click.Context) -> list[Found]:
    """Commands of enabled plugins, from the table of entry points."""
    from hermes_core.cli.context import discovered

    return [one for one in discovered(ctx) if one.name not in COMMANDS]


def _short_help(found: Found) -> str:
    """A line for the list of commands; a stranger's module is not imported for it."""
    if not found.builtin:
        return f"From the plugin {found.plugin}."
    try:
        return _plugin_command(found).get_short_help_str(limit=70)
    except PluginError as error:
        return f"Cannot be used: {error.message}"


def _plugin_command(found: Found) -> click.Command:
    """Import a command that a plugin adds.

    Raises:
        PluginError: its import fails, it needs another host, or it is no command.
    """
    from contextlib import redirect_stdout

    from hermes_core.discovery import load_target
    from hermes_core.versions import outside

    hint = f"`hermes plugins disable {found.plugin}` goes on without it."
    if found.requires_host and (problem := outside(found.requires_host)):
        raise PluginError(found.plugin, problem, hint=hint)
    try:
        with redirect_stdout(sys.stderr):
            target = load_target(found)
    except (Exception, SystemExit) as error:
        text = f"{type(error).__name__}: {error}".partition("\n")[0].rstrip(": ")
        raise PluginError(
            found.plugin, f"its command {found.name} cannot be imported ({text}).", hint=hint
        ) from error
    if not isinstance(target, click.Command):
        text = f"its command {found.name} is no click command ({type(target).__name__})."
        raise PluginError(found.plugin, text, hint=hint)
    return target


def _refused(error: OSError, words: list[str]) -> tuple[str, str]:
    """What the system did not let us do, and what a person can do about it."""
    import errno

    reason = error.strerror or str(error)
    what = f"{error.filename}: {reason}." if error.filename else f"the output: {reason}."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return what, "Make room (`df -h` shows where it is short), or choose another place."
    if error.filename:
        named = " ".join(["hermes", *(word for word in words[:2] if word.isalpha())])
        return what, f"`{named} --help` shows how; details are in {_kept(error, words)}"
    return f"internal error: {type(error).__name__}: {error}", _report(error, words)


def _usage_hint(error: click.ClickException, words: list[str]) -> str:
    """The command that explains what was meant."""
    ctx = getattr(error, "ctx", None)
    if ctx is not None:
        path = ctx.command_path
    else:  # the parser of options does not know whose they are
        named = [word for word in words[_leading(words)[0] :][:1] if word in COMMANDS]
        path = " ".join(["hermes", *(named or ["chat"])])
    if path == "hermes chat" and "unexpected extra argument" in error.format_message():
        return 'A question of several words stands in quotes: `hermes -q "…"`'
    return f"`{path} --help` shows how."
