"""What is found, however it is installed, and what a start with a table of it costs."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import msgspec
import pytest

from hermes_core.discovery import Discovery, Found, groups
from hermes_core.versions import outside
from hermes_plugins.testing import ScriptedServer, replies

MODULE = "from hermes_plugins import hookimpl\n\n@hookimpl\nasync def hermes_on_start(): ...\n"


def discovery(shelf, *folders: Path) -> Discovery:
    home = shelf.plugins.parent
    return Discovery(cache_file=home / "cache" / "found.json", folders=[shelf.plugins, *folders])


def named(found: tuple[Found, ...], plugin: str) -> list[Found]:
    return [one for one in found if one.plugin == plugin]


# -- places ------------------------------------------------------------------------------


def test_an_installed_distribution_is_found_with_its_name_version_and_range(shelf) -> None:
    shelf.put(
        "Hermes_Plugin.Weather",
        {"hermes.tools/weather": "weather:Plugin", "hermes.services/forecast.x": "weather.make"},
        version="2.1",
        requires=("httpx>=0.28", "Hermes_Host[default] (>=0.1,<9) ; python_version>'3'"),
        into=shelf.installed,
    )
    found = named(discovery(shelf).find(), "weather")
    assert [(one.group, one.name, one.value) for one in found] == [
        ("hermes.tools", "weather", "weather:Plugin"),
        ("hermes.services", "forecast.x", "weather.make"),
    ]
    for one in found:
        assert one.distribution == "hermes-plugin-weather"
        assert (one.version, one.requires_host) == ("2.1", ">=0.1,<9")
        assert (one.source, one.builtin, one.default) == ("installed", False, False)


def test_a_plugin_folder_holds_distributions_directly_or_in_folders_of_their_own(
    shelf, tmp_path: Path
) -> None:
    shelf.put("hermes-plugin-one", {"hermes.tools/one": "one"})
    shelf.put("hermes-plugin-two", {"hermes.tools/two": "two"}, into=shelf.plugins)
    elsewhere = tmp_path / "elsewhere"
    shelf.put("hermes-plugin-three", {"hermes.tools/three": "three"}, into=elsewhere)
    found = discovery(shelf, elsewhere, tmp_path / "missing").find()
    for name in ("one", "two", "three"):
        (one,) = named(found, name)
        assert one.source == "folder"
        assert not one.builtin


async def test_folders_of_the_home_and_of_plugins_paths_are_searched(
    hermes, shelf, tmp_path: Path
) -> None:
    shelf.toolset("one", "saw")
    shelf.toolset("two", "axe", into=tmp_path / "mine")
    settings = {"plugins.enabled": ["one", "two"], "plugins.paths": [str(tmp_path / "mine")]}
    with ScriptedServer([replies.call("axe"), replies.say("done")]) as server:
        async with hermes(settings=settings, server=server, toolsets=("one", "two")) as host:
            await host.ask("go")
            session = await host.session()
            assert [one.name for one in session.tools] == ["axe", "saw"]
            assert session.history[2].text == "from two"


def test_the_working_directory_is_no_place_for_plugins(shelf, tmp_path, monkeypatch) -> None:
    shelf.put("hermes-plugin-trap", {"hermes.tools/trap": "trap"}, into=tmp_path / "cwd")
    monkeypatch.chdir(tmp_path / "cwd")
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    assert named(discovery(shelf).find(), "trap") == []


def test_a_folder_cannot_call_itself_built_in(shelf) -> None:
    shelf.put("hermes-plugin-todo", {"hermes.lifecycle/todo": "evil"})
    shelf.put("hermes-plugin-extra", {"hermes.tools/extra": "extra"})
    found = discovery(shelf)
    assert {one.builtin for one in named(found.find(), "extra")} == {False}
    assert [one.group for one in named(found.find(), "todo")] == ["hermes.tools"]
    (unread,) = found.unread
    assert unread.plugin == "todo"
    assert "is not used" in unread.text


def test_the_prefix_of_a_name_makes_nothing_built_in(shelf) -> None:
    shelf.put("hermes-plugin-mine", {"hermes.tools/mine": "mine"}, into=shelf.installed)
    (one,) = named(discovery(shelf).find(), "mine")
    assert not one.builtin


def test_every_built_in_that_the_default_extra_names_is_on_and_the_others_are_not(shelf) -> None:
    found = discovery(shelf).find()
    default = {one.plugin for one in found if one.default}
    builtin = {one.plugin for one in found if one.builtin}
    assert {"file", "terminal", "todo", "chat-completions"} <= default
    assert {"now", "read-only", "trace"} <= builtin - default


# -- off until enabled ---------------------------------------------------------------------


async def test_a_stranger_is_found_but_off_and_not_imported_until_it_is_enabled(
    hermes, shelf
) -> None:
    shelf.put("hermes-plugin-loud", {"hermes.lifecycle/loud": "hermes_plugin_loud"}, module=MODULE)
    async with hermes() as host:
        await host.runtime.start()
        (one,) = [one for one in host.runtime.host.found if one.plugin == "loud"]
        assert host.runtime.host.why_off(one) == "found but off; `hermes plugins enable loud`"
        assert "hermes_plugin_loud" not in sys.modules
        assert one.location not in sys.path
    for name in ("loud", "hermes-plugin-loud"):
        async with hermes(settings={"plugins.enabled": [name]}) as host:
            await host.runtime.start()
            assert "loud" in host.runtime.host.loaded


async def test_enabling_a_plugin_enables_nobody_who_offers_a_thing_of_that_name(
    hermes, shelf
) -> None:
    shelf.toolset("weather", "forecast")
    shelf.put("acme-tricks", {"hermes.lifecycle/weather": "acme_tricks"}, module="1 / 0\n")
    async with hermes(settings={"plugins.enabled": ["weather"]}) as host:
        await host.runtime.start()
        assert host.runtime.host.problems == []
        (one,) = [one for one in host.runtime.host.found if one.plugin == "acme-tricks"]
        assert "hermes plugins enable acme-tricks" in host.runtime.host.why_off(one)


async def test_disabled_wins_over_enabled_and_over_default(hermes) -> None:
    settings = {"plugins.enabled": ["now", "todo"], "plugins.disabled": ["now", "todo"]}
    async with hermes(settings=settings) as host:
        await host.runtime.start()
        assert "now" not in host.runtime.host.names("hermes.lifecycle")
        assert "todo" not in host.runtime.host.names("hermes.tools")


# -- identity --------------------------------------------------------------------------------


async def test_a_plugin_named_in_several_groups_is_loaded_once(hermes, shelf) -> None:
    source = (
        "from hermes_plugins import hookimpl\nstarted = []\n\n"
        "@hookimpl\nasync def hermes_on_start():\n    started.append(1)\n\n"
        "@hookimpl\ndef hermes_register_tools():\n    return []\n"
    )
    target = "hermes_plugin_both"
    points = {f"hermes.{group}/both": target for group in ("tools", "lifecycle", "memory")}
    shelf.put("hermes-plugin-both", points, module=source)
    async with hermes(settings={"plugins.enabled": ["both"]}) as host:
        for group in ("hermes.tools", "hermes.memory"):
            await host.runtime.host.load(group, ["both"])
        await host.runtime.start()
        assert host.runtime.host.loaded["both"].groups == (
            "hermes.tools",
            "hermes.memory",
            "hermes.lifecycle",
        )
    assert sys.modules[target].started == [1]


async def test_a_distribution_in_a_folder_and_in_the_environment_counts_once(hermes, shelf) -> None:
    shelf.toolset("dup", "saw")
    shelf.toolset("dup", "saw", into=shelf.installed)
    shelf.toolset("dup", "saw", version="2.0", into=shelf.plugins / "newer")
    async with hermes(settings={"plugins.enabled": ["dup"]}) as host:
        (one,) = [one for one in host.runtime.host.found if one.plugin == "dup"]
        assert one.source == "installed"
        await host.runtime.host.load("hermes.tools", ["dup"])
        assert [one.name for one in host.runtime.host.loaded["dup"].tools] == ["saw"]
        told = [one.text for one in host.runtime.host.problems]
    assert len(told) == 2
    assert all(f"is not used: 1.0 of it is in {shelf.installed}" in text for text in told)


async def test_duplicates_that_are_not_neighbours_are_seen(hermes, shelf) -> None:
    for name, target in (("da", "mod_a"), ("db", "mod_b"), ("dc", "mod_a")):
        shelf.put(f"hermes-plugin-{name}", {"hermes.tools/same": target})
    settings = {"plugins.enabled": ["da", "db", "dc"]}
    async with hermes(settings=settings) as host:
        assert "same" not in host.runtime.host.names("hermes.tools")
        assert await host.runtime.host.load("hermes.tools", ["same"]) == []
        told = {one.plugin: one.text for one in host.runtime.host.problems}
    assert set(told) == {"da", "db", "dc"}
    assert "hermes-plugin-da and hermes-plugin-dc both name mod_a" in told.values()
    assert "offer same in hermes.tools" in told["db"]


async def test_two_distributions_cannot_be_one_plugin(hermes, shelf) -> None:
    shelf.toolset("weather", "forecast")
    shelf.put("weather", {"hermes.services/web_search.evil": "weather:make"})
    async with hermes(settings={"plugins.enabled": ["weather"]}) as host:
        await host.runtime.host.load("hermes.tools", ["weather"])
        assert "weather" not in host.runtime.host.loaded
        (told,) = {one.text for one in host.runtime.host.problems}
    assert told == "hermes-plugin-weather and weather both call themselves the plugin weather"


async def test_a_stranger_cannot_be_a_built_in_plugin(hermes, shelf) -> None:
    shelf.put("todo", {"hermes.lifecycle/todo": "evil_todo"}, into=shelf.installed)
    async with hermes(settings={"plugins.enabled": ["todo"]}) as host:
        await host.runtime.start()
        await host.runtime.host.load("hermes.tools", ["todo"])
        assert host.runtime.host.loaded["todo"].distribution == "hermes-plugin-todo"
        assert host.runtime.host.loaded["todo"].groups == ("hermes.tools",)
        (problem,) = host.runtime.host.problems
    assert "both call themselves the plugin todo" in problem.text


async def test_one_distribution_has_one_plugin(hermes, shelf) -> None:
    shelf.put("hermes-plugin-two", {"hermes.tools/two": "two_a", "hermes.memory/two": "two_b"})
    async with hermes(settings={"plugins.enabled": ["two"]}) as host:
        assert "two" not in host.runtime.host.names("hermes.tools")
        (problem,) = host.runtime.host.problems
    assert problem.text == "its entry points name several plugins (two_a, two_b)"
    assert problem.hint == "All of them must name one module or class."


async def test_a_folder_whose_module_has_a_name_that_is_taken_is_told_of_it(hermes, shelf) -> None:
    shelf.put("hermes-plugin-json", {"hermes.tools/j": "json"})
    async with hermes(settings={"plugins.enabled": ["json"]}) as host:
        await host.runtime.host.load("hermes.tools", ["j"])
        (problem,) = host.runtime.host.problems
    assert "json is also the name of" in problem.text
    assert "which is loaded instead" in problem.text


# -- versions ----------------------------------------------------------------------------------


async def test_a_plugin_for_another_version_of_the_host_is_refused_before_its_import(
    hermes, shelf
) -> None:
    shelf.put(
        "hermes-plugin-old",
        {"hermes.lifecycle/old": "hermes_plugin_old"},
        module=MODULE,
        requires=("hermes-host>=99",),
    )
    async with hermes(settings={"plugins.enabled": ["old"]}) as host:
        await host.runtime.start()
        (problem,) = host.runtime.host.problems
    assert problem.text.startswith("needs hermes-host >=99, this is ")
    assert "hermes_plugin_old" not in sys.modules


@pytest.mark.parametrize(
    ("requirement", "version", "fits"),
    [
        ("", "0.1.0", True),
        (">=0.1", "0.1.0", True),
        (">=0.1.1", "0.1.0", False),
        (">0.1", "0.1.0", False),
        ("<=0.1", "0.1.0", True),
        ("<1, >=0.1", "0.9.12", True),
        ("<1", "1.0rc1", False),
        ("==1.2", "1.2.0", True),
        ("==1.2", "1.2.1", False),
        ("==1.2.*", "1.2.1", True),
        ("!=1.2.*", "1.2.1", False),
        ("~=1.4", "1.9", True),
        ("~=1.4", "2.0", False),
        ("~=1.4.2", "1.4.9", True),
        ("~=1.4.2", "1.5.0", False),
        (">=1.10", "1.9", False),
        (">=0.1", "0.1.0.dev3", True),
        (">=0.1", "v0.1+local.7", True),
    ],
)
def test_ranges_of_the_host_are_read_as_pep_440_has_them(
    requirement: str, version: str, fits: bool
) -> None:
    told = outside(requirement, version=version)
    assert told == ("" if fits else f"needs hermes-host {requirement}, this is {version}.")


# -- broken distributions ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("entry_points.txt", b"\xff\xfe\x00[hermes.tools]"),
        ("entry_points.txt", b"[hermes.tools]\nno equals sign\n"),
        ("METADATA", None),
        ("METADATA", b""),
        ("METADATA", b"\xff\xfe\xfa"),
        ("METADATA", b"Version: 1.0\n"),
    ],
    ids=["points-bytes", "points-line", "no-metadata", "empty", "bytes", "no-name"],
)
@pytest.mark.parametrize("place", ["folder", "installed"])
async def test_a_broken_distribution_is_reported_and_stops_nobody(
    hermes, shelf, file: str, content: bytes | None, place: str
) -> None:
    into = None if place == "folder" else shelf.installed
    shelf.toolset("good", "saw", into=into)
    info = shelf.toolset("bad", "axe", into=into)
    if content is None:
        (info / file).unlink()
    else:
        (info / file).write_bytes(content)
    async with hermes(settings={"plugins.enabled": ["good", "bad"]}) as host:
        await host.runtime.host.load("hermes.tools", ["good", "bad"])
        assert "good" in host.runtime.host.loaded
        (problem,) = host.runtime.host.problems
    assert problem.plugin == "bad"
    assert str(info) in problem.text
    assert "\n" not in problem.text
    assert problem.hint == "Install it again, or remove that folder."


def test_a_distribution_without_a_version_is_still_found(shelf) -> None:
    info = shelf.put("hermes-plugin-bare", {"hermes.tools/bare": "bare"})
    (info / "METADATA").write_text("Name: hermes-plugin-bare\n", encoding="utf-8")
    (one,) = named(discovery(shelf).find(), "bare")
    assert one.version == ""


# -- the table -------------------------------------------------------------------------------


def test_a_table_that_fits_is_used_and_is_the_same_as_what_a_search_finds(shelf) -> None:
    shelf.toolset("one", "saw")
    first, second = discovery(shelf), discovery(shelf)
    searched, read = first.find(), second.find()
    assert (first.from_cache, second.from_cache) == (False, True)
    assert searched == read


@pytest.mark.parametrize("place", ["folder", "new-folder", "installed"])
def test_a_new_distribution_makes_the_table_old(shelf, place: str) -> None:
    if place == "folder":
        shelf.plugins.mkdir(parents=True)
    discovery(shelf).find()
    into = shelf.installed if place == "installed" else None
    shelf.put("hermes-plugin-late", {"hermes.tools/late": "late"}, into=into)
    again = discovery(shelf)
    assert named(again.find(), "late") != []
    assert not again.from_cache


def test_a_distribution_that_is_gone_is_gone_from_the_table(shelf) -> None:
    info = shelf.put("hermes-plugin-early", {"hermes.tools/early": "early"}, into=shelf.installed)
    assert named(discovery(shelf).find(), "early") != []
    for file in info.iterdir():
        file.unlink()
    info.rmdir()
    assert named(discovery(shelf).find(), "early") == []


def test_what_could_not_be_read_is_in_the_table_too(shelf) -> None:
    info = shelf.toolset("bad", "axe")
    (info / "METADATA").unlink()
    discovery(shelf).find()
    again = discovery(shelf)
    again.find()
    assert again.from_cache
    assert [one.plugin for one in again.unread] == ["bad"]


@pytest.mark.parametrize("content", [b"", b"{", b'{"key": 1}', b"\x00\xff", b"[]"])
def test_a_table_that_is_broken_is_made_anew(shelf, content: bytes) -> None:
    first = discovery(shelf)
    found = first.find()
    file = shelf.plugins.parent / "cache" / "found.json"
    file.write_bytes(content)
    again = discovery(shelf)
    assert again.find() == found
    assert not again.from_cache
    assert msgspec.json.decode(file.read_bytes())["found"]


def test_a_home_that_cannot_be_written_only_costs_the_search(shelf) -> None:
    (shelf.plugins.parent).mkdir(parents=True)
    (shelf.plugins.parent / "cache").write_text("a file where the folder belongs", encoding="utf-8")
    for _ in range(2):
        again = discovery(shelf)
        assert again.find() != ()
        assert not again.from_cache


def test_asking_anew_searches_although_the_table_fits(shelf) -> None:
    discovery(shelf).find()
    again = discovery(shelf)
    again.find(fresh=True)
    assert not again.from_cache


def test_a_start_with_a_table_imports_neither_stevedore_nor_importlib_metadata(
    hermes_home: Path,
) -> None:
    program = (
        "import sys, pathlib\n"
        "from hermes_core.discovery import Discovery\n"
        "home = pathlib.Path(sys.argv[1])\n"
        "one = Discovery(cache_file=home / 'found.json', folders=[home / 'plugins'])\n"
        "assert one.find()\n"
        "heavy = {'stevedore', 'importlib.metadata', 'email', 'pkg_resources'} & set(sys.modules)\n"
        "print(one.from_cache, sorted(heavy))\n"
    )
    answers = [
        subprocess.run(
            [sys.executable, "-c", program, str(hermes_home)],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
        for _ in range(2)
    ]
    assert answers[0].startswith("False")
    assert answers[1] == "True []"


def test_a_search_leaves_nothing_in_the_owners_own_cache_folder(
    shelf, tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    discovery(shelf).find()
    assert not (tmp_path / "xdg").exists()


def test_a_search_warns_of_nothing(shelf) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        discovery(shelf).find(fresh=True)


def test_every_group_of_the_design_is_searched(shelf) -> None:
    points = {f"{group}/x.y": "every" for group in groups()}
    shelf.put("hermes-plugin-every", points)
    assert [one.group for one in named(discovery(shelf).find(), "every")] == list(groups())
