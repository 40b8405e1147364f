"""What disturbed the runs of a case is counted, with who did it and what it cost them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from analysis.verdict_text.configurations import configuration_tables
from runners.records.disturbances import SHARED, STOLEN
from tests.support.results import Record, Study, caveats, decision, findings_of, only_table

UNDECIDED = Study({"unpinned": 1.0, "pcores-pin": 0.98}, repetitions=5, noise=0.04)
BUSY = {
    "foreign_cpu_s": 0.4,
    "foreign_tasks": [
        {"command": "python", "cpu_s": 0.21},
        {"command": "sshd", "cpu_s": 0.05},
    ],
}
QUIET = {"cpus": "0-1", "user_s": 1.0, "system_s": 0.0}
UNSEEN = "tasks that were not seen, of another container or short ones"


def disturbed(folder: Path, fields: dict[str, Any], least: int) -> dict[str, Mapping[str, Any]]:
    """Return the caveats of a case whose runs are disturbed from repetition `least` on."""

    def made(run: Record) -> Record:
        hit = run["repetition"] >= least and run["mapping"] == "pcores-pin"
        return run | QUIET | (fields if hit else {})

    findings = findings_of(folder, [made(run) for run in UNDECIDED.records()])
    assert decision(findings).choice == "undecided"
    return caveats(findings)


def commands(found: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [task["command"] for task in found["neighbours"]["tasks"]]


def test_disturbed_runs_are_counted_and_the_neighbour_is_named_with_its_cpu_time(
    tmp_path: Path,
) -> None:
    found = disturbed(tmp_path, BUSY, 2)
    assert found["disturbed"] == {"disturbance": SHARED, "runs": 4, "n": 5}
    assert found["neighbours"]["tasks"] == [{"command": "python", "runs": 4, "most_s": 0.21}]
    # One run alone without it has no spread to be compared with.
    assert "disturbed against others" not in found


def test_the_commonest_neighbours_come_before_the_one_of_the_worst_run(tmp_path: Path) -> None:
    def made(run: Record) -> Record:
        name, cpu_s = ("chromium", 0.9) if run["repetition"] == 1 else ("make", 0.3)
        task = {"command": name, "cpu_s": cpu_s}
        return run | QUIET | {"foreign_cpu_s": cpu_s, "foreign_tasks": [task]}

    found = caveats(findings_of(tmp_path, [made(run) for run in UNDECIDED.records()]))
    assert found["neighbours"]["tasks"] == [
        {"command": "make", "runs": 4, "most_s": 0.3},
        {"command": "chromium", "runs": 1, "most_s": 0.9},
    ]


@pytest.mark.parametrize(("longer", "slower"), [(0.05, True), (0.0, False)])
def test_what_disturbed_runs_took_more_has_an_interval(
    tmp_path: Path, longer: float, slower: bool
) -> None:
    even = {"unpinned": 1.0, "pcores-pin": 1 / (1 + longer / 2)}

    def made(run: Record) -> Record:
        hit = run["mapping"] == "pcores-pin" and run["repetition"] % 2
        time_s = run["elapsed_s"] * (1 + longer if hit else 1)
        return run | QUIET | {"elapsed_s": time_s} | (BUSY if hit else {})

    runs = Study(even, repetitions=12, noise=0.02).records()
    found = caveats(findings_of(tmp_path, [made(run) for run in runs]))
    assert found["disturbed"]["runs"] == 6
    cost = found["disturbed against others"]
    assert cost["ratio_low"] < 1 + longer < cost["ratio_high"]
    assert (cost["ratio_low"] > 1) == slower


def test_time_that_a_hypervisor_took_is_no_neighbours(tmp_path: Path) -> None:
    found = disturbed(tmp_path, {"steal_s": 0.4}, 2)
    assert found["disturbed"] == {"disturbance": STOLEN, "runs": 4, "n": 5}
    assert "neighbours" not in found


@pytest.mark.parametrize(
    "tasks",
    [
        None,
        "python",
        [{"command": 3, "cpu_s": 1.0}, 7],
        [{"command": "x", "cpu_s": -1.0}],
    ],
)
def test_neighbours_that_are_not_known_are_not_named(tmp_path: Path, tasks: object) -> None:
    found = disturbed(tmp_path, {"foreign_cpu_s": 0.4, "foreign_tasks": tasks}, 1)
    assert found["disturbed"]["runs"] == 5
    assert "neighbours" not in found


@pytest.mark.parametrize(
    "tasks",
    [
        [],
        [{"command": "python", "cpu_s": 0.01}],
        [{"cpu_s": 1.0}, {"command": "python"}],
    ],
)
def test_a_task_is_not_blamed_for_what_others_took_that_were_not_seen(
    tmp_path: Path, tasks: object
) -> None:
    """In a container /proc has no tasks of others, but their time is on the CPUs."""
    busy = {"foreign_cpu_s": 0.5, "interrupts_s": 0.1, "foreign_tasks": tasks}
    assert commands(disturbed(tmp_path, busy, 1)) == [UNSEEN]


@pytest.mark.parametrize("interrupts_s", [0.31, None])
def test_interrupts_are_no_task(tmp_path: Path, interrupts_s: float | None) -> None:
    busy = BUSY | {"foreign_cpu_s": 0.6, "interrupts_s": interrupts_s}
    named = commands(disturbed(tmp_path, busy, 1))
    assert ("python" in named) == (interrupts_s is not None)


def test_runs_that_nothing_disturbed_have_no_such_caveat(tmp_path: Path) -> None:
    assert "disturbed" not in disturbed(tmp_path, BUSY, 9)


def test_a_name_of_another_process_cannot_make_lines(tmp_path: Path) -> None:
    task = {"command": "evil\n\x1b[2Jname", "cpu_s": 0.3}
    runs = [
        run | QUIET | {"foreign_cpu_s": 0.4, "foreign_tasks": [task]} for run in UNDECIDED.records()
    ]
    (times, *_) = configuration_tables(only_table(findings_of(tmp_path, runs)), 0.01)
    notes = [text for _, text in times.notes]
    assert any("evil" in text for text in notes)
    assert all(text.isprintable() for text in notes)
