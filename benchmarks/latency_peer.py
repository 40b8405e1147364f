"""pingpong beside core-to-core-latency 1.2.0: are the latencies the same, and what do they cost?

Both measure one pair of CPUs by compare-exchange on one line, with their defaults, in turn within
one session, so that what else the machine does falls on both alike; who comes first changes from
round to round. The peer prints a mean alone. It is compared with pingpong's mean, and a mean of so
few samples that seldom one is disturbed with pingpong's median. The time of a run is from the start
of the process to its end.

The peer is looked for in $CORE_TO_CORE_LATENCY, then on the PATH; nothing is installed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import click

from benchmarks.lib.tables import estimate, table
from pinstudy.runners.host.software import find_program
from pinstudy.runners.latency.measure import PROGRAM, LatencySettings

PEER = "core-to-core-latency"
HOW_TO_GET = f"cargo install {PEER} --version 1.2.0 --locked --root FOLDER"
PEER_SAMPLES, FEW_SAMPLES = 300, 3


@dataclass(frozen=True)
class Result:
    """What a run of a tool printed, in ns one way, and the seconds that it took."""

    mean_ns: float
    median_ns: float
    took_s: float


def timed(command: Sequence[str]) -> tuple[str, float]:
    """Run a command; return its output and the seconds that it took."""
    began = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True)
    return done.stdout.decode(), time.perf_counter() - began


def run_ours(program: str, cpus: Sequence[int], seed: int) -> Result:
    """Return the result of a run of pingpong."""
    settings = LatencySettings(precision=None, seed=seed)
    pair = f"{cpus[0]}:{cpus[1]}"
    output, took_s = timed([program, *settings.arguments(), "--pairs", pair, "--json-lines"])
    runs = json.loads(output.splitlines()[1])["runs"]
    samples = [value for run in runs for value in run["one_way_ns"]]
    return Result(statistics.fmean(samples), statistics.median(samples), took_s)


def run_peer(program: str, cpus: Sequence[int], samples: int) -> Result:
    """Return the result of a run of the peer, which stands for its median with few samples."""
    cores = f"{cpus[0]},{cpus[1]}"
    output, took_s = timed([program, "1000", str(samples), "--cores", cores, "--csv"])
    mean_ns = float(re.findall(r"[0-9.]+", output)[0])
    return Result(mean_ns, mean_ns, took_s)


def measure(
    ours: str, peer: str, cpus: Sequence[int], rounds: int
) -> list[tuple[Result, Result, Result]]:
    """Return the results of pingpong, of the peer, and of the peer with few samples, by round."""
    made = []
    for number in range(rounds):
        runs: list[Callable[[], Result]] = [
            lambda seed=number: run_ours(ours, cpus, seed),  # type: ignore[misc]
            lambda: run_peer(peer, cpus, PEER_SAMPLES),
            lambda: run_peer(peer, cpus, FEW_SAMPLES),
        ]
        forwards = number % 2 == 0
        first, second, third = (run() for run in (runs if forwards else runs[::-1]))
        made.append((first, second, third) if forwards else (third, second, first))
    return made


def compared(made: Sequence[tuple[Result, Result, Result]]) -> str:
    """Return what both tools found, and the ratios of pingpong to its peer round by round."""
    pairs = {
        "mean latency, ns": [(ours.mean_ns, peer.mean_ns) for ours, peer, _ in made],
        f"median; the peer's mean of {FEW_SAMPLES} samples, ns": [
            (ours.median_ns, few.mean_ns) for ours, _, few in made
        ],
        "time of a run, ms": [(ours.took_s * 1e3, peer.took_s * 1e3) for ours, peer, _ in made],
    }
    rows = [
        [
            title,
            estimate(ours for ours, _ in both).shown(2),
            estimate(peer for _, peer in both).shown(2),
            estimate(ours / peer for ours, peer in both).shown(3),
        ]
        for title, both in pairs.items()
    ]
    return table(("median over rounds", "pingpong", PEER, "ratio"), rows)


@click.command()
@click.option("--rounds", default=60, show_default=True, help="Rounds of both tools.")
def main(rounds: int) -> None:
    """Compare both tools, or say why they cannot be compared."""
    peer = os.environ.get("CORE_TO_CORE_LATENCY") or shutil.which(PEER)
    ours = find_program(PROGRAM)
    cpus = sorted(os.sched_getaffinity(0))
    if peer is None:
        why = f"{PEER} is not installed ({HOW_TO_GET}; name it by $CORE_TO_CORE_LATENCY)"
    elif ours is None:
        why = f"{PROGRAM} is not built"
    elif len(cpus) < 2:
        why = "there is one CPU only"
    else:
        click.echo(f"CPUs {cpus[0]} and {cpus[1]}, {rounds} rounds.\n")
        click.echo(compared(measure(str(ours), peer, cpus, rounds)))
        return
    click.echo(f"pingpong beside its peer: n/a, because {why}")


if __name__ == "__main__":
    main()
