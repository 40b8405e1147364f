"""`pinstudy verdict`: which mappings are better, worse or equivalent, and on what evidence."""

from __future__ import annotations

import click

from base.text import as_typed
from pinstudy.options import JSON, MARGIN, find_results
from pinstudy.output import print_json, say, terminal_width


@click.command("verdict")
@click.argument("results", callback=find_results)
@MARGIN
@click.option(
    "--baseline",
    metavar="MAPPING",
    help="Compare with this mapping; without it, with the one that leaves threads to the OS.",
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
def command(
    results: str, margin: str, baseline: str | None, style: str, as_json: bool, no_files: bool
) -> None:
    """Say what RESULTS mean: better, worse, equivalent or undecided, case by case, and why.

    RESULTS is a folder such as results/quick/mynode, or published:galante-2025. The answer is also
    written to verdict.md beside the records.
    """
    from analysis.find import find
    from analysis.outcome import VERDICT_FILE
    from analysis.sources import open_results, sources_below
    from analysis.verdict.text import as_data, as_markdown, as_text
    from analysis.written import again, write_file
    from configs.schema.values import share_option

    share = share_option("--margin", margin)
    answers = []
    for source in sources_below(results):
        opened = open_results(source)
        findings = find(opened, share, baseline)
        if as_json:
            answers.append({"results": opened.name} | as_data(findings))
        else:
            say(as_text(findings, terminal_width()) if style == "text" else as_markdown(findings))
        if opened.folder is not None and not no_files:
            advice = again(f"pinstudy verdict {as_typed(source)}")
            path = write_file(opened.folder / VERDICT_FILE, as_markdown(findings), advice)
            say(f"written: {path}", err=True)
    if as_json:
        print_json(answers)
