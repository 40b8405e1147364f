"""What benchmarks share: their program, medians, results, and how they are run and kept."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks import __main__ as benchmarks
from benchmarks.detection import FIRST, SECOND, Outcome, outcome_of
from benchmarks.lib.kernel import Kernel, Span, read_spans, write_study
from benchmarks.lib.results import describe_machine, keep, section, sections_of
from benchmarks.lib.tables import Estimate, estimate, table
from benchmarks.noise import races, shapes, simulate
from benchmarks.noise.__main__ import TABLES, main
from benchmarks.tables_speed import MAPPINGS, write_records
from pinstudy.analysis.answer import analyze
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.configs.library import load_study
from tests.support.results import Study, write
from tests.support.tools import need_tool
from tests.support.trees import build_tree


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


def test_the_interval_of_twenty_values_is_that_of_the_tables() -> None:
    # Conover (1999), table A3: with n = 20 and p = 0.5 the 6th and the 15th value.
    assert estimate(reversed(range(1, 21))) == Estimate(10.5, 6, 15)


def test_six_values_are_the_fewest_with_an_interval() -> None:
    # All six on one side of the median: twice in 2^6 = 64 samples, 3.1 %; of five, 6.3 %.
    assert estimate([6, 1, 5, 2, 4, 3]) == Estimate(3.5, 1, 6)
    assert estimate([1, 2, 3, 4, 5]) == Estimate(3, None, None)


def test_a_median_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        estimate([])


@pytest.mark.parametrize("n", [6, 15, 40])
def test_intervals_cover_the_median_of_very_skewed_noise(n: int) -> None:
    rng = np.random.default_rng(n)
    samples = rng.exponential(1, (1000, n))
    covered = 0
    for sample in samples:
        found = estimate(sample)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= np.log(2) <= found.high
    assert 0.94 <= covered / 1000 <= 0.995


def test_an_interval_is_shown_behind_its_median() -> None:
    assert Estimate(1.234, 1.2, 1.31).shown() == "1.23 (1.20 to 1.31)"
    assert Estimate(25, None, None).shown(1) == "25.0"


MACHINE = [("processor", "one of ours"), ("load before", "0.00")]


def test_a_benchmark_that_ran_again_replaces_its_own_section_only(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    keep(path, "Second", "older", ["First", "Second"])
    keep(path, "First", "| a |", ["First", "Second"])
    keep(path, "Second", "newer", ["First", "Second"])
    assert sections_of(path.read_text()) == {"First": "| a |", "Second": "newer"}
    assert path.read_text().index("## First") < path.read_text().index("## Second")


def test_a_section_of_a_benchmark_that_is_gone_stays_last(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    keep(path, "Gone", "kept", [])
    keep(path, "First", "new", ["First"])
    assert list(sections_of(path.read_text())) == ["First", "Gone"]


def test_a_section_names_its_machine_before_its_numbers() -> None:
    text = section(MACHINE, "| a |\n|---|\n")
    assert text == "- processor: one of ours\n- load before: 0.00\n\n| a |\n|---|"


def test_what_a_benchmark_prints_cannot_begin_a_section(tmp_path: Path) -> None:
    path = tmp_path / "RESULTS.md"
    keep(path, "First", section(MACHINE, "## Second\nx\n"), ["First"])
    assert list(sections_of(path.read_text())) == ["First"]


def test_a_table_keeps_the_digits_that_it_is_given() -> None:
    assert table(["tool", "ms"], [["perf", "1.00"], ["pyperf", "25"]]).splitlines() == [
        "| tool   |   ms |",
        "|:-------|-----:|",
        "| perf   | 1.00 |",
        "| pyperf |   25 |",
    ]


def test_a_machine_is_named_with_its_kinds_and_what_it_lacks_with_the_reason(
    tmp_path: Path,
) -> None:
    lines = dict(describe_machine(build_tree(tmp_path, "i9-14900k")))
    assert lines["CPUs"] == "32 in 24 cores (P: 0-15, E: 16-31)"
    assert lines["governors"] == "powersave (0-31)"
    assert lines["kernel"].startswith("n/a, because /proc/")


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of results; its benchmarks are Python's own modules."""
    path = tmp_path / "RESULTS.md"
    known = {
        "good": benchmarks.Benchmark("Good", "timeit"),
        "bad": benchmarks.Benchmark("Bad", "no_such_module"),
    }
    monkeypatch.setattr(benchmarks, "RESULTS", path)
    monkeypatch.setattr(benchmarks, "BENCHMARKS", known)
    return path


def test_one_that_fails_leaves_its_section_and_the_others_run(
    results: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    keep(results, "Bad", "of yesterday", [])
    assert benchmarks.run_all(["bad", "good"], ["-n", "1", "-r", "1"]) == 1
    sections = sections_of(results.read_text())
    assert sections["Bad"] == "of yesterday"
    assert "1 loop, best of 1" in sections["Good"]
    assert "ended with status 1" in capfd.readouterr().err


def test_options_are_given_to_the_benchmark_and_kept_with_its_results(results: Path) -> None:
    assert benchmarks.run_all(["good"], ["-n", "1", "-r", "1"]) == 0
    body = sections_of(results.read_text())["Good"]
    assert "- options: -n 1 -r 1\n" in body
    assert "1 loop, best of 1" in body
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in body


def test_options_need_one_benchmark() -> None:
    done = CliRunner().invoke(benchmarks.main, ["--options", "-n 1", "cost", "load"])
    assert done.exit_code == 2
    assert "one benchmark" in done.output


def printed(*options: str) -> str:
    done = CliRunner().invoke(main, options, catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


@pytest.fixture
def _small_populations(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(shapes, "POPULATION", 10_000)
    yield
    for true in (simulate.offset, simulate.mean_time, races.typical_ratio, races.mean_ratio):
        true.cache_clear()


@pytest.mark.usefixtures("_small_populations")
def test_every_table_has_its_rows() -> None:
    text = printed("--studies", "2")
    titles, bodies = zip(*(part.split("\n", 1) for part in text.split("### ")[1:]), strict=True)
    assert list(titles) == [title for title, *_ in TABLES.values()]
    for body in bodies:
        rows = [line for line in body.splitlines() if line.startswith("| ")]
        # Its heading and a row, at least.
        assert len(rows) > 1
        assert len({line.count("|") for line in rows}) == 1


def test_the_same_seed_gives_the_same_figures() -> None:
    once, again = (printed("--studies", "20", "--only", "boots") for _ in range(2))
    assert once == again
    assert re.search(r"seed 20; a share of 5 % is known to ±9\.6", once)


def test_every_case_of_the_made_up_study_is_compared_and_decided(tmp_path: Path) -> None:
    write_records(tmp_path, 100, 10)
    (table,) = analyze(open_results(str(tmp_path))).tables
    outcomes = [
        (case.mapping, case.governor, str(objective), comparison.outcome)
        for case in table.cases
        for objective, comparison in case.comparisons.items()
    ]
    baseline, *others = MAPPINGS
    assert sorted(outcomes) == sorted(
        (mapping, governor, objective, "worse")
        for mapping in others
        for governor in ("performance", "powersave")
        for objective in ("time", "energy", "edp")
    )
    assert {case.mapping for case in table.cases if case.is_baseline} == {baseline}
