"""The commands that read results, and those that import them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pinstudy.base import PINSTUDY
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.text import as_typed, first_of, plural
from pinstudy.cli.options import (
    ALL_RESULTS,
    JSON,
    MARGIN,
    ONE_RESULTS,
    OUTPUT,
    RESULTS,
    STYLE,
    complete_results,
    file_option,
    find_results,
    output_option,
)
from pinstudy.cli.output import print_columns, print_json, say, say_lines, terminal_width

if TYPE_CHECKING:
    from pinstudy.analysis.compare.conditions import Condition, Judgement
    from pinstudy.analysis.findings.effects import Cases
    from pinstudy.analysis.format.table import Table
    from pinstudy.analysis.imports.runs import Imported
    from pinstudy.analysis.listing import ListedResults
    from pinstudy.analysis.results.sources import Results

# The exit status of --fail-if.
FAILED = 3
_MAX_NAMED = 6


@click.command("results")
@RESULTS
@JSON
def results_command(results: Path, as_json: bool) -> None:
    """List the results: study, node, last day, runs, lost runs, and whether all is decided."""
    from pinstudy.analysis.listing import list_results

    rows = list_results(results)
    if as_json:
        print_json([asdict(row) for row in rows])
        return
    if not rows:
        say(f"{results}: no results; make some with `{PINSTUDY} run quick`", err=True)
        return
    print_columns(
        [("study", "node", "day", "runs", "lost", "outcome")]
        + [
            (row.study, row.node, row.day, _count(row.runs), _count(row.lost), _outcome(row))
            for row in rows
        ]
    )


def _count(number: int | None) -> str:
    return "" if number is None else str(number)


def _outcome(row: ListedResults) -> str:
    if row.problem:
        return f"cannot be read; `{PINSTUDY} tables {as_typed(row.results)}` says why"
    return "decided" if row.decided else "undecided"


@click.command("report")
@ONE_RESULTS
@OUTPUT
@JSON
def report_command(results: str, output: Path | None, as_json: bool) -> None:
    """Write report.html of RESULTS: a folder such as results/quick/mynode, a card, published:NAME.

    The file needs no network and no other file.
    """
    from pinstudy.analysis.report.page import write_report
    from pinstudy.analysis.results.sources import folders_for

    written = []
    for source, folder in folders_for(results, output):
        path = write_report(source, folder)
        written.append({"results": source, "report": str(path)})
        if not as_json:
            say(f"written: {path}")
    if as_json:
        print_json(written)


@click.command("verdict")
@ONE_RESULTS
@MARGIN
@click.option(
    "--baseline",
    metavar="MAPPING",
    help="Compare with this mapping, instead of the one that leaves threads to the OS.",
)
@click.option(
    "--format",
    "style",
    type=click.Choice(["text", "markdown"]),
    default="text",
    show_default=True,
    help="How it is printed.",
)
@JSON
@click.option("--no-files", is_flag=True, help="Print only; leave verdict.md alone.")
@click.option(
    "--fail-if",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="Exit status 3 where a case meets it: OUTCOME [MARGIN%] [OBJECTIVE], such as "
    "'worse 2%' (may be repeated); see ci.md.",
)
@click.option(
    "--against",
    callback=find_results,
    shell_complete=complete_results,
    metavar="RESULTS",
    help="With --fail-if: compare with the same cases of these results.",
)
def verdict_command(
    results: str,
    margin: str,
    baseline: str | None,
    style: str,
    as_json: bool,
    no_files: bool,
    conditions: tuple[str, ...],
    against: str | None,
) -> None:
    """Say what RESULTS mean: better, worse, equivalent or undecided, case by case, and why.

    It is also written to verdict.md in RESULTS. Of a folder of nodes, the one mapping for all
    follows.
    """
    from pinstudy.analysis.answer import analyze
    from pinstudy.analysis.findings.answers import answers_of
    from pinstudy.analysis.findings.answers import as_data as answers_as_data
    from pinstudy.analysis.findings.effects import cases_of
    from pinstudy.analysis.format.table import render
    from pinstudy.analysis.output import VERDICT_FILE
    from pinstudy.analysis.overview.terminal import overview_lines
    from pinstudy.analysis.records.files import rerun_hint, write_file
    from pinstudy.analysis.results.sources import open_results, sources_below
    from pinstudy.analysis.verdict.data import as_data
    from pinstudy.analysis.verdict_text.document import as_markdown, as_text
    from pinstudy.analysis.verdict_text.tables import Beyond, beyond_tables, launch_lines
    from pinstudy.configs.values import share_option

    share = share_option("--margin", margin)
    asked = conditions_of(conditions, against)
    earlier = open_results(against) if against is not None else None
    answers, judgements = [], []
    # The cases of one of the results are matched with those of the others.
    sources = sources_below(results) if earlier is None else [results]
    of_nodes: dict[str, tuple[Results, Cases]] = {}
    for source in sources:
        opened = open_results(source)
        findings = analyze(opened, share, baseline)
        beyond = Beyond(answers_of(opened, findings), opened.cases, findings.margin)
        if len(sources) > 1:
            of_nodes[os.path.relpath(source, results)] = opened, cases_of(opened, findings)
        judged = [condition.judge(opened, findings, earlier, baseline) for condition in asked]
        judgements += judged
        if as_json:
            rows = [row for judgement in judged for row in judgement.data]
            failed = {"failed": rows} if asked else {}
            more = answers_as_data(beyond.answers) | failed
            answers.append({"results": opened.name} | as_data(findings) | more)
        elif style == "text":
            say_lines(overview_lines(opened, findings, beyond.answers, terminal_width()))
            if tables := beyond_tables(beyond):
                say(f"\n{render(tables, style).rstrip()}")
            for name, line in launch_lines(*beyond):
                say(f"{name}:\n  {line}")
            say(f"\n{as_text(findings, terminal_width())}")
        else:
            say(as_markdown(findings, beyond))
        if opened.folder is not None and not no_files:
            advice = rerun_hint(f"{PINSTUDY} verdict {as_typed(source)}")
            path = write_file(opened.folder / VERDICT_FILE, as_markdown(findings, beyond), advice)
            say(f"written: {path}", err=True)
    data, tables = _of_all_nodes(of_nodes) if of_nodes else ([], [])
    if as_json:
        together = [{"results": results, "one_for_all_nodes": data}] if data else []
        print_json([*answers, *together])
    elif tables:
        say(f"\n{render(tables, style).rstrip()}")
    end_by(judgements, to_stderr=as_json or style != "text")


def _of_all_nodes(
    named: Mapping[str, tuple[Results, Cases]],
) -> tuple[list[dict[str, Any]], list[Table]]:
    """Return the one mapping for all nodes of several results, as data and as tables."""
    from pinstudy.analysis.compare.many import all_nodes_tables, of_all_nodes
    from pinstudy.analysis.findings.one_for_all import all_nodes_data

    found = of_all_nodes(named)
    return all_nodes_data(found), all_nodes_tables(found)


def conditions_of(texts: Sequence[str], against: str | None = None) -> list[Condition]:
    """Return the conditions of --fail-if; raises UserError for what is none."""
    if texts:
        from pinstudy.analysis.compare.conditions import condition_of

        return [condition_of(text) for text in texts]
    if against is not None:
        raise UserError(
            f"--against: needs --fail-if; `{PINSTUDY} compare` shows two results side by side"
        )
    return []


def end_by(judgements: Sequence[Judgement], *, to_stderr: bool) -> None:
    """Print what failed; exit with FAILED where anything did.

    Raises StudyError where a condition was put to no case.
    """
    compared: dict[str, bool] = {}
    lines = [line for judgement in judgements for line in judgement.lines]
    notes = dict.fromkeys(note for judgement in judgements for note in judgement.notes)
    for line in (*lines, *notes):
        say(line, err=to_stderr)
    for judgement in judgements:
        text = judgement.condition.text
        compared[text] = compared.get(text, False) or judgement.compared_any
    if any(judgement.failed for judgement in judgements):
        raise SystemExit(FAILED)
    for text, any_case in compared.items():
        if not any_case:
            raise StudyError(f"--fail-if {text!r}: no case was compared")


@click.command("runs")
@ALL_RESULTS
@file_option(
    "-o",
    "--output",
    meaning="The file, *.csv or *.parquet (needs pyarrow); without it, CSV on stdout.",
)
@JSON
def runs_command(results: tuple[str, ...], output: Path | None, as_json: bool) -> None:
    """Write the runs of RESULTS as tidy data: a row a run, for pandas, R and spreadsheets.

    Each is a folder such as results/quick/mynode, or one above several. Columns: docs/runs.md.
    """
    from pinstudy.analysis.results.sources import sources_below
    from pinstudy.analysis.tables.tidy_runs import (
        check_file,
        csv_bytes,
        json_rows,
        tidy_runs,
        write_runs,
    )

    if output is not None:
        check_file(output)
    sources = dict.fromkeys(source for name in results for source in sources_below(name))
    runs, notes = tidy_runs(list(sources))
    for note in notes:
        say(note, err=True)
    if as_json:
        print_json(json_rows(runs))
    elif output is None or str(output) == "-":
        click.echo(csv_bytes(runs), nl=False)
    else:
        say(f"written: {write_runs(runs, output)} ({plural(len(runs), 'row')})", err=True)


@click.command("compare")
@ALL_RESULTS
@MARGIN
@click.option(
    "--as-governor",
    metavar="GOVERNOR",
    help="Take rows without a governor for rows under this one.",
)
@file_option("--figure", meaning="Also draw them, a dot each, by CPU: *.svg, *.pdf or *.png.")
@STYLE
@JSON
def compare_command(
    results: tuple[str, ...],
    margin: str,
    as_governor: str | None,
    figure: Path | None,
    style: str,
    as_json: bool,
) -> None:
    """Put RESULTS side by side, as ratios to each one's own baseline.

    Each is a folder such as results/paper/mynode, a card, or published:galante-2025. Of two, every
    row; of more, or of a folder of cards or nodes, whether the best mapping gains in each
    configuration. With one alone, its programs of one algorithm.
    """
    from pinstudy.analysis.answer import analyze
    from pinstudy.analysis.compare.many import compare_many, letters_of, many_tables
    from pinstudy.analysis.compare.side_by_side import compare, compare_programs
    from pinstudy.analysis.compare.tables import compare_data, compare_tables
    from pinstudy.analysis.format.table import render
    from pinstudy.analysis.results.sources import open_results, sources_below
    from pinstudy.configs.values import share_option

    share = share_option("--margin", margin)
    if figure is not None:
        from pinstudy.analysis.figures.many_cards import check_figure

        check_figure(figure)
    opened = [open_results(source) for folder in results for source in sources_below(folder)]
    if figure is not None:
        _draw_many(opened, share, figure)
    both = None
    if len(opened) == 1:
        both = compare_programs(opened[0], analyze(opened[0], share))
    elif len(opened) == len(results) == 2:
        both = compare(opened[0], opened[1], share, as_governor)
    # A single folder with a figure is shown as a class of one, which is what the figure draws.
    is_class = len(opened) > 1 or opened[0].card is not None or figure is not None
    if both is None and is_class:
        nodes = compare_many(opened, share, as_governor)
        cases = (node.cases for node in nodes)
        named = zip(letters_of(nodes), zip(opened, cases, strict=True), strict=True)
        data, of_all = _of_all_nodes(dict(named))
        first, *tables = many_tables(nodes)
        if as_json:
            rows = [row for table in tables for row in table.raw_values]
            print_json({"rows": rows, "one_for_all_nodes": data})
        else:
            # The nodes' own table has their letters.
            say(render([first, *of_all, *tables], style))
        return
    if both is None:
        raise UserError(f"{results[0]} has no two programs of one algorithm; name a second folder")
    if as_json:
        print_json(compare_data(both))
    else:
        say(render(compare_tables(both), style))


def _draw_many(opened: Sequence[Results], margin: float, path: Path) -> None:
    """Draw the changes of time of all results by CPU, and say where that is."""
    from pinstudy.analysis.answer import analyze
    from pinstudy.analysis.figures.many_cards import draw_many_cards, write_many_cards
    from pinstudy.analysis.findings.many_cards import many_cards

    found = many_cards([(results, analyze(results, margin)) for results in opened])
    if found is None:
        raise StudyError("--figure: none of the results compares times with a baseline")
    say(f"written: {write_many_cards(draw_many_cards(found), path)}", err=True)
    if found.lacking:
        names = first_of(list(found.lacking), _MAX_NAMED, ", ")
        say(f"not drawn, without {found.configuration}: {names}", err=True)


@click.command("history")
@ALL_RESULTS
@click.option("--study", metavar="STUDY", help="Only results of this study.")
@click.option("--node", metavar="NODE", help="Only results of this node.")
@click.option(
    "--objective",
    default="",
    metavar="NAME",
    help="By time (default), energy, edp or a number that the program prints.",
)
@file_option("--figure", meaning="Also draw it, a file a program: *.svg, *.pdf or *.png.")
@click.option(
    "--fail-if",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="Exit status 3 where the newest result of a case meets it against the level before, "
    "such as 'worse 2%' (may be repeated); see history.md.",
)
@STYLE
@JSON
def history_command(
    results: tuple[str, ...],
    study: str | None,
    node: str | None,
    objective: str,
    figure: Path | None,
    conditions: tuple[str, ...],
    style: str,
    as_json: bool,
) -> None:
    """Show RESULTS of one study over time: where a case changed, and what else changed then.

    Each is a results folder, or one above several, such as archive with archive/DAY/STUDY/NODE.
    They are ordered by their first runs.
    """
    from pinstudy.analysis.compare.history import judge_newest, open_history, with_series
    from pinstudy.analysis.compare.history_tables import history_data, history_tables
    from pinstudy.analysis.format.table import render

    asked = conditions_of(conditions)
    if figure is not None:
        from pinstudy.analysis.figures.many_cards import check_figure

        check_figure(figure)
    history = with_series(open_history(results, study, node), objective)
    judgements = [judge_newest(condition, history) for condition in asked]
    if as_json:
        failed = [row for judgement in judgements for row in judgement.data]
        print_json(history_data(history) | ({"failed": failed} if asked else {}))
    else:
        say(render(history_tables(history), style).rstrip())
    if figure is not None:
        from pinstudy.analysis.figures.history import write_history

        for path in write_history(history, figure):
            say(f"written: {path}", err=True)
    end_by(judgements, to_stderr=as_json or style != "text")


@click.command("card")
@ONE_RESULTS
@file_option("-o", "--output", meaning="The file, *.json; without it, card.json in RESULTS.")
@JSON
def card_command(results: str, output: Path | None, as_json: bool) -> None:
    """Write a card of RESULTS: a small file to share, without names.

    Commands take it as RESULTS. What it has: docs/cards.md.
    """
    from pinstudy.analysis.card import write_card

    path, card = write_card(results, output)
    size = path.stat().st_size
    if as_json:
        print_json({"results": results, "card": str(path), "bytes": size, "study": card.study})
        return
    say(f"written: {path} ({size / 1024:.0f} KiB)")
    study = f"the study ({card.study}), " if card.study else ""
    say(
        f"kept as they were written: the names of {study}programs, sizes and mappings; see whether "
        "they name somebody before you share the file",
        err=True,
    )


@click.command("trace")
@ONE_RESULTS
@click.option("--run", "run_id", metavar="ID", help="Which run, where several have a trace.")
@file_option("-o", "--output", meaning="The file, *.json; without it, trace.json in RESULTS.")
@JSON
def trace_command(results: str, run_id: str | None, output: Path | None, as_json: bool) -> None:
    """Write a run of RESULTS as trace events: where each thread was, and when.

    RESULTS is a folder, or a file of its traces/, which `collect: [trace]` keeps. Perfetto
    (ui.perfetto.dev) and chrome://tracing show it: docs/threads-and-lines.md.
    """
    from pinstudy.analysis.trace import write_trace

    path, file = write_trace(results, run_id, output)
    if as_json:
        print_json({"results": results, "run_id": file.run_id, "trace": str(path)})
        return
    threads = plural(len(file.threads), "thread")
    say(f"written: {path} (run {file.run_id}, {threads}, {plural(file.looks, 'look')})")


_IMPORT_OUTPUT = output_option(
    "The results folder that they become or are added to.", required=True
)


@click.group("import")
def import_command() -> None:
    """Import results that were measured without pinstudy."""


def _case_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add what tells the case of imported runs: files, options, their pattern, the node."""
    options = (
        click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path)),
        _IMPORT_OUTPUT,
        click.option("--app", help="The program."),
        click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Its threads."),
        click.option(
            "--mapping", help="Where its threads were: a name of `pinstudy mappings`, or yours."
        ),
        click.option("--build", help="Its build, such as libgomp."),
        click.option("--size", help="Its problem size."),
        click.option("--governor", help="The governor that was in force."),
        click.option("--schedule", help="OMP_SCHEDULE."),
        click.option("--wait-policy", help="OMP_WAIT_POLICY."),
        click.option(
            "--pattern",
            metavar="PATTERN",
            help="How the files are named, such as "
            "'{app}_{threads}_{mapping}_{governor}_{repetition}.txt'.",
        ),
        click.option(
            "--node", default="imported", show_default=True, help="The node they are from."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@import_command.command("perf")
@_case_options
@click.option(
    "--repeats",
    type=click.IntRange(min=2),
    metavar="N",
    help="N of -r N, where logs do not tell it.",
)
@click.option("--all-cpus", is_flag=True, help="The logs were made with -a, and do not tell it.")
@JSON
def perf(files: tuple[Path, ...], output: Path, as_json: bool, **options: str | int | None) -> None:
    """Import logs of perf stat: text, -x or -j, single runs or -r.

    Logs do not tell what was run where: say it for all, or let their names tell it.
    """
    from pinstudy.analysis.imports.perf import import_logs

    _say_imported(import_logs(files, output, options), output, as_json=as_json)


@import_command.command("hyperfine")
@_case_options
@JSON
def hyperfine(files: tuple[Path, ...], output: Path, as_json: bool, **options: str | int) -> None:
    """Import files of hyperfine --export-json: each timed run is a run.

    Parameters (-L mapping unpinned,pcores-pin) that are called as these options tell the case.
    """
    from pinstudy.analysis.imports.timings import import_timings

    _say_imported(import_timings("hyperfine", files, output, options), output, as_json=as_json)


@import_command.command("benchmark")
@_case_options
@JSON
def benchmark(files: tuple[Path, ...], output: Path, as_json: bool, **options: str | int) -> None:
    """Import JSON of Google Benchmark: each repetition is a run.

    The file tells the size (a benchmark's name) and, without --app, the program.
    """
    from pinstudy.analysis.imports.timings import import_timings

    _say_imported(import_timings("benchmark", files, output, options), output, as_json=as_json)


@import_command.command("likwid")
@_case_options
@JSON
def likwid(files: tuple[Path, ...], output: Path, as_json: bool, **options: str | int) -> None:
    """Import files of likwid-perfctr -O: time and energy of a run each.

    They do not tell what was run where: say it for all, or let their names tell it.
    """
    from pinstudy.analysis.imports.timings import import_timings

    _say_imported(import_timings("likwid", files, output, options), output, as_json=as_json)


@import_command.command("powermetrics")
@_case_options
@click.option(
    "--times",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV with the runs' seconds: file,elapsed_s; files from its own folder.",
)
@JSON
def powermetrics(
    files: tuple[Path, ...], output: Path, as_json: bool, **options: str | int | None
) -> None:
    """Import text of Apple's powermetrics: energy, by core kind where it is told, of a run each.

    It tells neither what was run nor for how long: --times does.
    """
    from pinstudy.analysis.imports.powermetrics import import_powermetrics

    _say_imported(import_powermetrics(files, output, options), output, as_json=as_json)


def _say_imported(imported: Imported, output: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"results": str(output)} | asdict(imported))
        return
    many = imported.averages
    counted = plural(many, "average") if many else plural(imported.runs, "run")
    cases = plural(imported.cases, "case")
    say(f"{output}: {counted} of {cases}; see `{PINSTUDY} tables {as_typed(output)}`", err=True)


@import_command.command("summaries")
@click.argument("file", type=click.Path(path_type=Path))
@_IMPORT_OUTPUT
@JSON
def summaries(file: Path, output: Path, as_json: bool) -> None:
    """Import means and deviations from a CSV file (columns: docs/import.md)."""
    from pinstudy.analysis.imports.summary_file import import_summaries

    cases = import_summaries(file, output)
    if as_json:
        print_json({"results": str(output), "cases": cases})
        return
    say(f"{output}: {plural(cases, 'case')}; see `{PINSTUDY} tables {as_typed(output)}`", err=True)
