"""What CPUs that the kernel treats apart did to results: isolated ones, those without a tick."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from pinstudy.analysis.results.case import Case
from pinstudy.base.cpulist import named_cpus, parse_cpulist
from pinstudy.runners.records.node_file import NodeFile


def isolation_footnotes(nodes: Iterable[NodeFile], cases: Sequence[Case]) -> Iterator[str]:
    """Yield what isolated CPUs and those without a tick did to cases, by the nodes' files.

    Plans leave such cases out; older ones did not.
    """
    isolated, tickless = set[int](), set[int]()
    for node in nodes:
        isolated |= _cpus(node.isolated)
        tickless |= _cpus(node.topology.nohz_full if node.topology else "")
    if isolated:
        are = f"{named_cpus(isolated)} {_are(isolated)} isolated (isolcpus, or a cpuset partition)"
        if stuck := [case.key.mapping for case in cases if _is_stuck(case, isolated)]:
            over = ", ".join(dict.fromkeys(stuck))
            yield (
                f"{are}: the kernel moves no threads onto or between them. So what pinning gains "
                f"over {over} here is the doing of the isolation, too"
            )
        else:
            yield f"{are}: the OS scheduler and sets of CPUs have the others alone"
    if tickless:
        yield (
            f"{named_cpus(tickless)} {_are(tickless)} without the timer's tick where one thread "
            "runs (nohz_full): mappings on these CPUs differ from those on others by that, too"
        )


def _are(cpus: Iterable[int]) -> str:
    return "is" if len(set(cpus)) == 1 else "are"


def _is_stuck(case: Case, isolated: set[int]) -> bool:
    """Whether a case's threads were to move over CPUs of which some are isolated."""
    if case.key.binding not in ("none", "set") or not case.has_runs or case.key.table.guest_size:
        return False
    cpus = _cpus(case.key.cpus)
    return len(cpus) > 1 and not cpus.isdisjoint(isolated)


def _cpus(text: str | None) -> set[int]:
    try:
        return set(parse_cpulist(text or ""))
    except ValueError:
        return set()
