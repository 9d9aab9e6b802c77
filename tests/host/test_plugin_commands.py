"""Commands that plugins add to ``hermes``."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_core.cli.app import run

WAVE = "import click\n\n@click.command()\ndef wave():\n    'Wave.'\n    click.echo('hello')\n"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def put(shelf, hermes_home: Path, source: str, *, name: str = "wave", **where: object) -> None:
    shelf.put(
        f"hermes-plugin-{name}",
        {"hermes.commands/wave": f"hermes_plugin_{name}:wave"},
        module=source,
        **where,
    )
    hermes_home.mkdir(exist_ok=True)
    (hermes_home / "hermes.yaml").write_text("plugins: {enabled: [wave, other]}\n", "utf-8")


def test_a_command_of_a_plugin_that_is_on_is_listed_and_runs(shelf, hermes_home, capsys) -> None:
    put(shelf, hermes_home, WAVE)
    assert run(["--help"]) == 0
    assert "From the plugin wave." in capsys.readouterr().out
    assert run(["wave"]) == 0
    assert capsys.readouterr().out == "hello\n"


def test_a_command_of_a_plugin_that_is_off_is_not_there(shelf, hermes_home, capsys) -> None:
    put(shelf, hermes_home, WAVE)
    (hermes_home / "hermes.yaml").write_text("plugins: {enabled: []}\n", "utf-8")
    assert run(["wave"]) == 2
    assert "there is no command 'wave'." in capsys.readouterr().err


def test_a_plugin_is_meant_by_its_full_name_as_well(shelf, hermes_home, capsys) -> None:
    put(shelf, hermes_home, WAVE)
    settings = hermes_home / "hermes.yaml"
    settings.write_text("plugins: {enabled: [hermes-plugin-wave]}\n", "utf-8")
    assert run(["wave"]) == 0
    settings.write_text(
        "plugins: {enabled: [wave], disabled: [hermes-plugin-wave]}\n", encoding="utf-8"
    )
    assert run(["wave"]) == 2
    capsys.readouterr()


def test_a_command_that_two_plugins_offer_is_nobodys(shelf, hermes_home, capsys) -> None:
    put(shelf, hermes_home, WAVE)
    put(shelf, hermes_home, WAVE, name="other")
    assert run(["wave"]) == 2
    assert "there is no command 'wave'." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "where", "text"),
    [
        ("1/0\n", {}, "its command wave cannot be imported (ZeroDivisionError: division by zero)."),
        ("raise SystemExit(3)\n", {}, "its command wave cannot be imported (SystemExit: 3)."),
        ("other = 1\n", {}, "cannot be imported (AttributeError: "),
        ("wave = 1\n", {}, "its command wave is no click command (int)."),
        (WAVE, {"requires": ["hermes-host>=99"]}, "hermes-host"),
    ],
)
def test_a_command_that_cannot_be_used_is_one_line_that_names_the_plugin(
    shelf, hermes_home, capsys, source: str, where: dict[str, object], text: str
) -> None:
    put(shelf, hermes_home, source, **where)
    assert run(["wave"]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    first, second = shown.err.splitlines()
    assert first.startswith("hermes: plugin wave: ")
    assert text in first
    assert second == "        `hermes plugins disable wave` goes on without it."
