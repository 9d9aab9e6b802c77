"""What is going to be written: collected first, shown, and then written all at once or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from hermes_plugins import Json, Setting, SettingsFile

CUSTOM = "custom"
CUSTOM_KEY = "CUSTOM_API_KEY"
"""The provider that is any address, and the variable of its key."""
MODEL_KEYS = ("model.base_url", "model.api_key", "model.dialect", "model.context_length")
"""What belongs to one provider, and must not be sent to another."""


def is_variable(key: str) -> bool:
    """Whether a key goes to .env."""
    return key.isupper()


def switched(
    settings: SettingsFile, provider: str, model: str, *, base_url: str = ""
) -> dict[str, Json]:
    """The settings with which ``provider`` and ``model`` are used from now on; None removes one.

    What was set for another provider or address goes, first of all its key.
    """
    owner = settings.get("model.provider").value
    if not owner and settings.get("model.base_url").value:
        owner = CUSTOM
    if owner == provider and not base_url:
        return {"model.provider": provider, "model.name": model}
    gone: dict[str, Json] = {
        key: None for key in ("model.provider", *MODEL_KEYS) if is_own(settings, key)
    }
    if not base_url:
        return {**gone, "model.name": f"{provider}/{model}"}
    return {**gone, "model.provider": provider, "model.base_url": base_url, "model.name": model}


def is_own(settings: SettingsFile, key: str) -> bool:
    """Whether the person's hermes.yaml sets it."""
    return settings.get(key).layer == "user"


def as_tried(values: Mapping[str, Json]) -> dict[str, Json]:
    """Values for `CommandHost.open`: what is going to be removed counts as empty."""
    empty = {key: "" for key in ("model.provider", *MODEL_KEYS[:3]) if values.get(key, 0) is None}
    return {**empty, **{key: value for key, value in values.items() if value is not None}}


def news(settings: SettingsFile, values: Mapping[str, Json]) -> dict[str, Json]:
    """``values`` without what is so already."""
    return {key: value for key, value in values.items() if _is_new(settings, key, value)}


def _is_new(settings: SettingsFile, key: str, value: Json) -> bool:
    if is_variable(key):
        return True
    now = settings.get(key)
    if value is None:
        return now.layer == "user"
    if now.value is None and not value:
        return False
    return _plain(now.value) != _plain(value)


def _plain(value: Json) -> Json:
    """A value as it is typed: 6697 and "6697" are one."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, (list, dict)) else str(value)


def lines(settings: SettingsFile, values: Mapping[str, Json]) -> Iterator[str]:
    """What is going to be written, a line each; secrets by name only."""
    width = max((len(key) for key in values), default=0)
    for key, value in values.items():
        if is_variable(key):
            what = "to .env, unseen" if value is not None else "removed from .env"
        else:
            what = _told(settings.get(key).value, value)
        yield f"  {key:<{width}}  {what}"


def _told(before: Json, after: Json) -> str:
    """A change for a person; of a long list what is more and what is less."""
    if isinstance(before, list) and isinstance(after, list) and len(before) > 3 and after:
        more = [str(one) for one in after if one not in before]
        less = [str(one) for one in before if one not in after]
        parts = [f"with {', '.join(more)}"] if more else []
        return ", ".join([*parts, *([f"without {', '.join(less)}"] if less else [])])
    was = "" if before in (None, "", [], {}) else f"   (was {shown(before)})"
    now = "removed" if after is None else "empty" if after == "" else shown(after)
    return f"{now}{was}"


def shown(value: Json) -> str:
    """A value for a person."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def write(settings: SettingsFile, values: Mapping[str, Json], *, copy: bool) -> Iterator[str]:
    """Write, and tell what was done; with ``copy`` the old hermes.yaml is kept beside the new one.

    Raises:
        UsageError: a file cannot be written; then nothing was changed.
    """
    touches_settings = any(not is_variable(key) for key in values)
    kept = settings.copy() if copy and touches_settings else None
    files = settings.set_all(values)
    if kept is not None:
        yield f"The old hermes.yaml is kept as {kept}."
    if files:
        yield f"Written to {' and '.join(map(str, files))}."
    yield from shadows(settings, values)


def shadows(settings: SettingsFile, values: Mapping[str, Json]) -> Iterator[str]:
    """What was written and has no effect, because the environment says something else."""
    for key, value in values.items():
        if is_variable(key):
            if value is not None and settings.holds(key) == "environment":
                yield f"Note: {key} in your environment wins over the one in .env."
        elif (now := settings.get(key)).layer in ("environment", "project"):
            yield f"Note: {place(now)} wins over what was written for {key}."


def place(setting: Setting) -> str:
    """Where a value was set."""
    match setting.layer:
        case "environment":
            return f"{setting.file} in your environment"
        case "user" | "project":
            # The person's own file is known by its name; `hermes config path` has the rest.
            file = Path(setting.file).name if setting.layer == "user" else setting.file
            return f"{file}:{setting.line}" if setting.line else file
        case "default":
            return "the default"
    return setting.layer
