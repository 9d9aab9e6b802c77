"""search_files, with and without ripgrep."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hermes_plugin_file import search_files
from hermes_plugin_file.globs import Rules, compile_glob

from hermes_plugins import ExecResult, Json, ToolError
from hermes_plugins.testing import FakeContext, FolderEnvironment, call_tool

WITHOUT = pytest.param(False, id="walk")
WITH = pytest.param(
    True,
    id="ripgrep",
    marks=pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed"),
)


class Plain(FolderEnvironment):
    """A place without ripgrep."""

    async def exec(self, command: str | Sequence[str], **options: object) -> ExecResult:
        raise ToolError("rg: not found.")


class Search:
    def __init__(self, folder: Path, *, ripgrep: bool) -> None:
        self.folder = folder
        environment = FolderEnvironment(folder) if ripgrep else Plain(folder)
        self.context = FakeContext(folder, environment=environment)

    async def __call__(self, pattern: str, **arguments: Json) -> str:
        answer = await call_tool(search_files, {"pattern": pattern, **arguments}, self.context)
        assert isinstance(answer, str)
        return answer

    def put(self, name: str, data: bytes | str = "x\n") -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)


@pytest.fixture(params=[WITHOUT, WITH])
def search(request: pytest.FixtureRequest, tmp_path: Path) -> Search:
    folder = tmp_path / "work"
    folder.mkdir()
    return Search(folder, ripgrep=request.param)


async def test_matches_come_by_file_with_their_lines(search: Search) -> None:
    search.put("b.py", "import os\r\nx = os.name\r\n")
    search.put("a/c.py", "nothing\nos.sep\n")
    assert await search(r"os\.\w+$") == (
        "a/c.py\n2:os.sep\nb.py\n2:x = os.name\n[2 matches in 2 files]"
    )
    assert await search("os", path="a") == "a/c.py\n2:os.sep\n[1 match in 1 file]"
    assert await search("os", path="b.py", limit=1) == (
        "b.py\n1:import os\n[matches 1-1; continue with offset=1]"
    )


async def test_lines_around_a_match_are_marked(search: Search) -> None:
    search.put("a.txt", "".join(f"line {number}\n" for number in range(1, 13)))
    assert await search("line [36]$|line 12", context=1) == (
        "a.txt\n2-line 2\n3:line 3\n4-line 4\n5-line 5\n6:line 6\n7-line 7\n--\n"
        "11-line 11\n12:line 12\n[3 matches in 1 file]"
    )


async def test_pages_follow_each_other(search: Search) -> None:
    for name in "abc":
        search.put(f"{name}.txt", "hit\nhit\n")
    seen: list[str] = []
    for offset in (0, 2, 4):
        answer = await search("hit", limit=2, offset=offset)
        seen += [line for line in answer.split("\n") if line.endswith((".txt", "hit"))]
        more = offset < 4
        assert (f"continue with offset={offset + 2}]" in answer) is more
    assert seen == ["a.txt", "1:hit", "2:hit", "b.txt", "1:hit", "2:hit", "c.txt", "1:hit", "2:hit"]


async def test_files_and_counts_instead_of_lines(search: Search) -> None:
    search.put("a.txt", "hit\nhit\n" * 100)
    search.put("b.txt", "hit\n")
    search.put("c.txt", "miss\n")
    assert await search("hit", mode="files") == "a.txt\nb.txt\n[2 files with matches]"
    assert await search("hit", mode="count") == "a.txt:200\nb.txt:1\n[2 files with matches]"
    assert "continue with offset=1]" in await search("hit", mode="files", limit=1)


async def test_names_are_found_by_glob_or_by_a_part(search: Search) -> None:
    for name in ("src/app.py", "src/app_test.py", "docs/app.md"):
        search.put(name)
    assert await search("*.py", target="files") == "src/app.py\nsrc/app_test.py\n[2 files]"
    assert await search("_te", target="files") == "src/app_test.py\n[1 file]"
    assert await search("docs/**", target="files") == "docs/app.md\n[1 file]"
    assert await search("app*", target="files", glob="*.{md,txt}") == "docs/app.md\n[1 file]"
    assert await search("*.rs", target="files") == (
        "No file name matches '*.rs' in 3 files of this folder."
    )


async def test_only_files_like_the_glob_are_searched(search: Search) -> None:
    search.put("a.py", "hit\n")
    search.put("sub/b.md", "hit\n")
    assert "sub/b.md\n1:hit" in await search("hit", glob="*.md")
    assert await search("hit", glob="*.py", mode="files") == "a.py\n[1 file with matches]"
    assert "1 match in 1 file" in await search("hit", glob="sub/*")
    assert await search("hit", glob="!*.py", mode="files") == "sub/b.md\n[1 file with matches]"


async def test_hidden_and_ignored_files_are_left_out(search: Search) -> None:
    search.put(".gitignore", "*.log\n!keep.log\nbuild/\n/top.txt\n")
    for name in ("a.log", "keep.log", "build/b.txt", "top.txt", "sub/top.txt", ".env", ".d/e.txt"):
        search.put(name, "hit\n")
    search.put("sub/.gitignore", "!a.log\n")
    search.put("sub/a.log", "hit\n")
    assert await search("hit", mode="files") == (
        "keep.log\nsub/a.log\nsub/top.txt\n[3 files with matches]"
    )


@pytest.mark.parametrize("root", [".hidden", ".hidden/deep", "ignored", "ignored/deep"])
async def test_e18_a_root_that_is_hidden_or_ignored_is_searched(search: Search, root: str) -> None:
    search.put(".gitignore", "ignored/\n*.ignored\n")
    search.put(f"{root}/a.txt", "hit\n")
    assert f"{root}/a.txt\n1:hit" in await search("hit", path=root)


async def test_e18_where_everything_is_ignored_it_is_searched_and_said(search: Search) -> None:
    search.put(".gitignore", "*\n")
    search.put("a.txt", "hit\n")
    answer = await search("hit")
    assert answer.startswith("a.txt\n1:hit\n")
    assert "everything here is hidden or ignored, so it was searched anyway" in answer
    assert "a.txt" in await search("*.txt", target="files")


async def test_e18_nothing_found_says_what_was_searched_or_why_not(search: Search) -> None:
    (search.folder / "empty").mkdir()
    search.put("a/b.txt", "x\n")
    assert await search("hit", path="a") == "No match for 'hit' in 1 file of a."
    assert "Nothing was searched: empty holds no file" in await search("hit", path="empty")
    with pytest.raises(ToolError, match="no such file"):
        await search("hit", path="missing")
    with pytest.raises(ToolError, match="pattern is empty"):
        await search("")


async def test_a_bad_expression_is_searched_as_text_and_said(search: Search) -> None:
    search.put("a.txt", "f(x[0\n")
    answer = await search("f(x[0")
    assert answer.startswith("a.txt\n1:f(x[0\n")
    assert "not a regular expression" in answer
    assert "so searched as plain text" in answer


async def test_odd_files_do_not_stop_a_search(search: Search) -> None:
    search.put("bin", b"hit\x00\x01")
    search.put("u16.txt", "\ufeffhit\n".encode("utf-16-le"))
    search.put("long.txt", "hit" + "x" * 5000 + "\n")
    search.put(".git/config", "hit\n")
    search.put("-dash.txt", "hit\n")
    answer = await search("hit")
    assert "u16.txt\n1:hit\n" in answer
    assert "-dash.txt\n1:hit\n" in answer
    assert ".git" not in answer
    assert max(map(len, answer.split("\n"))) < 400


@pytest.mark.skipif(os.name != "posix", reason="links need a privilege elsewhere")
async def test_links_to_folders_are_not_followed(search: Search, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.txt").write_text("hit\n", encoding="utf-8")
    search.put("b.txt", "hit\n")
    (search.folder / "loop").symlink_to(search.folder, target_is_directory=True)
    (search.folder / "out").symlink_to(tmp_path / "outside", target_is_directory=True)
    assert await search("hit") == "b.txt\n1:hit\n[1 match in 1 file]"


async def test_without_ripgrep_an_expression_that_may_hang_is_refused(tmp_path: Path) -> None:
    search = Search(tmp_path, ripgrep=False)
    search.put("a.txt", "a" * 100)
    with pytest.raises(ToolError, match="could take forever"):
        await search("(a+)+$")


async def test_ripgrep_is_tried_once_where_it_is_not(tmp_path: Path) -> None:
    tried: list[object] = []

    class Counting(Plain):
        async def exec(self, command: str | Sequence[str], **options: object) -> ExecResult:
            tried.append(command)
            return await super().exec(command, **options)

    search = Search(tmp_path, ripgrep=False)
    search.context.environment = Counting(tmp_path)
    search.put("a.txt", "hit\n")
    await search("hit")
    await search("hit")
    assert len(tried) == 1


async def test_a_cancelled_search_stops(tmp_path: Path) -> None:
    search = Search(tmp_path, ripgrep=False)
    for number in range(10):
        search.put(f"{number}.txt", "hit\n")
    search.context.cancelled.set()
    assert "Nothing was searched" in await search("hit")


@pytest.mark.parametrize(
    ("glob", "matches", "misses"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc", "py"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["a.py"]),
        ("**/t", ["t", "x/t"], ["xt"]),
        ("[!a]?.txt", ["bc.txt"], ["ac.txt", "b.txt"]),
        ("{a,b}.{md,txt}", ["a.md", "x/b.txt"], ["c.md"]),
        ("a[", ["a["], ["a"]),
        ("./a+b(1).txt", ["a+b(1).txt"], ["aab1.txt"]),
    ],
)
def test_globs(glob: str, matches: list[str], misses: list[str]) -> None:
    pattern = compile_glob(glob)
    assert [name for name in matches if not pattern.fullmatch(name)] == []
    assert [name for name in misses if pattern.fullmatch(name)] == []


@pytest.mark.parametrize(
    ("rules", "ignored", "kept"),
    [
        ("*.log", ["a.log", "x/a.log"], ["a.logs"]),
        ("/a", ["a"], ["x/a"]),
        ("x/a", ["x/a"], ["y/x/a"]),
        ("d/", ["d/"], ["d"]),
        ("# c\n\\#x\n\\!y\n z ", ["#x", "!y", " z"], ["# c", "z"]),
        ("*\n!*.py", ["a.md"], ["a.py"]),
        ("a/**", ["a/b", "a/b/c"], ["a"]),
        ("\ufeff*.log\r\n", ["a.log"], ["a"]),
        ("a\\ \nb  ", ["a ", "b"], ["a"]),
    ],
)
def test_ignore_files(rules: str, ignored: list[str], kept: list[str]) -> None:
    here = Rules().below("", [rules])

    def ignores(path: str) -> bool:
        return here.ignores(path.rstrip("/"), is_folder=path.endswith("/"))

    assert [path for path in ignored if not ignores(path)] == []
    assert [path for path in kept if ignores(path)] == []
