"""Changing one setting and nothing else."""

from __future__ import annotations

import stat
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from hermes_core.config import load_config
from hermes_core.config_edit import append_value, set_value, unset_value
from hermes_core.config_text import inline, set_text, unset_text
from hermes_core.config_tree import plain
from hermes_core.config_yaml import read_yaml
from hermes_core.paths import resolve_paths
from hermes_plugins import ConfigError, Meta, Paths, Section, UsageError

FILE = """\
# my settings

model:
  name: a/b   # the good one
  # base_url: x
gate: {mode: manual, deny: ["rm *"]}

agent:
    max_turns: 5

    name: >
      folded
      text
tools:
  blocked:
  - web   # noise
  - browser
plugins:
# the end
"""


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    paths = resolve_paths({"HERMES_HOME": str(tmp_path / "home")})
    paths.home.mkdir()
    return paths


def write(paths: Paths, text: str | bytes) -> Path:
    file = paths.home / "hermes.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("model.name", "c/d", "name: a/b   #", "name: c/d   #"),
        ("model.dialect", "x", "# the good one\n", "# the good one\n  dialect: x\n"),
        ("gate.mode", "smart", "mode: manual", "mode: smart"),
        ("gate.mode", "off", "mode: manual", 'mode: "off"'),
        ("gate.deny", '["a b", "c*"]', '["rm *"]', '[a b, "c*"]'),
        ("gate.timeout", "5", '["rm *"]}', '["rm *"], timeout: 5.0}'),
        ("agent.max_turns", "6", "max_turns: 5", "max_turns: 6"),
        ("agent.session_budget", "6", "text\n", "text\n    session_budget: 6\n"),
        ("plugins.enabled", "[x]", "plugins:\n", "plugins:\n  enabled: [x]\n"),
        ("memory.enabled", "false", "# the end\n", "# the end\nmemory:\n  enabled: false\n"),
        ("model", "e", "name: a/b   #", "name: e     #"),  # the comment keeps its column
        ("iteration.max_iterations", "9", "max_turns: 5", "max_turns: 9"),
        ("providers.x.base_url", "http://h:1", "end\n", 'end\nproviders:\n  x:\n    base_url: "http://h:1"\n'),
        ("agent.name", "Me", "name: >\n      folded\n      text\n", "name: Me\n"),
        ("tools.blocked", "[a]", "blocked:\n  - web   # noise\n  - browser\n", "blocked: [a]\n"),
    ],
)  # fmt: skip
def test_setting_a_value_changes_that_place_only(
    paths: Paths, key: str, value: str, old: str, new: str
) -> None:
    file = write(paths, FILE)
    assert FILE.count(old) == 1
    assert set_value(paths, key, value) == file
    assert file.read_bytes() == FILE.replace(old, new).encode()


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [
        ("model.name", "  name: a/b   # the good one\n", ""),
        ("gate.mode", "mode: manual, ", ""),
        ("gate.deny", ', deny: ["rm *"]', ""),
        ("agent.name", "    name: >\n      folded\n      text\n", ""),
        ("tools.blocked", "tools:\n  blocked:\n  - web   # noise\n  - browser\n", ""),
        ("agent", "agent:\n    max_turns: 5\n\n    name: >\n      folded\n      text\n", ""),
    ],
)
def test_unsetting_a_value_removes_its_lines_only(
    paths: Paths, key: str, old: str, new: str
) -> None:
    file = write(paths, FILE)
    assert FILE.count(old) == 1
    assert unset_value(paths, key)
    assert file.read_bytes() == FILE.replace(old, new).encode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: 1\nplugins:\n  x:\n    y: 1\nb: 2\n", "a: 1\nb: 2\n"),
        ("plugins: {x: {y: 1}}\n", ""),
        ("plugins: {x: {y: 1}, z: 2}\n", "plugins: {z: 2}\n"),
        ("plugins:\n  x: {y: 1}  # why\n", "plugins:\n  x: {}      # why\n"),
        ("plugins:  # mine\n  x:\n    y: 1\nb: 2\n", "plugins:  # mine\nb: 2\n"),
        ("plugins:\n  # mine\n  x:\n    y: 1\n", "plugins:\n  # mine\n"),
        (
            "plugins:\n  x:\n    y: 1\n\n  # z: 1\n# b\nb: 2\n",
            "plugins:\n\n  # z: 1\n# b\nb: 2\n",
        ),
        ("plugins:\n  x:\n    y: 1\n# of b\nb: 2\n", "# of b\nb: 2\n"),
        ("plugins:\n  x:\n    y: 1\n    z: 1\n", "plugins:\n  x:\n    z: 1\n"),
    ],
)
def test_unsetting_the_last_value_removes_its_sections_but_no_comment_of_theirs(
    before: str, after: str
) -> None:
    assert unset_text(before, ("plugins", "x", "y")) == after


