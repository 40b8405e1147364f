"""`pinstudy compare`: two results side by side, and whether they conclude the same."""

from __future__ import annotations

import click

from base.errors import UserError
from pinstudy.options import JSON, MARGIN, STYLE, find_results
from pinstudy.output import print_json, say


@click.command("compare")
@click.argument("a", callback=find_results)
@click.argument("b", required=False, callback=find_results)
@MARGIN
@click.option(
    "--as-governor",
    metavar="GOVERNOR",
    help="Take rows that do not tell their governor for rows under this one.",
)
@STYLE
@JSON
def command(
    a: str, b: str | None, margin: str, as_governor: str | None, style: str, as_json: bool
) -> None:
    """Put the results A and B side by side, as ratios to each one's own baseline.

    Each is a folder such as results/paper/mynode, or published:galante-2025: another machine,
    another kernel, before and after. Without B, the programs of one algorithm that A has, such as
    LULESH and pinstudy's own Lulesh.
    """
    from analysis.compare import compare, compare_programs
    from analysis.compare_tables import compare_tables, conclusions
    from analysis.find import find
    from analysis.sources import open_results
    from analysis.tables import render
    from configs.schema.values import share_option

    share, results = share_option("--margin", margin), open_results(a)
    if b is None:
        both = compare_programs(results, find(results, share))
    else:
        both = compare(results, open_results(b), share, as_governor)
    if both is None:
        raise UserError(f"{a} has no two programs of one algorithm; name a second folder")
    tables = compare_tables(both)
    if as_json:
        print_json(
            {
                "a": both.name_a,
                "b": both.name_b,
                "conclusions": conclusions(both),
                "only_a": both.only_a,
                "only_b": both.only_b,
                "rows": [row for table in tables for row in table.exact],
            }
        )
    else:
        say(render(tables, style))
