"""The cost of a program's run, measured from outside: counts, instructions, memory, time."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

COUNTER = Path(__file__).parent / "counter.c"
# glibc keeps freed memory instead of returning it to the kernel, so that a run does not pay for
# getting it again (mallopt(3), M_TRIM_THRESHOLD and M_MMAP_THRESHOLD).
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": "2000000000", "MALLOC_MMAP_THRESHOLD_": "2000000000"}
# A program's peak memory begins with that of the process that starts it (Linux fs/exec.c,
# exec_mmap): it is started by one that is small.
_SMALL_PARENT = """
import os, sys
pid = os.fork()
if pid == 0:
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.execvp(sys.argv[1], sys.argv[1:])
_, status, used = os.wait4(pid, 0)
if status:
    sys.exit(1)
print(used.ru_minflt + used.ru_majflt, used.ru_maxrss)
"""
_COLLECTED = re.compile(r"Collected : (\d+)")


@dataclass(frozen=True)
class Counts:
    """Calls of a run to its OpenMP runtime and to malloc; `pieces` are of 4 KiB and more."""

    regions: int
    barriers: int
    pieces: int
    bytes: int


@dataclass(frozen=True)
class Resources:
    """The kernel's numbers of a run that has ended."""

    page_faults: int
    max_rss_bytes: int


class MissingError(Exception):
    """A tool that a figure needs is missing; the text names it."""


def build_counter(folder: Path) -> Path:
    """Compile the counter into a folder; return the library to preload."""
    # Clang has the header of libomp's tools interface, GCC has none.
    compiler = shutil.which("clang") or shutil.which("gcc")
    if compiler is None:
        raise MissingError("clang or gcc, for the counter")
    library = folder / "counter.so"
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", library, COUNTER, "-ldl"], check=True)
    return library


def environment(threads: int, **more: str) -> dict[str, str]:
    """Return a run's variables: `more`, and the user's except those for OpenMP."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "KMP_", "GOMP_"))}
    return plain | {"OMP_NUM_THREADS": str(threads)} | more


def output_of(command: Sequence[str], variables: Mapping[str, str]) -> str:
    """Run a program and return its output; raises CalledProcessError when it fails."""
    return subprocess.run(
        command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True
    ).stdout


def counts_of(command: Sequence[str], threads: int, counter: Path) -> Counts:
    """Run a program under the counter."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "counts")
        output_of(command, environment(threads, LD_PRELOAD=str(counter), PINSTUDY_COUNTS=str(file)))
        return Counts(**json.loads(file.read_text(encoding="ascii")))


def instructions_of(command: Sequence[str]) -> int:
    """Count a run's instructions by callgrind, with one thread."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise MissingError("valgrind, which counts instructions")
    done = subprocess.run(
        [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null", *command],
        env=environment(1),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    match = _COLLECTED.search(done.stderr)
    if match is None:
        raise MissingError("the count of valgrind, which printed none")
    return int(match[1])


def resources_of(command: Sequence[str], threads: int) -> Resources:
    """Run a program and return the kernel's numbers of it."""
    output = output_of(
        [sys.executable, "-I", "-S", "-c", _SMALL_PARENT, *command], environment(threads)
    )
    faults, kilobytes = map(int, output.split())
    return Resources(faults, kilobytes * 1024)
