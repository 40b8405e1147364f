#!/usr/bin/python3
"""Works on a P-core, then on an E-core, and marks both as regions, for a test of their numbers.

usage: two_kinds.py P_CPU E_CPU SECONDS; each work takes so much CPU time, which is printed.
"""

import os
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from include.pinstudy_regions import region


def work(name: str, cpu: int, seconds: float) -> None:
    """Use CPU time on this CPU, inside the region of this name."""
    os.sched_setaffinity(0, {cpu})
    with region(name):
        began = time.process_time()
        while time.process_time() < began + seconds:
            pass
        used = time.process_time() - began
    print(f"{name}: {used:.6f}")


def main(p_cpu: str, e_cpu: str, seconds: str) -> None:
    """Work twice on each kind, in regions around both."""
    for turn in range(2):
        with region("turn"):
            work("on-p", int(p_cpu), float(seconds))
            work("on-e", int(e_cpu), float(seconds) * (1 + turn))


main(*sys.argv[1:])
