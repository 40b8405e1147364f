"""The data of a race: its runs, as their records give them, and its state.

Values that take long to read or compute are written into a new record as `race_seen`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from base.reading import number_or_nan
from configs.repetitions import RACE_OF, Race
from runners.records.disturbances import OWN, disturbances
from runners.records.placed_runs import PROVED, UNPROVED, VIOLATED, observed_team, verdict_of
from runners.records.status import CHECK_FAILED, FAILED, OK, PLACEMENT_VIOLATED, TIMEOUT

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
    "not best": "not told from the best, which promised more",
    "worse": "worse than the best, with the confidence of all such decisions together",
    "far worse": "after one run so far from the best that noise is not the reason",
    "not placed": "more than a tenth of its runs were not proved to be where it puts its threads",
    "same threads": "it starts as many threads as the reference, whatever it is told",
    "failed": "its run was not good",
    "cannot run": "the node cannot run it now",
    "no time": "there was no time for it, or no run",
}
# Those of them that say how a case did beside others; the rest are about the case alone.
BY_COMPARISON = ("not best", "worse", "far worse")
# Statuses that are the fault of the case; the others may happen to any case.
_CASE_FAULTS = (FAILED, TIMEOUT, CHECK_FAILED, PLACEMENT_VIOLATED)
# The overhead of a run where it was not recorded: perf's start, the record, reading the node's
# state.
OVERHEAD_S = 0.02
# Values beyond these bounds have no useful logarithm.
_MIN_VALUE, _MAX_VALUE = 1e-30, 1e30


@dataclass(frozen=True)
class RaceRun:
    """One run as a race sees it.

    `value` is the measure raced for, None when there is none; `reason` then says why, if the case
    is to blame, and is empty after a disturbance. `cut` says that the run was ended because it took
    much longer than the shortest one. `elapsed_s` is its seconds, 0 when unknown. `placed` is the
    verdict on its placement, empty when unknown. `requested` and `started` are numbers of
    threads, 0 when unknown. `disturbed` is by heat, power limits or other tasks. `took_s` is the
    seconds of the run with all that pinstudy did before and after it, 0 when unknown.
    """

    value: float | None
    elapsed_s: float
    reason: str = ""
    cut: bool = False
    placed: str = ""
    requested: int = 0
    started: int = 0
    disturbed: bool = False
    took_s: float = 0.0


@dataclass(frozen=True)
class Eliminated:
    """A case that makes no more runs, after `block`.

    `why` is a word of WHYS. `worse_by` is the share by which its mean was worse than the best one's
    then, 0.07 for 7 %; None without a value, negative when a steadier case was taken. `p` is the
    probability of such a difference between equal cases, before any correction; None without a
    test. `reason` says why its run failed, was not placed or started the wrong team; else empty.
    """

    case_id: str
    block: int
    why: str
    worse_by: float | None = None
    p: float | None = None
    reason: str = ""


@dataclass(frozen=True)
class RaceState:
    """How a race stands.

    `decision` is a word of DECISIONS. `best` is the case that the confirmation compares with the
    `reference`; None before it is taken, and when no other case is left. `eliminated` is in the
    order of elimination, without cases that came back when a better one did not run well.
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
        elapsed_s, energy_j = measured.get("elapsed_s"), measured.get("energy_pkg_j")
        edp = None if elapsed_s is None or energy_j is None else energy_j * elapsed_s
        value = {"time": elapsed_s, "energy": energy_j, "edp": edp}[rule.of]
        absent = measured["unavailable"].get("energy_pkg_j", "it was not measured")
    else:
        value = record["metrics"].get(rule.of)
        absent = record["unavailable"].get(f"metrics.{rule.of}", "it was not found")
    if value is None:
        return None, absent
    if not _MIN_VALUE < value < _MAX_VALUE:
        needed = "more than 0" if value <= _MIN_VALUE else f"less than {_MAX_VALUE:g}"
        return None, f"{value:g} is no {rule.of} to compare: {needed} is needed"
    return value, ""


def race_fields(
    record: Mapping[str, Any], rule: Race, took_s: float | None = None
) -> dict[str, Any]:
    """Return a new record's fields for the race: the value that rates it, or why there is none.

    `race_seen` has the placement's verdict, the numbers of threads requested and started,
    whether anything disturbed the run, and `took_s` if that is known.
    """
    team = observed_team(record)
    seen: dict[str, object] = {
        "placement": verdict_of(record),
        "requested": team.requested,
        "started": team.threads,
        "disturbed": any(what not in OWN for what in disturbances(record)),
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
    """Return a run as a race sees it.

    In a race for time, a first run that reached its time limit took much longer than others.
    """
    run = _run_without_value(record)
    status: Any = record.get("status")
    if status == OK:
        value = number_or_nan(record.get("race_value"))
        if _MIN_VALUE < value < _MAX_VALUE:
            return replace(run, value=value)
        unavailable = record.get("unavailable")
        absent = unavailable.get("race_value") if isinstance(unavailable, Mapping) else None
        return replace(run, reason=str(absent or f"it has no {rule.of}"))
    first = record.get("repetition") == 1
    if status == PLACEMENT_VIOLATED and (run.disturbed or not first):
        # On a busy node a short team may not be seen, so the share of such runs decides.
        return run
    if status not in _CASE_FAULTS:
        return run
    reason = str(record.get("reason") or status)
    cut = status == TIMEOUT and rule.of_run_time and first and not record.get("warmup")
    return replace(run, reason=reason, cut=cut)


def _run_without_value(record: Mapping[str, Any]) -> RaceRun:
    """Return a run without value and reason; fields that the record lacks stay unknown."""
    elapsed_s = number_or_nan(record.get("elapsed_s"))
    fields = record.get("race_seen")
    seen: Mapping[str, Any] = fields if isinstance(fields, Mapping) else {}
    violated = record.get("status") == PLACEMENT_VIOLATED
    placed = VIOLATED if violated else seen.get("placement")
    counts = [seen.get(name) for name in ("requested", "started")]
    requested, started = (count if type(count) is int else 0 for count in counts)
    took_s = number_or_nan(seen.get("took_s"))
    return RaceRun(
        None,
        elapsed_s if elapsed_s > 0 else 0.0,
        placed=placed if placed in (PROVED, UNPROVED, VIOLATED) else "",
        requested=requested,
        started=started,
        disturbed=seen.get("disturbed") is True,
        took_s=took_s if 0 < took_s < inf else 0.0,
    )
