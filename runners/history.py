"""What was recorded of a study so far: all that a second start knows of the first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from configs.errors import UserError
from configs.model import Precision, Study
from configs.words import shown
from runners.changed_node import what_changed
from runners.precision import CasePrecision, figures_of
from runners.shards import read_records
from runners.statuses import FINAL, LEFT_OUT, OK
from runners.stopping import RunKey
from runners.temperature_gate import recorded_reference_c


@dataclass
class History:
    """What was recorded so far: finished runs by key, and each case's good runs and seconds.

    `good` has what a precision is judged by, by case and repetition, without warm-up runs;
    `skipped` are the runs that cannot be made in this attempt.
    """

    done: set[RunKey] = field(default_factory=set)
    good: dict[str, dict[int, dict[str, float]]] = field(default_factory=dict)
    skipped: set[RunKey] = field(default_factory=set)
    times: dict[str, tuple[int, float]] = field(default_factory=dict)
    left_out: set[tuple[str, str]] = field(default_factory=set)
    temperature_reference_c: dict[str, float] | None = None

    def add(self, record: Mapping[str, Any]) -> None:
        """Take one record into account; an interrupted run stays to be made."""
        status, case_id = record.get("status"), str(record.get("case_id"))
        repetition, elapsed_s = record.get("repetition"), record.get("elapsed_s")
        if self.temperature_reference_c is None:
            self.temperature_reference_c = recorded_reference_c(record)
        if status == LEFT_OUT:
            self.left_out.add((case_id, str(record.get("reason"))))
        elif status in FINAL and isinstance(repetition, int):
            key = (case_id, bool(record.get("warmup")), repetition)
            if status == OK and not key[1] and key not in self.done:
                self.good.setdefault(case_id, {})[repetition] = figures_of(record)
            self.done.add(key)
            if status == OK and isinstance(elapsed_s, float):
                count, total_s = self.times.get(case_id, (0, 0.0))
                self.times[case_id] = (count + 1, total_s + elapsed_s)

    def mean_s(self, case_id: str) -> float | None:
        """Return the mean seconds of a case's good runs, or None when there is none."""
        count, total_s = self.times.get(case_id, (0, 0.0))
        return total_s / count if count else None

    def known(self, wanted: Precision, case_id: str) -> CasePrecision:
        """Return how precisely a case is known by all its good runs."""
        good = self.good.get(case_id, {})
        return CasePrecision.of(wanted, (good[repetition] for repetition in sorted(good)))

    def known_with(self, wanted: Precision | None, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return the field of a new record that says how precisely its case is known with it.

        Nothing without a wanted precision, for a warm-up run, and before there are two good runs.
        """
        if wanted is None or record["warmup"]:
            return {}
        known = self.known(wanted, record["case_id"])
        if record["status"] == OK:
            known.add(figures_of(record))
        return {"ci_half_width": known.half_widths} if known.half_widths else {}


def read_history(
    folder: Path,
    study: Study,
    node_digest: str,
    node_id: str = "",
    pool: str = "",
    facts: Mapping[str, Any] | None = None,
) -> History:
    """Return what a results folder already holds of this study.

    In the folder of a `pool` of interchangeable nodes the warm-up runs of others than `node_id` do
    not count. Raises UserError when it was made by another version of the study or on a changed or
    different node, whose `facts` say what differs: such runs must not be mixed.
    """
    history = History()
    advice = "start anew with --fresh (what was measured is kept beside it)"
    for record in read_records(folder / "records"):
        if record.get("study_digest") != study.digest:
            raise UserError(
                f"{folder}: holds runs of another version of study {study.name} "
                f"({study.path} has changed since); {advice}"
            )
        if record.get("node_digest") != node_digest:
            differs = what_changed(folder, facts or {}, record)
            if pool:
                raise UserError(
                    f"{folder}: node {node_id} is not like {shown(record.get('node_id'))}, which "
                    f"made runs there: {differs}; a study is divided over interchangeable nodes "
                    "only: choose them by a feature, or use --spread per-node"
                )
            raise UserError(
                f"{folder}: the node has changed since this study began there: {differs}; "
                f"continue when it is as it was, or {advice}"
            )
        if not (pool and record.get("warmup") and record.get("node_id") != node_id):
            history.add(record)
    return history
