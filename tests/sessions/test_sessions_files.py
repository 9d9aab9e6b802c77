"""``hermes sessions export`` and ``import``: what goes out comes in again as it was, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hermes_core.clock import SystemClock
from hermes_core.gate.redact import redact
from hermes_core.store import intake, transfer
from hermes_core.store.sqlite import Store
from hermes_plugins import (
    ImagePart,
    Message,
    SessionInfo,
    StoredMessage,
    TextPart,
    ToolCall,
    UnknownPart,
    Usage,
    UsageError,
    assistant_message,
    user_message,
)
from hermes_plugins.testing import ScriptedServer, replies
from hermes_plugins.testing._command import Command

KEY = "sk-test-not-a-real-key-0123456789"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Moves to another home."""

    def move(name: str = "elsewhere") -> Path:
        monkeypatch.setenv("HERMES_HOME", str(tmp_path / name))
        return tmp_path / name

    return move


# -- there and back ----------------------------------------------------------------------


def test_sessions_move_to_another_home_whole(say, fill, elsewhere, tmp_path: Path) -> None:
    fill("a", "b", title="", days=3)
    fill("child", parent="a")
    fill("c", title="mine")
    file = tmp_path / "all.jsonl"
    assert say("export", "--all", "-o", str(file)).status == 0
    before = say("export", "--all").out
    elsewhere()
    imported = say("import", str(file))
    assert imported.lines == [
        "a  4 messages  tell me of a",
        "b  4 messages  tell me of b",
        "child  4 messages  tell me of child",
        "c  4 messages  mine",
    ]
    assert say("export", "--all").out == before
    assert "b  " not in say("search", "all of a").out
    assert say("repair").out == "All is well.\n"
    assert "c " in say("list").out
    assert (
        say("prune", "--older-than", "1d", "--dry-run", "--keep-titled").lines[-1].startswith("2 ")
    )


def test_an_imported_session_goes_on_with_its_prompt(
    command: Command, model_server: ScriptedServer, tmp_path: Path
) -> None:
    model_server.script(*[replies.say("answer")] * 5)
    command.talks_to(model_server)
    command.run("-q", "the first question")
    session = command.run("sessions", "list").out.split()[0]
    data = command.run("sessions", "export", session, "--with-secrets").stdout
    command.home = tmp_path / "elsewhere"
    there = {"HERMES_HOME": str(command.home)}
    imported = command.run("sessions", "import", "-", input=data, environ=there)
    assert imported.out == f"{session}  2 messages  the first question\n"
    ended = command.run("-r", "the first question", "-q", "and then?", environ=there)
    assert ended.out == "answer\n"
    first, second = (one.messages for one in model_server.requests)
    assert second[: len(first)] == first
    assert [one["content"] for one in second[1:]] == [
        *("the first question", "answer", "and then?"),
    ]


def test_a_session_that_came_without_a_prompt_gets_one_that_stays(
    command: Command, model_server: ScriptedServer
) -> None:
    model_server.script(*[replies.say("answer")] * 5)
    command.talks_to(model_server)
    lines = b'{"v":1,"session":{"id":"hand-made"}}\n' + b"".join(
        b'{"position":%d,"time":1,"message":{"v":1,"role":"%s","parts":[{"type":"text","text":"x"}]}}\n'
        % (at, role)
        for at, role in ((1, b"user"), (2, b"assistant"))
    )
    assert command.run("sessions", "import", "-", input=lines).status == 0
    for _ in range(2):
        assert command.run("-r", "hand-made", "-q", "go on").out == "answer\n"
    first, second = model_server.requests
    assert first.messages[0]["role"] == "system"
    assert len(first.messages[0]["content"]) > 500
    assert first.json["tools"]
    assert second.messages[: len(first.messages)] == first.messages
    assert second.json["tools"] == first.json["tools"]


