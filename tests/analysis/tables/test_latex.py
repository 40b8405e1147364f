"""LaTeX reads what is written for it: our tables, the published ones, comparisons, odd names."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from analysis.compare.side_by_side import compare
from analysis.compare.tables import compare_tables
from analysis.format.styles import render
from analysis.results.sources import open_results
from analysis.tables.layouts import LAYOUTS
from analysis.tables.means import make_tables
from analysis.verdict_text.configurations import configuration_tables
from tests.support.results import (
    Study,
    findings_of,
    left_out,
    only_table,
    record,
    tables_from,
    without,
)
from tests.support.tools import missing
from tests.support.wait import HANG_S

# Every character that LaTeX reads as something else, letters that it composes, and some characters
# that its fonts lack.
LETTERS = "".join(c for c in map(chr, range(0xC0, 0x100)) if c not in "ÐÞðþ\xd7\xf7")
ODD = r"[a*]&b%c$d#e_f{g}h~i^j\k<l>m|n" + f'"{LETTERS}µ²→\u6f22\U0001f600'
DOCUMENT = r"""\documentclass[twocolumn]{article}
\usepackage{booktabs,graphicx,siunitx}
\begin{document}
%s
\end{document}
"""


def typeset(folder: Path, text: str) -> str:
    """Return what LaTeX logs of a page of two columns with these tables."""
    if shutil.which("pdflatex") is None or not found("siunitx.sty"):
        missing("LaTeX is missing: install texlive-latex-recommended, texlive-science")
    (folder / "tables.tex").write_text(DOCUMENT % text, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape"]
    done = subprocess.run(
        [*command, "tables.tex"], cwd=folder, capture_output=True, check=False, timeout=HANG_S
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (folder / "tables.pdf").stat().st_size
    return (folder / "tables.log").read_text(errors="replace")


def found(package: str) -> bool:
    return subprocess.run(["kpsewhich", package], capture_output=True, check=False).returncode == 0


def test_every_table_fits_a_column_whatever_its_texts_hold(tmp_path: Path) -> None:
    records = [
        *(record(1, r) for r in (1, 2, 3)),
        *(without(["cache_misses"], f"because {ODD}", number=2, repetition=r) for r in (1, 2)),
        record(3, 1, mapping=ODD, app=ODD, status="failed", reason=ODD),
        left_out(4, f"no E-cores: {ODD}"),
    ]
    study = Study({"unpinned": 1.0, "pcores-pin": 0.9}, {"unpinned": 1.0, "pcores-pin": 1.1})
    table = only_table(findings_of(tmp_path / "study", study))
    publication = "published:galante-2025"
    both = compare(open_results(str(tmp_path / "study")), open_results(publication), 0.01, None)
    tables = [
        *tables_from(tmp_path / "gaps", records),
        *(table for name in LAYOUTS for table in make_tables(publication, name)),
        *make_tables(tmp_path / "gaps", "short"),
        *configuration_tables(table, 0.01),
        *compare_tables(both),
    ]

    text = render(tables, "latex")
    assert LETTERS in text
    assert "Overfull" not in typeset(tmp_path, text)
