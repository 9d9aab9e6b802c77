"""What a plugin says of its own health: the finding, and the command that mends exactly that."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hermes_plugins import DoctorCheck, Finding, Host, hookimpl
from hermes_plugins.testing import FakeHost


async def look(host: Host) -> Sequence[Finding]:
    names = host.paths.home / "names.txt"
    if names.exists():
        return [Finding(level="ok", text=f"{names} is there.")]

    async def write() -> str:
        names.parent.mkdir(parents=True, exist_ok=True)
        names.write_text("Ada\n", encoding="utf-8")
        return f"{names} is written."

    hint = f"`echo Ada > {names}`"
    return [Finding(level="warn", text=f"There is no {names}.", hint=hint, fix=write)]


@hookimpl
def hermes_register_doctor() -> list[DoctorCheck]:
    return [DoctorCheck(id="names.file", title="Names", run=look)]


async def test_what_is_missing_is_told_and_mended(tmp_path: Path) -> None:
    host = FakeHost(tmp_path)
    (found,) = await look(host)
    assert (found.level, found.fix is None) == ("warn", False)
    assert found.fix is not None
    assert (await found.fix()).endswith("names.txt is written.")
    (found,) = await look(host)
    assert found.level == "ok"
