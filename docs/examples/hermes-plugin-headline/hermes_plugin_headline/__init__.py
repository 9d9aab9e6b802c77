"""The tool set headline: the title of a web page."""

from __future__ import annotations

from hermes_plugins import Fetches, Tool, ToolContext, ToolError, hookimpl, tool


@tool(toolset="headline", label="url", effects=[Fetches(arg="url")], untrusted_output=True)
async def page_title(context: ToolContext, url: str) -> str:
    """The title of a web page."""
    import re
    from html import unescape

    response = await context.host.http.open("GET", url)
    try:
        body = await response.read(limit=500_000)
    finally:
        await response.aclose()
    if response.status != 200:
        kind = "transient" if response.status in (429, 502, 503, 504) else "permanent"
        raise ToolError(f"{url} answered with status {response.status}.", kind=kind)
    found = re.search(r"(?is)<title[^>]*>(.*?)</title>", body.decode("utf-8", "replace"))
    return " ".join(unescape(found[1]).split()) if found else "The page has no title."


@hookimpl
def hermes_register_tools() -> list[Tool]:
    """The one tool."""
    return [page_title]
