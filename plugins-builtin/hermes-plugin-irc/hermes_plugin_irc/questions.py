"""What `hermes setup gateway` asks about IRC."""

from __future__ import annotations

from hermes_plugins import SetupQuestion, SetupSection

_ON = "platforms.irc.enabled"


def section(password: str) -> SetupSection:
    """The questions; ``password`` is the variable of the account's password."""
    questions = (
        SetupQuestion(key=_ON, text="Talk on IRC", kind="yes_no"),
        SetupQuestion(key="plugins.irc.server", text="Server", only_if=_ON, required=True),
        SetupQuestion(key="plugins.irc.port", text="Port", only_if=_ON),
        SetupQuestion(key="plugins.irc.tls", text="Encrypt it (TLS)", kind="yes_no", only_if=_ON),
        SetupQuestion(key="plugins.irc.nick", text="Nick", only_if=_ON),
        SetupQuestion(
            key="plugins.irc.account", text="Account, where the server has them", only_if=_ON
        ),
        SetupQuestion(
            key=password, text="Its password", kind="secret", only_if="plugins.irc.account"
        ),
        SetupQuestion(
            key="plugins.irc.channels", text="Channels to join", kind="list", only_if=_ON
        ),
        SetupQuestion(
            key="platforms.irc.allow",
            text="Who may talk to it",
            kind="list",
            only_if=_ON,
            required=True,
            help="Accounts, or nick!user@host where * stands for anything. Nobody else gets an answer.",
        ),
    )
    return SetupSection(part="gateway", title="IRC", questions=questions)
