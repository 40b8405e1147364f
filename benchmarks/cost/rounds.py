"""The measuring of the cost: all tools on all programs, round by round, in an order that changes.

Other load on the machine so falls on all tools alike. Each round gives one value for each tool and
program, which is compared with the other tools' values of that round.
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
    """The program that the tools run: `true`, which takes no time, or the kernel for `seconds`.

    `runs` are the runs in one use of a tool. The kernel logs when each began and ended. For `true`
    only the ends of a use are known: it needs two uses, of fewer and of more runs.
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
    """A tool's cost in one round, in seconds.

    `a_run_s` is a run's time without the program's own, `once_s` the time of a use of the tool
    without its runs. `bias_s` is the excess of the times that it reports over the program's own;
    None for `true`, which has no clock.
    """

    a_run_s: float
    once_s: float
    bias_s: float | None = None

    def added_s(self, runs: int) -> float:
        """Return the time that is added to each run in a use of `runs` runs."""
        return self.once_s / runs + self.a_run_s


def cost_of_kernel(used: Used, spans: Sequence[Span]) -> Cost:
    """Return the cost by the kernel's own clock: the time from one run's end to the next's begin.

    It includes the program's own end and start, which no tool can avoid.
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
    """Return the cost from the time of the further runs in a longer use."""
    a_run_s = (more[1].wall_s - fewer[1].wall_s) / (more[0] - fewer[0])
    return Cost(a_run_s, fewer[1].wall_s - a_run_s * fewer[0])


@dataclass
class Rounds:
    """Makes the rounds; `costs` has those of each tool and program, by round."""

    tools: Sequence[Tool]
    kernel: Kernel
    folder: Path
    costs: dict[tuple[str, str], list[Cost]] = field(default_factory=dict)

    def make(self, rounds: int, seed: int = 1) -> Iterator[int]:
        """Make the rounds; yield the number of each that is done."""
        shuffled = random.Random(seed)
        for number in range(1, rounds + 1):
            for program in shuffled.sample(PROGRAMS, len(PROGRAMS)):
                for tool in shuffled.sample(list(self.tools), len(self.tools)):
                    costs = self.costs.setdefault((tool.name, program.name), [])
                    costs.append(self._measure(tool, program))
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
