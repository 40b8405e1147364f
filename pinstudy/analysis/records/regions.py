"""The regions of a run as rows of their own: records that tables and verdicts read like others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pinstudy.base.reading import table_in
from pinstudy.configs.values import is_name
from pinstudy.runners.records.line import without_impossible_values
from pinstudy.runners.records.record import names_by_group

REGION = "region"
# As many as an app may name.
_MAX_REGIONS = 16


def _names(*groups: str) -> frozenset[str]:
    by_group = names_by_group()
    return frozenset(name for group in groups for name in by_group[group])


# What a region has of its own; what a whole run has and a region has not.
_OF_REGION = _names("time", "counters", "energy") | {
    *("temperature_before_c", "temperature_after_c", "executions", "mark_s"),
}
_OF_CO_RUNNER = {
    "co_runner_alone",
    "co_runner_completed",
    "co_runner_elapsed_s",
    "co_runner_rate_hz",
    "co_runner_cpu_s",
}
_OF_RUN = (
    _OF_REGION
    | _names("work")
    | _OF_CO_RUNNER
    | {"metrics", "metric_units", "metric_better", "region_marks"}
)


def region_records(record: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a record for each region of a run, named in `region`.

    Its case has a name of its own; its numbers are checked like those of a run. A region that was
    not measured has the reason at its time.
    """
    measured, absent = table_in(record, "regions"), table_in(record, "unavailable")
    named = dict.fromkeys(
        [
            *measured,
            *(name.removeprefix("regions.") for name in absent if name.startswith("regions.")),
        ]
    )
    case_id = record.get("case_id")
    if not isinstance(case_id, str):
        return
    shared = {name: value for name, value in record.items() if name not in _OF_RUN}
    for name in list(named)[:_MAX_REGIONS]:
        if not is_name(name):
            continue
        identity = {"case_id": f"{case_id}:{name}", REGION: name}
        found = _measured(measured.get(name), absent.get(f"regions.{name}"))
        yield without_impossible_values(shared | identity | found)


def _measured(region: object, why: object) -> dict[str, Any]:
    """Return the fields of a region, with the reasons for those that it lacks."""
    if not isinstance(region, dict):
        reason = why if isinstance(why, str) else "not measured"
        return {"unavailable": dict.fromkeys(_OF_REGION, reason)}
    found = {name: value for name, value in region.items() if name in _OF_REGION}
    return found | {"unavailable": table_in(region, "unavailable")}
