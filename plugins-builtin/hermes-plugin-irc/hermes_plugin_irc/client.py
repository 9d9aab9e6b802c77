"""One connection to an IRC server: registering, receiving, sending.

A lost connection ends `Irc.run`; the gateway makes a new one after a pause. IRC acknowledges nothing, so
a PING goes out behind every message: the server works through lines in order, and its PONG says that it
has had the message, its error numeric that it did not take it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from contextlib import suppress
from typing import ClassVar, Final

from hermes_plugins import (
    DeliveryError,
    HermesError,
    Host,
    InboundMessage,
    Inbox,
    Limits,
    OutboundMessage,
    Receipt,
)

from . import SASL_PASSWORD, SERVER_PASSWORD, Settings, wire

CONNECT_SECONDS: Final = 30.0
"""For the connection, and again for registering."""
SILENCE: Final = 120.0
"""Seconds without a line after which we ask, and as many again after which the server is gone."""
RECEIPT_SECONDS: Final = 30.0
GOODBYE_SECONDS: Final = 2.0
REMEMBERED: Final = 500
"""Receipts that are kept, for messages that are sent again."""
CAPABILITIES: Final = ("account-tag", "message-tags", "sasl")
NICK_TRIES: Final = 8

_IN_USE: Final = ("433", "436", "437")
_NO_SASL: Final = ("902", "904", "905", "906", "908")
_NOT_JOINED: Final = ("403", "405", "471", "473", "474", "475", "476", "477")
_NOT_SENT: Final = {"401": "refused", "403": "not_sent", "404": "not_sent", "407": "refused"}
"""RFC 2812: no such nick, no such channel, cannot send to channel, too many targets. A nick that is gone
is not waited for: the next who has it may be somebody else."""


class Irc:
    """Implements the kit's `Platform` and `Watched`."""

    id: ClassVar[str] = "irc"
    # One line in two seconds after five at once is what servers put up with (RFC 2813 5.8).
    limits: ClassVar[Limits] = Limits(
        text=wire.TEXT, unit="bytes", per_second=0.5, burst=5, single_line=True
    )

    def __init__(self, host: Host) -> None:
        self._host = host
        self._clock = host.clock
        self._settings = host.section(Settings)
        self._nick = self._settings.nick
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._is_registered = False
        self._tries = 0
        self._offered: set[str] = set()
        self._away_from: dict[str, str] = {}
        self._receipts: OrderedDict[str, Receipt] = OrderedDict()
        self._sending = asyncio.Lock()
        self._sent: tuple[str, str, asyncio.Future[Receipt]] | None = None
        self._run_id = secrets.token_hex(6)
        self._received = 0

    # -- the kit's contracts -------------------------------------------------------------

    async def run(self, inbox: Inbox) -> None:
        """Connect, and receive until the connection is lost or the task is cancelled.

        Raises:
            HermesError: the server does not let us in.
            OSError: it cannot be reached, or hung up.
        """
        try:
            async with self._clock.timeout(CONNECT_SECONDS):
                await self._connect()
            async with self._clock.timeout(CONNECT_SECONDS):
                while not self._is_registered:
                    await self._handle(await self._read(), inbox)
        except TimeoutError:
            self._hang_up()
            raise HermesError(f"irc: {self._where} does not answer.") from None
        except BaseException:
            self._hang_up()
            raise
        try:
            while True:
                await self._handle(await self._read_or_ask(), inbox)
        except asyncio.CancelledError:
            await self._say_goodbye(inbox)
            raise
        finally:
            self._hang_up()

    async def send(self, message: OutboundMessage) -> Receipt:
        """Send one line; see `Platform.send`.

        Raises:
            DeliveryError: it was not taken, or nobody knows.
        """
        async with self._sending:
            if message.id in self._receipts:
                return self._receipts[message.id]
            if self._writer is None or not self._is_registered:
                raise DeliveryError(f"irc: not connected to {self._where}.")
            receipt = await self._told(message, self._writer)
            self._receipts[message.id] = receipt
            if len(self._receipts) > REMEMBERED:
                self._receipts.popitem(last=False)
            return receipt

    def trouble(self) -> str:
        """What is wrong; "" when all channels are joined."""
        if not self._is_registered:
            return f"not connected to {self._where}"
        return "; ".join(f"not in {name}: {why}" for name, why in self._away_from.items())

    # -- sending -------------------------------------------------------------------------

    async def _told(self, message: OutboundMessage, writer: asyncio.StreamWriter) -> Receipt:
        token = f"{self._run_id}-{message.id}"[:100].translate({ord(" "): "_"})
        try:
            if "," in message.chat:
                raise ValueError("one target only")
            said = wire.line("PRIVMSG", message.chat, text=message.text or " ")
            asked = wire.line("PING", text=token)
        except ValueError as error:
            raise DeliveryError(f"irc: {error}.", fate="refused") from error
        answer: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._sent = token, message.chat, answer
        try:
            writer.write(said + asked)
            async with self._clock.timeout(RECEIPT_SECONDS):
                await writer.drain()
                return await answer
        except (OSError, TimeoutError) as error:
            text = "irc: the connection was lost before the server confirmed a message."
            raise DeliveryError(text, fate="unknown") from error
        finally:
            self._sent = None

    def _confirm(self, token: str) -> None:
        if self._sent is not None and self._sent[0] == token and not self._sent[2].done():
            self._sent[2].set_result(Receipt(id=token, time=self._clock.now()))

    def _refuse(self, line: wire.Line) -> None:
        if self._sent is None or self._sent[2].done() or len(line.params) < 2:
            return
        if line.params[1].lower() == self._sent[1].lower():
            fate = "refused" if _NOT_SENT[line.command] == "refused" else "not_sent"
            error = DeliveryError(f"irc: {line.params[1]}: {line.last}", fate=fate)  # type: ignore[arg-type]
            self._sent[2].set_exception(error)

    # -- the connection ------------------------------------------------------------------

    @property
    def _where(self) -> str:
        return f"{self._settings.server}:{self._settings.port}"

    async def _connect(self) -> None:
        settings = self._settings
        if settings.account and not self._host.secret(SASL_PASSWORD):
            raise HermesError(
                f"irc: plugins.irc.account needs {SASL_PASSWORD}.",
                hint=f"`hermes config set {SASL_PASSWORD} …`",
            )
        context = None
        if settings.tls:
            import ssl

            context = ssl.create_default_context(cafile=settings.ca_file or None)
        self._reader, self._writer = await asyncio.open_connection(
            settings.server, settings.port, ssl=context, limit=16384
        )
        self._write("CAP", "LS", "302")
        if password := self._host.secret(SERVER_PASSWORD):
            self._write("PASS", text=password)
        self._write("NICK", self._nick)
        self._write("USER", settings.nick[:10], "0", "*", text="Hermes, a personal agent")

    async def _read(self) -> wire.Line | None:
        assert self._reader is not None
        try:
            raw = await self._reader.readline()
        except ValueError:  # longer than any line may be
            return None
        if not raw:
            raise ConnectionError(f"{self._where} hung up")
        return wire.parse(raw)

    async def _read_or_ask(self) -> wire.Line | None:
        """The next line; a server that is silent is asked, one that stays so is gone."""
        try:
            async with self._clock.timeout(SILENCE):
                return await self._read()
        except TimeoutError:
            self._write("PING", text="still there?")
        try:
            async with self._clock.timeout(SILENCE):
                return await self._read()
        except TimeoutError:
            raise ConnectionError(f"{self._where} has gone silent") from None

    async def _say_goodbye(self, inbox: Inbox) -> None:
        """Leave, and take what people wrote until the server has noticed."""
        self._write("QUIT", text="see you")
        with suppress(OSError, TimeoutError, HermesError):
            async with self._clock.timeout(GOODBYE_SECONDS):
                while True:
                    await self._handle(await self._read(), inbox)

    def _hang_up(self) -> None:
        self._is_registered = False
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        if self._sent is not None and not self._sent[2].done():
            self._sent[2].set_exception(ConnectionError("hung up"))

    def _write(self, *words: str, text: str | None = None) -> None:
        if self._writer is not None:
            self._writer.write(wire.line(*words, text=text))

    # -- what the server says ------------------------------------------------------------

    async def _handle(self, line: wire.Line | None, inbox: Inbox) -> None:
        if line is None:
            return
        match line.command:
            case "PING":
                self._write("PONG", text=line.last)
            case "PONG":
                self._confirm(line.last)
            case "PRIVMSG" if len(line.params) >= 2:
                await self._heard(line, inbox)
            case "ERROR":
                raise ConnectionError(f"{self._where} closed the connection: {line.last}")
            case command if command in _NOT_SENT and self._sent is not None:
                self._refuse(line)
            case _:
                self._registering(line)
                self._membership(line)

    async def _heard(self, line: wire.Line, inbox: Inbox) -> None:
        """Somebody spoke: to us alone, or in a channel and to us by name."""
        target, text = line.params[0], line.params[1]
        if line.nick.lower() == self._nick.lower() or text.startswith("\x01"):
            return
        is_group = target[:1] in "#&+!"
        if is_group:
            meant = wire.addressed(text, self._nick)
            if not meant:
                return
            text = meant
        elif target.lower() != self._nick.lower():
            return
        self._received += 1
        message = InboundMessage(
            id=line.tags.get("msgid") or f"{self._run_id}-{self._received}",
            platform=self.id,
            chat=(target if is_group else line.nick).lower(),
            sender=line.tags.get("account") or line.source,
            text=text,
            time=self._clock.now(),
            name=line.nick,
            group=is_group,
        )
        await inbox.deliver(message)

    def _registering(self, line: wire.Line) -> None:
        match line.command:
            case "CAP" if len(line.params) >= 3:
                self._capabilities(line)
            case "AUTHENTICATE" if line.last == "+":
                password = self._host.secret(SASL_PASSWORD)
                for piece in wire.sasl_plain(self._settings.account, password):
                    self._write("AUTHENTICATE", piece)
            case "903":
                self._write("CAP", "END")
            case command if command in _NO_SASL and not self._is_registered:
                raise HermesError(
                    f"irc: {self._where} refused the login of {self._settings.account}: {line.last}",
                    hint=f"Check plugins.irc.account and {SASL_PASSWORD}.",
                )
            case command if command in _IN_USE and not self._is_registered:
                self._try_another_nick(line.last)
            case "432" | "464" | "465":
                raise HermesError(f"irc: {self._where} refused us: {line.last}")
            case "001":
                self._nick = line.params[0] if line.params else self._nick
                if self._settings.account and "sasl" not in self._offered:
                    self._no_sasl()
                self._is_registered = True
                for channel in self._settings.channels:
                    self._away_from[channel.lower()] = "not joined yet"
                    self._write("JOIN", channel)
            case "NICK" if line.nick.lower() == self._nick.lower():
                self._nick = line.last
            case _:
                pass

    def _capabilities(self, line: wire.Line) -> None:
        what, words = line.params[1].upper(), line.last.split()
        if what == "LS":
            self._offered |= {word.partition("=")[0] for word in words}
            if line.params[2] == "*" and len(line.params) > 3:
                return  # more of them follow
            if self._settings.account and "sasl" not in self._offered:
                self._no_sasl()
            wanted = [one for one in CAPABILITIES if one in self._offered]
            if not self._settings.account and "sasl" in wanted:
                wanted.remove("sasl")
            if wanted:
                self._write("CAP", "REQ", text=" ".join(wanted))
            else:
                self._write("CAP", "END")
        elif what == "ACK" and "sasl" in words:
            self._write("AUTHENTICATE", "PLAIN")
        elif what == "NAK" and self._settings.account:
            self._no_sasl()
        elif what in ("ACK", "NAK"):
            self._write("CAP", "END")

    def _no_sasl(self) -> None:
        """Without the login people could not tell us from anybody else: do not go on."""
        raise HermesError(
            f"irc: {self._where} offers no SASL, but plugins.irc.account is set.",
            hint="`hermes config unset plugins.irc.account` goes without.",
        )

    def _try_another_nick(self, reason: str) -> None:
        self._tries += 1
        if self._tries > NICK_TRIES:
            raise HermesError(f"irc: no nick like {self._settings.nick} is free: {reason}")
        end = "_" * self._tries if self._tries < 4 else str(secrets.randbelow(1000))
        self._nick = self._settings.nick[: 9 - len(end)] + end
        self._write("NICK", self._nick)

    def _membership(self, line: wire.Line) -> None:
        is_own = line.nick.lower() == self._nick.lower()
        match line.command:
            case "JOIN" if is_own and line.params:
                self._away_from.pop(line.params[0].lower(), None)
            case "PART" if is_own and line.params:
                self._away_from[line.params[0].lower()] = "left"
            case "KICK" if len(line.params) >= 2:
                if line.params[1].lower() == self._nick.lower():
                    why = f"kicked by {line.nick} ({line.last})"
                    self._away_from[line.params[0].lower()] = why
            case command if command in _NOT_JOINED and len(line.params) >= 2:
                self._away_from[line.params[1].lower()] = line.last
            case _:
                pass
