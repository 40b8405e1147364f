"""One mapping for all nodes: what a site sets as its default, from the results of several nodes.

The configurations of all nodes are taken together. Each has its own best mapping, also one that
other nodes lack; only mappings that are compared on every node may be the default. Levels are
shared among these, as on one node (analysis.findings.one_for_all).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from pinstudy.analysis.findings.answers import default_data
from pinstudy.analysis.findings.effects import Cases
from pinstudy.analysis.findings.one_for_all import (
    Compared,
    Default,
    cases_where,
    compared_configurations,
    default_of,
    is_compared,
    order,
)
from pinstudy.analysis.objectives import OBJECTIVES, TIME, Objective


@dataclass(frozen=True)
class AllNodes:
    """The mappings that are compared on every node, in one objective, the site's default first.

    They are in the order of `OneForAll`. `worst_on` names the node of each one's worst loss.
    `lacking` has the nodes on which another mapping is not compared. `in_guests`: the mappings are
    those of guests. `configurations` counts those of all nodes in which mappings are compared.
    """

    objective: Objective
    in_guests: bool
    nodes: tuple[str, ...]
    configurations: int
    defaults: tuple[Default, ...]
    worst_on: Mapping[str, str]
    lacking: Mapping[str, tuple[str, ...]]


def all_nodes(nodes: Mapping[str, Sequence[Cases]]) -> tuple[AllNodes, ...]:
    """Return the mappings' losses over all nodes by objective; a node may have several results.

    There are those of time on the nodes themselves, and others where a mapping is compared on
    every node; none of fewer than two nodes.
    """
    if len(nodes) < 2:
        return ()
    found = (
        _all_nodes(nodes, objective, in_guests)
        for in_guests in (False, True)
        for objective in OBJECTIVES
    )
    return tuple(of for of in found if of.defaults or (of.objective == TIME and not of.in_guests))


def _all_nodes(
    nodes: Mapping[str, Sequence[Cases]], objective: Objective, in_guests: bool
) -> AllNodes:
    by_node = {
        node: [
            of
            for cases in results
            for of in compared_configurations(cases, cases_where(cases, in_guests), objective)
            if of.effects
        ]
        for node, results in nodes.items()
    }
    every = list(chain.from_iterable(by_node.values()))
    names = dict.fromkeys(name for of in every for name in of.effects)
    lacking = {
        name: tuple(node for node, mine in by_node.items() if not is_compared(name, mine))
        for name in names
    }
    common = [name for name in names if not lacking[name]]
    return AllNodes(
        objective,
        in_guests,
        tuple(nodes),
        len(every),
        tuple(sorted((default_of(name, every, len(common)) for name in common), key=order)),
        {name: _worst_on(name, by_node) for name in common},
        {name: nodes for name, nodes in lacking.items() if nodes},
    )


def _worst_on(name: str, by_node: Mapping[str, Sequence[Compared]]) -> str:
    """Return the node of a mapping's worst loss; of equal ones the first."""
    return max(by_node, key=lambda node: default_of(name, by_node[node], 1).worst.ratio)


def as_data(found: Sequence[AllNodes]) -> list[dict[str, Any]]:
    """Return the findings as plain data, unrounded; `default` is None where no mapping is one."""
    return [
        {
            "objective": str(of.objective),
            "in_guests": of.in_guests,
            "nodes": list(of.nodes),
            "configurations": of.configurations,
            "default": of.defaults[0].mapping if of.defaults else None,
            "defaults": [
                default_data(default) | {"worst_on": of.worst_on[default.mapping]}
                for default in of.defaults
            ],
            "lacking": {name: list(nodes) for name, nodes in of.lacking.items()},
        }
        for of in found
    ]
