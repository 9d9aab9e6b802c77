"""A session as a test: "Rename the chapters.".

Written by `hermes replay 20261130_101500_ab12cd --as-test`; change it as you like.
"""

from pathlib import Path

from hermes_plugins.testing import Replay, replies


def test_rename_the_chapters(tmp_path: Path) -> None:
    with Replay(tmp_path) as replay:
        replay.start("file", "terminal", files={"book/one.txt": "Chapter 1\nIt rained.\n"})
        replay.said(
            "Rename the chapters.",
            replies.call("read_file", {"path": "book/one.txt"}),
            replies.call(
                "patch",
                {"path": "book/one.txt", "old_string": "Chapter 1", "new_string": "Part 1"},
            ),
            replies.call("terminal", {"command": "mv book/one.txt book/part-1.txt"}),
            replies.say("Renamed."),
            answers=("once",),
        )
        # call 4, terminal: ok in the session, blocked here (git push acts on more than the workspace)
        replay.said(
            "Push it.", replies.call("terminal", {"command": "git push"}), replies.say("Pushed.")
        )
        assert replay.calls == [
            ("read_file", {"path": "book/one.txt"}, "ok"),
            (
                "patch",
                {"path": "book/one.txt", "old_string": "Chapter 1", "new_string": "Part 1"},
                "ok",
            ),
            ("terminal", {"command": "mv book/one.txt book/part-1.txt"}, "ok"),
            ("terminal", {"command": "git push"}, "blocked"),
        ]
        assert replay.tree == {
            "book/part-1.txt": "Part 1\nIt rained.\n",
        }
