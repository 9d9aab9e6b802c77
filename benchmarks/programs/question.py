"""The floor of one question: the kernel's libraries, one request, one row. ``URL FILE.db``."""

import asyncio
import sqlite3
import sys

import click
import httpx
import msgspec
import pluggy


class Choice(msgspec.Struct):
    """A choice of a streamed answer."""

    delta: dict[str, str | None] = {}


class Event(msgspec.Struct):
    """A streamed event."""

    choices: list[Choice] = []


async def ask(url: str, database: sqlite3.Connection) -> None:
    """One streamed request, its answer printed and stored."""
    body = {
        "model": "say",
        "stream": True,
        "messages": [{"role": "user", "content": "How many notes are there?"}],
    }
    decode = msgspec.json.Decoder(Event).decode
    text = ""
    async with (
        httpx.AsyncClient(verify=False, trust_env=False) as client,
        client.stream("POST", f"{url}/chat/completions", content=msgspec.json.encode(body)) as got,
    ):
        async for line in got.aiter_lines():
            if line.startswith("data: {"):
                choices = decode(line[6:]).choices
                text += "".join(choice.delta.get("content") or "" for choice in choices)
    database.execute("insert into message (text) values (?)", (text,))
    database.commit()
    print(text)


@click.command()
@click.argument("url")
@click.argument("file")
def main(url: str, file: str) -> None:
    """Ask."""
    pluggy.PluginManager("floor")
    database = sqlite3.connect(file)
    database.execute("pragma journal_mode=wal")
    database.execute("create table if not exists message (id integer primary key, text text)")
    asyncio.run(ask(url, database))
    database.close()


if __name__ == "__main__":
    sys.exit(main())
