"""``hermes config`` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import pytest
from click.testing import CliRunner, Result

from hermes_core.cli.config_command import command, json_schema
from hermes_plugins import ConfigError, ConfigSection, HermesError, Meta, Section, UsageError


class Weather(Section, frozen=True, kw_only=True):
    days: Annotated[int, Meta(ge=1)] = 1
    limit: Annotated[int, Meta(extra={"project": True})] = 100
    pin: Annotated[str, Meta(extra={"secret": True})] = ""
    timeout: float = 9.0


WEATHER = ConfigSection(
    name="weather", schema=Weather, inherits={"timeout": "tools.default_timeout"}
)
APP: dict[str, object] = {
    "declared_env": lambda: ("OPENROUTER_API_KEY",),
    "plugin_sections": {"weather": WEATHER},
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def run(*arguments: str, given: str = "", **app: object) -> Result:
    result = CliRunner().invoke(command, list(arguments), obj={**APP, **app}, input=given)
    if isinstance(result.exception, HermesError):
        raise result.exception
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def write(home: Path, text: str) -> Path:
    home.mkdir(parents=True, exist_ok=True)
    (home / "hermes.yaml").write_text(text, encoding="utf-8")
    return home / "hermes.yaml"


SECRETS = """\
model: {name: a/b, api_key: sk-test-not-a-real-key-1}
providers: {x: {headers: {X-Auth: sk-test-not-a-real-key-2}, base_url: "http://${HOST}/"}}
credentials: {x: {keys: [{id: one, key: sk-test-not-a-real-key-3}]}}
plugins:
  weather: {days: 2}
  other: {api_key: sk-test-not-a-real-key-4, deep: {token: sk-test-not-a-real-key-5}}
