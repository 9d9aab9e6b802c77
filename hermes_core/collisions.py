"""Who gets a name that several plugins claim: the same answer whatever the order of finding and loading.

A built-in keeps its name, unless ``plugins.NAME.overrides`` gives a tool of it away; among strangers
nobody gets it. Functions over values; the host acts on what they say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import msgspec

from hermes_core.discovery import Found
from hermes_core.loaded import Loaded, Problem
from hermes_plugins._tools import Tool

Overrides = Mapping[str, tuple[str, ...]]

_UNINSTALL = "`hermes plugins disable {name}`, or uninstall one of them."


def refused(found: Sequence[Found], *, is_off: Callable[[Found], bool]) -> dict[Found, Problem]:
    """Entry points that must not be used although they are on, each with the reason.

    One plugin name belongs to one distribution, one distribution has one plugin, one target belongs
    to one distribution, and one name in a group has one target.
    """
    usable = [one for one in found if not is_off(one)]
    problems: dict[Found, Problem] = {}
    homes = {one.value: one.distribution for one in usable if one.distribution}
    plugins = _grouped(usable, lambda one: one.plugin)
    for name, claimants in plugins.items():
        # ``--plugin MODULE`` of an installed plugin is that plugin.
        owners = sorted({one.distribution or homes.get(one.value, one.value) for one in claimants})
        values = _plugin_targets(claimants)
        if len(owners) > 1:
            _refuse(problems, claimants, f"{_both(owners)} both call themselves the plugin {name}")
        elif len(values) > 1:
            text = f"its entry points name several plugins ({', '.join(values)})"
            hint = "All of them must name one module or class."
            problems |= {one: Problem(plugin=name, text=text, hint=hint) for one in claimants}
    targets = _grouped((one for one in usable if one.distribution), lambda one: one.value)
    for value, claimants in targets.items():
        owners = sorted({one.distribution for one in claimants})
        if len(owners) > 1:
            _refuse(problems, claimants, f"{_both(owners)} both name {value}")
    offers = _grouped(usable, lambda one: f"{one.name} in {one.group}")
    for offer, claimants in offers.items():
        if len({one.value for one in claimants}) > 1:
            owners = sorted({one.distribution or one.value for one in claimants})
            verb = "both offer" if len(owners) > 1 else "offers twice"
            _refuse(problems, claimants, f"{_both(owners)} {verb} {offer}")
    return problems


def declaration_problem(
    loaded: Loaded,
    *,
    toolsets: Collection[str],
    providers: Collection[str],
    platforms: Collection[str],
) -> str:
    """What is wrong with what a plugin declares, seen alone; "" when nothing is.

    ``toolsets``, ``providers`` and ``platforms`` are the names of its entry points; ``--plugin`` has
    none to compare.
    """
    names = [f"{kind} {name}" for kind, name in labels(loaded)]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        return f"it offers {twice} twice."
    if loaded.source == "module":
        return ""
    for tool in loaded.tools:
        if tool.toolset not in toolsets:
            return (
                f"tool {tool.name} belongs to toolset {tool.toolset!r}, which no entry point "
                f"of this plugin names (there is: {', '.join(sorted(toolsets)) or 'none'})."
            )
    for profile in loaded.providers:
        if profile.id not in providers:
            return (
                f"no entry point in hermes.providers names its provider {profile.id!r} "
                f"(there is: {', '.join(sorted(providers)) or 'none'})."
            )
    for spec in loaded.platforms:
        if spec.id not in platforms:
            return (
                f"no entry point in hermes.platforms names its platform {spec.id!r} "
                f"(there is: {', '.join(sorted(platforms)) or 'none'})."
            )
    for section in loaded.config:
        if section.name != loaded.name:
            return (
                f"it declares the settings plugins.{section.name}; its own are "
                f"plugins.{loaded.name}."
            )
    return _setup_problem(loaded)


def _setup_problem(loaded: Loaded) -> str:
    """What keeps the questions that a plugin wants to have asked from being asked."""
    own = {name for section in loaded.config for name in section.env}
    own |= {name for one in loaded.providers for name in (*one.env, one.base_url_env)}
    for section in loaded.setup:
        asked: set[str] = set()
        for one in section.questions:
            if one.key.isupper() and one.key not in own:
                return f"its setup asks for {one.key}, which it does not name in ConfigSection.env."
            if one.kind == "choice" and not one.choices:
                return f"its setup gives nothing to choose from for {one.key}."
            if one.only_if and one.only_if not in asked:
                return f"its setup asks for {one.key} only if {one.only_if}, which is not asked before."
            asked.add(one.key)
    return ""


def losers(
    everyone: Sequence[Loaded], *, builtin: Collection[str], overrides: Overrides
) -> dict[str, Problem]:
    """The plugins that offer what is not theirs to offer, each with the reason."""
    owners: dict[tuple[str, str], list[Loaded]] = {}
    for one in everyone:
        for label in dict.fromkeys(labels(one)):
            owners.setdefault(label, []).append(one)
    lost: dict[str, Problem] = {}
    for (kind, name), claimants in owners.items():
        if len(claimants) < 2:
            continue
        chosen = [
            one for one in claimants if kind == "tool" and name in overrides.get(one.name, ())
        ]
        kept = {one.name for one in claimants if one.name in builtin}
        if len(chosen) == 1:  # a built-in that is overridden loses that one tool, not its place
            kept.add(chosen[0].name)
        for one in claimants:
            if one.name not in kept:
                others = [other.name for other in claimants if other is not one]
                lost[one.name] = _loss(one.name, kind, name, others=others, chosen=len(chosen))
    return lost


def labels(loaded: Loaded) -> Iterable[tuple[str, str]]:
    """Every name that a plugin's tools, providers, platforms and slash commands go by."""
    for tool in loaded.tools:
        yield from (("tool", name) for name in (tool.name, *tool.aliases))
    for profile in loaded.providers:
        yield from (("provider", name) for name in (profile.id, *profile.aliases))
    yield from (("platform", spec.id) for spec in loaded.platforms)
    for command in loaded.slash_commands:
        yield from (("slash command", name) for name in (command.name, *command.aliases))


