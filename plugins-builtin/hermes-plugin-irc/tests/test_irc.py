"""The platform irc: the kit's suite and the protocol, against a server that this test plays."""

from __future__ import annotations

import asyncio
import base64
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hermes_plugin_irc import (
    SASL_PASSWORD,
    SERVER_PASSWORD,
    Settings,
    hermes_register_config,
    hermes_register_platforms,
    wire,
)
from hermes_plugin_irc.client import SILENCE, Irc

from hermes_core.clock import SystemClock
from hermes_plugins import (
    DeliveryError,
    HermesError,
    InboundMessage,
    OutboundMessage,
    Platform,
    Watched,
)
from hermes_plugins.testing import FakeHost, FakeInbox, PlatformConformance, VirtualClock


class Service:
    """The other end, with what ngircd lacks: capabilities, accounts, message ids, SASL."""

    def __init__(self, *, offers: str = "account-tag message-tags sasl", taken: int = 0) -> None:
        self.offers = offers
        self.taken = taken
        self.password = "sk-test-not-a-real-key"
        self.lines: list[str] = []
        self.pings = 0
        self.answers: dict[str, str] = {}
        """Command -> what is answered in place of the usual."""
        self.changed = asyncio.Condition()
        self.ready = asyncio.Event()
        self.writer: asyncio.StreamWriter | None = None

    async def open(self, ssl: Any = None) -> int:
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0, ssl=ssl)
        return int(self.server.sockets[0].getsockname()[1])

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        while raw := await reader.readline():
            assert len(raw) <= wire.LINE
            line = raw.decode("utf-8").removesuffix("\r\n")
            async with self.changed:
                self.lines.append(line)
                self.changed.notify_all()
            if line.startswith("QUIT"):
                break
            self.reply(line)
        writer.close()

    def reply(self, line: str) -> None:
        command, _, rest = line.partition(" ")
        if command in self.answers:
            self.say(*filter(None, [self.answers[command]]))
        elif line == "CAP LS 302":
            self.say(f":irc.test CAP * LS :{self.offers}")
        elif line.startswith("CAP REQ"):
            self.say(f":irc.test CAP * ACK {rest.removeprefix('REQ ')}")
        elif line == "AUTHENTICATE PLAIN":
            self.say("AUTHENTICATE +")
        elif command == "AUTHENTICATE":
            told = base64.b64decode(rest).decode()
            right = told == f"bot\0bot\0{self.password}"
            self.say(":irc.test 903 * :ok" if right else ":irc.test 904 * :SASL failed")
        elif command == "NICK":
            if self.taken:
                self.taken -= 1
                self.say(f":irc.test 433 * {rest} :Nickname is already in use")
            self.nick = rest
            self.welcome()
        elif command in ("USER",) or line == "CAP END":
            self.welcome()
        elif command == "JOIN":
            self.say(f":{self.nick}!~h@host JOIN {rest}")
        elif command == "PING":
            self.say(f":irc.test PONG irc.test {rest}")

    def welcome(self) -> None:
        is_done = not self.offers or any(line == "CAP END" for line in self.lines)
        knows = any(line.startswith("USER") for line in self.lines) and not self.taken
        if is_done and knows and not self.ready.is_set():
            self.say(f":irc.test 001 {self.nick} :Welcome")
            self.ready.set()

    def say(self, *lines: str) -> None:
        assert self.writer is not None
        self.writer.write("".join(f"{line}\r\n" for line in lines).encode())

    async def wait(self, found: Callable[[], bool]) -> None:
        async with SystemClock().timeout(10), self.changed:
            await self.changed.wait_for(found)

    async def gets(self, text: str, *, count: int = 1) -> None:
        await self.wait(lambda: sum(text in line for line in self.lines) >= count)

    async def settled(self) -> None:
        """Wait until the client has worked through what was said to it."""
        self.pings += 1
        self.say(f"PING :sync-{self.pings}")
        await self.gets(f"PONG :sync-{self.pings}")

    @property
    def said(self) -> list[str]:
        return [line.partition(" :")[2] for line in self.lines if line.startswith("PRIVMSG ")]

    async def close(self) -> None:
        self.server.close()
        if self.writer is not None:
            self.writer.close()