store: {url: "postgres://me:sk-test-not-a-real-key-6@h/db"}
webhooks: {irc: {password: sk-test-not-a-real-key-7}}
"""


def test_bare_config_shows_what_counts_and_where_it_comes_from(hermes_home: Path) -> None:
    file = write(hermes_home, "agent:\n  max_turns: 40\n")
    lines = run().output.splitlines()
    shown = [line.split(None, 1) for line in lines]
    assert ["agent.max_turns", f"40   (user {file}:2)"] in shown
    assert ["gate.mode", "manual"] in shown
    assert run("show").output.splitlines() == lines


@pytest.mark.parametrize("arguments", [(), ("show", "--json"), ("get", "plugins"), ("check",)])
def test_secrets_are_never_shown(
    hermes_home: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    write(hermes_home, SECRETS)
    monkeypatch.setenv("HOST", "sk-test-not-a-real-key-8")
    assert "sk-test" not in run(*arguments).output


def test_show_answers_with_json(hermes_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(hermes_home, SECRETS)
    monkeypatch.setenv("HOST", "h")
    monkeypatch.setenv("HERMES_GATE__MODE", "off")
    rows = json.loads(run("show", "--json").output)
    assert rows["model.api_key"] == {
        "value": "********",
        "layer": "user",
        "file": str(file),
        "line": 1,
    }
    assert rows["providers.x.base_url"]["value"] == "http://${HOST}/"
    assert rows["credentials.x.keys"]["value"] == [{"id": "one", "key": "********", "priority": 0}]
    assert rows["plugins.weather.days"]["value"] == 2
    assert rows["gate.mode"] == {
        "value": "off",
        "layer": "environment",
        "file": "HERMES_GATE__MODE",
        "line": 0,
    }


def test_get_prints_the_bare_value(hermes_home: Path) -> None:
    write(hermes_home, "model: a/b\ntools: {blocked: [x]}\n")
    assert run("get", "model").output == "a/b\n"
    assert run("get", "model.name").output == "a/b\n"
    assert run("get", "agent.max_turns").output == "90\n"
    assert run("get", "tools.blocked").output == '["x"]\n'
    assert run("get", "agent.session_budget").output == "\n"
    assert json.loads(run("get", "network").output) == {"force_ipv4": False}
    assert json.loads(run("get", "agent.max_turns", "--json").output)["value"] == 90
    assert json.loads(run("get", "agent.max_turns", "--json").output)["layer"] == "default"
    with pytest.raises(UsageError, match=r"There is no setting agnet\.name"):
        run("get", "agnet.name")


def test_set_and_unset_change_the_file_and_say_so(hermes_home: Path) -> None:
    file = hermes_home / "hermes.yaml"
    answer = run("set", "model", "openrouter/x")
    assert answer.output == f"model = openrouter/x: written to {file}\n"
    assert file.read_text() == "model:\n  name: openrouter/x\n"
    assert run("unset", "model").output == "model: removed\n"
    assert run("unset", "model").output == "model was not set\n"
    with pytest.raises(UsageError, match="whole number"):
        run("set", "plugins.weather.days", "x")


def test_a_key_goes_to_dotenv_and_is_not_echoed(hermes_home: Path) -> None:
    token = "sk-test-not-a-real-key#1"
    answer = run("set", "OPENROUTER_API_KEY", token)
    assert answer.output == f"OPENROUTER_API_KEY: written to {hermes_home / '.env'}\n"
    assert (hermes_home / ".env").read_text() == f"OPENROUTER_API_KEY='{token}'\n"
    assert not (hermes_home / "hermes.yaml").exists()
    assert token not in run("set", "model.api_key", token).output
    with pytest.raises(UsageError, match="knows the variable AN_API_KEY"):
        run("set", "AN_API_KEY", token)


def test_a_key_may_come_from_standard_input(hermes_home: Path) -> None:
    answer = run("set", "OPENROUTER_API_KEY", given="sk-test-not-a-real-key\n")
    assert "sk-test" not in answer.output
    assert "sk-test-not-a-real-key" in (hermes_home / ".env").read_text()


def test_check_tells_problems_with_their_lines_and_fails(hermes_home: Path) -> None:
    assert run("check").output == "Nothing to mend.\n"
    assert run("check").exit_code == 0
    file = write(
        hermes_home, "agent: {max_turns: x}\nmodle: 1\nplugins: {weather: {days: 0, day: 1}}\n"
    )
    answer = run("check")
    assert answer.exit_code == 1
    assert answer.output.splitlines() == [
        f"error: {file}:1: agent.max_turns must be a whole number at least 1, not 'x'.",
        f"warning: {file}:2: unknown key modle; it has no effect. Did you mean model?",
        f"error: {file}:3: plugins.weather.days must be a whole number at least 1, not 0.",
        f"warning: {file}:3: unknown key plugins.weather.day; it has no effect."
        " Did you mean plugins.weather.days?",
    ]
    told = json.loads(run("check", "--json").output)
    assert [(item["severity"], item["key"], item["origin"]["line"]) for item in told][:2] == [
        ("error", "agent.max_turns", 1),
        ("warning", "modle", 2),
    ]


def test_check_tells_other_spellings_and_ignored_keys_without_failing(hermes_home: Path) -> None:
    write(hermes_home, "agent: {model: a/b}\n")
    Path("hermes.yaml").write_text("gate: {mode: off}\n")
    answer = run("check")
    assert answer.exit_code == 0
    assert "note:" in answer.output
    assert "agent.model is read as model.name" in answer.output
    assert f"{Path.cwd() / 'hermes.yaml'}:1: gate.mode is not taken" in answer.output


def test_check_tells_a_broken_file_that_keeps_the_rest_from_working(hermes_home: Path) -> None:
    file = write(hermes_home, "a: [\n")
    answer = run("check")
    assert answer.exit_code == 1
    assert answer.output.startswith(f"error: {file}:2: not valid YAML")
    with pytest.raises(ConfigError, match="not valid YAML"):
        run("show")


def test_path_says_where_the_file_is(hermes_home: Path) -> None:
    assert run("path").output == f"{hermes_home / 'hermes.yaml'}\n"
    assert (
        run("path", profile="work")
        .output.strip()
        .endswith(str(Path("profiles") / "work" / "hermes.yaml"))
    )
    files = json.loads(run("path", "--json").output)
    assert files["secrets"] == str(hermes_home / ".env")
    assert files["project"] is None


def test_settings_of_a_plugin_are_shown_with_their_defaults(hermes_home: Path) -> None:
    assert run("get", "plugins.weather.days").output == "1\n"
    assert json.loads(run("get", "plugins.weather.days", "--json").output)["layer"] == "default"
    assert "plugins.weather.days" in run("show").output
    whole = json.loads(run("get", "plugins.weather").output)
    assert whole == {"days": 1, "limit": 100, "pin": "", "timeout": 30.0}


def test_settings_of_a_plugin_are_shown_as_a_session_would_have_them(
    hermes_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(
        hermes_home,
        "plugins: {weather: {days: 2, limit: 50, pin: abcd}}\ntools:\n  default_timeout: 7\n",
    )
    project = Path.cwd() / "hermes.yaml"
    project.write_text("plugins:\n  weather: {days: 9, limit: 20}\n", encoding="utf-8")
    rows = json.loads(run("show", "--json").output)
    assert rows["plugins.weather.days"]["value"] == 2  # not for a project to set
    assert rows["plugins.weather.limit"] == {
        "value": 20,
        "layer": "project",
        "file": str(project),
        "line": 2,
    }
    assert rows["plugins.weather.pin"]["value"] == "********"
    assert rows["plugins.weather.timeout"] == {
        "value": 7.0,
        "layer": "user",
        "file": str(file),
        "line": 3,
    }
    assert run("get", "plugins.weather.limit").output == "20\n"
    project.write_text("plugins: {weather: {limit: 60}}\n", encoding="utf-8")
    assert run("get", "plugins.weather.limit").output == "50\n"
    monkeypatch.setenv("HERMES_PLUGINS__WEATHER__LIMIT", "70")
    assert run("get", "plugins.weather.limit").output == "70\n"


def test_what_a_plugin_may_replace_is_shown_beside_its_settings(hermes_home: Path) -> None:
    write(hermes_home, "plugins: {weather: {overrides: [read_file]}}\n")
    assert run("get", "plugins.weather.overrides").output == '["read_file"]\n'
    assert run("get", "plugins.weather.days").output == "1\n"


def test_a_section_that_does_not_fit_its_plugin_is_an_error_for_its_own_keys_only(
    hermes_home: Path,
) -> None:
    write(hermes_home, "plugins: {weather: {days: x, limit: 3}}\n")
    with pytest.raises(ConfigError, match="whole number"):
        run("get", "plugins.weather.limit")
    assert run("get", "agent.name").output == "Hermes\n"


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("agent.max_turn", "Did you mean agent.max_turns?"),
        ("agnet.max_turns", "Did you mean agent.max_turns?"),
        ("agnet.max", "Did you mean agent?"),
        ("plugins.weather.dayz", "Did you mean plugins.weather.days?"),
        ("plugins.wether.days", "Did you mean plugins.weather.days?"),
        ("zzz", "See `hermes config schema`."),
    ],
)
def test_a_key_that_there_is_not_names_the_one_that_was_meant(
    hermes_home: Path, key: str, hint: str
) -> None:
    with pytest.raises(UsageError, match="There is no setting") as caught:
        run("get", key)
    assert caught.value.message == f"There is no setting {key}. {hint}"


def test_a_key_of_a_plugin_that_nobody_knows_is_shown_only_when_it_is_set(
    hermes_home: Path,
) -> None:
    with pytest.raises(UsageError, match=r"There is no setting plugins\.ledger\.ask_above"):
        run("get", "plugins.ledger.ask_above")
    write(hermes_home, "plugins: {ledger: {ask_above: 5}}\n")
    assert run("get", "plugins.ledger.ask_above").output == "5\n"


def test_check_notes_what_is_enabled_but_not_installed(hermes_home: Path) -> None:
    file = write(hermes_home, "plugins:\n  enabled: [gone]\n")
    answer = run("check", missing_plugins=lambda: ("gone",))
    assert answer.exit_code == 0
    assert answer.output == (
        f"note: {file}:2: gone is in plugins.enabled but not installed. "
        "`hermes plugins disable gone` forgets it.\n"
    )


def test_the_schema_for_editors_has_the_plugins_and_leaves_other_sections_open(
    hermes_home: Path,
) -> None:
    schema = json.loads(run("schema").output)
    assert schema == json.loads(json.dumps(json_schema({"weather": Weather})))
    plugins = schema["$defs"]["PluginsSettings"]
    assert "sections" not in plugins["properties"]
    assert plugins["additionalProperties"]["type"] == "object"
    place = plugins["properties"]["weather"]["$ref"].removeprefix("#/$defs/")
    weather = schema["$defs"][place]
    assert weather["properties"]["days"]["minimum"] == 1
    assert set(weather["properties"]) == {"days", "limit", "pin", "timeout", "overrides"}
    assert "weather" not in json_schema()["$defs"]["PluginsSettings"]["properties"]  # type: ignore[index]
    assert schema["$defs"]["Settings"]["additionalProperties"] is False
    assert schema["$defs"]["GateSettings"]["properties"]["mode"]["enum"] == [
        "manual",
        "off",
        "smart",
    ]
