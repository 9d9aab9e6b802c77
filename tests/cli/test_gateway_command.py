"""``hermes gateway`` when nothing runs, and what it says before it does."""

from __future__ import annotations

from hermes_plugins.testing._command import Command

# A platform that ends the gateway from within, as SIGTERM would, once it runs.
PIGEON = """
import os, signal
from hermes_plugins import Limits, PlatformSpec, hookimpl

class Pigeon:
    id = "pigeon"
    limits = Limits(text=100)

    async def run(self, inbox):
        os.kill(os.getpid(), signal.SIGTERM)
        import asyncio
        await asyncio.Event().wait()

@hookimpl
def hermes_register_platforms():
    return [PlatformSpec(id="pigeon", make=lambda host: Pigeon())]
"""


def test_without_a_platform_it_names_the_command_that_enables_one(command: Command) -> None:
    ended = command.run("gateway", "run")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err == (
        "hermes: no chat platform is enabled.\n"
        "        For example: `hermes config set platforms.irc.enabled true`\n"
    )


def test_a_platform_that_nobody_offers_is_named(command: Command) -> None:
    environ = {"HERMES_PLATFORMS__PARROT__ENABLED": "true"}
    ended = command.run("gateway", "run", environ=environ)
    assert ended.status == 2
    assert "parrot: no installed plugin offers this platform" in ended.err
    assert "`hermes plugins list`" in ended.err


def test_stopping_what_does_not_run_says_so(command: Command) -> None:
    ended = command.run("gateway", "stop")
    assert ended.status == 2
    assert ended.err.startswith("hermes: no gateway of this home is running.\n")


def test_status_before_the_first_run_says_how_to_start_it(command: Command) -> None:
    ended = command.run("gateway", "status")
    assert (ended.status, ended.err) == (3, "")
    assert ended.out == "The gateway has never run in this home. `hermes gateway run` starts it.\n"


def test_an_empty_list_is_told_when_it_starts_and_status_after_it_ended(command: Command) -> None:
    environ = {
        **command.with_modules(pigeon=PIGEON),
        "HERMES_PLATFORMS__PIGEON__ENABLED": "true",
    }
    ended = command.run("gateway", "run", "--plugin", "pigeon", environ=environ)
    assert ended.status == 0, ended.err
    assert "platforms.pigeon.allow is empty: nobody may talk to the agent there." in ended.err
    assert "Finishing what runs" in ended.err
    status = command.run("gateway", "status")
    assert status.status == 3
    assert status.out.startswith("Not running; ended ")
    assert "  pigeon: stopped since " in status.out
