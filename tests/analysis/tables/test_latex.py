"""LaTeX reads what is written for it: our tables, the published ones, comparisons, odd names."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from analysis.compare.side_by_side import compare
from analysis.compare.tables import compare_tables
from analysis.format.render import render
from analysis.format.table import Table
from analysis.results.sources import open_results
from analysis.tables.means import make_tables
from analysis.verdict.tables import comparison_table, statistics_tables
from tests.support.results import Study, found, left_out, record, tables_from, without
from tests.support.tools import missing

# Every character that LaTeX reads as something else, and some that its fonts lack.
ODD = r"a&b%c$d#e_f{g}h~i^j\k<l>m|n" + '"µ²→\u6f22\U0001f600'


def pdf_of(folder: Path, tables: Sequence[Table]) -> Path:
    """Return the PDF that pdflatex makes of the tables; the test fails when it stops."""
    if shutil.which("pdflatex") is None:
        missing("pdflatex is missing: install texlive-latex-base, texlive-latex-recommended")
    text = "\n".join(
        [
            r"\documentclass{article}",
            r"\usepackage[a2paper,landscape,margin=1cm]{geometry}",
            r"\usepackage{booktabs}",
            r"\begin{document}",
            render(tables, "latex"),
            r"\end{document}",
        ]
    )
    (folder / "tables.tex").write_text(text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"]
    done = subprocess.run(
        [*command, "tables.tex"], cwd=folder, capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    return folder / "tables.pdf"


def test_a_study_with_gaps_and_footnotes(tmp_path: Path) -> None:
    records = [
        *(record(1, r) for r in (1, 2, 3)),
        *(without(["cache_misses"], f"because {ODD}", number=2, repetition=r) for r in (1, 2)),
        record(3, 1, mapping=ODD, app=ODD, status="failed", reason=ODD),
        left_out(4, f"no E-cores: {ODD}"),
    ]
    assert pdf_of(tmp_path, tables_from(tmp_path / "results", records)).stat().st_size


def test_a_cell_is_written_as_a_note_is(tmp_path: Path) -> None:
    odd = "a|b `c` \u6f22 {$x^2} \\e"
    (table,) = tables_from(tmp_path, [record(1, 1, mapping=odd, status="failed", reason=odd)])

    text = render([table], "latex")

    written = (
        r"a\textbar{}b \textasciigrave{}c\textasciigrave{} ? \{\$x\textasciicircum{}2\} "
        r"\textbackslash{}e"
    )
    assert text.count(written) == 2


@pytest.mark.parametrize("layout", ["full", "published"])
def test_the_published_tables(tmp_path: Path, layout: str) -> None:
    tables = make_tables("published:galante-2025", layout)  # type: ignore[arg-type]
    assert len(tables) == 8
    assert pdf_of(tmp_path, tables).stat().st_size


def test_a_verdicts_tables_and_a_comparison(tmp_path: Path) -> None:
    study = Study({"scheduler": 1.0, "pcores-pin": 0.9}, {"scheduler": 1.0, "pcores-pin": 1.1})
    (table,) = found(tmp_path / "a", study).tables
    compared = comparison_table(table)
    assert compared is not None
    both = compare(
        open_results(str(tmp_path / "a")), open_results("published:galante-2025"), 0.01, None
    )
    tables = [compared, *statistics_tables(table), *compare_tables(both)]
    assert pdf_of(tmp_path, tables).stat().st_size
