"""Run a command; write its exit code, CPU seconds and peak memory to a file as JSON.

    python -S measure.py FILE COMMAND ...

A separate, small process: the peak memory of a process starts at that of its parent.
"""

import json
import resource
import subprocess
import sys

code = subprocess.run(sys.argv[2:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = used.ru_utime + used.ru_stime
with open(sys.argv[1], "w") as file:
    json.dump({"code": code, "seconds": seconds, "megabytes": used.ru_maxrss * 1024 / 1e6}, file)
