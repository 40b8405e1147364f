"""From a run's record to the run as a race sees it.

Values that take long to read or compute are put into a record as `race_seen` when it is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isfinite
from typing import Any, TypeGuard

from configs.repetitions import RACE_OF, Race
from runners.race.state import RaceRun
from runners.records.disturbances import disturbances
from runners.records.placed_runs import PROVED, UNPROVED, VIOLATED, seen_team, verdict_of
from runners.records.status import CHECK_FAILED, FAILED, OK, PLACEMENT_VIOLATED, TIMEOUT

# With these statuses the case itself is to blame; the others may happen to any case.
_BLAMED = (FAILED, TIMEOUT, CHECK_FAILED, PLACEMENT_VIOLATED)
# Values beyond these bounds have no useful logarithm.
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
    """Return a new record's fields for the race: the value that judges it, or why there is none.

    `race_seen` has the placement's verdict, the numbers of threads told and started, and whether
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
    """Return a run as a race sees it; only reasons need more than the record's head.

    In a race for time, a first run that reached its time limit took much longer than others.
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
        # On a busy node a short team may not be seen, so the share of such runs decides.
        return seen
    if status not in _BLAMED:
        return seen
    reason = str(record.get("reason") or status)
    cut = status == TIMEOUT and rule.of == "time" and first and not record.get("warmup")
    return replace(seen, reason=reason, cut=cut)


def _seen(record: Mapping[str, Any]) -> RaceRun:
    """Return a run without a value or reason; fields that a record lacks stay unknown."""
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
