"""What disturbed averaged runs stands under their table, and nothing does under a quiet one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.results import Record, notes_of, record, tables_from

SHARED = "runs with other tasks on their CPUs (more than 1 % of their CPU time)"
STOLEN = "runs with CPU time stolen by a hypervisor (more than 1 % of theirs)"
MORE = "runs with more threads at work than asked for (nested regions, or a library's own)"
HOT = {"throttle": {"package_count": 1}}
ABOVE = "burst above PL1: average package power 117.0 W"


def notes(folder: Path, *records: Record) -> list[str]:
    (table,) = tables_from(folder, records)
    return notes_of(table)


def test_disturbed_runs_of_many_rows_are_all_counted(tmp_path: Path) -> None:
    rows = range(1, 61)
    slow = [record(row, 1, gate_reached=False) for row in rows]

    (note,) = notes(tmp_path, *slow, *(record(row, 2) for row in rows), record(7, 3))

    assert note.endswith("#59: 1 of 2, #60: 1 of 2")


def test_rows_with_as_many_disturbed_runs_are_told_once(tmp_path: Path) -> None:
    runs = [record(row, 1, **HOT) for row in (1, 2, 3)] + [record(row, 2) for row in (1, 2, 3)]
    assert notes(tmp_path, *runs) == ["runs throttled by heat: 1 of 2 in each row"]


@pytest.mark.parametrize(
    ("fields", "note"),
    [
        ({"throttle": {"core_count": 0, "package_count": 2}}, "runs throttled by heat"),
        ({"throttle": {"core_count": 1}}, "runs throttled by heat"),
        ({"throttle": {"package_power_limit_count": 3}}, "runs clipped at a power limit"),
        ({"quota_throttled_s": 0.1}, "runs stopped by the CPU quota of a control group"),
        ({"power_limit_note": ABOVE}, "runs at or above the long-term power limit (PL1)"),
        ({"gate_reached": False}, "runs begun warmer than the temperature gate allows"),
        ({"cpus": "0-1", "foreign_cpu_s": 0.46}, SHARED),
        ({"cpus": "0-1", "steal_s": 0.46}, STOLEN),
        ({"threads": 1, "placement": {"verdict": "proved", "at_work": 2}}, MORE),
    ],
)
def test_disturbed_runs_are_counted_under_the_table(
    tmp_path: Path, fields: Record, note: str
) -> None:
    runs = [record(1, 1), record(1, 2, **fields), record(2, 1), record(2, 2)]
    assert notes(tmp_path, *runs) == [f"{note}: #1: 1 of 2"]


def test_what_disturbed_every_run_is_noted_once(tmp_path: Path) -> None:
    assert notes(tmp_path, *[record(n, r, **HOT) for n in (1, 2) for r in (1, 2)]) == [
        "runs throttled by heat: all runs that are averaged"
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"throttle": {"core_count": 0, "package_count": 0, "core_ms": 4}, "power_limit_note": ""},
        {"gate_reached": True},
        # The program used 45 s of CPU time.
        {"cpus": "0-1", "foreign_cpu_s": 0.44},
        # Two ticks on each of 24 CPUs.
        {"cpus": "0-23", "user_s": 1.0, "system_s": 0.0, "foreign_cpu_s": 0.48},
        {"cpus": "0", "vcpu_cpus": "0-23", "user_s": 1.0, "foreign_cpu_s": 0.48},
        # A warm-up is not averaged.
        HOT | {"warmup": True},
    ],
)
def test_a_quiet_run_and_what_counting_may_err_by_are_no_disturbance(
    tmp_path: Path, fields: Record
) -> None:
    assert notes(tmp_path, record(1, 1), record(1, 2), record(1, 3, **fields)) == []


@pytest.mark.parametrize(("given", "where"), [(2, ""), (1, " in some runs")])
def test_programs_that_are_not_scheduled_as_usual_ones_are_noted(
    tmp_path: Path, given: int, where: str
) -> None:
    unusual = {"priority": "SCHED_BATCH, nice 3"}
    runs = [record(1, of, **(unusual if of <= given else {})) for of in (1, 2)]
    note = (
        f"programs ran with SCHED_BATCH, nice 3{where}, inherited from pinstudy: usual ones are "
        "scheduled otherwise"
    )
    assert notes(tmp_path, *runs) == [note]


def test_daemons_that_interfere_are_named_once(tmp_path: Path) -> None:
    runs = [record(1, 1, daemons=["thermald", "irqbalance"]), record(1, 2, daemons=["irqbalance"])]
    assert notes(tmp_path, *runs) == [
        "running meanwhile, and known to change frequencies, masks or interrupts: irqbalance, "
        "thermald"
    ]
