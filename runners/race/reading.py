"""From a run's record to what a race sees of it."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any, TypeGuard

from configs.model import RACE_OF, Race
from runners.race.standing import RaceRun
from runners.statuses import CHECK_FAILED, FAILED, OK, PLACEMENT_VIOLATED, TIMEOUT

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
    """Return the fields of a new record that say by what it is judged, or why by nothing."""
    if record["status"] != OK:
        return {}
    value, absent = race_value(record, rule)
    if value is None:
        return {"unavailable": record["unavailable"] | {"race_value": absent}}
    return {"race_value": value}


def race_run(record: Mapping[str, Any], rule: Race) -> RaceRun:
    """Return what a race sees of a record, of which the head is enough but for reasons.

    A first run that reached its time limit was ended because it took much longer than others.
    """
    status: Any = record.get("status")
    value: Any = record.get("race_value")
    elapsed_s: Any = record.get("elapsed_s")
    took_s = elapsed_s if _is_number(elapsed_s) and elapsed_s > 0 else 0.0
    if status == OK:
        if _is_number(value) and _LEAST < value < _MOST:
            return RaceRun(value, took_s)
        unavailable = record.get("unavailable")
        absent = unavailable.get("race_value") if isinstance(unavailable, Mapping) else None
        return RaceRun(None, took_s, str(absent or f"it told no {rule.of}"))
    first = record.get("repetition") == 1 and not record.get("warmup")
    if status not in _BLAMED or (status == PLACEMENT_VIOLATED and _is_later(record)):
        return RaceRun(None, took_s)
    reason = str(record.get("reason") or status)
    return RaceRun(None, took_s, reason, cut=status == TIMEOUT and rule.of == "time" and first)


def _is_later(record: Mapping[str, Any]) -> bool:
    """Whether the case had a run before, which put its threads where they belong.

    It does so ever after: a busy node keeps a short team from being seen, or somebody else has
    moved a thread.
    """
    return record.get("repetition") != 1


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value)
