"""Runs the benchmarks and keeps what they print in benchmarks/RESULTS.md, for `make bench`.

One that fails leaves its section as it was; the others run all the same.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import click

from benchmarks.lib.results import describe_machine, keep, section
from pinstudy.base import ROOT

# The exit status of a benchmark whose numbers are outside their bounds.
BOUND_NOT_HELD = 3
RESULTS = ROOT / "benchmarks" / "RESULTS.md"


@dataclass(frozen=True)
class Benchmark:
    """A section of the results, and the module that prints it."""

    title: str
    module: str


BENCHMARKS = {
    "cost": Benchmark("The cost of measuring", "benchmarks.cost"),
    "waits": Benchmark("What a user waits for", "benchmarks.waits"),
    "noise": Benchmark("Statistics under simulated noise", "benchmarks.noise"),
    "detection": Benchmark("Differences that are found", "benchmarks.detection"),
    "load": Benchmark("Many runs, cases and shards", "benchmarks.load"),
    "fidelity": Benchmark("Our own programs beside the originals", "benchmarks.fidelity"),
    "tables": Benchmark("Tables of many records", "benchmarks.tables_speed"),
    "latency": Benchmark("pingpong beside its peer", "benchmarks.latency_peer"),
}


def run(benchmark: Benchmark, options: Sequence[str]) -> tuple[int, str]:
    """Run a benchmark and show its output; return its exit status and the output."""
    printed = []
    with subprocess.Popen(
        [sys.executable, "-m", benchmark.module, *options],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            click.echo(line, nl=False)
            printed.append(line)
    if process.returncode:
        click.echo(f"{benchmark.module}: ended with status {process.returncode}", err=True)
    return process.returncode, "".join(printed)


def run_all(names: Sequence[str], options: Sequence[str] = ()) -> int:
    """Run these benchmarks and keep what they measured; return how many of them failed."""
    order = [benchmark.title for benchmark in BENCHMARKS.values()]
    failed = 0
    for name in names:
        benchmark = BENCHMARKS[name]
        click.echo(f"\n## {benchmark.title}\n")
        machine = describe_machine()
        if options:
            machine.append(("options", shlex.join(options)))
        status, printed = run(benchmark, options)
        failed += 1 if status else 0
        if status in (0, BOUND_NOT_HELD):
            keep(RESULTS, benchmark.title, section(machine, printed), order)
    return failed


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(BENCHMARKS)))
@click.option("--options", default="", help="Options of the one benchmark that is named.")
def main(names: tuple[str, ...], options: str) -> None:
    """Run the benchmarks of these NAMES, by default all."""
    if options and len(names) != 1:
        raise click.UsageError("--options needs the name of one benchmark")
    if run_all(names or tuple(BENCHMARKS), shlex.split(options)):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
