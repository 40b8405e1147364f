"""Options that several commands share."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_Command = Callable[..., Any]

SYSROOT = click.option(
    "--sysroot",
    type=click.Path(path_type=Path),
    default=Path("/"),
    metavar="DIR",
    help="Read the node from a recorded file tree instead of this machine.",
)
KINDS = click.option(
    "--kinds",
    metavar="P=0-7,E=8-23",
    help="Declare the core kinds by hand; every record says that they were declared.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for a program to read.")
SITE = click.option(
    "--site",
    metavar="SITE",
    envvar="PINSTUDY_SITE",
    help="Who sets governors at this place: a name of configs/sites, or a file; see "
    "docs/settings.md (also: $PINSTUDY_SITE).",
)
STYLE = click.option(
    "--format",
    "style",
    type=click.Choice(["text", "markdown", "csv", "latex"]),
    default="text",
    show_default=True,
    help="How it is printed.",
)
INTO = click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where it is written; without it, in RESULTS.",
)
MARGIN = click.option(
    "--margin",
    default="1%",
    show_default=True,
    metavar="SHARE",
    help="Up to which difference two cases count as equivalent.",
)
RESULTS = click.option(
    "--results",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="PINSTUDY_RESULTS",
    default=Path("results"),
    show_default=True,
    metavar="DIR",
    help="Where results are kept (also: $PINSTUDY_RESULTS).",
)


def find_results(
    _context: click.Context, _parameter: click.Parameter, results: str | None
) -> str | None:
    """Return `results`, or the folder of that name below all results if only that one exists."""
    if results is None:
        return None
    below = Path(os.environ.get("PINSTUDY_RESULTS") or "results") / results
    # os.path, because a name with a NUL raises with a Path.
    return str(below) if not os.path.isdir(results) and os.path.isdir(below) else results  # noqa: PTH112


def node_options(command: _Command) -> _Command:
    """Add --sysroot, --kinds and --json."""
    return SYSROOT(KINDS(JSON(command)))
