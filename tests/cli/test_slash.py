"""Slash commands, typed at the prompt of a real host."""

from __future__ import annotations

import pytest

from hermes_core.slash import parse
from hermes_plugins import (
    ApprovalAsked,
    SlashCommand,
    SlashContext,
    TextPart,
    UsageError,
    hookimpl,
)
from hermes_plugins.testing import FakePrompt, ScriptedServer, TestHost, replies


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("/title  A new day ", ("title", "A new day")),
        ("/QUIT", ("quit", "")),
        ("/?", ("?", "")),
        ("/steer two\nlines", ("steer", "two\nlines")),
        ("/etc/passwd is a file", None),
        ("/ what", None),
        ("say /help", None),
        ("//", None),
        ("/2 of it", None),
    ],
)
def test_a_command_is_told_from_a_message(line: str, meant: tuple[str, str] | None) -> None:
    assert parse(line) == meant


async def test_a_mistyped_command_is_answered_with_the_one_that_was_meant(hermes) -> None:
    async with hermes(provider="offline") as host:
        prompt = await host.prompt()
        assert await prompt.type("/modle") == "There is no command /modle. Did you mean /model?"
        assert await prompt.type("/tool") == (
            "There is no command /tool. Did you mean /tools or /toolsets?"
        )
        assert await prompt.type("/xyzzy") == "There is no command /xyzzy. /help lists them."
        assert await prompt.type("a message") is None


async def test_help_has_a_line_for_every_command(hermes) -> None:
    async with hermes(provider="offline") as host:
        said = await (await host.prompt()).type("/help") or ""
    names = [line.split()[0].removeprefix("/") for line in said.splitlines()]
    assert " ".join(names) == (
        "approve branch compress deny edit help memory model new provider queue quit resume retry "
        "save skills status steer stop title tools toolsets undo usage verbose yolo"
    )


# -- sessions --------------------------------------------------------------------------


async def talked(host: TestHost, *questions: str) -> FakePrompt:
    for question in questions:
        await host.ask(question)
    return await host.prompt()


async def test_undo_goes_on_without_the_last_question_and_the_old_session_is_kept(hermes) -> None:
    with ScriptedServer(then=replies.say("ok")) as server:
        async with hermes(server=server) as host:
            prompt = await talked(host, "one", "two")
            before = prompt.session.info
            said = await prompt.type("/undo")
            assert said == f"Taken back: 'two'. {before.id} still has it."
            after = prompt.session.info
            assert [one.text for one in prompt.session.history] == ["one", "ok"]
            assert (after.parent, after.kind, after.title) == (before.id, "undo", "one (undo)")
            assert len(await host.runtime.store.messages(before.id)) == 4
            await prompt.type("/undo")
            assert prompt.session.history == ()
            assert prompt.session.info.title == "one (undo)"
            assert await prompt.type("/undo") == "There is no question to take back."


async def test_what_was_said_while_it_worked_is_taken_back_with_its_question(hermes) -> None:
    script = [
        replies.call("todo", {}),
        replies.say("done"),
    ]
    with ScriptedServer(script) as server:
        async with hermes(server=server) as host:
            session = await host.session()
            async with session.run("plan it") as run:
                async for event in run:
                    if event.__class__.__name__ == "ToolStarted":
                        assert run.steer("and be quick")
            assert [one.text for one in session.history if one.role == "user"] == [
                "plan it",
                "and be quick",
            ]
            prompt = await host.prompt()
            await prompt.type("/undo")
            assert prompt.session.history == ()


async def test_retry_asks_the_same_again_or_something_better(hermes) -> None:
    with ScriptedServer(then=replies.say("ok")) as server:
        async with hermes(server=server) as host:
            prompt = await talked(host, "one", "two")
            await prompt.type("/retry")
            (message,) = prompt.submitted
            assert getattr(message, "parts", None) == (TextPart("two"),)
            assert [one.text for one in prompt.session.history] == ["one", "ok"]


async def test_branch_new_and_resume_change_the_session(hermes) -> None:
    with ScriptedServer(then=replies.say("ok")) as server:
        async with hermes(server=server) as host:
            prompt = await talked(host, "one")
            first = prompt.session.info.id
            assert first in (await prompt.type("/branch") or "")
            assert prompt.session.info.id != first
            assert [one.text for one in prompt.session.history] == ["one", "ok"]
            await prompt.type("/new")
            assert prompt.session.history == ()
            assert await prompt.type(f"/resume {first}") == "Going on with one."
            assert prompt.session.info.id == first
            assert await prompt.type(f"/resume {first}") == "That is this session."
            assert f"{first}  one" in (await prompt.type("/resume") or "")
            assert "There is no session 'nope'" in (await prompt.type("/resume nope") or "")
            assert prompt.session.info.id == first


