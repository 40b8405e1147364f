"""The latencies by how near the kernel says that two CPUs are: what a few pairs of each tell."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.latency.model import Latency
from runners.latency.pairs import RELATIONS, kinds_of_pairs, relations


@dataclass(frozen=True)
class Nearness:
    """Measured pairs of one relation (`SMT siblings` … `different packages`) between two kinds.

    `kinds` are as `P`, or `P and E`. The times are the pairs' medians, in ns.
    """

    relation: str
    kinds: str
    pairs: int
    median_ns: float
    least_ns: float
    most_ns: float


def find_nearness(latency: Latency) -> list[Nearness]:
    """Return the measured pairs by relation and kinds, nearest relations first."""
    relation, kinds = relations(latency.topology), kinds_of_pairs(latency.topology)
    found: dict[tuple[str, str], list[float]] = {}
    pairs = latency.pairs
    for a, b, ns in zip(pairs["a"], pairs["b"], pairs["median_ns"], strict=True):
        found.setdefault((relation(a, b), kinds(a, b)), []).append(ns)
    order = sorted(found, key=lambda key: (RELATIONS.index(key[0]), key[1]))
    return [
        Nearness(*key, len(ns), float(np.median(ns)), min(ns), max(ns))
        for key in order
        for ns in [found[key]]
    ]
