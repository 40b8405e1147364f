"""The data of a race: its runs, as their records give them, and its state.

Values that take long to read or compute are written into a new record as `race_seen`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pinstudy.configs.repetitions import RACE_OF, Race
from pinstudy.runners.records.disturbances import OWN, disturbances
from pinstudy.runners.records.energy import compared_energy
from pinstudy.runners.records.placed_runs import VIOLATED, verdict_of
from pinstudy.runners.records.record import MAX_RACE_VALUE, MIN_RACE_VALUE
from pinstudy.runners.records.status import CHECK_FAILED, FAILED, OK, PLACEMENT_VIOLATED, TIMEOUT

# A case and its repetition, which counts from -1 downwards for the reference's warm-up runs.
Key = tuple[str, int]
# The states of a race; only the first one is not its end.
DECISIONS = {
    "unfinished": "runs that it needs are still to be made",
    "gain": "the best case is reliably better than the reference, typically by more than the "
    "margin and by the mean",
    "split": "the best case is reliably better than the reference either typically or by the mean, "
    "and not shown to be in both",
    "no gain": "nothing is better than the reference by more than the margin",
    "undecided": "the runs that it may make were not enough to tell",
    "no reference": "the reference has no good run, so that there is nothing to compare with",
}
# Why a case makes no more runs, from the nearest to the best on.
WHYS = {
    "slower": "in the slower half of the cases at the end of a round",
    "cut": "its first run was ended when it took much longer than the shortest one",
    "not placed": "more than a tenth of its runs were not proved to be where it puts its threads",
    "failed": "its run was not good",
    "cannot run": "the node cannot run it now",
    "no time": "there was no time for it, or no run",
}
# Statuses that are the fault of the case; the others may happen to any case.
_CASE_FAULTS = (FAILED, TIMEOUT, CHECK_FAILED, PLACEMENT_VIOLATED)
# The overhead of a run where it was not recorded: perf's start, the record, reading the node's
# state.
OVERHEAD_S = 0.02


@dataclass(frozen=True)
class RaceRun:
    """One run as a race sees it.

    `value` is the measure raced for, None when there is none; `reason` then says why, if the case
    is to blame, and is empty after a disturbance. `cut` says that the run was ended because it took
    much longer than the shortest one. `elapsed_s` is its seconds, 0 when unknown. `placed` is the
    verdict on its placement, empty when unknown. `took_s` is the seconds of the run with all that
    pinstudy did before and after it, 0 when unknown.
    """

    value: float | None
    elapsed_s: float
    reason: str = ""
    cut: bool = False
    placed: str = ""
    took_s: float = 0.0


@dataclass(frozen=True)
class Eliminated:
    """A case that makes no more runs, after `block`.

    `why` is a word of WHYS. `worse_by` is the share by which it was typically worse than the best
    one then, 0.07 for 7 %; None without a value, negative where the best one was steadier. `reason`
    says why its run failed or was not placed; else empty.
    """

    case_id: str
    block: int
    why: str
    worse_by: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class RaceState:
    """How a race stands.

    `decision` is a word of DECISIONS. `best` is the case that the confirmation compares with the
    `reference`; None before it is taken, and when no other case is left. `eliminated` is in the
    order of elimination, without a case that took the place of a best one that did not run well.
    `confirmation` has the repetitions, by case_id, of the runs that decide, pair by pair: those
    after the best was taken, so that they do not overestimate its gain. `p` is the probability of
    such a confirmation without a typical gain, `level` that with which an interval of the latest
    analysis may miss the truth. `looks` is the number of interim analyses. `runs`, without warm-up
    runs, and `spent_s` are what the race has used, `most_runs` is its limit, None where time alone
    limits it. `noise` is the standard deviation of one run's logarithm, pooled over cases; None
    before two blocks.
    """

    decision: str
    reference: str
    best: str | None
    eliminated: tuple[Eliminated, ...]
    confirmation: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    p: float | None = None
    level: float | None = None
    looks: int = 0
    blocks: int = 0
    runs: int = 0
    most_runs: int | None = None
    spent_s: float = 0.0
    noise: float | None = None


def race_value(record: Mapping[str, Any], rule: Race) -> tuple[float | None, str]:
    """Return the number that rates a good run, or None and why there is none."""
    if rule.region and rule.region not in record.get("regions", {}):
        absent = record["unavailable"].get(f"regions.{rule.region}", "it was not measured")
        return None, f"region {rule.region}: {absent}"
    if rule.of in RACE_OF:
        measured = record["regions"][rule.region] if rule.region else record
        elapsed_s = measured.get("elapsed_s")
        energy_j, absent = compared_energy(measured)
        edp = None if elapsed_s is None or energy_j is None else energy_j * elapsed_s
        value = {"time": elapsed_s, "energy": energy_j, "edp": edp}[rule.of]
    else:
        value = record["metrics"].get(rule.of)
        absent = record["unavailable"].get(f"metrics.{rule.of}", "it was not found")
    if value is None:
        return None, absent or "it was not measured"
    if not MIN_RACE_VALUE <= value <= MAX_RACE_VALUE:
        needed = "more than 0" if value < MIN_RACE_VALUE else f"at most {MAX_RACE_VALUE:g}"
        return None, f"{value:g} is no {rule.of} to compare: {needed} is needed"
    return value, ""


def race_fields(
    record: Mapping[str, Any], rule: Race, took_s: float | None = None
) -> dict[str, Any]:
    """Return a new record's fields for the race: the value that rates it, or why there is none.

    `race_seen` has the placement's verdict, whether anything disturbed the run, and `took_s` if
    that is known.
    """
    seen: dict[str, object] = {
        "placement": verdict_of(record),
        "disturbed": not set(disturbances(record)).issubset(OWN),
    }
    if took_s is not None:
        seen["took_s"] = round(took_s, 3)
    if record["status"] != OK:
        return {"race_seen": seen}
    value, absent = race_value(record, rule)
    if value is None:
        unavailable = record["unavailable"] | {"race_value": absent}
        return {"unavailable": unavailable, "race_seen": seen}
    return {"race_value": value, "race_seen": seen}


def race_run(record: Mapping[str, Any], rule: Race) -> RaceRun:
    """Return a run as a race sees it; what its record lacks stays unknown.

    In a race for time, a first run that reached its time limit took much longer than others.
    """
    status, elapsed_s = record.get("status"), record.get("elapsed_s") or 0.0
    seen = record.get("race_seen") or {}
    run = RaceRun(
        None,
        elapsed_s,
        placed=(VIOLATED if status == PLACEMENT_VIOLATED else seen.get("placement")) or "",
        took_s=seen.get("took_s") or 0.0,
    )
    if status == OK:
        if (value := record.get("race_value")) is not None:
            return replace(run, value=value)
        absent = (record.get("unavailable") or {}).get("race_value")
        return replace(run, reason=absent or f"it has no {rule.of}")
    first = record.get("repetition") == 1
    cut = status == TIMEOUT and rule.of_run_time and first and not record.get("warmup")
    disturbed = seen.get("disturbed") and (cut or status == PLACEMENT_VIOLATED)
    if status not in _CASE_FAULTS or disturbed or (status == PLACEMENT_VIOLATED and not first):
        # On a busy node a short team may not be seen, so the share of such runs decides.
        return run
    return replace(run, reason=record.get("reason") or status, cut=cut)
