"""Every setting of the kernel: its type, default, meaning, and who may set it.

hermes.yaml.example, docs/reference/config.md, ``hermes config check`` and ``hermes config schema`` are
made from this file. Marks in ``Meta(extra={…})``:

- ``project``: a project's own hermes.yaml may set it, and only to tighten: lists are added to,
  numbers only go down, text and switches are taken as they are;
- ``secret``: never shown;
- ``rest``: takes the keys of its section that are no fields.

Sections whose plugins come later are mappings, so that files which have them are accepted.
"""

from __future__ import annotations

# ruff: noqa: RUF012 - msgspec gives every instance its own copy of an empty mapping
from typing import Annotated, Literal

import msgspec

from hermes_plugins import Meta, Section

Table = dict[str, object]
Names = tuple[str, ...]
Count = Annotated[int, Meta(ge=1)]
Size = Annotated[int, Meta(ge=0)]
Part = Annotated[float, Meta(gt=0, le=1)]
Seconds = Annotated[float, Meta(gt=0, le=86_400)]
Span = Annotated[float, Meta(gt=0)]

_PROJECT: dict[str, object] = {"project": True}
_SECRET: dict[str, object] = {"secret": True}
_REST: dict[str, object] = {"rest": True}


class ModelSettings(Section, frozen=True, kw_only=True):
    """Which model answers."""

    name: Annotated[
        str, Meta(description="`provider/model` or `model`; auto takes what is there")
    ] = "auto"
    provider: Annotated[str, Meta(description="provider; then name is taken whole")] = ""
    base_url: Annotated[str, Meta(description="address in place of the provider's own")] = ""
    api_key: Annotated[str, Meta(description="key; better in .env", extra=_SECRET)] = ""
    dialect: Annotated[str, Meta(description="wire format, when it cannot be inferred")] = ""
    context_length: Annotated[
        Count | None, Meta(description="window in tokens, when it cannot be inferred")
    ] = None
    fallback: Annotated[
        Names, Meta(description="`provider/model`s to try when this one fails")
    ] = ()


class ProviderSettings(Section, frozen=True, kw_only=True):
    """Changes to a provider, or one of your own."""

    base_url: Annotated[str, Meta(description="address of the API")] = ""
    env: Annotated[Names, Meta(description="variables that may hold its key")] = ()
    headers: Annotated[dict[str, str], Meta(description="headers to add", extra=_SECRET)] = {}
    models: Annotated[Names, Meta(description="names of its models")] = ()
    dialect: Annotated[str, Meta(description="wire format")] = ""


class KeySettings(Section, frozen=True, kw_only=True):
    """One key of a pool."""

    id: Annotated[str, Meta(description="name shown in place of the key")] = ""
    key: Annotated[str, Meta(description="the key, as `${NAME}`", extra=_SECRET)] = ""
    priority: Annotated[int, Meta(description="smaller is used first")] = 0


class CredentialSettings(Section, frozen=True, kw_only=True):
    """The keys of one provider."""

    keys: Annotated[tuple[KeySettings, ...], Meta(description="list of {id, key, priority}")] = ()
    strategy: Annotated[
        Literal["fill_first", "round_robin", "random", "least_used"],
        Meta(description="which key is next; fill_first goes by priority"),
    ] = "fill_first"
    health_check_interval: Annotated[
        Count, Meta(description="seconds between probes of an unhealthy key")
    ] = 60


class AgentSettings(Section, frozen=True, kw_only=True):
    """The agent."""

    name: Annotated[str, Meta(description="who it says it is; SOUL.md in the home says more")] = (
        "Hermes"
    )
    max_turns: Annotated[
        Count, Meta(description="model calls in one user turn", extra=_PROJECT)
    ] = 90
    session_budget: Annotated[
        Count | None, Meta(description="model calls in one session; null is no limit")
    ] = None


class ToolsSettings(Section, frozen=True, kw_only=True):
    """All tools."""

    default_timeout: Annotated[
        Seconds,
        Meta(description="seconds for a tool that names no limit of its own"),
    ] = 30.0
    allowed: Annotated[
        Names, Meta(description="names or aliases that may be used; all is every one")
    ] = ("all",)
    blocked: Annotated[
        Names, Meta(description="names or aliases that may not; wins over allowed", extra=_PROJECT)
    ] = ()


