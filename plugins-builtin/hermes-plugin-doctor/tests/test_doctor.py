"""`hermes doctor`, as it is called: on a sound home, and on each that is not."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest

from hermes_plugins.testing import Command, Ended, ScriptedRequest, ScriptedServer
from hermes_plugins.testing.replies import Reply, call, say

posix = pytest.mark.skipif(os.name == "nt", reason="modes are POSIX's")


def doctor(command: Command, *options: str, environ: dict[str, str] | None = None) -> Ended:
    return command.run("doctor", *options, environ={"TERM": "xterm", **(environ or {})})


def findings(ended: Ended, part: str) -> list[tuple[str, str, str]]:
    """Level, text and hint of a part of the JSON."""
    told = msgspec.json.decode(ended.stdout)
    assert told["v"] == 1
    found = [one for one in told["parts"] if one["id"] == part]
    return [(f["level"], f["text"], f["hint"]) for one in found for f in one["findings"]]


def reads_with_a_tool(request: ScriptedRequest) -> Reply:
    last = request.messages[-1]
    if last["role"] != "tool":
        return call("read_file", {"path": "doctor.txt"})
    found = re.search(r"[a-z]+\d{4}", str(last["content"]))
    return say(found[0] if found else "nothing")


@contextmanager
def web(status: int, body: bytes, *, date: str = "") -> Iterator[str]:
    """A server that answers every GET alike."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def date_time_string(self, timestamp: float | None = None) -> str:
            return date or super().date_time_string(timestamp)

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


# -- all is well -----------------------------------------------------------------------


def test_a_new_home_is_fine_and_the_stand_in_runs_a_real_turn(command: Command) -> None:
    ended = doctor(command)
    assert ended.status == 0, ended.err
    assert ended.err == ""
    assert re.search(r"^Home +ok .*: can be written, ", ended.out, re.M)
    assert re.search(r"^Settings +ok +All defaults", ended.out, re.M)
    assert re.search(r"^Database +ok +Nothing is kept yet", ended.out, re.M)
    assert re.search(r"^Shell +ok +Commands run in ", ended.out, re.M)
    assert re.search(r"^Model +warn +No model is connected", ended.out, re.M)
    assert re.search(
        r"^A real turn +ok +offline/offline-1 read a file with a tool", ended.out, re.M
    )
    assert "does not work" not in ended.out
    assert not (command.home / "state.db").exists()


def test_a_model_that_reads_a_file_with_a_tool_is_said_to_work(command: Command) -> None:
    with ScriptedServer(reads_with_a_tool) as server:
        command.talks_to(server)
        ended = doctor(command, "--json")
    assert ended.status == 0
    assert [one[0] for one in findings(ended, "model")] == ["ok", "ok"]
    ((level, text, _),) = findings(ended, "turn")
    assert level == "ok"
    assert text.startswith("custom/scripted read a file with a tool and said what was in it")
    assert "doctor.txt" in str(server.requests[0].messages)
    assert command.run("sessions", "list").out.startswith("No session yet")


def test_without_a_turn_the_model_is_not_asked(command: Command) -> None:
    with ScriptedServer() as server:
        command.talks_to(server)
        ended = doctor(command, "--no-turn", "--json")
    assert findings(ended, "turn") == [("info", "Not tried: --no-turn.", "")]
    assert server.requests == []


# -- the model -------------------------------------------------------------------------


def test_a_model_that_calls_no_tool_can_talk_and_do_nothing(command: Command) -> None:
    with ScriptedServer([say("It says pelican, I think.")]) as server:
        command.talks_to(server)
        ended = doctor(command, "--json")
    ((level, text, hint),) = findings(ended, "turn")
    assert (ended.status, level) == (1, "fail")
    assert "calls no tool" in text
    assert "can call tools" in hint


def test_a_model_that_does_not_read_what_it_got_is_doubtful(command: Command) -> None:
    with ScriptedServer([call("read_file", {"path": "doctor.txt"}), say("Done.")]) as server:
        command.talks_to(server)
        ended = doctor(command, "--json")
    ((level, text, _),) = findings(ended, "turn")
    assert (ended.status, level) == (0, "warn")
    assert "does not say what stood in it" in text


