"""`hermes setup` and `hermes model pick` at a real terminal (tmux), as a person uses them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hermes_plugins.testing import Command, ScriptedServer, replies
from hermes_plugins.testing._terminal import Terminal

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux")

SECRET = "sk-test-not-a-real-key"
HEAD = "Hermes setup. Nothing is written before the end; Ctrl-C leaves everything as it is.\n"
NEXT = """Next:
  hermes                  talk
  hermes -q "…"           ask one question
  hermes model            see and change the model
  hermes setup gateway    chat platforms; also: speech, terminal, tools, agent
"""


def answer(terminal: Terminal, question: str, text: str, *, times: int = 1) -> None:
    """Type an answer once the question is there."""
    terminal.wait_for(question, times=times)
    terminal.type(text)


def connected(settings: Path, server: ScriptedServer, more: str = "") -> None:
    settings.write_text(
        f"model: {{provider: custom, base_url: {server.url}, name: one}}\n{more}", "utf-8"
    )


def test_from_nothing_to_an_answer_with_a_server_at_an_address(
    command: Command, terminal: Terminal, settings: Path
) -> None:
    models = ("big", "small")
    script = [replies.say("Hello, you.")]
    with ScriptedServer(script, only="/v1/", key=SECRET, models=models) as server:
        root = server.url.removesuffix("/v1")
        terminal.start("setup")
        answer(terminal, "Which way? [1]", "quick")
        answer(terminal, "Number or name [1]", "another address")
        answer(terminal, "Address, such as", "moon://x")
        answer(terminal, "Address, such as", root, times=2)
        answer(terminal, "CUSTOM_API_KEY (you will not see it)", f" {SECRET} ")
        answer(terminal, "Model", "small")
        assert not settings.exists()
        answer(terminal, "Write it? [Y/n]", "")
        answer(terminal, "Try it with one small question?", "y")
        screen = terminal.wait_for("ended with 0")
        sent = server.requests[0].headers["authorization"]
    assert screen.startswith(HEAD)
    assert "  An address looks like http://127.0.0.1:8080/v1.\n" in screen
    assert f"{server.url} wants a key.\n" in screen
    assert f"{server.url} is what answers; that is taken.\n" in screen
    assert "   1  big\n   2  small\n" in screen
    assert (
        "This is going to be written:\n"
        "  model.provider  custom\n"
        f"  model.base_url  {server.url}\n"
        "  model.name      small   (was auto)\n"
        "  CUSTOM_API_KEY  to .env, unseen\n"
    ) in screen
    assert "> Say hello.\nHello, you.\ncustom/small answered in " in screen
    assert NEXT in screen
    assert SECRET not in screen
    assert sent == f"Bearer {SECRET}"
    assert settings.with_name(".env").read_text("utf-8") == f"CUSTOM_API_KEY={SECRET}\n"
    assert list(settings.parent.glob("hermes.yaml.2*")) == []


def test_ctrl_c_at_any_question_leaves_everything_as_it_was(
    command: Command, terminal: Terminal, settings: Path
) -> None:
    before = "agent: {name: Ada}\n"
    settings.write_text(before, "utf-8")
    with ScriptedServer(models=("a",)) as server:
        terminal.start("setup", "--quick", environ={"OLLAMA_BASE_URL": server.url})
        answer(terminal, "Use it? [Y/n]", "")
        terminal.wait_for("Write it? [Y/n]")
        terminal.press("C-c")
        screen = terminal.wait_for("ended with 130")
    assert "The model is ollama/a (the first that is usable).\n" in screen
    assert "Nothing was changed.\n" in screen
    assert settings.read_text("utf-8") == before
    assert not settings.with_name(".env").exists()


def test_a_no_at_the_end_writes_nothing(
    command: Command, terminal: Terminal, settings: Path
) -> None:
    with ScriptedServer(models=("a",)) as server:
        terminal.start("setup", "--quick", environ={"OLLAMA_BASE_URL": server.url})
        answer(terminal, "Use it? [Y/n]", "")
        answer(terminal, "Write it? [Y/n]", "n")
        assert "Nothing was changed.\n" in terminal.wait_for("ended with 1")
    assert not settings.exists()


def test_a_key_that_is_refused_is_asked_for_again(
    command: Command, terminal: Terminal, settings: Path
) -> None:
    with ScriptedServer(key=SECRET, models=("gpt-6-luna", "other")) as server:
        terminal.start("setup", "--quick", environ={"OPENAI_BASE_URL": server.url})
        answer(terminal, "Number or name [1]", "openai")
        answer(terminal, "OPENAI_API_KEY (you will not see it; Enter goes back)", "sk-test-wrong")
        answer(terminal, "Type another one? [Y/n]", "")
        answer(terminal, "OPENAI_API_KEY (you will not see it; Enter goes back)", SECRET, times=2)
        answer(terminal, "[gpt-6-luna]", "")
        answer(terminal, "Write it? [Y/n]", "")
        answer(terminal, "Try it with one small question?", "n")
        screen = terminal.wait_for("ended with 0")
    assert "OpenAI does not accept this key (status 401).\n" in screen
    assert "A key for OpenAI can be had at https://platform.openai.com/api-keys\n" in screen
    assert settings.read_text("utf-8") == "model:\n  name: openai/gpt-6-luna\n"
    assert settings.with_name(".env").read_text("utf-8") == f"OPENAI_API_KEY={SECRET}\n"


def test_a_server_that_is_off_and_no_key_lead_back_to_the_choice(
    command: Command, terminal: Terminal
) -> None:
    terminal.start("setup", "--quick")
    answer(terminal, "Number or name [1]", "ollama")
    answer(terminal, "Choose another provider? [Y/n]", "")
    answer(terminal, "Number or name [1]", "9", times=2)
    answer(terminal, "Number or name [1]", "open", times=3)
    answer(terminal, "Number or name [1]", "1", times=4)
    answer(terminal, "OPENROUTER_API_KEY (you will not see it; Enter goes back)", "")
    terminal.wait_for("Which provider?", times=3)
    terminal.press("C-d")
    screen = terminal.wait_for("ended with 130")
    assert (
        "Ollama does not answer at http://127.0.0.1:9/v1. Start it, and come back.\n"
        "It can be had at https://ollama.com/download\n"
    ) in screen
    assert screen.count("  A number from 1 to 7, or a name of the list.\n") == 2
    assert "   7  another address  any OpenAI-compatible server\n" in screen


def test_full_asks_the_sections_in_order_with_those_of_plugins(
    command: Command, terminal: Terminal, settings: Path
) -> None:
    with ScriptedServer() as server:
        connected(settings, server)
        before = settings.read_text("utf-8")
        terminal.start("setup", "--full", rows=90)
        answer(terminal, "Use it? [Y/n]", "")
        answer(terminal, "Folder to start in:", "")
        answer(terminal, "Shell:", "")
        answer(terminal, "Seconds that a command may take [180]", "long")
        answer(terminal, "Seconds that a command may take [180]", "99", times=2)
        answer(terminal, "Talk on IRC? [y/N]", "y")
        answer(terminal, "Server [localhost]", "irc.example.org")
        answer(terminal, "Port [6697]", "")
        answer(terminal, "Encrypt it (TLS)? [Y/n]", "")
        answer(terminal, "Nick [hermes]", "")
        answer(terminal, "Account, where the server has them:", "ada")
        answer(terminal, "Its password (you will not see it; Enter for none)", SECRET)
        answer(terminal, "Channels to join:", "#a, #b")
        answer(terminal, "Who may talk to it:", "ada")
        answer(terminal, "Switch which?", "7")
        answer(terminal, "Switch which?", "3, todo", times=2)
        answer(terminal, "Its name [Hermes]", "")
        answer(terminal, "Number or name [1]", "smart")
        answer(terminal, "Model calls that one message may take [90]", "")
        answer(terminal, "Write it? [Y/n]", "")
        answer(terminal, "Try it with one small question?", "n")
        screen = terminal.wait_for("ended with 0")
    assert "The model is custom/one (hermes.yaml:1).\n" in screen
    places = [
        screen.index(title)
        for title in (
            "Speech: nothing that is",
            "\nTerminal\n",
            "\nIRC\n",
            "\nTools\n",
            "\nAgent\n",
        )
    ]
    assert places == sorted(places)
    assert "  terminal.timeout must be a number above 0 and at most 86400, not 'long'.\n" in screen
    assert "  7 is none of them.\n" in screen
    assert "  toolsets.by_face.cli   without todo, memory\n" in screen
    assert "  IRC_SASL_PASSWORD      to .env, unseen\n" in screen
    assert "`hermes gateway run` starts the chat platforms.\n" in screen
    assert SECRET not in screen
    (kept,) = settings.parent.glob("hermes.yaml.2*")
    assert kept.read_text("utf-8") == before
    after = command.run("config", "check")
    assert (after.status, after.out) == (0, "Nothing to mend.\n")
    for key, value in {
        "terminal.timeout": "99.0",
        "plugins.irc.server": "irc.example.org",
        "plugins.irc.channels": '["#a", "#b"]',
        "platforms.irc.allow": '["ada"]',
        "gate.mode": "smart",
    }.items():
        assert command.run("config", "get", key).out == f"{value}\n"
    assert "agent:" not in settings.read_text("utf-8")  # what was only confirmed is not written


def test_a_section_alone_can_be_done_again_and_enter_changes_nothing(
    command: Command, terminal: Terminal, settings: Path
) -> None:
    settings.write_text("agent: {name: Ada}\nplugins: {irc: {nick: bot}}\n", "utf-8")
    terminal.start("setup", "gateway")
    answer(terminal, "Talk on IRC? [y/N]", "")
    screen = terminal.wait_for("ended with 0")
    assert "Nothing to change.\n" in screen
    assert "Server" not in screen
    assert "Next:" not in screen


def test_a_dash_empties_a_setting(command: Command, terminal: Terminal, settings: Path) -> None:
    settings.write_text("terminal: {shell: fish}\n", "utf-8")
    terminal.start("setup", "terminal")
    answer(terminal, "Folder to start in:", "")
    answer(terminal, "Shell [fish]", "-")
    answer(terminal, "Seconds that", "-")
    answer(terminal, "Seconds that", "", times=2)
    answer(terminal, "Write it? [Y/n]", "")
    screen = terminal.wait_for("ended with 0")
    assert "  terminal.shell  empty   (was fish)\n" in screen
    assert command.run("config", "get", "terminal.shell").out == "\n"


def test_a_first_turn_that_fails_says_what_to_do(
    command: Command, terminal: Terminal, settings: Path
) -> None:
    with ScriptedServer([replies.fail(402, "Insufficient credits")], models=("one",)) as server:
        connected(settings, server)
        terminal.start("setup", "model")
        answer(terminal, "Use it? [Y/n]", "")
        answer(terminal, "Try it with one small question?", "")
        screen = terminal.wait_for("ended with 1")
    assert "hermes: OpenAI-compatible server says that credit or quota is used up" in screen
    assert "`hermes model probe` looks closer; `hermes setup model` chooses again.\n" in screen


# -- the home of another agent ---------------------------------------------------------


def other_home(person: Path, config: str, secrets: str) -> None:
    folder = person / ".hermes"
    folder.mkdir()
    (folder / "config.yaml").write_text(config, "utf-8")
    (folder / ".env").write_text(secrets, "utf-8")


def test_keys_and_model_of_a_hermes_agent_home_are_taken_over(
    command: Command, terminal: Terminal, settings: Path, bare_machine: Path
) -> None:
    other_home(
        bare_machine,
        "_config_version: 33\nmodel:\n  default: anthropic/claude\n  provider: auto\n"
        "  base_url: https://openrouter.ai/api/v1\nterminal: {backend: local}\nmemory: {}\n",
        f"export OPENROUTER_API_KEY='{SECRET}'\nFAL_KEY={SECRET}\nOPENAI_API_KEY=\n",
    )
    terminal.start("setup", "--quick")
    answer(terminal, "Take it over? That home stays as it is. [Y/n]", "")
    answer(terminal, "Use it? [Y/n]", "")
    answer(terminal, "Write it? [Y/n]", "")
    answer(terminal, "Try it with one small question?", "n")
    screen = terminal.wait_for("ended with 0").replace("\n", "")
    told = (
        "From it can be taken:",
        "  OPENROUTER_API_KEY",
        "  model openrouter/anthropic/claude",
        "Not taken:",
        "  other settings of its config.yaml (terminal, memory)",
        "  variables that nothing installed knows (FAL_KEY)",
        "  its sessions, memories and skills: they stay where they are",
    )
    assert "".join(told) in screen
    assert "The model is openrouter/anthropic/claude (from that home)." in screen
    assert settings.read_text("utf-8") == "model:\n  name: openrouter/anthropic/claude\n"
    assert settings.with_name(".env").read_text("utf-8") == f"OPENROUTER_API_KEY={SECRET}\n"


def test_what_does_not_fit_is_told_and_a_no_takes_nothing(
    command: Command, terminal: Terminal, settings: Path, bare_machine: Path
) -> None:
    other_home(
        bare_machine,
        "model: {default: claude, provider: anthropic, base_url: https://openrouter.ai/api/v1}\n",
        f"OPENAI_API_KEY={SECRET}\n",
    )
    terminal.start("setup", "--quick")
    answer(terminal, "Take it over?", "n")
    screen = terminal.wait_for("Which provider?")
    assert "  its model claude: no installed provider has it, or the key is missing\n" in screen
    assert "   2  OpenAI           needs a key\n" in screen
    terminal.press("C-c")
    terminal.wait_for("ended with 130")
    assert not settings.with_name(".env").exists()


# -- hermes model ----------------------------------------------------------------------


def test_a_model_is_picked_by_a_part_of_its_name_and_a_number(
    command: Command, terminal: Terminal, settings: Path
) -> None:
    models = [f"vendor/model-{number}" for number in range(40)]
    with ScriptedServer(models=models) as server:
        terminal.start("model", "pick", environ={"OLLAMA_BASE_URL": server.url})
        screen = terminal.wait_for("Number or name [1]")
        assert "   1  Ollama           answers, 40 models\n" in screen
        terminal.type("1")
        screen = terminal.wait_for("[vendor/model-0]")
        assert "      and 28 more; a part of a name finds them\n" in screen
        terminal.type("nope")
        answer(terminal, "nope is not in the list. Take it? [y/N]", "n")
        answer(terminal, "[vendor/model-0]", "model-3", times=2)
        answer(terminal, "[vendor/model-3]", "2")
        screen = terminal.wait_for("ended with 0")
    assert "The model is ollama/vendor/model-30 now.\n" in screen
    assert settings.read_text("utf-8") == "model:\n  name: ollama/vendor/model-30\n"


def test_tab_completes_the_name_of_a_model(
    command: Command, terminal: Terminal, settings: Path
) -> None:
    pytest.importorskip("prompt_toolkit")
    with ScriptedServer(models=("alpha", "beta-large", "gamma")) as server:
        terminal.start("model", "pick", environ={"OLLAMA_BASE_URL": server.url})
        answer(terminal, "Number or name [1]", "ollama")
        terminal.wait_for("Model (Tab completes) [alpha]")
        terminal.tmux("send-keys", "-l", "larg")
        terminal.press("Tab")
        terminal.wait_for("[alpha]: beta-large")
        terminal.press("Enter")
        terminal.wait_for("The model is ollama/beta-large now.")


def test_a_missing_key_is_asked_for_where_somebody_can_answer(
    command: Command, terminal: Terminal, settings: Path
) -> None:
    with ScriptedServer(key=SECRET, models=("gpt-6-luna",)) as server:
        environ = {"OPENAI_BASE_URL": server.url}
        terminal.start("model", "openai/gpt-6-luna", environ=environ)
        answer(terminal, "OPENAI_API_KEY (you will not see it)", SECRET)
        terminal.wait_for("ended with 0")
    assert settings.with_name(".env").read_text("utf-8") == f"OPENAI_API_KEY={SECRET}\n"


def test_the_address_that_answers_is_written_when_the_person_agrees(
    command: Command, terminal: Terminal, settings: Path
) -> None:
    with ScriptedServer(then=replies.say("hello"), only="/v1/") as server:
        root = server.url.removesuffix("/v1")
        settings.write_text(
            f"# home\nmodel: {{provider: custom, base_url: {root}, name: one}}\n", "utf-8"
        )
        terminal.start("model", "probe")
        answer(terminal, f"Write model.base_url: {server.url}? [Y/n]", "")
        terminal.wait_for("ended with 0")
        assert command.run("model", "probe").status == 0
    assert settings.read_text("utf-8").startswith("# home\nmodel: {provider: custom, base_url: ")