@pytest.mark.parametrize(
    ("before", "path", "value", "after"),
    [
        # A comment behind a list is about what follows, and stays there.
        (
            "tools:\n  blocked:\n    - a\n    # b too?\n\n# how it looks\ndisplay:\n  skin: x\n",
            "tools.blocked",
            "[c]",
            "tools:\n  blocked: [c]\n    # b too?\n\n# how it looks\ndisplay:\n  skin: x\n",
        ),
        # Every section is indented in its own way, and written with spaces of its own.
        (
            "a:\n      b: 1\n      c: { d: 1,e: 2 }\nx:\n y:\n - z\n w: {\n  v: 1,\n }\n",
            "a.f",
            "1",
            "a:\n      b: 1\n      c: { d: 1,e: 2 }\n      f: 1\nx:\n y:\n - z\n w: {\n  v: 1,\n }\n",
        ),
        ("---\na: 1\n...\n", "b", "2", "---\na: 1\nb: 2\n"),
        ("a: +491\nb: 0o7 # c\n", "a", "x", "a: x\nb: 0o7 # c\n"),
        ("a: 'x'\n", "a", "5", "a: 5\n"),
        ("a:\n- b # why\n# c\nd: 1\n", "a", "[b, c]", "a:\n- b # why\n- c\n# c\nd: 1\n"),
        ("# nothing yet\n", "a.b", "1", "# nothing yet\na:\n  b: 1\n"),
    ],
)
def test_a_text_keeps_how_it_is_written(before: str, path: str, value: str, after: str) -> None:
    assert set_text(before, tuple(path.split(".")), value) == after


def test_unsetting_what_is_not_set_changes_nothing(paths: Paths) -> None:
    file = write(paths, FILE)
    assert not unset_value(paths, "memory.enabled")
    assert not unset_value(paths, "model.provider")
    assert file.read_bytes() == FILE.encode()
    file.unlink()
    assert not unset_value(paths, "model.provider")
    assert not file.exists()


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(paths: Paths) -> None:
    file = set_value(paths, "agent.max_turns", "7")
    assert file.read_text() == "agent:\n  max_turns: 7\n"
    if sys.platform != "win32":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        file.chmod(0o644)
        set_value(paths, "agent.max_turns", "8")
        assert stat.S_IMODE(file.stat().st_mode) == 0o644
    assert load_config(paths, cwd=paths.home, environ={}).settings.agent.max_turns in (7, 8)


def test_line_ends_and_a_byte_order_mark_stay(paths: Paths) -> None:
    file = write(
        paths, b"\xef\xbb\xbfagent:\r\n  name: \xc3\xbc # \xf0\x9f\x99\x82\r\n  max_turns: 5"
    )
    set_value(paths, "agent.max_turns", "6")
    set_value(paths, "agent.session_budget", "7")
    set_value(paths, "memory.enabled", "false")
    assert file.read_bytes() == (
        b"\xef\xbb\xbfagent:\r\n  name: \xc3\xbc # \xf0\x9f\x99\x82\r\n  max_turns: 6\r\n"
        b"  session_budget: 7\r\nmemory:\r\n  enabled: false\r\n"
    )


@pytest.mark.parametrize("text", ["a: [1\nb: 2\n", "gate: {mode: off}\ngate: {}\n", "\tx: 1\n"])
def test_a_broken_file_is_refused_with_its_line_and_not_written(paths: Paths, text: str) -> None:
    file = write(paths, text)
    for change in (
        lambda: set_value(paths, "agent.max_turns", "5"),
        lambda: unset_value(paths, "agent.max_turns"),
        lambda: append_value(paths, "gate.allow", "x"),
    ):
        with pytest.raises(ConfigError, match=r"hermes\.yaml:[12]: .*mend that line first"):
            change()
    assert file.read_text() == text
    assert [item.name for item in paths.home.iterdir()] == ["hermes.yaml"]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("agent.max_turns", "x", "agent.max_turns must be a whole number at least 1, not 'x'."),
        (
            "agent.max_turn",
            "5",
            "There is no setting agent.max_turn. Did you mean agent.max_turns?",
        ),
        ("agent", "5", "agent is a section."),
        ("tools.blocked", "a, b", "Write a list as"),
        ("memory.enabled", "yes", "memory.enabled must be true or false, not 'yes'."),
        ("gate.mode", "none", "must be one of manual, smart, off"),
        ("plugins.weather.days", "x", "days must be a whole number at least 1"),
        ("plugins.weather.day", "1", "There is no setting plugins.weather.day."),
        ("UNKNOWN_API_KEY", "x", "knows the variable UNKNOWN_API_KEY"),
    ],
)
def test_what_does_not_fit_is_refused(paths: Paths, key: str, value: str, message: str) -> None:
    class Weather(Section, frozen=True, kw_only=True):
        days: Annotated[int, Meta(ge=1)] = 1

    with pytest.raises(UsageError) as caught:
        set_value(paths, key, value, schemas={"weather": Weather})
    assert message in str(caught.value)
    assert list(paths.home.iterdir()) == []


