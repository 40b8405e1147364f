"""The table of the one mapping for all nodes, and which of several results are of one node."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence

from pinstudy.analysis.findings.all_nodes import AllNodes, all_nodes
from pinstudy.analysis.findings.effects import Cases
from pinstudy.analysis.findings.one_for_all import Default, Loss
from pinstudy.analysis.format.numbers import NOTHING, ends_in_percent, in_percent
from pinstudy.analysis.format.table import Column, Table
from pinstudy.analysis.objectives import ENERGY, TIME
from pinstudy.analysis.results.node_files import node_facts
from pinstudy.analysis.results.sources import Results
from pinstudy.base.text import one_line

TITLE = "One mapping for all nodes"
_COLUMNS = (
    Column("mapping", right=False),
    Column("worst loss", "%"),
    Column("95 % interval", "%"),
    Column("on", right=False),
    Column("mean loss", "%"),
    Column("95 % interval", "%"),
    Column("configurations"),
)


def of_all_nodes(named: Mapping[str, tuple[Results, Cases]]) -> tuple[AllNodes, ...]:
    """Return the one mapping for all nodes of results, by name; none where all are of one node."""
    nodes: dict[Hashable, dict[str, Cases]] = {}
    for name, (results, cases) in named.items():
        nodes.setdefault(_node_of(results, name), {})[name] = cases
    return all_nodes({", ".join(of): tuple(of.values()) for of in nodes.values()})


def _node_of(results: Results, name: str) -> Hashable:
    """Return what is equal for results of one node, another kernel or study on it included.

    Nodes that hide their names, as on cards, are taken for as many as there are results.
    """
    node_id = next((case.key.node_id for case in results.cases), None)
    facts = node_facts(results)
    return (node_id, facts.cpu_model, facts.kinds) if node_id and facts else (node_id or name)


def all_nodes_tables(found: Sequence[AllNodes]) -> list[Table]:
    """Return the tables of time and energy, a line for each mapping, the site's default first."""
    return [_table(of) for of in found if of.objective in (TIME, ENERGY)]


def _table(found: AllNodes) -> Table:
    where = " in guests" if found.in_guests else ""
    return Table(
        f"{TITLE}{where}: {found.objective.noun}",
        _COLUMNS,
        tuple(_cells(default, found) for default in found.defaults),
        tuple(("", one_line(note)) for note in _notes(found)),
    )


def _cells(default: Default, found: AllNodes) -> tuple[str, ...]:
    compared = str(default.compared)
    if default.compared < found.configurations:
        compared += f" of {found.configurations}"
    return (
        one_line(default.mapping),
        *_loss(default.worst),
        one_line(found.worst_on[default.mapping]),
        *_loss(default.mean),
        compared,
    )


def _loss(loss: Loss) -> tuple[str, str]:
    ratio = in_percent(loss.ratio - 1, 2)
    if loss.interval is None:
        return ratio, NOTHING
    both = ends_in_percent(loss.interval.low - 1, loss.interval.high - 1)
    return ratio, " to ".join(dict.fromkeys(both))


def _reaches(loss: Loss, best: Loss) -> bool:
    """Return whether a loss may be as small as the best one's may be large; so where unknown."""
    if loss.interval is None or best.interval is None:
        return True
    return loss.interval.low <= best.interval.high


def _notes(found: AllNodes) -> Iterator[str]:
    if found.defaults:
        best, *others = found.defaults
        yield f"default of the site: {best.mapping}"
        if alike := [other.mapping for other in others if _reaches(other.worst, best.worst)]:
            yield f"not distinguishable by the intervals of the worst loss: {', '.join(alike)}"
        yield "loss: against the best mapping of each configuration, of any mapping there"
        yield "intervals hold for all mappings of the table together"
    else:
        yield "no default: no mapping is compared with others on every node"
    for mapping, nodes in found.lacking.items():
        yield f"{mapping}: not compared on {', '.join(nodes)}"
