"""The figures that compare a program with its original, measured from outside, and their bounds."""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
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


TIME_BOUNDS = (0.8, 1.25)


@dataclass(frozen=True)
class Program:
    """A program in one build: a build for this node, and one for valgrind's instructions."""

    native: Path
    portable: Path

    def command(self, arguments: str) -> list[str]:
        """Return the command line of the native build."""
        return [str(self.native), *arguments.split()]

    def portable_command(self, arguments: str) -> list[str]:
        """Return the command line of the build whose instructions valgrind knows."""
        return [str(self.portable), *arguments.split()]


@dataclass(frozen=True)
class Figure:
    """One row: a number of each program, and the bounds of own / original; None for no bounds.

    `rounds` numbers of each are taken in turn; the ratio is the median of the rounds' ratios.
    """

    name: str
    unit: str
    measure: Callable[[Program], float]
    bounds: tuple[float, float] | None
    rounds: int = 1


@dataclass(frozen=True)
class Row:
    """A measured figure."""

    figure: Figure
    original: float
    own: float
    ratio: float

    @property
    def outcome(self) -> str:
        """`pass`, `FAIL`, or `-` where any ratio will do."""
        if self.figure.bounds is None:
            return "-"
        low, high = self.figure.bounds
        return "pass" if low <= self.ratio <= high else "FAIL"


def compare(figure: Figure, original: Program, own: Program) -> Row:
    """Measure both programs in turn, the first one changing from round to round."""
    values: dict[Program, list[float]] = {original: [], own: []}
    for at in range(figure.rounds):
        for program in (original, own) if at % 2 == 0 else (own, original):
            values[program].append(figure.measure(program))
    ratios = [b / a for a, b in zip(values[original], values[own], strict=True)]
    middle = {program: statistics.median(measured) for program, measured in values.items()}
    return Row(figure, middle[original], middle[own], statistics.median(ratios))


def within(share: float) -> tuple[float, float]:
    """Return the bounds of a ratio that differs from 1 by a share at most."""
    return 1 - share, 1 + share


def timed(
    name: str, arguments: str, pattern: str, rounds: int, memory: tuple[bool, ...]
) -> Iterator[Figure]:
    """Yield the program's own time at 1 and 2 threads, under both wait policies and with `memory`.

    `memory`: whether freed memory is kept; `pattern` picks the seconds out of the output.
    """
    for threads, wait in ((1, "active"), (2, "active"), (2, "passive")):
        for kept in memory:

            def measure(
                program: Program, threads: int = threads, wait: str = wait, kept: bool = kept
            ) -> float:
                variables = environment(
                    threads, OMP_WAIT_POLICY=wait, **(KEEP_MEMORY if kept else {})
                )
                match = re.search(pattern, output_of(program.command(arguments), variables))
                assert match, program
                return float(match[1])

            waiting = f", waiting {wait}" if threads > 1 else ""
            words = ", memory kept" if kept else ", default malloc" if True in memory else ""
            count = "1 thread" if threads == 1 else f"{threads} threads"
            yield Figure(
                f"{name} `{arguments}`, {count}{waiting}{words}", "s", measure, TIME_BOUNDS, rounds
            )


def _a_cycle(
    counter: Path, edge: int, threads: int, count: Callable[[Counts], float]
) -> Callable[[Program], float]:
    """Return the count `of` a cycle of Lulesh, as the difference that ten more cycles make."""

    def measure(program: Program) -> float:
        few, many = (
            counts_of(program.command(f"-s {edge} -i {cycles}"), threads, counter)
            for cycles in (10, 20)
        )
        return (count(many) - count(few)) / 10

    return measure


def _instructions_of_an_element(edge: int) -> Callable[[Program], float]:
    def measure(program: Program) -> float:
        few, many = (
            instructions_of(program.portable_command(f"-s {edge} -i {cycles}")) for cycles in (1, 6)
        )
        return (many - few) / 5 / edge**3

    return measure


def _instructions(arguments: str) -> Callable[[Program], float]:
    return lambda program: instructions_of(program.portable_command(arguments)) / 1e6


def _resident_mb(arguments: str, threads: int) -> Callable[[Program], float]:
    return lambda program: resources_of(program.command(arguments), threads).max_rss_bytes / 1e6


def _regions(arguments: str, counter: Path) -> Callable[[Program], float]:
    return lambda program: counts_of(program.command(arguments), 2, counter).regions


def lulesh(counter: Path, rounds: int) -> Iterator[Figure]:
    """Yield the figures of Lulesh."""
    for edge, threads in ((20, 2), (20, 1), (10, 2)):
        plural = "s" if threads > 1 else ""
        yield Figure(
            f"parallel regions a cycle, `-s {edge}`, {threads} thread{plural}",
            "",
            _a_cycle(counter, edge, threads, lambda counts: counts.regions),
            within(0.05),
        )
    yield Figure(
        "barriers a thread and cycle, `-s 20`, 2 threads",
        "",
        _a_cycle(counter, 20, 2, lambda counts: counts.barriers / 2),
        within(0.2),
    )
    for edge in (20, 30):
        yield Figure(
            f"temporaries of 4 KiB and more a cycle, `-s {edge}`, 2 threads",
            "",
            _a_cycle(counter, edge, 2, lambda counts: counts.pieces),
            None,
        )
        cells = edge**3
        yield Figure(
            f"their bytes an element and cycle, `-s {edge}`, 2 threads",
            "B",
            _a_cycle(counter, edge, 2, lambda counts, cells=cells: counts.bytes / cells),  # type: ignore[misc]
            within(0.15),
        )
    yield Figure(
        "page faults, `-s 30 -i 100`, 1 thread",
        "",
        lambda program: resources_of(program.command("-s 30 -i 100"), 1).page_faults,
        None,
    )
    yield Figure(
        "resident memory, `-s 45 -i 5`, 2 threads",
        "MB",
        _resident_mb("-s 45 -i 5", 2),
        within(0.15),
    )
    for edge in (10, 20):
        yield Figure(
            f"instructions an element and cycle, `-s {edge}`, 1 thread",
            "",
            _instructions_of_an_element(edge),
            within(0.25),
        )
    pattern = r"\(\s*([0-9.eE+-]+) overall\)"
    yield from timed("time,", "-s 20 -i 100", pattern, rounds, (False, True))


def lu(counter: Path, rounds: int) -> Iterator[Figure]:
    """Yield the figures of LU."""
    yield Figure("parallel regions, n = 500", "", _regions("500", counter), (1.0, 1.0))
    yield Figure("resident memory, n = 2000, 1 thread", "MB", _resident_mb("2000", 1), within(0.1))
    for n in (200, 400):
        yield Figure(
            f"instructions, n = {n}, 1 thread", "million", _instructions(str(n)), within(0.25)
        )
    yield from timed("time, n =", "2000", r"Timer EXE_TIME\s+([0-9.]+)", rounds, (False,))


def mandelbrot(counter: Path, rounds: int) -> Iterator[Figure]:
    """Yield the figures of Mandelbrot."""
    yield Figure("parallel regions, 1000 points", "", _regions("1000", counter), (1.0, 1.0))
    yield Figure(
        "instructions, 1000 points, 1 thread", "million", _instructions("1000"), within(0.25)
    )
    yield from timed("time, points:", "20000", r"Timer Total_time\s+([0-9.]+)", rounds, (False,))
