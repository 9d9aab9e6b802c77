"""``hermes config explain`` and ``hermes config edit`` as a user runs them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pytest
from click.testing import CliRunner

from hermes_core.cli.config_command import command
from hermes_plugins import ConfigSection, HermesError, Meta, Section, UsageError


class Weather(Section, frozen=True, kw_only=True):
    days: Annotated[int, Meta(ge=1, description="days ahead", extra={"project": True})] = 3
    pin: Annotated[str, Meta(extra={"secret": True})] = ""
    timeout: float = 9.0


WEATHER = ConfigSection(
    name="weather", schema=Weather, inherits={"timeout": "tools.default_timeout"}
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def run(*arguments: str, given: str = "") -> str:
    app = {"declared_env": ("OPENROUTER_API_KEY",), "plugin_sections": {"weather": WEATHER}}
    result = CliRunner().invoke(command, list(arguments), obj=app, input=given)
    if isinstance(result.exception, HermesError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def write(home: Path, text: str) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    (home / "hermes.yaml").write_text(text, encoding="utf-8")
    return home / "hermes.yaml"


def test_a_setting_that_nobody_set_is_explained_by_its_default(hermes_home: Path) -> None:
    assert run("explain", "gate.mode").splitlines() == [
        "gate.mode",
        "  manual asks you, smart lets a model judge, off asks nobody",
        "  takes    one of manual, smart, off",
        "  default  manual",
        "  change   hermes config set gate.mode manual|smart|off",
    ]


def test_every_layer_that_sets_a_setting_is_named_and_the_one_that_counts(
    hermes_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(hermes_home, "agent:\n  max_turns: 40\n")
    project = Path.cwd() / "hermes.yaml"
    project.write_text("agent: {max_turns: 30}\n", encoding="utf-8")
    monkeypatch.setenv("HERMES_AGENT__MAX_TURNS", "50")
    assert run("explain", "iteration.max_iterations").splitlines() == [
        "agent.max_turns",
        "  model calls in one user turn",
        "  takes    a whole number at least 1",
        "  default  90",
        f"  set      40   (user {file}:2)",
        f"           30   (project {project}:1)",
        "           50   (environment HERMES_AGENT__MAX_TURNS)   <- counts",
        "  change   hermes config set agent.max_turns VALUE",
        "           a project's hermes.yaml may tighten it",
        "           HERMES_AGENT__MAX_TURNS is set in the environment, and wins over hermes.yaml",
    ]
    told = json.loads(run("explain", "agent.max_turns", "--json"))
    assert [(one["value"], one["counts"]) for one in told["written"]] == [
        (40, False),
        (30, False),
        (50, True),
    ]
    assert told["written"][0]["origin"] == {"layer": "user", "file": str(file), "line": 2}
    assert (told["default"], told["takes"]) == (90, "a whole number at least 1")


def test_what_is_wrong_with_a_setting_is_told_with_it(hermes_home: Path) -> None:
    file = write(hermes_home, "agent: {max_turns: x}\nplugins: {weather: {days: 0}}\n")
    message = "agent.max_turns must be a whole number at least 1, not 'x'."
    assert run("explain", "agent.max_turns").endswith(f"error: {file}:1: {message}\n")
    assert f"error: {file}:2: plugins.weather.days must be" in run(
        "explain", "plugins.weather.days"
    )


def test_a_setting_of_a_plugin_is_explained_by_its_schema(hermes_home: Path) -> None:
    file = write(hermes_home, "plugins: {weather: {days: 5, pin: abcd}}\n")
    Path("hermes.yaml").write_text("plugins: {weather: {days: 9}}\n", encoding="utf-8")
    shown = run("explain", "plugins.weather.days")
    assert "  days ahead\n  takes    a whole number at least 1\n  default  3\n" in shown
    assert f"  set      5   (user {file}:1)\n" in shown
    assert "may only be lowered by a project's file, and is 5; ignored." in shown
    assert "abcd" not in run("explain", "plugins.weather.pin")
    assert "default  that of tools.default_timeout" in run("explain", "plugins.weather.timeout")
    assert "plugins.weather.days " in run("explain", "plugins.weather")


def test_a_section_is_explained_by_what_is_in_it(hermes_home: Path) -> None:
    assert run("explain", "agent").splitlines()[:3] == [
        "agent",
        "  The agent",
        "    agent.name            who it says it is; SOUL.md in the home says more",
    ]
    assert "    providers.NAME.base_url  address of the API" in run("explain", "providers")
    assert "    plugins.weather  " in run("explain", "plugins")
    listed = run("explain").splitlines()
    assert len(listed) == len(json.loads(run("explain", "--json"))) > 20


def test_secrets_are_not_explained_by_their_values(hermes_home: Path) -> None:
    write(
        hermes_home,
        "model: {api_key: sk-test-not-a-real-key}\n"
        "providers: {x: {headers: {X-Auth: sk-test-not-a-real-key}}}\n",
    )
    assert "set      ********" in run("explain", "model.api_key")
    assert 'set      {"X-Auth":"********"}' in run("explain", "providers.x.headers")


def test_a_variable_is_explained_by_where_it_is_set(
    hermes_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "********" not in run("explain", "OPENROUTER_API_KEY")
    hermes_home.mkdir()
    (hermes_home / ".env").write_text("# keys\nOPENROUTER_API_KEY=sk-test-not-a-real-key-1\n")
    (hermes_home / ".env").chmod(0o600)
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-test-not-a-real-key-2")
    shown = run("explain", "OPENROUTER_API_KEY")
    assert "sk-test" not in shown
    assert f"(user {hermes_home / '.env'}:2)\n" in shown
    assert "(environment OPENROUTER_API_KEY)   <- counts" in shown


@pytest.mark.parametrize(
    ("command", "key", "meant"),
    [
        ("explain", "agent.max_turn", "agent.max_turns"),
        ("explain", "plugins.wether.days", "plugins.weather.days"),
        ("explain", "OPENROUTER_API_KY", "OPENROUTER_API_KEY"),
        ("unset", "agnet.max_turns", "agent.max_turns"),
        ("unset", "OPENROUTER_API_KY", "OPENROUTER_API_KEY"),
        ("get", "plugins.weather.dayz", "plugins.weather.days"),
    ],
)
def test_a_mistyped_key_names_the_one_that_was_meant(
    hermes_home: Path, command: str, key: str, meant: str
) -> None:
    with pytest.raises(UsageError) as caught:
        run(command, key)
    assert str(caught.value).endswith(f"Did you mean {meant}?")


def test_a_setting_for_a_plugin_that_is_not_on_is_written_with_a_note(hermes_home: Path) -> None:
    shown = run("set", "plugins.wether.days", "5")
    assert "no plugin that is on reads it. Did you mean plugins.weather.days?" in shown
    assert run("get", "plugins.wether.days") == "5\n"
    assert run("unset", "plugins.wether.days") == "plugins.wether.days: removed\n"


def editor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *edits: Sequence[str], also: str = ""
) -> None:
    """An editor that replaces one text by another, another pair each time; then it changes nothing."""
    program = tmp_path / "editor.py"
    program.write_text(
        "import sys, json, pathlib\n"
        f"edits = pathlib.Path({str(tmp_path / 'edits.json')!r})\n"
        "left = json.loads(edits.read_text())\n"
        "file = pathlib.Path(sys.argv[1])\n"
        "if left:\n"
        "    file.write_text(file.read_text().replace(*left.pop(0)))\n"
        "    edits.write_text(json.dumps(left))\n"
        f"{also}\n"
    )
    (tmp_path / "edits.json").write_text(json.dumps(edits))
    monkeypatch.setenv("VISUAL", f'"{Path(sys.executable).as_posix()}" "{program.as_posix()}"')


def test_an_edit_is_written_when_it_can_be_read(
    hermes_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(hermes_home, "")
    file.write_bytes(b"\xef\xbb\xbfagent:\r\n  max_turns: 40 # few\r\n")
    editor(tmp_path, monkeypatch, ["40", "50"])
    assert run("edit") == f"{file}: written.\n"
    assert file.read_bytes() == b"\xef\xbb\xbfagent:\r\n  max_turns: 50 # few\r\n"
    assert run("edit") == f"{file}: not changed.\n"


def test_a_file_that_is_not_there_yet_is_begun(
    hermes_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor(tmp_path, monkeypatch)
    assert run("edit").endswith("not changed.\n")
    assert not (hermes_home / "hermes.yaml").exists()
    editor(tmp_path, monkeypatch, ["# Settings", "gate: {mode: smart}\n# Settings"])
    assert run("edit").endswith("written.\n")
    assert run("get", "gate.mode") == "smart\n"


def test_a_wrong_edit_can_be_mended_or_left(
    hermes_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(hermes_home, "agent:\n  max_turns: 40\n")
    editor(tmp_path, monkeypatch, ["40", "many"], ["many", "50"])
    shown = run("edit", given="y\n")
    assert (
        f"error: {file}:2: agent.max_turns must be a whole number at least 1, not 'many'." in shown
    )
    assert shown.endswith("written.\n")
    for answer in ("n\n", ""):  # nobody is there to answer
        editor(tmp_path, monkeypatch, ["max_turns: 50", "["])
        assert "Your text is in" in run("edit", given=answer)
        assert file.read_text() == "agent:\n  max_turns: 50\n"
        assert (hermes_home / "hermes.yaml.edited").read_text() == "agent:\n  [\n"


def test_a_broken_file_can_be_mended_in_the_editor(
    hermes_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(hermes_home, "agent: [\n")
    editor(tmp_path, monkeypatch, ["[", "{max_turns: 5}"])
    assert run("edit") == f"{file}: written.\n"
    assert run("get", "agent.max_turns") == "5\n"


def test_what_somebody_else_wrote_meanwhile_is_not_overwritten(
    hermes_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(hermes_home, "agent: {max_turns: 40}\n")
    other = f"pathlib.Path({str(file)!r}).write_text('gate: {{mode: smart}}')"
    editor(tmp_path, monkeypatch, ["40", "50"], also=other)
    with pytest.raises(UsageError, match="changed by somebody else meanwhile"):
        run("edit")
    assert file.read_text() == "gate: {mode: smart}"
    assert (hermes_home / "hermes.yaml.edited").read_text() == "agent: {max_turns: 50}\n"


def test_an_editor_that_is_not_there_is_told(
    hermes_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", str(tmp_path / "no-such-editor"))
    with pytest.raises(UsageError, match="Set EDITOR to the editor that you want"):
        run("edit")