def platform(port: int, *, clock: Any = None, secrets: Any = None, **settings: Any) -> Irc:
    section = Settings(**{"server": "127.0.0.1", "port": port, "tls": False, **settings})
    return Irc(
        FakeHost(
            Path("home"),
            plugin="irc",
            section=section,
            clock=clock or SystemClock(),
            variables=secrets or {},
        )
    )


class TestIrc(PlatformConformance):
    chat = "ada"
    sender = "ada-account"

    async def connect(self) -> Platform:
        self.service = Service()
        return platform(await self.service.open())

    async def arrive(self, number: str, text: str) -> None:
        await self.service.ready.wait()
        tags = f"@account=ada-account;msgid=m{number}"
        self.service.say(f"{tags} :ada!~a@host PRIVMSG hermes :{text}")
        await self.service.settled()

    async def sent(self, count: int) -> Sequence[str]:
        await self.service.wait(lambda: len(self.service.said) >= count)
        return self.service.said

    async def disconnect(self) -> None:
        await self.service.close()


class Connected:
    """An `Irc` that runs against a `Service`."""

    def __init__(self, service: Service, irc: Irc, inbox: FakeInbox) -> None:
        self.service, self.irc, self.inbox = service, irc, inbox
        self.task = asyncio.create_task(irc.run(inbox))

    async def failure(self) -> BaseException | None:
        async with SystemClock().timeout(10):
            await asyncio.wait({self.task})
        return self.task.exception()


@pytest.fixture
async def connect() -> Any:
    started: list[Connected] = []

    async def connect(service: Service | None = None, **options: Any) -> Connected:
        service = service or Service()
        irc = platform(await service.open(), **options)
        started.append(Connected(service, irc, FakeInbox()))
        return started[-1]

    yield connect
    for one in started:
        one.task.cancel()
        await asyncio.wait({one.task})
        await one.service.close()


Connect = Callable[..., Awaitable[Connected]]


async def ready(connect: Connect, service: Service | None = None, **options: Any) -> Connected:
    there = await connect(service, **options)
    await there.service.ready.wait()
    for channel in options.get("channels", ()):
        await there.service.gets(f"JOIN {channel}")
    await there.service.settled()
    return there


def going(text: str, *, chat: str = "#garden", ident: str = "1") -> OutboundMessage:
    return OutboundMessage(id=ident, chat=chat, text=text)


async def test_it_logs_in_with_sasl_before_it_registers(connect: Connect) -> None:
    secrets = {SASL_PASSWORD: "sk-test-not-a-real-key"}
    there = await ready(connect, account="bot", secrets=secrets)
    assert there.service.lines.index("CAP END") > there.service.lines.index("AUTHENTICATE PLAIN")


@pytest.mark.parametrize(
    ("service", "secrets", "message"),
    [
        ({}, {}, "needs IRC_SASL_PASSWORD"),
        ({}, {SASL_PASSWORD: "wrong"}, "refused the login of bot: SASL failed"),
        ({"offers": "message-tags"}, {SASL_PASSWORD: "x"}, "offers no SASL"),
    ],
)
async def test_without_the_login_it_does_not_go_on(
    connect: Connect, service: dict[str, str], secrets: dict[str, str], message: str
) -> None:
    there = await connect(Service(**service), account="bot", secrets=secrets)  # type: ignore[arg-type]
    failure = await there.failure()
    assert isinstance(failure, HermesError)
    assert message in str(failure)
    assert not there.service.ready.is_set()


async def test_a_server_that_knows_no_capabilities_is_fine(connect: Connect) -> None:
    service = Service(offers="")
    service.answers["CAP"] = ":irc.test 421 * CAP :Unknown command"
    there = await ready(connect, service)
    assert there.irc.trouble() == ""


async def test_the_servers_own_password_comes_first(connect: Connect) -> None:
    there = await ready(connect, secrets={SERVER_PASSWORD: "open sesame"})
    assert there.service.lines[1] == "PASS :open sesame"


async def test_a_nick_that_is_taken_gets_another_end(connect: Connect) -> None:
    there = await ready(connect, Service(taken=2))
    nicks = [line for line in there.service.lines if line.startswith("NICK")]
    assert nicks == ["NICK hermes", "NICK hermes_", "NICK hermes__"]


