"""Several results at once: in each setting a line for each node, with the best mapping there.

The best mapping is the one with the best ratio to the node's own baseline. It is chosen among
several by its outcome, so that its interval is widened for the choice (Bonferroni).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from analysis.answer import MARGIN, analyze
from analysis.compare.side_by_side import algorithm_of, governor_of
from analysis.compare.tables import ratio_cells
from analysis.format.numbers import finite
from analysis.format.table import Column, Table
from analysis.objectives import EDP, Objective
from analysis.results.case_summary import grouped
from analysis.results.node_facts import NodeFacts
from analysis.results.node_files import node_facts
from analysis.results.sources import Results
from analysis.statistics.decision import ALPHA, Outcome
from analysis.statistics.sample import Interval
from analysis.verdict.model import CaseFinding, Comparison, Findings, TableFindings
from base.text import one_line
from configs.values import DIRECTIONS

_WORDS: tuple[Outcome, ...] = ("better", "equivalent", "worse", "undecided")
_UNKNOWN = "not known"


class Setting(NamedTuple):
    """What lines of several results share: program, team, what it runs under, and the objective."""

    program: str
    team: str
    region: str | None
    governor: str
    scheduling: str
    beside: str | None
    in_guest: bool
    objective: tuple[str, str, bool]

    @property
    def title(self) -> str:
        """The setting on one line."""
        region = f":{self.region}" if self.region else ""
        governor = "governor not known" if self.governor == _UNKNOWN else self.governor
        under = (governor, self.scheduling, f"beside {self.beside}" if self.beside else "")
        guest = " in a guest" if self.in_guest else ""
        return one_line(
            f"{self.program}{region} {self.team}{guest}, {', '.join(filter(None, under))}"
        )


@dataclass(frozen=True)
class Best:
    """The best mapping of one of the results in a setting: the best ratio among `among`."""

    table: TableFindings
    case: CaseFinding
    comparison: Comparison
    among: int

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the ratio, widened for the choice; None without any spread."""
        return self.comparison.difference.known_interval(1 - ALPHA / self.among)


@dataclass(frozen=True)
class NodeOfMany:
    """One of the results: its name, its node, and the best mapping by setting."""

    name: str
    node: NodeFacts | None
    days_proved: Sequence[str]
    best: Mapping[Setting, Best]
    objectives: Mapping[tuple[str, str, bool], Objective]


def compare_many(
    every: Sequence[Results], margin: float = MARGIN, as_governor: str | None = None
) -> list[NodeOfMany]:
    """Return the best mapping of each of the results in each setting.

    `margin` is the equivalence margin; `as_governor` is assumed for rows without a governor.
    """
    return [_node(results, analyze(results, margin), as_governor) for results in every]


def _node(results: Results, findings: Findings, as_governor: str | None) -> NodeOfMany:
    best: dict[Setting, Best] = {}
    for setting, found in _all_best(findings, as_governor):
        # Of two sizes or variants of a program the first one stands for it.
        best.setdefault(setting, found)
    objectives = {
        of.identity: of for table in findings.tables for of in table.objectives if of != EDP
    }
    return NodeOfMany(results.name, node_facts(results), results.days_proved, best, objectives)


def _all_best(findings: Findings, as_governor: str | None) -> Iterator[tuple[Setting, Best]]:
    for table in findings.tables:
        for cases in grouped(table.cases, lambda case: _under(case, as_governor)):
            for objective in table.compared_by:
                compared = [case for case in cases if objective in case.comparisons]
                if objective == EDP or not compared:
                    continue
                first = min(compared, key=lambda case: _loss(case, objective))
                found = Best(table, first, first.comparisons[objective], len(compared))
                yield _setting(table, first, objective, as_governor), found


def _under(case: CaseFinding, as_governor: str | None) -> tuple[object, ...]:
    governor = governor_of(case) or as_governor or _UNKNOWN
    return governor, case.summary.scheduling, case.summary.beside


def _setting(
    table: TableFindings, case: CaseFinding, objective: Objective, as_governor: str | None
) -> Setting:
    return Setting(
        algorithm_of(table),
        table.key.threads_label,
        table.key.region,
        governor_of(case) or as_governor or _UNKNOWN,
        case.summary.scheduling,
        case.summary.beside,
        bool(case.summary.vcpu_mapping),
        objective.identity,
    )


def _loss(case: CaseFinding, objective: Objective) -> float:
    return objective.loss(case.comparisons[objective].difference.log_ratio)


def many_tables(nodes: Sequence[NodeOfMany]) -> list[Table]:
    """Return a table of the results, a line each, and one of each setting and objective."""
    settings = list(dict.fromkeys(setting for node in nodes for setting in node.best))
    return [_nodes_table(nodes), *(_setting_table(nodes, setting) for setting in settings)]


