"""How long a user waits for pinstudy: for ten short runs, for a verdict, and for tables.

Runs stand beside `perf stat`, one for each run, with pinstudy's events; verdict and tables beside
the import of pandas, without which there are none. Peer and pinstudy take turns, so that other
load falls on both; of the commands the shortest CPU time counts, which such load changes least.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks.__main__ import BOUND_NOT_HELD
from benchmarks.cost.rounds import Cost, cost_of_kernel
from benchmarks.cost.tools import PINSTUDY, Tool, peers, pinstudies, versions
from benchmarks.lib.kernel import Kernel, read_spans
from benchmarks.lib.tables import estimate, table
from benchmarks.tables_speed import write_records
from pinstudy.runners.host.processes import waited_cpu_s

BARE, PEER, OURS = "bare", "perf stat", "pinstudy"
RUNS, RUN_S = 10, 0.01
# As many records and cases as `quick` has on a node with E-cores.
RECORDS, RUNS_OF_A_CASE = 90, 5
# Beyond the program: of each of ten runs in all; of each further run, more than perf takes.
MOST_A_RUN_MS, MOST_BEYOND_PERF_MS = 40.0, 5.0
MOST_S = {"verdict": 1.0, "tables": 0.6}
IMPORT = "import pandas"


@dataclass(frozen=True)
class Round:
    """The costs of one round by the tool's name, in one and the same minute."""

    costs: dict[str, Cost]

    def further_ms(self, name: str) -> float:
        """Return what a further run takes beyond the program and what starting it takes."""
        return (self.costs[name].a_run_s - self.costs[BARE].a_run_s) * 1e3

    def of_ten_ms(self, name: str) -> float:
        """Return the same of each of ten runs, with the start and the end of the tool."""
        return (self.costs[name].added_s(RUNS) - self.costs[BARE].a_run_s) * 1e3


def measure(tools: Sequence[Tool], kernel: Kernel, folder: Path) -> Round:
    """Return the costs of ten short runs under each tool."""
    costs = {}
    for tool in tools:
        log = folder / "log"
        log.unlink(missing_ok=True)
        used = tool.use(kernel.command(RUN_S, "--log", str(log)), RUNS)
        costs[tool.name] = cost_of_kernel(used, read_spans(log))
    return Round(costs)


def runs_table(rounds: Sequence[Round]) -> str:
    """Return what runs take under perf and under pinstudy, and the ratio of both."""
    rows = []
    for title, value in (
        (f"each of {RUNS} runs, start and end of the tool in it", Round.of_ten_ms),
        ("each further run", Round.further_ms),
    ):
        ours, peer = ([value(made, name) for made in rounds] for name in (OURS, PEER))
        ratios = [a / b for a, b in zip(ours, peer, strict=True)]
        beyond = [a - b for a, b in zip(ours, peer, strict=True)]
        parts = (ours, 1), (peer, 1), (ratios, 2), (beyond, 1)
        rows.append([title, *(estimate(values).shown(digits) for values, digits in parts)])
    header = ("beyond the program", "pinstudy, ms", "perf stat, ms", "ratio", "difference, ms")
    return table(header, rows)


def least_cpu_s(commands: Sequence[Sequence[str]], times: int) -> list[float]:
    """Return the shortest CPU time of each command, which take turns, in seconds."""
    least = [float("inf")] * len(commands)
    for _ in range(times):
        for at, command in enumerate(commands):
            before_s = waited_cpu_s()
            subprocess.run(command, check=True, capture_output=True)
            least[at] = min(least[at], waited_cpu_s() - before_s)
    return least


def commands_table(times: int, folder: Path) -> tuple[str, dict[str, float]]:
    """Return the table of verdict and tables, and their CPU seconds by command."""
    write_records(folder, RECORDS, RUNS_OF_A_CASE)
    names = list(MOST_S)
    ours = [[str(PINSTUDY), name, str(folder)] for name in names]
    peer_s, *took_s = least_cpu_s([[sys.executable, "-I", "-c", IMPORT], *ours], times)
    rows = [
        [f"pinstudy {name}", f"{seconds:.2f}", f"{seconds / peer_s:.2f}"]
        for name, seconds in zip(names, took_s, strict=True)
    ]
    header = ("", "CPU time, s", f"ratio to `{IMPORT}` ({peer_s:.2f} s)")
    return table(header, rows), dict(zip(names, took_s, strict=True))


def broken_bounds(rounds: Sequence[Round], took_s: dict[str, float]) -> list[str]:
    """Return a line for each bound that is not held."""
    of_ten = estimate(made.of_ten_ms(OURS) for made in rounds).median
    beyond = estimate(made.further_ms(OURS) - made.further_ms(PEER) for made in rounds).median
    found = [
        (f"each of {RUNS} runs", of_ten, MOST_A_RUN_MS, "ms"),
        ("each further run, more than perf stat", beyond, MOST_BEYOND_PERF_MS, "ms"),
        *((f"pinstudy {name}", seconds, MOST_S[name], "s") for name, seconds in took_s.items()),
    ]
    return [
        f"{name}: {value:.2f} {unit}, and at most {most:g} {unit} are wanted"
        for name, value, most, unit in found
        if value > most
    ]


@click.command()
@click.option("--rounds", default=9, show_default=True, help="Rounds of all tools.")
@click.option("--times", default=10, show_default=True, help="Uses of each command.")
def main(rounds: int, times: int) -> None:
    """Measure what a user waits for, and print it as tables."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        every = {tool.name: tool for tool in [*peers(folder), *pinstudies(folder)]}
        tools = [every[wanted] for wanted in (BARE, PEER, OURS)]
        if missing := [f"{tool.name}: {tool.missing}" for tool in tools if tool.missing]:
            raise SystemExit("; ".join(missing))
        kernel = Kernel.build(folder)
        made = [measure(tools, kernel, folder) for _ in range(rounds)]
        commands, took_s = commands_table(times, folder / "records of quick's size")
        click.echo(
            f"Versions: {versions()[0]}\n\n"
            f"### {RUNS} runs of {RUN_S * 1e3:g} ms\n\n"
            "Medians over rounds, in brackets their 95 % intervals. Without verdict and report "
            f"(`--no-report`).\n\n{runs_table(made)}\n\n"
            f"### Verdict and tables of {RECORDS} records\n\nFrom the start of the process to its "
            f"end, the shortest of {times} uses.\n\n{commands}"
        )
        broken = broken_bounds(made, took_s)
        for line in broken:
            click.echo(f"\n- not held: {line}")
        if broken:
            raise SystemExit(BOUND_NOT_HELD)


if __name__ == "__main__":
    main()