async def test_a_new_session_keeps_the_model_whatever_provider_the_settings_name(hermes) -> None:
    with ScriptedServer(then=replies.say("ok")) as server:
        async with hermes(server=server) as host:
            prompt = await host.prompt()
            for line in ("/new", "/toolsets todo", "/new"):
                await prompt.type(line)
                assert prompt.session.model == "custom/scripted"
            async with prompt.session.run("one") as run:
                async for _ in run:
                    pass
            assert server.requests[-1].json["model"] == "scripted"


async def test_title_is_shown_and_set(hermes) -> None:
    with ScriptedServer(then=replies.say("ok")) as server:
        async with hermes(server=server) as host:
            prompt = await talked(host, "one")
            assert await prompt.type("/title") == "one"
            assert await prompt.type("/title  A new   day") == "The title is now 'A new day'."
            assert await prompt.type("/title") == "A new day"


async def test_status_and_usage_tell_the_session(hermes) -> None:
    with ScriptedServer(then=replies.say("ok")) as server:
        async with hermes(server=server) as host:
            prompt = await talked(host, "one")
            status = await prompt.type("/status") or ""
            assert "model      custom/scripted" in status
            assert "context    15 tokens; the window is not known" in status
            assert "approvals  manual (asks you)" in status
            assert await prompt.type("/usage") == (
                "custom/scripted: 10 tokens in (0 cached), 5 out"
            )


async def test_save_writes_the_conversation_and_never_over_a_file(hermes) -> None:
    with ScriptedServer(then=replies.say("Hello.")) as server:
        async with hermes(server=server) as host:
            prompt = await talked(host, "hi")
            path = host.workspace / "talk.md"
            assert await prompt.type("/save talk.md") == f"Written to {path}."
            text = path.read_text(encoding="utf-8")
            assert text == "# hi\n\n## You\n\nhi\n\n## custom/scripted\n\nHello.\n"
            assert "is there already" in (await prompt.type("/save talk.md") or "")
            assert "needs a file" in (await prompt.type("/save") or "")
            await prompt.type("/save talk.jsonl")
            lines = (host.workspace / "talk.jsonl").read_text(encoding="utf-8").splitlines()
            assert len(lines) == 3


async def test_compress_says_what_there_is_and_what_helps(hermes) -> None:
    async with hermes(provider="offline") as host:
        said = await (await host.prompt()).type("/compress") or ""
    assert said.startswith(
        "Nothing was compressed: no installed plugin offers the engine compressor (context.engine)."
    )
    assert "/new begins an empty session" in said


async def test_skills_lists_the_packs_of_the_home_and_how_to_use_one(hermes) -> None:
    async with hermes(provider="offline") as host:
        prompt = await host.prompt()
        folder = host.runtime.paths.skills
        assert await prompt.type("/skills") == (
            f"No skills yet. A skill is a folder with a SKILL.md, put into {folder}."
        )
        for place, text in {
            "tea": "---\nname: tea-ceremony\ndescription: How\n  to make it.\n---\n# Tea\n",
            "work/mail": "no front matter",
            "broken": "---\nname: [\n---\n",
        }.items():
            (folder / place).mkdir(parents=True)
            (folder / place / "SKILL.md").write_text(text, encoding="utf-8")
        said = await prompt.type("/skills") or ""
    assert said == (
        "broken        (no description)\n"
        "mail          (no description)\n"
        "tea-ceremony  How to make it.\n"
        "\nHermes does not pick skills by itself yet. To use one, say for example:\n"
        f"  Follow {folder / 'broken' / 'SKILL.md'}"
    )


# -- models and tools ------------------------------------------------------------------


async def test_another_model_answers_from_now_on_and_after_resuming(hermes) -> None:
    with ScriptedServer(then=replies.say("ok")) as server:
        async with hermes(server=server) as host:
            prompt = await talked(host, "one")
            assert await prompt.type("/model custom/other") == "custom/other answers from now on."
            await host.ask("two")
            assert server.requests[-1].json["model"] == "other"
            assert (await prompt.type("/model") or "").startswith("custom/other answers.")
            session = prompt.session.info.id
        async with hermes(server=server, resume=session) as host:
            assert (await host.session()).model == "custom/other"


async def test_a_provider_that_does_not_exist_changes_nothing(hermes) -> None:
    with ScriptedServer() as server:
        async with hermes(server=server) as host:
            prompt = await host.prompt()
            assert "No provider 'ofline' is installed. Did you mean offline?" in (
                await prompt.type("/provider ofline") or ""
            )
            assert prompt.session.model == "custom/scripted"
            assert "offline" in (await prompt.type("/provider") or "")
            await prompt.type("/provider offline")
            assert prompt.session.model.startswith("offline/")