async def test_after_many_taken_nicks_it_gives_up(connect: Connect) -> None:
    there = await connect(Service(taken=99))
    assert "no nick like hermes is free" in str(await there.failure())


async def test_a_sender_is_their_account_else_their_whole_mask(connect: Connect) -> None:
    there = await ready(connect)
    there.service.say(
        "@account=ada :ada!~a@host PRIVMSG hermes :one",
        ":ada!~a@host PRIVMSG hermes :two",
        "@account= :ada!~a@host PRIVMSG Hermes :three",
    )
    await there.inbox.wait_for(3)
    senders = [message.sender for message in there.inbox.messages]
    assert senders == ["ada", "ada!~a@host", "ada!~a@host"]
    assert {message.chat for message in there.inbox.messages} == {"ada"}


async def test_what_is_not_said_to_it_is_not_delivered(connect: Connect) -> None:
    there = await ready(connect, channels=("#garden",))
    there.service.say(
        ":ada!~a@host PRIVMSG #garden :hello all",
        ":ada!~a@host PRIVMSG #garden :hermesetas: no",
        ":ada!~a@host PRIVMSG #garden :hermes:",
        ":ada!~a@host NOTICE hermes :a bot must not answer a notice",
        ":ada!~a@host PRIVMSG hermes :\x01VERSION\x01",
        ":hermes!~h@host PRIVMSG hermes :to myself",
        "PRIVMSG",
        "",
        ":ada!~a@host PRIVMSG #Garden :HERMES: yes",
    )
    await there.inbox.wait_for(1)
    (message,) = there.inbox.messages
    assert (message.text, message.chat, message.group) == ("yes", "#garden", True)


async def test_bytes_that_are_no_utf_8_and_endless_lines_do_no_harm(connect: Connect) -> None:
    there = await ready(connect)
    assert there.service.writer is not None
    there.service.writer.write(b":a!b@c PRIVMSG hermes :" + b"x" * 40_000 + b"\r\n")
    there.service.writer.write(b":a!b@c PRIVMSG hermes :gr\xfc\xdfe\r\n")
    await there.inbox.wait_for(1)
    assert there.inbox.messages[-1].text == "grüße"


@pytest.mark.parametrize("text", ["a\r\nQUIT :x", "a\nQUIT :x", "a\rQUIT :x", "a\0QUIT :x"])
async def test_no_text_starts_a_command(connect: Connect, text: str) -> None:
    there = await ready(connect)
    await there.irc.send(going(text))
    assert there.service.said == [" ".join(["a", *[""] * text.count("\r\n"), "QUIT :x"])]
    assert not any(line.startswith("QUIT") for line in there.service.lines)


@pytest.mark.parametrize("chat", ["#a\r\nQUIT", "a b", "#a,#b", ":x", ""])
async def test_no_target_starts_a_command_or_names_two(connect: Connect, chat: str) -> None:
    there = await ready(connect)
    with pytest.raises(DeliveryError) as caught:
        await there.irc.send(going("hi", chat=chat))
    assert caught.value.fate == "refused"
    assert there.service.said == []


def test_the_longest_text_fits_behind_the_longest_prefix() -> None:
    head = f":{'n' * 30}!~{'u' * 10}@{'h' * 63} PRIVMSG {'#' * 64} :"
    assert len((head + "x" * Irc.limits.text).encode()) + 2 == 512
    assert Irc.limits.unit == "bytes"


@pytest.mark.parametrize(
    ("numeric", "fate"), [("401", "refused"), ("404", "not_sent"), ("403", "not_sent")]
)
async def test_what_the_server_does_not_take_has_no_receipt(
    connect: Connect, numeric: str, fate: str
) -> None:
    there = await ready(connect)
    there.service.answers["PRIVMSG"] = f":irc.test {numeric} hermes #garden :No"
    with pytest.raises(DeliveryError, match="#garden: No") as caught:
        await there.irc.send(going("hi"))
    assert caught.value.fate == fate


