"""Several results at once: in each configuration a line a node, with the best mapping there.

The best mapping is the one with the best ratio to the node's own baseline. It is chosen among
several by its outcome, so that its interval is widened for the choice (Bonferroni).

A line is of one table. Of results with several in a configuration (sizes, builds, or programs of
one algorithm) the one most like those of the others is taken, and it is said which are left aside.

Another table has the one mapping for all nodes (analysis.findings.one_for_all).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from operator import itemgetter
from typing import NamedTuple

from pinstudy.analysis.answer import MARGIN, analyze
from pinstudy.analysis.compare.matching import algorithm_of, governor_of
from pinstudy.analysis.compare.tables import ratio_cells
from pinstudy.analysis.findings.effects import Cases, cases_of
from pinstudy.analysis.findings.one_for_all import AllNodes, Default, Loss, all_nodes
from pinstudy.analysis.format.numbers import NOTHING, ends_in_percent, in_percent
from pinstudy.analysis.format.table import Column, Table
from pinstudy.analysis.objectives import EDP, ENERGY, TIME, Objective
from pinstudy.analysis.records.keys import cell_of_settings
from pinstudy.analysis.results.card_file import NodeFacts
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.results.node_files import node_facts
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.results.summaries import UNKNOWN
from pinstudy.analysis.statistics.decision import ALPHA, Outcome
from pinstudy.analysis.statistics.sample import Interval, named_ends
from pinstudy.analysis.verdict.model import (
    CaseFinding,
    Comparison,
    Findings,
    TableFindings,
    objectives_in,
)
from pinstudy.analysis.words import experiments as words
from pinstudy.base.text import one_line
from pinstudy.configs.settings import Settings
from pinstudy.configs.values import DIRECTIONS

_WORDS: tuple[Outcome, ...] = ("better", "equivalent", "worse", "undecided")
_UNKNOWN = "not known"

_DEFAULT_TITLE = "One mapping for all nodes"
_DEFAULT_COLUMNS = (
    Column("mapping", right=False),
    Column("worst loss", "%"),
    Column("95 % interval", "%"),
    Column("on", right=False),
    Column("mean loss", "%"),
    Column("95 % interval", "%"),
    Column("configurations"),
)


class CommonConfiguration(NamedTuple):
    """What lines of several results share: program, team, what it runs under, and the objective."""

    program: str
    team: str
    region: str | None
    schedule: str
    wait_policy: str
    governor: str
    settings: Settings
    co_runner: str | None
    guest: str
    objective: tuple[str, str, bool]

    def title(self, *, takes_schedule: bool = True) -> str:
        """Return the configuration on one line; some programs' loops take no schedule."""
        region = f":{self.region}" if self.region else ""
        under = (
            f"schedule {self.schedule}" if takes_schedule else "",
            f"wait policy {self.wait_policy}",
            "governor not known" if self.governor == _UNKNOWN else self.governor,
            self.settings.words,
            f"beside {self.co_runner}" if self.co_runner else "",
        )
        guest = f" in {self.guest}" if self.guest else ""
        return one_line(
            f"{self.program}{region} {self.team}{guest}, {', '.join(filter(None, under))}"
        )


