"""The published means and deviations, examined by the same rules as runs."""

from __future__ import annotations

import pytest
from scipy import stats

from analysis.answer import analyze
from analysis.measures import Stats
from analysis.objectives import TIME
from analysis.results.sources import open_results
from analysis.verdict.data import as_data
from analysis.verdict.model import Findings, MeasureChange
from analysis.verdict.values import difference_of_summaries
from analysis.verdict_text.configurations import configuration_tables
from tests.support.results import cells_by_title, summary


@pytest.fixture(scope="module")
def findings() -> Findings:
    return analyze(open_results("published:galante-2025"))


def test_every_published_time_is_compared_with_its_own_baseline(findings: Findings) -> None:
    # Seven tables of ten rows, two baselines each. Table 10 does not say how often it was run.
    assert findings.comparisons == 7 * 8


def test_words_follow_from_welchs_test_of_the_published_numbers(findings: Findings) -> None:
    # Table 7, powersave: 26.043 +- 0.090 under the scheduler, 22.975 +- 0.028 in a set of P-cores.
    table = findings.tables[4]
    assert (table.key.app, table.key.threads) == ("lulesh", 8)
    best = next(v for v in table.decisions if (v.objective, v.governor) == ("time", "powersave"))
    assert (best.choice, best.best and best.best.number) == ("confine", 7)
    assert best.best is not None
    difference = best.best.comparisons["time"].difference
    expected = stats.ttest_ind_from_stats(22.975, 0.028, 10, 26.043, 0.090, 10, equal_var=False)
    assert difference.p_different == pytest.approx(expected.pvalue, rel=0.5)
    assert difference.ratio == pytest.approx(22.975 / 26.043)
    assert MeasureChange("migrations", None, 20904, 8) in best.goes_with


def test_energies_without_a_spread_are_compared_by_their_means(findings: Findings) -> None:
    energy = next(v for v in findings.tables[0].decisions if v.objective == "energy")
    assert energy.choice == "not compared"
    assert {caveat.code for caveat in energy.lacking} == {"no spread known"}
    tables = configuration_tables(findings.tables[0], findings.margin)
    means = next(table for table in tables if table.caption.endswith("mean package energy"))
    # 2215.08 J and 2021.04 J: 8.8 % less.
    assert cells_by_title(means, 2)["change (%)"] == "-8.8"
    row = as_data(findings)["tables"][0]["comparisons"][2]
    assert row["energy_mean_ratio"] == pytest.approx(2021.04 / 2215.08)


def test_the_other_reading_of_the_deviations_is_reported(findings: Findings) -> None:
    (footnote,) = [
        footnote for footnote in findings.footnotes if "read as standard errors" in footnote
    ]
    assert "of 56 words change" in footnote


def test_read_as_standard_errors_deviations_are_larger_by_the_root_of_the_repetitions() -> None:
    case = summary(elapsed_s=Stats(16, 20.0, 0.1))
    base = summary(elapsed_s=Stats(9, 21.0, 0.2))
    as_given = difference_of_summaries(case, base, TIME)
    as_errors = difference_of_summaries(case, base, TIME, sd_is_error=True)
    assert as_given is not None
    assert as_errors is not None
    assert as_given.standard_error**2 == pytest.approx((0.1 / 20) ** 2 / 16 + (0.2 / 21) ** 2 / 9)
    assert as_errors.standard_error**2 == pytest.approx((0.1 / 20) ** 2 + (0.2 / 21) ** 2)


@pytest.mark.parametrize("sd", [0.0, -1.0, 1e200, float("nan")])
def test_a_deviation_that_is_none_makes_no_comparison(sd: float) -> None:
    case = summary(elapsed_s=Stats(10, 20.0, sd))
    assert difference_of_summaries(case, case, TIME) is None


def test_a_deviation_that_that_was_rounded_to_nothing_is_no_certainty(findings: Findings) -> None:
    # Table 9, row 4: 10.054 +- 0.000.
    table = findings.tables[6]
    case = next(case for case in table.cases if case.number == 4)
    assert case.comparisons["time"].outcome == "worse"
    assert case.comparisons["time"].difference.standard_error > 0
