"""`pinstudy topology`: what the node consists of, and how that is known."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from pinstudy.options import node_options
from pinstudy.output import print_columns, print_json, say, wrap


@click.command("topology")
@node_options
def command(sysroot: Path, kinds: str | None, as_json: bool) -> None:
    """Show this node's core kinds, cores and caches, and the evidence for them."""
    from runners.node.node import open_node
    from runners.node.topology import topology_json

    topology = open_node(sysroot, kinds).topology
    shown = topology_json(topology)
    if as_json:
        print_json(shown)
        return
    say("Core kinds")
    print_columns(
        (kind["name"], f"CPUs {kind['cpus']}", kind["evidence"]) for kind in shown["kinds"]
    )
    say("Cores (CPUs of one core together)")
    for kind in topology.kinds:
        cores = [core for core in shown["cores"] if core["kind"] == kind.name]
        say(wrap(" ".join(core["cpus"] for core in cores), f"  {kind.name}: "))
    say("Caches")
    print_columns(cache_rows(shown["caches"]))
    say("NUMA nodes")
    print_columns((str(numa["node"]), f"CPUs {numa['cpus']}") for numa in shown["numa"])
    for note in topology.notes:
        say(wrap(note, "Note: "))


def cache_rows(caches: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Return level, size and the groups of CPUs that share such a cache, one row a size."""
    groups: dict[tuple[int, int | None], list[str]] = {}
    for cache in caches:
        groups.setdefault((cache["level"], cache["size_bytes"]), []).append(cache["cpus"])
    # Caches of unknown size come last.
    in_order = sorted(groups.items(), key=lambda item: (item[0][0], item[0][1] or math.inf))
    return [
        (
            f"L{level}",
            "size unknown" if size is None else f"{size // 1024} KiB",
            " ".join(dict.fromkeys(cpus)),
        )
        for (level, size), cpus in in_order
    ]