def test_a_session_that_is_here_already_comes_in_beside_it(say, fill, tmp_path: Path) -> None:
    fill("a", title="taxes")
    fill("child", parent="a")
    file = tmp_path / "a.jsonl"
    say("export", "a", "child", "-o", str(file))
    first, second = say("import", str(file)).lines
    new, rest = first.split("  ", 1)
    assert rest == "4 messages  taxes (imported); a is here already; another session has its title"
    child = second.split()[0]
    assert f"{child}  4 messages  tell me of child (imported)" in second
    assert msgspec.json.decode(say("show", child, "--json").out)["session"]["parent"] == new
    assert say("import", str(file)).lines[0].split("  ")[2].startswith("taxes (imported 2);")
    told = msgspec.json.decode(say("import", str(file), "--json").out)["imported"][0]
    assert (told["was"], told["session"]["title"]) == ("a", "taxes (imported 3)")
    assert say("show", "taxes").out.startswith("a  taxes")


_texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=60)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_secretive = st.one_of(
    _texts, st.sampled_from([f"API_KEY={KEY}", f'"password": "{KEY}"', f"Bearer {KEY}x1", KEY])
)
_parts = st.one_of(
    st.builds(TextPart, _secretive),
    st.builds(ImagePart, media_type=st.just("image/png"), data=st.just("aGk=")),
    st.builds(UnknownPart, kind=st.just("video"), raw=st.just({"type": "video", "n": 1})),
)
_calls = st.builds(ToolCall, id=_texts, name=_texts, arguments=_secretive | st.just('{"a":1}'))
_messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    parts=st.lists(_parts, max_size=3).map(tuple),
    added=st.lists(_secretive, max_size=2).map(tuple),
    tool_calls=st.lists(_calls, max_size=2).map(tuple),
    tool_call_id=_texts,
    tool_name=_texts,
    reasoning=_secretive,
    status=st.sampled_from(["ok", "failed", "interrupted"]),
    meta=st.dictionaries(_texts, _json, max_size=2),
)
_used = st.builds(
    Usage,
    input=st.integers(0, 2**40),
    output=st.integers(0, 2**40),
    cost=st.none() | st.floats(0, 1e6),
)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    title=_secretive,
    model=_texts,
    system=_secretive,
    messages=st.lists(_messages, max_size=5),
    usage=st.dictionaries(_texts, _used, max_size=2),
    named=st.booleans(),
    masked=st.booleans(),
)
def test_export_import_export_is_the_same(
    title: str,
    model: str,
    system: str,
    messages: Sequence[Message],
    usage: dict[str, Usage],
    named: bool,
    masked: bool,
) -> None:
    async def there_and_back() -> tuple[bytes, bytes]:
        clock = SystemClock()
        first = Store(Path(":memory:"), clock=clock, process="p")
        second = Store(Path(":memory:"), clock=clock, process="p")
        # Reader and writer of a store in memory see two databases: all goes through the writer.
        info = SessionInfo(id="s", title=title, model=model, workspace=model)
        await first.create_session(info, system=system, tools=b"[]")
        lease = await first.acquire("s", holder="cli")
        await first.append(lease, messages, usage=usage, model_calls=3)
        await first.write(lambda one: one.execute("UPDATE sessions SET named = ?", (named,)))
        try:
            before = await first.write(_exported)
            if masked:
                before = transfer.redacted(before, redact)
            data = transfer.written(before, as_json=True)
            brought = await second.write(
                intake.bring_in, intake.parse(data, "file"), lambda: "never"
            )
            assert [one.session.id for one in brought] == ["s"]
            again = await second.write(_exported)
            return data, transfer.written(again, as_json=True)
        finally:
            await first.close()
            await second.close()

    data, again = asyncio.run(there_and_back())
    assert again == data
    if masked:
        assert KEY.encode() not in data


def _exported(connection) -> transfer.Exported:
    connection.execute("COMMIT")  # `export` begins a transaction of its own
    try:
        return transfer.export(connection, "s")
    finally:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("SAVEPOINT job")


