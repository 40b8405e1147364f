"""Energy of a board, by a meter of hwmon: against the powers of the model, and its lies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.vnode.test_core_energy import BUSY_W
from tests.vnode.test_prove import prove, states
from vnode.commands import RESULTS, STUDIES, pinstudy, records, study, without_pandas
from vnode.node import VirtualNode
from vnode.shape import Shape

METER = "hwmon:ina226/power1"
AGAINST = f"energy board by {METER} against powercap"
# vnode/module/board.c and energy.c.
BESIDE_W, LOSSES, IDLE_W = 3.0, 1.12, 10.0
LIES = {
    "board_permille": (250, {AGAINST}),
    "board_stands_still": (1, {f"energy board by {METER}", AGAINST}),
}
TRUTH = {"board_permille": 1000, "board_stands_still": 0}


@pytest.fixture
def node(boot: Callable[[Shape], VirtualNode]) -> Iterator[VirtualNode]:
    """Give a guest whose board has a meter of its power."""
    booted = boot(Shape(board_meter=True))
    with without_pandas(booted):
        yield booted


@pytest.mark.vnode
def test_a_study_has_the_boards_energy_by_the_meter_that_it_names(node: VirtualNode) -> None:
    said = " ".join(pinstudy(node, "doctor").output.split())
    assert f"energy:{METER} board, W every 0.1 s: runs of 2 s or more" in said, said

    # On a busy host the sampling thread may get no CPU for too long.
    for _ in range(3):
        node.shell(f"rm -rf {RESULTS}/board-energy")
        ended = pinstudy(node, *study("board-energy"), cwd=str(STUDIES / "apps"))
        assert ended.status == 0, ended
        runs = {run["mapping"]: run for run in records(node, "board-energy")}
        if all("energy_board_j" in run for run in runs.values()):
            break
    for mapping, kind in (("pcores-set", "P"), ("ecores-set", "E")):
        run = runs[mapping]
        assert run["status"] == "ok", run
        assert "energy_board_j" in run, run["unavailable"].get("energy_board_j")
        assert run["energy_source"] == METER
        assert "energy_pkg_j" not in run
        assert run["energy_samples"] > 20
        least_w = BESIDE_W + LOSSES * (IDLE_W + BUSY_W[kind] * run["cpu_s"] / run["elapsed_s"])
        # What measures has at most a P-core of its own, also on a busy host.
        most_w = least_w + LOSSES * BUSY_W["P"]
        assert 0.95 * least_w < run["power_board_w"] < most_w, run
    assert runs["pcores-set"]["power_board_w"] > runs["ecores-set"]["power_board_w"] + 5


@pytest.mark.prove
def test_the_boards_meter_is_proved_and_each_of_its_lies_is_found(node: VirtualNode) -> None:
    ended, found = prove(node, "--only", "energy")
    assert ended.status == 0, found
    told = {name: found[name] for name in (f"energy board by {METER}", AGAINST)}
    assert states(found, "ok") >= told.keys(), told
    for lie, (value, expected) in LIES.items():
        node.set_parameters(**{lie: value})
        try:
            ended, found = prove(node, "--only", "energy")
        finally:
            node.set_parameters(**TRUTH)
        assert ended.status == 1
        assert states(found, "off") >= expected, found
