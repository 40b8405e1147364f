"""The record of one run, from its case and observation: the contract with analysis.

docs/records.md describes every field. Units are in the names; a value that was not measured is
absent, and `unavailable` has the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_
from typing import Any

from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.reading import Reading, Unavailable, reading_of
from pinstudy.configs.app import App
from pinstudy.runners.execution.execute import Observation
from pinstudy.runners.execution.outcome import (
    classify,
    expected_of,
    proof_of,
    read_metrics,
    stderr_tail,
)
from pinstudy.runners.execution.witness import Ending
from pinstudy.runners.node.node import state_changes
from pinstudy.runners.placement.thread_placement import (
    Expected,
    Proof,
    forgiven_looks,
    hotplug_problem,
    surplus_team,
)
from pinstudy.runners.placement.thread_trace import ThreadTrace, seen_fields
from pinstudy.runners.plan.case import Case, SkippedCase, case_fields, loop_fields
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.runs import PlannedRun
from pinstudy.runners.records.status import IDLE, SKIPPED

# The fields that all records of an attempt share.
Origin = dict[str, Any]


def run_record(
    origin: Origin,
    planned: PlannedRun,
    case: Case,
    launch: Launch,
    observed: Observation,
    started_at: str,
    states: tuple[Reading, Reading],
    collected: list[Reading],
    thrown_out: str = "",
) -> dict[str, Any]:
    """Return the record of a run that was observed, whatever its status.

    `states` are the settings in force before and after the run; `thrown_out` is why the kernel has
    thrown the run's scheduler out.
    """
    before, after = states
    ending = observed.ending
    counted = {name: value for part in collected for name, value in part.fields.items()}
    expected = expected_of(case)
    proof = proof_of(observed, expected, counted)
    change = (
        hotplug_problem(observed.hotplugged_cpus)
        or thrown_out
        or state_changes(before.fields, after.fields, cooled="cpu_cooling" in counted)
    )
    status, reason = classify(case, observed, proof, change)
    metrics, absent = read_metrics(case, observed)
    unavailable = {f"metrics.{name}": why for name, why in absent.items()}
    if proof.verdict == "unproved":
        unavailable["placement"] = proof.reason
    record = _head(origin, planned, case, started_at) | {
        "status": status,
        "reason": reason,
        "exit_code": ending.exit_code,
        "signal": ending.signal,
        "stderr_tail": stderr_tail(observed.stderr),
        "metrics": metrics,
        **_metric_facts(case.app),
        "command": list(launch.command),
        "environment": _environment(launch),
        "perf_command": list(observed.perf_command),
        "placement": _placement_fields(proof, observed, expected),
    }
    if launch.co_runner:
        record["co_runner_command"] = list(launch.co_runner.command)
    of_states = (after, _state_before(before, after), _scheduler(before, after))
    parts = (_time_and_usage(ending), *of_states, Reading(dict(observed.facts)), *collected)
    return _with_measured(Reading(record, unavailable), parts)


def _environment(launch: Launch) -> dict[str, Any]:
    variables = {
        "set": launch.set_variables,
        "removed": list(launch.removed_variables),
        "inherited": launch.recorded_variables,
    }
    return {name: found for name, found in variables.items() if found}


def _metric_facts(app: App) -> dict[str, dict[str, str]]:
    """Return the units of an app's metrics, in its order, and what is better of which.

    They are in each record, so that results are read without the app's file.
    """
    facts = {
        "metric_units": {metric.name: metric.unit for metric in app.metrics},
        "metric_better": {metric.name: metric.better for metric in app.metrics if metric.better},
    }
    return {name: by_metric for name, by_metric in facts.items() if by_metric}


def _with_measured(record: Reading, parts: Iterable[Reading]) -> dict[str, Any]:
    measured = reduce(or_, parts, record)
    return _grouped(measured.fields) | {"unavailable": measured.unavailable}


def _grouped(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields with `guest.kernel` in the group `guest`."""
    found = {name: value for name, value in fields.items() if "." not in name}
    for name, value in fields.items():
        group, dot, inner = name.partition(".")
        if dot:
            found[group] = found.get(group, {}) | {inner: value}
    return found


def _state_before(before: Reading, after: Reading) -> Reading:
    """Return the governor before a run, and the power limits if they differ from those after it."""
    values: dict[str, object] = {
        "governor_before": before.fields.get(
            "governor_read", Unavailable(before.unavailable.get("governor_read", ""))
        )
    }
    limits = before.fields.get("power_limits")
    if limits is not None and limits != after.fields.get("power_limits"):
        values["power_limits_before"] = limits
    return reading_of(values)


