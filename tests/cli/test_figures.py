"""`pinstudy figures`, as it is typed: its files, and each of its options."""

from __future__ import annotations

import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.figures.style import read_labels
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.verdict.model import Findings
from pinstudy.base.errors import UserError
from pinstudy.cli.commands.figures import figures_command
from tests.analysis.report.made_results import make_results
from tests.support.cli import pinstudy

PUBLISHED = "published:galante-2025"
STUDY = ("comparisons", "comparisons-energy", "time-energy", "runs-over-time", "lu-x1/kinds")
COLUMN_IN = 89 / 25.4


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results") / "made-up" / "node1"
    folder.mkdir(parents=True)
    return make_results(folder, apps=(("lu", 3.0),), threads=(1,), repetitions=5)


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the published figures, as wide as a column."""
    folder = tmp_path_factory.mktemp("paper")
    arguments = ("--width", "86mm", "--formats", "pdf", "-o", "figures")
    pinstudy(folder, "figures", PUBLISHED, *arguments, status=0)
    return folder


@pytest.fixture(scope="module")
def published() -> Findings:
    return analyze(open_results(PUBLISHED))


def files_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_figures_are_beside_the_records_or_where_and_as_they_are_wanted(
    tmp_path: Path, study: Path
) -> None:
    done = pinstudy(tmp_path, "figures", str(study), status=0)
    assert done.stderr == ""
    expected = {f"{stem}.{style}" for stem in STUDY for style in ("svg", "pdf", "png")}
    assert files_in(study / "figures") == {*expected, "captions.md", "captions.tex"}
    for start, style in ((b"<?xml", "svg"), (b"%PDF", "pdf"), (b"\x89PNG", "png")):
        path = study / "figures" / "lu-x1" / f"kinds.{style}"
        assert path.read_bytes().startswith(start)

    arguments = ("figures", str(study), "--output", "for-paper", "--formats", "png")
    pinstudy(tmp_path, *arguments, "--only", "comparisons,runs-over-time", status=0)
    assert files_in(tmp_path / "for-paper") == {
        *("comparisons.png", "comparisons-energy.png", "runs-over-time.png"),
        *("captions.md", "captions.tex"),
    }
    # 7.2 inches at 300 dpi.
    picture = (tmp_path / "for-paper" / "comparisons.png").read_bytes()
    assert int.from_bytes(picture[16:20], "big") == 2160


@pytest.mark.parametrize("width", ["89mm", "8.9 cm", "3.503937in", "253.23pt"])
def test_a_width_has_its_unit(width: str) -> None:
    context = figures_command.make_context("figures", [PUBLISHED, "--width", width])
    assert context.params["width"] == pytest.approx(COLUMN_IN, abs=0.001)


def streams(pdf: bytes) -> bytes:
    """Return what the pages of a PDF draw."""
    found = re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    texts = []
    for data in found:
        try:
            texts.append(zlib.decompress(data))
        except zlib.error:
            texts.append(data)
    return b"\n".join(texts)


def test_a_width_is_that_of_the_page_with_letters_of_6_to_8_points(
    tmp_path: Path, study: Path
) -> None:
    arguments = ("--width", "89mm", "--formats", "pdf", "-o", "paper")
    pinstudy(tmp_path, "figures", str(study), *arguments, status=0)
    for name in STUDY:
        pdf = (tmp_path / "paper" / f"{name}.pdf").read_bytes()
        (box,) = re.findall(rb"/MediaBox \[ ?0 0 ([\d.]+) ([\d.]+) ?\]", pdf)
        assert float(box[0]) == pytest.approx(COLUMN_IN * 72, abs=0.02), name
        # Matplotlib embeds fonts of type 3 as what draws each letter.
        assert b"/Type3" in pdf and b"/CharProcs" in pdf
        assert b"DejaVuSans" in pdf
        sizes = {float(size) for size in re.findall(rb"/\S+ ([\d.]+) Tf", streams(pdf))}
        assert sizes and min(sizes) >= 6 and max(sizes) <= 8, name


@pytest.mark.parametrize(
    ("options", "shown", "missing"),
    [
        ((), "All comparisons of time", "To pin?"),
        (("--width", "89mm"), "", "All comparisons of time"),
        (("--width", "89mm", "--title", "To pin?"), "To pin?", "All comparisons of time"),
        (("--title", ""), "", "All comparisons of time"),
    ],
)
def test_the_title_is_given_or_left_out_at_a_width(
    tmp_path: Path, study: Path, options: tuple[str, ...], shown: str, missing: str
) -> None:
    arguments = ("--only", "comparisons", "--formats", "svg", "-o", "out", *options)
    pinstudy(tmp_path, "figures", str(study), *arguments, status=0)
    text = re.sub(r"<title>.*?</title>", "", _svg(tmp_path / "out" / "comparisons.svg"))
    assert shown in text
    assert missing not in text


def _svg(path: Path) -> str:
    """Return a drawing without its description."""
    return re.sub(r"<metadata>.*?</metadata>", "", path.read_text(), flags=re.DOTALL)


def test_labels_stand_for_names_of_mappings_programs_and_settings(tmp_path: Path) -> None:
    (tmp_path / "labels.yaml").write_text(
        "pcores-pin: P, pinned\nlulesh: LULESH\npowersave: 省电\n", encoding="utf-8"
    )
    arguments = ("--labels", "labels.yaml", "--formats", "svg", "-o", "out")
    only = ("--only", "comparisons,time-energy")
    pinstudy(tmp_path, "figures", PUBLISHED, *arguments, *only, status=0)
    for name in ("comparisons", "time-energy"):
        shown = set(re.findall(r"<text[^>]*>([^<]*)</text>", _svg(tmp_path / f"out/{name}.svg")))
        assert "P, pinned" in shown and "pcores-pin" not in shown
        assert "pcores-set" in shown
        assert any(text.startswith("LULESH") for text in shown)
        assert not any("powersave" in text or "lulesh" in text for text in shown)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ("a: b\npcore-pin: P\n", "labels.yaml:1:1: name 'a' is not known"),
        ("lu: LU\npcore-pin: P\n", "labels.yaml:2:1: name 'pcore-pin' is not known; did you mean "
         "'pcores-pin'?"),
        ("lu: [1]\n", "labels.yaml:1:5: expected `name in the results: name in the figure`"),
        ("- lu\n", "labels.yaml:1:1: expected `name in the results"),
        ("lu: LU\nlulesh: LU\n", "lulesh and lu would both be called LU; write two names"),
        ("lu: lulesh\n", "labels.yaml:1:5: lulesh and lu would both be called lulesh"),
        ("lu: 'a\n", "the quoted text that starts here is not closed"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_labels_is_one_line(
    tmp_path: Path, published: Findings, labels: str, expected: str
) -> None:
    file = tmp_path / "labels.yaml"
    file.write_text(labels)
    with pytest.raises(UserError) as refused:
        read_labels(file, published)
    assert expected in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--labels", "labels.yaml"), "labels.yaml: cannot be read (No such file or directory)"),
        (("--width", "89"), "--width: '89' is no width of 60 to 600 mm"),
        (("--width", "1cm"), "such as 89mm"),
        (("--width", "wide"), "such as 89mm"),
        (("--only", "comparison"), "did you mean 'comparisons'?"),
        (("--only", ","), "--only: names no kind"),
        (("--formats", "eps"), "--formats: format 'eps' is not known"),
    ],
)
def test_a_mistake_in_an_option_is_one_line(
    tmp_path: Path, options: tuple[str, ...], expected: str
) -> None:
    done = pinstudy(tmp_path, "figures", PUBLISHED, "-o", "out", *options, status=2)
    (line,) = done.stderr.splitlines()
    assert expected in line


def test_each_figure_has_its_caption_in_markdown_and_in_latex(paper: Path) -> None:
    markdown = (paper / "figures" / "captions.md").read_text()
    latex = (paper / "figures" / "captions.tex").read_text()
    for name in ("comparisons", "time-energy", "lulesh-x1/kinds"):
        assert f"## {name}\n\n" in markdown
        assert f"\\includegraphics{{{name}}}" in latex
        assert f"\\label{{fig:{name.replace('/', '-')}}}" in latex
    assert "In the grey band, ±1 %, a change does not matter." in markdown
    assert r"In the grey band, $\pm$1 \%, a change does not matter." in latex


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex here")
def test_the_figures_go_into_a_paper_of_two_columns_as_they_are(paper: Path) -> None:
    captions = (paper / "figures" / "captions.tex").read_text()
    (paper / "paper.tex").write_text(
        r"\documentclass[twocolumn]{article}\usepackage{graphicx}"
        r"\setlength{\textwidth}{180mm}\setlength{\columnsep}{8mm}\setlength{\textheight}{240mm}"
        r"\graphicspath{{figures/}}\begin{document}"
        f"\n{captions}\n"
        r"\clearpage\end{document}"
    )
    # Nothing is wider than its column, and no letter is missing: LaTeX would say so.
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    done = subprocess.run(
        command, cwd=paper, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
    log = (paper / "paper.log").read_text(errors="replace")
    for complaint in ("Overfull \\hbox", "too large for page", "Missing character"):
        assert complaint not in log