def with_overrides(loaded: Mapping[str, Loaded], overrides: Overrides) -> dict[str, Loaded]:
    """The plugins after overridden tools have changed hands.

    A replacement goes by the toolset of what it replaces, so it is there wherever that would be.
    """
    result = dict(loaded)
    for name in overrides:
        if name not in result:
            continue
        mine = {label: tool for tool in result[name].tools for label in (tool.name, *tool.aliases)}
        for label in overrides[name]:
            if label in mine:
                for other in [one for one in result.values() if one.name != name]:
                    taken = [tool for tool in other.tools if label in (tool.name, *tool.aliases)]
                    for tool in taken:
                        result[other.name] = _without(result[other.name], tool, label)
                        result[name] = _moved(result[name], mine[label].name, tool.toolset)
    return result


def _without(loaded: Loaded, tool: Tool, label: str) -> Loaded:
    """The plugin without a tool, or only without one of its aliases."""
    kept: list[Tool] = []
    for one in loaded.tools:
        if one.name != tool.name:
            kept.append(one)
        elif label != tool.name:
            aliases = tuple(alias for alias in one.aliases if alias != label)
            kept.append(msgspec.structs.replace(one, aliases=aliases))
    return msgspec.structs.replace(loaded, tools=tuple(kept))


def _moved(loaded: Loaded, name: str, toolset: str) -> Loaded:
    tools = tuple(
        msgspec.structs.replace(one, toolset=toolset) if one.name == name else one
        for one in loaded.tools
    )
    return msgspec.structs.replace(loaded, tools=tools)


def _plugin_targets(claimants: Sequence[Found]) -> list[str]:
    """What the entry points of one plugin name as the plugin itself."""
    values = sorted({one.value for one in claimants})
    if len(values) > 1:  # else it makes no difference, and a start without a host needs no hooks
        from hermes_core.hookspecs import HONOURED

        values = sorted({one.value for one in claimants if one.group in HONOURED})
    return values


def _refuse(problems: dict[Found, Problem], claimants: Sequence[Found], text: str) -> None:
    """Refuse all but the built-in one."""
    builtin = next((one.distribution for one in claimants if one.builtin), None)
    for one in claimants:
        if builtin is None or one.distribution != builtin:
            hint = _UNINSTALL.format(name=one.distribution or one.plugin)
            problems.setdefault(one, Problem(plugin=one.plugin, text=text, hint=hint))


def _loss(plugin: str, kind: str, name: str, *, others: Sequence[str], chosen: int) -> Problem:
    text = f"{kind} {name} is also offered by {' and '.join(others)}"
    if kind != "tool":
        hint = f"`hermes plugins disable {plugin}`, or disable the other."
    elif chosen > 1:
        hint = f"Only one plugin may have {name} among its overrides."
    else:
        hint = f"To prefer this one: plugins.{plugin}.overrides: [{name}] in hermes.yaml."
    return Problem(plugin=plugin, text=text, hint=hint)


def _grouped(found: Iterable[Found], key: Callable[[Found], str]) -> dict[str, list[Found]]:
    groups: dict[str, list[Found]] = {}
    for one in found:
        groups.setdefault(key(one), []).append(one)
    return groups


def _both(owners: Sequence[str]) -> str:
    return " and ".join(owners)
