"""What a command of a plugin gets: `CommandHost`."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import click
import msgspec
import pytest

from hermes_core.cli.app import run
from hermes_core.cli.command_host import HomeCommands
from hermes_core.cli.gateway import lock_home
from hermes_plugins import UsageError
from hermes_plugins.testing import Command, ScriptedServer, replies

PROBE = '''
import asyncio, json, click
from pathlib import Path

@click.command()
@click.argument("what")
@click.argument("rest", nargs=-1)
@click.pass_obj
def probe(host, what, rest):
    """Look at what a command gets."""
    settings = host.settings
    if what == "get":
        one = settings.get(rest[0])
        click.echo(json.dumps([one.key, one.value, one.layer, one.line]))
    elif what == "set":
        click.echo(settings.set(rest[0], json.loads(rest[1])))
    elif what == "unset":
        click.echo(settings.unset(rest[0]))
    elif what == "set_all":
        click.echo(json.dumps([str(one) for one in settings.set_all(json.loads(rest[0]))]))
    elif what == "check":
        click.echo(settings.check(rest[0], json.loads(rest[1])))
    elif what == "keep":
        click.echo(settings.keep(rest[0]))
    elif what == "variables":
        click.echo(json.dumps(settings.variables(Path(rest[0]))))
    elif what == "holds":
        click.echo(settings.holds(rest[0]))
    elif what == "problems":
        click.echo(json.dumps(settings.problems()))
    elif what == "copy":
        click.echo(settings.copy())
    elif what == "home":
        click.echo(json.dumps([str(host.paths.home), str(host.root), host.profile, host.plugin]))
    elif what == "state":
        asyncio.run(host.copy_state(Path(rest[0])))
    elif what == "redact":
        click.echo(host.redact(rest[0]))
    elif what == "choose-profile":
        host.choose_profile(rest[0])
        click.echo(host.chosen_profile)
    elif what == "alone":
        with host.alone(Path(rest[0]) if rest else None):
            click.echo("alone")
    else:
        asyncio.run(look(host, what, json.loads(rest[0]) if rest else None))

async def look(host, what, values):
    async with host.open(values) as face:
        if what == "providers":
            found = await face.catalog.providers()
            click.echo(json.dumps({one.profile.id: [one.url, one.key, one.usable] for one in found}))
        elif what == "choose":
            one = await face.catalog.choose()
            click.echo(json.dumps([one.label, one.url, one.dialect]))
        elif what == "chosen":
            one = await face.catalog.choose()
            click.echo(json.dumps([one.label, one.base_url, one.address, one.key, one.stand_in]))
        elif what == "probe":
            one = await face.catalog.probe()
            click.echo(json.dumps([one.choice.label, one.text, one.usage.input, one.seconds > 0]))
        elif what == "models":
            click.echo(json.dumps([one.id for one in await face.catalog.models("custom")]))
        elif what == "toolsets":
            found = await face.catalog.toolsets()
            shown = {one.name: [[t.name for t in one.tools], list(one.faces), one.off] for one in found}
            click.echo(json.dumps(shown))
'''


@pytest.fixture(autouse=True)
def probe(shelf, hermes_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shelf.put(
        "hermes-plugin-probe",
        {"hermes.commands/probe": "hermes_plugin_probe:probe"},
        module=PROBE,
        into=shelf.installed,
    )
    hermes_home.mkdir(exist_ok=True)
    settings = "# mine\nplugins: {enabled: [probe]}\nagent:\n  max_turns: 7  # few\n"
    (hermes_home / "hermes.yaml").write_text(settings, encoding="utf-8")


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> object:
    assert run(["probe", *words]) == 0
    return msgspec.json.decode(capsys.readouterr().out)


def test_a_setting_is_read_with_where_it_stands(capsys) -> None:
    assert answer(capsys, "get", "agent.max_turns") == ["agent.max_turns", 7, "user", 4]
    assert answer(capsys, "get", "gate.mode") == ["gate.mode", "manual", "default", 0]


def test_a_setting_is_written_and_comments_stay(capsys, hermes_home: Path) -> None:
    assert run(["probe", "set", "agent.max_turns", "9"]) == 0
    assert run(["probe", "set", "tools.blocked", '["patch"]']) == 0
    capsys.readouterr()
    text = (hermes_home / "hermes.yaml").read_text("utf-8")
    assert "# mine" in text
    assert "# few" in text
    assert answer(capsys, "get", "tools.blocked") == ["tools.blocked", ["patch"], "user", 6]
    assert run(["probe", "unset", "agent.max_turns"]) == 0
    assert capsys.readouterr().out == "True\n"


def test_a_value_that_does_not_fit_is_refused(capsys, hermes_home: Path) -> None:
    before = (hermes_home / "hermes.yaml").read_bytes()
    assert run(["probe", "set", "agent.max_turns", '"many"']) == 2
    assert "agent.max_turns" in capsys.readouterr().err
    assert (hermes_home / "hermes.yaml").read_bytes() == before


def test_a_key_goes_to_the_secrets_and_only_its_place_is_told(capsys, monkeypatch) -> None:
    assert run(["probe", "holds", "OPENROUTER_API_KEY"]) == 0
    assert capsys.readouterr().out == "\n"
    assert run(["probe", "set", "OPENROUTER_API_KEY", '"sk-test-not-a-real-key"']) == 0
    assert capsys.readouterr().out.strip().endswith(".env")
    assert run(["probe", "holds", "OPENROUTER_API_KEY"]) == 0
    assert capsys.readouterr().out == ".env\n"
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-test-not-a-real-key")
    assert run(["probe", "holds", "OPENROUTER_API_KEY"]) == 0
    assert capsys.readouterr().out == "environment\n"


def test_several_settings_are_written_together(capsys, hermes_home: Path) -> None:
    values = (
        '{"agent.max_turns": null, "agent.name": "Ada", "OPENAI_API_KEY": "sk-test-not-a-real-key"}'
    )
    written = answer(capsys, "set_all", values)
    assert written == [str(hermes_home / "hermes.yaml"), str(hermes_home / ".env")]
    assert answer(capsys, "get", "agent.max_turns") == ["agent.max_turns", 90, "default", 0]
    assert answer(capsys, "get", "agent.name") == ["agent.name", "Ada", "user", 4]


def test_of_several_settings_all_or_none_are_written(capsys, hermes_home: Path) -> None:
    before = (hermes_home / "hermes.yaml").read_bytes()
    values = (
        '{"OPENAI_API_KEY": "sk-test-not-a-real-key", "agent.name": "Ada", "agent.max_turns": "x"}'
    )
    assert run(["probe", "set_all", values]) == 2
    assert "agent.max_turns" in capsys.readouterr().err
    assert (hermes_home / "hermes.yaml").read_bytes() == before
    assert not (hermes_home / ".env").exists()


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("agent.max_turns", "5", ""),
        (
            "agent.max_turns",
            '"many"',
            "agent.max_turns must be a whole number at least 1, not 'many'.",
        ),
        (
            "agent.max_turn",
            "5",
            "There is no setting agent.max_turn. Did you mean agent.max_turns?",
        ),
        ("OPENAI_API_KEY", '"x"', ""),
        ("OPENAI_API_KEY", '""', "No value for OPENAI_API_KEY."),
        ("MOON_KEY", '"x"', "No installed provider, platform or tool knows the variable MOON_KEY."),
    ],
)
def test_a_value_is_checked_without_writing_it(
    capsys, hermes_home: Path, key: str, value: str, told: str
) -> None:
    before = (hermes_home / "hermes.yaml").read_bytes()
    assert run(["probe", "check", key, value]) == 0
    assert capsys.readouterr().out == f"{told}\n"
    assert (hermes_home / "hermes.yaml").read_bytes() == before


def test_a_variable_of_the_environment_is_kept(capsys, hermes_home: Path, monkeypatch) -> None:
    assert run(["probe", "keep", "OPENAI_API_KEY"]) == 2
    assert "No value for OPENAI_API_KEY." in capsys.readouterr().err
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-not-a-real-key")
    assert run(["probe", "keep", "OPENAI_API_KEY"]) == 0
    assert "sk-test-not-a-real-key" in (hermes_home / ".env").read_text("utf-8")


def test_another_file_of_variables_is_read(capsys, tmp_path: Path) -> None:
    file = tmp_path / "other.env"
    assert answer(capsys, "variables", str(file)) == {}
    file.write_text("# keys\nexport A='x y'\nB=1 # one\n", "utf-8")
    assert answer(capsys, "variables", str(file)) == {"A": "x y", "B": "1"}


def test_values_can_be_tried_before_they_are_set(capsys, hermes_home: Path) -> None:
    values = '{"model.name": "openai/x", "OPENAI_API_KEY": "sk-test-not-a-real-key"}'
    assert answer(capsys, "chosen", values) == [
        "openai/x",
        "https://api.openai.com/v1",
        "",
        "OPENAI_API_KEY",
        False,
    ]
    assert not (hermes_home / ".env").exists()


def test_what_stands_in_for_a_model_is_told_apart(capsys) -> None:
    label, _, address, key, stand_in = answer(
        capsys, "chosen", '{"model.name": "offline/offline-1"}'
    )  # type: ignore[misc]
    assert (label, address, key, stand_in) == ("offline/offline-1", "", "", True)


def test_a_model_is_probed_with_one_request(capsys) -> None:
    with ScriptedServer([replies.say("hello")]) as server:
        values = {"model.provider": "custom", "model.base_url": server.url, "model.name": "m"}
        said = answer(capsys, "probe", msgspec.json.encode(values).decode())
        assert len(server.requests) == 1
    assert said == ["custom/m", "hello", 10, True]


def test_problems_are_told_and_a_copy_is_dated(capsys, hermes_home: Path) -> None:
    (hermes_home / "hermes.yaml").write_text("plugins: {enabled: [probe]}\nmoon: 1\n", "utf-8")
    (problem,) = answer(capsys, "problems")  # type: ignore[misc]
    assert "moon" in problem
    assert run(["probe", "copy"]) == 0
    copy = Path(capsys.readouterr().out.strip())
    assert copy.parent == hermes_home
    assert copy.name.startswith("hermes.yaml.2")
    assert "moon" in copy.read_text("utf-8")
    assert run(["probe", "copy"]) == 0
    assert Path(capsys.readouterr().out.strip()) != copy  # two in one second


def test_a_profile_is_told_from_the_home(capsys, hermes_home: Path) -> None:
    home = str(hermes_home)
    assert answer(capsys, "home") == [home, home, "", "probe"]
    work = hermes_home / "profiles" / "work"
    work.mkdir(parents=True)
    (work / "hermes.yaml").write_text("plugins: {enabled: [probe]}\n", "utf-8")
    assert run(["-p", "work", "probe", "home"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out) == [str(work), home, "work", "probe"]


def test_providers_come_with_what_they_lack(capsys, monkeypatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-test-not-a-real-key")
    found = answer(capsys, "providers")
    assert isinstance(found, dict)
    assert found["openrouter"] == ["https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", True]
    assert found["openai"][1:] == ["", False]
    label, url, dialect = answer(capsys, "choose")  # type: ignore[misc]
    assert label.startswith("openrouter/")
    assert url.endswith("/chat/completions")
    assert dialect == "chat_completions"


def test_toolsets_come_with_their_tools_and_faces(capsys, hermes_home: Path) -> None:
    settings = "plugins: {enabled: [probe], disabled: [todo]}\ntools: {blocked: [patch]}\n"
    (hermes_home / "hermes.yaml").write_text(settings, encoding="utf-8")
    found = answer(capsys, "toolsets")
    assert isinstance(found, dict)
    tools, faces, off = found["file"]
    assert "read_file" in tools
    assert "cli" in faces
    assert off == ""
    assert found["todo"][2]


def test_the_store_is_copied_whole(capsys, tmp_path: Path) -> None:
    target = tmp_path / "copy.db"
    assert run(["probe", "state", str(target)]) == 1
    assert "Nothing was kept" in capsys.readouterr().err
    assert run(["--cli", "-q", "help"]) == 0
    capsys.readouterr()
    assert run(["probe", "state", str(target)]) == 0
    with sqlite3.connect(target) as kept:
        assert kept.execute("SELECT count(*) FROM sessions").fetchone() == (1,)
    kept.close()


def test_secrets_are_masked_also_where_the_settings_are_broken(capsys, hermes_home: Path) -> None:
    (hermes_home / ".env").write_text("MAIL_PASSWORD=not-so-secret-1\n", "utf-8")
    assert run(["probe", "redact", "it is not-so-secret-1"]) == 0
    assert capsys.readouterr().out.startswith("it is «redacted")
    settings = hermes_home / "hermes.yaml"
    settings.write_text(settings.read_text("utf-8") + "gate: {mode: 7}\n", "utf-8")
    assert run(["probe", "redact", "it is not-so-secret-1"]) == 0
    assert "«redacted" in capsys.readouterr().out


def test_a_profile_is_chosen_that_is_there(capsys, hermes_home: Path) -> None:
    assert run(["probe", "choose-profile", "work"]) == 2
    assert "there is no profile 'work'." in capsys.readouterr().err
    work = hermes_home / "profiles" / "work"
    work.mkdir(parents=True)
    (work / "hermes.yaml").write_text("plugins: {enabled: [probe]}\n", "utf-8")
    assert run(["probe", "choose-profile", "work"]) == 0
    assert capsys.readouterr().out == "work\n"
    assert answer(capsys, "home") == [str(work), str(hermes_home), "work", "probe"]
    assert run(["probe", "choose-profile", ""]) == 0
    capsys.readouterr()
    assert answer(capsys, "home")[2] == ""  # type: ignore[index]


def test_a_home_is_held_alone_or_not_at_all(capsys, hermes_home: Path, tmp_path: Path) -> None:
    assert run(["probe", "alone"]) == 0
    handle = lock_home(hermes_home)
    assert handle is not None
    try:
        assert run(["probe", "alone"]) == 2
        assert "`hermes gateway status`" in capsys.readouterr().err
        assert run(["probe", "alone", str(tmp_path / "another")]) == 0
    finally:
        os.close(handle)
    assert run(["probe", "alone"]) == 0


async def test_an_open_session_keeps_others_out(hermes, command: Command) -> None:
    async with hermes() as host:
        await host.ask("help")
        session = (await host.session()).info.id
        told = f"session {session} in .* is open in cli"
        with pytest.raises(UsageError, match=told), HomeCommands(context(), "probe").alone():
            pass
    with HomeCommands(context(), "probe").alone():
        pass


def context() -> click.Context:
    return click.Context(click.Command("hermes"), obj={"profile": ""})
