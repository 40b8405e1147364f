"""Who ran where: the CPUs of each thread of a team, as the kernel told while it ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from analysis.affinity.experiments import THREADMAP, cases_of
from analysis.affinity.measured import column_means
from analysis.affinity.node_cpus import NodeCpus, cpus_of, node_cpus
from analysis.fields import METRIC
from analysis.findings import CaseFinding, Findings
from analysis.sources import Results
from configs.cpulist import MAX_CPU
from runners.shards import read_records
from runners.statuses import OK

# A results folder of this study has some hundred; of others no record is looked at.
MOST_RECORDS = 10_000
# More threads of a run than that are no team of a node.
MOST_THREADS = 8192


@dataclass(frozen=True)
class TeamThread:
    """A thread: the CPUs that it was last allowed, ascending, and how many looks found it where."""

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
        """How many looks found any of the threads on each CPU."""
        return sum((Counter(thread.seen) for thread in self.threads), Counter())

    @property
    def allowed(self) -> tuple[int, ...]:
        """The CPUs that at least one of the threads was allowed."""
        return tuple(sorted({cpu for thread in self.threads for cpu in thread.allowed}))

    @property
    def bound(self) -> int:
        """How many threads were allowed one CPU only."""
        return sum(len(thread.allowed) == 1 for thread in self.threads)

    @property
    def oversubscribed(self) -> bool:
        """Whether the threads had fewer CPUs than there are threads, or two were bound to one."""
        single = [thread.allowed for thread in self.threads if len(thread.allowed) == 1]
        return len(self.allowed) < len(self.threads) or len(set(single)) < len(single)

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
    if not cases or results.folder is None or results.runs is None:
        return []
    node = node_cpus(results)
    moves = column_means(results, cases, METRIC.format("moves"))
    runs: dict[str, list[list[TeamThread]]] = {}
    for record in islice(read_records(results.folder / "records"), MOST_RECORDS):
        case_id = record.get("case_id")
        if isinstance(case_id, str) and _is_good(record):
            threads = list(_threads(record))
            if threads:
                runs.setdefault(case_id, []).append(threads)
    return [
        _team(case, runs[case.case_id], moves.get(case.case_id), node)
        for case in cases
        if case.case_id in runs
    ]


def _is_good(record: Mapping[str, Any]) -> bool:
    good = record.get("status") == OK and record.get("warmup") is not True
    return good and record.get("app") == THREADMAP


def _threads(record: Mapping[str, Any]) -> Iterator[TeamThread]:
    """Yield the program's own threads; what is none in a record is passed over."""
    placement = record.get("placement")
    threads = placement.get("threads") if isinstance(placement, dict) else None
    for thread in threads[:MOST_THREADS] if isinstance(threads, list) else ():
        if isinstance(thread, dict) and thread.get("process", 0) == 0:
            yield TeamThread(cpus_of(thread.get("allowed")), dict(_seen(thread.get("seen"))))


def _seen(value: object) -> Iterator[tuple[int, int]]:
    for cpu, looks in value.items() if isinstance(value, dict) else ():
        known = cpu.isascii() and cpu.isdigit() and len(cpu) < 6 and int(cpu) <= MAX_CPU
        if known and type(looks) is int and 0 < looks < 2**53:
            yield int(cpu), looks


def _team(
    case: CaseFinding, runs: Sequence[Sequence[TeamThread]], moves: float | None, node: NodeCpus
) -> Team:
    """Return what the runs of a case with as many threads as most of them say together."""
    size = Counter(len(threads) for threads in runs).most_common(1)[0][0]
    alike = [threads for threads in runs if len(threads) == size]
    together = tuple(
        TeamThread(of_thread[-1].allowed, sum((Counter(t.seen) for t in of_thread), Counter()))
        for of_thread in zip(*alike, strict=True)
    )
    return Team(case, together, len(alike), moves, node)
