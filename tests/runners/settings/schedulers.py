"""Programs that behave as those of sched_ext's schedulers, on a node that is a file tree."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.studies import write_program
from tests.support.trees import write

STATE = "sys/kernel/sched_ext/state"
NAME = "sys/kernel/sched_ext/root/ops"
LOADED = "sys/kernel/sched_ext/enable_seq"
VERSION = "_1.0.19_x86_64_unknown_linux_gnu"
# As the programs of sched-ext/scx: they end on SIGINT, and say why they ended. A file `throw` in
# the tree is what the kernel has against the scheduler.
_PROGRAM = """#!/bin/sh
folder={root}/sys/kernel/sched_ext
echo "$0 $*" >>{root}/started
case "$*" in
*--refused*) echo libbpf: some warning; echo "Error: EXIT: not supported by this kernel"; exit 1;;
*--mute*) exit 3;;
esac
leave() {{
    rm -rf $folder/root
    echo disabled >$folder/state
    echo "$1"
    exit $2
}}
trap 'leave "EXIT: unregistered from user space" 0' INT
mkdir -p $folder/root
echo {name} >$folder/root/ops
echo $(($(cat $folder/enable_seq) + 1)) >$folder/enable_seq
echo enabled >$folder/state
while sleep 0.02; do
    if [ -e {root}/throw ]; then
        rm {root}/throw
        leave "Error: EXIT: runnable task stall (watchdog failed to check in)" 1
    fi
done
"""


def add_sched_ext(root: Path) -> None:
    """Give a tree the files of a kernel with sched_ext, and without a scheduler of it."""
    write(root, STATE, "disabled")
    write(root, LOADED, 0)


def in_force(root: Path) -> str:
    """Return the name of the scheduler in force, `none` without one; empty while one leaves."""
    if (root / STATE).read_text().strip() == "disabled":
        return "none"
    with suppress(FileNotFoundError):
        return (root / NAME).read_text().strip()
    return ""


def started(root: Path) -> list[str]:
    """Return the command lines of the schedulers that were started, without their folders."""
    log = root / "started"
    lines = log.read_text().splitlines() if log.exists() else []
    return [line.rpartition("/")[2].strip() for line in lines]


def put_on_path(folder: Path, root: Path, patch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that puts a scheduler's program on the PATH, by its name."""
    bin_ = folder / "schedulers"
    bin_.mkdir()
    patch.setenv("PATH", str(bin_), prepend=":")

    def add(program: str) -> Path:
        name = program.removeprefix("scx_") + VERSION
        return write_program(bin_ / program, _PROGRAM.format(root=root, name=name))

    return add
