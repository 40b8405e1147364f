"""Programs of tests that run until they are let go: what a test does meanwhile is in time."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from runners.execution.sampler import PlacementSampler
from tests.support.studies import write_program
from tests.support.tools import ROOT
from tests.support.wait import until

# What a shell script of a test does first: say that it was started, and wait at its gate when more
# have started than are free to pass. A process that waits for the other side of a FIFO uses no CPU
# and starts nothing.
WAIT_AT_GATE = """\
echo >>"$0.starts"
[ -p "$0.gate" ] && [ $(wc -l <"$0.starts") -gt $(cat "$0.free") ] && read _ <"$0.gate"
"""
# How it works until looks, which are counted in a file LOOKS (looks_counted), suffice for a proof:
# first until it has used CPU time that the kernel tells of, three clock ticks (proc_pid_stat(5)),
# then until a look that began after that has seen it.
WORK_UNTIL_LOOKED_AT = (
    "read n <LOOKS; e=$((n + 10)); t=0; while [ $t -lt 3 ]; do "
    "read -r s </proc/$$/stat; set -- ${s##*) }; t=$((${12} + ${13})); done; "
    "read n <LOOKS; [ $e -gt $((n + 2)) ] || e=$((n + 2)); "
    "while [ $n -lt $e ]; do read n <LOOKS; done"
)
NAP = f"""\
#!/bin/sh
{WAIT_AT_GATE}exec sleep "$1"
"""


class Gate:
    """Where the runs of a script wait that begins with WAIT_AT_GATE; it is open at first."""

    def __init__(self, program: Path) -> None:
        self._starts = program.with_name(f"{program.name}.starts")
        self._gate = program.with_name(f"{program.name}.gate")
        self._free = program.with_name(f"{program.name}.free")
        self._known = 0

    @property
    def starts(self) -> int:
        """How often the program was started."""
        return self._starts.read_text().count("\n") if self._starts.exists() else 0

    def close(self, after: int = 0) -> None:
        """Let so many runs pass that start from now on, and every later one wait."""
        self._known = self.starts + after
        self._free.write_text(f"{self._known}\n")
        if not self._gate.exists():
            os.mkfifo(self._gate)

    def wait_for_run(self, of: subprocess.Popen[str]) -> None:
        """Wait until a run of this process is held that was not there at the last call."""
        until(lambda: self.starts > self._known, of)
        self._known = self.starts

    def let_go(self) -> None:
        """Let the run end that was waited for."""
        # Opened without waiting: that fails (ENXIO) until the run has come to the gate.
        until(self._entered)

    def open(self) -> None:
        """Let this run and all others end."""
        # Both sides: it is opened at once, also where no run is there.
        gate = os.open(self._gate, os.O_RDWR)
        self._gate.unlink()
        os.close(gate)

    def _entered(self) -> bool:
        try:
            os.close(os.open(self._gate, os.O_WRONLY | os.O_NONBLOCK))
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return False
        return True


def held_nap(path: Path) -> Gate:
    """Write a script that sleeps for its argument's seconds behind a gate; return the gate."""
    return Gate(write_program(path, NAP))


@contextmanager
def looks_counted(file: Path) -> Iterator[Path]:
    """Keep, in a file, how often this process has looked where the threads of programs are.

    A program that works until it was looked at often enough is not missed, whatever else keeps the
    node busy. The count is a line of always the same length, to be mapped or read as it grows. A
    second line says "no" while the program wants no look.
    """
    file.write_text(f"{0:<18}\n  \n")
    sample, looks = PlacementSampler.sample, 0
    with file.open("r+b", buffering=0) as counter:

        def counted(sampler: PlacementSampler, *, at_end: bool = False) -> None:
            nonlocal looks
            if os.pread(counter.fileno(), 2, 19) == b"no":
                return
            sample(sampler, at_end=at_end)
            looks += 1
            os.pwrite(counter.fileno(), f"{looks:<18}".encode(), 0)

        with mock.patch.object(PlacementSampler, "sample", counted):
            yield file


def argv_counting_looks(file: Path, *arguments: str) -> list[str]:
    """Return the words that start a command in a process of its own that counts looks in a file."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from pathlib import Path; from pinstudy.cli import main\n"
        "from tests.support.held import looks_counted\n"
        f"with looks_counted(Path({str(file)!r})): main()"
    )
    return [sys.executable, "-c", code, *arguments]
