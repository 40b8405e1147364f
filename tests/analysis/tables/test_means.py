"""The tables a user sees: the published columns, and an honest word where there is no number."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from pinstudy.analysis.compare.side_by_side import compare
from pinstudy.analysis.compare.tables import compare_tables
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.tables.layouts import LAYOUTS, LayoutName
from pinstudy.analysis.tables.means import make_tables, render, write_tables
from pinstudy.analysis.verdict_text.tables import configuration_tables
from pinstudy.base.errors import UserError
from tests.analysis.report.made_results import node
from tests.support.results import (
    UNPROVED,
    Record,
    Study,
    findings_of,
    left_out,
    only_table,
    record,
    tables_from,
    without,
    write,
)
from tests.support.tools import missing
from tests.support.wait import HANG_S

# Lulesh, serial, rows #1, #3 and #6 of the published table 3: mean and sd of ten runs, frequency,
# migrations, cache misses, package energy.
PUBLISHED = {
    1: ("45.073", "0.026", "5.976", "1", "1376989875", "2215.08"),
    3: ("56.165", "0.015", "4.690", "1", "1356548507", "2021.04"),
    6: ("65.419", "0.026", "3.991", "1", "1311504638", "760.07"),
}
EVIL = "a | b\n\x1b[31m_c_ <script> `d` \\e 50% & {$x^2} #~"
FIGURES = {
    "energy_core_j": 1500.0,
    "energy_net_j": -1.5,
    "idle_power_w": 10.0,
    "power_pkg_w": 49.224,
    "edp_js": 99678.6,
    "ed2p_js2": 4485537.0,
}


def ten_runs(number: int) -> list[Record]:
    """Return ten runs with a published row's mean and sd: half above, half below the mean."""
    mean, sd, freq, migrations, misses, energy = PUBLISHED[number]
    # Ten values at mean +- d have the sample sd d * sqrt(10 / 9).
    distance = float(sd) / (10 / 9) ** 0.5
    return [
        record(
            number,
            repetition,
            elapsed_s=float(mean) + (distance if repetition % 2 else -distance),
            freq_mean_ghz=float(freq),
            migrations=int(migrations),
            cache_misses=int(misses),
            energy_pkg_j=float(energy),
        )
        for repetition in range(1, 11)
    ]


@pytest.mark.parametrize("layout", ["full", "published"])
def test_a_published_table_comes_out_as_it_was_published(
    tmp_path: Path, layout: LayoutName
) -> None:
    write(tmp_path, [run for number in PUBLISHED for run in ten_runs(number)])

    (table,) = make_tables(tmp_path, layout)

    rows = [list(row) for row in table.cells]
    if layout == "full":
        titles = [column.title for column in table.columns]
        assert {row.pop(titles.index("context switches")) for row in rows} == {"40"}
        assert {row.pop(titles.index("lost")) for row in rows} == {"0"}
        assert {row.pop(titles.index("n")) for row in rows} == {"10"}
    driver = " (intel_pstate)" if layout == "full" else ""
    assert rows == [
        ["1", "unpinned", f"performance{driver}", *PUBLISHED[1]],
        ["3", "pcores-pin", f"performance{driver}", *PUBLISHED[3]],
        ["6", "unpinned", f"powersave{driver}", *PUBLISHED[6]],
    ]
    assert table.notes == ()


def doubtful() -> list[Record]:
    """Return runs of a virtual node's declared core kinds, of which each row has its own doubts."""
    refused = ["freq_mean_ghz", "cache_misses"]
    unknown_driver = {"driver": None, "unavailable": {"driver": "no frequency scaling here"}}
    in_force = {"governor": "current", "governor_read": "schedutil"}
    runs = [
        # Two of three energies: the mean is 15; a time below a tenth of a second keeps its digits.
        record(1, 1, elapsed_s=0.04648, energy_pkg_j=10.0, **FIGURES),
        record(1, 2, elapsed_s=0.04648, energy_pkg_j=20.0, **FIGURES),
        without(["energy_pkg_j"], "counter wrapped", number=1, repetition=3, elapsed_s=0.04648),
        # Two of five runs are averaged.
        *(without(refused, "perf: refused", number=2, repetition=r) for r in (1, 2)),
        record(2, 3, status="timeout", reason="ended after its limit of 600 s"),
        *(record(2, r, status="check-failed", reason="exit status 3") for r in (4, 5)),
        record(2, 6, warmup=True, status="failed", reason="exit status 1"),
        record(3, 1),
        record(3, 2, **UNPROVED),
        left_out(4, "no E-cores here"),
        # No good run, of a mapping that a spreadsheet would execute.
        record(5, 1, mapping=f"=cmd {EVIL}", status="failed", reason=EVIL),
        record(6, 1, **in_force, **unknown_driver),
        left_out(7, ""),
        without(["elapsed_s"], "perf said none", number=8),
    ]
    return [run | {"kinds_declared": True, "node": "virtual"} for run in runs]


