"""What `hermes setup terminal` asks."""

from __future__ import annotations

from hermes_plugins import SetupQuestion, SetupSection

SECTION = SetupSection(
    part="terminal",
    title="Terminal",
    questions=(
        SetupQuestion(
            key="terminal.cwd",
            text="Folder to start in",
            help="Empty is the folder that hermes is called in.",
        ),
        SetupQuestion(key="terminal.shell", text="Shell", help="Empty is your own."),
        SetupQuestion(key="terminal.timeout", text="Seconds that a command may take"),
    ),
)
