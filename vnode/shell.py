"""A virtual node at the terminal: a prompt for commands in it, or the ten cases.

usage: python -m vnode.shell [--study] [--out FOLDER]
           [--p N] [--e N] [--lpe N] [--no-smt] [--slow SHARE]
"""

from __future__ import annotations

import argparse
import base64
import shlex
import sys
import tempfile
import time
from pathlib import Path

from pinstudy.base import ROOT
from vnode.commands import ENVIRONMENT, PINSTUDY, RESULTS, pinstudy, study
from vnode.node import KEPT, NotReadyError, VirtualNode, new_disk
from vnode.shape import Shape

STUDY_LIMIT_S = 1800
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# A line of the prompt writes its last working directory here.
FOLDER = "/run/vnode-folder"


def main() -> int:
    """Boot a node, serve the terminal until it ends, and remove the node."""
    parser = argparse.ArgumentParser(description="A virtual hybrid node (vnode/README.md).")
    parser.add_argument("--study", action="store_true", help="run the ten cases and end")
    parser.add_argument("--out", type=Path, help="new folder for the ten cases' results")
    parser.add_argument("--p", type=int, default=2, help="P-cores")
    parser.add_argument("--e", type=int, default=4, help="E-cores")
    parser.add_argument("--lpe", type=int, default=0, help="LP-E-cores")
    parser.add_argument("--no-smt", action="store_true", help="P-cores without siblings")
    parser.add_argument("--slow", type=float, help="share of a host CPU for each E-CPU, as 0.4")
    options = parser.parse_args()
    out = options.out or ROOT / "results" / time.strftime("vnode-%Y%m%d-%H%M%S")
    if out.exists():
        parser.error(f"{out} exists; results of two studies are not mixed")
    shape = Shape(options.p, options.e, options.lpe, not options.no_smt)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        node = VirtualNode(shape, folder, new_disk(folder / "disk"), options.slow)
        try:
            node.boot()
            if node.slow:
                print(f"E-CPUs are not slower: {node.slow}")
            return ten_cases(node, out) if options.study else prompt(node)
        except NotReadyError as error:
            print(error, file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            return 130
        finally:
            node.power_cut()


def ten_cases(node: VirtualNode, folder: Path, name: str = "ten-cases-twice") -> int:
    """Run a study of the ten cases, show pinstudy's output, and copy its results to a folder."""
    print("The ten cases run; that takes some minutes.", flush=True)
    ended = pinstudy(node, *study(name), timeout=STUDY_LIMIT_S)
    print(ended.output + ended.errors)
    for path in node.shell(f"find {RESULTS} -type f").splitlines():
        copy = folder / Path(path).relative_to(RESULTS)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(base64.b64decode(node.shell(f"base64 {shlex.quote(path)}")))
    print(f"copied: {folder}")
    return ended.status


def prompt(node: VirtualNode) -> int:
    """Run each line in a shell of the guest, until the input ends; `cd` holds for the next ones."""
    print(f"A virtual node, this checkout in it. What is in {KEPT} is lost at the end (Ctrl-D).")
    environment = ENVIRONMENT | {"PATH": f"{PINSTUDY.rpartition('/')[0]}:{PATH}"}
    folder = KEPT
    while True:
        try:
            line = input("vnode# ")
        except EOFError:
            print()
            return 0
        script = f"trap 'pwd >{FOLDER}' EXIT\n{line}"
        ended = node.run("bash", "-c", script, cwd=folder, env=environment, timeout=STUDY_LIMIT_S)
        print(ended.output + ended.errors, end="", flush=True)
        folder = node.shell(f"cat {FOLDER}")


if __name__ == "__main__":
    sys.exit(main())
