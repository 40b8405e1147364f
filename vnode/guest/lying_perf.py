#!/usr/bin/python3
"""A perf that lies as broken ones do, for tests of `pinstudy prove`.

$PINSTUDY_LIE names the lie: `migrations` (none is ever seen) or `extrapolated` (a count of a part
of the run passes for one of the whole). $PINSTUDY_PERF is the perf that counts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

REAL, LIE = os.environ["PINSTUDY_PERF"], os.environ["PINSTUDY_LIE"]
# Of a row of `perf stat -x ;`.
VALUE, EVENT, RUNNING, SHARE = 0, 2, 3, 4


def lied(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows as the liar prints them."""
    whole = next((row[RUNNING] for row in rows if row[EVENT] == "task-clock"), None)
    for row in rows:
        if LIE == "migrations" and row[EVENT] == "cpu-migrations":
            row[VALUE] = "0"
        elif LIE == "extrapolated" and "/" in row[EVENT] and row[VALUE][0].isdigit() and whole:
            row[RUNNING], row[SHARE] = whole, "100.00"
    return rows


def main() -> int:
    """Let the real perf count, then change what it wrote."""
    arguments = sys.argv[1:]
    if "-o" not in arguments:
        os.execv(REAL, [REAL, *arguments])
    output = Path(arguments[arguments.index("-o") + 1])
    # The counters' control and output are inherited descriptors.
    process = subprocess.Popen([REAL, *arguments], close_fds=False)
    signal.signal(signal.SIGINT, lambda *_: process.send_signal(signal.SIGINT))
    status = process.wait()
    rows = [line.split(";") for line in output.read_text().splitlines()]
    counted = [row for row in rows if len(row) > SHARE]
    text = "".join(";".join(row) + "\n" for row in lied(counted))
    with output.open("r+") as stream:
        stream.truncate()
        stream.write(text)
    return 0 if status == -signal.SIGINT else status


if __name__ == "__main__":
    sys.exit(main())
