"""The program that benchmarks run, timed by its own clock, and a study of one program."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

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


def write_study(
    folder: Path,
    name: str,
    command: Sequence[str],
    mappings: Sequence[str | dict[str, Any]],
    repetitions: int,
    **more: Any,  # noqa: ANN401 - keys of a study file
) -> Path:
    """Write a study of a command with one thread, and its app beside it; return its path.

    It has no warm-up runs unless `more`, further keys of the study, says so.
    """
    program, *arguments = command
    app = {
        "title": "a program of which only the time counts",
        "builds": {"plain": {"program": program, "runtime": "none"}},
        "sizes": {"only": {"arguments": shlex.join(arguments)}},
    }
    choice = {"app": "program", "builds": "plain", "sizes": "only", "threads": 1}
    study = {
        "title": "a study of a benchmark",
        "apps": [choice],
        "mappings": list(mappings),
        "governors": "current",
        "repetitions": repetitions,
        "warmup": 0,
    }
    path = folder / f"{name}.yaml"
    (folder / "apps").mkdir(parents=True)
    (folder / "apps" / "program.yaml").write_text(yaml.safe_dump(app, sort_keys=False))
    path.write_text(yaml.safe_dump(study | more, sort_keys=False))
    return path