class Toolset(Section, frozen=True, kw_only=True):
    """A named set of tools."""

    includes: Annotated[Names, Meta(description="other sets")] = ()
    tools: Annotated[Names, Meta(description="names of tools")] = ()


_INTERACTIVE: Names = (
    "file",
    "terminal",
    "todo",
    "clarify",
    "memory",
    "skills",
    "session_search",
    "web",
    "browser",
    "code",
    "delegate",
    "vision",
    "cron",
)
# Faces on which strangers write: nothing that reads or changes this machine.
_OUTSIDE: Names = ("web", "clarify")

BY_FACE: dict[str, Names] = {"cli": _INTERACTIVE, "webhook": _OUTSIDE, "mail": _OUTSIDE}


class ToolsetsSettings(Section, frozen=True, kw_only=True):
    """Named sets of tools, and which of them a face gets."""

    by_face: Annotated[
        dict[str, Names],
        Meta(
            description="toolsets by face: cli, api-server, telegram, cron, webhook, mail, …; "
            "-NAME leaves one out"
        ),
    ] = msgspec.field(default_factory=lambda: dict(BY_FACE))
    sets: Annotated[dict[str, Toolset], Meta(description="a set of tools", extra=_REST)] = {}


class TerminalSettings(Section, frozen=True, kw_only=True):
    """Where commands run."""

    environment: Annotated[str, Meta(description="local, or an installed environment")] = "local"
    timeout: Annotated[Seconds, Meta(description="seconds for one command")] = 180.0
    shell: Annotated[str, Meta(description="shell in place of your own")] = ""
    cwd: Annotated[str, Meta(description="folder to start in, in place of the current one")] = ""
    env_passthrough: Annotated[
        Names, Meta(description="variables that commands see although they may hold a secret")
    ] = ()


class GateSettings(Section, frozen=True, kw_only=True):
    """What may happen without asking."""

    mode: Annotated[
        Literal["manual", "smart", "off"],
        Meta(description="manual asks you, smart lets a model judge, off asks nobody"),
    ] = "manual"
    deny: Annotated[
        Names, Meta(description="globs of commands that never run", extra=_PROJECT)
    ] = ()
    allow: Annotated[Names, Meta(description="remembered rules; never with shell operators")] = ()
    write_root: Annotated[
        str, Meta(description="only folder that may be written (also HERMES_WRITE_SAFE_ROOT)")
    ] = ""
    timeout: Annotated[
        Seconds, Meta(description="seconds to wait for your answer; then it is a no")
    ] = 60.0
    cron: Annotated[
        Literal["deny", "allow"],
        Meta(description="what a scheduled run gets where it would have to ask"),
    ] = "deny"


class ContextSettings(Section, frozen=True, kw_only=True):
    """When and how a long session is compressed."""

    engine: Annotated[str, Meta(description="compressor, or an installed engine")] = "compressor"
    threshold: Annotated[Part, Meta(description="compress at this part of the window")] = 0.5
    trigger_tokens: Annotated[
        Count | None, Meta(description="compress at this many tokens, whatever the window")
    ] = None
    target: Annotated[Part, Meta(description="part of the window that is left")] = 0.2
    prompt_template: Annotated[
        str, Meta(description="prompt of the summary, with checked slots")
    ] = ""


class MemorySettings(Section, frozen=True, kw_only=True):
    """What is remembered between sessions."""

    enabled: Annotated[bool, Meta(description="use memory at all")] = True
    backend: Annotated[str, Meta(description="one external backend beside the files")] = "none"
    memory_chars: Annotated[Size, Meta(description="characters in MEMORY.md")] = 2200
    user_chars: Annotated[Size, Meta(description="characters in USER.md")] = 1375
    max_entries: Annotated[
        Count, Meta(description="episodic entries; the least useful goes first")
    ] = 10_000


