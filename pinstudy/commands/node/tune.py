"""`pinstudy tune`: put the node into a quiet state for measuring, until `pinstudy restore`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinstudy.options import JSON, SYSROOT
from pinstudy.output import print_columns, print_json, say

if TYPE_CHECKING:
    from runners.settings.tune import Change


@click.command("tune")
@SYSROOT
@click.option(
    "--governor",
    metavar="NAME",
    help="The governor of all CPUs: by default performance, where offered; `keep` leaves it.",
)
@click.option("--turbo", type=click.Choice(["on", "off"]), help="Switch turbo; else left alone.")
@click.option("--dry-run", is_flag=True, help="Show what would be changed, and change nothing.")
@JSON
def command(
    sysroot: Path, governor: str | None, turbo: str | None, dry_run: bool, as_json: bool
) -> None:
    """Put this node into a quiet state for measuring; `pinstudy restore` undoes it.

    Sets the governor performance, and switches off what interrupts programs or moves their memory:
    the NMI watchdog, automatic NUMA balancing, automatic task groups. What was in force is saved on
    the disk first. A study still sets the governors of its cases. Daemons that would interfere are
    named, with the command that stops them.

    Exit status 1 when something could not be put in force.
    """
    from base.errors import StudyError
    from runners.host.daemons import find_daemons, stop_commands
    from runners.host.tree import Tree
    from runners.settings.tune import changes_of, tune

    changes = changes_of(Tree(sysroot), governor, turbo)
    if not dry_run:
        changes = tune(sysroot, changes, os.environ)
    if as_json:
        print_json([change.__dict__ for change in changes])
    else:
        _show(changes, dry_run)
        daemons = find_daemons(Tree(sysroot))
        if isinstance(daemons, list) and daemons:
            say(
                f"{', '.join(daemons)} may change settings or move interrupts meanwhile; stop with "
                f"`{stop_commands(daemons)}`"
            )
    if any(change.problem for change in changes):
        raise StudyError("not everything could be put in force; the lines above say why")


def _show(changes: Sequence[Change], dry_run: bool) -> None:
    if not changes:
        say("nothing to change: the node is as it is recommended for measuring")
        return
    done = "would be" if dry_run else "is now"
    # A governor has a file for each policy; equal changes are printed once.
    same: dict[tuple[str, str], list[str]] = {}
    for change in changes:
        name = change.path.rpartition("/")[2]
        text = change.problem or f"was {change.was}, {done} {change.wanted}: {change.why}"
        same.setdefault((name, text), []).append(change.path)
    print_columns(
        (name if len(paths) == 1 else f"{name} ({len(paths)} policies)", text)
        for (name, text), paths in same.items()
    )
    if not dry_run and any(not change.problem for change in changes):
        say("undo it with `pinstudy restore`")
