"""What is undecided names what disturbed the runs, once a cause, with what helps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.results import Record, Study, findings_of, verdict

UNDECIDED = Study({"scheduler": 1.0, "pcores-pin": 0.98}, repetitions=5, noise=0.04)
BUSY = {
    "foreign_cpu_s": 0.4,
    "foreign_tasks": [
        {"command": "python", "cpu_s": 0.21},
        {"command": "sshd", "cpu_s": 0.05},
    ],
}
STOLEN = {"steal_s": 0.4}
QUIET = {"cpus": "0-1", "user_s": 1.0, "system_s": 0.0}


def causes_of(folder: Path, disturbed: dict[str, Any], least: int, mapping: str = "") -> list[str]:
    """Return the causes that are told when runs from repetition `least` on are disturbed."""

    def of(run: Record) -> Record:
        hit = run["repetition"] >= least and mapping in ("", run["mapping"])
        return run | QUIET | (disturbed if hit else {})

    found = verdict(findings_of(folder, [of(run) for run in UNDECIDED.records()]))
    assert found.answer == "undecided"
    return [line for line in found.sentences if line.startswith("One cause: ")]


def test_the_neighbour_is_named_with_its_cpu_time_and_what_helps(tmp_path: Path) -> None:
    (line,) = causes_of(tmp_path, BUSY, 2, "pcores-pin")
    assert line.startswith("One cause: 4 of 5 runs of #2 pcores-pin")
    assert "shared their CPUs with python (up to 0.21 s a run); end that" in line


def test_several_causes_have_a_line_each_and_their_cases_stand_together(tmp_path: Path) -> None:
    shared, stolen = causes_of(tmp_path, BUSY | STOLEN, 1)
    assert "5 of 5 runs of #1 scheduler" in shared
    assert "5 of 5 runs of #2 pcores-pin" in shared
    assert "lost CPU time to a hypervisor; measure on the host" in stolen


@pytest.mark.parametrize(
    "tasks",
    [
        None,
        "python",
        7,
    ],
)
def test_neighbours_that_are_not_known_are_other_tasks(tmp_path: Path, tasks: object) -> None:
    lines = causes_of(tmp_path, {"foreign_cpu_s": 0.4, "foreign_tasks": tasks}, 1)
    assert "shared their CPUs with other tasks; end that" in lines[0]


@pytest.mark.parametrize(
    "tasks",
    [
        [],
        [{"command": "python", "cpu_s": 0.01}],
        [{"command": 3, "cpu_s": 1.0}, 7, {"cpu_s": 1.0}],
        [{"command": "x", "cpu_s": "much"}, {"command": "x", "cpu_s": -1.0}],
        [{"command": "x", "cpu_s": float("inf")}],
    ],
)
def test_a_task_is_not_blamed_for_what_others_took_that_were_not_seen(
    tmp_path: Path, tasks: object
) -> None:
    """In a container /proc has no tasks of others, but their time is on the CPUs."""
    busy = {"foreign_cpu_s": 0.5, "interrupts_s": 0.1, "foreign_tasks": tasks}
    (line,) = causes_of(tmp_path, busy, 1)
    assert "with tasks that were not seen, of another container or short ones (up to 0." in line
    assert "python" not in line


@pytest.mark.parametrize("interrupts_s", [0.31, None])
def test_interrupts_are_no_task(tmp_path: Path, interrupts_s: float | None) -> None:
    busy = BUSY | {"foreign_cpu_s": 0.6, "interrupts_s": interrupts_s}
    (line,) = causes_of(tmp_path, busy, 1)
    assert ("python" in line) == (interrupts_s is not None)


def test_runs_that_nothing_disturbed_name_no_cause(tmp_path: Path) -> None:
    assert causes_of(tmp_path, BUSY, 9) == []


def test_a_name_of_another_process_cannot_make_lines(tmp_path: Path) -> None:
    tasks = [{"command": "evil\n\x1b[2Jname", "cpu_s": 0.3}]
    (line,) = causes_of(tmp_path, {"foreign_cpu_s": 0.4, "foreign_tasks": tasks}, 1)
    assert line.isprintable()
