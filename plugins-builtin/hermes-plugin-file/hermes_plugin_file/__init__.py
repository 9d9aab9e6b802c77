"""The file tools: read, write, patch, search. The work stands in the other modules, imported on use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from hermes_plugins import Effect, Json, Reads, Tool, ToolContext, Writes, hookimpl, tool


@tool(toolset="file", label="path", effects=[Reads(arg="path")])
async def read_file(
    context: ToolContext,
    path: str,
    offset: Annotated[int, "first line, from 1"] = 1,
    limit: Annotated[int, "lines, at most 2000"] = 500,
) -> str:
    """Read a text file as NUMBER|TEXT lines, or list a folder."""
    from . import reading

    return await reading.read(context, path, offset=offset, limit=limit)


@tool(toolset="file", label="path", effects=[Writes(arg="path")])
async def write_file(context: ToolContext, path: str, content: str) -> str:
    """Write a whole file, making folders as needed. To change part of a file use patch."""
    from . import writing

    return await writing.write(context, path, content)


def _patch_effects(arguments: Mapping[str, Json]) -> Sequence[Effect]:
    """A V4A patch carries its paths inside."""
    from . import v4a

    paths = v4a.paths(str(arguments.get("patch") or ""))
    return [Writes(path=str(path)) for path in (arguments.get("path"), *paths) if path]


@tool(toolset="file", label="path", effects=_patch_effects)
async def patch(
    context: ToolContext,
    path: str = "",
    old_string: Annotated[str, "text to replace; must stand in one place only"] = "",
    new_string: str = "",
    replace_all: Annotated[bool, "replace every place"] = False,
    patch: Annotated[str, "V4A patch (*** Begin Patch …) instead of the others"] = "",
) -> str:
    """Change part of a file: path, old_string and new_string; or several files: a V4A patch, applied
    whole or not at all."""
    from . import patching

    if patch:
        return await patching.apply_patch(context, patch, path=path, old=old_string)
    return await patching.replace(context, path, old_string, new_string, every=replace_all)


@tool(toolset="file", label="pattern", effects=[Reads(arg="path", path=".")])
async def search_files(
    call: ToolContext,
    pattern: Annotated[str, "regular expression; for target=files a glob or part of a name"],
    path: Annotated[str, "folder or file"] = ".",
    target: Annotated[
        Literal["content", "files"], "search in files, or for file names"
    ] = "content",
    glob: Annotated[str, "only files like this, such as *.py"] = "",
    limit: int = 50,
    offset: Annotated[int, "results to skip"] = 0,
    context: Annotated[int, "lines around a match"] = 0,
    mode: Annotated[Literal["content", "files", "count"], "what to show"] = "content",
) -> str:
    """Search file contents, or find files by name. Hidden and ignored files are left out."""
    from . import searching

    query = searching.Query(
        pattern=pattern,
        path=path,
        target=target,
        glob=glob,
        limit=limit,
        offset=offset,
        around=context,
        mode=mode,
    )
    return await searching.search(call, query)


@hookimpl
def hermes_register_tools() -> list[Tool]:
    """The four tools."""
    return [read_file, write_file, patch, search_files]
