"""Switching plugins on and off in hermes.yaml."""

from __future__ import annotations

from pathlib import Path

import pytest

from hermes_core.cli.plugin_switch import switch
from hermes_core.config import load_config
from hermes_plugins import Paths, UsageError


@pytest.fixture
def paths(hermes_home: Path) -> Paths:
    return Paths(home=hermes_home, cache=hermes_home / "cache", logs=hermes_home / "logs")


def lists(paths: Paths, cwd: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    settings = load_config(paths, cwd=cwd, environ={}, overrides={}).settings.plugins
    return settings.enabled, settings.disabled


def test_switching_on_makes_the_file(paths: Paths, tmp_path: Path) -> None:
    switch(paths, "weather", on=True)
    assert lists(paths, tmp_path) == (("weather",), ())


def test_switching_off_keeps_the_rank_for_later(paths: Paths, tmp_path: Path) -> None:
    switch(paths, "first", on=True)
    switch(paths, "second", on=True)
    switch(paths, "first", on=False)
    assert lists(paths, tmp_path) == (("first", "second"), ("first",))
    switch(paths, "first", on=True)
    assert lists(paths, tmp_path) == (("first", "second"), ())


def test_switching_twice_writes_it_once(paths: Paths, tmp_path: Path) -> None:
    switch(paths, "weather", on=False)
    switch(paths, "weather", on=False)
    assert lists(paths, tmp_path) == ((), ("weather",))


def test_the_rest_of_the_file_stays(paths: Paths) -> None:
    file = paths.home / "hermes.yaml"
    file.parent.mkdir()
    file.write_text("# mine\nagent: {max_turns: 7}  # few\nplugins:\n  disabled: [a, b]\n")
    switch(paths, "a", on=True)
    assert file.read_text("utf-8").startswith("# mine\nagent: {max_turns: 7}  # few\nplugins:\n")
    switch(paths, "a", on=False)
    assert "disabled: [b, a]" in file.read_text("utf-8")


def test_a_broken_file_is_not_written_to(paths: Paths) -> None:
    file = paths.home / "hermes.yaml"
    file.parent.mkdir()
    file.write_text("plugins: [\n", encoding="utf-8")
    with pytest.raises(UsageError):
        switch(paths, "weather", on=False)
    assert file.read_text("utf-8") == "plugins: [\n"
