"""A made-up affinity study on a made-up hybrid node, whose effects are known."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.results.sources import Results, open_results
from pinstudy.analysis.verdict.model import Findings
from tests.analysis.report.made_results import DIGEST, node
from tests.support.results import left_out, record, write

ONE_PACKAGE = "the node has one package"
NO_L1D = "L1-dcache-loads: this node refuses hardware counters"

# mapping -> (selection, binding, mechanism, CPUs of four threads, of two)
UNPINNED = ("all", "none", None, "0-15", "0-15")
MAPPINGS: Mapping[str, tuple[str, str, str | None, str, str]] = {
    "unpinned": UNPINNED,
    "same-cpu-pin-program": ("same-cpu", "pin", "program", "0,2", "0"),
    "same-cpu-pin": ("same-cpu", "pin", "omp-places", "0,2", "0"),
    "siblings-pin-program": ("siblings", "pin", "program", "0-3", "0-1"),
    "same-cluster-pin-program": ("same-cluster", "pin", "program", "12-15", "12-13"),
    "pcores-pin-program": ("pcores", "pin", "program", "0,2,4,6", "0,2"),
    "across-kinds-pin-program": ("across-kinds", "pin", "program", "0,2,12-13", "0,12"),
    "across-packages-pin-program": ("across-packages", "pin", "program", "", ""),
    "across-packages-pin": ("across-packages", "pin", "omp-places", "", ""),
}
# Times of a round in ms, by size and mapping; the unpinned ones were published.
ROUNDS = {
    "integer": dict(zip(MAPPINGS, (10.0, 2.5, 2.505, 6.0, 12.0, 9.0, 14.0), strict=False)),
    "float": dict(zip(MAPPINGS, (5.0, 1.25, 1.25, 2.5, 6.0, 5.5, 8.0), strict=False)),
}
MISSES = {"unpinned": 0.08, "same-cpu-pin-program": 0.005}
# Times of a thread in ms: (workload, mapping, threads).
THREADS = {
    ("sin", "pcores-pin-program", 1): 500.0,
    ("sin", "ecores-pin-program", 1): 1000.0,
    ("sin", "unpinned", 1): 505.0,
    ("sin", "unpinned", 2): 505.0,
    ("sin", "pcores-pin-program", 2): 500.0,
    ("sin", "siblings-pin-program", 2): 900.0,
    ("sin", "same-cluster-pin-program", 2): 1050.0,
    ("sin", "across-kinds-pin-program", 2): 750.0,
    ("sin", "same-cpu-pin-program", 2): 1000.0,
    ("accumulate", "pcores-pin-program", 1): 110.0,
    ("accumulate", "ecores-pin-program", 1): 200.0,
    ("accumulate", "unpinned", 1): 110.0,
    ("accumulate", "unpinned", 2): 110.0,
    ("accumulate", "pcores-pin-program", 2): 110.0,
    ("accumulate", "siblings-pin-program", 2): 110.0,
    ("accumulate", "same-cluster-pin-program", 2): 200.0,
    ("accumulate", "across-kinds-pin-program", 2): 155.0,
    ("accumulate", "same-cpu-pin-program", 2): 220.0,
}
LATENCIES = dict(zip(MAPPINGS, (50.0, 250.0, 251.0, 8.0, 30.0, 45.0, 70.0), strict=False))
# Where four threads were seen: mapping -> per thread (allowed, {CPU: looks}).
SEEN: Mapping[str, Sequence[tuple[str, Mapping[str, int]]]] = {
    "unpinned": [
        ("0-15", {"0": 60, "5": 40}),
        ("0-15", {"2": 100}),
        ("0-15", {"12": 50, "4": 50}),
        ("0-15", {"14": 100}),
    ],
    "pcores-pin-program": [(str(cpu), {str(cpu): 100}) for cpu in (0, 2, 4, 6)],
    "same-cpu-pin-program": [(str(cpu), {str(cpu): 100}) for cpu in (0, 0, 2, 2)],
}


@dataclass(frozen=True)
class Affinity:
    """What a made-up study has; `noise` is the relative deviation of a run."""

    apps: tuple[str, ...] = ("contention", "smt", "pingpong", "threadmap")
    repetitions: int = 10
    noise: float = 0.002
    l1d: bool = True
    seed: int = 1
    beside: Mapping[str, Any] = field(default_factory=dict)

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records, in blocks of all cases."""
        chance = random.Random(self.seed)
        cases = [case for app in self.apps for case in _CASES[app]()]
        for case in cases:
            if case["left_out"]:
                yield left_out(case["number"], case["left_out"]) | case["fields"] | self.beside
        order = 0
        for repetition in range(1, self.repetitions + 1):
            for case in cases:
                if not case["left_out"]:
                    order += 1
                    yield self._run(case, repetition, order, chance)

    def _run(
        self, case: Mapping[str, Any], repetition: int, order: int, chance: random.Random
    ) -> dict[str, Any]:
        noise = math.exp(chance.gauss(0, self.noise)) if self.noise else 1.0
        made: dict[str, Any] = record(case["number"], repetition) | case["fields"]
        name, mapping = case["metric"], made["mapping"]
        values = {name: case["value"] * noise} if name else {"moves": 6.0, "cpus_used": 4.0}
        if name == "round_ms":
            values["ns_per_operation"] = values[name] * 1e6 / 400_000
            if self.l1d:
                made["l1d_miss_rate"] = {"P": MISSES.get(mapping, 0.05)}
            else:
                made["unavailable"] = {"l1d_miss_rate": NO_L1D}
        if name == "latency_ns":
            values["rate_per_s"] = 1e9 / values[name]
        made |= {
            "order": order,
            "run_id": f"{made['case_id']}-1-{order}",
            "metrics": values,
            "elapsed_s": 1.0 + case["value"] / 1000 * noise,
        }
        if name is None:
            threads = [
                {"process": 0, "allowed": allowed, "seen": dict(seen)}
                for allowed, seen in SEEN[mapping]
            ]
            made |= {
                "fixed_time": True,
                "placement": {"verdict": "proved", "looks": 100, "threads": threads},
            }
        made |= self.beside
        return made


