"""What is undecided names what disturbed the runs, and as a cause only where it is measured."""

from __future__ import annotations

import re
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
    return [line for line in found.sentences if line.startswith(("One cause: ", "Disturbed: "))]


def test_the_neighbour_is_named_with_its_cpu_time_and_what_helps(tmp_path: Path) -> None:
    (line,) = causes_of(tmp_path, BUSY, 2, "pcores-pin")
    assert line.startswith("Disturbed: 4 of 5 runs of #2 pcores-pin")
    assert "shared their CPUs with python (most in 4 of them, up to 0.21 s a run); whether" in line
    assert line.endswith("To know, end that, or keep it off these CPUs.")


def test_the_commonest_neighbours_are_named_and_not_the_one_of_the_worst_run(
    tmp_path: Path,
) -> None:
    def of(run: Record) -> Record:
        name, cpu_s = ("chromium", 0.9) if run["repetition"] == 1 else ("make", 0.3)
        task = {"command": name, "cpu_s": cpu_s}
        return run | QUIET | {"foreign_cpu_s": cpu_s, "foreign_tasks": [task]}

    sentences = verdict(findings_of(tmp_path, [of(run) for run in UNDECIDED.records()])).sentences
    (line,) = (line for line in sentences if "shared their CPUs" in line)
    assert (
        "with make (most in 8 of them, up to 0.30 s a run) and chromium (most in 2 of them, up to "
        "0.90 s a run); whether"
    ) in line


def blamed(folder: Path, longer: float) -> str:
    """Return what is said where every other run of a mapping is disturbed, and so much longer."""
    even = {"scheduler": 1.0, "pcores-pin": 1 / (1 + longer / 2)}
    study = Study(even, repetitions=12, noise=0.02)

    def of(run: Record) -> Record:
        hit = run["mapping"] == "pcores-pin" and run["repetition"] % 2
        time_s = run["elapsed_s"] * (1 + longer if hit else 1)
        return run | QUIET | {"elapsed_s": time_s} | (BUSY if hit else {})

    found = verdict(findings_of(folder, [of(run) for run in study.records()]), "time")
    assert found.answer == "undecided"
    (line,) = (line for line in found.sentences if "shared their CPUs" in line)
    return line


def test_a_cause_is_what_made_runs_slower_by_so_much(tmp_path: Path) -> None:
    line = blamed(tmp_path, 0.05)
    assert re.match(
        r"One cause: 6 of 12 runs of #2 pcores-pin shared their CPUs with python \(most in 6 of "
        r"them, up to 0.21 s a run\), and were slower, against the other runs of their case: "
        r"[45]\.\d+ % more time \([\d.]+ to [\d.]+ %\) in #2 pcores-pin; end that",
        line,
    )


def test_nothing_is_blamed_whose_runs_were_no_slower(tmp_path: Path) -> None:
    line = blamed(tmp_path, 0.0)
    assert line.startswith("Disturbed: 6 of 12 runs of #2 pcores-pin shared their CPUs with python")
    assert "that these were slower is not shown, against the other runs of their case: " in line
    assert "cause" not in line and "end that" not in line


def test_several_causes_have_a_line_each_and_their_cases_stand_together(tmp_path: Path) -> None:
    shared, stolen = causes_of(tmp_path, BUSY | STOLEN, 1)
    assert "5 of 5 runs of #1 scheduler" in shared
    assert "5 of 5 runs of #2 pcores-pin" in shared
    assert "lost CPU time to a hypervisor; whether that made them slower cannot be told" in stolen
    assert "To know, measure on the host" in stolen


@pytest.mark.parametrize(
    "tasks",
    [
        None,
        "python",
        [{"command": 3, "cpu_s": 1.0}, 7],
        [{"command": "x", "cpu_s": -1.0}],
    ],
)
def test_neighbours_that_are_not_known_are_other_tasks(tmp_path: Path, tasks: object) -> None:
    lines = causes_of(tmp_path, {"foreign_cpu_s": 0.4, "foreign_tasks": tasks}, 1)
    assert "shared their CPUs with other tasks; whether" in lines[0]


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
    (line,) = causes_of(tmp_path, busy, 1)
    assert "with tasks that were not seen, of another container or short ones (most in 10" in line
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
