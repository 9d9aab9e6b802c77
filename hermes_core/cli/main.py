"""The entry point of ``hermes``. Answers ``--version`` before anything heavy is imported."""

from __future__ import annotations

import sys

from hermes_core import __version__


def main() -> None:
    """Run the command line and exit with its status."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"], ["version"]):
        print(f"hermes {__version__}")
        return
    # The working directory belongs to whoever cloned it: nothing is ever imported from there.
    if sys.path and sys.path[0] == "":
        del sys.path[0]
    from hermes_core.cli.app import run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
