"""The CPUs of each thread of a team, as sampled from the kernel while it ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pinstudy.analysis.affinity.timed_cases import Section, cases_of, column_means, title_of
from pinstudy.analysis.format.numbers import NOTHING, mean_count, percent
from pinstudy.analysis.format.table import Column, Written, table_of
from pinstudy.analysis.records.gathered import THREADMAP
from pinstudy.analysis.records.metrics import METRIC
from pinstudy.analysis.results.node_files import NodeCpus, cpus_of, node_cpus
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import CaseFinding, Findings
from pinstudy.analysis.words import experiments as words
from pinstudy.base.cpulist import MAX_CPU, format_cpulist
from pinstudy.base.text import one_line

# Threads times CPUs: a node with 2048 of each. Beyond that no file is believed.
MAX_CELLS = 1 << 22


@dataclass(frozen=True)
class TeamThread:
    """A thread: its last affinity mask, ascending, and the number of samples on each CPU."""

    allowed: tuple[int, ...]
    seen: Mapping[int, int]


@dataclass(frozen=True)
class Team:
    """The threads of a case in the order of their creation, over its good `runs`.

    `moves` is how often a run's threads were seen on another CPU than before, on average, as the
    program counted it; None where it did not. `node` has the kinds of the CPUs.
    """

    case: CaseFinding
    threads: tuple[TeamThread, ...]
    runs: int
    moves: float | None
    node: NodeCpus

    @property
    def seen(self) -> Mapping[int, int]:
        """The number of samples of all threads on each CPU."""
        return sum((Counter(thread.seen) for thread in self.threads), Counter())

    @property
    def masks(self) -> list[tuple[int, ...]]:
        """The sets of CPUs that threads were allowed, each once."""
        return list({id(thread.allowed): thread.allowed for thread in self.threads}.values())

    @property
    def allowed(self) -> tuple[int, ...]:
        """The CPUs that at least one of the threads was allowed."""
        return tuple(sorted({cpu for mask in self.masks for cpu in mask}))

    @property
    def single(self) -> int:
        """How many threads were allowed one CPU only."""
        return sum(len(thread.allowed) == 1 for thread in self.threads)

    @property
    def free(self) -> bool:
        """Whether a thread was allowed every CPU that the study's process had, and these several.

        Where the node's file does not tell these they are taken for all that any thread had.
        """
        every = set(self.node.allowed or self.allowed)
        return len(every) > 1 and any(every <= set(mask) for mask in self.masks)

    @property
    def oversubscribed(self) -> bool:
        """Whether not every thread could have a CPU of its own."""
        if len(self.allowed) < len(self.threads):
            return True
        edges = sum(len(thread.allowed) for thread in self.threads)
        if edges > MAX_CELLS:
            return False
        # A tenth of a second of imports, which results without this experiment do not need.
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import maximum_bipartite_matching

        rows = np.repeat(np.arange(len(self.threads)), [len(t.allowed) for t in self.threads])
        cpus = [cpu for thread in self.threads for cpu in thread.allowed]
        shape = (len(self.threads), MAX_CPU + 1)
        graph = csr_matrix((np.ones(edges, dtype=bool), (rows, cpus)), shape)
        return bool((maximum_bipartite_matching(graph, perm_type="column") < 0).any())

    @property
    def split(self) -> Mapping[str, int]:
        """How many threads were bound to each core kind, best first.

        Empty unless each was bound within one kind, and they not all to the same.
        """
        of_threads = Counter(
            frozenset(self.node.kind.get(cpu) for cpu in thread.allowed) for thread in self.threads
        )
        counts = {kind: of_threads[frozenset([kind])] for kind in self.node.order}
        split = {kind: count for kind, count in counts.items() if count}
        return split if len(split) > 1 and sum(split.values()) == len(self.threads) else {}

    @property
    def shares(self) -> Mapping[str, float]:
        """The share of looks on each core kind, best first; empty where a kind is not known."""
        seen = self.seen
        if not seen or not all(cpu in self.node.kind for cpu in seen):
            return {}
        looks = Counter[str]()
        for cpu, count in seen.items():
            looks[self.node.kind[cpu]] += count
        total = sum(looks.values())
        return {kind: looks[kind] / total for kind in self.node.order if kind in looks}


def teams(results: Results, findings: Findings) -> list[Team]:
    """Return the teams of the cases of `threadmap` that have a good run with its threads."""
    cases = cases_of(findings, THREADMAP)
    if not cases or results.runs is None:
        return []
    node = node_cpus(results)
    moves = column_means(results, cases, METRIC.format("moves"))
    masks = _Masks()
    looks = ((case, results.runs.team_looks.of(case.case_id)) for case in cases)
    return [
        Team(
            case,
            tuple(TeamThread(masks[thread.allowed], thread.seen) for thread in seen.threads),
            seen.runs,
            moves.get(case.case_id),
            node,
        )
        for case, seen in looks
        if seen is not None
    ]


class _Masks(dict[str, tuple[int, ...]]):
    """Lists of CPUs as tuples, of which equal lists share one; of too many the rest are empty."""

    cells = 0

    def __missing__(self, text: str) -> tuple[int, ...]:
        """Return the CPUs of a list, and keep them."""
        self[text] = cpus_of(text) if self.cells <= MAX_CELLS else ()
        self.cells += len(self[text])
        return self[text]


def team_section(found: Sequence[Team]) -> Section:
    """Return the section on the teams of one table: what threads were allowed, where they were."""
    bindings = Counter(map(binding_found, found))
    note = ", ".join(f"{count} {binding}" for binding, count in bindings.items())
    return Section(title_of(found[0].case), table_of(_CAPTION, _COLUMNS, found, [note]))


def binding_found(team: Team) -> str:
    """Return the class of a team: the first that is true of it."""
    if team.oversubscribed:
        return "oversubscribed"
    if team.free:
        return "free"
    return "split across kinds" if team.split else "bound"


def _by_kind(values: Mapping[str, object]) -> str:
    return one_line(", ".join(f"{kind} {value}" for kind, value in values.items())) or NOTHING


_CAPTION = "what threads were allowed, and where they were seen"
_COLUMNS: tuple[Written[Team], ...] = (
    (Column("mapping", right=False), lambda team: words.row(team.case)),
    (Column("binding", right=False), binding_found),
    (Column("threads"), lambda team: str(len(team.threads))),
    (Column("with one CPU", "threads"), lambda team: str(team.single)),
    (Column("sets of CPUs"), lambda team: str(len(team.masks))),
    (Column("CPUs allowed", right=False), lambda team: format_cpulist(team.allowed) or NOTHING),
    (Column("threads by kind", right=False), lambda team: _by_kind(team.split)),
    (Column("CPUs seen"), lambda team: str(len(team.seen))),
    (
        Column("looks by kind", right=False),
        lambda team: _by_kind({kind: percent(share) for kind, share in team.shares.items()}),
    ),
    (
        Column("moves", "a run"),
        lambda team: NOTHING if team.moves is None else mean_count(team.moves),
    ),
)