def test_a_tool_that_fails_is_told_with_its_words(command: Command) -> None:
    with ScriptedServer([call("read_file", {"path": "moon.txt"}), say("Sorry.")]) as server:
        command.talks_to(server)
        ended = doctor(command, "--json")
    ((level, text, _),) = findings(ended, "turn")
    assert level == "fail"
    assert "called read_file, which failed" in text


def test_without_the_file_tools_the_turn_is_only_talk(command: Command) -> None:
    assert command.run("plugins", "disable", "file").status == 0
    with ScriptedServer([say("Hello.")]) as server:
        command.talks_to(server)
        ended = doctor(command, "--json")
    ((level, text, hint),) = findings(ended, "turn")
    assert level == "warn"
    assert "No tool was tried" in text
    assert "hermes plugins enable file" in hint


def test_a_server_that_is_not_there_is_told_and_no_turn_is_tried(command: Command) -> None:
    with ScriptedServer() as server:
        command.talks_to(server)
    ended = doctor(command, "--json")
    assert ended.status == 1
    (_, (level, text, _)) = findings(ended, "model")
    assert level == "fail"
    assert "no connection" in text
    assert findings(ended, "turn")[0][1] == "Not tried: mend what stands above first."


def test_a_key_that_is_refused_is_told_with_where_it_comes_from(command: Command) -> None:
    with web(401, b"{}") as url:
        environ = {"OPENAI_API_KEY": "sk-test-not-a-real-key", "OPENAI_BASE_URL": url}
        ended = doctor(command, "--json", environ={**environ, "HERMES_MODEL__PROVIDER": "openai"})
    level, text, hint = findings(ended, "model")[-1]
    assert level == "fail"
    assert text == "openai does not accept the key from OPENAI_API_KEY (401)."
    assert "hermes config set OPENAI_API_KEY" in hint
    assert "sk-test" not in ended.out


def test_a_missing_key_is_a_missing_key_and_not_something_else(command: Command) -> None:
    ended = doctor(command, "--json", environ={"HERMES_MODEL__PROVIDER": "openai"})
    ((level, text, hint),) = findings(ended, "model")
    assert (level, text) == ("fail", "OpenAI needs a key.")
    assert "hermes config set OPENAI_API_KEY" in hint


def test_a_clock_that_is_wrong_is_told_by_how_much(command: Command) -> None:
    body = msgspec.json.encode({"data": [{"id": "scripted"}]})
    with web(200, body, date="Tue, 01 Jan 2030 00:00:00 GMT") as url:
        environ = {
            "HERMES_MODEL__PROVIDER": "custom",
            "HERMES_MODEL__BASE_URL": url,
            "HERMES_MODEL__NAME": "scripted",
        }
        ended = doctor(command, "--json", "--no-turn", environ=environ)
    told = [text for level, text, _ in findings(ended, "model") if level == "warn"]
    assert len(told) == 1
    assert re.fullmatch(r"This machine's clock is \d+ minutes (ahead|behind)\.", told[0])


def test_a_model_that_the_server_does_not_list_is_told(command: Command) -> None:
    with ScriptedServer(models=["other"]) as server:
        command.talks_to(server)
        ended = doctor(command, "--json", "--no-turn")
    level, text, hint = findings(ended, "model")[-1]
    assert level == "warn"
    assert "has no model 'scripted'" in text
    assert hint == "`hermes config set model.name custom/MODEL`"


# -- what is broken --------------------------------------------------------------------


def test_broken_settings_are_told_with_their_line_and_the_rest_is_looked_at(
    command: Command,
) -> None:
    command.home.mkdir()
    (command.home / "hermes.yaml").write_text("gate:\n  mode: [\n", encoding="utf-8")
    ended = doctor(command, "--json")
    assert ended.status == 1
    levels = [one[0] for one in findings(ended, "settings")]
    assert levels == ["fail", "info"]
    assert re.search(r"hermes\.yaml:\d+: not valid YAML", findings(ended, "settings")[0][1])
    assert findings(ended, "plugins")
    assert findings(ended, "turn")[0][1] == "Not tried: mend what stands above first."


