"""Who may import whom: the floors of the house, and the libraries that stand behind one file."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence

import pytest

# Higher floors import lower ones; on one floor the packages do not know each other. A module of the
# kernel that is not named here stands on the ground floor.
FLOORS = {
    "hermes_core.store": 1,
    "hermes_core.gate": 1,
    "hermes_core.route": 1,
    "hermes_core.agent": 2,
    "hermes_core.gateway": 3,
    # What the composition root puts together: the log redacts, a plugin's handle reads the store.
    "hermes_core.log": 4,
    "hermes_core.handle": 4,
    "hermes_core.keeper": 3,
    "hermes_core.naming": 3,
    "hermes_core.opening": 4,
    "hermes_core.runtime": 5,
    "hermes_core.catalog": 5,
    "hermes_core.anatomy": 4,
    "hermes_core.slash_commands": 5,
    "hermes_core.faces": 6,
    "hermes_core.cli": 7,
}

# Library -> the files that may import it; everybody else goes through them.
BEHIND = {
    "stevedore": {"hermes_core/discovery.py"},
    "httpx": {"hermes_core/http.py"},
    "platformdirs": {"hermes_core/paths.py"},
    "yaml": {
        "hermes_core/config_yaml.py",
        # Says whether a YAML file that the model wrote is one.
        "plugins-builtin/hermes-plugin-file/hermes_plugin_file/syntax.py",
        # Reads the settings of another program.
        "plugins-builtin/hermes-plugin-setup/hermes_plugin_setup/elsewhere.py",
        # Reads the front matter of skill packs.
        "plugins-builtin/hermes-plugin-inspect/hermes_plugin_inspect/skills.py",
    },
    "ruamel": {"hermes_core/config_text.py"},
    "tree_sitter": {"hermes_core/gate/commands.py"},
    "tree_sitter_bash": {"hermes_core/gate/commands.py"},
    "pluggy": {
        "hermes_core/dispatch.py",
        "hermes_core/host.py",
        "hermes_core/implementations.py",
        "hermes_plugins/_markers.py",
    },
}
KIT_NEEDS = {"msgspec", "pluggy"}
PLUGIN_NEEDS: dict[str, set[str]] = {
    "hermes_plugin_api_server": {"starlette", "uvicorn"},
    "hermes_plugin_file": {"yaml"},
    "hermes_plugin_inspect": {"yaml"},
    "hermes_plugin_repl": {"prompt_toolkit", "rich"},
    "hermes_plugin_setup": {"prompt_toolkit", "yaml"},
}
"""What a built-in plugin may import besides the kit and msgspec: its own dependencies."""


def floor_of(module: str) -> tuple[str, int]:
    for name, floor in FLOORS.items():
        if module == name or module.startswith(f"{name}."):
            return name, floor
    return "", 0


def test_the_kit_imports_nothing_of_the_kernel(sources: Sequence) -> None:
    wrong = [
        f"{source.name}:{line} {name}"
        for source in sources
        if source.package == "hermes_plugins" and not source.is_testing
        for line, name, _ in source.imports()
        if name.partition(".")[0] not in {"hermes_plugins", *KIT_NEEDS, *sys.stdlib_module_names}
    ]
    assert wrong == []


def test_a_plugin_imports_the_kit_and_its_own_modules_only(sources: Sequence) -> None:
    wrong = [
        f"{source.name}:{line} {name}"
        for source in sources
        if source.package.startswith("hermes_plugin_")
        for line, name, _ in source.imports()
        if name.partition(".")[0]
        not in {
            "hermes_plugins",
            "msgspec",
            "click",  # what a command is made of
            source.package,
            *PLUGIN_NEEDS.get(source.package, ()),
            *sys.stdlib_module_names,
        }
        or name.startswith("hermes_plugins.testing")
    ]
    assert wrong == []


def test_a_plugin_takes_from_the_kit_what_is_public(sources: Sequence) -> None:
    wrong = [
        f"{source.name}:{line} {name}"
        for source in sources
        if source.package.startswith("hermes_plugin_")
        for line, name, _ in source.imports()
        if name.startswith("hermes_plugins._")
    ]
    assert wrong == []


def test_a_floor_of_the_kernel_imports_lower_floors_only(sources: Sequence) -> None:
    wrong = []
    for source in sources:
        if source.package != "hermes_core":
            continue
        home, floor = floor_of(source.module)
        for line, name, typing_only in source.imports():
            other, other_floor = floor_of(name)
            if not name.startswith("hermes_core") or typing_only or other == home:
                continue
            if other_floor >= floor and other_floor > 0:
                wrong.append(f"{source.name}:{line} {name}")
    assert wrong == []


def test_the_kernel_names_no_plugin(sources: Sequence) -> None:
    wrong = [
        f"{source.name}:{line} {name}"
        for source in sources
        if source.package in ("hermes_core", "hermes_plugins")
        for line, name, _ in source.imports()
        if name.startswith(("hermes_plugin_", "hermes_plugins.testing")) and not source.is_testing
    ]
    assert wrong == []


@pytest.mark.parametrize("library", BEHIND)
def test_a_library_stands_behind_few_files(sources: Sequence, library: str) -> None:
    users = {
        source.name
        for source in sources
        for _, name, typing_only in source.imports()
        if name.partition(".")[0] == library and not typing_only
    }
    assert users - BEHIND[library] == set()


def test_only_dispatch_calls_hooks(sources: Sequence) -> None:
    wrong = [
        f"{source.name}:{node.lineno}"
        for source in sources
        if source.name != "hermes_core/dispatch.py"
        for node in ast.walk(source.tree)
        # A plugin manager's relay: `something.hook.hermes_…`, or `something.hook` handed on.
        if isinstance(node, ast.Attribute)
        and (node.attr.startswith("hermes_") or _is_relay(node))
        and not source.is_testing
    ]
    assert wrong == []


def _is_relay(node: ast.Attribute) -> bool:
    return (
        node.attr == "hook"
        and isinstance(node.value, ast.Attribute | ast.Name)
        and ast.unparse(node.value).endswith(("plugins", "manager", "pm"))
    )
