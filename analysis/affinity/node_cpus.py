"""The CPUs of the node that results are of, by kind, from the file beside the records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.results.files import read_node
from analysis.results.sources import Results
from base.cpulist import parse_cpulist
from base.text import one_line


@dataclass(frozen=True)
class NodeCpus:
    """Which kind each CPU is of; empty where nobody knows.

    `order` has the kinds' names, best first; `allowed` are the CPUs that the study's process had.
    """

    kind: Mapping[int, str]
    order: tuple[str, ...] = ()
    allowed: tuple[int, ...] = ()

    def kinds_of(self, cpus: str | None) -> tuple[str, ...]:
        """Return the kinds of a list of CPUs, best first; empty where one is not known."""
        numbers = cpus_of(cpus)
        if not numbers or not all(cpu in self.kind for cpu in numbers):
            return ()
        found = {self.kind[cpu] for cpu in numbers}
        return tuple(name for name in self.order if name in found)


def node_cpus(results: Results) -> NodeCpus:
    """Return the CPUs of the results' node; nothing of results of several nodes, or of none."""
    if results.runs is None or results.folder is None:
        return NodeCpus({})
    digests = [str(value) for value in results.runs.frame["node_digest"].dropna().unique()]
    if len(digests) != 1:
        return NodeCpus({})
    node = read_node(results.folder, digests[0])
    topology = node.get("topology") if node else None
    if not isinstance(topology, dict):
        return NodeCpus({})
    found = topology.get("kinds")
    kinds = {
        one_line(kind["name"]): cpus_of(kind.get("cpus"))
        for kind in (found if isinstance(found, list) else ())
        if isinstance(kind, dict) and isinstance(kind.get("name"), str)
    }
    of_cpus = {cpu: name for name, cpus in kinds.items() for cpu in cpus}
    return NodeCpus(of_cpus, tuple(kinds), cpus_of(topology.get("allowed")))


def cpus_of(text: object) -> tuple[int, ...]:
    """Return the CPUs of a list in a file; nothing for what is no list."""
    try:
        return parse_cpulist(text) if isinstance(text, str) else ()
    except ValueError:
        return ()
