"""The floor of a tool turn in a long session: HTTP, encoding and SQLite, and nothing else.

``URL BODY.json FILE.db COUNT`` sends a recorded request COUNT times, each longer by a call and its
result, reads the streamed answer and stores two rows.
"""

import asyncio
import sqlite3
import sys
from pathlib import Path
from typing import Any

import httpx
import msgspec


async def talk(url: str, body: dict[str, Any], database: sqlite3.Connection, count: int) -> None:
    """The turns."""
    body["model"] = f"read-{len(body['messages']) + count}"
    call, result = body["messages"][-2:]
    decode = msgspec.json.Decoder().decode
    encode = msgspec.json.Encoder().encode
    async with httpx.AsyncClient(verify=False, trust_env=False) as client:
        for _ in range(count):
            content = encode(body)
            address = f"{url}/chat/completions"
            async with client.stream("POST", address, content=content) as answer:
                pending = b""
                async for piece in answer.aiter_raw():
                    *events, pending = (pending + piece).split(b"\n\n")
                    for event in events:
                        if event.startswith(b"data: {"):
                            decode(event[6:])
            for message in (call, result):
                body["messages"].append(message)
                database.execute("insert into message (body) values (?)", (encode(message),))
                database.commit()


def main() -> None:
    """Read the arguments and talk."""
    url, recorded, file, count = sys.argv[1:]
    body = msgspec.json.decode(Path(recorded).read_bytes())
    database = sqlite3.connect(file)
    database.execute("pragma journal_mode=wal")
    database.execute("pragma synchronous=normal")
    database.execute("create table if not exists message (id integer primary key, body text)")
    asyncio.run(talk(url, body, database, int(count)))
    database.close()


if __name__ == "__main__":
    main()
