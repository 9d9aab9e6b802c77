"""The parts of ``hermes setup`` after the model: questions of plugins, and those of the kernel's own
settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from hermes_plugins import (
    CommandHost,
    Json,
    SettingsFile,
    SetupQuestion,
    SetupSection,
    ToolsetState,
)

from .asking import Option, ask, ask_one, ask_unseen, ask_yes, names_in, say
from .changes import is_variable, shown
from .surroundings import Surroundings

FACE_TOOLS = "toolsets.by_face.cli"
AGENT = SetupSection(
    part="agent",
    title="Agent",
    questions=(
        SetupQuestion(key="agent.name", text="Its name"),
        SetupQuestion(
            key="gate.mode",
            text="Before a risky call",
            kind="choice",
            choices=("manual", "smart", "off"),
            help="manual asks you, smart lets a model judge, off asks nobody.",
        ),
        SetupQuestion(
            key="agent.max_turns",
            text="Model calls that one message may take",
        ),
    ),
)


def sections_of(around: Surroundings, part: str) -> list[SetupSection]:
    """What is asked in a part: the kernel's own, then the plugins'."""
    own = [AGENT] if part == "agent" else []
    return [*own, *(one for one in around.sections if one.part == part)]


def ask_part(host: CommandHost, around: Surroundings, part: str) -> dict[str, Json]:
    """Ask everything of a part but the model.

    Raises:
        click.Abort: the person left.
    """
    values: dict[str, Json] = {}
    if part == "tools":
        values |= _ask_toolsets(host.settings, around.toolsets)
    for section in sections_of(around, part):
        values |= ask_section(host.settings, section)
    return values


def ask_section(settings: SettingsFile, section: SetupSection) -> dict[str, Json]:
    """Ask the questions of a section; what was only confirmed is among the answers too."""
    say(f"{section.title}")
    if section.help:
        say(f"  {section.help}")
    answers: dict[str, Json] = {}
    for one in section.questions:
        if one.only_if and not _now(settings, one.only_if, answers):
            continue
        answer = _ask(settings, one)
        if answer is not None:
            answers[one.key] = answer
    say()
    return answers


def _now(settings: SettingsFile, key: str, answers: Mapping[str, Json]) -> bool:
    """Whether an earlier answer, or what is set, is more than a no."""
    if key in answers:
        return bool(answers[key])
    return bool(settings.holds(key)) if is_variable(key) else bool(settings.get(key).value)


def _ask(settings: SettingsFile, one: SetupQuestion) -> Json:
    """One answer; None leaves everything as it is."""
    if one.help:
        say(f"  {one.help}")
    if one.kind == "secret" or is_variable(one.key):
        return _ask_secret(settings, one)
    value = settings.get(one.key).value
    value = one.default if value in (None, "", []) and one.default is not None else value
    if one.kind == "yes_no":
        return ask_yes(f"  {one.text}?", default=bool(value))
    if one.kind == "choice":
        return _ask_choice(one, value)
    typed = ask(
        f"  {one.text}", default=_typed(value), check=lambda text: _wrong(settings, one, text)
    )
    if one.kind == "list":
        return list(names_in(typed))
    return typed if typed or value not in (None, "") else None


def _ask_choice(one: SetupQuestion, value: Json) -> str:
    say(f"  {one.text}:")
    default = one.choices.index(str(value)) if str(value) in one.choices else 0
    options = [Option(value=name, text=name) for name in one.choices]
    return ask_one("  Number or name", options, default=default).value


def _ask_secret(settings: SettingsFile, one: SetupQuestion) -> str | None:
    held = settings.holds(one.key)
    hint = f"it is set ({held}); Enter keeps it" if held else "you will not see it; Enter for none"
    while True:
        typed = ask_unseen(f"  {one.text} ({hint})")
        wrong = one.check(typed) if typed and one.check is not None else ""
        if not wrong:
            return typed or None
        say(f"  {wrong}")


def _wrong(settings: SettingsFile, one: SetupQuestion, text: str) -> str:
    """What is wrong with a typed answer: what the question's own check says, then its type."""
    if not text and one.kind == "text" and isinstance(settings.get(one.key).value, int | float):
        return "It has to be a number."
    told = one.check(text) if one.check is not None else ""
    value: Json = list(names_in(text)) if one.kind == "list" else text
    return told or settings.check(one.key, value)


def _typed(value: Json) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else shown(value)


def _ask_toolsets(settings: SettingsFile, toolsets: Sequence[ToolsetState]) -> dict[str, Json]:
    """Which tool sets a conversation at the terminal gets."""
    there = [one for one in toolsets if not one.off]
    on = list(_listed(settings, FACE_TOOLS))
    say("Tools")
    width = max((len(one.name) for one in there), default=0)
    for number, one in enumerate(there, 1):
        mark = "on " if one.name in on else "off"
        tools = ", ".join(tool.name for tool in one.tools)
        say(f"  {number:>2}  {mark}  {one.name:<{width}}  {tools}")
    for one in toolsets:
        if one.off:
            say(f"      {one.name}: {one.off}")
    names = [one.name for one in there]

    def check(text: str) -> str:
        wrong = [word for word in names_in(text) if not _toolset(word, names)]
        return f"{wrong[0]} is none of them." if wrong else ""

    typed = ask("  Switch which? (numbers or names with commas; Enter for none)", check=check)
    say()
    switched = [_toolset(word, names) for word in names_in(typed)]
    if not switched:
        return {}
    kept = [name for name in on if name not in switched]
    return {FACE_TOOLS: [*kept, *(name for name in switched if name not in on)]}


def _toolset(word: str, names: Sequence[str]) -> str:
    if word.isdecimal() and 0 < int(word) <= len(names):
        return names[int(word) - 1]
    return word if word in names else ""


def _listed(settings: SettingsFile, key: str) -> Iterator[str]:
    value = settings.get(key).value
    return (str(one) for one in value) if isinstance(value, list) else iter(())


def blank(settings: SettingsFile, around: Surroundings) -> dict[str, Json]:
    """Everything off but what a chat needs: no tools, no memory, no upkeep, no chat platform."""
    values: dict[str, Json] = {
        FACE_TOOLS: [],
        "memory.enabled": False,
        "curator.enabled": False,
    }
    platforms = settings.get("platforms").value
    if isinstance(platforms, dict):
        on = (name for name, value in platforms.items() if name.endswith(".enabled") and value)
        values |= {f"platforms.{name}": False for name in on}
    # What the owner installed goes to every face, whatever its list says.
    strangers = [one.plugin for one in around.toolsets if not (one.off or one.builtin)]
    if strangers:
        off = list(_listed(settings, "plugins.disabled"))
        values["plugins.disabled"] = [*off, *(n for n in dict.fromkeys(strangers) if n not in off)]
    return values


def missing(settings: SettingsFile, sections: Sequence[SetupSection]) -> Iterator[str]:
    """Required answers that nothing gives, a line each."""
    for section in sections:
        for one in section.questions:
            if not one.required or (one.only_if and not _now(settings, one.only_if, {})):
                continue
            if not _now(settings, one.key, {}):
                yield f"{section.title}: {one.text}. `hermes config set {one.key} …`"
