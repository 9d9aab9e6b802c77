"""Start the command given, wait for it, and write what it cost: ``launch.py USAGE.json COMMAND…``."""

import os
import sys

usage_file, argv = sys.argv[1], sys.argv[2:]
child = os.posix_spawn(argv[0], argv, os.environ)
_, status, usage = os.wait4(child, 0)
with open(usage_file, "w", encoding="utf-8") as file:
    file.write(
        f'{{"status": {os.waitstatus_to_exitcode(status)},'
        f' "cpu": {usage.ru_utime + usage.ru_stime}, "peak": {usage.ru_maxrss}}}'
    )
