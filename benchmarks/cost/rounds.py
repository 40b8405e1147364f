"""The measuring of the cost: all tools on all programs, round by round, in an order that changes.

So whatever else the machine does falls on all tools alike, and each round gives one value of each
tool and program, which the other tools' values of the same round are compared with.
"""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.cost.tools import Tool, Used
from benchmarks.lib.kernel import Kernel, Span, read_spans


@dataclass(frozen=True)
class Program:
    """What the tools run: `true`, which takes no time of its own, or the kernel for so long.

    `runs` are how often in one use of a tool. The kernel tells when each began and ended; of `true`
    only the ends of a use are known, so that it needs two uses, of fewer and of more runs.
    """

    name: str
    seconds: float
    runs: tuple[int, ...]


PROGRAMS = (
    Program("`true`", 0.0, (5, 35)),
    Program("10 ms", 0.01, (15,)),
    Program("100 ms", 0.1, (8,)),
    Program("1 s", 1.0, (2,)),
)


@dataclass(frozen=True)
class Cost:
    """What a tool cost in one round, in seconds.

    `a_run_s` is what a run takes beside the program's own time, `once_s` what a use of the tool
    takes beside its runs. `bias_s` is by how much the times that it reports are longer than the
    program's own; None of `true`, which has no clock.
    """

    a_run_s: float
    once_s: float
    bias_s: float | None = None

    def added_s(self, runs: int) -> float:
        """Return what is added to each of so many runs of one use."""
        return self.once_s / runs + self.a_run_s


def cost_of_kernel(used: Used, spans: Sequence[Span]) -> Cost:
    """Return the cost by the kernel's own clock: the time from one run's end to the next's begin.

    With it comes the program's own end and start, which no tool can avoid.
    """
    own_s = sum(span.took_s for span in spans)
    between = [after.began_s - before.ended_s for before, after in itertools.pairwise(spans)]
    a_run_s = statistics.median(between)
    return Cost(
        a_run_s,
        used.wall_s - own_s - a_run_s * len(spans),
        statistics.fmean(used.reported_s) - own_s / len(spans),
    )


def cost_of_true(fewer: tuple[int, Used], more: tuple[int, Used]) -> Cost:
    """Return the cost by what the further runs of a longer use took."""
    a_run_s = (more[1].wall_s - fewer[1].wall_s) / (more[0] - fewer[0])
    return Cost(a_run_s, fewer[1].wall_s - a_run_s * fewer[0])


@dataclass
class Rounds:
    """Makes the rounds and keeps what came out: the costs of each tool and program, by round."""

    tools: Sequence[Tool]
    kernel: Kernel
    folder: Path
    costs: dict[tuple[str, str], list[Cost]] = field(default_factory=dict)

    def make(self, rounds: int, seed: int = 1) -> Iterator[int]:
        """Make so many rounds; yields the number of each that is done."""
        shuffled = random.Random(seed)
        for number in range(1, rounds + 1):
            for program in shuffled.sample(PROGRAMS, len(PROGRAMS)):
                for tool in shuffled.sample(list(self.tools), len(self.tools)):
                    found = self.costs.setdefault((tool.name, program.name), [])
                    found.append(self._measure(tool, program))
            yield number

    def _measure(self, tool: Tool, program: Program) -> Cost:
        if not program.seconds:
            fewer, more = ((runs, tool.use(["true"], runs)) for runs in program.runs)
            return cost_of_true(fewer, more)
        (runs,) = program.runs
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        used = tool.use(self.kernel.command(program.seconds, "--log", str(log)), runs)
        spans = read_spans(log)
        if len(spans) != runs:
            raise SystemExit(f"{tool.name} made {len(spans)} runs, {runs} were asked for")
        return cost_of_kernel(used, spans)
