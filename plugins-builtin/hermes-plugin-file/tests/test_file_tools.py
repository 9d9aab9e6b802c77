"""read_file, write_file and patch through their handlers, on a real folder."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from hermes_plugin_file import patch, read_file, write_file

from hermes_plugins import REDACTION_MARK, FileStat, Json, Tool, ToolError
from hermes_plugins.testing import FakeContext, FolderEnvironment, call_tool

POSIX = os.name == "posix"
COMPOSED, DECOMPOSED = (unicodedata.normalize(form, "résumé.txt") for form in ("NFC", "NFD"))


class Session:
    """A folder, and the tools as one session calls them."""

    def __init__(self, folder: Path, environment: FolderEnvironment | None = None) -> None:
        self.folder = folder
        self.context = FakeContext(folder, environment=environment)

    async def __call__(self, tool: Tool, **arguments: Json) -> str:
        answer = await call_tool(tool, arguments, self.context)
        assert isinstance(answer, str)
        return answer

    async def refused(self, tool: Tool, **arguments: Json) -> str:
        with pytest.raises(ToolError) as error:
            await self(tool, **arguments)
        return str(error.value)

    def put(self, name: str, data: bytes | str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def touch(self, name: str, data: bytes | str) -> None:
        """Change a file behind the session's back, with another time of change."""
        path = self.put(name, data)
        old = path.stat()
        os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns + 1_000_000_000))


@pytest.fixture
def session(tmp_path: Path) -> Session:
    folder = tmp_path / "work"
    folder.mkdir()
    return Session(folder)


