"""One real turn: the model is to read a file with a tool and say what stands in it.

It works in a scratch folder and is kept there too, so nothing of it is among the sessions.
"""

from __future__ import annotations

import secrets
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from hermes_plugins import (
    CommandHost,
    FaceHost,
    Finding,
    HermesError,
    Inspection,
    SessionWish,
    ToolDone,
    TurnEnded,
)

from .model import is_stand_in

SECONDS: Final = 180.0
"""For the whole turn; a local server may have to load its model first."""
FILE: Final = "doctor.txt"
_WORDS: Final = (
    "pelican",
    "juniper",
    "cobalt",
    "saffron",
    "lantern",
    "walnut",
    "harbour",
    "pebble",
)
_ASK: Final = (
    f"Read the file {FILE} in your working folder with the tool read_file. Then answer with the one "
    "word that stands in it, and nothing else."
)


async def look(host: CommandHost) -> Sequence[Finding]:
    """Run it."""
    scratch = Path(tempfile.mkdtemp(prefix="hermes-doctor-"))
    word = f"{secrets.choice(_WORDS)}{secrets.randbelow(9000) + 1000}"
    (scratch / FILE).write_text(f"{word}\n", encoding="utf-8")
    try:
        async with host.inspect(scratch=scratch) as inspection:
            return [await _tried(inspection, word)]
    except HermesError as error:
        return [Finding(level="fail", text=error.message, hint=error.hint)]
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


async def _tried(inspection: Inspection, word: str) -> Finding:
    face = inspection.face
    toolsets = {one.name: one for one in await face.catalog.toolsets()}
    can_read = "file" in toolsets and any(
        one.name == "read_file" and not one.off for one in toolsets["file"].tools
    )
    wish = SessionWish(
        face="doctor", interactive=False, max_turns=4, toolsets=("file",) if can_read else ()
    )
    session = await face.open(wish)
    try:
        question = await _question(face, session.model) if can_read else "Say hello."
        used: list[ToolDone] = []
        end: TurnEnded | None = None
        try:
            async with face.host.clock.timeout(SECONDS), session.run(question) as run:
                async for event in run:
                    if isinstance(event, ToolDone):
                        used.append(event)
            end = run.end
        except TimeoutError:
            text = f"{session.model} has not answered within {SECONDS:g} s."
            hint = "A smaller model, or one that is loaded already, answers sooner."
            return Finding(level="fail", text=text, hint=hint)
    finally:
        await session.close()
    return judge(end, used, word=word if can_read else "")


async def _question(face: FaceHost, model: str) -> str:
    """The stand-in understands plain requests only."""
    name = model.partition("/")[0]
    states = [one for one in await face.catalog.providers() if one.profile.id == name]
    return f"read {FILE}" if any(map(is_stand_in, states)) else _ASK


def judge(end: TurnEnded | None, used: Sequence[ToolDone], *, word: str) -> Finding:
    """What the turn shows; without a ``word`` no tool could be tried."""
    if end is None:
        return Finding(level="fail", text="The turn ended without a word.", hint="`hermes logs`")
    if end.outcome != "completed":
        return Finding(
            level="fail",
            text=f"{end.model}: {end.reason or end.outcome}",
            hint=end.hint or "`hermes logs` has the details.",
        )
    told = f"{end.seconds:.1f} s, {end.usage.input:,} tokens in, {end.usage.output:,} out"
    if not word:
        text = f"{end.model} answers ({told}). No tool was tried: read_file is not there."
        hint = "`hermes plugins enable file`; `hermes tools` shows what is on."
        return Finding(level="warn", text=text, hint=hint)
    if not used:
        text = f"{end.model} answers, but calls no tool: it can talk, and do nothing ({told})."
        hint = (
            "Choose a model that can call tools; with a local server, check its template for them."
        )
        return Finding(level="fail", text=text, hint=hint)
    if not any(one.status == "ok" for one in used):
        last = used[-1]
        text = f"{end.model} called {last.tool}, which {last.status}: {last.summary}"
        return Finding(level="fail", text=text, hint="`hermes logs` has the details.")
    if word not in end.text:
        text = f"{end.model} read a file, but its answer does not say what stood in it ({told})."
        hint = "It may be too small for this work; a larger one reads what tools return."
        return Finding(level="warn", text=text, hint=hint)
    text = f"{end.model} read a file with a tool and said what was in it ({told})."
    return Finding(level="ok", text=text)
