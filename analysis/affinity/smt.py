"""SMT sharing: how much slower a thread is beside another one, by where the other one is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.affinity.experiments import SMT
from analysis.affinity.measured import Against, Measured, by_setting, compared, measured_cases
from analysis.affinity.node_cpus import NodeCpus, kinds_of_case, node_cpus
from analysis.affinity.published import Published, published_for
from analysis.findings import Findings
from analysis.sources import Results
from analysis.verdict.phrases import leaves_all


@dataclass(frozen=True)
class Shared:
    """A case: the time of a thread for its array in ms, `against` one thread alone.

    `against` names the cases of one thread: that on a core of the same kind; for threads on two
    kinds of core one of each, whose mean time is taken. `kinds` are those of the case's CPUs,
    empty where nobody knows them.
    """

    measured: Measured
    kinds: tuple[str, ...]
    against: Against | None
    published: Published | None

    @property
    def alone(self) -> bool:
        """Whether this is one thread without another."""
        return self.measured.threads == 1


@dataclass(frozen=True)
class Sharing:
    """The cases of one workload, build and governor: one thread first, then two."""

    rows: tuple[Shared, ...]


def sharing(results: Results, findings: Findings) -> list[Sharing]:
    """Return the SMT experiments of results; all their comparisons are tested together."""
    node = node_cpus(results)
    groups = [
        sorted(setting, key=lambda case: case.threads)
        for setting in by_setting(measured_cases(results, findings, SMT))
    ]
    pairs = [
        (case, _alone(case, group, node)) for group in groups for case in group if case.threads > 1
    ]
    found = iter(compared(pairs, findings.margin))
    return [
        Sharing(
            tuple(
                Shared(
                    case,
                    kinds_of_case(case.case, node),
                    next(found) if case.threads > 1 else None,
                    published_for(SMT, case.case),
                )
                for case in group
            )
        )
        for group in groups
    ]


def _alone(case: Measured, group: Sequence[Measured], node: NodeCpus) -> tuple[Measured, ...]:
    """Return the one thread, or the one of each kind, that a case is compared with.

    A case that is left to the scheduler is compared with one thread that is left to it as well.
    """
    solos = [one for one in group if one.threads == 1 and one.values is not None]
    free = [one for one in solos if leaves_all(one.case.facts)]
    if leaves_all(case.case.facts):
        return tuple(free[:1])
    pinned = [one for one in solos if one.case.facts["binding"] == "pin"]
    kinds = kinds_of_case(case.case, node)
    if not kinds:
        # On a node whose kinds nobody knows only the same selection is surely of the same kind.
        same = [
            one for one in pinned if one.case.facts["selection"] == case.case.facts["selection"]
        ]
        return tuple(same[:1])
    of_kinds = [
        next((one for one in pinned if kinds_of_case(one.case, node) == (kind,)), None)
        for kind in kinds
    ]
    known = tuple(one for one in of_kinds if one is not None)
    return known if len(known) == len(kinds) else ()