class TestReading:
    async def test_lines_come_numbered_with_the_total(self, session: Session) -> None:
        session.put("a.txt", "one\n\ttwo\n\nfour")
        assert await session(read_file, path="a.txt") == "1|one\n2|\ttwo\n3|\n4|four\n[4 lines]"

    async def test_a_range_says_how_to_go_on(self, session: Session) -> None:
        session.put("a.txt", "".join(f"{number}\n" for number in range(1, 11)))
        answer = await session(read_file, path="a.txt", offset=4, limit=2)
        assert answer == "4|4\n5|5\n[lines 4-5 of 10; continue with offset=6]"
        assert (await session(read_file, path="a.txt", offset=9)).endswith("[lines 9-10 of 10]")
        assert "has 10 lines; line 11 is past" in await session.refused(
            read_file, path="a.txt", offset=11
        )

    async def test_at_most_2000_lines_come_at_once(self, session: Session) -> None:
        session.put("a.txt", "x\n" * 3000)
        answer = await session(read_file, path="a.txt", limit=9999)
        assert answer.endswith("[lines 1-2000 of 3000; continue with offset=2001]")

    async def test_a_long_line_is_cut_with_a_mark(self, session: Session) -> None:
        session.put("a.txt", "x" * 2001 + "\nshort\n")
        answer = await session(read_file, path="a.txt")
        assert answer.startswith(
            "1|" + "x" * 2000 + "… [cut here: the line has 2,001 characters]\n"
        )
        assert "\n2|short\n" in answer

    async def test_the_answer_fits_the_window_and_says_where_to_go_on(
        self, session: Session
    ) -> None:
        session.put("a.txt", ("y" * 999 + "\n") * 500)
        assert len(await session(read_file, path="a.txt")) <= 100_000
        session.context.result_chars = 10_000
        answer = await session(read_file, path="a.txt", offset=2)
        assert len(answer) <= 10_000
        assert answer.endswith("[lines 2-10 of 500; continue with offset=11]")

    async def test_an_empty_file_and_a_folder_say_so(self, session: Session) -> None:
        session.put("d/a.txt", "")
        session.put("d/sub/b.txt", "")
        assert await session(read_file, path="d/a.txt") == "[empty file]"
        assert await session(read_file, path="d") == "a.txt\nsub/\n[folder d: 2 entries]"

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (b"\x89PNG\r\n\x1a\n....", "is a PNG image (12 bytes)"),
            (b"\x7fELF\x00\x00", "is a binary file (6 bytes)"),
        ],
    )
    async def test_what_is_not_text_is_named(
        self, session: Session, data: bytes, said: str
    ) -> None:
        session.put("x", data)
        assert said in await session.refused(read_file, path="x")

    @pytest.mark.skipif(not POSIX, reason="pipes in the file system")
    async def test_devices_and_pipes_are_refused(self, session: Session) -> None:
        os.mkfifo(session.folder / "pipe")
        for path in ("/dev/zero", "pipe"):
            assert "device, pipe or socket" in await session.refused(read_file, path=path)
            assert "nothing was written" in await session.refused(
                write_file, path=path, content="x"
            )

    async def test_a_missing_file_names_its_neighbours(self, session: Session) -> None:
        session.put("Settings.py", "")
        session.put("readme.md", "")
        assert "Similar names there: Settings.py." in await session.refused(
            read_file, path="setings.py"
        )
        assert "readme.md" in await session.refused(read_file, path="README.md")
        assert "folder" in await session.refused(read_file, path="no/such/file.txt")
        assert "path is empty" in await session.refused(read_file, path=" ")

    async def test_an_unchanged_range_is_not_repeated_but_comes_when_asked_again(
        self, session: Session
    ) -> None:
        session.put("a.txt", "one\n")
        first = await session(read_file, path="a.txt")
        assert "unchanged since you read these lines" in await session(read_file, path="./a.txt")
        assert await session(read_file, path="a.txt") == first
        session.touch("a.txt", "two\n")
        assert await session(read_file, path="a.txt") == "1|two\n[1 line]"

    @pytest.mark.parametrize(("disk", "asked"), [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)])
    async def test_e10_the_one_name_in_another_unicode_form_is_read(
        self, session: Session, disk: str, asked: str
    ) -> None:
        session.put(f"{disk}/Shot 10\u202fPM.txt", "text\n")
        answer = await session(read_file, path=f"{asked}/Shot 10 PM.txt")
        assert answer.startswith("1|text\n")
        assert "spelled 'Shot 10\\u202fPM.txt' on disk" in answer

    @pytest.mark.skipif(not POSIX, reason="file systems that keep both names")
    async def test_e10_two_such_names_are_not_guessed_between(self, session: Session) -> None:
        session.put(COMPOSED, "1")
        session.put(DECOMPOSED, "2")
        if len(os.listdir(session.folder)) < 2:
            pytest.skip("this file system takes the names as one")
        half = "re\u0301sumé.txt"
        for said in (
            await session.refused(read_file, path=half),
            await session.refused(write_file, path=half, content="3"),
        ):
            assert "2 names differ from it in Unicode form only" in said
            assert ascii(COMPOSED) in said
            assert ascii(DECOMPOSED) in said
        assert await session(read_file, path=DECOMPOSED) == "1|2\n[1 line]"

    async def test_a_name_with_another_odd_space_is_offered_as_it_is_spelled(
        self, session: Session
    ) -> None:
        session.put("a\u00a0b.txt", "1")
        assert "'a\\xa0b.txt'" in await session.refused(read_file, path="a b.txt")

    async def test_e11_a_character_across_byte_1000_is_text(self, session: Session) -> None:
        session.put("a.txt", "a" * 999 + "é\n")
        assert "é" in await session(read_file, path="a.txt")

    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
    async def test_e12_utf_16_is_shown_as_text_with_a_note(
        self, session: Session, encoding: str
    ) -> None:
        session.put("a.txt", "\ufeffgrün\r\nzwei\r\n".encode(encoding))
        answer = await session(read_file, path="a.txt")
        name = encoding.upper().replace("-", " ").replace("UTF 16", "UTF-16")
        assert answer == f"1|grün\n2|zwei\n[2 lines; {name}, shown as Unicode]"


