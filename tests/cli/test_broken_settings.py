"""``hermes config`` as the whole program runs it, where settings are wrong or plugins have their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_core.cli.app import run


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(home: Path, text: str) -> Path:
    home.mkdir(exist_ok=True)
    (home / "hermes.yaml").write_text(text, encoding="utf-8")
    return home / "hermes.yaml"


def test_a_wrong_value_can_be_seen_and_mended(capsys, hermes_home: Path) -> None:
    file = write(hermes_home, "agent:\n  max_turns: many\nplugins:\n  enabled: [gone]\n")
    assert run(["config", "check"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("agent.max_turns must be a whole number at least 1, not 'many'.")
    assert "note: " in lines[1]
    assert "gone is in plugins.enabled but not installed" in lines[1]
    assert run(["config", "set", "agent.max_turns", "5"]) == 0
    assert file.read_text("utf-8").startswith("agent:\n  max_turns: 5\n")


def test_a_number_that_does_not_fit_is_shown_as_one(capsys, hermes_home: Path) -> None:
    assert run(["config", "set", "terminal.timeout", "9999999"]) == 2
    assert "not 9999999." in capsys.readouterr().err


def test_settings_of_installed_plugins_are_known(capsys, hermes_home: Path) -> None:
    write(hermes_home, "memory: {memory_chars: 99}\n")
    assert run(["config", "get", "plugins.memory-files.memory_chars"]) == 0
    assert capsys.readouterr().out == "99\n"
    assert run(["config", "get", "plugins.memory-files.memory_char"]) == 2
    assert "Did you mean plugins.memory-files.memory_chars?" in capsys.readouterr().err
    assert run(["config", "schema"]) == 0
    assert '"memory-files"' in capsys.readouterr().out
    assert run(["config"]) == 0
    assert "plugins.terminal.timeout" in capsys.readouterr().out


def test_settings_are_shown_though_the_home_cannot_be_used(
    capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("not a folder", encoding="utf-8")
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "file" / "home"))
    assert run(["config", "schema"]) == 0
    assert '"Settings"' in capsys.readouterr().out
