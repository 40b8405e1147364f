"""A program on P-cores beside another on E-cores: both seen in their places, counted apart."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from vnode.commands import (
    MAX_REPETITIONS,
    journal_exists,
    pinstudy,
    records,
    settings,
    start_study,
    study,
    until,
    vary_settings,
)
from vnode.node import VirtualNode

pytestmark = [pytest.mark.vnode, pytest.mark.usefixtures("records_only")]

PROGRAM = "mandelbrot-libgomp"


def is_proved(run: dict[str, Any]) -> bool:
    of = ("placement", "co_runner_placement") if "co_runner" in run else ("placement",)
    return run["status"] == "ok" and all(run[name]["verdict"] == "proved" for name in of)


def proved_runs(node: VirtualNode) -> dict[tuple[int, bool], dict[str, Any]]:
    """Return a proved run of each case, by its table and whether something ran beside it.

    Cases are repeated while one has none: on a busy host a guest's looks may come too late.
    """
    runs: dict[tuple[int, bool], dict[str, Any]] = {}
    for repetitions in range(1, MAX_REPETITIONS + 1):
        ended = pinstudy(node, *study("co-runners"), "--repetitions", str(repetitions))
        assert ended.status == 0, ended
        for run in filter(is_proved, records(node, "co-runners")):
            runs[run["table_number"], "co_runner" in run] = run
        if len(runs) == 3:
            break
    return runs


def test_each_is_proved_in_its_place_and_counted_by_itself(node: VirtualNode) -> None:
    runs = proved_runs(node)

    made = [(run["status"], run["unavailable"]) for run in records(node, "co-runners")]
    assert sorted(runs) == [(1, False), (1, True), (2, False)], made
    alone, beside, other = runs[1, False], runs[1, True], runs[2, False]
    assert beside["co_runner_alone"] == other["case_id"]
    assert beside["co_runner_cpus"] == other["cpus"]
    # The module's clock of a P-core, whether E-cores work or not; no count is the co-runner's.
    for run in (alone, beside):
        assert run["freq_ghz"] == pytest.approx({"P": 5.6}, rel=0.01)
        assert run["residency"] == pytest.approx({"P": 1.0, "E": 0.0}, abs=0.01)
    # All of the guest's CPUs share one of the host, so that times say little; the model has rates.
    rates = [run["instructions"] / run["task_clock_s"] for run in (alone, beside)]
    assert rates[1] == pytest.approx(rates[0], rel=0.02)
    e_cpus = set(beside["co_runner_cpus"].split(","))
    assert {thread["allowed"] for thread in beside["co_runner_placement"]["threads"]} == e_cpus
    assert beside["co_runner_cpu_s"] > 0
    assert beside["co_runner_completed"] >= 1
    assert beside["co_runner_elapsed_s"] > 0
    # The energy of the package is that of both.
    assert beside["power_pkg_w"] > alone["power_pkg_w"]


def test_after_a_kill_both_are_gone_and_the_next_command_restores_the_settings(
    node: VirtualNode,
) -> None:
    vary_settings(node)
    before = settings(node)
    killed = start_study(node, "co-runners")
    until(node, lambda: node.run("pgrep", "-f", "co_runner_supervisor").status == 0)
    until(node, lambda: node.run("pgrep", "-f", PROGRAM).status == 0)

    node.kill(killed, signal.SIGKILL)
    assert node.wait(killed).status == -signal.SIGKILL
    # Before any command of pinstudy's: they end with it.
    for what in (PROGRAM, "co_runner_supervisor", "pinstudy-witness"):
        until(node, lambda of=what: node.run("pgrep", "-f", of).status == 1)  # type: ignore[misc]
    assert journal_exists(node)
    assert pinstudy(node, "mappings").status == 0
    assert settings(node) == before
