"""A virtual node at the terminal: a prompt for commands in it, or the ten cases.

usage: python -m tests.vnode.shell [--study] [--p N] [--e N] [--lpe N] [--no-smt] [--slow SHARE]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.vnode.commands import pinstudy, study
from tests.vnode.node import KEPT, NotReadyError, VirtualNode, new_disk
from tests.vnode.shape import Shape

STUDY_LIMIT_S = 1800


def main() -> int:
    """Boot, serve the terminal until it ends, leave nothing behind."""
    parser = argparse.ArgumentParser(description="A virtual hybrid node (docs/vnode.md).")
    parser.add_argument("--study", action="store_true", help="run the ten cases and end")
    parser.add_argument("--p", type=int, default=2, help="P-cores")
    parser.add_argument("--e", type=int, default=4, help="E-cores")
    parser.add_argument("--lpe", type=int, default=0, help="LP-E-cores")
    parser.add_argument("--no-smt", action="store_true", help="P-cores without siblings")
    parser.add_argument("--slow", type=float, help="share of a host CPU for each E-CPU, as 0.4")
    asked = parser.parse_args()
    shape = Shape(asked.p, asked.e, asked.lpe, not asked.no_smt)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        node = VirtualNode(shape, folder, new_disk(folder / "disk"), asked.slow)
        try:
            node.boot()
            if node.slow:
                print(f"E-CPUs are not slower: {node.slow}")
            return ten_cases(node) if asked.study else prompt(node)
        except NotReadyError as error:
            print(error, file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return 130
        finally:
            node.power_cut()


def ten_cases(node: VirtualNode) -> int:
    """Run the study of the ten cases and show what pinstudy says."""
    ended = pinstudy(node, *study("ten-cases"), timeout=STUDY_LIMIT_S)
    print(ended.output + ended.errors)
    return ended.status


def prompt(node: VirtualNode) -> int:
    """Run each line in a shell of the guest, until the input ends."""
    print(f"A virtual node, this checkout in it. What is in {KEPT} is lost at the end (Ctrl-D).")
    while True:
        try:
            line = input("vnode# ")
        except EOFError:
            print()
            return 0
        ended = node.run("bash", "-c", line, timeout=STUDY_LIMIT_S)
        print(ended.output + ended.errors, end="")


if __name__ == "__main__":
    sys.exit(main())
