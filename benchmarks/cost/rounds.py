"""The measuring of the cost: all tools on all programs, round by round, in an order that changes.

Other load on the machine so falls on all tools alike. Each round gives one value for each tool and
program, which is compared with the other tools' values of that round.

Tables show medians over rounds with their 95 % intervals.
"""

from __future__ import annotations

import itertools
import random
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.cost.attention import Attention
from benchmarks.cost.tools import Tool, Used
from benchmarks.lib.kernel import Kernel, Span, read_spans
from benchmarks.lib.tables import estimate, table


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


Costs = Mapping[tuple[str, str], Sequence[Cost]]
BARE = "bare"
# As many runs as the published study makes of each case.
RUNS = 10


def added(costs: Costs, names: Sequence[str]) -> str:
    """Return the time that each tool adds to a run, in ms, beyond the bare program's cost."""

    def values(name: str, program: Program) -> list[float]:
        own, bare = costs[name, program.name], costs[BARE, program.name]
        return [(a.a_run_s - b.a_run_s) * 1e3 for a, b in zip(own, bare, strict=True)]

    return _by_program(names, PROGRAMS, values, 2)


def added_as_used(costs: Costs, names: Sequence[str]) -> str:
    """Return the time that a use of RUNS runs adds to each, in ms, with its start and end."""

    def values(name: str, program: Program) -> list[float]:
        own, bare = costs[name, program.name], costs[BARE, program.name]
        return [(a.added_s(RUNS) - b.a_run_s) * 1e3 for a, b in zip(own, bare, strict=True)]

    return _by_program(names, PROGRAMS, values, 1)


def ratios(costs: Costs, ours: str, names: Sequence[str]) -> str:
    """Return the time of a run under pinstudy as a multiple of that under each other tool."""

    def values(name: str, program: Program) -> list[float]:
        own, other = costs[ours, program.name], costs[name, program.name]
        return [
            (program.seconds + a.a_run_s) / (program.seconds + b.a_run_s)
            for a, b in zip(own, other, strict=True)
        ]

    return _by_program(names, PROGRAMS, values, 3)


def bias(costs: Costs, names: Sequence[str]) -> str:
    """Return by how much the reported times are longer than the program's own, in ms."""

    def values(name: str, program: Program) -> list[float]:
        return [c.bias_s * 1e3 for c in costs[name, program.name] if c.bias_s is not None]

    return _by_program(names, [program for program in PROGRAMS if program.seconds], values, 2)


def used_meanwhile(
    from_kernel: Mapping[str, Sequence[Attention]], from_records: Mapping[str, Sequence[Attention]]
) -> str:
    """Return each tool's use while the program ran, from /proc and from its records."""
    rows = []
    for name, attentions in from_kernel.items():
        row = [name]
        for source in (attentions, from_records.get(name, ())):
            cpu = [attention.cpu_s * 1e3 for attention in source]
            switches = [float(attention.switches) for attention in source]
            row += [estimate(cpu).shown(2), estimate(switches).shown(0)] if source else ["", ""]
        rows.append(row)
    header = (
        "tool",
        "CPU time, ms",
        "context switches",
        "as it tells, ms",
        "as it tells, switches",
    )
    return table(header, rows)


def _by_program(
    names: Sequence[str],
    programs: Sequence[Program],
    values: Callable[[str, Program], list[float]],
    digits: int,
) -> str:
    rows = [
        [name, *(estimate(values(name, program)).shown(digits) for program in programs)]
        for name in names
    ]
    return table(("", *(program.name for program in programs)), rows)