async def test_a_connection_lost_while_sending_leaves_it_unknown(connect: Connect) -> None:
    there = await ready(connect)
    there.service.answers["PING"] = ""
    sending = asyncio.create_task(there.irc.send(going("hi")))
    await there.service.gets("PRIVMSG")
    await there.service.close()
    with pytest.raises(DeliveryError) as caught:
        await sending
    assert caught.value.fate == "unknown"
    assert isinstance(await there.failure(), OSError)
    with pytest.raises(DeliveryError, match="not connected") as caught:
        await there.irc.send(going("hi", ident="2"))
    assert caught.value.fate == "not_sent"


async def test_a_server_that_says_nothing_is_asked_and_then_left(connect: Connect) -> None:
    clock = VirtualClock()
    there = await ready(connect, clock=clock)
    there.service.answers["PING"] = ""
    await clock.advance(SILENCE + 1)
    await there.service.gets("PING :still there?")
    await clock.advance(SILENCE + 1)
    assert "has gone silent" in str(await there.failure())


async def test_trouble_names_the_channels_that_it_is_not_in(connect: Connect) -> None:
    there = await ready(connect, channels=("#garden", "#den"))
    assert isinstance(there.irc, Watched)
    assert there.irc.trouble() == ""
    there.service.say(":op!o@host KICK #garden hermes :be quiet")
    await there.service.settled()
    assert there.irc.trouble() == "not in #garden: kicked by op (be quiet)"
    there.service.say(":irc.test 474 hermes #den :Cannot join channel (+b)")
    await there.service.settled()
    assert "not in #den: Cannot join channel (+b)" in there.irc.trouble()
    there.service.say("ERROR :Closing link")
    assert "closed the connection: Closing link" in str(await there.failure())
    assert there.irc.trouble().startswith("not connected to 127.0.0.1:")


async def test_what_is_said_until_it_has_left_is_delivered(connect: Connect) -> None:
    class Late(FakeInbox):
        async def deliver(self, message: InboundMessage) -> Any:
            return await super().deliver(message)

    there = await ready(connect)
    there.service.say(*[f":ada!~a@host PRIVMSG hermes :{number}" for number in range(20)])
    there.task.cancel()
    await asyncio.wait({there.task})
    assert [one.text for one in there.inbox.messages] == [str(number) for number in range(20)]
    assert there.service.lines[-1] == "QUIT :see you"


async def test_tls_is_checked_against_the_certificates_that_are_trusted(
    connect: Connect, tmp_path: Path
) -> None:
    import ssl

    certificate, key = tmp_path / "server.pem", tmp_path / "key.pem"
    try:
        subprocess.run(
            [
                *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
                *("-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"),
                *("-keyout", str(key), "-out", str(certificate)),
            ],
            check=True,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl cannot make a certificate here")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    service = Service()
    port = await service.open(ssl=context)
    trusting = platform(port, tls=True, ca_file=str(certificate))
    task = asyncio.create_task(trusting.run(FakeInbox()))
    await service.ready.wait()
    task.cancel()
    await asyncio.wait({task})
    with pytest.raises(ssl.SSLCertVerificationError):
        await platform(port, tls=True).run(FakeInbox())
    await service.close()


def test_lines_are_read_as_the_standards_write_them() -> None:
    line = wire.parse(rb"@a=1\:2\s3;b;msgid=x :n!u@h  PRIVMSG  #c   :two  words" + b"\r\n")
    assert line == wire.Line(
        command="PRIVMSG",
        params=("#c", "two  words"),
        source="n!u@h",
        tags={"a": "1;2 3", "b": "", "msgid": "x"},
    )
    assert wire.parse(b":only.source\r\n") is None
    assert wire.parse(b"PING") == wire.Line(command="PING")


def test_a_long_password_is_sent_in_pieces() -> None:
    pieces = list(wire.sasl_plain("bot", "p" * 700))
    assert [len(piece) for piece in pieces[:-1]] == [400, 400]
    assert base64.b64decode("".join(pieces)) == b"bot\0bot\0" + b"p" * 700
    assert list(wire.sasl_plain("", "p" * 298))[-1] == "+"


def test_what_the_plugin_declares() -> None:
    (section,) = hermes_register_config()
    assert section.schema() == Settings()
    (spec,) = hermes_register_platforms()
    assert (spec.id, spec.keeps_keys, spec.replays) == ("irc", False, False)
