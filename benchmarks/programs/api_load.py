"""Clients of a chat-completions server, all at once, and what became of their requests.

``api_load.py URL KEY CLIENTS TURNS whole|stream`` prints JSON. Every request says a token of its own
that the scripted model says again: an answer with another one has crossed.
"""

import asyncio
import json
import re
import sys
import time

import httpx

TOKEN = re.compile(r"token-\d+-\d+-\d+")


class Tally:
    """What became of the requests."""

    def __init__(self) -> None:
        self.answered = self.crossed = self.refused = self.lost = 0
        self.trouble = ""


async def client(
    number: int, server: tuple[str, str, str], turns: int, stream: bool, tally: Tally
) -> None:
    """One client with connections of its own, one request after the other, a new session each."""
    url, key, model = server
    limits = httpx.Limits(max_keepalive_connections=1)
    async with httpx.AsyncClient(
        headers={"authorization": f"Bearer {key}"}, timeout=300, limits=limits, verify=False
    ) as http:
        for turn in range(turns):
            token = f"token-{int(time.time()) % 100000}-{number}-{turn}"
            body = {
                "model": model,
                "stream": stream,
                "messages": [{"role": "user", "content": f"Say {token}"}],
                "session_id": token,
            }
            try:
                answer = await http.post(f"{url}/v1/chat/completions", json=body)
            except httpx.HTTPError as error:
                tally.lost += 1
                tally.trouble = repr(error)
                continue
            if answer.status_code != 200:
                tally.refused += 1
                tally.trouble = answer.text[:200]
                continue
            said = set(TOKEN.findall(text_of(answer.text, stream)))
            if said == {token}:
                tally.answered += 1
            elif said:
                tally.crossed += 1
            else:
                tally.lost += 1
                tally.trouble = answer.text[-300:]


def text_of(body: str, stream: bool) -> str:
    """The text of an answer."""
    if not stream:
        return str(json.loads(body)["choices"][0]["message"]["content"])
    lines = [line[6:] for line in body.splitlines() if line.startswith("data: {")]
    choices = [choice for line in lines for choice in json.loads(line).get("choices", ())]
    return "".join(choice["delta"].get("content") or "" for choice in choices)


async def main() -> None:
    """All clients at once."""
    url, key, clients, turns, kind = sys.argv[1:]
    tally = Tally()
    stream = kind == "stream"
    answer = httpx.get(f"{url}/v1/models", headers={"authorization": f"Bearer {key}"}, timeout=60)
    server = (url, key, answer.json()["data"][0]["id"])
    await asyncio.gather(
        *(client(number, server, int(turns), stream, tally) for number in range(int(clients)))
    )
    print(json.dumps(vars(tally)))


asyncio.run(main())
