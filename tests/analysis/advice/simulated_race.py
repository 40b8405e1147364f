"""Races whose outcome is known: records of the runs that a race makes of cases with given means."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from pinstudy.analysis.advice.build import advice_of
from pinstudy.analysis.advice.model import Advice
from pinstudy.analysis.results.sources import open_results
from pinstudy.configs.repetitions import Race as Rule
from pinstudy.runners.records.race.race import Race
from pinstudy.runners.records.race_state import RaceRun, race_fields, race_run
from tests.support.results import left_out, record, write

NO_ENERGY = "powercap: no package zone; perf: no power PMU; see pinstudy doctor"
# name -> (selection, binding, mechanism, CPUs in the threads' order)
MAPPINGS: Mapping[str, tuple[str, str, str | None, tuple[int, ...]]] = {
    "unpinned": ("all", "none", None, tuple(range(16))),
    "pcores-set": ("pcores", "set", "taskset", (0, 2, 4, 6, 8, 10)),
    "pcores-pin": ("pcores", "pin", "omp-places", (0, 2, 4, 6, 8, 10)),
    "ecores-pin": ("ecores", "pin", "omp-places", (12, 13, 14, 15)),
}


@dataclass(frozen=True)
class Entrant:
    """A case with its true mean time in seconds and energy in joules, None where not measured."""

    mapping: str
    time_s: float
    energy_j: float | None = None
    threads: int = 4
    schedule: str = "static"
    governor: str = "current"
    more_fields: Mapping[str, Any] = field(default_factory=dict)

    def cpus(self) -> tuple[int, ...]:
        """Return the CPUs in the order of the threads."""
        _, binding, _, cpus = MAPPINGS[self.mapping]
        return cpus[: self.threads] if binding == "pin" else cpus

    def case_fields(self, at: int) -> dict[str, Any]:
        """Return the record's fields that say which case it is, and how it is started."""
        selection, binding, mechanism, _ = MAPPINGS[self.mapping]
        cpus = self.cpus()
        shown = ",".join(map(str, sorted(cpus)))
        launcher = ["/usr/bin/taskset", "-c", shown] if mechanism else []
        places = ",".join(f"{{{cpu}}}" for cpu in cpus)
        variables = {"OMP_NUM_THREADS": str(self.threads), "OMP_SCHEDULE": self.schedule}
        if mechanism == "omp-places":
            variables |= {"OMP_PLACES": places, "OMP_PROC_BIND": "close"}
        return {
            "schema": 6,
            "study": "advise-app-0123abcd",
            "case_id": _case_id(at),
            "app": "app",
            "build": "program",
            "size": "given",
            "threads": self.threads,
            "schedule": self.schedule,
            "mapping": self.mapping,
            "selection": selection,
            "binding": binding,
            "mechanism": mechanism,
            "cpus": shown,
            "governor": self.governor,
            "governor_read": "powersave" if self.governor == "current" else self.governor,
            "command": [*launcher, "/home/user/my app", "-n", "100"],
            "environment": {"set": variables, "removed": []},
            "runtime": {"name": "libgomp", "path": "/lib/libgomp.so.1", "version": "12.2.0"},
        }


