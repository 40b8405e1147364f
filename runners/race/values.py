"""From a run's record to what a race sees of it.

What is long to read, or to reckon, of a record is put into it when it is made, as `race_seen`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import Any, TypeGuard

from configs.repetitions import RACE_OF, Race
from runners.race.state import RaceRun
from runners.records.disturbances import disturbances
from runners.records.placed_runs import PROVED, UNPROVED, VIOLATED, verdict_of
from runners.records.seen_team import seen_team
from runners.records.status import CHECK_FAILED, FAILED, OK, PLACEMENT_VIOLATED, TIMEOUT

# The case itself is to blame; what the others tell of may happen to any.
_BLAMED = (FAILED, TIMEOUT, CHECK_FAILED, PLACEMENT_VIOLATED)
# Values beyond these have no logarithm of use.
_LEAST, _MOST = 1e-30, 1e30


def race_value(record: Mapping[str, Any], rule: Race) -> tuple[float | None, str]:
    """Return the number that a good run is judged by, or None and why there is none."""
    energy_j: Any = record.get("energy_pkg_j")
    elapsed_s: Any = record.get("elapsed_s")
    found = {
        "time": elapsed_s,
        "energy": energy_j,
        "edp": energy_j * elapsed_s if _is_number(energy_j) and _is_number(elapsed_s) else None,
    }
    if rule.of in RACE_OF:
        value = found[rule.of]
        absent = record["unavailable"].get("energy_pkg_j", "it was not measured")
    else:
        value = record["metrics"].get(rule.of)
        absent = record["unavailable"].get(f"metrics.{rule.of}", "it was not found")
    if value is None:
        return None, absent
    if not (_is_number(value) and _LEAST < value < _MOST):
        return None, f"{value:g} is no {rule.of} to compare: more than 0 is needed"
    return value, ""


def race_fields(record: Mapping[str, Any], rule: Race) -> dict[str, Any]:
    """Return the fields of a new record that say by what it is judged, or why by nothing.

    `race_seen` has the placement's verdict, the threads that were told and started, and whether
    anything disturbed the run.
    """
    team = seen_team(record)
    seen = {
        "placement": verdict_of(record),
        "told": team.told,
        "started": team.threads,
        "disturbed": bool(disturbances(record)),
    }
    if record["status"] != OK:
        return {"race_seen": seen}
    value, absent = race_value(record, rule)
    if value is None:
        unavailable = record["unavailable"] | {"race_value": absent}
        return {"unavailable": unavailable, "race_seen": seen}
    return {"race_value": value, "race_seen": seen}


def race_run(record: Mapping[str, Any], rule: Race) -> RaceRun:
    """Return what a race sees of a record, of which the head is enough but for reasons.

    A first run that reached its time limit was ended because it took much longer than others.
    """
    seen = _seen(record)
    status: Any = record.get("status")
    value: Any = record.get("race_value")
    if status == OK:
        if _is_number(value) and _LEAST < value < _MOST:
            return replace(seen, value=value)
        unavailable = record.get("unavailable")
        absent = unavailable.get("race_value") if isinstance(unavailable, Mapping) else None
        return replace(seen, reason=str(absent or f"it told no {rule.of}"))
    first = record.get("repetition") == 1
    if status == PLACEMENT_VIOLATED and (seen.disturbed or not first):
        # A busy node keeps a short team from being seen: what counts is how many runs are so.
        return seen
    if status not in _BLAMED:
        return seen
    reason = str(record.get("reason") or status)
    cut = status == TIMEOUT and rule.of == "time" and first and not record.get("warmup")
    return replace(seen, reason=reason, cut=cut)


def _seen(record: Mapping[str, Any]) -> RaceRun:
    """Return a run of which nothing is judged yet; old records do not tell what was seen."""
    elapsed_s: Any = record.get("elapsed_s")
    found = record.get("race_seen")
    seen: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    violated = record.get("status") == PLACEMENT_VIOLATED
    placed = VIOLATED if violated else seen.get("placement")
    counts = [seen.get(name) for name in ("told", "started")]
    told, started = (count if type(count) is int else 0 for count in counts)
    return RaceRun(
        None,
        elapsed_s if _is_number(elapsed_s) and elapsed_s > 0 else 0.0,
        placed=placed if placed in (PROVED, UNPROVED, VIOLATED) else "",
        told=told,
        started=started,
        disturbed=seen.get("disturbed") is True,
    )


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
