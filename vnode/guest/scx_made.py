#!/usr/bin/python3 -I
"""A scheduler of sched_ext for the virtual node: it places nothing, and behaves as the real ones.

Its name is in force while it runs; it ends on SIGINT, and says why it ended. Standard library only.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType

DEVICE = "/dev/pinstudy_sched_ext"
# As the Rust schedulers of sched-ext/scx name themselves: version and target stand behind.
NAME = b"made_1.0_x86_64_unknown_linux_gnu"


class StoppedError(Exception):
    """SIGINT has come."""


def main() -> int:
    """Be in force until SIGINT or until the kernel throws the scheduler out."""
    signal.signal(signal.SIGINT, _stop)
    if "--refused" in sys.argv:
        print("Error: EXIT: the kernel does not take it", file=sys.stderr)
        return 1
    try:
        with open(DEVICE, "r+b", buffering=0) as device:  # noqa: PTH123 - shorter in a guest
            device.write(NAME)
            reason = device.read(1024)
    except StoppedError:
        print("EXIT: unregistered from user space", file=sys.stderr)
        return 0
    print(f"Error: EXIT: {reason.decode().strip()}", file=sys.stderr)
    return 1


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise StoppedError


if __name__ == "__main__":
    sys.exit(main())