def test_a_value_of_a_plugin_without_schema_is_taken_as_it_is(paths: Paths) -> None:
    set_value(paths, "plugins.weather.units", "metric")
    set_value(paths, "plugins.weather.days", "5")
    set_value(paths, "plugins.weather.code", "0123")
    sections = load_config(paths, cwd=paths.home, environ={}).settings.plugins.sections
    assert sections == {"weather": {"units": "metric", "days": 5, "code": "0123"}}


def test_a_reference_is_written_as_it_is(paths: Paths) -> None:
    set_value(paths, "agent.max_turns", "${TURNS}")
    config = load_config(paths, cwd=paths.home, environ={"TURNS": "3"})
    assert config.settings.agent.max_turns == 3


def test_a_file_with_another_spelling_is_edited_in_its_own(paths: Paths) -> None:
    file = write(paths, "model: a/b # mine\niteration:\n  max_iterations: 5\n")
    set_value(paths, "agent.max_turns", "6")
    set_value(paths, "model.name", "c")
    assert file.read_text() == "model: c   # mine\niteration:\n  max_iterations: 6\n"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("model: &m {name: x}\nagent: *m\n", "agent.name"),
        ("model: &m {name: x}\nagent: *m\n", "model.name"),
        ("{a: 1} # all of it\n", "agent.name.x"),
    ],
)
def test_a_place_that_cannot_be_edited_is_refused_and_the_file_stays(
    paths: Paths, text: str, key: str
) -> None:
    file = write(paths, text)
    with pytest.raises(UsageError):
        set_value(paths, key, "y")
    assert file.read_text() == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "gate:\n  allow: [ls *]\n"),
        ("gate: {allow: []}\n", 'gate: {allow: ["ls *"]}\n'),
        ("gate:\n  allow: [a, b] # ok\n", 'gate:\n  allow: [a, b, "ls *"] # ok\n'),
        (
            "gate:\n  allow:\n    - a # why\n    # b\n  deny: []\n",
            'gate:\n  allow:\n    - a # why\n    - "ls *"\n    # b\n  deny: []\n',
        ),
        ("gate:\n  allow:\n", 'gate:\n  allow: ["ls *"]\n'),
        ("gate:\n  allow: '[\"a\"]'\n", 'gate:\n  allow: [a, "ls *"]\n'),
    ],
)
def test_adding_to_a_list_keeps_the_rest(paths: Paths, before: str, after: str) -> None:
    file = write(paths, before)
    assert append_value(paths, "gate.allow", "ls *")
    assert file.read_text() == after.replace("[ls *]", '["ls *"]')
    assert not append_value(paths, "gate.allow", "ls *")


def test_adding_to_what_is_no_list_is_refused(paths: Paths) -> None:
    write(paths, "gate: {allow: x}\n")
    with pytest.raises(UsageError, match=r"gate\.allow must be a list"):
        append_value(paths, "gate.allow", "y")


def test_a_declared_variable_goes_to_dotenv_private_and_whole(paths: Paths) -> None:
    env = paths.home / ".env"
    env.write_bytes(b"\xef\xbb\xbf# keys\nOTHER=1\n")
    declared = ("OPENROUTER_API_KEY",)
    token = "sk-test#not a real'key"
    assert set_value(paths, "OPENROUTER_API_KEY", token, declared_env=declared) == env
    assert env.read_bytes().startswith(b"\xef\xbb\xbf# keys\nOTHER=1\nOPENROUTER_API_KEY=")
    if sys.platform != "win32":
        assert stat.S_IMODE(env.stat().st_mode) == 0o600
    config = load_config(paths, cwd=paths.home, environ={})
    assert config.secrets == {"OTHER": "1", "OPENROUTER_API_KEY": token}
    assert not (paths.home / "hermes.yaml").exists()
    assert unset_value(paths, "OPENROUTER_API_KEY", declared_env=declared)
    assert not unset_value(paths, "OPENROUTER_API_KEY", declared_env=declared)
    assert env.read_bytes() == b"\xef\xbb\xbf# keys\nOTHER=1\n"
    with pytest.raises(UsageError, match="No value for OPENROUTER_API_KEY"):
        set_value(paths, "OPENROUTER_API_KEY", "", declared_env=declared)


