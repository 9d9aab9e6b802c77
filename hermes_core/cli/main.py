"""The entry point of ``hermes``. Answers ``--version`` before anything heavy is imported."""

from __future__ import annotations

import os
import sys

import hermes_core

INTERRUPTED = 130


def main() -> None:
    """Run the command line and exit with its status."""
    leave_working_folder()
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"], ["version"]):
        print(f"hermes {hermes_core.__version__}")
        return
    try:
        from hermes_core.cli.app import log_stray_errors, run

        log_stray_errors()
        status = run(arguments)
    except KeyboardInterrupt:  # while modules were imported, before anybody listens
        status = INTERRUPTED
    sys.exit(status)


def leave_working_folder() -> None:
    """Take the working directory off ``sys.path``: it belongs to whoever cloned it.

    It gets there by ``python -m`` and by an empty piece of PYTHONPATH, both in front of the standard
    library. What stands behind that came from an installed ``.pth`` file: a plugin that its author
    works on is importable in its own folder too. Where Hermes itself is run from its own folder,
    that stays.
    """
    own = os.path.dirname(os.path.dirname(os.path.abspath(hermes_core.__file__)))
    try:
        here = os.getcwd()
    except OSError:  # the folder is gone: nothing can be imported from it
        here = ""
    library = next(
        (place for place, one in enumerate(sys.path) if one == os.path.dirname(os.__file__)), 0
    )
    sys.path[:] = [
        one
        for place, one in enumerate(sys.path)
        if place > library or one not in ("", here) or one == own
    ]


if __name__ == "__main__":
    main()
