"""Many results in one configuration: what each mapping changed on each node, by CPU model.

The configuration is the one that most of the results have; of ties, the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from pinstudy.analysis.objectives import TIME
from pinstudy.analysis.results.card_file import NodeFacts
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.results.node_files import node_facts
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.statistics.decision import Outcome
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.analysis.verdict.model import CaseFinding, Findings, TableFindings
from pinstudy.base.text import one_line

UNKNOWN_CPU = "CPU not known"
# What cases of one configuration share, in words.
Configuration = tuple[str, ...]


@dataclass(frozen=True)
class MappingChange:
    """The time of a mapping, times that of the baseline, with its 95 % interval if it has one."""

    ratio: float
    interval: Interval | None
    outcome: Outcome


@dataclass(frozen=True)
class NodeChanges:
    """One of the results: its name, its CPU's model, and the change of each mapping."""

    name: str
    cpu_model: str
    changes: Mapping[str, MappingChange]


@dataclass(frozen=True)
class ManyCards:
    """The results that have the configuration, in groups by CPU model; larger groups first.

    Within a group those with the least time under the first mapping come first. `baselines` are
    the names of the baselines' mappings; `lacking` are the results without the configuration.
    """

    configuration: str
    mappings: tuple[str, ...]
    baselines: tuple[str, ...]
    groups: Mapping[str, Sequence[NodeChanges]]
    lacking: tuple[str, ...]

    @property
    def count(self) -> int:
        """How many results have the configuration."""
        return sum(map(len, self.groups.values()))


def many_cards(every: Sequence[tuple[Results, Findings]]) -> ManyCards | None:
    """Return the changes of time in the commonest configuration; None where nothing is compared."""
    found = [dict(_configurations(findings)) for _, findings in every]
    counts = Counter(configuration for configurations in found for configuration in configurations)
    if not counts:
        return None
    common = counts.most_common(1)[0][0]
    nodes, lacking = [], []
    baselines: dict[str, None] = {}
    names = _short_names([results.name for results, _ in every])
    for (results, _), name, configurations in zip(every, names, found, strict=True):
        if common not in configurations:
            lacking.append(name)
            continue
        table, cases = configurations[common]
        baselines[one_line(table.baseline_of(cases[0]).full_mapping)] = None
        model = _cpu_model(node_facts(results))
        nodes.append(NodeChanges(name, model, {case.full_mapping: _change(case) for case in cases}))
    # Those of most results first.
    of_nodes = Counter(mapping for node in nodes for mapping in node.changes)
    mappings = tuple(mapping for mapping, _ in of_nodes.most_common())
    return ManyCards(
        one_line(", ".join(filter(None, common))),
        mappings,
        tuple(baselines),
        _by_model(nodes, mappings[0]),
        tuple(lacking),
    )


def _short_names(names: Sequence[str]) -> list[str]:
    """Return a card's file, or the folder of results: students know it by that.

    Where two have one name, such as that of their node, the folder above tells them apart.
    """
    last = Counter(Path(name).name for name in names)
    parts = (Path(name).parts[-1 if last[Path(name).name] == 1 else -2 :] for name in names)
    return [one_line("/".join(part)).removesuffix(".json") for part in parts]


def _configurations(
    findings: Findings,
) -> Iterator[tuple[Configuration, tuple[TableFindings, list[CaseFinding]]]]:
    """Yield each configuration with its compared cases; of sizes of one name the first."""
    for table in findings.tables:
        if TIME not in table.compared_by:
            continue
        compared = [case for case in table.cases if TIME in case.comparisons]
        for cases in grouped(compared, _configuration):
            yield _configuration(cases[0]), (table, cases)


def _configuration(case: CaseFinding) -> Configuration:
    key = case.summary.key.table
    region = f":{key.region}" if key.region else ""
    beside = case.summary.key.co_runner
    return (
        f"{key.app}{region} ({key.build})",
        f"size {key.size}",
        key.threads_in_words,
        f"governor {case.governor}",
        case.summary.key.setting_words,
        f"beside {beside}" if beside else "",
        case.summary.key.guest,
    )


def _change(case: CaseFinding) -> MappingChange:
    comparison = case.comparisons[TIME]
    difference = comparison.difference
    return MappingChange(difference.ratio, difference.known_interval(), comparison.outcome)


def _cpu_model(node: NodeFacts | None) -> str:
    if node is None or not node.cpu_model:
        return UNKNOWN_CPU
    return one_line(node.cpu_model) + (" (virtual)" if node.virtual_machine else "")


def _by_model(nodes: Sequence[NodeChanges], first: str) -> dict[str, list[NodeChanges]]:
    def ratio(node: NodeChanges) -> float:
        change = node.changes.get(first)
        return change.ratio if change else float("inf")

    ordered = sorted(nodes, key=lambda node: (ratio(node), node.name))
    groups = grouped(ordered, lambda node: node.cpu_model)
    groups.sort(key=lambda group: (-len(group), median(map(ratio, group)), group[0].cpu_model))
    return {group[0].cpu_model: group for group in groups}