# -- secrets, Markdown -------------------------------------------------------------------


def test_secrets_stay_at_home_unless_they_are_asked_for(say, fill, hermes_home: Path) -> None:
    hermes_home.mkdir()
    (hermes_home / ".env").write_text("MY_OWN=correct horse battery\n", encoding="utf-8")
    call = ToolCall(id="c", name="terminal", arguments=f'{{"command":"export API_KEY={KEY}"}}')
    fill(
        "a",
        messages=[
            user_message(f"my key is {KEY}", added=(f"password={KEY}",)),
            assistant_message("It is correct horse battery.", tool_calls=(call,)),
        ],
    )
    masked = say("export", "a").out
    assert KEY not in masked
    assert "correct horse" not in masked
    assert msgspec.json.decode(masked.splitlines()[2])["message"]["tool_calls"][0]["id"] == "c"
    assert KEY not in say("export", "a", "-f", "md").out
    assert say("export", "a", "--with-secrets").out.count(KEY) == 3
    assert say("show", "a").out.count(KEY) >= 1


def test_arguments_that_masking_would_break_stay_json() -> None:
    def rude(text: str) -> str:
        return text.replace('secret"', "***")

    arguments = '{"a":"my secret","b":["secret\\""]}'
    call = ToolCall(id="c", name="t", arguments=arguments)
    message = assistant_message("", tool_calls=(call,))
    header = transfer.Header(session=SessionInfo(id="s"))
    stored = StoredMessage(position=1, time=1.0, message=message)
    (masked,) = transfer.redacted(transfer.Exported(header, [stored]), rude).messages
    kept = msgspec.json.decode(masked.message.tool_calls[0].arguments)
    assert kept == {"a": "my secret", "b": ["***"]}


def test_markdown_is_for_people(say, fill, tmp_path: Path) -> None:
    fill("a", title="taxes")
    file = tmp_path / "a.MD"
    say("export", "a", "-o", str(file))
    text = file.read_text(encoding="utf-8")
    assert text == (
        "# taxes\n\n## You\n\ntell me of a\n\n## custom/m\n\n"
        '- terminal `{"command":"ls"}`: ok\n\n## custom/m\n\nall of a 你好\n'
    )
    assert say("export", "a", "-f", "md").out == text
    assert say("export", "a", "-f", "jsonl", "-o", str(file)).status == 0
    assert file.read_text(encoding="utf-8").startswith('{"v":1,')


def test_an_export_names_its_sessions_or_all(say, fill) -> None:
    fill("a")
    for words in ((), ("a", "--all")):
        refused = say("export", *words)
        assert refused.status == 2
        assert refused.err.startswith("hermes: name the sessions, or say --all.\n")


# -- what is refused ---------------------------------------------------------------------

