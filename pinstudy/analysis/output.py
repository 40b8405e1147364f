"""What is shown at the end of a command, and written beside the results: tables, answer, report.

What draws or tests is imported where it is used, so that tables alone need neither matplotlib nor
scipy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pinstudy.analysis.format.lines import Line, lines_of
from pinstudy.analysis.format.table import render, terminal_text
from pinstudy.analysis.records.files import rerun_hint, write_file
from pinstudy.analysis.results.sources import Results, open_results
from pinstudy.analysis.tables.means import Choice, node_of, tables_of_nodes, write_tables
from pinstudy.base import PINSTUDY
from pinstudy.base.errors import UserError
from pinstudy.base.text import as_typed
from pinstudy.configs.results_folder import REPORT_FILE

if TYPE_CHECKING:
    from pinstudy.analysis.advice.model import Advice
    from pinstudy.analysis.answer import Answer
    from pinstudy.analysis.findings.answers import Answers
    from pinstudy.analysis.latency.findings import LatencyFindings

VERDICT_FILE = "verdict.md"
ADVICE_FILE = "advice.md"
PAIRS_FILE = "pairs.csv"


@dataclass(frozen=True)
class Output:
    """The lines to show at the end of a study, and the files that were written.

    `launchers`: the answer of a race has lines of other launchers.
    """

    lines: Sequence[Line]
    files: tuple[Path, ...]
    launchers: bool = False


def write_tables_only(folder: Path, width: int) -> Output:
    """Write the tables of a results folder beside its records; raises as `write_output` does."""
    node = [node_of(open_results(str(folder)))]
    fitted = tables_of_nodes(node, Choice("short", width=width), share_notes=True)
    files = write_tables(tables_of_nodes(node, Choice("short")), folder)
    return Output(lines_of(terminal_text(fitted, width)), tuple(files))


def write_output(folder: Path, width: int) -> Output:
    """Write tables, verdict and report of a results folder beside its records; show the overview.

    Where cases raced their advice is written too, and is what to show. `width` is the terminal's.
    Raises UserError when there are no readable results, or when the folder cannot be written.
    """
    from pinstudy.analysis.overview.terminal import overview_lines

    results, answer, beyond, files = _write_answer(folder)
    if answer.advice is not None:
        return Output(_answer_of_race(answer.advice, width), files, bool(answer.advice.lines))
    return Output(overview_lines(results, answer, beyond, width), files)


def write_advice(folder: Path, width: int, *, lines: bool = False, why: bool = False) -> Output:
    """Write a results folder's advice, tables, verdict and report beside its records.

    `width` is the terminal's. `lines` shows those of other launchers, `why` what was ruled out.
    Raises UserError when the folder has no readable results of cases that raced, or cannot be
    written.
    """
    _, answer, _, files = _write_answer(folder)
    advice = _required(answer.advice, folder)
    shown = _answer_of_race(advice, width, lines=lines, why=why)
    return Output(shown, files, bool(advice.lines))


def write_advice_only(
    folder: Path, width: int, *, lines: bool = False, why: bool = False
) -> Output:
    """Write the advice of a results folder, and its tables; raises as `write_advice` does."""
    from pinstudy.analysis.advice.build import advice_of
    from pinstudy.analysis.words.advice import advice_markdown

    results = open_results(str(folder))
    advice = _required(advice_of(results), folder)
    text = advice_markdown(advice, results.footnotes)
    files = (
        write_file(folder / ADVICE_FILE, text, rerun_hint(advice.next_command)),
        *write_tables(tables_of_nodes([node_of(results)], Choice("short")), folder),
    )
    return Output(_answer_of_race(advice, width, lines=lines, why=why), files, bool(advice.lines))


def _answer_of_race(
    advice: Advice, width: int, *, lines: bool = False, why: bool = False
) -> list[Line]:
    from pinstudy.analysis.words.advice import advice_lines, answer_lines, why_text

    shown = answer_lines(advice, width)
    if lines:
        shown += ["", *(advice_lines(advice) or ["no other line than the first"])]
    if why:
        shown += ["", why_text(advice)]
    return lines_of("\n".join(shown))


def advice_data(folder: Path) -> dict[str, Any]:
    """Return the advice of a results folder by names, unrounded.

    Raises UserError when the folder has no readable results of cases that raced.
    """
    from pinstudy.analysis.advice.build import advice_of
    from pinstudy.analysis.advice.model import as_data

    return as_data(_required(advice_of(open_results(str(folder))), folder))


def latency_text(findings: LatencyFindings) -> str:
    """Return the findings for a terminal."""
    from pinstudy.analysis.latency.findings import latency_tables, mappings

    parts = [render(latency_tables(findings), "text")]
    for title, environment in mappings(findings):
        parts += [f"{title}:", f"  {environment}"]
    return "\n".join(parts)


def write_latency(findings: LatencyFindings, folder: Path) -> list[Path]:
    """Write latencies by pairs as CSV and as a heat map (SVG, PDF, PNG); return the files' paths.

    Raises UserError when the folder cannot be written.
    """
    from pinstudy.analysis.figures.drawing import write_drawing
    from pinstudy.analysis.figures.latency import draw_latency
    from pinstudy.analysis.latency.findings import pairs_csv

    drawing = draw_latency(findings.latency)
    return [
        write_file(folder / PAIRS_FILE, pairs_csv(findings.latency)),
        *write_drawing(drawing, folder),
    ]


def _write_answer(folder: Path) -> tuple[Results, Answer, Answers, tuple[Path, ...]]:
    from pinstudy.analysis.answer import analyze
    from pinstudy.analysis.findings.answers import answers_of
    from pinstudy.analysis.report.page import report_html
    from pinstudy.analysis.verdict_text.document import as_markdown
    from pinstudy.analysis.verdict_text.tables import Beyond
    from pinstudy.analysis.words.advice import advice_markdown

    results = open_results(str(folder))
    tables = tables_of_nodes([node_of(results)], Choice("short"))
    answer = analyze(results)
    beyond = answers_of(results, answer)
    hint = rerun_hint(f"{PINSTUDY} report {as_typed(folder)}")
    verdict = as_markdown(answer, Beyond(beyond, results.cases, answer.margin))
    files = [
        *write_tables(tables, folder),
        write_file(folder / VERDICT_FILE, verdict, hint),
        write_file(folder / REPORT_FILE, report_html(results, answer, beyond), hint),
    ]
    if answer.advice is not None:
        text = advice_markdown(answer.advice, results.footnotes)
        files.insert(
            0, write_file(folder / ADVICE_FILE, text, rerun_hint(answer.advice.next_command))
        )
    return results, answer, beyond, tuple(files)


def _required(advice: Advice | None, folder: Path) -> Advice:
    if advice is None:
        raise UserError(
            f"{folder}: no race is recorded here; `{PINSTUDY} advise -- ./my_app` makes one, and "
            f"`{PINSTUDY} verdict` says what other results mean"
        )
    return advice
