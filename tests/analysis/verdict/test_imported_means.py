"""What is said of imported means: no more than their source tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.answer import find
from analysis.results.sources import open_results
from analysis.verdict.model import Findings

HEADER = "app,threads,mapping,n,elapsed_mean_s,elapsed_sd_s"


def imported(
    folder: Path, *rows: str, header: str = HEADER, baseline: str | None = None
) -> Findings:
    (folder / "summaries.csv").write_text("\n".join([header, *rows, ""]))
    return find(open_results(str(folder)), baseline=baseline)


def test_a_mapping_of_which_nobody_knows_what_it_does_is_no_confining(tmp_path: Path) -> None:
    rows = ("lu,8,scheduler,10,45.0,0.1", "lu,8,mine,10,40.0,0.1")
    findings = imported(tmp_path, *rows)
    (time, *_) = findings.tables[0].verdicts
    assert time.answer == "use"
    assert time.sentences[0].startswith("Use mine (#2 mine): 11.11 % less mean time")
    assert findings.headline[0] == (
        "For time: to use mine, in the one setting (table and governor) that was compared."
    )


def test_a_named_baseline_of_which_nobody_knows_what_it_does_may_be_the_answer(
    tmp_path: Path,
) -> None:
    rows = ("lu,8,scheduler,10,45.0,0.1", "lu,8,mine,10,40.0,0.1")
    findings = imported(tmp_path, *rows, baseline="mine")
    assert findings.headline[0].startswith("For time: to use mine, in the one setting")


@pytest.mark.parametrize("sd", ["0.0000015", "1.5e-06", "15e-7", "0.15E-5"])
def test_a_deviation_is_the_same_however_it_is_written(tmp_path: Path, sd: str) -> None:
    rows = (f"lu,8,scheduler,10,0.0045,{sd}", f"lu,8,pcores-pin,10,0.00451,{sd}")
    (case,) = (c for c in imported(tmp_path, *rows).tables[0].cases if c.comparisons)
    error = case.comparisons["time"].difference.standard_error
    relative = 1.5e-6 * (1 / 0.0045**2 + 1 / 0.00451**2) ** 0.5
    assert error == pytest.approx(relative / 10**0.5)


@pytest.mark.parametrize(("sd", "rounding"), [("0.000", 0.0005), ("0.0", 0.05), ("0e-3", 0.0005)])
def test_what_rounding_hides_of_a_deviation_is_in_the_error(
    tmp_path: Path, sd: str, rounding: float
) -> None:
    rows = (f"lu,8,scheduler,10,45.0,{sd}", f"lu,8,pcores-pin,10,40.0,{sd}")
    (case,) = (c for c in imported(tmp_path, *rows).tables[0].cases if c.comparisons)
    error = case.comparisons["time"].difference.standard_error
    assert error == pytest.approx(rounding * (1 / 45**2 + 1 / 40**2) ** 0.5 / 10**0.5)
