"""What speaks against numbers stands under their table once, and nothing does under a quiet one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pinstudy.analysis.tables.means import make_tables
from pinstudy.analysis.verdict_text.document import as_text
from tests.support.results import (
    UNPROVED,
    Record,
    Study,
    caveats,
    findings_of,
    notes_of,
    record,
    tables_from,
)

SHARED = "runs with other tasks on their CPUs (more than 1 % of their CPU time)"
STOLEN = "runs with CPU time stolen by a hypervisor (more than 1 % of theirs)"
MORE = "runs with more threads at work than asked for (nested regions, or a library's own)"
HOT: Record = {"throttle": {"package_count": 1}}
ABOVE = "burst above PL1: average package power 117.0 W"
MAINS: Record = {"power_supply": "mains"}
BATTERY: Record = {"power_supply": "battery"}
LOWER = "limits of power and turbo are often lower than on mains"
NICE: Record = {"priority": "SCHED_BATCH, nice 3"}
USUAL = "inherited from pinstudy: usual ones are scheduled otherwise"
LAVD: Record = {"sched_ext_scheduler": "lavd"}
LOST = "not compared, nor to be recommended"


def notes(folder: Path, records: Iterable[Record]) -> list[str]:
    (table,) = tables_from(folder, records)
    return [note for note in notes_of(table) if note != "one run has no standard deviation"]


def rows(*numbers: int, repetitions: Iterable[int] = (1, 2), **fields: Any) -> list[Record]:  # noqa: ANN401
    return [record(number, at, **fields) for number in numbers for at in repetitions]


def under(governor: str, energy_aware: str | None, repetition: int = 1) -> Record:
    """Return a good run under a governor, with that state of energy-aware scheduling."""
    row = {"performance": 1, "schedutil": 6, "powersave": 7}[governor]
    names = {"governor": governor, "governor_read": governor}
    return record(row, repetition, sched_energy_aware=energy_aware, **names)


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
        # Quiet ones, and what counting may err by.
        ({"throttle": {"core_count": 0, "core_ms": 4}, "power_limit_note": ""}, None),
        ({"gate_reached": True}, None),
        # The program used 45 s of CPU time.
        ({"cpus": "0-1", "foreign_cpu_s": 0.44}, None),
        # Two ticks on each of 24 CPUs.
        ({"cpus": "0-23", "user_s": 1.0, "system_s": 0.0, "foreign_cpu_s": 0.48}, None),
        ({"cpus": "0", "vcpu_cpus": "0-23", "user_s": 1.0, "foreign_cpu_s": 0.48}, None),
        # A warm-up is not averaged.
        (HOT | {"warmup": True}, None),
    ],
)
def test_disturbed_runs_are_counted_under_the_table(
    tmp_path: Path, fields: Record, note: str | None
) -> None:
    runs = [*rows(1, repetitions=(1, 3)), record(1, 2, **fields), *rows(2)]
    assert notes(tmp_path, runs) == ([f"{note}: #1: 1 of 3"] if note else [])


def test_disturbed_runs_of_many_rows_are_all_counted(tmp_path: Path) -> None:
    numbers = range(1, 61)
    slow = rows(*numbers, repetitions=[1], gate_reached=False)
    (note,) = notes(tmp_path, [*slow, *rows(*numbers, repetitions=[2]), record(7, 3)])
    assert note.endswith("#59: 1 of 2, #60: 1 of 2")


EAS = "energy-aware scheduling (EAS) was"
PLACES = "differ in how the kernel places threads, too"
GOVERNORS = f"these governors {PLACES}"
KERNELS_OWN = "scheduled by lavd (sched_ext), not by the kernel's own"
MANY = rows(1, repetitions=range(1, 21))
TENTH = "a tenth at most may be lost"
# By what is noted: the runs, and the notes under their table.
NOTED: dict[str, tuple[list[Record], list[str]]] = {
    "as many in each row": (
        [*rows(1, 2, 3, repetitions=[1], **HOT), *rows(1, 2, 3, repetitions=[2])],
        ["runs throttled by heat: 1 of 2 in each row"]),
    "throughout": (rows(1, 2, **HOT), ["runs throttled by heat: all runs that are averaged"]),
    "priorities": (rows(1, **NICE), [f"programs ran with SCHED_BATCH, nice 3, {USUAL}"]),
    "some priorities": (
        [record(1, 1, **NICE), record(1, 2)],
        [f"programs ran with SCHED_BATCH, nice 3 in some runs, {USUAL}"]),
    "daemons": (
        [record(1, 1, daemons=["thermald", "irqbalance"]), record(1, 2, daemons=["irqbalance"])],
        ["running meanwhile, and known to change frequencies, masks or interrupts: irqbalance, "
         "thermald"]),
    "mains": (rows(1, 2, **MAINS), []),
    "battery": (rows(1, 2, **BATTERY), [f"made on battery: {LOWER}"]),
    "some on battery": (
        [record(1, 1, **MAINS), record(2, 1, **BATTERY), record(2, 2, **MAINS), record(3, 1)],
        ["power supply: mains in #1, #2, battery in #2: these rows differ in their limits of "
         "power, too", f"some runs were made on battery: {LOWER}"]),
    "a governor that switches EAS": (
        [under("performance", "impossible"), under("schedutil", "on")],
        [f"{EAS} impossible under performance, on under schedutil: {GOVERNORS}"]),
    "two governors of one state": (
        [*(under(name, "impossible") for name in ("performance", "powersave")),
         under("schedutil", "on")],
        [f"{EAS} impossible under performance and powersave, on under schedutil: {GOVERNORS}"]),
    "EAS by rows": (
        [under("schedutil", "on"), under("schedutil", "off", 2), under("performance", "off")],
        [f"{EAS} off in #1, #6, on in #6: these rows {PLACES}"]),
    "EAS unknown": ([under("performance", None), under("schedutil", "on")], []),
    "EAS of a warm-up": (
        [*(under(governor, "on") for governor in ("performance", "schedutil")),
         under("schedutil", "off", 2) | {"warmup": True}], []),
    "some under sched_ext": (
        [record(1, 1, sched_ext_scheduler="none"), record(1, 2, **LAVD), record(2, 1, **LAVD)],
        [f"{KERNELS_OWN}: runs of #1, #2"]),
    "all under sched_ext": (rows(1, 2, **LAVD), [f"{KERNELS_OWN}: all runs that are averaged"]),
    "no node's file": (rows(1, kinds_declared=True), ["core kinds declared by hand"]),
    "no driver": (
        [record(1, 1), record(1, 2, driver=None, unavailable={"driver": "gone"})],
        ["driver not known in some runs: gone"]),
    "one unproved run of many": (
        [*MANY, record(1, 21, placement=UNPROVED["placement"])],
        ["#1: placement proved in 20 of 21 runs, 1 not provable, which is averaged"]),
    "settings": (
        [*MANY, record(1, 21, status="settings-changed", reason="epp was power")],
        ["#1: 1 of 21 runs not averaged: 1 settings-changed (epp was power)"]),
    "one run is no runs": (
        [record(1, placement=UNPROVED["placement"]), record(2, status="failed", reason="x")],
        ["#1: placement proved in 0 of 1 run, 1 not provable, which is averaged",
         f"#1: {LOST}: 1 of 1 run lacked a proof of the placement; {TENTH}",
         "#2: 1 of 1 run not averaged: 1 failed (x)", f"#2: {LOST}: 1 of 1 run failed; {TENTH}"]),
    "several cases of a row": (
        [*(record(3, 1, mechanism=name, case_id=name) for name in ("likwid-pin", "omp-places")),
         record(4, 1, cpus="8-15"), record(4, 1, cpus="8-23", case_id="elsewhere")],
        ["#3 stands for several cases: pcores-pin by likwid-pin; pcores-pin by omp-places",
         "#4 stands once for each set of CPUs it was run on: 8-15; 8-23"]),
}  # fmt: skip


@pytest.mark.parametrize(("runs", "expected"), NOTED.values(), ids=NOTED)
def test_what_speaks_against_runs_is_noted_once(
    tmp_path: Path, runs: list[Record], expected: list[str]
) -> None:
    found = notes(tmp_path, runs)
    assert [note for note in found if "no run that could be averaged" not in note] == expected


def test_a_study_of_the_current_governor_names_the_one_in_force(tmp_path: Path) -> None:
    runs = [under("performance", "impossible"), under("schedutil", "on")]
    *_, note = notes(tmp_path, (run | {"governor": "current"} for run in runs))
    assert "impossible under performance, on under schedutil" in note


def test_a_comparison_across_power_supplies_is_noted(tmp_path: Path) -> None:
    times = {"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 1.3}
    beside = {"unpinned": MAINS, "pcores-set": MAINS, "pcores-pin": BATTERY}
    findings = findings_of(tmp_path, Study(times, beside=beside))
    facts = {"supplies": ["battery"], "baseline_supplies": ["mains"]}
    assert caveats(findings)["unlike power supply"] == facts
    assert "unlike power supply" not in caveats(findings, "pcores-set")
    assert "ran on battery, the baseline on mains" in as_text(findings, 10_000)


def test_a_long_reason_hides_no_other_status(tmp_path: Path) -> None:
    long = record(1, 1, status="failed", reason="x" * 900)
    found = notes(tmp_path, [long, record(1, 2, status="timeout", reason="limit")])
    (output,) = (text for text in found if "not averaged" in text)
    assert output.endswith("x…), 1 timeout (limit)")
    assert len(output) < 400


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ('{"virtual_machine": true}', ["virtual machine"]),
        ('{"virtual_machine": false}', []),
        (
            '{"cpufreq": {"turbo": 3}}',
            ["nodes/n1.json is not used: cpufreq.turbo: expected true or false or null, found '3'"],
        ),
    ],
)
def test_a_virtual_machine_and_a_file_that_is_not_used_are_noted(
    tmp_path: Path, facts: str, expected: list[str]
) -> None:
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "n1.json").write_text(facts)
    found = notes(tmp_path, rows(1))
    assert len(found) == len(expected)
    assert all(part in note for part, note in zip(expected, found, strict=True))


@pytest.mark.parametrize(("count", "runs"), [(1, "1 run"), (2, "2 runs")])
def test_lost_runs_are_counted_where_the_averaged_ones_were_not(
    tmp_path: Path, count: int, runs: str
) -> None:
    (tmp_path / "summaries.csv").write_text(
        f"app,threads,mapping,elapsed_mean_s,excluded\nlu,1,unpinned,45.1,timeout: {count}\n"
    )
    (table,) = make_tables(tmp_path)
    assert f"#1: {runs} not averaged: {count} timeout" in notes_of(table)


@pytest.mark.parametrize(
    ("fields", "is_explained"),
    [
        ({"binding": "pin"}, True),
        ({"binding": "pin", "migrations": 0}, False),
        ({"binding": "set"}, False),
        ({"binding": "pin", **UNPROVED}, False),
    ],
    ids=["pinned", "none moved", "set", "unproved"],
)
def test_migrations_of_pinned_threads_are_explained_where_proved(
    tmp_path: Path, fields: Record, is_explained: bool
) -> None:
    proved: Record = {"placement": {"verdict": "proved", "threads": []}, "migrations": 3}
    found = " ".join(notes(tmp_path, rows(3, **proved | fields)))
    explained = "migrations of pinned threads (#3): the kernel moves a thread as it starts"
    assert (explained in found) == is_explained
