"""``hermes plugins``: what it says of plugins that work, that are off, and that are broken."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import msgspec
import pytest

from hermes_core.cli.app import run


class Shown(msgspec.Struct):
    status: int
    out: str
    err: str

    @property
    def json(self) -> object:
        return msgspec.json.decode(self.out)


@pytest.fixture
def plugins(capsys, tmp_path: Path, monkeypatch):
    """Calls ``hermes plugins …`` in this process."""
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def call(*arguments: str) -> Shown:
        status = run(["plugins", *arguments])
        out, err = capsys.readouterr()
        return Shown(status, out, err)

    return call


@pytest.fixture
def motley(shelf, hermes_home: Path) -> None:
    """One plugin of every fate."""
    shelf.toolset("good", "saw/cut")
    shelf.toolset("off", "drill")
    shelf.toolset("clash", "todo", "hammer")
    shelf.put(
        "hermes-plugin-crash",
        {"hermes.tools/crash": "hermes_plugin_crash"},
        module="print('hi')\n1/0\n",
    )
    shelf.put(
        "hermes-plugin-drv", {"hermes.environments/drv": "hermes_plugin_drv:Gone"}, module="\n"
    )
    (shelf.toolset("bad", "axe") / "METADATA").unlink()
    hermes_home.mkdir(exist_ok=True)
    (hermes_home / "hermes.yaml").write_text(
        "plugins:\n  enabled: [good, clash, crash, drv]\ntools:\n  blocked: [terminal]\n",
        encoding="utf-8",
    )


def rows(shown: Shown) -> dict[str, dict[str, object]]:
    assert isinstance(shown.json, list)
    return {str(row["name"]): row for row in shown.json}


def test_list_shows_every_plugin_with_its_state_and_the_reason(plugins, motley) -> None:
    shown = plugins("list")
    assert shown.status == 0
    lines = [line.split() for line in shown.out.splitlines()]
    states = {
        line[0]: line[2] for line in lines if line[2:3] and line[2] in ("on", "off", "failed")
    }
    strangers = ("good", "off", "clash", "crash", "drv", "bad")
    assert [states[name] for name in strangers] == ["on", "off", *["failed"] * 4]
    assert {states[name] for name in ("file", "todo", "terminal")} == {"on"}
    assert "found but off; `hermes plugins enable off`" in shown.out
    assert "its import failed (ZeroDivisionError: division by zero)." in shown.out
    assert "hi\n" not in shown.out


def test_list_as_json_has_the_same_and_nothing_else_is_on_stdout(plugins, motley) -> None:
    found = rows(plugins("list", "--json"))
    assert found["good"] == {
        "name": "good",
        "distribution": "hermes-plugin-good",
        "version": "1.0",
        "state": "on",
        "reason": "",
        "hint": "",
        "source": found["good"]["source"],
        "offers": ["tools:good"],
        "needs_host": "",
        "tools": ["saw"],
        "providers": [],
        "hooks": [],
        "settings": [],
        "secrets": [],
    }
    assert str(found["good"]["source"]).endswith("hermes-plugin-good")
    assert found["clash"]["state"] == "failed"
    assert found["clash"]["reason"] == "tool todo is also offered by todo"
    assert found["bad"]["hint"] == "Install it again, or remove that folder."
    assert str(found["drv"]["reason"]).startswith("drv in hermes.environments: its import failed")
    assert found["terminal"]["offers"] == ["tools:terminal", "environments:local"]


def test_info_shows_what_a_plugin_contributes(plugins) -> None:
    plugins("enable", "now")
    shown = plugins("info", "now")
    assert shown.out.splitlines()[0].startswith("now ")
    assert "  hooks: hermes_transform_turn" in shown.out
    assert "  settings: plugins.now.zone" in shown.out
    assert "  offers: lifecycle:now" in shown.out
    as_json = plugins("info", "hermes-plugin-now", "--json").json
    assert isinstance(as_json, dict)
    assert as_json["state"] == "on"
    assert "OPENAI_API_KEY" in str(plugins("info", "openai").out)


def test_info_of_an_unknown_plugin_names_the_closest(plugins) -> None:
    shown = plugins("info", "termial")
    assert (shown.status, shown.out) == (2, "")
    assert "there is no plugin 'termial'. Did you mean terminal?" in shown.err


@pytest.mark.parametrize("verb", ["info", "enable", "check", "disable"])
def test_a_name_that_is_like_no_other_gets_no_guess(plugins, verb: str) -> None:
    shown = plugins(verb, "nope")
    assert (shown.status, shown.out) == (2, "")
    assert "there is no plugin 'nope'.\n" in shown.err
    assert "Did you mean" not in shown.err


@pytest.mark.parametrize(
    ("tool", "plugin", "reason"),
    [
        ("todo", "todo", ""),
        ("saw", "good", ""),
        ("cut", "good", ""),
        ("terminal", "terminal", "left out by tools.blocked"),
    ],
)
def test_why_says_where_a_tool_comes_from(
    plugins, motley, tool: str, plugin: str, reason: str
) -> None:
    found = plugins("why", tool, "--json").json
    assert isinstance(found, dict)
    assert (found["plugin"], found["reason"]) == (plugin, reason)


def test_why_says_what_may_have_a_tool_that_is_not_there(plugins, motley) -> None:
    shown = plugins("why", "drill")
    assert (shown.status, shown.out) == (2, "")
    assert "no plugin that is on offers 'drill'." in shown.err
    assert "off (found but off; `hermes plugins enable off`)" in shown.err
    assert "crash (failed; `hermes plugins info crash`)" in shown.err


def test_why_of_a_plugins_name_says_that_it_is_no_tool(plugins, motley) -> None:
    for name in ("good", "off", "hermes-plugin-good"):
        shown = plugins("why", name)
        assert (shown.status, shown.out) == (2, "")
        assert f"no tool is called '{name}'." in shown.err
        assert f"`hermes plugins info {name}` tells about the plugin." in shown.err


def test_profile_tells_what_loading_costs_dearest_first(plugins, motley) -> None:
    costs = plugins("profile", "--json").json
    assert isinstance(costs, list)
    spent = [cost["load_ms"] for cost in costs]
    assert spent == sorted(spent, reverse=True)
    good = next(cost for cost in costs if cost["plugin"] == "good")
    assert good["hooks"]["hermes_register_tools"]["calls"] == 1
    assert "ms  good" in plugins("profile").out


def test_check_ends_with_status_1_when_something_is_wrong(plugins, motley) -> None:
    shown = plugins("check")
    assert shown.status == 1
    assert [line.partition(":")[0] for line in shown.out.splitlines()] == [
        "bad",
        "clash",
        "crash",
        "drv",
    ]
    assert [row["name"] for row in plugins("check", "--json").json] == [
        "bad",
        "clash",
        "crash",
        "drv",
    ]
    one = plugins("check", "crash")
    assert (one.status, one.out.startswith("crash: its import failed")) == (1, True)


def test_check_of_what_works_says_so(plugins) -> None:
    shown = plugins("check")
    assert shown.status == 0
    assert shown.out.endswith(" checked, nothing wrong.\n")
    assert plugins("check", "--json").json == []


def test_check_of_a_plugin_that_is_off_says_that_it_was_not_loaded(plugins) -> None:
    shown = plugins("check", "now")
    assert shown.out == "now was not loaded: found but off; `hermes plugins enable now`\n"


def test_a_plugin_is_switched_off_and_on_by_either_of_its_names(plugins, motley) -> None:
    assert plugins("disable", "hermes-plugin-good").out == (
        "good is off. `hermes plugins enable good` brings it back.\n"
    )
    assert rows(plugins("list", "--json"))["good"]["state"] == "off"
    assert plugins("enable", "good").out == "good is on. It offers: tools:good.\n"
    assert rows(plugins("list", "--json"))["good"]["state"] == "on"


def test_what_an_owner_wrote_with_its_full_name_can_be_switched_on(
    plugins, hermes_home: Path
) -> None:
    hermes_home.mkdir()
    file = hermes_home / "hermes.yaml"
    file.write_text("plugins:\n  disabled: [hermes-plugin-todo]\n", encoding="utf-8")
    assert rows(plugins("list", "--json"))["todo"]["state"] == "off"
    assert plugins("enable", "todo").status == 0
    assert rows(plugins("list", "--json"))["todo"]["state"] == "on"


def test_enabling_what_does_not_work_says_so_at_once(plugins, shelf) -> None:
    shelf.put("hermes-plugin-crash", {"hermes.tools/crash": "hermes_plugin_crash"}, module="1/0\n")
    shown = plugins("enable", "crash")
    assert shown.status == 1
    assert "crash is switched on, but it does not work: its import failed" in shown.err


def test_disabling_an_unknown_name_is_an_error_and_writes_nothing(
    plugins, hermes_home: Path
) -> None:
    shown = plugins("disable", "termnal")
    assert shown.status == 2
    assert "Did you mean terminal?" in shown.err
    assert not (hermes_home / "hermes.yaml").exists()


def test_a_plugin_can_be_switched_off_although_the_settings_are_wrong_elsewhere(
    plugins, hermes_home: Path
) -> None:
    hermes_home.mkdir()
    file = hermes_home / "hermes.yaml"
    file.write_text("agent:\n  max_turns: many\n", encoding="utf-8")
    assert plugins("list").status == 2
    assert plugins("disable", "todo").status == 0
    assert "disabled: [todo]" in file.read_text(encoding="utf-8")


def test_what_is_enabled_but_not_installed_is_shown_and_can_be_forgotten(
    plugins, hermes_home: Path
) -> None:
    hermes_home.mkdir()
    file = hermes_home / "hermes.yaml"
    file.write_text("plugins:\n  enabled: [gone, now, lost]\n  disabled: [lost]\n", "utf-8")
    found = rows(plugins("list", "--json"))
    assert found["gone"]["state"] == "missing"
    assert found["gone"]["reason"] == "it is in plugins.enabled but not installed"
    assert "lost" not in found
    assert plugins("check").out == (
        "gone: it is in plugins.enabled but not installed. `hermes plugins install "
        "hermes-plugin-gone`, or `hermes plugins disable gone` forgets it.\n"
    )
    shown = plugins("enable", "gone")
    assert (shown.status, shown.out) == (2, "")
    assert "gone is not installed." in shown.err
    assert plugins("disable", "gone").out == (
        "gone is not installed; it is out of plugins.enabled now.\n"
    )
    assert file.read_text("utf-8") == "plugins:\n  enabled: [now, lost]\n  disabled: [lost]\n"
    assert "gone" not in rows(plugins("list", "--json"))


def test_enabling_a_memory_backend_or_a_platform_says_what_uses_it(plugins, shelf) -> None:
    hook = (
        "from hermes_plugins import ConfigSection, Section, hookimpl\n\n"
        "class Settings(Section, frozen=True):\n    days: int = 1\n\n"
        "@hookimpl\ndef hermes_register_config():\n"
        "    return [ConfigSection(name=NAME, schema=Settings)]\n"
    )
    for group, name in (("memory", "diary"), ("platforms", "irc")):
        module = f"hermes_plugin_{name}"
        source = f"NAME = {name!r}\n{hook}"
        shelf.put(f"hermes-plugin-{name}", {f"hermes.{group}/{name}": module}, module=source)
    assert plugins("enable", "diary").out.splitlines() == [
        "diary is on. It offers: memory:diary.",
        "`hermes config set memory.backend diary` has it used.",
    ]
    assert plugins("enable", "irc").out.splitlines() == [
        "irc is on. It offers: platforms:irc.",
        "`hermes config set platforms.irc.enabled true` and `hermes gateway run` start it.",
    ]
    run(["config", "set", "memory.backend", "diary"])
    assert "has it used" not in plugins("enable", "diary").out


def test_a_plugin_that_is_removed_is_out_of_both_lists(plugins, shelf, hermes_home: Path) -> None:
    shelf.toolset("good", "saw")
    file = hermes_home / "hermes.yaml"
    before = "plugins:\n  enabled: [good, now]\n  disabled: [hermes-plugin-good]\n"
    file.write_text(before + "  good: {x: 1}\n", encoding="utf-8")
    shown = plugins("uninstall", "hermes-plugin-good")
    assert (shown.status, shown.out) == (0, "hermes-plugin-good is removed.\n")
    assert file.read_text("utf-8") == "plugins:\n  enabled: [now]\n  good: {x: 1}\n"


def test_a_new_plugin_is_followed_by_the_commands_that_install_it(plugins, tmp_path: Path) -> None:
    lines = plugins("new", "weather").out.splitlines()
    assert lines[0] == "Wrote hermes-plugin-weather. Next:"
    place = shlex.quote(os.path.join(os.curdir, "hermes-plugin-weather[test]"))
    assert lines[1].split("    ") == [
        f"  pip install -e {place}",
        f"(or: uv pip install -e {place})",
    ]
    assert lines[2:] == ["  hermes plugins enable weather"]


def test_two_plugins_of_one_name_are_both_shown_as_failed(plugins, shelf, hermes_home) -> None:
    shelf.toolset("weather", "forecast")
    shelf.put("weather", {"hermes.lifecycle/weather": "weather"})
    (hermes_home / "hermes.yaml").write_text("plugins:\n  enabled: [weather]\n", encoding="utf-8")
    row = rows(plugins("list", "--json"))["weather"]
    assert row["state"] == "failed"
    assert row["reason"] == (
        "hermes-plugin-weather and weather both call themselves the plugin weather"
    )
