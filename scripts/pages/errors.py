"""docs/reference/errors.md: exceptions, reasons of the classifier, exit statuses."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator

from hermes_core.cli.app import INTERRUPTED
from hermes_core.cli.talk import EXIT_STATUS
from hermes_core.route.reasons import REASONS, STATUS
from hermes_core.route.retry import MAX_WAIT, RetryPolicy
from hermes_plugins import Outcome, _errors
from hermes_plugins._errors import HermesError, UsageError
from pages import source

_HEAD = """\
# Errors

Made from `hermes_plugins/_errors.py`, `hermes_core/route/reasons.py` and `hermes_core/cli/` by
`scripts/generate_docs.py`; do not edit.

Every error that a person sees is one line that says what happened and one that says what to do next.
A traceback goes to `logs/hermes.log` in the home, with secrets taken out.
"""
_EXITS = """\
| status | when |
|---|---|
| 0 | the turn ended as `completed`, or the command did what it was asked |
| {failed} | it did not: any other outcome of a turn, or a check that found something |
| {usage} | the call was wrong: an unknown option, setting, session or plugin; a broken hermes.yaml |
| 3 | `hermes gateway status`: no gateway runs |
| {interrupted} | interrupted, as by Ctrl-C (SIGINT) |
| 128 + N | told to end by another signal: 143 is SIGTERM, 129 SIGHUP |
"""
_REASONS = """\
What can go wrong with a provider is sorted into these reasons. A profile adds its vendor's wordings
with `error_words` (lower-case text -> reason), or decides itself with `classify`; both may name every
reason below. The reason is in `ProviderError.reason`, in the event `retrying`, and in what
`hermes_on_model_error` sees.

An error inside a 200, as a JSON body or as an event of the stream, is an error like any other.
`classify` is asked first, and gets it with `in_stream` true and `status` 200, or the code that the error
itself carries when that is 400 to 599. Then `error_words` are looked for anywhere in the message and
the body, in any case: give words that stand nowhere else. An answer that is no answer and states no
error (a web page, an object without `choices`) is `malformed_response`, and neither is asked.

**again**: asked again, at most {attempts} times in all, after {base:g} s, {second:g} s, … and up to
half of that more; a server's own Retry-After counts instead, up to {longest:g} s. Never once text of
the answer was shown. **shorter**: a shorter conversation would help. **key**: another key may.
**model**: another model or provider may. The last three are what compression, key pools and fallback
chains will act on; in this release they are advice in the message.
"""


def page() -> str:
    """The text."""
    policy = RetryPolicy()
    tree = inspect.cleandoc(_errors.__doc__ or "").partition("::\n")[2]
    lines = [line for line in tree.splitlines() if not line or line.startswith("    ")]
    rest = "\n".join(line for line in tree.splitlines() if line and not line.startswith("    "))
    reasons = _REASONS.format(
        attempts=policy.attempts, base=policy.base, second=policy.base * 2, longest=MAX_WAIT
    )
    statuses = ", ".join(f"{status} `{reason}`" for status, reason in STATUS.items())
    exits = _EXITS.format(
        failed=HermesError.exit_code,
        usage=UsageError.exit_code,
        interrupted=INTERRUPTED,
    )
    parts = [
        _HEAD,
        "## Exceptions\n\n```text\n" + textwrap.dedent("\n".join(lines)).strip("\n") + "\n```",
        source.markdown(rest),
        "\n".join(_exceptions()),
        f"## Exit statuses\n\n{exits}",
        "\n".join(_outcomes()),
        f"## Reasons of a provider's error\n\n{reasons}",
        "\n".join(_table()),
        "Where neither the vendor's words nor the general ones tell the reason, the status does: "
        f"{statuses}, others from 500 up `server_error`. Some words of a 400, 422, 404 or 429 tell more "
        "than the status and win over it.",
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _exceptions() -> Iterator[str]:
    yield "| exception | exit status | |\n|---|---|---|"
    for name, value in vars(_errors).items():
        if inspect.isclass(value) and issubclass(value, HermesError):
            link = f"[`{name}`](kit.md#{name.lower()})"
            yield f"| {link} | {value.exit_code} | {source.paragraph(value)} |"


def _outcomes() -> Iterator[str]:
    yield "With `-q`, by the outcome of the turn:\n\n| outcome | status |\n|---|---|"
    for outcome in Outcome.__args__:  # type: ignore[attr-defined]
        yield f"| `{outcome}` | {EXIT_STATUS.get(outcome, 1)} |"


def _table() -> Iterator[str]:
    yield "| reason | the provider … | again | shorter | key | model | what to do |"
    yield "|---|---|---|---|---|---|---|"
    for name, reason in REASONS.items():
        marks = " | ".join("yes" if flag in reason.flags else "" for flag in "RCKF")
        hint = reason.hint.replace("{key}", "NAME").replace("|", "\\|")
        yield f"| `{name}` | {reason.text} | {marks} | {hint} |"
