"""Programs of tests that run until the test releases them, so that no test depends on time."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from pinstudy.runners.placement.sampler import PlacementSampler
from tests.support.studies import write_program
from tests.support.tools import ROOT
from tests.support.wait import until

# The beginning of a test's shell script: log the start, and wait at the gate if more scripts have
# started than may pass. A process that waits for the other side of a FIFO uses no CPU, and the
# shell's own words start no process, whose CPU time no look would see: beside other work, such a
# run was too short for its proof.
WAIT_AT_GATE = """\
echo >>"$0.starts"
if [ -p "$0.gate" ]; then
    starts=0
    while read -r _; do starts=$((starts + 1)); done <"$0.starts"
    read -r free <"$0.free"
    [ "$starts" -gt "$free" ] && read -r _ <"$0.gate"
fi
"""
# Works until there were enough looks for a proof, which a file LOOKS counts (looks_counted): first
# until the kernel shows three clock ticks of CPU time (proc_pid_stat(5)), then until a look that
# began after that.
WORK_UNTIL_LOOKED_AT = (
    "read n <LOOKS; e=$((n + 10)); t=0; while [ $t -lt 3 ]; do "
    "read -r s </proc/$$/stat; set -- ${s##*) }; t=$((${12} + ${13})); done; "
    "read n <LOOKS; [ $e -gt $((n + 2)) ] || e=$((n + 2)); "
    "while [ $n -lt $e ]; do read n <LOOKS; done"
)
# A rate that does not depend on how busy the node is: a quarter of it on a single CPU. All work is
# the shell's own, until it was looked at: a run that is not proved makes its case unusable.
RATE_PROGRAM = f"""\
#!/bin/sh
while read -r name value; do
  case $name$value in
    Cpus_allowed_list:*[-,]*) rate=400;;
    Cpus_allowed_list:*) rate=100;;
  esac
done </proc/self/status
echo >>runs
runs=0
while read -r _; do runs=$((runs + 1)); done <runs
echo "rate $rate.$((runs % 7))"
{WORK_UNTIL_LOOKED_AT.replace("LOOKS", "looks")}
"""
RATE = {"rate": {"pattern": r"rate ([\d.]+)", "unit": "Mzones/s", "better": "higher"}}
NAP = f"""\
#!/bin/sh
{WAIT_AT_GATE}exec sleep "$1"
"""


class Gate:
    """The gate of a script that begins with WAIT_AT_GATE; it is open at first."""

    def __init__(self, program: Path) -> None:
        self._starts = program.with_name(f"{program.name}.starts")
        self._gate = program.with_name(f"{program.name}.gate")
        self._free = program.with_name(f"{program.name}.free")
        self._known = 0

    @property
    def starts(self) -> int:
        """The number of starts of the program."""
        return self._starts.read_text().count("\n") if self._starts.exists() else 0

    def close(self, after: int = 0) -> None:
        """Let the next `after` runs pass, and hold every later one."""
        self._known = self.starts + after
        self._free.write_text(f"{self._known}\n")
        if not self._gate.exists():
            os.mkfifo(self._gate)

    def wait_for_run(self, of: subprocess.Popen[str]) -> None:
        """Wait until a new run of this process is held."""
        until(lambda: self.starts > self._known, of)
        self._known = self.starts

    def let_go(self) -> None:
        """Let the held run end."""
        # A non-blocking open fails (ENXIO) until the run has reached the gate.
        until(self._entered)

    def open(self) -> None:
        """Let this run and all others end."""
        # Open both sides: that does not block, even without a run.
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
    """Count this process's looks at the threads of programs in a file.

    A program can work until there were enough looks at it, however busy the node. The count is a
    line of constant length, to be mapped or read as it grows. A second line is "no" while the
    program wants no look.
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
    """Return the command line of a pinstudy command that counts its looks in a file."""
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from pathlib import Path; from pinstudy.cli.main import main\n"
        "from tests.support.held import looks_counted\n"
        f"with looks_counted(Path({str(file)!r})): main()"
    )
    return [sys.executable, "-c", code, *arguments]
