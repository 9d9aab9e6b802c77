"""Asks the agent over HTTP, with OpenAI's client: ``python api_client.py "a question"``."""

import os
import sys

from openai import OpenAI


def main() -> None:
    """Print the answer as it comes."""
    url = os.environ.get("API_SERVER_URL", "http://127.0.0.1:8642/v1")
    with OpenAI(base_url=url, api_key=os.environ["API_SERVER_KEY"]) as client:
        stream = client.chat.completions.create(
            model="hermes",
            messages=[{"role": "user", "content": sys.argv[1]}],
            stream=True,
        )
        for chunk in stream:
            print(chunk.choices[0].delta.content or "", end="", flush=True)
    print()


if __name__ == "__main__":
    main()