def test_a_setting_that_means_nothing_is_a_warning(command: Command) -> None:
    command.home.mkdir()
    (command.home / "hermes.yaml").write_text(
        "moon: 1\nplugins: {memory-files: {stars: 2}}\n", "utf-8"
    )
    ended = doctor(command, "--json", "--no-turn")
    assert ended.status == 0
    texts = " ".join(text for _, text, _ in findings(ended, "settings"))
    assert "unknown key moon" in texts
    assert "stars" in texts


def test_a_home_that_is_no_folder_is_told_and_the_rest_left(command: Command) -> None:
    command.home.write_text("not a folder", encoding="utf-8")
    ended = doctor(command)
    assert ended.status == 1
    assert re.search(r"^Home +fail .* cannot be written: ", ended.out, re.M)
    assert "The rest was not looked at: it needs a home." in ended.out
    assert "HERMES_HOME" in ended.out


@posix
@pytest.mark.skipif(sys.platform != "win32" and os.geteuid() == 0, reason="root may read anything")
def test_a_home_that_cannot_be_read_is_told(command: Command) -> None:
    command.home.mkdir(mode=0o000)
    ended = doctor(command)
    command.home.chmod(0o700)
    assert ended.status == 1
    assert "cannot be" in ended.out


def test_a_damaged_database_is_told_and_a_turn_runs_all_the_same(command: Command) -> None:
    command.home.mkdir(mode=0o700)
    (command.home / "state.db").write_bytes(b"not a database " * 1000)
    ended = doctor(command, "--json")
    assert ended.status == 1
    ((level, text, hint),) = findings(ended, "database")
    assert level == "fail"
    assert "is damaged" in text
    assert hint
    assert findings(ended, "turn")[0][0] == "ok"
    assert (command.home / "state.db").read_bytes().startswith(b"not a database")


def test_a_wrong_shell_is_told_with_the_setting(command: Command) -> None:
    assert command.run("config", "set", "plugins.terminal.shell", "/no/such/shell").status == 0
    ((level, text, hint),) = findings(doctor(command, "--json", "--no-turn"), "terminal.shell")
    assert level == "fail"
    assert "/no/such/shell" in text
    assert "hermes config set plugins.terminal.shell" in hint


def test_an_encoding_that_lacks_letters_is_told(command: Command) -> None:
    ended = doctor(command, "--no-turn", environ={"PYTHONIOENCODING": "latin-1"})
    assert re.search(r"^Terminal +warn +Its encoding is (latin-1|iso8859-1):", ended.out, re.M)


def test_a_policy_that_fails_is_said_to_keep_sessions_from_starting(command: Command) -> None:
    site = command.folder.parent / "site"
    info = site / "hermes_plugin_strict-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: hermes-plugin-strict\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text("[hermes.policies]\nstrict = hermes_plugin_strict\n")
    (site / "hermes_plugin_strict.py").write_text("import nothing_of_that_name\n")
    command.home.mkdir()
    (command.home / "hermes.yaml").write_text("plugins: {enabled: [strict]}\n", encoding="utf-8")
    ended = doctor(command, "--json", environ={"PYTHONPATH": str(site)})
    level, text, hint = findings(ended, "plugins")[0]
    assert (ended.status, level) == (1, "fail")
    assert "nothing_of_that_name" in text
    assert "no session starts" in text
    assert "hermes plugins disable strict" in hint
    assert findings(ended, "turn")[0][0] == "fail"


def test_platforms_that_are_on_without_a_gateway_and_without_people_are_told(
    command: Command,
) -> None:
    command.home.mkdir()
    settings = "platforms: {irc: {enabled: true}}\n"
    (command.home / "hermes.yaml").write_text(settings, encoding="utf-8")
    found = findings(doctor(command, "--json", "--no-turn"), "gateway")
    assert [one[0] for one in found] == ["warn", "warn"]
    assert found[0][1:] == ("Does not run, so nobody is answered on irc.", "`hermes gateway run`")
    assert "nobody may talk to the agent there" in found[1][1]


