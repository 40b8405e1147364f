"""`pinstudy doctor`: what can be measured here, what cannot, why, and what grants it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from pinstudy.options import node_options
from pinstudy.output import print_json, say, wrap

if TYPE_CHECKING:
    from runners.doctor.capability import Capability


@click.command("doctor")
@node_options
def command(sysroot: Path, kinds: str | None, as_json: bool) -> None:
    """Tell what can be measured here, what cannot, why, and what grants it.

    One line a capability, worst first; below it the command that grants it, and the one that makes
    it last over a reboot.

    The exit status is 1 when something that measuring needs is missing or limited. Turbo,
    temperatures, throttle counters, numactl, likwid-pin, lstopo, batch systems and virtual machines
    are optional: they never make it 1, nor does what could not be tried on a recorded tree.
    """
    from runners.doctor.capability import worst_first
    from runners.doctor.report import EVERY_NAME, probe
    from runners.node.node import open_node

    node = open_node(sysroot, kinds)
    found = worst_first(probe(node, node.tree.live, EVERY_NAME))
    hindered = [capability.name for capability in found if capability.hinders]
    if as_json:
        print_json([capability.fields() for capability in found])
    else:
        _print(found)
        say(_summary(hindered))
    if hindered:
        raise SystemExit(1)


def _print(found: list[Capability]) -> None:
    width = max(len(capability.name) for capability in found)
    for capability in found:
        start = f"{capability.state:<7}  {capability.name:<{width}}  "
        optional = "optional: " if capability.optional and capability.state != "ok" else ""
        say(wrap(optional + capability.reason, start))
        # Not wrapped: a command is copied and pasted.
        for label, text in (("grant: ", capability.grant), ("to last: ", capability.lasting)):
            if text:
                say(" " * len(start) + label + text)


def _summary(hindered: list[str]) -> str:
    if not hindered:
        return "Everything that measuring needs is here."
    return wrap(", ".join(hindered), "Measuring is worse for: ")