# The mapping of #5 as each format writes it, so that no reader takes it for markup.
ESCAPED = {
    "markdown": r"=cmd a \| b �\[31m\_c\_ \<script\> \`d\` \\e 50% \& {$x^2} #\~",
    "latex": r"=cmd a \textbar{} b ?{[}31m\_c\_ \textless{}script\textgreater{} "
    r"\textasciigrave{}d\textasciigrave{} \textbackslash{}e 50\% \& \{\$x\textasciicircum{}2\} "
    r"\#\textasciitilde{}",
}


def test_what_speaks_against_numbers_stands_under_them_in_every_format(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "nodes").mkdir()
    topology = node()["topology"] | {
        "kinds": [{"name": "P", "cpus": "0"}, {"name": "E", "cpus": "1"}]
    }
    (tmp_path / "nodes" / "n1.json").write_text(json.dumps({"topology": topology}))
    tables = tables_from(tmp_path, doubtful())

    text, rows = render(tables, "text"), render(tables, "csv")

    assert "\x1b" not in text + rows
    assert text == snapshot(name="text")
    assert rows == snapshot(name="csv")
    for style, escaped in ESCAPED.items():
        written = render(tables, style)
        assert escaped in written and "\x1b" not in written
        # The long notes stand under these, too.
        assert (
            written.count("not averaged: 1 timeout (ended after its limit of 600 s), 2 check") == 1
        )
        assert "governor in force: schedutil" in written


def test_records_without_runs_are_an_error(tmp_path: Path) -> None:
    write(tmp_path, []).write_text('{"schema": 6, "status": "o')
    with pytest.raises(UserError, match=r"no run in its records \(1 line of .* cut off or damaged"):
        make_tables(tmp_path)


def test_there_is_a_table_for_each_app_size_and_thread_count(tmp_path: Path) -> None:
    tables = tables_from(
        tmp_path,
        [
            record(1, 1),
            record(1, 1, threads=8, build="libgomp", case_id="b"),
            record(1, 1, app="lu", case_id="c"),
            record(1, 1, schedule="dynamic", case_id="d"),
            # A program that takes no schedule.
            record(1, 1, app="solve", case_id="e", no_schedule=True),
            left_out(2, "not here") | {"app": "solve", "case_id": "f"},
        ],
    )

    assert [table.caption.partition(", wait policy runtime-default")[0] for table in tables] == [
        "lu (serial), size paper, 1 thread, schedule static",
        "lulesh (libgomp), size paper, 8 threads, schedule static",
        "lulesh (serial), size paper, 1 thread, schedule dynamic",
        "lulesh (serial), size paper, 1 thread, schedule static",
        "solve (serial), size paper, 1 thread",
    ]


@pytest.mark.parametrize("evil", ["=cmd|'/c calc'!A1", "+1+1", "-2+3", "@SUM(A1)", '="x",1'])
def test_a_name_is_no_formula_in_a_spreadsheet(tmp_path: Path, evil: str) -> None:
    tables = tables_from(tmp_path, [record(1, 1, mapping=evil)])

    (row,) = csv.DictReader(io.StringIO(render(tables, "csv")))

    assert row["mapping"] == f"'{evil}"
    assert not any(cell.startswith(("=", "+", "@")) for cell in row.values())


def test_tables_are_written_beside_the_records_over_older_ones_and_links(tmp_path: Path) -> None:
    made = tmp_path / "made"
    tables = tables_from(made, [record(1, 1)])
    (tmp_path / "precious").write_text("kept")
    (made / "tables.md").write_text("old")
    for name in ("tables.csv", "tables.tex"):
        (made / name).symlink_to(tmp_path / "precious")

    paths = write_tables(tables, made)

    assert [path.name for path in paths] == ["tables.md", "tables.csv", "tables.tex"]
    assert "## lulesh" in paths[0].read_text()
    assert not any(path.is_symlink() for path in paths)
    assert (tmp_path / "precious").read_text() == "kept"
    assert sorted(made.iterdir()) == sorted([made / "records", *paths])
    with pytest.raises(UserError, match=r"cannot be written .*the records are safe"):
        write_tables(tables, tmp_path / "precious")


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
    command = ["kpsewhich", "siunitx.sty"]
    if (
        shutil.which("pdflatex") is None
        or subprocess.run(command, stdout=-3, check=False).returncode
    ):
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


def test_every_table_fits_a_column_of_latex_whatever_its_texts_hold(tmp_path: Path) -> None:
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