class TestWriting:
    async def test_a_new_file_is_made_with_its_folders(self, session: Session) -> None:
        answer = await session(write_file, path="x/y/a.txt", content="one\ntwo\n")
        assert answer == "Wrote x/y/a.txt: 2 lines, 8 bytes (new file)."
        assert (session.folder / "x/y/a.txt").read_bytes() == b"one\ntwo\n"

    async def test_replacing_says_how_much_and_whether_it_was_read(self, session: Session) -> None:
        session.put("a.txt", "1\n2\n3\n")
        answer = await session(write_file, path="a.txt", content="x")
        assert "replaced 3 lines that you had not read" in answer
        assert "replaced 1 lines)" in await session(write_file, path="a.txt", content="y")

    @pytest.mark.parametrize(
        ("before", "content", "after"),
        [
            (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
            (b"a\r\nb\r\n", "x\r\ny\n", b"x\r\ny\n"),
            (b"a\n", "x\r\n", b"x\r\n"),
            (b"\xef\xbb\xbfa\r\n", "x\n", b"\xef\xbb\xbfx\r\n"),
            (b"\xef\xbb\xbfa\n", "\ufeffx\n", b"\xef\xbb\xbfx\n"),
            ("\ufeffa\n".encode("utf-16-le"), "é\n", "\ufeffé\n".encode("utf-16-le")),
            (b"caf\xe9\n", "\u201cé\u201d\n", b"\x93\xe9\x94\n"),
            (b"caf\xe9\n", "漢\n", "漢\n".encode()),
            (b"a\\r\\n\r\n", "dir\\run\n", b"dir\\run\r\n"),
        ],
    )
    async def test_the_file_keeps_its_form(
        self, session: Session, before: bytes, content: str, after: bytes
    ) -> None:
        path = session.put("a.txt", before)
        await session(write_file, path="a.txt", content=content)
        assert path.read_bytes() == after

    async def test_a_file_that_changed_since_it_was_read_is_left_alone(
        self, session: Session
    ) -> None:
        path = session.put("a.txt", "one\n")
        await session(read_file, path="a.txt")
        session.touch("a.txt", "other\n")
        said = await session.refused(write_file, path="a.txt", content="mine\n")
        assert "a.txt changed since you read it; nothing was written. Read it again" in said
        assert path.read_bytes() == b"other\n"
        await session(read_file, path="a.txt")
        await session(write_file, path="a.txt", content="mine\n")
        assert path.read_bytes() == b"mine\n"

    async def test_a_new_time_with_the_same_content_is_no_change(self, session: Session) -> None:
        session.put("a.txt", "one\n")
        await session(read_file, path="a.txt")
        session.touch("a.txt", "one\n")
        assert "Wrote a.txt" in await session(write_file, path="a.txt", content="two\n")

    @pytest.mark.skipif(not POSIX, reason="links need a privilege elsewhere")
    async def test_e13_a_link_is_written_through(self, session: Session) -> None:
        path = session.put("real.txt", "one\n")
        link = session.folder / "link.txt"
        link.symlink_to("real.txt")
        await session(write_file, path="link.txt", content="two\n")
        await session(patch, path="link.txt", old_string="two", new_string="three")
        assert link.is_symlink()
        assert path.read_bytes() == b"three\n"

    @pytest.mark.skipif(not POSIX, reason="POSIX modes")
    async def test_e14_an_old_file_keeps_its_mode_and_a_new_one_gets_the_umasks(
        self, session: Session
    ) -> None:
        path = session.put("run.sh", "echo 1\n")
        path.chmod(0o751)
        await session(write_file, path="run.sh", content="echo 2\n")
        await session(patch, path="run.sh", old_string="2", new_string="3")
        await session(write_file, path="new.txt", content="")
        (session.folder / "plain.txt").touch()
        assert path.stat().st_mode & 0o777 == 0o751
        plain = (session.folder / "plain.txt").stat().st_mode
        assert (session.folder / "new.txt").stat().st_mode == plain

    async def test_e15_a_failed_write_names_the_target_and_leaves_nothing(
        self, session: Session
    ) -> None:
        session.put("taken", "a file\n")
        said = await session.refused(write_file, path="taken/a.txt", content="x")
        assert "taken/a.txt" in said
        assert sorted(os.listdir(session.folder)) == ["taken"]

    async def test_e16_a_mask_is_never_written_back(self, session: Session) -> None:
        path = session.put(".env", "KEY=sk-test-not-a-real-key\nPORT=1\n")
        mask = f"KEY={REDACTION_MARK}:key»\n"
        for said in (
            await session.refused(write_file, path=".env", content=mask + "PORT=2\n"),
            await session.refused(
                patch, path=".env", old_string="PORT=1", new_string=mask + "PORT=2"
            ),
            await session.refused(
                patch, patch=f"*** Update File: .env\n@@\n-PORT=1\n+PORT=2\n+{mask}"
            ),
            await session.refused(write_file, path="copy", content=mask),
        ):
            assert "holds a masked secret" in said
        assert path.read_text(encoding="utf-8") == "KEY=sk-test-not-a-real-key\nPORT=1\n"
        await session(patch, path=".env", old_string="PORT=1", new_string="PORT=2")
        assert "sk-test-not-a-real-key\nPORT=2\n" in path.read_text(encoding="utf-8")

    async def test_e16_a_file_about_masks_can_be_edited(self, session: Session) -> None:
        session.put("doc.md", f"masks begin with {REDACTION_MARK}\n")
        assert "Wrote" in await session(
            write_file, path="doc.md", content=f"a mask begins with {REDACTION_MARK}\n"
        )

    async def test_half_a_character_is_refused(self, session: Session) -> None:
        assert "lone surrogate" in await session.refused(write_file, path="a.txt", content="\ud83d")
        assert not (session.folder / "a.txt").exists()

    @pytest.mark.parametrize(
        ("name", "content", "said"),
        [
            ("a.py", "def f(:\n", "Warning: Python syntax error in line 1"),
            ("a.json", '{"a": }', "Warning: not valid JSON, line 1, column 7"),
            ("a.toml", "a = \n", "Warning: not valid TOML"),
            ("a.yaml", "a: [1\n", "Warning: not valid YAML"),
            ("a.py", 'x = "\\d"\n', ""),
            ("a.json", "[1]", ""),
            ("a.toml", "a = 1\n", ""),
            ("a.yaml", "a: !own [1]\n", ""),
            ("a.txt", "{", ""),
        ],
    )
    async def test_a_broken_file_is_written_with_a_warning(
        self, session: Session, name: str, content: str, said: str
    ) -> None:
        answer = await session(write_file, path=name, content=content)
        assert (said in answer) if said else ("Warning" not in answer)
        assert (session.folder / name).read_bytes() == content.encode()

    async def test_what_was_broken_before_is_no_news(self, session: Session) -> None:
        session.put("tsconfig.json", "{} // comment\n")
        answer = await session(
            patch, path="tsconfig.json", old_string="comment", new_string="remark"
        )
        assert "Warning" not in answer


class TestPatching:
    async def test_the_answer_is_a_short_diff(self, session: Session) -> None:
        session.put("a.py", "".join(f"a{number} = 1\n" for number in range(100)))
        answer = await session(patch, path="a.py", old_string="a50 = 1", new_string="a50 = 2")
        assert answer == (
            "Changed a.py (line 51).\n@@ -49,5 +49,5 @@\n a48 = 1\n a49 = 1\n-a50 = 1\n+a50 = 2\n"
            " a51 = 1\n a52 = 1"
        )

    async def test_e5_a_loose_match_is_named(self, session: Session) -> None:
        session.put("a.txt", "x\u00a0= 1\n")
        answer = await session(patch, path="a.txt", old_string="x = 1", new_string="x = 2")
        assert "not an exact match: look-alike characters taken as equal" in answer

    async def test_e8_blank_search_text_leaves_the_file_untouched(self, session: Session) -> None:
        path = session.put("a.txt", "a \n b\n")
        for old in ("", " ", "\n", "\t\n "):
            said = await session.refused(patch, path="a.txt", old_string=old, new_string="x")
            assert "only whitespace" in said
        assert path.read_bytes() == b"a \n b\n"

    async def test_a_file_that_changed_is_patched_as_it_is_now(self, session: Session) -> None:
        path = session.put("a.txt", "one\ntwo\n")
        await session(read_file, path="a.txt")
        session.touch("a.txt", "zero\none\ntwo\n")
        answer = await session(patch, path="a.txt", old_string="two", new_string="three")
        assert "had changed since you read it" in answer
        assert path.read_bytes() == b"zero\none\nthree\n"

    async def test_what_the_old_encoding_lacks_is_refused(self, session: Session) -> None:
        path = session.put("a.txt", b"caf\xe9\n")
        said = await session.refused(patch, path="a.txt", old_string="café", new_string="漢")
        assert "a.txt is Windows-1252, which has no '漢'" in said
        assert path.read_bytes() == b"caf\xe9\n"

    async def test_wrong_arguments_say_what_to_give(self, session: Session) -> None:
        assert "path is empty" in await session.refused(patch)
        assert "no such file" in await session.refused(
            patch, path="a", old_string="b", new_string="c"
        )
        assert "not both" in await session.refused(patch, path="a", patch="*** Add File: b")
        session.put("bin", b"\x00\x01")
        assert "not a text file" in await session.refused(
            patch, path="bin", old_string="b", new_string="c"
        )

    async def test_a_patch_over_several_files(self, session: Session) -> None:
        session.put("a.txt", "one\r\ntwo\r\n")
        session.put("b.txt", "gone\n")
        session.put("c.txt", "\ufeffthree\n".encode("utf-16-le"))
        text = (
            "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Delete File: b.txt\n"
            "*** Update File: c.txt\n*** Move to: sub/d.txt\n@@\n-three\n+3\n"
            "*** Add File: e.py\n+x = (\n*** End Patch"
        )
        answer = await session(patch, patch=text)
        assert answer.startswith(
            "Patch applied: changed a.txt; added sub/d.txt, e.py; deleted b.txt, c.txt."
        )
        assert "-two\n+2" in answer
        assert "Python syntax error" in answer
        names = sorted(str(p.relative_to(session.folder)) for p in session.folder.rglob("*.*"))
        assert names == ["a.txt", "e.py", os.path.join("sub", "d.txt")]
        assert (session.folder / "a.txt").read_bytes() == b"one\r\n2\r\n"
        assert (session.folder / "sub/d.txt").read_bytes() == "\ufeff3\n".encode("utf-16-le")

    async def test_two_updates_of_one_file_build_on_each_other(self, session: Session) -> None:
        path = session.put("a.txt", "one\n")
        await session(
            patch,
            patch="*** Update File: a.txt\n@@\n-one\n+two\n*** Update File: ./a.txt\n-two\n+3",
        )
        assert path.read_bytes() == b"3\n"

    async def test_e6_every_part_that_does_not_fit_is_named_and_nothing_happens(
        self, session: Session
    ) -> None:
        path = session.put("a.txt", "one\ntwo\n")
        session.put("b.txt", "x\n")
        text = (
            "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n@@\n-stale\n+2\n"
            "*** Add File: b.txt\n+y\n*** Delete File: none.txt\n*** Add File: c.txt\n+new\n"
            "*** End Patch"
        )
        said = await session.refused(patch, patch=text)
        assert "3 parts do not fit; nothing was changed" in said
        assert "hunk 2 of 2 of a.txt: what it expects is not in the file" in said
        assert "b.txt exists already" in said
        assert "none.txt: no such file" in said
        assert path.read_bytes() == b"one\ntwo\n"
        assert sorted(os.listdir(session.folder)) == ["a.txt", "b.txt"]

    async def test_e7_a_write_that_fails_halfway_is_taken_back(self, tmp_path: Path) -> None:
        class Full(FolderEnvironment):
            async def write(
                self, path: str, data: bytes, *, expected: FileStat | None = None
            ) -> FileStat:
                if path.endswith("b.txt"):
                    raise ToolError("b.txt: no space left on the disk.")
                return await super().write(path, data, expected=expected)

        session = Session(tmp_path, Full(tmp_path))
        first, second = session.put("a.txt", "one\n"), session.put("b.txt", "two\n")
        text = (
            "*** Add File: 0.txt\n+zero\n*** Update File: a.txt\n-one\n+1\n"
            "*** Update File: b.txt\n-two\n+2"
        )
        said = await session.refused(patch, patch=text)
        assert said == (
            "b.txt: no space left on the disk. The 2 files written before it were put back."
        )
        assert (first.read_bytes(), second.read_bytes()) == (b"one\n", b"two\n")
        assert not (tmp_path / "0.txt").exists()

    @pytest.mark.skipif(not POSIX, reason="links need a privilege elsewhere")
    async def test_links_are_neither_deleted_nor_moved(self, session: Session) -> None:
        session.put("real.txt", "one\n")
        (session.folder / "link.txt").symlink_to("real.txt")
        for text in (
            "*** Delete File: link.txt",
            "*** Update File: link.txt\n*** Move to: other.txt",
        ):
            assert "is a link" in await session.refused(patch, patch=text)
        assert (session.folder / "real.txt").exists()

    @pytest.mark.skipif(not POSIX, reason="links need a privilege elsewhere")
    async def test_e19_the_path_is_resolved_once_and_used_everywhere(
        self, session: Session
    ) -> None:
        session.put("one/a.txt", "x\n")
        session.put("two/a.txt", "x\n")
        link = session.folder / "current"
        link.symlink_to("one", target_is_directory=True)

        class Switching(FolderEnvironment):
            async def read(self, path: str, *, limit: int = 50_000_000) -> bytes:
                data = await super().read(path, limit=limit)
                link.unlink()
                link.symlink_to("two", target_is_directory=True)
                return data

        other = Session(session.folder, Switching(session.folder))
        answer = await other(patch, path="current/a.txt", old_string="x", new_string="y")
        assert "Changed one/a.txt" in answer
        assert (session.folder / "one/a.txt").read_bytes() == b"y\n"
        assert (session.folder / "two/a.txt").read_bytes() == b"x\n"
