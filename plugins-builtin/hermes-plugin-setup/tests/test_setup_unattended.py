"""`hermes setup` where nobody can be asked, and with words that make no sense."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from hermes_plugins.testing import Command, ScriptedServer

KEY = {"OPENROUTER_API_KEY": "sk-test-not-a-real-key"}
MISSING = (
    "missing: a model: set OPENROUTER_API_KEY or OPENAI_API_KEY, "
    "or start Ollama or LM Studio or vLLM or llama.cpp.\n"
)


def unattended(command: Command, *more: str, environ: dict[str, str] | None = None) -> str:
    ended = command.run("setup", "--non-interactive", *more, environ=environ)
    assert (ended.status, ended.err) == (0, "")
    return ended.out


def test_a_pipe_is_not_asked(command: Command) -> None:
    ended = command.run("setup", input=b"1\n")
    assert ended.status == 2
    assert ended.err == (
        "hermes: `hermes setup` asks questions, and this is no terminal.\n"
        "        `hermes setup --non-interactive` takes what the environment gives.\n"
    )


def test_without_anything_it_tells_what_is_missing_and_writes_nothing(
    command: Command, settings: Path
) -> None:
    ended = command.run("setup", "--non-interactive")
    assert (ended.status, ended.out) == (1, MISSING)
    assert not settings.exists()


def test_a_key_of_the_environment_settles_the_model_and_stays_where_it_is(
    command: Command, settings: Path
) -> None:
    said = unattended(command, environ=KEY)
    assert said == (
        "  model.name  openrouter/openrouter/auto   (was auto)\n"
        f"Written to {settings}.\n"
        "OPENROUTER_API_KEY stays in your environment, which a service may not see; "
        "--keep-keys writes it to .env.\n"
    )
    assert settings.read_text("utf-8") == "model:\n  name: openrouter/openrouter/auto\n"
    assert not settings.with_name(".env").exists()


def test_keep_keys_copies_the_key_for_this_person_alone(command: Command, settings: Path) -> None:
    said = unattended(command, "--keep-keys", environ=KEY)
    secrets = settings.with_name(".env")
    assert f"OPENROUTER_API_KEY: written to {secrets}" in said
    assert secrets.read_text("utf-8") == "OPENROUTER_API_KEY=sk-test-not-a-real-key\n"
    assert stat.S_IMODE(secrets.stat().st_mode) & 0o077 == 0
    assert KEY["OPENROUTER_API_KEY"] not in said
    assert unattended(command) == "Nothing to change, nothing missing.\n"


def test_a_local_server_that_answers_is_taken_with_its_first_model(
    command: Command, settings: Path
) -> None:
    with ScriptedServer(models=("qwen3:8b", "llama")) as server:
        unattended(command, environ={"OLLAMA_BASE_URL": server.url})
    assert "ollama/qwen3:8b" in settings.read_text("utf-8")


def test_what_is_set_stays_and_the_old_file_is_kept_before_a_change(
    command: Command, settings: Path
) -> None:
    before = "# mine\nmodel: openai/gpt-6-luna\ngate: {mode: smart}\n"
    settings.write_text(before, "utf-8")
    environ = {"OPENAI_API_KEY": "sk-test-not-a-real-key"}
    said = unattended(command, "--blank", environ=environ)
    (kept,) = settings.parent.glob("hermes.yaml.2*")
    assert kept.read_text("utf-8") == before
    assert f"The old hermes.yaml is kept as {kept}.\n" in said
    after = settings.read_text("utf-8")
    assert after.startswith(before)
    for line in ("cli: []", "memory:\n  enabled: false", "curator:\n  enabled: false"):
        assert line in after
    assert command.run("config", "check", environ=environ).out == "Nothing to mend.\n"


def test_blank_leaves_a_chat_without_tools(command: Command, settings: Path) -> None:
    settings.write_text("platforms: {irc: {enabled: true}}\n", "utf-8")
    command.run("setup", "--non-interactive", "--blank")
    assert command.run("config", "get", "platforms.irc.enabled").out == "False\n".lower()
    with ScriptedServer() as server:
        command.talks_to(server)
        command.run("-q", "hello")
        assert "tools" not in server.requests[0].json


def test_full_names_what_a_chat_platform_still_needs(command: Command, settings: Path) -> None:
    settings.write_text("platforms: {irc: {enabled: true}}\n", "utf-8")
    ended = command.run("setup", "--non-interactive", "--full", environ=KEY)
    assert ended.status == 1
    assert ended.out.endswith(
        "missing: IRC: Who may talk to it. `hermes config set platforms.irc.allow …`\n"
    )
    settings.write_text("platforms: {irc: {enabled: true, allow: [ada]}}\n", "utf-8")
    assert command.run("setup", "gateway", "--non-interactive").status == 0


def test_a_setting_of_the_environment_that_wins_is_named(command: Command, settings: Path) -> None:
    said = unattended(
        command, "--blank", environ={**KEY, "HERMES_MEMORY__ENABLED": "true", "HERMES_X": ""}
    )
    assert (
        "Note: HERMES_MEMORY__ENABLED in your environment wins over what was written for "
        "memory.enabled.\n"
    ) in said


def test_a_broken_file_is_told_with_its_line_and_left_alone(
    command: Command, settings: Path
) -> None:
    settings.write_text("agent: [\n", "utf-8")
    ended = command.run("setup", "--non-interactive", environ=KEY)
    assert ended.status == 2
    assert f"{settings}:2: not valid YAML" in ended.err
    assert settings.read_text("utf-8") == "agent: [\n"
    assert list(settings.parent.glob("hermes.yaml.2*")) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--quick", "--blank"), "--quick and --blank are two ways in.\n        Leave one out.\n"),
        (("--full", "tools"), "--full and tools are two ways in.\n        Leave one out.\n"),
        (
            ("--keep-keys",),
            "--keep-keys belongs to --non-interactive.\n"
            "        `hermes config set NAME` writes a key to .env.\n",
        ),
        (
            ("moon",),
            "Invalid value for '[SECTION]': 'moon' is not one of 'model', 'speech', 'terminal', "
            "'gateway', 'tools', 'agent'.\n        `hermes setup --help` shows how.\n",
        ),
    ],
)
def test_words_that_make_no_sense_together_are_refused(
    command: Command, words: tuple[str, ...], told: str
) -> None:
    ended = command.run("setup", *words)
    assert (ended.status, ended.err) == (2, f"hermes: {told}")
