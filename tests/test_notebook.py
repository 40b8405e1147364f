"""The notebook of docs/: its cells run in Python alone, and its numbers are right.

Its page is tested by a small notebook, and on the site by website/site_check.py.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import fmean, geometric_mean
from typing import Any

import pytest

from tests.support.tools import ROOT
from website.notebook import SOURCE, make

NOTEBOOK = json.loads((ROOT / SOURCE).read_text(encoding="utf-8"))
CELLS = NOTEBOOK["cells"]
PUBLISHED = ROOT / "pinstudy/analysis/published/galante-2025/summaries.csv"
# What is asked of the cells' variables after the last one.
ASKED = """
row = compared.query(
    "app == 'lulesh' and threads == 8 and governor == 'powersave' and mapping == 'pcores-set'"
)
print(json.dumps({
    "row": row[["ratio", "ratio_low", "ratio_high"]].to_numpy()[0].tolist(),
    "pivot": by_kind.loc[("powersave", "lulesh"), ("pcores", "set")],
    "intervals": len(theirs),
    "farthest": farthest,
    "timings": timings,
    "compared": shown.to_dict("index"),
    "own": own.to_dict("index"),
}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    code = ["".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"]
    script = tmp_path_factory.mktemp("notebook") / "cells.py"
    script.write_text("\n".join([*code, ASKED]), encoding="utf-8")
    variables = {"MPLBACKEND": "agg", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", script],
        cwd=script.parent,
        env={name: text for name, text in os.environ.items() if name != "DISPLAY"} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


def test_it_is_committed_as_jupyter_reads_it_and_without_outputs() -> None:
    assert (NOTEBOOK["nbformat"], NOTEBOOK["nbformat_minor"]) == (4, 5)
    assert NOTEBOOK["metadata"]["kernelspec"]["name"] == "python3"
    names = [cell["id"] for cell in CELLS]
    assert len({*names}) == len(names) and all(re.fullmatch(r"[\w-]{1,64}", it) for it in names)
    for cell in CELLS:
        keys = {"cell_type", "id", "metadata", "source"}
        if cell["cell_type"] == "code":
            assert (cell["outputs"], cell["execution_count"]) == ([], None)
            keys |= {"outputs", "execution_count"}
        assert cell["cell_type"] in ("code", "markdown") and {*cell} == keys


def test_its_comparisons_are_those_of_the_published_means(found: dict[str, Any]) -> None:
    # By hand from table 7: 22.975 s (sd 0.028) against 26.043 s (0.090), ten runs each; Welch's
    # degrees of freedom are 11.2, and Student's t 2.196.
    assert found["row"] == pytest.approx([0.88220, 0.87996, 0.88445], abs=2e-5)
    with PUBLISHED.open(encoding="utf-8", newline="") as file:
        means = {
            (row["app"], row["threads"], row["governor"], row["mapping"]): float(
                row["elapsed_mean_s"]
            )
            for row in csv.DictReader(file)
        }
    ratios = [
        means["lulesh", threads, "powersave", "pcores-set"]
        / means["lulesh", threads, "powersave", "unpinned"]
        for threads in "128"
    ]
    assert found["pivot"] == pytest.approx(geometric_mean(ratios), rel=1e-5)


def test_its_own_welch_intervals_agree_with_all_of_pinstudys(found: dict[str, Any]) -> None:
    # Three programs with three, three and one number of threads, two governors, four mappings.
    assert found["intervals"] == (3 + 3 + 1) * 2 * 4
    # Frames have six digits.
    assert found["farthest"] < 1e-6


def test_drawn_runs_are_compared_by_their_typical_times_near_the_truth(
    found: dict[str, Any],
) -> None:
    times = {timing["parameters"]["mapping"]: timing["times"] for timing in found["timings"]}
    # The middle 60 % of 30 logarithms.
    typical = {name: fmean(sorted(map(math.log, drawn))[6:-6]) for name, drawn in times.items()}
    outcomes = {"pcores-set": "equivalent", "pcores-pin": "better", "ecores-pin": "worse"}
    truth = {"pcores-set": 1.0, "pcores-pin": 0.97, "ecores-pin": 1.3}

    assert {name: row["outcome"] for name, row in found["compared"].items()} == outcomes
    for name, row in found["compared"].items():
        assert row["ratio"] == pytest.approx(math.exp(typical[name] - typical["unpinned"]))
        assert row["mean_ratio"] == pytest.approx(fmean(times[name]) / fmean(times["unpinned"]))
        # Four standard errors of a difference of means of 30 runs with a deviation of 1 %.
        assert abs(math.log(row["ratio"] / truth[name])) < 4 * 0.01 * math.sqrt(2 / 30)
        assert row["mean_ratio"] < truth[name] * 0.98


def test_its_own_yuen_intervals_agree_with_pinstudys(found: dict[str, Any]) -> None:
    for name, row in found["compared"].items():
        own = found["own"][name]
        assert own["own ratio"] == pytest.approx(row["ratio"], rel=1e-5)
        width = row["ratio_high"] - row["ratio_low"]
        for end in ("low", "high"):
            assert own[f"own {end}"] == pytest.approx(row[f"ratio_{end}"], abs=0.02 * width)
        assert own["own high"] - own["own low"] <= width + 2e-6


def write(path: Path, *cells: str) -> Path:
    """Write a notebook: texts that begin with # are Markdown."""
    made: list[dict[str, Any]] = [
        {
            "cell_type": "markdown" if text.startswith("#") else "code",
            "id": f"cell-{number}",
            "metadata": {},
            "source": text.splitlines(keepends=True),
        }
        for number, text in enumerate(cells)
    ]
    path.write_text(json.dumps({"cells": made, "nbformat": 4, "nbformat_minor": 5}))
    return path


def test_its_page_shows_each_cell_with_its_outputs_escaped_once(tmp_path: Path) -> None:
    source = write(
        tmp_path / "small.ipynb",
        "# Title\n\nPurpose.",
        'import pandas as pd\nprint("<i> & `[x](y)`")\npd.DataFrame({"<b>": ["```", "a & b"]})',
        'fence = "```"\nfence',
        "import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()\n"
        'axes.set_title("Times [s]", loc="left")\nplt.show()',
    )
    page = make(source, tmp_path / "made")

    assert page == (tmp_path / "made/small.md").read_text(encoding="utf-8")
    assert page.startswith('# Title\n\nPurpose.\n\nMade by executing <a href="small.ipynb"')
    assert "<pre>&lt;i&gt; &amp; &#96;&#91;x](y)&#96;\n</pre>" in page
    assert "<th>&lt;b&gt;</th>" in page and "<td>a &amp; b</td>" in page
    assert "<td>&#96;&#96;&#96;</td>" in page and "<style" not in page and "<table>" in page
    assert '````python\nfence = "```"\nfence\n````' in page
    assert "<pre>&#x27;&#96;&#96;&#96;&#x27;</pre>" in page
    assert page.endswith("![Times (s)](small/cell-3-1.svg)\n")
    assert "<svg" in (tmp_path / "made/small/cell-3-1.svg").read_text(encoding="utf-8")


def test_a_cell_that_fails_is_named_with_its_line(tmp_path: Path) -> None:
    source = write(tmp_path / "small.ipynb", "# Title", "x = 1", "y = x\nz = y / 0")
    with pytest.raises(ZeroDivisionError) as error:
        make(source, tmp_path / "made")
    last = error.traceback[-1]
    assert (str(last.path), last.lineno + 1) == (f"{source}, cell cell-2", 2)