def make_affinity(folder: Path, study: Affinity | None = None) -> Path:
    """Write the results of a made-up affinity study; return the folder."""
    write(folder, (study or Affinity()).records())
    (folder / "nodes").mkdir(exist_ok=True)
    (folder / "nodes" / f"{DIGEST}.json").write_text(json.dumps(node()))
    return folder


def opened(folder: Path, study: Affinity | None = None) -> tuple[Results, Findings]:
    """Return the results of a made-up study and what they mean."""
    results = open_results(str(make_affinity(folder, study)))
    return results, analyze(results)


def opened_records(folder: Path, records: Iterable[dict[str, Any]]) -> tuple[Results, Findings]:
    """Return results of these records and what they mean, with the made-up node's file."""
    make_affinity(folder, Affinity(apps=("threadmap",), repetitions=1))
    write(folder, records)
    results = open_results(str(folder))
    return results, analyze(results)


def _case(
    app: str, size: str, threads: int, mapping: str, number: int, value: float | None
) -> dict[str, Any]:
    if mapping == "ecores-pin-program":
        places: tuple[str, str, str | None, str, str] = ("ecores", "pin", "program", "12-15", "12")
    else:
        places = MAPPINGS[mapping]
    selection, binding, mechanism, of_four, of_two = places
    cpus = of_four if threads == 4 else of_two
    if threads == 1 and selection == "pcores":
        cpus = "0"
    metric = {"contention": "round_ms", "smt": "thread_ms", "pingpong": "latency_ns"}.get(app)
    fields = {
        **{"study": "affinity", "case_id": f"{app}-{size}-{threads}-{mapping}", "app": app},
        **{"build": "libgomp", "size": size, "threads": threads, "mapping": mapping},
        **{"selection": selection, "binding": binding, "mechanism": mechanism, "cpus": cpus},
        **{"node_digest": DIGEST, "governor": "performance"},
        "table_number": _TABLES.index((app, size, threads)) + 1,
    }
    absent = ONE_PACKAGE if selection == "across-packages" else ""
    return {
        **{"number": number, "left_out": absent, "metric": metric, "value": value or 0.0},
        "fields": fields,
    }


_TABLES = [
    ("contention", "integer", 4), ("contention", "float", 4), ("smt", "sin", 1), ("smt", "sin", 2),
    ("smt", "accumulate", 1), ("smt", "accumulate", 2), ("pingpong", "cas", 2),
    ("threadmap", "second", 4),
]  # fmt: skip


def _contention() -> Iterator[dict[str, Any]]:
    for size, rounds in ROUNDS.items():
        for number, mapping in enumerate(MAPPINGS, 1):
            yield _case("contention", size, 4, mapping, number, rounds.get(mapping))


def _smt() -> Iterator[dict[str, Any]]:
    numbers: dict[tuple[str, int], int] = {}
    for (size, mapping, threads), value in THREADS.items():
        numbers[size, threads] = numbers.get((size, threads), 0) + 1
        yield _case("smt", size, threads, mapping, numbers[size, threads], value)


def _pingpong() -> Iterator[dict[str, Any]]:
    for number, mapping in enumerate(MAPPINGS, 1):
        yield _case("pingpong", "cas", 2, mapping, number, LATENCIES.get(mapping))


def _threadmap() -> Iterator[dict[str, Any]]:
    for number, mapping in enumerate(SEEN, 1):
        yield _case("threadmap", "second", 4, mapping, number, None)


_CASES = {
    "contention": _contention, "smt": _smt, "pingpong": _pingpong, "threadmap": _threadmap,
}  # fmt: skip
