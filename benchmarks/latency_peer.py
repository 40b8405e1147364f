"""pingpong beside core-to-core-latency 1.2.0: are the latencies the same, and what do they cost?

Both measure one pair of CPUs by compare-exchange on one line, in turn within one session, so that
what else the machine does falls on both alike; who comes first changes from round to round.
Compared are, round by round and with 95 % intervals:

- the latency: by the mean, which is all the peer prints, and by pingpong's median and the peer's
  mean of so few samples that seldom one is disturbed;
- the time of a run with each tool's defaults, from the start of the process to its end;
- the time for equal precision: time x variance, since an error shrinks by the square root of the
  time, of runs in which pingpong takes as many samples as fill the peer's time. The variance is
  that of what the tools print, from run to run (by differences of following rounds, so that a
  machine whose latency drifts does not look imprecise); and the square of the standard error that
  follows from a run's own samples, of pingpong's median and of the peer's mean, where the peer
  prints more than zero.

The peer is looked for in $CORE_TO_CORE_LATENCY, then on the PATH; nothing is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from pinstudy.runners.host.software import find_program
from pinstudy.runners.latency.measure import ADDRESSES, PROGRAM, LatencySettings

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

PEER = "core-to-core-latency"
HOW_TO_GET = f"cargo install {PEER} --version 1.2.0 --locked --root FOLDER"
PEER_SAMPLES, FEW_SAMPLES = 300, 3
# pingpong's maximum.
MAX_SAMPLES = 1000
# The peer's last lines; they have UTF-8 and colour escapes also in a file.
_STATED = re.compile(r"Min\s+latency:\s*([0-9.]+)ns\s*±([0-9.]+)")
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
_RESAMPLES = 4000


@dataclass(frozen=True)
class Result:
    """The result of one run of a tool: ns one way, their standard error, seconds it took.

    The error is of the mean for the peer, which has no median, and of the median for pingpong.
    """

    mean_ns: float
    median_ns: float
    error_ns: float
    took_s: float


def run_ours(program: str, cpus: tuple[int, int], settings: LatencySettings) -> Result:
    """Return the result of a run of pingpong."""
    pair = f"{cpus[0]}:{cpus[1]}"
    began = time.perf_counter()
    ended = subprocess.run(
        [program, *settings.arguments(), "--pairs", pair, "--json-lines"],
        check=True,
        capture_output=True,
    )
    took_s = time.perf_counter() - began
    runs = json.loads(ended.stdout.splitlines()[1])["runs"]
    samples = np.sort([value for run in runs for value in run["one_way_ns"]])
    # The ranks that hold the median with 68 %: as far apart as two standard errors.
    middle, reach = len(samples) / 2, len(samples) ** 0.5 / 2
    error_ns = float(samples[round(middle + reach)] - samples[round(middle - reach)]) / 2
    return Result(float(samples.mean()), float(np.median(samples)), error_ns, took_s)


def run_peer(program: str, cpus: tuple[int, int], samples: int = PEER_SAMPLES) -> Result:
    """Return the result of a run of the peer, by default with its defaults; it has no median."""
    cores = f"{cpus[0]},{cpus[1]}"
    began = time.perf_counter()
    ended = subprocess.run(
        [program, "1000", str(samples), "--cores", cores, "--csv"], check=True, capture_output=True
    )
    took_s = time.perf_counter() - began
    mean_ns = float(re.findall(r"[0-9.]+", ended.stdout.decode())[0])
    stated = _STATED.search(_COLOURS.sub("", ended.stderr.decode(errors="replace")))
    error_ns = float(stated[2]) if stated else float("nan")
    return Result(mean_ns, float("nan"), error_ns, took_s)


def median_with_interval(
    statistic: Callable[[Rows], Array], rounds: int, seed: int = 1
) -> tuple[float, float, float]:
    """Return a statistic of all rounds, and the 95 % interval of a bootstrap over rounds.

    `statistic` gets rows of numbers of rounds and returns a value a row.
    """
    drawn = np.random.default_rng(seed).integers(0, rounds, (_RESAMPLES, rounds))
    low, high = np.quantile(statistic(drawn), (0.025, 0.975))
    return float(statistic(np.arange(rounds)[None, :])[0]), float(low), float(high)


@dataclass
class Rounds:
    """The results of both tools, a round each.

    `ours` and `peer` are with the tools' defaults, `ours_long` has as many samples as fill the
    peer's time, `peer_few` has few.
    """

    ours: list[Result] = field(default_factory=list)
    ours_long: list[Result] = field(default_factory=list)
    peer: list[Result] = field(default_factory=list)
    peer_few: list[Result] = field(default_factory=list)

    def compare(self) -> list[tuple[str, float, float, float]]:
        """Return the ratios of pingpong to its peer: name, median, both ends of its interval."""
        rounds = len(self.ours)

        def paired(above: Array, below: Array) -> tuple[float, float, float]:
            ratios = above / below
            return median_with_interval(lambda rows: np.median(ratios[rows], axis=1), rounds)

        means, medians = _of(self.peer, "mean_ns"), _of(self.ours_long, "median_ns")
        few = _of(self.peer_few, "mean_ns")
        took = _of(self.ours_long, "took_s"), _of(self.peer, "took_s")
        comparisons = [
            ("latency, mean to mean", *paired(_of(self.ours, "mean_ns"), means)),
            ("latency, median to mean of few", *paired(_of(self.ours, "median_ns"), few)),
            ("time of a run", *paired(_of(self.ours, "took_s"), took[1])),
            (
                "time for equal spread of runs",
                *median_with_interval(_cost(took, medians, means), rounds),
            ),
        ]
        errors = _of(self.ours_long, "error_ns"), _of(self.peer, "error_ns")
        if np.all(errors[1] > 0):
            costs = took[0] * errors[0] ** 2, took[1] * errors[1] ** 2
            comparisons.append(("time for equal standard error", *paired(*costs)))
        return comparisons


def _of(results: list[Result], field: str) -> Array:
    return np.array([getattr(result, field) for result in results])


def _cost(took: tuple[Array, Array], ours: Array, peer: Array) -> Callable[[Rows], Array]:
    """Return a function of rows of rounds: the ratio of time x variance."""
    # A round's difference is that to the next one; the last has none.
    steps = [np.abs(np.diff(np.log(values))) for values in (ours, peer)]
    last = len(ours) - 2

    def cost(rows: Rows) -> Array:
        spread = [np.median(step[np.minimum(rows, last)], axis=1) for step in steps]
        time_s = [np.median(values[rows], axis=1) for values in took]
        return np.asarray(time_s[0] * spread[0] ** 2 / (time_s[1] * spread[1] ** 2))

    return cost


def make_rounds(ours: str, peer: str, cpus: tuple[int, int], rounds: int) -> Rounds:
    """Run all four in turn, `rounds` times."""
    measured = Rounds()
    default = LatencySettings(precision=None)
    # The peer makes 1000 round trips a sample; a sample of pingpong takes 50 us, and there are runs
    # in two directions for each address.
    peer_ns = PEER_SAMPLES * 1000 * 2 * run_peer(peer, cpus, FEW_SAMPLES).mean_ns
    fill = round(peer_ns / (50e3 * 2 * ADDRESSES))
    long = replace(default, samples=min(max(fill, default.samples), MAX_SAMPLES))
    for number in range(rounds):
        order = [0, 1, 2, 3] if number % 2 == 0 else [3, 2, 1, 0]
        for tool in order:
            if tool == 0:
                measured.ours.append(run_ours(ours, cpus, replace(default, seed=number)))
            elif tool == 1:
                measured.ours_long.append(run_ours(ours, cpus, replace(long, seed=number)))
            elif tool == 2:
                measured.peer.append(run_peer(peer, cpus))
            else:
                measured.peer_few.append(run_peer(peer, cpus, FEW_SAMPLES))
    return measured


def show(measured: Rounds) -> None:
    """Print both tools' results and their ratios."""
    print(f"{'median over rounds':32} {'mean ns':>9} {'median ns':>10} {'error ns':>9} {'ms':>8}")
    for name, results in (
        ("pingpong", measured.ours),
        ("the same, the peer's time", measured.ours_long),
        (PEER, measured.peer),
        (f"the same, {FEW_SAMPLES} samples", measured.peer_few),
    ):
        mean, centre, error, took = (
            float(np.median(_of(results, field)))
            for field in ("mean_ns", "median_ns", "error_ns", "took_s")
        )
        median_text = "-" if np.isnan(centre) else f"{centre:.2f}"
        print(f"{name:32} {mean:9.2f} {median_text:>10} {error:9.2f} {took * 1e3:8.2f}")
    print(f"\n{'pingpong to its peer':32} {'ratio':>9}  95 % interval")
    for label, ratio, low, high in measured.compare():
        print(f"{label:32} {ratio:9.3f}  {low:.3f} to {high:.3f}")


def main() -> None:
    """Look for both tools, or say why they cannot be compared."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=60, help="of both (default: 60)")
    rounds = parser.parse_args().rounds
    peer = os.environ.get("CORE_TO_CORE_LATENCY") or shutil.which(PEER)
    ours = find_program(PROGRAM)
    cpus = sorted(os.sched_getaffinity(0))
    why = ""
    if peer is None:
        why = f"{PEER} is not installed ({HOW_TO_GET}; name it by $CORE_TO_CORE_LATENCY)"
    elif ours is None:
        why = f"{PROGRAM} is not built"
    elif len(cpus) < 2:
        why = "there is one CPU only"
    if peer is None or ours is None or why:
        print(f"pingpong beside its peer: n/a, because {why}")
        return
    load = os.getloadavg()[0]
    made = make_rounds(str(ours), peer, (cpus[0], cpus[1]), rounds)
    print(f"CPUs {cpus[0]} and {cpus[1]}, {rounds} rounds, load {load:.1f} before them")
    show(made)


if __name__ == "__main__":
    main()