@dataclass(frozen=True)
class Best:
    """The best mapping of one of the results in a configuration: the best ratio among `among`.

    `left_aside` are its other tables of the configuration.
    """

    table: TableFindings
    case: CaseFinding
    comparison: Comparison
    among: int
    left_aside: tuple[TableFindings, ...] = ()

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval of the ratio, widened for the choice; None without any spread."""
        return self.comparison.difference.known_interval(1 - ALPHA / self.among)


@dataclass(frozen=True)
class NodeOfMany:
    """One of the results: its name, its node, the best mapping by configuration, and its cases."""

    name: str
    node: NodeFacts | None
    days_proved: Sequence[str]
    best: Mapping[CommonConfiguration, Best]
    objectives: Mapping[tuple[str, str, bool], Objective]
    cases: Cases


def compare_many(
    every: Sequence[Results], margin: float = MARGIN, as_governor: str | None = None
) -> list[NodeOfMany]:
    """Return the best mapping of each of the results in each configuration.

    `margin` is the equivalence margin; `as_governor` is assumed for rows without a governor.
    """
    answers = [analyze(results, margin) for results in every]
    found = [list(_all_best(findings, as_governor)) for findings in answers]
    common_of = _with_known_conditions(common for pairs in found for common, _ in pairs)
    tables = [_by_configuration(pairs, common_of) for pairs in found]
    like = _most_common_programs(tables)
    return [
        NodeOfMany(
            results.name,
            node_facts(results),
            results.days_proved,
            {common: _most_alike(bests, common, like[common]) for common, bests in best.items()},
            {name.identity: name for name in objectives_in(findings.tables) if name != EDP},
            cases_of(results, findings),
        )
        for results, findings, best in zip(every, answers, tables, strict=True)
    ]


def _with_known_conditions(
    configurations: Iterable[CommonConfiguration],
) -> dict[CommonConfiguration, CommonConfiguration]:
    """Return the configuration that each one is taken for.

    A publication may not say its schedule and wait policy. Where only one can be meant, its lines
    stand there.
    """
    every = list(dict.fromkeys(configurations))
    known = [common for common in every if UNKNOWN not in (common.schedule, common.wait_policy)]
    taken = {}
    for common in every:
        possible = [other for other in known if _may_be_same(common, other)]
        taken[common] = possible[0] if len(possible) == 1 else common
    return taken


def _may_be_same(common: CommonConfiguration, known: CommonConfiguration) -> bool:
    is_same = common._replace(schedule=known.schedule, wait_policy=known.wait_policy) == known
    return (
        is_same
        and common.schedule in (UNKNOWN, known.schedule)
        and common.wait_policy in (UNKNOWN, known.wait_policy)
    )


def _by_configuration(
    found: Iterable[tuple[CommonConfiguration, Best]],
    common_of: Mapping[CommonConfiguration, CommonConfiguration],
) -> dict[CommonConfiguration, list[Best]]:
    alike = grouped(found, lambda pair: common_of[pair[0]])
    return {common_of[pairs[0][0]]: [best for _, best in pairs] for pairs in alike}


def _program(table: TableFindings) -> tuple[str, str, str]:
    return table.key.app, table.key.size, table.key.build


def _most_common_programs(
    every: Sequence[Mapping[CommonConfiguration, Sequence[Best]]],
) -> dict[CommonConfiguration, tuple[str, str, str]]:
    """Return the app, size and build that most results have in each; of ties the first.

    Lines of the same work can be compared best.
    """
    counts: dict[CommonConfiguration, Counter[tuple[str, str, str]]] = {}
    for by_configuration in every:
        for common, found in by_configuration.items():
            programs = dict.fromkeys(_program(best.table) for best in found)
            counts.setdefault(common, Counter()).update(programs.keys())
    return {common: count.most_common(1)[0][0] for common, count in counts.items()}


def _most_alike(
    found: Sequence[Best], common: CommonConfiguration, like: tuple[str, str, str]
) -> Best:
    """Return that of the most similar table; of equally similar ones the first."""

    def likeness(best: Best) -> tuple[bool, ...]:
        key = best.table.key
        conditions = key.schedule == common.schedule, key.wait_policy == common.wait_policy
        same = (mine == its for mine, its in zip(_program(best.table), like, strict=True))
        return (*same, *conditions)

    taken = max(found, key=likeness)
    return replace(taken, left_aside=tuple(best.table for best in found if best is not taken))


def _all_best(
    findings: Findings, as_governor: str | None
) -> Iterator[tuple[CommonConfiguration, Best]]:
    def under(case: CaseFinding) -> tuple[str, Settings, str | None]:
        governor = governor_of(case) or as_governor or _UNKNOWN
        return governor, case.summary.key.settings, case.summary.key.co_runner

    for table in findings.tables:
        for cases in grouped(table.cases, under):
            for objective in table.compared_by:
                compared = [case for case in cases if objective in case.comparisons]
                if objective == EDP or not compared:
                    continue
                first = min(compared, key=lambda case: case.comparisons[objective].loss)
                found = Best(table, first, first.comparisons[objective], len(compared))
                common = CommonConfiguration(
                    algorithm_of(table),
                    table.key.threads_label,
                    table.key.region,
                    table.key.schedule,
                    table.key.wait_policy,
                    *under(first),
                    first.summary.key.guest,
                    objective.identity,
                )
                yield common, found


def many_tables(nodes: Sequence[NodeOfMany]) -> list[Table]:
    """Return a table of the results, a line each, and one of each configuration and objective."""
    configurations = list(dict.fromkeys(common for node in nodes for common in node.best))
    return [
        _nodes_table(nodes),
        *(_configuration_table(nodes, common) for common in configurations),
    ]


def _nodes_table(nodes: Sequence[NodeOfMany]) -> Table:
    columns = (
        *(Column(name, right=False) for name in ("", "results", "CPU", "core kinds", "proved")),
        Column("configurations"),
        *(Column(word) for word in _WORDS),
    )
    cells = []
    for letter, node in zip(letters_of(nodes), nodes, strict=True):
        outcomes = [best.comparison.outcome for best in node.best.values()]
        counts = (str(outcomes.count(word)) for word in _WORDS)
        cells.append((letter, *_of_node(node), str(len(node.best)), *counts))
    return Table(
        "Does the best mapping gain over the baseline? By configurations (program, team, "
        "schedule, wait policy, governor, objective)",
        columns,
        tuple(cells),
        tuple(("", note) for note in (*words.BEST_MAPPINGS, *_one_node(nodes))),
    )


def _one_node(nodes: Sequence[NodeOfMany]) -> Iterator[str]:
    """Yield which of the results are of one node, as far as its facts tell."""
    known = [
        (node.node.digest, letter)
        for letter, node in zip(letters_of(nodes), nodes, strict=True)
        if node.node
    ]
    for alike in grouped(known, itemgetter(0)):
        if len(alike) > 1:
            yield words.ONE_NODE.format(letters=", ".join(letter for _, letter in alike))


def letters_of(nodes: Sequence[NodeOfMany]) -> list[str]:
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


def _configuration_table(nodes: Sequence[NodeOfMany], common: CommonConfiguration) -> Table:
    objective = next(
        node.objectives[common.objective] for node in nodes if common.objective in node.objectives
    )
    columns = (
        *(Column(name, right=False) for name in ("", "CPU", "best mapping")),
        Column("ratio"),
        *(Column(name, right=False) for name in ("95 % interval", "outcome")),
    )
    lines = list(zip(letters_of(nodes), nodes, strict=True))
    here = [(letter, node, best) for letter, node in lines if (best := node.best.get(common))]
    missing = [letter for letter, node in lines if common not in node.best]
    notes = [
        *(["more is better"] if objective.higher else []),
        *_unlike(here),
        *(
            f"{letter}: {words.unlike_means(best.comparison)}"
            for letter, _, best in here
            if best.comparison.unlike_means > 1
        ),
        *(
            f"left aside: {letter} {', '.join(map(_in_short, best.left_aside))}"
            for letter, _, best in here
            if best.left_aside
        ),
        *([f"not compared in it: {', '.join(missing)}"] if missing else []),
    ]
    rows = [case.summary for _, _, best in here for case in best.table.cases]
    title = common.title(takes_schedule=not any(row.key.no_schedule for row in rows))
    return Table(
        caption=f"{title}: {objective.noun}",
        columns=columns,
        cells=tuple(starmap(_cells, here)),
        notes=tuple(("", one_line(note)) for note in notes),
        raw_values=tuple(_raw(node, best, common, objective) for _, node, best in here),
    )


def _unlike(here: Sequence[tuple[str, NodeOfMany, Best]]) -> Iterator[str]:
    """Yield in what the programs of a configuration differ, and of which results each is."""
    for key in ("app", "size", "build", "schedule", "wait_policy"):
        values = [(letter, str(getattr(best.table.key, key))) for letter, _, best in here]
        alike = grouped(values, itemgetter(1))
        if len(alike) > 1:
            parts = (f"{', '.join(letter for letter, _ in pairs)} {pairs[0][1]}" for pairs in alike)
            yield f"{key.replace('_', ' ')}: {'; '.join(parts)}"


def _in_short(table: TableFindings) -> str:
    app, size, build = _program(table)
    return f"{app} ({build}) size {size}"


def _cells(letter: str, node: NodeOfMany, best: Best) -> tuple[str, ...]:
    return (
        letter,
        one_line(node.node.cpu_model if node.node else _UNKNOWN),
        one_line(best.case.full_mapping),
        *ratio_cells(best.comparison.difference.ratio, best.interval),
        best.comparison.outcome,
    )


def _raw(
    node: NodeOfMany, best: Best, common: CommonConfiguration, objective: Objective
) -> dict[str, object]:
    return {
        "results": node.name,
        "cpu_model": node.node.cpu_model if node.node else None,
        "core_kinds": node.node.kinds_text if node.node else None,
        "node_digest": node.node.digest if node.node else None,
        "proved": ", ".join(node.days_proved) or None,
        "app": best.table.key.app,
        "build": best.table.key.build,
        "size": best.table.key.size,
        "ranks": best.table.key.ranks,
        "threads": best.table.key.threads,
        "region": common.region,
        "schedule": best.table.key.schedule,
        "wait_policy": best.table.key.wait_policy,
        "governor": common.governor,
        "settings": cell_of_settings(common.settings),
        "co_runner": common.co_runner,
        "objective": str(objective),
        "unit": objective.unit,
        "better": DIRECTIONS[objective.higher],
        "best_mapping": best.case.full_mapping,
        "mappings_compared": best.among,
        "left_aside": "; ".join(map(_in_short, best.left_aside)) or None,
        "ratio": best.comparison.difference.ratio,
        **named_ends("ratio", best.interval),
        "outcome": best.comparison.outcome,
    }


def of_all_nodes(named: Mapping[str, tuple[Results, Cases]]) -> tuple[AllNodes, ...]:
    """Return the one mapping for all nodes of results, by name; none where all are of one node."""
    nodes: dict[Hashable, dict[str, Cases]] = {}
    for name, (results, cases) in named.items():
        nodes.setdefault(_node_of(results, name), {})[name] = cases
    return all_nodes({", ".join(results): tuple(results.values()) for results in nodes.values()})


def _node_of(results: Results, name: str) -> Hashable:
    """Return what is equal for results of one node, another kernel or study on it included.

    Nodes that hide their names, as on cards, are taken for as many as there are results.
    """
    node_id = next((case.key.node_id for case in results.cases), None)
    facts = node_facts(results)
    return (node_id, facts.cpu_model, facts.kinds) if node_id and facts else (node_id or name)


def all_nodes_tables(found: Sequence[AllNodes]) -> list[Table]:
    """Return the tables of time and energy, a line for each mapping, the site's default first."""
    return [_default_table(answer) for answer in found if answer.objective in (TIME, ENERGY)]


def _default_table(found: AllNodes) -> Table:
    where = " in guests" if found.in_guests else ""
    return Table(
        f"{_DEFAULT_TITLE}{where}: {found.objective.noun}",
        _DEFAULT_COLUMNS,
        tuple(_default_cells(default, found) for default in found.defaults),
        tuple(("", one_line(note)) for note in _default_notes(found)),
    )


def _default_cells(default: Default, found: AllNodes) -> tuple[str, ...]:
    compared = str(default.compared)
    if default.compared < found.configurations:
        compared += f" of {found.configurations}"
    return (
        one_line(default.mapping),
        *_loss_cells(default.worst),
        one_line(found.worst_on[default.mapping]),
        *_loss_cells(default.mean),
        compared,
    )


def _loss_cells(loss: Loss) -> tuple[str, str]:
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


def _default_notes(found: AllNodes) -> Iterator[str]:
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
