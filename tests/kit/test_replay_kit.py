"""The kit's `Replay`: what it runs, what it refuses, and what of a folder it compares."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from hermes_plugins import Allow, Deny, Effects
from hermes_plugins.testing import Replay, a_call, replies
from hermes_plugins.testing._inside import Inside
from hermes_plugins.testing._tree import normal, tree_of


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"writes": ("a.txt",)}, ""),
        ({"writes": ("{folder}/person/x",)}, ""),
        ({"writes": ("/etc/passwd",)}, "/etc/passwd is outside"),
        ({"reads": ("{folder}-2/a",)}, "is outside"),
        ({"reads": ("../../a",)}, "is outside"),
        ({"fetches": ("http://127.0.0.1:80/x",)}, ""),
        ({"fetches": ("example.org",)}, "example.org is not on this machine"),
        ({"sends": ("mail:ada@example.org",)}, "is not on this machine"),
        ({"unknown": True}, "it does not say what it touches"),
    ],
)
async def test_a_call_may_touch_its_own_folder_only(
    tmp_path: Path, said: Mapping[str, object], reason: str
) -> None:
    await judged(tmp_path, said, reason)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("make test && ls -la src", ""),
        ("echo hi > out.txt 2>&1 < /dev/null", ""),
        ("/usr/bin/env python3 run.py --out=build/x", ""),
        ("cat ~/notes; touch $HOME/x", ""),
        ("sed -i 's/a/b/' a.txt && awk '/foo/ {print}' a.txt", ""),
        ("cd build && cmake ..", ""),
        ("rm -rf /srv/data", "/srv/data is outside"),
        ("cp a.txt ../../b.txt", "../../b.txt is outside"),
        ("echo x > /tmp/out", "/tmp/out is outside"),
        ("tar xf a.tar --directory=/opt", "/opt is outside"),
        ("python3 -c \"open('/etc/motd', 'w')\"", "/etc/motd is outside"),
        ("curl -s http://example.org", "curl acts on more"),
        ("wget2 http://example.org/x", "is not on this machine"),
        ("git clone git@example.org:x.git", "is not on this machine"),
        ("git push", "git push acts on more"),
        ("git commit -m push-ups", ""),
        ("python3 -m pip install x", "pip install acts on more"),
        ("sudo make", "sudo acts on more"),
        ("sh -c 'kill 1'", "kill acts on more"),
        ("bash <<< 'rm /srv/x'", "/srv/x is outside"),
    ],
)
async def test_what_a_command_names_is_looked_at(tmp_path: Path, command: str, reason: str) -> None:
    await judged(tmp_path, {"runs": (command,)}, reason)


async def judged(folder: Path, said: Mapping[str, object], reason: str) -> None:
    workspace = folder / "workspace"
    filled = {
        kind: tuple(one.replace("{folder}", str(folder)) for one in value)
        if isinstance(value, tuple)
        else value
        for kind, value in said.items()
    }
    call = a_call(Effects(**filled), workspace=str(workspace))  # type: ignore[arg-type]
    answer = await Inside(folder).hermes_before_tool_call(call)
    if reason:
        assert isinstance(answer, Deny)
        assert reason in answer.reason
    else:
        assert answer == Allow()


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("at 2026-11-30T10:15:00Z.", "at <time>."),
        ("2026-11-30 10:15:00,123 INFO", "<time> INFO"),
        ("Mon Nov 30 10:15:00 UTC 2026", "<time>"),
        ("Mon, 30 Nov 2026 10:15:00 +0100", "<time>"),
        ("in 20261130_101500_ab12cd, log-20261130_101500", "in <session>, log-<time>"),
        ("due 2026-12-24", "due <date>"),
        ("pid 4242, PID=7", "pid <pid>, PID=<pid>"),
        ("/w/space/a and /w/spaces", "<workspace>/a and /w/spaces"),
        ("10 pieces in 12 lines, 3:1", "10 pieces in 12 lines, 3:1"),
    ],
)
def test_what_differs_every_time_is_made_the_same(text: str, same: str) -> None:
    assert normal(text, names={"/w/space": "<workspace>"}) == same


def test_a_folder_is_compared_by_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "a.txt").write_text("A\n", "utf-8")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "index").write_bytes(b"\0")
    (tmp_path / "empty").touch()
    (tmp_path / "long").write_text("x" * 2001, "utf-8")
    (tmp_path / "picture").write_bytes(b"\xff\xd8\xff")
    found = tree_of(tmp_path, names={})
    assert found["long"].startswith("(2,001 bytes, sha256 ")
    assert found["picture"].startswith("(3 bytes, sha256 ")
    rest = {name: text for name, text in found.items() if name not in ("long", "picture")}
    assert rest == {".git/": "...", "deep/a.txt": "A\n", "deep/er/": "", "empty": ""}


def test_a_message_runs_the_tools_and_the_answers_are_given_in_order(tmp_path: Path) -> None:
    with Replay(tmp_path) as replay:
        replay.start("file", "terminal", files={"in/a.txt": "A\n"})
        asked = replay.said(
            "Copy it twice.",
            replies.call("terminal", {"command": "cp in/a.txt b.txt"}),
            replies.call("terminal", {"command": "cp in/a.txt c.txt"}),
            replies.say("Once."),
            answers=("once", "deny"),
        )
        assert asked.text == "Once."
        assert replay.calls == [
            ("terminal", {"command": "cp in/a.txt b.txt"}, "ok"),
            ("terminal", {"command": "cp in/a.txt c.txt"}, "blocked"),
        ]
        assert replay.asked == [(tool, args["command"]) for tool, args, _ in replay.calls]
        assert replay.tree == {"in/a.txt": "A\n", "b.txt": "A\n"}
        replay.said("And again?", replies.say("No."), replies.say("Never asked for."))
        assert replay.unused == 1


def test_nothing_of_this_machine_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_MODEL__NAME", "other")
    monkeypatch.setenv("SOME_API_KEY", "sk-test-not-a-real-key")
    monkeypatch.setenv("PLAIN", "seen")
    command = 'echo "[$HOME] [$SOME_API_KEY] [$PLAIN] [$https_proxy]" > env.txt'
    with Replay(tmp_path) as replay:
        replay.start("terminal")
        replay.said(
            "Show.",
            replies.call("terminal", {"command": command}),
            replies.say("x"),
            answers=("once",),
        )
        assert replay.tree["env.txt"] == "[<folder>/person] [] [seen] [http://127.0.0.1:9]\n"


def test_a_plan_that_is_none_is_told(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "hermes_plugins.testing.replay"],
        input=json.dumps({"turns": [{"replies": []}]}).encode(),
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert b"missing required field `said`" in done.stderr
