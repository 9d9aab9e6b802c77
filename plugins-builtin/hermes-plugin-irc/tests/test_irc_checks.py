"""What `hermes doctor` says of IRC."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

from hermes_plugin_irc import SASL_PASSWORD, Settings, hermes_register_doctor

from hermes_plugins import Finding
from hermes_plugins.testing import FakeHost


async def found(tmp_path: Path, settings: Settings, **variables: str) -> list[Finding]:
    (check,) = hermes_register_doctor()
    host = FakeHost(tmp_path, plugin="irc", section=settings, variables=variables)
    return list(await check.run(host))


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def served(work: Callable[[int], object]) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.close()

    async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
        await work(server.sockets[0].getsockname()[1])  # type: ignore[misc]


async def test_where_nothing_is_set_nothing_is_said(tmp_path: Path) -> None:
    assert await found(tmp_path, Settings()) == []


async def test_a_server_that_answers_is_told(tmp_path: Path) -> None:
    async def look(port: int) -> None:
        settings = Settings(server="127.0.0.1", port=port, tls=False, channels=("#here",))
        (one,) = await found(tmp_path, settings)
        assert (one.level, one.text) == ("ok", f"127.0.0.1:{port} can be reached.")

    await served(look)


async def test_a_port_without_tls_is_told_with_the_setting(tmp_path: Path) -> None:
    async def look(port: int) -> None:
        settings = Settings(server="127.0.0.1", port=port, channels=("#here",))
        (one,) = await found(tmp_path, settings)
        assert (one.level, one.text) == ("fail", f"127.0.0.1:{port} does not speak TLS.")
        assert "plugins.irc.tls false" in one.hint

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b":server NOTICE * :hello\r\n")
        await reader.read(1)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        await look(server.sockets[0].getsockname()[1])


async def test_a_server_that_is_not_there_and_what_is_missing_are_told(tmp_path: Path) -> None:
    port = closed_port()
    settings = Settings(server="127.0.0.1", port=port, tls=False, account="ada")
    password, channels, server = await found(tmp_path, settings)
    assert (password.level, channels.level, server.level) == ("fail", "info", "fail")
    assert f"hermes config set {SASL_PASSWORD}" in password.hint
    assert "joins no channel" in channels.text
    assert server.text.startswith(f"127.0.0.1:{port} cannot be reached: ")