HEADER = b'{"v":1,"session":{"id":"x"}}'
ROW = b'{"position":1,"time":1.0,"message":{"v":1,"role":"user"}}'


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([], " holds no session."),
        ([b"", b"  "], " holds no session."),
        ([b"not json"], ", line 1: JSON is malformed"),
        ([ROW], ", line 1: a message before any session."),
        ([HEADER, b"{}"], ", line 2: Object missing required field `position`."),
        ([HEADER, b"", ROW, b'{"position":2,"ti'], ", line 4: Input data was truncated."),
        ([HEADER, ROW, ROW], ", line 3: message 1 comes after message 1."),
        ([HEADER, ROW.replace(b"1,", b"0,", 1)], ", line 2: Expected `int` >= 1"),
        ([HEADER, ROW.replace(b"user", b"king")], ", line 2: Invalid enum value 'king'"),
        ([HEADER, ROW.replace(b'"v":1', b'"v":9')], ", line 2: Invalid value 9 - at `$.v`."),
        ([HEADER, ROW.replace(b"1.0", b"1e300")], ", line 2: Expected `float` <= 253402300799.0"),
        ([HEADER, b"\xff\xfe"], ", line 2: "),
        ([HEADER, ROW.replace(b"user", b"us\xe9r")], ", line 2: "),
        ([HEADER, b"[1]"], ", line 2: Expected `object`, got `array`."),
        ([HEADER.replace(b"x", b"../x")], ", line 1: '../x' is no session id"),
        ([HEADER.replace(b'"x"', b'"x\\n"')], ", line 1: 'x\\n' is no session id"),
        ([HEADER.replace(b'"x"', b'""')], ", line 1: '' is no session id"),
        ([HEADER.replace(b'"v":1', b'"v":2')], ", line 1: Invalid value 2 - at `$.v`."),
        ([HEADER.replace(b'"x"', b'"x","created":1e300')], ", line 1: the time of the session"),
        ([HEADER.replace(b'"x"', b'"x","message_count":3'), ROW], ", line 1: this session has 3"),
        ([HEADER.replace(b'"x"', b'"x","message_count":3'), HEADER], ", line 1: this session has"),
        ([HEADER[:-1] + b',"usage":{"m":{"input":-1}}}'], ", line 1: the usage is no number"),
        ([HEADER[:-1] + b',"usage":{"m":{"cost":1e999}}}'], ", line 1: "),
        ([HEADER[:-1] + b',"tools":[{"name":1}]}'], ", line 1: Expected `str`, got `int`"),
        ([HEADER[:-1] + b',"model_calls":99999999999999999999}'], ", line 1: "),
    ],
)
def test_a_file_with_a_mistake_is_refused_whole_and_names_the_line(
    say, fill, tmp_path: Path, lines: list[bytes], text: str
) -> None:
    fill("a")
    file = tmp_path / "wrong.jsonl"
    good = say("export", "a", "-o", str(file)).status == 0
    assert good
    assert len(file.read_bytes().splitlines()) == 5
    file.write_bytes(b"\n".join(lines))
    refused = say("import", str(file))
    assert refused.status == 2
    assert refused.err.startswith(f"hermes: {file}{text}")
    assert refused.err.count("\n") == 2
    assert "Nothing was imported." in refused.err
    assert len(msgspec.json.decode(say("list", "--json").out)) == 1


def test_a_mistake_in_the_last_session_keeps_the_first_ones_out(
    say, fill, elsewhere, tmp_path: Path
) -> None:
    fill("a", "b")
    data = say("export", "--all").out.encode()
    file = tmp_path / "cut.jsonl"
    file.write_bytes(data[: data.rindex(b"\n", 0, -1) + 1])
    elsewhere()
    assert "line 6: this session has 4 messages, but ends at 3." in say("import", str(file)).err
    assert say("list").out == "No session yet. `hermes` starts one.\n"
    file.write_bytes(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n\r\n"))
    assert len(say("import", str(file)).lines) == 2


def test_a_file_that_is_not_there_or_too_large_says_so(
    say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "cannot be read: No such file" in say("import", str(tmp_path / "no")).err
    monkeypatch.setattr(intake, "MAX_BYTES", 10)
    (tmp_path / "large").write_bytes(HEADER)
    assert "is larger than 0 MB" in say("import", str(tmp_path / "large")).err


def test_a_pipe_from_home_to_home(command: Command, fill, tmp_path: Path) -> None:
    fill(*[f"s{at}" for at in range(30)])
    ended = command.shell(
        f"hermes sessions export --all | HERMES_HOME={tmp_path}/b hermes sessions import -"
    )
    assert ended.status == 0, ended.err
    assert len(ended.out.splitlines()) == 30


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=80) | st.lists(st.sampled_from([HEADER, ROW, b"", b"{}"])).map(b"\n".join)
)
def test_whatever_a_file_holds_is_read_or_refused(data: bytes) -> None:
    with suppress(UsageError):
        assert intake.parse(data, "file")