class SkillsSettings(Section, frozen=True, kw_only=True):
    """Skill packs."""

    dirs: Annotated[Names, Meta(description="more folders with skills")] = ()
    inline_shell: Annotated[bool, Meta(description="run the shell lines inside a skill's text")] = (
        False
    )
    names: Annotated[
        tuple[Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9._-]{0,63}$")], ...],
        Meta(description="installed skills to load when a session starts", extra=_PROJECT),
    ] = ()


class CuratorSettings(Section, frozen=True, kw_only=True):
    """Upkeep of memory and skills while nobody is waiting."""

    enabled: Annotated[bool, Meta(description="do it")] = True
    recall_threshold: Annotated[
        Count, Meta(description="recalls before a memory may become a skill")
    ] = 3
    skill_creation_threshold: Annotated[
        float, Meta(ge=0, le=1, description="score before a memory may become a skill")
    ] = 0.75
    interval: Annotated[Span, Meta(description="hours between two rounds")] = 168.0
    idle: Annotated[float, Meta(ge=0, description="hours without use before a round")] = 2.0
    stale: Annotated[Span, Meta(description="days without use before a skill is stale")] = 30.0
    archive: Annotated[Span, Meta(description="days before a stale skill is archived")] = 90.0


class DelegateSettings(Section, frozen=True, kw_only=True):
    """A named kind of child agent."""

    model: Annotated[str, Meta(description="`provider/model`; empty is the main one")] = ""
    toolsets: Annotated[Names, Meta(description="what it may use")] = ()
    budget: Annotated[Count | None, Meta(description="model calls")] = None
    prompt: Annotated[str, Meta(description="what it is told")] = ""


class DelegationSettings(Section, frozen=True, kw_only=True):
    """Child agents."""

    max_children: Annotated[Count, Meta(description="at once")] = 5
    max_depth: Annotated[Size, Meta(description="generations of children")] = 1
    max_turns: Annotated[Count, Meta(description="model calls of a child")] = 50
    agents: Annotated[dict[str, DelegateSettings], Meta(description="kinds of child")] = {}


class DisplaySettings(Section, frozen=True, kw_only=True):
    """How it looks."""

    interface: Annotated[
        Literal["repl", "tui", "plain"], Meta(description="what `hermes` opens")
    ] = "repl"
    skin: Annotated[
        str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$", description="name of an installed skin")
    ] = "default"
    language: Annotated[
        str,
        Meta(pattern="^[A-Za-z0-9_-]{2,35}$", description="language of the program's own texts"),
    ] = "en"
    streaming: Annotated[bool, Meta(description="show the answer as it comes")] = True
    show_reasoning: Annotated[bool, Meta(description="show what the model thinks")] = False
    tool_progress: Annotated[
        Literal["all", "new", "off"],
        Meta(description="show every tool call, the first of a row, or none"),
    ] = "all"


class McpSettings(Section, frozen=True, kw_only=True):
    """Servers of the Model Context Protocol."""

    servers: Annotated[dict[str, Table], Meta(description="a server")] = {}


class GatewaySettings(Section, frozen=True, kw_only=True):
    """`hermes gateway`: the chat platforms as one process."""

    max_sessions: Annotated[
        Count, Meta(description="sessions kept open; the one unused for longest is closed first")
    ] = 32
    idle: Annotated[Span, Meta(description="minutes after which an unused session is closed")] = 5.0
    max_turns_at_once: Annotated[Count, Meta(description="messages worked on at the same time")] = 8
    drain: Annotated[
        Seconds, Meta(description="seconds that running turns get when the gateway is stopped")
    ] = 20.0
    keep_days: Annotated[
        Span, Meta(description="days that messages are remembered, so that none is taken twice")
    ] = 7.0


class PlatformSettings(Section, frozen=True, kw_only=True):
    """A chat platform; where its service is stands in its plugin's own section."""

    enabled: Annotated[bool, Meta(description="let `hermes gateway run` start it")] = False
    allow: Annotated[
        Names,
        Meta(description="who may talk to the agent: senders as the platform names them, or globs"),
    ] = ()
    group_sessions: Annotated[
        Literal["sender", "chat"],
        Meta(description="in a group everybody has a session of their own, or all share one"),
    ] = "sender"
    per_second: Annotated[
        Span | None, Meta(description="messages sent a second, in place of the platform's own")
    ] = None


