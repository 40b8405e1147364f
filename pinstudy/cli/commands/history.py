"""`pinstudy history`: one study over time, with the points where a case's level changed."""

from __future__ import annotations

from pathlib import Path

import click

from pinstudy.cli.commands.results import conditions_of, end_by
from pinstudy.cli.options import ALL_RESULTS, JSON, STYLE, file_option
from pinstudy.cli.output import print_json, say


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
