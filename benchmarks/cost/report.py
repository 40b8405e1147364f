"""Tables of the rounds: medians with 95 % intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.cost.attention import Attention
from benchmarks.cost.rounds import PROGRAMS, Cost, Program
from benchmarks.lib.medians import estimate
from benchmarks.lib.tables import table

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
