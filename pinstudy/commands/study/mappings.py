"""`pinstudy mappings`: what each mapping means on this node."""

from __future__ import annotations

from pathlib import Path

import click

from pinstudy.options import node_options
from pinstudy.output import print_columns, print_json


@click.command("mappings")
@node_options
def command(sysroot: Path, kinds: str | None, as_json: bool) -> None:
    """List the mappings, with the CPUs that they select on this node."""
    from configs.library import list_mappings
    from runners.node.node import open_node
    from runners.plan.selection import describe

    topology = open_node(sysroot, kinds).topology
    rows = [(mapping, *describe(mapping, topology)) for mapping in list_mappings()]
    if as_json:
        print_json(
            [
                {
                    "name": mapping.name,
                    "selection": mapping.selection,
                    "binding": mapping.binding,
                    "mechanism": mapping.mechanism,
                    "cpus": cpus,
                    "reason": reason,
                }
                for mapping, cpus, reason in rows
            ]
        )
        return
    print_columns(
        (
            mapping.name,
            mapping.binding,
            f"CPUs {cpus}" if cpus else "-",
            reason or mapping.summary,
        )
        for mapping, cpus, reason in rows
    )
