"""What load_config makes of a user's file, the environment and the command line."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Literal

import pytest

from hermes_core.config import Config, load_config, read_config
from hermes_core.config_schema import BY_FACE, KeySettings, Settings, Toolset
from hermes_core.config_tree import Origin
from hermes_core.paths import resolve_paths
from hermes_plugins import ConfigError, Meta, Paths, Section

Load = Callable[..., Config]


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    (tmp_path / "home").mkdir()
    return resolve_paths({"HERMES_HOME": str(tmp_path / "home")})


@pytest.fixture
def load(paths: Paths, tmp_path: Path) -> Load:
    def load(
        text: str | bytes = "", environ: Mapping[str, str] | None = None, **overrides: object
    ) -> Config:
        data = text if isinstance(text, bytes) else text.encode()
        if data:
            (paths.home / "hermes.yaml").write_bytes(data)
        (tmp_path / "work").mkdir(exist_ok=True)
        dotted = {name.replace("__", "."): value for name, value in overrides.items()}
        return load_config(paths, cwd=tmp_path / "work", environ=environ or {}, overrides=dotted)

    return load


def test_with_nothing_written_everything_has_its_default(load: Load) -> None:
    config = load()
    assert config.settings == Settings()
    assert config.notes == ()
    assert config.origin("agent.max_turns") == Origin("default")


def test_without_a_file_yaml_is_not_imported_and_loading_takes_under_three_milliseconds(
    paths: Paths,
) -> None:
    program = (
        "import sys, time, pathlib\n"
        "from hermes_core.config import load_config\n"
        "from hermes_core.paths import resolve_paths\n"
        "home = pathlib.Path(sys.argv[1])\n"
        "paths = resolve_paths({'HERMES_HOME': str(home)})\n"
        "took = []\n"
        "for _ in range(5):\n"
        "    before = time.process_time()\n"
        "    load_config(paths, cwd=home, environ={'HERMES_HOME': str(home)})\n"
        "    took.append(time.process_time() - before)\n"
        "print('yaml' in sys.modules, 'platformdirs' in sys.modules, min(took) < 0.003)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program, str(paths.home)], capture_output=True, text=True, check=True
    )
    assert answer.stdout.split() == ["False", "False", "True"]


def test_a_later_layer_wins(load: Load, paths: Paths) -> None:
    text = "agent:\n  name: File\n  max_turns: 10\n  session_budget: 5\n"
    environ = {"HERMES_AGENT__MAX_TURNS": "20", "HERMES_AGENT__SESSION_BUDGET": "6"}
    config = load(text, environ, agent__session_budget=7)
    agent = config.settings.agent
    assert (agent.name, agent.max_turns, agent.session_budget) == ("File", 20, 7)
    file = str(paths.home / "hermes.yaml")
    assert config.origin("agent.name") == Origin("user", file, 2)
    assert config.origin("agent.max_turns") == Origin("environment", "HERMES_AGENT__MAX_TURNS")
    assert config.origin("agent.session_budget") == Origin("command line")
    key = ("agent", "session_budget")
    assert [(str(one[key].origin), one[key].value) for one in config.layers if key in one] == [
        (f"user {file}:4", 5),
        ("environment HERMES_AGENT__SESSION_BUDGET", 6),
        ("command line", 7),
    ]


def test_the_words_on_off_yes_and_no_are_texts(load: Load) -> None:
    config = load("gate: {mode: off}\nagent: {name: yes}\nplugins: {x: {a: on, b: no, 'c': y}}\n")
    assert config.settings.gate.mode == "off"
    assert config.settings.agent.name == "yes"
    assert config.settings.plugins.sections["x"] == {"a": "on", "b": "no", "c": "y"}


def test_a_text_keeps_its_spelling_although_it_looks_like_a_number_or_a_date(load: Load) -> None:
    text = "model: {name: 4.10}\ntools: {blocked: [1.0, 2024-01-01, 1:30, true]}\n"
    config = load(text)
    assert config.settings.model.name == "4.10"
    assert config.settings.tools.blocked == ("1.0", "2024-01-01", "1:30", "true")


@pytest.mark.parametrize("word", ["false", "'false'", '"False"', "FALSE"])
def test_false_is_false_however_it_is_quoted(load: Load, word: str) -> None:
    assert load(f"memory: {{enabled: {word}}}").settings.memory.enabled is False


def test_numbers_in_quotes_are_numbers(load: Load) -> None:
    config = load(
        'agent: {max_turns: "40"}\nterminal: {timeout: "2.5"}\ntools: {default_timeout: 7}'
    )
    assert config.settings.agent.max_turns == 40
    assert config.settings.terminal.timeout == 2.5
    assert config.settings.tools.default_timeout == 7.0


def test_a_list_as_text_is_parsed(load: Load) -> None:
    config = load("""model: {fallback: '["a/b", "c"]'}\ntools: {blocked: "[x, y]"}\n""")
    assert config.settings.model.fallback == ("a/b", "c")
    assert config.settings.tools.blocked == ("x", "y")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("memory:\n  enabled: yes\n", 2, "memory.enabled must be true or false, not 'yes'."),
        ("memory: {enabled: 1}\n", 1, "memory.enabled must be true or false, not 1."),
        ("agent: {max_turns: many}\n", 1, "agent.max_turns must be a whole number at least 1, not"),
        (
            "agent: {max_turns: 0}\n",
            1,
            "agent.max_turns must be a whole number at least 1, not 0",
        ),
        ("agent: {max_turns: 1.5}\n", 1, "agent.max_turns must be a whole number"),
        ("agent: {max_turns: true}\n", 1, "agent.max_turns must be a whole number"),
        (
            "agent: {max_turns: [1]}\n",
            1,
            "agent.max_turns must be a whole number at least 1, not a list",
        ),
        ("context: {threshold: .inf}\n", 1, "context.threshold must be a number above 0"),
        ("agent: 5\n", 1, "agent must be a section, not 5."),
        ("gate:\n  mode: 'on'\n", 2, "gate.mode must be one of manual, smart, off, not 'on'."),
        ("tools: {blocked: terminal}\n", 1, "tools.blocked must be a list, not 'terminal'."),
        (
            "tools:\n  blocked:\n    - a\n    - [b]\n",
            4,
            "tools.blocked[1] must be text, not a list.",
        ),
        ("display: {skin: ../x}\n", 1, "display.skin must be text matching"),
        ("platforms: {telegram: on}\n", 1, "platforms.telegram must be a section, not 'on'."),
        (
            "model: {api_key: [sk-test-not-a-real-key]}\n",
            1,
            "model.api_key must be text, not a list.",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_its_line(
    load: Load, paths: Paths, text: str, line: int, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text)
    file = str(paths.home / "hermes.yaml")
    assert str(caught.value).startswith(f"{file}:{line}: {message}")
    assert (caught.value.file, caught.value.line) == (file, line)
    assert caught.value.exit_code == 2


def test_a_wrong_value_of_a_secret_is_not_shown(load: Load) -> None:
    with pytest.raises(ConfigError) as caught:
        load("plugins: {x: {}}\n", {"HERMES_CREDENTIALS__OPENAI__KEYS": "sk-test-not-a-real-key"})
    assert "credentials.openai.keys must be a list" in str(caught.value)
    with pytest.raises(ConfigError) as caught:
        load("providers: {x: {headers: {api_key: 5}}}\nmodel: {api_key: {a: b}}\n")
    assert "sk-test" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a: [1\nb: 2\n", 2, "not valid YAML (column 2)"),
        ("agent:\n  name: a\n name: b\n", 3, "not valid YAML"),
        ("agent:\n\tname: a\n", 2, "not valid YAML"),
        ("a: 1\n---\nb: 2\n", 2, "not valid YAML"),
        ("a: *nobody\n", 1, "not valid YAML"),
        ("a: 'x\x07'\n", 1, "not valid YAML"),
        (
            "agent:\n  name: a\nmodel: b\nagent:\n  name: c\n",
            4,
            "the key agent stands twice, in lines 1 and 4.",
        ),
        ("gate:\n  deny: [x]\n  deny: []\n", 3, "the key deny stands twice, in lines 2 and 3."),
        ("- a\n", 1, "this is not a list of `key: value` lines."),
        (
            "a: !!python/object/apply:os.system [id]\n",
            1,
            "the tag 'tag:yaml.org,2002:python/object/",
        ),
        ("a: !secret x\n", 1, "the tag '!secret' is not read here."),
        ("a: &a {x: 1}\nb: {<<: *a}\n", 2, "a key must be a plain name."),
        ("? [a]\n: 1\n", 1, "a key must be a plain name."),
        ("a: " + "[" * 40 + "]" * 40 + "\n", 1, "nested deeper than 32 levels."),
        ("[" * 5000, 1, "not valid YAML"),
        ("a: &a [*a]\n", 1, "nested deeper than 32 levels."),
    ],
)
def test_a_broken_file_is_refused_with_its_line(
    load: Load, paths: Paths, text: str, line: int, message: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(text)
    assert str(caught.value).startswith(f"{paths.home / 'hermes.yaml'}:{line}: {message}")


def test_aliases_that_multiply_are_refused(load: Load) -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for i in range(1, 9):
        levels.append(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]")
    with pytest.raises(ConfigError, match="more than 20,000 values"):
        load("\n".join(levels))


def test_a_file_that_is_no_text_or_cannot_be_read_is_refused(load: Load, paths: Paths) -> None:
    with pytest.raises(ConfigError, match=r"hermes\.yaml:2: is not UTF-8 text"):
        load(b"a: 1\nb: \xff\xfe\n")
    with pytest.raises(ConfigError, match="is larger than 1 MiB"):
        load(b"#" * (1 << 20) + b"\na: 1\n")
    (paths.home / "hermes.yaml").unlink()
    (paths.home / "hermes.yaml").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        load()


@pytest.mark.parametrize(
    "data",
    [
        b"\xef\xbb\xbfagent:\r\n  name: J\xc3\xbcrgen\r\n  max_turns: 3\r\n",
        "agent:\n  name: Jürgen\n  max_turns: 3\n".encode("utf-16"),
        "agent:\r  name: Jürgen\r  max_turns: 3".encode(),
    ],
)
def test_byte_order_marks_and_any_line_ends_are_read(load: Load, data: bytes) -> None:
    agent = load(data).settings.agent
    assert (agent.name, agent.max_turns) == ("Jürgen", 3)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "agent:\nmodel: ~\n", "null\n"])
def test_a_key_with_nothing_behind_it_sets_nothing(load: Load, text: str) -> None:
    config = load(text)
    assert config.settings == Settings()
    assert config.notes == ()


def test_an_unknown_key_is_told_and_has_no_effect(load: Load, paths: Paths) -> None:
    config = load("agent:\n  max_turn: 5\nmodle: x\n")
    file = paths.home / "hermes.yaml"
    assert config.settings == Settings()
    assert config.notes == (
        f"{file}:2: unknown key agent.max_turn; it has no effect. Did you mean agent.max_turns?",
        f"{file}:3: unknown key modle; it has no effect. Did you mean model?",
    )


def test_an_unknown_variable_of_the_environment_is_told(load: Load) -> None:
    config = load("", {"HERMES_AGENTS__X": "1", "HERMES_SESSION_ID": "s", "HERMES___": "x"})
    assert config.notes == (
        "HERMES_AGENTS__X: unknown key agents; it has no effect. Did you mean agent?",
    )


def test_every_error_is_kept_and_the_first_is_raised(
    load: Load, paths: Paths, tmp_path: Path
) -> None:
    text = "agent: {max_turns: x}\nmemory: {enabled: x, user_chars: -1}\n"
    with pytest.raises(ConfigError, match=r"2 more: hermes config check\.$"):
        load(text)
    config = read_config(paths, cwd=tmp_path, environ={})
    assert [item.key for item in config.problems] == [
        "agent.max_turns",
        "memory.enabled",
        "memory.user_chars",
    ]
    assert config.settings == Settings()


def test_variables_of_the_environment_are_typed_as_a_file_is(load: Load) -> None:
    config = load(
        "",
        {
            "HERMES_MEMORY__ENABLED": "false",
            "HERMES_GATE__DENY": '["rm *"]',
            "HERMES_TOOLS__BLOCKED": "[a, b]",
            "HERMES_GATE__MODE": "off",
            "HERMES_MODEL__NAME": "4.10",
            "HERMES_DELEGATION__AGENTS__SCOUT__BUDGET": "3",
            "HERMES_AGENT__NAME": "",
        },
    )
    settings = config.settings
    assert settings.memory.enabled is False
    assert settings.gate.deny == ("rm *",)
    assert settings.tools.blocked == ("a", "b")
    assert settings.gate.mode == "off"
    assert settings.model.name == "4.10"
    assert settings.delegation.agents["scout"].budget == 3
    assert settings.agent.name == "Hermes"
    with pytest.raises(ConfigError, match=r"^HERMES_AGENT__MAX_TURNS: agent\.max_turns must be"):
        load("", {"HERMES_AGENT__MAX_TURNS": "x"})


def test_the_older_name_of_the_write_root_is_read(load: Load) -> None:
    assert load("", {"HERMES_WRITE_SAFE_ROOT": "/srv"}).settings.gate.write_root == "/srv"


def test_references_are_filled_in_from_dotenv_and_the_environment_wins(
    load: Load, paths: Paths
) -> None:
    env = paths.home / ".env"
    env.write_bytes(b"\xef\xbb\xbfFIRST=one # note\nBOTH=file\nTURNS=12\n")
    env.chmod(0o600)
    text = (
        "model: {name: '${FIRST}/${BOTH}', fallback: ['x/${FIRST}']}\n"
        "agent: {max_turns: '${TURNS}', name: '$${FIRST}'}\n"
    )
    config = load(text, {"BOTH": "real"})
    assert config.settings.model.name == "one/real"
    assert config.settings.model.fallback == ("x/one",)
    assert config.settings.agent.max_turns == 12
    assert config.settings.agent.name == "${FIRST}"
    assert config.secrets == {"FIRST": "one", "BOTH": "file", "TURNS": "12"}
    assert config.environ == {"FIRST": "one", "BOTH": "real", "TURNS": "12"}
    assert config.tree["model", "name"].source == "${FIRST}/${BOTH}"


def test_a_reference_to_nothing_is_an_error_with_its_line(load: Load) -> None:
    with pytest.raises(ConfigError) as caught:
        load("model:\n  api_key: ${NO_SUCH_KEY}\n")
    assert ":2: model.api_key needs NO_SUCH_KEY, which is not set." in str(caught.value)
    assert "hermes config set NO_SUCH_KEY" in str(caught.value)


def test_settings_may_stand_in_dotenv_too(load: Load, paths: Paths) -> None:
    (paths.home / ".env").write_text("HERMES_AGENT__MAX_TURNS=4\n")
    (paths.home / ".env").chmod(0o600)
    assert load().settings.agent.max_turns == 4


def test_lines_of_dotenv_that_mean_nothing_are_told(load: Load, paths: Paths) -> None:
    (paths.home / ".env").write_text("A=1\nB: 2\n")
    (paths.home / ".env").chmod(0o600)
    assert load().notes == (f"{paths.home / '.env'}:2: is no NAME=value line; it has no effect.",)


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX's")
def test_a_dotenv_that_others_can_read_is_told(load: Load, paths: Paths) -> None:
    (paths.home / ".env").write_text("A=1\n")
    (paths.home / ".env").chmod(0o644)
    (note,) = load().notes
    assert note.endswith(
        f"can be read by other users of this machine. Run: chmod 600 {paths.home / '.env'}"
    )


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("agent: {model: a/b}", "model.name", "a/b"),
        ("agent: {api_mode: responses}", "model.dialect", "responses"),
        ("model: {api_mode: responses}", "model.dialect", "responses"),
        ("iteration: {max_iterations: 7}", "agent.max_turns", 7),
        ("iteration: {budget_per_conversation: 7}", "agent.session_budget", 7),
        ("memory: {compression_trigger_length: 80000}", "context.trigger_tokens", 80000),
        ("memory: {compression_prompt_template: T}", "context.prompt_template", "T"),
        ("tools: {allowed_tools: [a]}", "tools.allowed", ("a",)),
        ("tools: {blocked_tools: [a]}", "tools.blocked", ("a",)),
    ],
)
def test_other_spellings_are_read_with_a_note(
    load: Load, text: str, key: str, value: object
) -> None:
    config = load(text)
    section, _, name = key.partition(".")
    assert getattr(getattr(config.settings, section), name) == value
    (note,) = config.notes
    assert f"is read as {key}. Write {key} instead." in note
    assert config.origin(key).line == 1


def test_keys_of_a_provider_are_read_in_their_older_place(load: Load) -> None:
    config = load(
        "credentials:\n  providers:\n    openai:\n      keys: [{id: a, key: k, priority: 2}]\n"
    )
    pool = config.settings.credentials["openai"]
    assert pool.keys == (KeySettings(id="a", key="k", priority=2),)
    assert "credentials.providers.openai.keys is read as credentials.openai.keys" in config.notes[0]


def test_model_alone_is_its_name(load: Load) -> None:
    config = load("model: openrouter/some-model\n")
    assert config.settings.model.name == "openrouter/some-model"
    assert config.notes == ()


def test_two_spellings_of_one_setting_are_an_error(load: Load) -> None:
    with pytest.raises(
        ConfigError, match=r":2: agent\.model is another name of model\.name \(line 1\)"
    ):
        load("model: {name: a}\nagent: {model: b}\n")


def test_toolsets_of_a_face_add_to_the_defaults_of_the_others(load: Load) -> None:
    text = "toolsets:\n  by_face: {cli: [file]}\n  mine: {includes: [web], tools: [todo]}\n"
    toolsets = load(text).settings.toolsets
    assert toolsets.by_face == {**BY_FACE, "cli": ("file",)}
    assert toolsets.sets == {"mine": Toolset(includes=("web",), tools=("todo",))}


def test_named_entries_with_nothing_in_them_count_as_there(load: Load) -> None:
    settings = load("platforms:\n  irc:\nproviders:\n  mine:\n").settings
    assert settings.platforms["irc"].allow == ()
    assert settings.providers["mine"].base_url == ""


class Weather(Section, frozen=True, kw_only=True):
    units: Annotated[Literal["metric", "imperial"], Meta(extra={"project": True})] = "metric"
    days: Annotated[int, Meta(ge=1, extra={"project": True})] = 3
    places: Annotated[tuple[str, ...], Meta(extra={"project": True})] = ()
    token: Annotated[str, Meta(extra={"secret": True})] = ""
    sizes: tuple[int, int] = (1, 2)


def test_a_plugin_gets_its_own_section_typed(load: Load) -> None:
    text = "plugins:\n  weather-now:\n    units: imperial\n    days: '5'\n    overrides: [todo]\n"
    config = load(text, {"HERMES_PLUGINS__WEATHER_NOW__TOKEN": "t"})
    assert config.plugin_section("weather-now", Weather) == Weather(
        units="imperial", days=5, token="t"
    )
    assert config.plugin_overrides("weather-now") == ("todo",)
    assert config.plugin_section("other", Weather) == Weather()
    assert config.plugin_overrides("other") == ()
    assert "weather-now" in config.plugin_names()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("units: kelvin", "plugins.weather.units must be one of metric, imperial, not 'kelvin'."),
        (
            "unit: metric",
            "unknown key plugins.weather.unit; it has no effect. Did you mean plugins.weather.units?",
        ),
        ("sizes: [1]", "plugins.weather.sizes must be a list, not a list."),
        ("days: 0", "plugins.weather.days must be a whole number at least 1, not 0."),
    ],
)
def test_a_plugins_section_that_does_not_fit_is_told_with_its_line(
    load: Load, line: str, message: str
) -> None:
    config = load(f"plugins:\n  weather:\n    {line}\n")
    with pytest.raises(ConfigError) as caught:
        config.plugin_section("weather", Weather)
    assert message in str(caught.value)
    assert caught.value.line == 3
    assert [str(item) for item in config.check_plugin("weather", Weather)] == [str(caught.value)]


def test_two_hosts_of_one_process_share_nothing(tmp_path: Path) -> None:
    configs = []
    for name in ("one", "two"):
        paths = resolve_paths({"HERMES_HOME": str(tmp_path)}, profile=name)
        paths.home.mkdir(parents=True)
        (paths.home / "hermes.yaml").write_text(f"agent: {{name: {name}}}\n")
        configs.append(load_config(paths, cwd=tmp_path, environ={}))
    assert [config.settings.agent.name for config in configs] == ["one", "two"]


def test_a_folder_named_yaml_in_the_working_directory_is_not_imported(
    paths: Paths, tmp_path: Path
) -> None:
    (tmp_path / "yaml").mkdir()
    (tmp_path / "yaml" / "__init__.py").write_text("raise SystemExit('the wrong yaml')\n")
    (paths.home / "hermes.yaml").write_text("agent: {name: Right}\n")
    # As the console script does, -P keeps the working directory off sys.path.
    program = "from hermes_core.cli.config_command import command; command(['get', 'agent.name'])"
    answer = subprocess.run(
        [sys.executable, "-P", "-c", program],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"HERMES_HOME": str(paths.home), "SYSTEMROOT": "C:\\Windows"},
        check=False,
    )
    assert (answer.stdout, answer.stderr) == ("Right\n", "")


def test_a_large_file_is_read_quickly(load: Load) -> None:
    text = "plugins:\n" + "".join(f"  p{i}: {{a: 1, b: [x, y], c: 'z'}}\n" for i in range(1000))
    before = time.process_time()
    assert len(load(text).plugin_names()) == 1000
    assert time.process_time() - before < 2
