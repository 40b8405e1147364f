"""The benchmarks that run real studies still can: one of each kind, as small as possible."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.cost.pinstudy_tool import Pinstudy
from benchmarks.detection.study import run_study
from benchmarks.lib.kernel import Kernel, read_spans
from tests.support.tools import need_tool


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    need_tool("g++")
    return Kernel.build(tmp_path_factory.mktemp("kernel"))


def test_the_work_of_the_second_name_is_multiplied(kernel: Kernel, tmp_path: Path) -> None:
    # The placement of a shorter run cannot be proved, and only proved runs are compared.
    outcome = run_study(kernel, tmp_path, 0.3, repetitions=2, factor=5, seed=1)
    # However busy the machine is: 0.3 s of work against 1.5 s.
    assert outcome.ratio > 2


def test_pinstudys_own_clock_is_beside_that_of_each_run(kernel: Kernel, tmp_path: Path) -> None:
    log = tmp_path / "log"
    pinstudy = Pinstudy("pinstudy", "", "unpinned", tmp_path / "study")
    used = pinstudy.use(kernel.command(0.001, "--log", str(log)), 2)
    spans = read_spans(log)
    assert len(spans) == len(used.reported_s) == 2
    # What is told holds all of main, and the use all of both.
    for span, reported_s in zip(spans, used.reported_s, strict=True):
        assert reported_s > span.took_s
    assert used.began_s < spans[0].began_s < spans[1].ended_s < used.ended_s