async def test_tools_and_toolsets_are_listed_and_chosen(hermes) -> None:
    async with hermes(provider="offline", toolsets=("todo", "file")) as host:
        prompt = await host.prompt()
        assert "todo: Keep a plan" in (await prompt.type("/tools") or "")
        listed = await prompt.type("/toolsets") or ""
        assert "todo: todo\n" in listed
        assert "terminal: not here\n" in listed
        await prompt.type("/toolsets todo")
        assert [one.name for one in prompt.session.tools if one.name != "memory"] == ["todo"]


async def test_memory_shows_both_files(hermes) -> None:
    async with hermes(provider="offline") as host:
        folder = host.runtime.paths.memories
        folder.mkdir(parents=True)
        (folder / "USER.md").write_text("likes tea\n§\nis\ntired\n", encoding="utf-8")
        said = await (await host.prompt()).type("/memory") or ""
    assert "Notes (MEMORY.md)\n  nothing yet\n" in said
    assert "  1. likes tea\n  2. is\n     tired\n" in said


# -- the face --------------------------------------------------------------------------


async def test_yolo_switches_approvals_off_and_on_again(hermes) -> None:
    (line, again) = ({"command": "rm x"}, {"command": "rm y"})
    script = [
        replies.call("terminal", line),
        replies.say("a"),
        replies.call("terminal", again),
        replies.say("b"),
    ]
    with ScriptedServer(script) as server:
        async with hermes(server=server) as host:
            prompt = await host.prompt()
            assert "Approvals are off" in (await prompt.type("/yolo") or "")
            asked = await host.ask("go")
            assert prompt.session.status.mode == "off"
            assert await prompt.type("/yolo") == "Approvals are on again."
            denied = await host.ask("go")
    assert "nobody can be asked" not in str(server.requests[1].messages[-1])
    assert "nobody can be asked" in str(server.requests[3].messages[-1])
    assert asked.of(ApprovalAsked) == denied.of(ApprovalAsked) == []


async def test_what_the_face_does_is_asked_of_the_face(hermes) -> None:
    async with hermes(provider="offline") as host:
        prompt = await host.prompt()
        assert await prompt.type("/queue next") == ""
        assert await prompt.type("/steer now") == ""
        prompt.edited = "from the editor"
        assert await prompt.type("/edit") == ""
        assert prompt.submitted == ["next", "now", "from the editor"]
        assert await prompt.type("/stop") == "Nothing is running."
        assert await prompt.type("/approve") == "Nothing waits for an answer."
        prompt.is_asked = True
        assert await prompt.type("/approve session") == ""
        assert await prompt.type("/deny not today") == ""
        assert [(one.choice, one.reason) for one in prompt.answers[1:]] == [
            ("session", ""),
            ("deny", "not today"),
        ]
        assert "say once, session or always" in (await prompt.type("/approve maybe") or "")
        assert await prompt.type("/verbose") == "Results of tools are shown whole."
        assert "needs a message" in (await prompt.type("/queue") or "")
        await prompt.type("/quit")
        assert prompt.left


# -- of plugins ------------------------------------------------------------------------


def offering(*names: str) -> object:
    async def say(context: SlashContext, argument: str) -> str:
        if argument == "crash":
            raise ValueError("ouch")
        if argument == "wrong":
            raise UsageError("not like that.", hint="Like this.")
        return f"said {argument}"

    class Plugin:
        @hookimpl
        def hermes_register_slash_commands(self) -> list[SlashCommand]:
            return [SlashCommand(name=name, help="Say.", run=say) for name in names]

    return Plugin()


async def test_a_command_of_a_plugin_that_fails_is_one_line(hermes) -> None:
    plugins = {("hermes.lifecycle", "p"): offering("say")}
    async with hermes(provider="offline", plugins=plugins) as host:
        prompt = await host.prompt()
        assert await prompt.type("/say it") == "said it"
        assert await prompt.type("/say wrong") == "Not like that.\nLike this."
        assert await prompt.type("/say crash") == (
            "The plugin p failed: /say raised ValueError: ouch"
        )
        assert "p: /say raised ValueError: ouch" in host.problems


async def test_two_plugins_with_one_command_are_told_and_neither_has_it(hermes) -> None:
    plugins = {("hermes.lifecycle", name): offering("say") for name in ("p", "q")}
    async with hermes(provider="offline", plugins=plugins) as host:
        prompt = await host.prompt()
        assert await prompt.type("/say it") == "There is no command /say. /help lists them."
        assert "p: slash command say is also offered by q" in host.problems


async def test_a_command_of_the_kernel_cannot_be_taken_away(hermes) -> None:
    plugins = {("hermes.lifecycle", "p"): offering("quit")}
    async with hermes(provider="offline", plugins=plugins) as host:
        prompt = await host.prompt()
        await prompt.type("/quit")
        assert prompt.left
        assert "p: its /quit is left out: that is a command of Hermes itself" in host.problems