# -- mending ---------------------------------------------------------------------------


@posix
def test_fix_mends_modes_and_says_so(command: Command) -> None:
    command.home.mkdir(mode=0o755)
    command.home.chmod(0o755)
    secrets = command.home / ".env"
    secrets.write_text("OPENAI_API_KEY=sk-test-not-a-real-key\n", encoding="utf-8")
    secrets.chmod(0o644)
    told = doctor(command, "--no-turn")
    assert "`hermes doctor --fix` mends 2 of them." in told.out
    assert secrets.stat().st_mode & 0o777 == 0o644
    ended = doctor(command, "--no-turn", "--fix")
    assert f"{secrets} is yours alone now (mode 600)." in ended.out
    assert "2 mended" in ended.out
    assert secrets.stat().st_mode & 0o777 == 0o600
    assert command.home.stat().st_mode & 0o777 == 0o700
    assert "--fix" not in doctor(command, "--no-turn").out


def test_fix_forgets_plugins_that_are_gone(command: Command) -> None:
    command.home.mkdir(mode=0o700)
    file = command.home / "hermes.yaml"
    file.write_text("# mine\nplugins:\n  enabled: [ghost, trace]\n", encoding="utf-8")
    ended = doctor(command, "--no-turn", "--fix")
    assert "ghost is out of plugins.enabled now." in ended.out
    assert file.read_text("utf-8") == "# mine\nplugins:\n  enabled: [trace]\n"


def test_fix_builds_the_search_index_anew_and_takes_dead_marks_away(command: Command) -> None:
    assert command.run("--provider", "offline", "-q", "help").status == 0
    state = command.home / "state.db"
    with sqlite3.connect(state) as connection:
        connection.execute("INSERT INTO message_index (message_index) VALUES ('delete-all')")
        connection.execute("UPDATE sessions SET holder = 'cli (pid 1)', lease_until = 1000")
    connection.close()
    before = findings(doctor(command, "--json", "--no-turn"), "database")
    assert [one[0] for one in before] == ["warn", "info"]
    ended = doctor(command, "--no-turn", "--fix")
    assert "The search index is built anew." in ended.out
    assert "The mark of 1 session is taken away." in ended.out
    ((level, text, _),) = findings(doctor(command, "--json", "--no-turn"), "database")
    assert level == "ok"
    assert text.startswith("Sound; 1 session, ")


def test_what_two_places_of_a_file_share_is_mended_in_one(command: Command) -> None:
    command.home.mkdir(mode=0o700)
    file = command.home / "hermes.yaml"
    file.write_text("plugins: &all\n  enabled: [ghost]\nmore: *all\n", encoding="utf-8")
    ended = doctor(command, "--no-turn", "--fix")
    kept = file.read_text("utf-8")
    assert "ghost is out of plugins.enabled now." in ended.out
    assert kept == "more:\n  enabled: [ghost]\n"


def test_secrets_are_not_printed(command: Command) -> None:
    command.home.mkdir()
    (command.home / ".env").write_text("OPENAI_API_KEY=sk-test-not-a-real-key-000\n", "utf-8")
    (command.home / "hermes.yaml").write_text("moon: sk-test-not-a-real-key-000\n", "utf-8")
    ended = doctor(command, "--no-turn", "--json")
    assert b"not-a-real-key" not in ended.stdout + ended.stderr


def test_a_wrong_option_is_refused(command: Command) -> None:
    ended = doctor(command, "--fixx")
    assert ended.status == 2
    assert "--fix" in ended.err


def test_the_folder_that_the_call_was_made_in_may_be_gone(command: Command, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    ended = command.run("doctor", "--no-turn", cwd=gone, before=gone.rmdir)
    assert ended.status == 0, ended.err