@dataclass(frozen=True)
class SimulatedRace:
    """A race of entrants, the reference first, each a table of its own thread count and schedule.

    `noise` is the relative deviation of a run, `stop` ends the records after so many runs.
    `spoil` gives more fields of the run of an entrant with this number and repetition.
    """

    entrants: Sequence[Entrant]
    rule: Rule = Rule()  # noqa: RUF009 - it is frozen
    noise: float = 0.01
    seed: int = 1
    stop: int | None = None
    failing: frozenset[int] = frozenset()
    left_out: Mapping[str, str] = field(default_factory=dict)
    spoil: Callable[[int, int], Mapping[str, Any]] = lambda _at, _repetition: {}

    def records(self) -> list[dict[str, Any]]:
        runs = list(self._runs())
        return runs[: self.stop] if self.stop is not None else runs

    def _runs(self) -> Iterator[dict[str, Any]]:
        rng = np.random.default_rng(self.seed)
        places = self._places()
        for number, (mapping, reason) in enumerate(self.left_out.items(), 90):
            fields = Entrant(mapping, 1.0).case_fields(number) | {"cpus": ""}
            yield left_out(number, reason) | fields | {"table_number": 1}
        # In the order in which they begin.
        by_row = sorted(range(len(places)), key=lambda at: (places[at][1], places[at][0]))
        ids = [_case_id(at) for at in by_row]
        warmup, run = self._run(0, -1, 0, 1, places, rng)
        yield warmup
        race = Race(ids, self.rule, [run])
        order = 1
        while block := race.next_block():
            runs = {}
            for case_id, repetition in block:
                order += 1
                at = by_row[ids.index(case_id)]
                fields, runs[case_id, repetition] = self._run(
                    at, repetition, race.state().blocks + 1, order, places, rng
                )
                yield fields
            race.take(block, runs)

    def _places(self) -> list[tuple[int, int]]:
        """Return the table and the row of each entrant."""
        tables: dict[tuple[int, str], int] = {}
        rows: dict[int, int] = {}
        places = []
        for entrant in self.entrants:
            table = tables.setdefault((entrant.threads, entrant.schedule), len(tables) + 1)
            rows[table] = rows.get(table, 0) + 1
            places.append((table, rows[table]))
        return places

    def _run(
        self,
        at: int,
        repetition: int,
        block: int,
        order: int,
        places: Sequence[tuple[int, int]],
        rng: np.random.Generator,
    ) -> tuple[dict[str, Any], RaceRun]:
        entrant, (table, row) = self.entrants[at], places[at]
        time_s = entrant.time_s * float(np.exp(self.noise * rng.normal()))
        rule: dict[str, Any] = {
            "of": self.rule.of,
            "better": "higher" if self.rule.higher else "lower",
            "margin": self.rule.margin,
            "time_budget_s": self.rule.time_budget_s,
            "runs": self.rule.runs,
            "cases": len(self.entrants),
        }
        fields = record(row, abs(repetition)) | entrant.case_fields(at)
        fields |= {
            "table_number": table,
            "warmup": repetition < 0,
            "block": block,
            "order": order,
            "run_id": f"run-{order}",
            "started_at": f"2025-03-01T{12 + order // 60:02d}:{order % 60:02d}:00Z",
            "elapsed_s": time_s,
            "repetition_rule": {"race": rule},
            "race_value": 1e9 / time_s if self.rule.higher else time_s,
            "metrics": {self.rule.of: 1e9 / time_s if self.rule.higher else time_s},
        }
        if entrant.energy_j is None:
            del fields["energy_pkg_j"]
            fields["unavailable"] = {"energy_pkg_j": NO_ENERGY}
        else:
            energy_j = entrant.energy_j * float(np.exp(self.noise * rng.normal()))
            fields |= {"energy_pkg_j": energy_j, "edp_js": energy_j * time_s}
        fields |= {**entrant.more_fields, **self.spoil(at, repetition)}
        if at in self.failing:
            fields |= {"status": "failed", "reason": "exit status 3"}
        if fields["status"] != "ok":
            del fields["race_value"]
        fields |= {"race_seen": race_fields(fields, self.rule)["race_seen"]}
        return fields, race_run(fields, self.rule)


def _case_id(at: int) -> str:
    return f"case{at + 1:012d}"


def write_results(folder: Path, race: SimulatedRace) -> Path:
    """Write the race's records as the results of a node below a study's folder; return it."""
    node = folder / "advise-app-0123abcd" / "node1"
    write(node, race.records())
    rule = replace(race.rule, resumed_by="pinstudy advise -- '/home/user/my app' -n 100")
    (node / "race.json").write_text(json.dumps(asdict(rule)))
    return node


def advice(folder: Path, race: SimulatedRace) -> Advice:
    result = advice_of(open_results(str(write_results(folder, race))))
    assert result is not None
    return result


# P-cores pinned with four threads take 12 % less time than unpinned; all else is slower.
GAIN = SimulatedRace(
    (
        Entrant("unpinned", 40.0, 2000.0, threads=16),
        Entrant("unpinned", 43.0, 1900.0),
        Entrant("pcores-set", 36.5, 1900.0),
        Entrant("pcores-pin", 35.2, 1950.0),
        Entrant("ecores-pin", 90.0, 1200.0),
        Entrant("pcores-pin", 36.0, 1950.0, governor="performance"),
    )
)
# Nothing gains more than the margin.
NO_GAIN = SimulatedRace(
    (
        Entrant("unpinned", 40.0, threads=16),
        Entrant("unpinned", 43.0),
        Entrant("pcores-set", 40.1),
        Entrant("pcores-pin", 40.05),
    ),
    noise=0.003,
)
