"""Studies whose outcome is known: records with the ratios, noise and order that a test asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from analysis.answer import find
from analysis.results.sources import open_results
from analysis.verdict.model import Findings, TableFindings, Verdict
from tests.analysis.records import record, write

# mapping -> (selection, binding)
MAPPINGS = {
    "scheduler": ("all", "none"),
    "pcores-set": ("pcores", "set"),
    "pcores-pin": ("pcores", "pin"),
    "ecores-set": ("ecores", "set"),
    "ecores-pin": ("ecores", "pin"),
}


@dataclass(frozen=True)
class Study:
    """A study of one app: each mapping's time and energy as a multiple of the baseline's.

    `noise` is the relative sd of a run's time; `sequential` makes all runs of a case together.
    `beside` has more fields of each mapping's records.
    """

    time: Mapping[str, float]
    energy: Mapping[str, float] = field(default_factory=dict)
    repetitions: int = 10
    noise: float = 0.003
    sequential: bool = False
    governors: tuple[str, ...] = ("performance",)
    beside: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    seed: int = 1

    def records(self) -> list[dict[str, Any]]:
        rng = np.random.default_rng(self.seed)
        cases = [(governor, mapping) for governor in self.governors for mapping in self.time]
        return [
            self._record(rng, number, governor, mapping, repetition, len(cases))
            for repetition in range(1, self.repetitions + 1)
            for number, (governor, mapping) in enumerate(cases, 1)
        ]

    def _record(
        self,
        rng: np.random.Generator,
        number: int,
        governor: str,
        mapping: str,
        repetition: int,
        cases: int,
    ) -> dict[str, Any]:
        selection, binding = MAPPINGS.get(mapping, ("pcores", "pin"))
        elapsed_s = 40 * self.time[mapping] * (1 + self.noise * float(rng.normal()))
        order = (repetition - 1) * cases + number
        if self.sequential:
            order = (number - 1) * self.repetitions + repetition
        fields: dict[str, Any] = {
            "mapping": mapping,
            "selection": selection,
            "binding": binding,
            "governor": governor,
            "threads": 8,
            "variant": "libgomp",
            "elapsed_s": elapsed_s,
            "order": order,
            "started_at": f"2025-03-01T12:{order % 60:02d}:00Z",
        }
        made = record(number, repetition, **fields)
        if self.energy:
            energy_j = 2000 * self.energy[mapping] * (1 + self.noise * float(rng.normal()))
            made |= {"energy_pkg_j": energy_j, "edp_js": energy_j * elapsed_s}
        else:
            del made["energy_pkg_j"]
            made["unavailable"] = {"energy_pkg_j": "no RAPL here"}
        return made | dict(self.beside.get(mapping, {}))


def found(folder: Path, study: Study | list[dict[str, Any]], **options: Any) -> Findings:  # noqa: ANN401
    """Return the findings of a study, or of records."""
    write(folder, study.records() if isinstance(study, Study) else study)
    return find(open_results(str(folder)), **options)


def only_table(findings: Findings) -> TableFindings:
    (table,) = findings.tables
    return table


def verdict(findings: Findings, objective: str = "time", governor: str = "performance") -> Verdict:
    """Return the one verdict of an objective under a governor."""
    (of_objective,) = [
        verdict
        for verdict in only_table(findings).verdicts
        if (verdict.objective, verdict.governor) == (objective, governor)
    ]
    return of_objective


def words(findings: Findings, objective: str = "time") -> dict[str, str]:
    """Return the word of each mapping that was compared."""
    return {
        case.mapping: case.comparisons[objective].word  # type: ignore[index]
        for case in only_table(findings).cases
        if objective in case.comparisons
    }