class PluginsSettings(Section, frozen=True, kw_only=True):
    """Plugins, and the settings of each under its own name; ``overrides`` there lists the built-in
    tools that it may replace."""

    enabled: Annotated[
        Names, Meta(description="third-party plugins that are on; the order is the rank")
    ] = ()
    disabled: Annotated[Names, Meta(description="plugins that are off")] = ()
    required: Annotated[Names, Meta(description="without these no agent starts")] = ()
    paths: Annotated[Names, Meta(description="more folders with plugins")] = ()
    sections: Annotated[
        dict[str, Table], Meta(description="what the plugin documents", extra=_REST)
    ] = {}


class StoreSettings(Section, frozen=True, kw_only=True):
    """Where sessions are kept."""

    url: Annotated[str, Meta(description="sqlite is state.db in the home", extra=_SECRET)] = (
        "sqlite"
    )


class LoggingSettings(Section, frozen=True, kw_only=True):
    """The log files in the home."""

    level: Annotated[
        Literal["DEBUG", "INFO", "WARNING", "ERROR"],
        Meta(description="least level that is written"),
    ] = "INFO"
    max_megabytes: Annotated[Span, Meta(description="size at which a file is put aside")] = 5.0
    keep: Annotated[Size, Meta(description="files put aside that are kept")] = 3


class NetworkSettings(Section, frozen=True, kw_only=True):
    """How the network is used."""

    force_ipv4: Annotated[bool, Meta(description="never use IPv6")] = False


class Settings(Section, frozen=True, kw_only=True):
    """hermes.yaml, with every default."""

    model: ModelSettings = ModelSettings()
    providers: dict[str, ProviderSettings] = {}
    credentials: dict[str, CredentialSettings] = {}
    auxiliary: Annotated[
        dict[str, str],
        Meta(
            description="model by task (compression, title, approval, vision, …); else the main one"
        ),
    ] = {}
    agent: AgentSettings = AgentSettings()
    tools: ToolsSettings = ToolsSettings()
    toolsets: ToolsetsSettings = msgspec.field(default_factory=ToolsetsSettings)
    terminal: TerminalSettings = TerminalSettings()
    gate: GateSettings = GateSettings()
    context: ContextSettings = ContextSettings()
    memory: MemorySettings = MemorySettings()
    skills: SkillsSettings = SkillsSettings()
    curator: CuratorSettings = CuratorSettings()
    delegation: DelegationSettings = msgspec.field(default_factory=DelegationSettings)
    display: Annotated[DisplaySettings, Meta(extra=_PROJECT)] = DisplaySettings()
    gateway: GatewaySettings = GatewaySettings()
    platforms: Annotated[dict[str, PlatformSettings], Meta(description="a chat platform")] = {}
    cron: Annotated[Table, Meta(description="scheduled runs")] = {}
    mcp: McpSettings = msgspec.field(default_factory=McpSettings)
    webhooks: Annotated[Table, Meta(description="incoming webhooks")] = {}
    plugins: PluginsSettings = msgspec.field(default_factory=PluginsSettings)
    store: StoreSettings = StoreSettings()
    logging: LoggingSettings = LoggingSettings()
    network: NetworkSettings = NetworkSettings()
    updates: Annotated[Table, Meta(description="looking for newer versions")] = {}


# Spellings of the second description of the system; read, with a note from `hermes config check`.
# NAME stands for one segment.
ALIASES: tuple[tuple[str, str], ...] = (
    ("agent.model", "model.name"),
    ("agent.api_mode", "model.dialect"),
    ("model.api_mode", "model.dialect"),
    ("iteration.max_iterations", "agent.max_turns"),
    ("iteration.budget_per_conversation", "agent.session_budget"),
    ("memory.compression_trigger_length", "context.trigger_tokens"),
    ("memory.compression_prompt_template", "context.prompt_template"),
    ("tools.allowed_tools", "tools.allowed"),
    ("tools.blocked_tools", "tools.blocked"),
    ("credentials.providers.NAME.keys", "credentials.NAME.keys"),
)
