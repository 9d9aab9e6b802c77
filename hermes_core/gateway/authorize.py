"""Who may talk to the agent: the people whom the owner named, and nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase


def is_allowed(sender: str, allow: Sequence[str]) -> bool:
    """True when a rule of ``platforms.NAME.allow`` names the sender; no rules mean nobody.

    A rule is a sender as the platform names it, or a glob. ``*`` alone lets everybody in, who then
    has to be meant: an empty list, an empty sender and an empty rule let nobody in.
    """
    return bool(sender) and any(rule and _matches(sender, rule) for rule in allow)


def _matches(sender: str, rule: str) -> bool:
    # Brackets belong to names (IRC), so only * and ? are special.
    return fnmatchcase(sender.casefold(), rule.casefold().replace("[", "[[]"))
