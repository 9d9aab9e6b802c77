"""Locking an open file between processes."""

from __future__ import annotations

import sys


def lock(handle: int, *, wait: bool = False) -> bool:
    """Lock an open file for this process until it is closed; False: somebody else has it.

    With ``wait`` it is waited for, on Windows at most ten seconds; False then also says that this
    file system has no locks.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
