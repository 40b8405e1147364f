"""The program that benchmarks run: a given amount of work, timed by its own clock."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from pinstudy.runners.host.processes import waited_cpu_s

SOURCE = Path(__file__).resolve().parent.parent / "kernel" / "kernel.cpp"
_COMPILE = ("g++", "-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror")
_FIRST_STEPS = 20_000_000


@dataclass(frozen=True)
class Span:
    """From the first to the last line of the program's main, in seconds of CLOCK_MONOTONIC."""

    began_s: float
    ended_s: float

    @property
    def took_s(self) -> float:
        """The program's own time in seconds."""
        return self.ended_s - self.began_s


def read_spans(log: Path) -> tuple[Span, ...]:
    """Return the runs that the program has logged, in their order; none without a file."""
    lines = log.read_text(encoding="ascii").splitlines() if log.exists() else []
    return tuple(Span(*(int(word) / 1e9 for word in line.split())) for line in lines)


@dataclass(frozen=True)
class Kernel:
    """The built program and how many steps it makes a second here."""

    program: Path
    steps_per_s: float

    @classmethod
    def build(cls, folder: Path) -> Kernel:
        """Compile it into a folder and find its speed, by the fastest of nine runs.

        On a busy node a run has taken no longer than the CPU time of its process.
        """
        program, log = folder / "kernel", folder / "calibration"
        subprocess.run([*_COMPILE, "-o", program, SOURCE], check=True)
        used_s = []
        for _ in range(9):
            before_s = waited_cpu_s()
            subprocess.run([program, str(_FIRST_STEPS), "--log", log], check=True)
            used_s.append(waited_cpu_s() - before_s)
        took_s = [span.took_s for span in read_spans(log)]
        return cls(program, _FIRST_STEPS / min(took_s + used_s))

    def steps(self, seconds: float) -> int:
        """Return the steps that take this time on an idle CPU."""
        return round(self.steps_per_s * seconds)

    def command(self, seconds: float, *options: str) -> list[str]:
        """Return the command that works for this time, with further options."""
        return [str(self.program), str(self.steps(seconds)), *options]
