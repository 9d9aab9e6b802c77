"""The yardstick of streaming: openai's own client only reading the deltas. ``URL MODEL``."""

import sys

from openai import OpenAI  # type: ignore[import-not-found]


def main() -> None:
    """Iterate."""
    url, model = sys.argv[1:]
    client = OpenAI(base_url=url, api_key="sk-test-not-a-real-key")
    stream = client.chat.completions.create(
        model=model, stream=True, messages=[{"role": "user", "content": "Go on."}]
    )
    for _ in stream:
        pass


if __name__ == "__main__":
    main()
