"""What can be wrong with the file, the disk and the folder: one clear line each, nothing lost."""

import os
import re
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from hermes_core import filelock
from hermes_core.store import database, writer
from hermes_core.store.sqlite import Lease, Store
from hermes_plugins import StoreError, user_message
from hermes_plugins.testing import VirtualClock

Begin: TypeAlias = Callable[..., Awaitable[Lease]]

SCHEMAS = sorted((Path(__file__).parent / "schemas").glob("*.sql"), key=lambda file: int(file.stem))


async def test_a_full_disk_fails_the_append_clearly_and_loses_nothing(
    store: Store, begin: Begin
) -> None:
    lease = await begin("s")
    await store.append(lease, [user_message("before")])
    pages = await store._writer.run(lambda c: c.execute("PRAGMA page_count").fetchone()[0])
    await store._writer.run(lambda c: c.execute(f"PRAGMA max_page_count = {pages + 10}").fetchone())
    kept = 1
    failure: StoreError | None = None
    while failure is None and kept < 100:
        try:
            await store.append(lease, [user_message("filling " * 500)])
            kept += 1
        except StoreError as error:
            failure = error
    assert re.search("could not be written: .*full.*Free some disk space", str(failure))
    await store.append(lease, [user_message("short")])
    await store._writer.run(lambda c: c.execute("PRAGMA max_page_count = 100000").fetchone())
    assert await store.append(lease, [user_message("after")]) == [kept + 2]
    stored = await store.messages("s")
    assert [one.position for one in stored] == list(range(1, kept + 3))
    assert stored[0].message.text == "before"
    assert not [line for line in await store.check() if "damaged" in line or "Search" in line]


async def test_a_disk_that_refuses_writes_does_not_take_the_store_down(
    store: Store, begin: Begin
) -> None:
    resource = pytest.importorskip("resource")
    lease = await begin("s")
    await store.append(lease, [user_message("before")])
    limit, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = os.stat(f"{store.path}-wal").st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 5000, hard))
    try:
        with pytest.raises(StoreError, match="What was stored before is safe"):
            await store.append(lease, [user_message("filling " * 5000)])
        assert [one.message.text for one in await store.messages("s")] == ["before"]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    assert await store.append(lease, [user_message("after")]) == [2]


async def test_a_home_that_cannot_be_made_is_one_line_and_works_once_mended(
    tmp_path: Path, clock: VirtualClock
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    store = Store(tmp_path / "file" / "state.db", clock=clock, process="p")
    for asked in (store.get("s"), store.search("x"), store.records("n").put("a", 1)):
        with pytest.raises(StoreError, match=r"cannot be opened or written: .*HERMES_HOME"):
            await asked
    (tmp_path / "file").unlink()
    await store.records("n").put("a", 1)
    await store.close()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may do anything")
async def test_a_folder_without_permission_is_one_line(path: Path, store: Store) -> None:
    path.parent.mkdir(mode=0o500)
    with pytest.raises(StoreError, match=r"cannot be opened or written: .*HERMES_HOME"):
        await store.get("s")


async def test_a_folder_in_the_files_place_is_one_line(path: Path, store: Store) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreError, match="cannot be opened or written"):
        await store.get("s")


async def test_a_file_that_is_no_database_is_one_line(path: Path, store: Store) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database at all " * 100)
    with pytest.raises(StoreError, match=r"is damaged: .*hermes sessions repair"):
        await store.get("s")


async def test_text_that_cannot_be_encoded_fails_alone(store: Store, begin: Begin) -> None:
    lease = await begin("s")
    with pytest.raises(StoreError, match="surrogates"):
        await store.append(lease, [user_message("bad \ud800")])
    assert await store.append(lease, [user_message("good")]) == [1]


async def test_another_process_in_a_long_write_is_waited_for(
    store: Store, begin: Begin, path: Path
) -> None:
    await begin("s")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    mine = sqlite3.connect(path, isolation_level=None, timeout=0)
    attempts = 0

    def attempt() -> sqlite3.Cursor:
        nonlocal attempts
        attempts += 1
        if attempts == 3:
            other.execute("COMMIT")
        return mine.execute("BEGIN IMMEDIATE")

    database.patiently(attempt)
    assert attempts == 3
    assert await store.messages("s") == []
    mine.close()
    other.close()


async def test_a_newer_schema_is_refused_with_what_to_do(
    store: Store, begin: Begin, path: Path
) -> None:
    await begin("s")
    await store.close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    newer = Store(path, clock=store._clock, process="p")
    with pytest.raises(StoreError, match=r"newer Hermes \(schema 99.*pip install --upgrade"):
        await newer.get("s")
    await newer.close()


def test_there_is_a_database_of_every_schema() -> None:
    assert [int(file.stem) for file in SCHEMAS] == list(range(1, len(database.MIGRATIONS) + 1))


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda file: file.stem)
async def test_a_database_of_every_schema_opens_and_goes_on(
    schema: Path, path: Path, store: Store
) -> None:
    path.parent.mkdir()
    connection = sqlite3.connect(path)
    connection.executescript(schema.read_text(encoding="utf-8"))
    connection.execute(f"PRAGMA user_version = {schema.stem}")
    connection.close()
    (info,) = await store.find("an old session")
    lease = await store.acquire(info.id, holder="cli")
    assert [one.message.text for one in await store.open_for_writing(lease)] == ["你好 world", "hi"]
    assert await store.append(lease, [user_message("and on")]) == [3]
    assert [hit.position for hit in (await store.search("你好")).hits] == [1]
    assert (await store.setup(info.id)).system == "Be kind."
    assert (await store.usage(info.id))["m"].input == 5
    kept = await store.records("n").get("a")
    assert kept is not None
    assert kept.value == {"x": 1}


async def test_the_log_is_copied_back_before_it_grows_without_end(
    store: Store, begin: Begin
) -> None:
    lease = await begin("s")
    for _ in range(60):
        await store.append(lease, [user_message(os.urandom(200_000).hex())])
    assert os.stat(f"{store.path}-wal").st_size < 2 * writer.CHECKPOINT_AT
    assert store.path.stat().st_size > writer.CHECKPOINT_AT


async def test_the_log_is_left_alone_while_another_process_copies_it(
    store: Store, begin: Begin
) -> None:
    lease = await begin("s")
    handle = os.open(f"{store.path}-checkpoint", os.O_RDWR | os.O_CREAT)
    assert filelock.lock(handle)
    for _ in range(30):
        await store.append(lease, [user_message(os.urandom(200_000).hex())])
    assert os.stat(f"{store.path}-wal").st_size > writer.CHECKPOINT_AT
    assert store.path.stat().st_size < writer.CHECKPOINT_AT
    os.close(handle)
    await store.append(lease, [user_message("now")])
    assert store.path.stat().st_size > writer.CHECKPOINT_AT


async def test_check_names_an_sqlite_with_the_checkpoint_race(store: Store) -> None:
    named = any("checkpoint race" in line for line in await store.check())
    assert named is (sqlite3.sqlite_version_info < (3, 51, 3))


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/.hermes/state.db", "nfs4"),
        ("/homework/state.db", "ext4"),
        ("/mnt/my disk/state.db", "cifs"),
    ],
)
@pytest.mark.skipif(os.name == "nt", reason="paths of a POSIX machine")
def test_the_file_system_is_that_of_the_longest_mount(path: str, kind: str) -> None:
    mounts = "/dev/sda / ext4 rw\nserver:/x /home nfs4 rw\n//nas/x /mnt/my\\040disk cifs rw\n"
    assert database.file_system(Path(path), mounts) == kind
