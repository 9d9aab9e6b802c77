"""What Tab offers: commands, options and values, in the real shells, and what it costs to say so."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_plugins.testing._command import Command, hermes_program

Offered = Callable[..., list[str]]

# Answers a completion and then tells, on the last line, every module that was imported for it.
TELL = """
import sys
from hermes_core.cli.app import run
run([])
print(*sorted(sys.modules))
"""


def asked(line: str, *, shell: str = "fish") -> dict[str, str]:
    """The variables in which a shell hands over the line; what is completed is its last word."""
    words = line.split(" ")
    place = words[-1] if shell == "fish" else str(len(words) - 1)
    return {
        "COMP_WORDS": line,
        "COMP_CWORD": place,
        "_HERMES_COMPLETE": f"{shell}_complete",
    }


@pytest.fixture
def offered(command: Command) -> Offered:
    """``offered(line)`` is what is offered for its last word."""

    def ask(line: str, *, environ: dict[str, str] | None = None) -> list[str]:
        ended = command.run(environ={**asked(line), **(environ or {})})
        assert ended.err == ""
        rows = [row.partition(",")[2].partition("\t")[0] for row in ended.out.splitlines()]
        return [row for row in rows if row]

    return ask


def test_commands_are_offered_with_what_they_do(command: Command) -> None:
    ended = command.run(environ=asked("hermes plu"))
    assert ended.out == "plain,plugins\tSee, switch, install and write plugins.\n"


def test_no_command_is_imported_for_the_names_of_commands(command: Command) -> None:
    for _ in range(2):  # the first reads the entry points, and keeps them
        ended = command.run(environ=asked("hermes plu"), program=(sys.executable, "-c", TELL))
    row, modules = ended.out.splitlines()
    assert row.startswith("plain,plugins\t")
    modules = set(modules.split())
    assert not {f"hermes_core.cli.{name}" for name in ("chat", "plugins", "sessions")} & modules
    assert not {"asyncio", "httpx", "sqlite3", "stevedore", "prompt_toolkit"} & modules
    assert not [name for name in modules if name.startswith("hermes_plugin_")]


def test_only_the_command_that_the_line_names_is_imported(command: Command) -> None:
    line = "hermes config ch"
    ended = command.run(environ=asked(line), program=(sys.executable, "-c", TELL))
    row, modules = ended.out.splitlines()
    assert row.startswith("plain,check\t")
    found = {name for name in modules.split() if name.startswith("hermes_core.cli.")}
    assert "hermes_core.cli.config_command" in found
    assert not {"hermes_core.cli.chat", "hermes_core.cli.plugins"} & found


@pytest.mark.parametrize(
    ("line", "some"),
    [
        ("hermes ", {"chat", "config", "completion", "sessions"}),
        ("hermes --", {"--profile", "--model", "--resume", "--json"}),
        ("hermes --mo", {"--model"}),
        ("hermes -q hello --js", {"--json"}),
        ("hermes -p work sess", {"sessions"}),
        ("hermes --profile=work sess", {"sessions"}),
        ("hermes sessions ", {"list", "show", "search"}),
        ("hermes plugins new x --kind pro", {"provider"}),
        ("hermes completion ", {"bash", "zsh", "fish"}),
        ("hermes config get agent.max", {"agent.max_turns"}),
        ("hermes config set gate.m", {"gate.mode"}),
        ("hermes plugins enable tr", {"trace"}),
        ("hermes chat -t fi", {"file"}),
        ("hermes chat -t terminal,fi", {"terminal,file"}),
    ],
)
def test_what_is_offered(offered: Offered, line: str, some: set[str]) -> None:
    assert some <= set(offered(line))


@pytest.mark.parametrize("line", ["hermes nope ", "hermes nope --x ", "hermes -q he", "hermes zz"])
def test_nothing_is_offered_where_nothing_is_known(offered: Offered, line: str) -> None:
    assert offered(line) == []


def test_an_option_that_was_given_is_not_offered_again(offered: Offered) -> None:
    assert "--model" not in offered("hermes --model a/b --")
    assert "--plugin" in offered("hermes --plugin a --")


def test_sessions_are_offered_by_id_and_by_a_title_of_one_word(
    command: Command, offered: Offered
) -> None:
    assert offered("hermes --resume ") == []
    assert not (command.home / "state.db").exists()
    assert command.run("-q", "help", "--provider", "offline").status == 0
    (session,) = offered("hermes --resume ")
    assert offered(f"hermes sessions show {session[:6]}") == [session]
    ended = command.run(environ=asked(f"hermes --resume {session[:6]}"))
    assert ended.out == f"plain,{session}\thelp\n"
    assert offered("hermes -r he") == ["help"]


def test_models_and_providers_are_those_of_the_last_start_and_of_the_settings(
    command: Command, offered: Offered
) -> None:
    settings = "providers: {workshop: {base_url: 'http://127.0.0.1:1/v1', models: [big-one]}}\n"
    command.home.mkdir()
    (command.home / "hermes.yaml").write_text(settings, encoding="utf-8")
    assert offered("hermes -m ") == ["workshop/big-one"]
    assert command.run("-q", "help", "--provider", "offline").status == 0
    assert {"offline/offline-1", "workshop/big-one"} <= set(offered("hermes -m "))
    assert offered("hermes --model workshop/") == ["workshop/big-one"]
    assert {"ollama", "openai", "openrouter"} <= set(offered("hermes --provider o"))
    assert "workshop" in offered("hermes --provider ")


def test_profiles_are_the_homes_beside_this_one(command: Command, offered: Offered) -> None:
    assert offered("hermes -p ") == ["default"]
    (command.home / "profiles" / "work").mkdir(parents=True)
    assert offered("hermes -p ") == ["default", "work"]
    assert offered("hermes --profile w") == ["work"]


def test_values_are_those_of_the_profile_that_the_line_names(
    command: Command, offered: Offered
) -> None:
    work = command.home / "profiles" / "work"
    work.mkdir(parents=True)
    settings = "providers: {workshop: {base_url: 'http://127.0.0.1:1/v1', models: [big-one]}}\n"
    (work / "hermes.yaml").write_text(settings, encoding="utf-8")
    assert offered("hermes -p work -m workshop/") == ["workshop/big-one"]
    assert offered("hermes -m workshop/") == []


def test_a_command_of_a_plugin_completes_and_so_do_its_options(
    command: Command, offered: Offered
) -> None:
    source = (
        "import click\n\n@click.command()\n@click.option('--far', is_flag=True)\n"
        "def wave(far):\n    'Wave.'\n"
    )
    folder = command.home / "plugins" / "hermes-plugin-wave"
    info = folder / "hermes_plugin_wave-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "hermes_plugin_wave.py").write_text(source, encoding="utf-8")
    metadata = "Metadata-Version: 2.1\nName: hermes-plugin-wave\nVersion: 1.0\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    point = "[hermes.commands]\nwave = hermes_plugin_wave:wave\n"
    (info / "entry_points.txt").write_text(point, encoding="utf-8")
    assert offered("hermes wa") == []
    (command.home / "hermes.yaml").write_text("plugins: {enabled: [wave]}\n", encoding="utf-8")
    assert offered("hermes wa") == ["wave"]
    assert "--far" in offered("hermes wave --")


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("hermes -m ", "agent: [1\n"),
        ("hermes -p ../x --resume ", ""),
    ],
)
def test_a_prompt_is_spared_what_is_wrong(command: Command, line: str, settings: str) -> None:
    command.home.mkdir()
    (command.home / "hermes.yaml").write_text(settings, encoding="utf-8")
    ended = command.run(environ=asked(line))
    assert (ended.out.strip(), ended.err) == ("", "")


def test_commands_are_offered_in_a_home_that_is_broken(command: Command, offered: Offered) -> None:
    command.home.mkdir()
    (command.home / "hermes.yaml").write_text("agent: [1\n", encoding="utf-8")
    assert offered("hermes con") == ["config"]


def test_a_variable_that_no_script_sets_is_told_apart(command: Command) -> None:
    ended = command.run(environ={"_HERMES_COMPLETE": "tcsh_complete"})
    assert (ended.status, ended.out, ended.err) == (2, "", "")


def test_an_unknown_shell_is_told_which_there_are(command: Command) -> None:
    ended = command.run("completion", "tcsh")
    assert ended.status == 2
    assert "is not one of 'bash', 'zsh', 'fish'" in ended.err


# -- the real shells ---------------------------------------------------------------------

BASH = """
eval "$(hermes completion bash)"
try() {
    COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
    _hermes_completion hermes; echo "${COMPREPLY[*]}"
}
try hermes plu
try hermes config get agent.max
try hermes -p ''
complete -p hermes
"""

# The completion system needs a terminal; what the script hands to it does not.
ZSH = """
compdef() { print -- "compdef $*" }
compadd() { print -- $completions }
_describe() { print -- $completions_with_descriptions }
eval "$(hermes completion zsh)"
try() { words=("$@"); CURRENT=$#; _hermes_completion }
try hermes plu
try hermes config get agent.max
try hermes -p ''
"""

FISH = """
hermes completion fish | source
complete -C 'hermes plu'
complete -C 'hermes config get agent.max_t'
complete -C 'hermes -p d'
"""


def play(shell: str, script: str, tmp_path: Path, command: Command, *options: str) -> list[str]:
    """Run a script in a shell that has `hermes` on its path; its lines."""
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"there is no {shell}")
    programs = tmp_path / "programs"
    programs.mkdir()
    program = programs / "hermes"
    program.write_text(f'#!/bin/sh\nexec {shlex.join(hermes_program())} "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    places = f"{programs}:/usr/local/bin:/usr/bin:/bin"
    done = subprocess.run(
        [found, *options, "-c", script],
        env={**command.environ(), "PATH": places, "HOME": str(tmp_path)},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.mark.skipif(sys.platform == "win32", reason="scripts of a POSIX shell")
class TestShells:
    def test_bash(self, tmp_path: Path, command: Command) -> None:
        lines = play("bash", BASH, tmp_path, command, "--norc", "--noprofile")
        assert lines[:3] == ["plugins", "agent.max_turns", "default"]
        assert "-F _hermes_completion" in lines[3]

    def test_zsh(self, tmp_path: Path, command: Command) -> None:
        lines = play("zsh", ZSH, tmp_path, command, "-f")
        assert lines[0] == "compdef _hermes_completion hermes"
        assert lines[1] == "plugins:See, switch, install and write plugins."
        assert lines[2].startswith("agent.max_turns:")
        assert lines[3] == "default"

    def test_fish(self, tmp_path: Path, command: Command) -> None:
        lines = play("fish", FISH, tmp_path, command, "--no-config")
        assert lines[0] == "plugins\tSee, switch, install and write plugins."
        assert lines[1].startswith("agent.max_turns\t")
        assert lines[2] == "default"
