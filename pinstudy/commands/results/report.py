"""`pinstudy report`: the report of results, one file to read in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from pinstudy.options import INTO, find_results
from pinstudy.output import say


@click.command("report")
@click.argument("results", callback=find_results)
@INTO
def command(results: str, into: Path | None) -> None:
    """Write report.html of RESULTS: a folder such as results/quick/mynode, or published:NAME.

    The file needs no network and no other file.
    """
    from analysis.report.page import write_report
    from analysis.sources import folders_for

    for source, folder in folders_for(results, into):
        say(f"written: {write_report(source, folder)}")