def _nodes_table(nodes: Sequence[NodeOfMany]) -> Table:
    columns = (
        *(Column(name, right=False) for name in ("", "results", "CPU", "core kinds", "proved")),
        Column("settings"),
        *(Column(word) for word in _WORDS),
    )
    cells = []
    for letter, node in zip(_letters(nodes), nodes, strict=True):
        counts = Counter(best.comparison.outcome for best in node.best.values())
        cells.append(
            (
                letter,
                *_of_node(node),
                str(len(node.best)),
                *(str(counts[word]) for word in _WORDS),
            )
        )
    return Table(
        "Does the best mapping gain over the baseline? By settings (program, team, governor, "
        "objective)",
        columns,
        tuple(cells),
        tuple(
            ("", note)
            for note in (
                "better, equivalent, worse, undecided: the words of the best mappings",
                "the best mapping is chosen among several by its ratio to the baseline, and its "
                "interval is widened for that",
                *_one_node(nodes),
            )
        ),
    )


def _one_node(nodes: Sequence[NodeOfMany]) -> Iterator[str]:
    """Yield which of the results are of one node, as far as its facts tell."""
    by_digest: dict[str, list[str]] = {}
    for letter, node in zip(_letters(nodes), nodes, strict=True):
        if node.node:
            by_digest.setdefault(node.node.digest, []).append(letter)
    for letters in by_digest.values():
        if len(letters) > 1:
            yield f"{', '.join(letters)}: of one node, or of nodes alike in all that is known"


def _letters(nodes: Sequence[NodeOfMany]) -> list[str]:
    """Return a letter for each of the results, numbers where there are too many."""
    many = len(nodes) > 26
    return [str(at + 1) if many else chr(ord("A") + at) for at in range(len(nodes))]


def _of_node(node: NodeOfMany) -> tuple[str, ...]:
    facts = node.node
    model = facts.cpu_model if facts else _UNKNOWN
    if facts and facts.virtual_machine:
        model += " (virtual)"
    kinds = facts.kinds_text if facts and facts.kinds else _UNKNOWN
    proved = ", ".join(node.days_proved) or "no"
    return tuple(map(one_line, (node.name, model, kinds, proved)))


def _setting_table(nodes: Sequence[NodeOfMany], setting: Setting) -> Table:
    objective = next(
        of for node in nodes if (of := node.objectives.get(setting.objective)) is not None
    )
    columns = (
        *(Column(name, right=False) for name in ("", "CPU", "best mapping")),
        Column("ratio"),
        *(Column(name, right=False) for name in ("95 % interval", "word")),
    )
    lines = list(zip(_letters(nodes), nodes, strict=True))
    here = [(letter, node, best) for letter, node in lines if (best := node.best.get(setting))]
    missing = [letter for letter, node in lines if setting not in node.best]
    notes = [
        *(["more is better"] if objective.higher else []),
        *_unlike(here),
        *([f"not compared in it: {', '.join(missing)}"] if missing else []),
    ]
    return Table(
        caption=f"{setting.title}: {objective.noun}",
        columns=columns,
        cells=tuple(_cells(*of) for of in here),
        notes=tuple(("", one_line(note)) for note in notes),
        raw_values=tuple(_raw(node, best, setting, objective) for _, node, best in here),
    )


def _unlike(here: Sequence[tuple[str, NodeOfMany, Best]]) -> Iterator[str]:
    """Yield in what the programs of a setting differ, and of which results each is."""
    for key in ("app", "size", "variant"):
        values: dict[str, list[str]] = {}
        for letter, _, best in here:
            values.setdefault(str(getattr(best.table.key, key)), []).append(letter)
        if len(values) > 1:
            parts = (f"{', '.join(letters)} {value}" for value, letters in values.items())
            yield f"{key}: {'; '.join(parts)}"


def _cells(letter: str, node: NodeOfMany, best: Best) -> tuple[str, ...]:
    return (
        letter,
        one_line(node.node.cpu_model if node.node else _UNKNOWN),
        one_line(best.case.full_mapping),
        *ratio_cells(best.comparison.difference.ratio, best.interval),
        best.comparison.outcome,
    )


def _raw(node: NodeOfMany, best: Best, setting: Setting, objective: Objective) -> dict[str, object]:
    interval = best.interval
    return {
        "results": node.name,
        "cpu_model": node.node.cpu_model if node.node else None,
        "core_kinds": node.node.kinds_text if node.node else None,
        "node_digest": node.node.digest if node.node else None,
        "proved": ", ".join(node.days_proved) or None,
        "app": best.table.key.app,
        "variant": best.table.key.variant,
        "size": best.table.key.size,
        "ranks": best.table.key.ranks,
        "threads": best.table.key.threads,
        "region": setting.region,
        "governor": setting.governor,
        "scheduling": setting.scheduling or None,
        "beside": setting.beside,
        "objective": str(objective),
        "unit": objective.unit,
        "better": DIRECTIONS[objective.higher],
        "best_mapping": best.case.full_mapping,
        "mappings_compared": best.among,
        "ratio": best.comparison.difference.ratio,
        "ratio_low": interval.low if interval else None,
        "ratio_high": finite(interval.high) if interval else None,
        "outcome": best.comparison.outcome,
    }