def _scheduler(before: Reading, after: Reading) -> Reading:
    """Return how long the run's scheduler had been in force, and the CPU time of its process."""
    loaded_s, used_s = (before.fields.get(f"scheduler_{name}_s") for name in ("loaded", "cpu"))
    if loaded_s is None or used_s is None:
        return Reading()
    of_run = after.fields.get("scheduler_cpu_s", used_s) - used_s
    return Reading({"scheduler_loaded_s": loaded_s, "scheduler_cpu_s": round(max(0.0, of_run), 2)})


def unfinished_record(
    origin: Origin, planned: PlannedRun, case: Case, started_at: str, status: str, reason: str
) -> dict[str, Any]:
    """Return the record of a run that gave no observation: interrupted, or never started.

    It gave none of the regions either, and is lost to them, too.
    """
    record = _head(origin, planned, case, started_at) | {"status": status, "reason": reason}
    if case.regions and "regions" not in case.engine.lacks:
        unavailable = {f"regions.{name}": reason for name in case.regions}
        record |= {"regions": {}, "unavailable": unavailable}
    return record


def idle_record(
    origin: Origin,
    before: PlannedRun,
    case: Case,
    started_at: str,
    duration_s: float,
    collected: list[Reading],
) -> dict[str, Any]:
    """Return the record of an idle measurement of `duration_s` seconds, taken before a planned run.

    The record belongs to no case: `case` gives only the settings and the CPUs.
    """
    record = origin | {
        "run_id": f"idle-{origin['attempt']}-{before.order}",
        "started_at": started_at,
        "status": IDLE,
        "reason": "",
        "governor": case.governor,
        **({"settings": case.settings.asked} if case.settings.asked else {}),
        "cpus": format_cpulist(case.host_cpus),
        "duration_s": duration_s,
    }
    return _with_measured(Reading(record), collected)


def skipped_record(origin: Origin, skipped: SkippedCase, order: int) -> dict[str, Any]:
    """Return the record of a case that this node leaves out, with the reason."""
    identity = {
        "case_id": skipped.case_id,
        "table_number": skipped.case.table,
        "case_number": skipped.case.number,
        "order": order,
    }
    outcome = {"status": SKIPPED, "reason": skipped.reason}
    return origin | identity | _case_fields(skipped.case) | outcome


def _case_fields(case: Case) -> dict[str, Any]:
    """Return the fields on a case: those that identify it, and what is known of its program."""
    algorithm = {"algorithm": case.app.algorithm} if case.app.algorithm else {}
    fixed_time = {"fixed_time": True} if case.app.fixed_time else {}
    return case_fields(case) | fixed_time | loop_fields(case) | algorithm


def _head(origin: Origin, planned: PlannedRun, case: Case, started_at: str) -> dict[str, Any]:
    return (
        origin
        | {
            "case_id": case.case_id,
            "table_number": case.table,
            "case_number": case.number,
            "repetition": planned.repetition,
            "block": planned.block,
            "order": planned.order,
            "warmup": planned.warmup,
            "run_id": f"{case.case_id}-{origin['attempt']}-{planned.order}",
            "started_at": started_at,
        }
        | _case_fields(case)
    )


def _time_and_usage(ending: Ending) -> Reading:
    lost = Unavailable("the program's witness had to be ended before it could tell")
    usage = {
        "user_s": ending.user_s,
        "system_s": ending.system_s,
        "max_rss_bytes": ending.max_rss_bytes,
        "cpu_s": ending.cpu_s,
    }
    never = Unavailable("the program did not start")
    elapsed_s = ending.elapsed_s if ending.elapsed_s > 0 else never
    known = {name: lost if value is None else value for name, value in usage.items()}
    return reading_of({"elapsed_s": elapsed_s, **known})


def _placement_fields(
    proof: Proof, observed: Observation, expected: Sequence[Expected]
) -> dict[str, Any]:
    processes = list(dict.fromkeys(thread.pid for thread in observed.threads))
    at_work = max(
        surplus_team(
            (thread for thread in observed.threads if thread.team == team),
            promised,
            observed.ending.elapsed_s,
        )
        for team, promised in enumerate(expected)
    )
    return {
        "verdict": proof.verdict,
        "looks": observed.looks,
        **({"at_work": at_work} if at_work else {}),
        **({} if observed.unmet is None else {"unmet": observed.unmet}),
        **({"in_ticks": True} if observed.in_ticks else {}),
        "threads": [
            {"process": processes.index(thread.pid)}
            | ({"rank": thread.team} if observed.teams else {})
            | _thread_fields(thread, expected[thread.team])
            for thread in observed.threads
        ],
    }


def _thread_fields(thread: ThreadTrace, expected: Expected) -> dict[str, Any]:
    fields: dict[str, Any] = {
        **seen_fields(thread),
        "cpu_s": round(thread.cpu_s, 4),
        "runnable_s": round(thread.runnable_s, 2),
    }
    if len(thread.masks) > 1:
        fields["masks"] = {format_cpulist(mask): looks for mask, looks in thread.masks.items()}
    return fields | forgiven_looks(thread, expected)