def test_a_word_that_yaml_takes_for_a_switch_is_quoted() -> None:
    for word in ("off", "Yes", "n", "null", "true", "~", "1", "1.5", "1:30", "", " a", "a: b", "#"):
        assert inline(word) == f'"{word}"'
    assert inline(["a b", {"k": None, "m": [True, 2]}]) == "[a b, {k: null, m: [true, 2]}]"


def test_processes_that_write_at_once_lose_nothing(paths: Paths) -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from hermes_core.config_edit import append_value\n"
        "from hermes_plugins import Paths\n"
        "home = Path(sys.argv[1])\n"
        "for i in range(8):\n"
        "    append_value(Paths(home=home, cache=home, logs=home), 'gate.allow', sys.argv[2] + str(i))\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", program, str(paths.home), name]) for name in "abc"
    ]
    assert [process.wait() for process in started] == [0, 0, 0]
    allowed = load_config(paths, cwd=paths.home, environ={}).settings.gate.allow
    assert sorted(allowed) == sorted(f"{name}{i}" for name in "abc" for i in range(8))


scalars = st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.text(max_size=12)
names = st.sampled_from(["a", "b", "c", "long name", "x-y", "42"])
trees = st.dictionaries(
    names,
    st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)
paths_of_keys = st.lists(names, min_size=1, max_size=3)


def meaning(text: str) -> object:
    tree = read_yaml(text, layer="user", file="f", found=[])
    assert tree is not None
    return plain(tree)


def with_comments(text: str, draw: st.DataObject) -> str:
    lines = []
    for line in text.splitlines():
        lines += draw.draw(st.sampled_from([[], [], ["# note"], [""]]))
        lines.append(line)
    return "\n".join(lines) + draw.draw(st.sampled_from(["", "\n", "\n# end\n"]))


# Says nothing of how fast the machine is: ruamel.yaml is slow, and others may be at work.
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data(), trees, paths_of_keys, st.text(max_size=10) | st.lists(st.text(max_size=5)))
def test_any_edit_sets_what_was_asked_and_keeps_every_other_line(
    draw: st.DataObject, tree: dict[str, object], path: list[str], value: object
) -> None:
    flow = draw.draw(st.sampled_from([False, None]))
    text = yaml.safe_dump(tree, allow_unicode=True, default_flow_style=flow) if tree else ""
    if draw.draw(st.booleans()) and "|" not in text and '"' not in text and "'" not in text:
        text = with_comments(text, draw)
    assume(_reads_as(text, tree))
    try:
        after = set_text(text, tuple(path), inline(value))
    except UsageError:
        return
    expected = dict(tree)
    _put(expected, path, value)
    assert meaning(after) == expected
    for line in text.splitlines():
        if line.strip().startswith("#"):
            assert line in after.splitlines()
    removed = unset_text(after, tuple(path))
    assert removed is not None
    _drop(expected, path)
    assert _pruned(meaning(removed)) == _pruned(expected)


def _reads_as(text: str, tree: object) -> bool:
    found: list[object] = []
    read = read_yaml(text, layer="user", file="f", found=found)  # type: ignore[arg-type]
    return read is not None and plain(read) == tree


def _put(tree: dict[str, object], path: list[str], value: object) -> None:
    for name in path[:-1]:
        inside = tree.get(name)
        tree[name] = dict(inside) if isinstance(inside, dict) else {}
        tree = tree[name]  # type: ignore[assignment]
    tree[path[-1]] = value


def _drop(tree: dict[str, object], path: list[str]) -> None:
    for name in path[:-1]:
        tree = tree[name]  # type: ignore[assignment]
    del tree[path[-1]]


def _pruned(value: object) -> object:
    if isinstance(value, dict):
        inside = {name: _pruned(item) for name, item in value.items()}
        return {name: item for name, item in inside.items() if item is not None and item != {}}
    return value


@given(st.text())
def test_a_written_text_is_read_back(text: str) -> None:
    assume(not any("\ud800" <= char <= "\udfff" for char in text))
    assert meaning(
        f"a: {inline(text)}\nb: [{inline(text)}, {{{inline('k')}: {inline(text)}}}]\n"
    ) == {
        "a": text,
        "b": [text, {"k": text}],
    }


def test_a_model_in_one_word_becomes_a_section_when_another_key_of_it_is_set(paths: Paths) -> None:
    file = write(paths, "model: a/b # mine\nagent: {max_turns: 5}\n")
    set_value(paths, "model.base_url", "http://127.0.0.1:9/v1")
    assert file.read_text() == (
        'model: {name: a/b, base_url: "http://127.0.0.1:9/v1"} # mine\nagent: {max_turns: 5}\n'
    )
