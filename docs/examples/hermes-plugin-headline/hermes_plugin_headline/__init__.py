"""The tool set headline: the title of a web page."""

from __future__ import annotations

from hermes_plugins import Fetches, ProviderError, Tool, ToolContext, ToolError, hookimpl, tool


@tool(toolset="headline", label="url", effects=[Fetches(arg="url")], untrusted_output=True)
async def page_title(context: ToolContext, url: str) -> str:
    """The title of a web page."""
    import re
    from html import unescape

    try:
        response = await context.host.http.open("GET", url)
        try:
            body = await response.read(limit=500_000)
        finally:
            await response.aclose()
    except ProviderError as error:  # what host.http raises when nothing can be reached
        raise ToolError(f"{url}: {error.message}", kind="transient") from error
    if response.status != 200:
        raise ToolError(f"{url} answered with status {response.status}.")
    found = re.search(r"(?is)<title[^>]*>(.*?)</title>", body.decode("utf-8", "replace"))
    return " ".join(unescape(found[1]).split()) if found else "The page has no title."


@hookimpl
def hermes_register_tools() -> list[Tool]:
    """The one tool."""
    return [page_title]
