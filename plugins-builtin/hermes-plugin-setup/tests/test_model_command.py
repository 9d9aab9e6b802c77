"""`hermes model`, as it is called in a script."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hermes_plugins.testing import Command, ScriptedServer, replies

KEY = {"OPENAI_API_KEY": "sk-test-not-a-real-key"}


def use_server(settings: Path, server: ScriptedServer, *, url: str = "", name: str = "one") -> None:
    settings.write_text(
        f"model:\n  provider: custom\n  base_url: {url or server.url}\n  name: {name}\n", "utf-8"
    )


# -- what is used ----------------------------------------------------------------------


def test_alone_it_shows_model_address_and_key_and_where_each_is_set(
    command: Command, settings: Path
) -> None:
    settings.write_text("model: openai/gpt-6-luna\n", "utf-8")
    assert command.run("model", environ=KEY).out == (
        "model    openai/gpt-6-luna   (model.name, hermes.yaml:1)\n"
        "address  https://api.openai.com/v1/chat/completions   (the provider's own)\n"
        "key      OPENAI_API_KEY, in your environment\n"
    )
    settings.with_name(".env").write_text("OPENAI_API_KEY=sk-test-not-a-real-key\n", "utf-8")
    said = command.run("model", environ={"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}).out
    assert "http://127.0.0.1:9/v1/chat/completions   (OPENAI_BASE_URL, in your environment)" in said
    assert "key      OPENAI_API_KEY, in .env" in said


def test_without_any_model_it_says_so_and_how_to_get_one(command: Command) -> None:
    ended = command.run("model")
    assert ended.status == 0
    assert ended.out.splitlines()[0] == "model    offline/offline-1   (the first that can be used)"
    assert ended.out.splitlines()[-1] == (
        "No model is connected; this one only plays a part. `hermes setup` connects one."
    )


def test_a_missing_key_is_an_error_after_what_is_known(command: Command, settings: Path) -> None:
    settings.write_text("model: openai/gpt-6-luna\n", "utf-8")
    ended = command.run("model")
    assert ended.status == 2
    assert ended.out == (
        "model    openai/gpt-6-luna   (hermes.yaml:1)\n"
        "address  https://api.openai.com/v1\n"
        "key      none\n"
    )
    assert ended.err.startswith("hermes: OpenAI needs a key.\n")


def test_json_has_all_of_it(command: Command, settings: Path) -> None:
    settings.write_text("model: openai/gpt-6-luna\n", "utf-8")
    told = msgspec.json.decode(command.run("model", "--json", environ=KEY).stdout)
    assert told["model"] == "openai/gpt-6-luna"
    assert told["setting"] == {
        "value": "openai/gpt-6-luna",
        "layer": "user",
        "file": str(settings),
        "line": 1,
    }
    assert (told["key"], told["key_from"]) == ("OPENAI_API_KEY", "environment")
    assert not told["stand_in"]
    ended = command.run("model", "--json")
    assert ended.status == 2
    assert "needs a key" in msgspec.json.decode(ended.stdout)["problem"]


# -- another one -----------------------------------------------------------------------


def test_a_model_that_is_listed_is_written(command: Command, settings: Path) -> None:
    with ScriptedServer(models=("one", "two/big")) as server:
        use_server(settings, server)
        ended = command.run("model", "two/big")
    assert ended.out == f"The model is custom/two/big now.\nWritten to {settings}.\n"
    assert "name: two/big" in settings.read_text("utf-8")
    assert "provider: custom" in settings.read_text("utf-8")


def test_one_that_is_not_listed_is_refused_with_a_guess_unless_forced(
    command: Command, settings: Path
) -> None:
    with ScriptedServer(models=("qwen3:8b", "llama")) as server:
        use_server(settings, server)
        before = settings.read_bytes()
        ended = command.run("model", "qwen3:8")
        assert (ended.status, settings.read_bytes()) == (2, before)
        assert ended.err == (
            "hermes: custom lists no model 'qwen3:8'. Did you mean qwen3:8b?\n"
            "        `hermes model list custom` shows them; --force takes it as it is.\n"
        )
        assert command.run("model", "set", "qwen3:8", "--force").status == 0
        assert 'name: "qwen3:8"' in settings.read_text("utf-8")
        assert command.run("model", "llama:free").status == 0  # a variant of one that is listed
        assert command.run("model", "llama:free").out == "It is custom/llama:free already.\n"


def test_a_provider_alone_takes_its_own_choice(command: Command, settings: Path) -> None:
    with ScriptedServer(models=("qwen3:8b", "llama")) as server:
        ended = command.run("model", "ollama", environ={"OLLAMA_BASE_URL": server.url})
    assert ended.out.startswith("The model is ollama/qwen3:8b now.\n")
    assert "ollama/qwen3:8b" in settings.read_text("utf-8")


def test_what_belonged_to_the_provider_before_goes_first_of_all_its_key(
    command: Command, settings: Path
) -> None:
    settings.write_text(
        "model:\n  base_url: http://127.0.0.1:9/v1\n  api_key: sk-test-not-a-real-key\n"
        "  context_length: 5000\n  name: mine  # at home\n",
        "utf-8",
    )
    with ScriptedServer(models=("qwen3:8b",)) as server:
        ended = command.run("model", "ollama/qwen3:8b", environ={"OLLAMA_BASE_URL": server.url})
    assert (
        "Removed, because they belonged to the one before: "
        "model.base_url, model.api_key, model.context_length.\n"
    ) in ended.out
    assert settings.read_text("utf-8") == 'model:\n  name: "ollama/qwen3:8b" # at home\n'


def test_a_provider_that_cannot_be_asked_is_believed_with_a_word(command: Command) -> None:
    ended = command.run("model", "ollama/qwen3:8b")
    assert ended.status == 0
    assert ended.out.splitlines()[-1] == (
        "Whether ollama has it could not be asked: "
        "http://127.0.0.1:9/v1/models: no connection (Connection refused)."
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("openai/gpt-6-luna",),
            "OpenAI needs a key.\n        `hermes config set OPENAI_API_KEY …`  "
            "(get one at https://platform.openai.com/api-keys)\n",
        ),
        (
            ("openai/",),
            "the model has no name.\n        `hermes model list openai` shows them.\n",
        ),
        (
            ("lst",),
            "no provider for the model 'lst': none has a key, and no local server answers. "
            "Did you mean `hermes model list`?\n        Name one as PROVIDER/MODEL; "
            "`hermes config set OPENROUTER_API_KEY …` gives it a key.\n",
        ),
        (
            ("list", "olama"),
            "no provider 'olama' is installed. Did you mean ollama?\n        There is: custom, "
            "llamacpp, lmstudio, offline, ollama, openai, openrouter, vllm.\n",
        ),
        (
            ("list",),
            "no provider can be asked: none has a key, and no local server answers.\n"
            "        `hermes setup` connects one; `hermes model list PROVIDER` asks one by name.\n",
        ),
        (
            ("--json", "list"),
            "--json stands in front of the command.\n        `hermes model list --json`\n",
        ),
        (
            ("pick",),
            "`hermes model pick` asks questions, and this is no terminal.\n"
            "        `hermes model list`, and then `hermes model PROVIDER/MODEL`\n",
        ),
    ],
)
def test_what_cannot_be_done_is_refused_and_nothing_is_written(
    command: Command, settings: Path, words: tuple[str, ...], told: str
) -> None:
    ended = command.run("model", *words)
    assert (ended.status, ended.err) == (2, f"hermes: {told}")
    assert not settings.exists()


# -- what there is ---------------------------------------------------------------------


def test_every_provider_that_can_be_used_lists_its_models(command: Command) -> None:
    with ScriptedServer(models=("a", "b")) as ollama, ScriptedServer(models=("c",)) as openai:
        environ = {**KEY, "OLLAMA_BASE_URL": ollama.url, "OPENAI_BASE_URL": openai.url}
        assert command.run("model", "list", environ=environ).out == (
            "ollama/a\nollama/b\nopenai/c\n"
        )
        rows = msgspec.json.decode(
            command.run("model", "list", "openai", "--json", environ=environ).stdout
        )
    assert [(one["provider"], one["id"], one["context_length"]) for one in rows] == [
        ("openai", "c", None)
    ]


def test_what_a_terminal_would_act_on_is_taken_out_of_names(command: Command) -> None:
    with ScriptedServer(models=("\x1b[31mred\x07",)) as server:
        environ = {"OLLAMA_BASE_URL": server.url}
        assert command.run("model", "list", "ollama", environ=environ).out == "ollama/[31mred\n"


def test_one_that_refuses_is_told_beside_those_that_answer(command: Command) -> None:
    with (
        ScriptedServer(models=("a",)) as ollama,
        ScriptedServer(key="sk-test-another-key") as openai,
    ):
        environ = {**KEY, "OLLAMA_BASE_URL": ollama.url, "OPENAI_BASE_URL": openai.url}
        ended = command.run("model", "list", environ=environ)
        assert (ended.status, ended.out) == (0, "ollama/a\n")
        assert ended.err == "openai: no list of models, status 401\n"
        alone = command.run("model", "list", "openai", environ=environ)
    assert (alone.status, alone.out) == (1, "")
    assert alone.err == (
        "hermes: openai: no list of models, status 401.\n"
        "        `hermes model probe` tries a request.\n"
    )


# -- whether it answers ----------------------------------------------------------------


def test_a_probe_is_one_small_request_and_keeps_no_session(
    command: Command, settings: Path
) -> None:
    with ScriptedServer([replies.say("hello"), replies.say("hello")]) as server:
        use_server(settings, server)
        ended = command.run("model", "probe")
        told = msgspec.json.decode(command.run("model", "probe", "--json").stdout)
        assert len(server.requests) == 2
        assert "tools" not in server.requests[0].json
        assert [one["role"] for one in server.requests[0].messages] == ["user"]
    first, second = ended.out.splitlines()
    assert first == f"custom/one answers at {server.url}/chat/completions"
    assert second.endswith(" s, 10 tokens in, 5 out")
    assert (told["input"], told["output"], told["text"]) == (10, 5, "hello")
    assert command.run("sessions", "list", "--json").stdout.strip() in (b"[]", b"")


def test_a_probe_that_fails_says_what_a_turn_would_say(command: Command, settings: Path) -> None:
    with ScriptedServer([replies.fail(401, "Incorrect API key provided.")]) as server:
        use_server(settings, server)
        ended = command.run("model", "probe")
    assert (ended.status, ended.out) == (1, "")
    assert "did not accept the key" in ended.err
    assert "hermes config set CUSTOM_API_KEY …" in ended.err


@pytest.mark.parametrize(("path", "right"), [("", "/v1"), ("/v1", "")])
def test_an_address_that_is_wrong_by_v1_is_found_out(
    command: Command, settings: Path, path: str, right: str
) -> None:
    only = f"{right}/chat"
    with ScriptedServer(then=replies.say("hello"), only=only) as server:
        root = server.url.removesuffix("/v1")
        use_server(settings, server, url=root + path)
        ended = command.run("model", "probe")
        json = msgspec.json.decode(command.run("model", "probe", "--json").stdout)
    assert ended.status == 1
    said = ended.out.splitlines()
    assert f"has nothing at this address {root}{path}/chat/completions" in said[0]
    assert said[1] == f"custom/one answers at {root}{right}/chat/completions"
    url = root + right
    assert said[3] == f"So model.base_url should be {url}: `hermes config set model.base_url {url}`"
    assert json["should_be"] == {"key": "model.base_url", "value": url}


def test_an_address_of_the_environment_is_named_as_what_to_change(command: Command) -> None:
    with ScriptedServer(then=replies.say("hello"), only="/v1/", models=("a",)) as server:
        url = server.url.removesuffix("/v1")
        ended = command.run("model", "probe", "ollama/a", environ={"OLLAMA_BASE_URL": url})
    assert ended.out.splitlines()[-1] == (
        f"So OLLAMA_BASE_URL should be {server.url}; change it in your environment."
    )
