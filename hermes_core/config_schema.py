"""Every setting of the kernel: its type, default, meaning, and who may set it.

hermes.yaml.example, docs/reference/config.md, ``hermes config check`` and ``hermes config schema`` are
made from this file; what a field means stands in the docstring of its section. Marks:

- ``PROJECT``: a project's own hermes.yaml may set it, and only to tighten: lists are added to,
  numbers only go down, text and switches are taken as they are;
- ``SECRET``: never shown;
- ``REST``: takes the keys of its section that are no fields.

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
Score = Annotated[float, Meta(ge=0, le=1)]
Wait = Annotated[float, Meta(ge=0)]
Shell = Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9_-]{0,63}$")]
Skin = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{1,64}$")]
Language = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{2,35}$")]
Skill = Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9._-]{0,63}$")]

PROJECT = Meta(extra={"project": True})
SECRET = Meta(extra={"secret": True})
REST = Meta(extra={"rest": True})


class ModelSettings(Section, frozen=True, kw_only=True):
    """Which model answers.

    name: `provider/model` or `model`; auto takes what is there
    provider: provider; then name is taken whole
    base_url: address in place of the provider's own
    api_key: key; better in .env
    dialect: wire format, when it cannot be inferred
    context_length: window in tokens, when it cannot be inferred
    fallback: `provider/model`s to try when this one fails
    """

    name: str = "auto"
    provider: str = ""
    base_url: str = ""
    api_key: Annotated[str, SECRET] = ""
    dialect: str = ""
    context_length: Count | None = None
    fallback: Names = ()


class ProviderSettings(Section, frozen=True, kw_only=True):
    """Changes to a provider, or one of your own.

    base_url: address of the API
    env: variables that may hold its key
    headers: headers to add
    models: names of its models
    dialect: wire format
    """

    base_url: str = ""
    env: Names = ()
    headers: Annotated[dict[str, str], SECRET] = {}
    models: Names = ()
    dialect: str = ""


class KeySettings(Section, frozen=True, kw_only=True):
    """One key of a pool.

    id: name shown in place of the key
    key: the key, as `${NAME}`
    priority: smaller is used first
    """

    id: str = ""
    key: Annotated[str, SECRET] = ""
    priority: int = 0


class CredentialSettings(Section, frozen=True, kw_only=True):
    """The keys of one provider.

    keys: list of {id, key, priority}
    strategy: which key is next; fill_first goes by priority
    health_check_interval: seconds between probes of an unhealthy key
    """

    keys: tuple[KeySettings, ...] = ()
    strategy: Literal["fill_first", "round_robin", "random", "least_used"] = "fill_first"
    health_check_interval: Count = 60


class AgentSettings(Section, frozen=True, kw_only=True):
    """The agent.

    name: who it says it is; SOUL.md in the home says more
    max_turns: model calls in one user turn
    session_budget: model calls in one session; null is no limit
    """

    name: str = "Hermes"
    max_turns: Annotated[Count, PROJECT] = 90
    session_budget: Count | None = None


class ToolsSettings(Section, frozen=True, kw_only=True):
    """All tools.

    default_timeout: seconds for a tool that names no limit of its own
    allowed: names or aliases that may be used; all is every one
    blocked: names or aliases that may not; wins over allowed
    """

    default_timeout: Seconds = 30.0
    allowed: Names = ("all",)
    blocked: Annotated[Names, PROJECT] = ()


class Toolset(Section, frozen=True, kw_only=True):
    """A named set of tools.

    includes: other sets
    tools: names of tools
    """

    includes: Names = ()
    tools: Names = ()


_INTERACTIVE: Names = (
    *("file", "terminal", "todo", "clarify", "memory", "skills", "session_search"),
    *("web", "browser", "code", "delegate", "vision", "cron"),
)
# Faces on which strangers write: nothing that reads or changes this machine.
_OUTSIDE: Names = ("web", "clarify")

# Programs that ask over HTTP with the owner's key: nobody is there to be asked something.
_PROGRAMS: Names = tuple(name for name in _INTERACTIVE if name != "clarify")

BY_FACE: dict[str, Names] = {
    "cli": _INTERACTIVE,
    "api-server": _PROGRAMS,
    "webhook": _OUTSIDE,
    "mail": _OUTSIDE,
}


class ToolsetsSettings(Section, frozen=True, kw_only=True):
    """Named sets of tools, and which of them a face gets.

    by_face: toolsets by face: cli, api-server, telegram, cron, webhook, mail, …; -NAME leaves one out
    sets: a set of tools
    """

    by_face: dict[str, Names] = msgspec.field(default_factory=lambda: dict(BY_FACE))
    sets: Annotated[dict[str, Toolset], REST] = {}


class TerminalSettings(Section, frozen=True, kw_only=True):
    """Where commands run.

    environment: local, or an installed environment
    timeout: seconds for one command
    shell: shell in place of your own
    cwd: folder to start in, in place of the current one
    env_passthrough: variables that commands see although they may hold a secret
    """

    environment: str = "local"
    timeout: Seconds = 180.0
    shell: str = ""
    cwd: str = ""
    env_passthrough: Names = ()


class GateSettings(Section, frozen=True, kw_only=True):
    """What may happen without asking.

    mode: manual asks you, smart lets a model judge, off asks nobody
    deny: globs of commands that never run
    allow: remembered rules; never with shell operators
    write_root: only folder that may be written (also HERMES_WRITE_SAFE_ROOT)
    timeout: seconds to wait for your answer; then it is a no
    cron: what a scheduled run gets where it would have to ask
    """

    mode: Literal["manual", "smart", "off"] = "manual"
    deny: Annotated[Names, PROJECT] = ()
    allow: Names = ()
    write_root: str = ""
    timeout: Seconds = 60.0
    cron: Literal["deny", "allow"] = "deny"


class ContextSettings(Section, frozen=True, kw_only=True):
    """When and how a long session is compressed.

    engine: compressor, or an installed engine
    threshold: compress at this part of the window
    trigger_tokens: compress at this many tokens, whatever the window
    target: part of the window that is left
    prompt_template: prompt of the summary, with checked slots
    """

    engine: str = "compressor"
    threshold: Part = 0.5
    trigger_tokens: Count | None = None
    target: Part = 0.2
    prompt_template: str = ""


class MemorySettings(Section, frozen=True, kw_only=True):
    """What is remembered between sessions.

    enabled: use memory at all
    backend: one external backend beside the files
    memory_chars: characters in MEMORY.md
    user_chars: characters in USER.md
    max_entries: episodic entries; the least useful goes first
    """

    enabled: bool = True
    backend: str = "none"
    memory_chars: Size = 2200
    user_chars: Size = 1375
    max_entries: Count = 10_000


class SkillsSettings(Section, frozen=True, kw_only=True):
    """Skill packs.

    dirs: more folders with skills
    inline_shell: run the shell lines inside a skill's text
    names: installed skills to load when a session starts
    """

    dirs: Names = ()
    inline_shell: bool = False
    names: Annotated[tuple[Skill, ...], PROJECT] = ()


class CuratorSettings(Section, frozen=True, kw_only=True):
    """Upkeep of memory and skills while nobody is waiting.

    enabled: do it
    recall_threshold: recalls before a memory may become a skill
    skill_creation_threshold: score before a memory may become a skill
    interval: hours between two rounds
    idle: hours without use before a round
    stale: days without use before a skill is stale
    archive: days before a stale skill is archived
    """

    enabled: bool = True
    recall_threshold: Count = 3
    skill_creation_threshold: Score = 0.75
    interval: Span = 168.0
    idle: Wait = 2.0
    stale: Span = 30.0
    archive: Span = 90.0


class DelegateSettings(Section, frozen=True, kw_only=True):
    """A named kind of child agent.

    model: `provider/model`; empty is the main one
    toolsets: what it may use
    budget: model calls
    prompt: what it is told
    """

    model: str = ""
    toolsets: Names = ()
    budget: Count | None = None
    prompt: str = ""


class DelegationSettings(Section, frozen=True, kw_only=True):
    """Child agents.

    max_children: at once
    max_depth: generations of children
    max_turns: model calls of a child
    agents: kinds of child
    """

    max_children: Count = 5
    max_depth: Size = 1
    max_turns: Count = 50
    agents: dict[str, DelegateSettings] = {}


class DisplaySettings(Section, frozen=True, kw_only=True):
    """How it looks.

    interface: what `hermes` opens: repl, plain, or another installed shell
    skin: colours: default, light, ocean, ember, mono, or skins/NAME.toml in the home
    language: language of the program's own texts
    streaming: show the answer as it comes
    show_reasoning: show what the model thinks
    tool_progress: show every tool call, the first of a row, or none
    """

    interface: Shell = "repl"
    skin: Skin = "default"
    language: Language = "en"
    streaming: bool = True
    show_reasoning: bool = False
    tool_progress: Literal["all", "new", "off"] = "all"


class McpSettings(Section, frozen=True, kw_only=True):
    """Servers of the Model Context Protocol.

    servers: a server
    """

    servers: dict[str, Table] = {}


class GatewaySettings(Section, frozen=True, kw_only=True):
    """`hermes gateway`: the chat platforms as one process.

    max_sessions: sessions kept open; the one unused for longest is closed first
    idle: minutes after which an unused session is closed
    max_turns_at_once: messages worked on at the same time
    drain: seconds that running turns get when the gateway is stopped
    keep_days: days that messages are remembered, so that none is taken twice
    """

    max_sessions: Count = 32
    idle: Span = 5.0
    max_turns_at_once: Count = 8
    drain: Seconds = 20.0
    keep_days: Span = 7.0


class PlatformSettings(Section, frozen=True, kw_only=True):
    """A chat platform; where its service is stands in its plugin's own section.

    enabled: let `hermes gateway run` start it
    allow: who may talk to the agent: senders as the platform names them, or globs
    group_sessions: in a group everybody has a session of their own, or all share one
    per_second: messages sent a second, in place of the platform's own
    """

    enabled: bool = False
    allow: Names = ()
    group_sessions: Literal["sender", "chat"] = "sender"
    per_second: Span | None = None


class PluginsSettings(Section, frozen=True, kw_only=True):
    """Plugins, and the settings of each under its own name; ``overrides`` there lists the built-in
    tools that it may replace.

    enabled: third-party plugins that are on; the order is the rank
    disabled: plugins that are off
    required: without these no agent starts
    paths: more folders with plugins
    sections: what the plugin documents
    """

    enabled: Names = ()
    disabled: Names = ()
    required: Names = ()
    paths: Names = ()
    sections: Annotated[dict[str, Table], REST] = {}


class StoreSettings(Section, frozen=True, kw_only=True):
    """Where sessions are kept.

    url: sqlite is state.db in the home
    """

    url: Annotated[str, SECRET] = "sqlite"


class LoggingSettings(Section, frozen=True, kw_only=True):
    """The log files in the home.

    level: least level that is written
    max_megabytes: size at which a file is put aside
    keep: files put aside that are kept
    """

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    max_megabytes: Span = 5.0
    keep: Size = 3


class NetworkSettings(Section, frozen=True, kw_only=True):
    """How the network is used.

    force_ipv4: never use IPv6
    """

    force_ipv4: bool = False


class Settings(Section, frozen=True, kw_only=True):
    """hermes.yaml, with every default.

    auxiliary: model by task (compression, title, approval, vision, …); else the main one
    platforms: a chat platform
    cron: scheduled runs
    webhooks: incoming webhooks
    updates: looking for newer versions
    """

    model: ModelSettings = ModelSettings()
    providers: dict[str, ProviderSettings] = {}
    credentials: dict[str, CredentialSettings] = {}
    auxiliary: dict[str, str] = {}
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
    display: Annotated[DisplaySettings, PROJECT] = DisplaySettings()
    gateway: GatewaySettings = GatewaySettings()
    platforms: dict[str, PlatformSettings] = {}
    cron: Table = {}
    mcp: McpSettings = msgspec.field(default_factory=McpSettings)
    webhooks: Table = {}
    plugins: PluginsSettings = msgspec.field(default_factory=PluginsSettings)
    store: StoreSettings = StoreSettings()
    logging: LoggingSettings = LoggingSettings()
    network: NetworkSettings = NetworkSettings()
    updates: Table = {}


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
