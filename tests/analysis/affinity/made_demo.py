"""Results of the study `demo` on a made-up hybrid node, whose effects are known."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.analysis.latency.made_latency import PLANTED, content_of, write_latency_file
from tests.analysis.report.made_results import DIGEST, node
from tests.support.results import left_out, record, write

NO_SIBLINGS = "no core has two usable CPUs (SMT is off or absent)"
# (app, size, threads, mapping) -> what a run reports: ms, or moves.
VALUES: dict[tuple[str, str, int, str], float] = {
    ("contention", "integer-quick", 4, "unpinned"): 5.0,
    ("contention", "integer-quick", 4, "same-cpu-pin"): 1.25,
    ("contention", "integer-quick", 4, "siblings-pin"): 2.5,
    ("contention", "false-sharing-quick", 4, "unpinned"): 9.0,
    ("contention", "false-sharing-quick", 4, "same-cpu-pin"): 8.0,
    ("smt", "accumulate-quick", 1, "pcores-pin"): 10.0,
    ("smt", "accumulate-quick", 2, "same-cpu-pin"): 20.0,
    ("smt", "accumulate-quick", 2, "siblings-pin"): 10.0,
    ("smt", "accumulate-quick", 2, "pcores-pin"): 10.0,
    ("smt", "sin-quick", 1, "pcores-pin"): 40.0,
    ("smt", "sin-quick", 2, "same-cpu-pin"): 80.0,
    ("smt", "sin-quick", 2, "siblings-pin"): 70.0,
    ("smt", "sin-quick", 2, "pcores-pin"): 40.0,
    ("threadmap", "second", 4, "unpinned"): 37.0,
    ("threadmap", "second", 4, "same-cpu-pin"): 0.0,
}
_CPUS = {"unpinned": "0-15", "same-cpu-pin": "0,2", "siblings-pin": "0-3", "pcores-pin": "0,2"}
_METRICS = {"contention": "round_ms", "smt": "thread_ms", "threadmap": "moves"}
_SEEN = {
    "unpinned": [{"0": 60, "5": 40}, {"2": 100}, {"12": 50, "4": 50}, {"14": 100}],
    "same-cpu-pin": [{"0": 100}, {"0": 100}, {"2": 100}, {"2": 100}],
}


@dataclass(frozen=True)
class MadeDemo:
    """What the node could do; `left_out` are mappings, `noise` a run's relative deviation.

    Each second run of the mappings `in_modes` takes a quarter of the time.
    """

    repetitions: int = 5
    noise: float = 0.01
    left_out: Collection[str] = ()
    in_modes: Collection[str] = ()
    apps: Collection[str] = ("contention", "smt", "threadmap")
    cpus: str = ""
    latency: bool = True
    seed: int = 1

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield the records, in blocks of all cases."""
        chance = random.Random(self.seed)
        order = 0
        for repetition in range(1, self.repetitions + 1):
            numbers: dict[tuple[str, str, int], int] = {}
            for (app, size, threads, mapping), value in VALUES.items():
                table = app, size, threads
                numbers[table] = number = numbers.get(table, 0) + 1
                if app not in self.apps:
                    continue
                fields = self._fields(app, size, threads, mapping)
                if mapping in self.left_out:
                    if repetition == 1:
                        yield left_out(number, NO_SIBLINGS) | fields
                    continue
                order += 1
                noise = math.exp(chance.gauss(0, self.noise))
                if mapping in self.in_modes and repetition % 2:
                    noise /= 4
                yield (
                    record(number, repetition)
                    | fields
                    | {
                        "order": order,
                        "run_id": f"{fields['case_id']}-1-{order}",
                        "metrics": {_METRICS[app]: value * noise},
                        "metric_units": {_METRICS[app]: "moves" if app == "threadmap" else "ms"},
                        "elapsed_s": (0.1 + value / 100) * noise,
                    }
                )

    def _fields(self, app: str, size: str, threads: int, mapping: str) -> dict[str, Any]:
        tables = list(dict.fromkeys(key[:3] for key in VALUES))
        pinned = mapping != "unpinned"
        fields: dict[str, Any] = {
            **{"study": "demo", "case_id": f"{app}-{size}-{threads}-{mapping}", "app": app},
            **{"build": "libgomp", "size": size, "threads": threads, "mapping": mapping},
            "selection": mapping.removesuffix("-pin") if pinned else "all",
            "binding": "pin" if pinned else "none",
            "mechanism": "omp-places" if pinned else None,
            "cpus": self.cpus or (_CPUS[mapping] if threads > 1 else "0"),
            **{"node_digest": DIGEST, "governor": "current"},
            "table_number": tables.index((app, size, threads)) + 1,
        }
        if app == "threadmap":
            looks = [
                {"process": 0, "allowed": _CPUS[mapping], "seen": seen} for seen in _SEEN[mapping]
            ]
            placement = {"verdict": "proved", "looks": 100, "threads": looks}
            fields |= {"fixed_time": True, "placement": placement}
        return fields


def make_demo(folder: Path, demo: MadeDemo | None = None) -> Path:
    """Write the results of a made-up demo; return the folder."""
    demo = demo or MadeDemo()
    write(folder, demo.records())
    (folder / "nodes").mkdir(exist_ok=True)
    (folder / "nodes" / f"{DIGEST}.json").write_text(json.dumps(node()))
    if demo.latency:
        write_latency_file(folder, content_of(PLANTED["hybrid"]))
    return folder
