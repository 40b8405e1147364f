"""The program that benchmarks run: its clock, its factor, and the studies that are made of it."""

from __future__ import annotations

import math
import subprocess
from pathlib import Path

import numpy as np
import pytest

from analysis.statistics.difference import Difference
from benchmarks.detection.study import FIRST, SECOND, Outcome, outcome_of
from benchmarks.lib.kernel import Kernel, Span, read_spans
from benchmarks.lib.one_program import write_study
from configs.library import load_study
from tests.support.results import Study, write
from tests.support.tools import need_tool


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Kernel:
    need_tool("g++")
    return Kernel.build(tmp_path_factory.mktemp("kernel"))


def test_the_log_has_a_line_a_run_in_seconds(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert read_spans(log) == ()
    log.write_text("1500000000 1750000000\n2000000000 2100000000\n")
    assert read_spans(log) == (Span(1.5, 1.75), Span(2.0, 2.1))
    assert read_spans(log)[0].took_s == 0.25


def test_the_kernel_logs_each_of_its_runs(kernel: Kernel, tmp_path: Path) -> None:
    log = tmp_path / "log"
    for _ in range(2):
        subprocess.run(kernel.command(0.001, "--log", str(log)), check=True)
    first, second = read_spans(log)
    assert 0 < first.began_s < first.ended_s < second.began_s < second.ended_s


def test_the_kernel_works_as_much_more_as_its_factor_says(kernel: Kernel, tmp_path: Path) -> None:
    factor, log = tmp_path / "factor", tmp_path / "log"
    command = [str(kernel.program), "20000", "--factor", str(factor), "--log", str(log)]
    for text in ("1", "1", "1", "1", "1", "1000"):
        factor.write_text(text)
        subprocess.run(command, check=True)
    *once, often = (span.took_s for span in read_spans(log))
    # A thousand times the work: no machine is so busy that this would not show.
    assert often > 10 * min(once)


@pytest.mark.parametrize("options", [["--factor", "/nowhere"], ["--log"], ["--unknown", "1"]])
def test_the_kernel_refuses_what_it_does_not_understand(kernel: Kernel, options: list[str]) -> None:
    done = subprocess.run([kernel.program, "1", *options], check=False, capture_output=True)
    assert done.returncode == 2


def test_a_study_of_a_program_is_one_that_pinstudy_loads(tmp_path: Path) -> None:
    command = ["/opt/a program", "10", "--log", "a file"]
    mappings: list[str | dict[str, str]] = [
        "unpinned",
        {"name": "mine", "selection": "pcores", "binding": "pin"},
    ]
    study = load_study(write_study(tmp_path / "s", "it", command, mappings, 7, warmup=2, seed=5))
    assert (study.name, study.repetitions, study.warmup, study.seed) == ("it", 7, 2, 5)
    assert [mapping.name for mapping in study.mappings] == ["unpinned", "mine"]
    (size,) = study.apps[0].sizes
    assert size.arguments == ("10", "--log", "a file")


def test_an_outcome_is_of_the_second_name_against_the_first(tmp_path: Path) -> None:
    made = Study({FIRST: 1.0, SECOND: 1.02}, noise=0.003)
    write(tmp_path, made.records())
    found = outcome_of(tmp_path)
    assert found.word == "worse"
    assert found.ratio == pytest.approx(1.02, abs=0.004)
    # Two runs of 0.3 % each.
    assert found.noise == pytest.approx(0.003 * 2**0.5, rel=0.5)


@pytest.mark.parametrize("factor", [1.0, 1.01, 1.02])
def test_the_chance_of_finding_a_difference_is_how_often_it_is_found(factor: float) -> None:
    pairs = np.random.default_rng(3).normal(math.log(factor), 0.02, (5000, 10))
    made = [Difference.of_pairs(study, np.zeros(10)) for study in pairs]
    # Four per cent: the level of a first look.
    found = np.mean([difference.p_different <= 0.04 for difference in made])
    noise = math.sqrt(np.mean([difference.spread**2 for difference in made]))
    assert Outcome("", 1.0, noise, made[0].df).chance(factor, 10) == pytest.approx(found, abs=0.02)
