"""What is said of the precision that a study's cases reached."""

from __future__ import annotations

from typing import Any

from configs.repetitions import Precision
from runners.plan.case import Case
from runners.plan.plan import Plan
from runners.study.history import History
from runners.study.summary import precision_lines
from tests.runners.cases import PCORES_PIN, PCORES_SET, UNPINNED, case, study

CASES = [case(mapping=mapping) for mapping in (UNPINNED, PCORES_SET, PCORES_PIN)]


def plan(precision: Precision | None, most: int = 6) -> Plan:
    return Plan(study(repetitions=most, precision=precision), tuple(CASES), (), {})


def history(precision: Precision | None, runs: dict[str, list[Any]]) -> History:
    """Return a history with these runs by mapping: seconds, (seconds, joules), or a status."""
    found = History(precision)
    for made in CASES:
        for repetition, run in enumerate(runs.get(made.mapping.name, []), 1):
            found.add(record(made, repetition, run))
    return found


def record(made: Case, repetition: int, run: Any) -> dict[str, Any]:  # noqa: ANN401
    fields: dict[str, Any] = {"status": run}
    if isinstance(run, float):
        fields = {"status": "ok", "elapsed_s": run}
    if isinstance(run, tuple):
        fields = {"status": "ok", "elapsed_s": run[0], "energy_pkg_j": run[1]}
    identity = {"case_id": made.case_id, "warmup": False, "repetition": repetition}
    return identity | fields


def test_a_plain_number_of_repetitions_says_nothing_of_precision() -> None:
    assert precision_lines(plan(None), history(None, {"unpinned": [1.0] * 6})) == []


def test_cases_that_are_precise_are_counted_and_the_others_named() -> None:
    # 0.9, 1.0 and 1.1, each twice: standard deviation 0.08944, half width 2.5706 x 3.651 %.
    wild = [0.9, 1.0, 1.1, 0.9, 1.0, 1.1]
    runs = {"unpinned": [1.0] * 5, "pcores-set": [2.0] * 3, "pcores-pin": wild}
    wanted = Precision(3, 0.01)
    assert precision_lines(plan(wanted), history(wanted, runs)) == [
        "precision: 2 of 3 cases reached ±1 % of the mean time (95 % confidence), "
        "after 3 to 5 repetitions",
        "precision not reached after 6: demo-libgomp small x2 pcores-pin current: "
        "time ±9.39 % by 6 good runs",
    ]


def test_cases_with_failed_runs_or_runs_to_come_are_told_apart() -> None:
    runs: dict[str, list[Any]] = {
        "unpinned": ["failed"] * 6,
        "pcores-set": ["timeout"] * 5 + [1.0],
        "pcores-pin": [1.0, 1.0],
    }
    wanted = Precision(3, 0.01)
    assert precision_lines(plan(wanted), history(wanted, runs)) == [
        "precision: 0 of 3 cases reached ±1 % of the mean time (95 % confidence)",
        "precision not reached after 6: demo-libgomp small x2 unpinned current: 0 good runs",
        "precision not reached after 6: demo-libgomp small x2 pcores-set current: 1 good run",
        "precision not finished after 2: demo-libgomp small x2 pcores-pin current: "
        "time ±0 % by 2 good runs",
    ]


def test_energy_that_was_not_measured_is_said_to_have_decided_nothing() -> None:
    runs: dict[str, list[Any]] = {
        "unpinned": [1.0] * 3,
        "pcores-set": [(1.0, 5.0)] * 3,
        "pcores-pin": [(1.0, 4.0), (1.0, 5.0), (1.0, 6.0)] * 2,
    }
    wanted = Precision(3, 0.02, ("time", "energy"))
    # 4, 5 and 6 J, each twice: standard deviation 0.8944, half width 2.5706 x 0.3651 of 5 J.
    assert precision_lines(plan(wanted), history(wanted, runs)) == [
        "precision: 2 of 3 cases reached ±2 % of the mean time and energy (95 % confidence), "
        "after 3 repetitions",
        "precision: energy was not measured in 1 of them: time alone decided",
        "precision not reached after 6: demo-libgomp small x2 pcores-pin current: "
        "time ±0 % and energy ±18.8 % by 6 good runs",
    ]
