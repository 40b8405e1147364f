"""Latency files of made-up nodes: planted structures, noise, missing pairs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pinstudy.base.cpulist import format_cpulist

Array = NDArray[np.float64]
Cpus = Sequence[int]


@dataclass(frozen=True)
class Planted:
    """A node: cores by kind, caches, packages, and how far CPUs are from each other.

    `near` are (CPUs of a group, ns between them), larger groups first; `towards` (CPUs, CPUs, ns)
    between two sets. What the kernel tells stands apart from it, and may differ.
    """

    cpus: int
    far_ns: float
    near: tuple[tuple[Cpus, float], ...] = ()
    towards: tuple[tuple[Cpus, Cpus, float], ...] = ()
    kinds: dict[str, Cpus] = field(default_factory=dict)
    cores: tuple[Cpus, ...] = ()
    l2: tuple[Cpus, ...] = ()
    l3: tuple[Cpus, ...] = ()
    packages: tuple[Cpus, ...] = ()

    def ns(self) -> Array:
        """Return the true latencies, NaN on the diagonal."""
        matrix = np.full((self.cpus, self.cpus), self.far_ns)
        for some, others, ns in self.towards:
            matrix[np.ix_(some, others)] = ns
            matrix[np.ix_(others, some)] = ns
        for group, ns in self.near:
            matrix[np.ix_(group, group)] = ns
        np.fill_diagonal(matrix, np.nan)
        return matrix

    def topology(self) -> dict[str, Any]:
        """Return what the kernel tells of the node, as topology_json writes it."""
        every = range(self.cpus)
        kinds = self.kinds or {"P": every}
        paired = {cpu for core in self.cores for cpu in core}
        cores = sorted(
            [list(core) for core in self.cores] + [[c] for c in every if c not in paired]
        )
        packages = self.packages or (every,)
        return {
            "kinds": [
                {"name": kind, "cpus": format_cpulist(cpus), "evidence": "made up for a test"}
                for kind, cpus in kinds.items()
            ],
            "cores": [
                {
                    "cpus": format_cpulist(core),
                    "kind": next(kind for kind, cpus in kinds.items() if core[0] in cpus),
                    "package": next(n for n, cpus in enumerate(packages) if core[0] in cpus),
                }
                for core in cores
            ],
            "caches": [
                {"level": level, "size_bytes": None, "cpus": format_cpulist(group)}
                for level, groups in ((2, self.l2), (3, self.l3))
                for group in groups
            ],
            "numa": [{"node": n, "cpus": format_cpulist(cpus)} for n, cpus in enumerate(packages)],
            "online": format_cpulist(every),
            "offline": "",
            "allowed": format_cpulist(every),
            "notes": [],
        }


def content_of(
    planted: Planted,
    medians: Array | None = None,
    *,
    samples: int = 5,
    addresses: int = 2,
    spread: float = 0.02,
    seed: int = 1,
    cpus: Iterable[int] | None = None,
) -> dict[str, Any]:
    """Return a latency file's content: each pair in both directions on each address.

    `spread` is how far the runs of a pair scatter, and the samples of a run.
    """
    ns = planted.ns() if medians is None else medians
    rng = np.random.default_rng(seed)
    chosen = sorted(range(planted.cpus) if cpus is None else cpus)
    pairs, left_out = [], []
    for at, a in enumerate(chosen):
        for b in chosen[at + 1 :]:
            if np.isnan(ns[a, b]):
                left_out.append({"cpus": [a, b], "reason": "made missing for a test"})
                continue
            pairs.append({"cpus": [a, b], "runs": _runs(a, b, ns, addresses, samples, spread, rng)})
    return {
        **{"schema": 1, "kind": "latency", "node_id": "made", "node_digest": "0" * 64},
        "boot_id": "00000000-0000-0000-0000-000000000000",
        "started_at": "2026-01-02T03:04:05+00:00",
        **{"elapsed_s": 12.5, "method": "cas", "plan": "all", "precision": None, "seed": seed},
        "pairs_of_node": planted.cpus * (planted.cpus - 1) // 2,
        **{"samples_least": samples, "addresses": addresses, "topology": planted.topology()},
        **{"governor": "performance", "versions": {}, "unavailable": {}},
        **{"pairs": pairs, "left_out": left_out},
    }


def _runs(
    a: int, b: int, ns: Array, addresses: int, samples: int, spread: float, rng: np.random.Generator
) -> list[dict[str, Any]]:
    runs = []
    for address in range(addresses):
        for start, end in ((a, b), (b, a)):
            centre = ns[start, end] * np.exp(rng.normal(0, spread))
            times = centre * np.exp(rng.normal(0, spread, samples))
            sent = {"from": start, "to": end, "address": address, "round_trips": 2000}
            one_way_ns = [round(float(time), 3) for time in times]
            runs.append(sent | {"one_way_ns": one_way_ns, "switched": 0})
    return runs


def write_latency_file(folder: Path, content: dict[str, Any]) -> Path:
    path = folder / "latency.json"
    path.write_text(json.dumps(content))
    return path


def every(first: int, end: int) -> list[int]:
    """Return the CPUs from `first` to before `end`."""
    return list(range(first, end))


_P, _E = every(0, 16), every(16, 32)
_PAIRED = tuple([2 * i, 2 * i + 1] for i in range(8))
_MODULES = tuple(every(16 + 4 * i, 20 + 4 * i) for i in range(4))
_SERVER_CORES = tuple([i, i + 128] for i in range(128))


def _both(first: int, end: int) -> list[int]:
    """Return the CPUs of a server's cores, siblings included."""
    return every(first, end) + every(first + 128, end + 128)


# As i9-14900K: eight P-cores with siblings, sixteen E-cores in modules of four.
_HYBRID = Planted(
    32,
    48.0,
    ((_P, 32.0), *((pair, 6.0) for pair in _PAIRED), *((m, 28.0) for m in _MODULES)),
    ((_P, _E, 40.0),),
    kinds={"P": _P, "E": _E},
    cores=_PAIRED,
    l2=(*_PAIRED, *_MODULES),
    l3=(every(0, 32),),
)
PLANTED = {
    "two": Planted(2, 60.0),
    "alike": Planted(24, 60.0),
    "smt": Planted(
        16,
        40.0,
        tuple(([i, i + 8], 8.0) for i in range(8)),
        cores=tuple([i, i + 8] for i in range(8)),
    ),
    "modules": Planted(
        16,
        45.0,
        tuple((every(4 * i, 4 * i + 4), 30.0) for i in range(4)),
        kinds={"E": every(0, 16)},
        l2=tuple(every(4 * i, 4 * i + 4) for i in range(4)),
        l3=(every(0, 16),),
    ),
    "complexes": Planted(
        16, 80.0, ((every(0, 8), 25.0), (every(8, 16), 25.0)), l3=(every(0, 8), every(8, 16))
    ),
    "packages": Planted(
        32,
        130.0,
        (
            (every(0, 8) + every(16, 24), 50.0),
            (every(8, 16) + every(24, 32), 50.0),
            *(([i, i + 16], 8.0) for i in range(16)),
        ),
        cores=tuple([i, i + 16] for i in range(16)),
        packages=(every(0, 8) + every(16, 24), every(8, 16) + every(24, 32)),
    ),
    "hybrid": _HYBRID,
    # The modules of E-cores share an L2, and are no nearer for it.
    "hybrid-denied": replace(_HYBRID, far_ns=50.0, near=_HYBRID.near[: 1 + len(_PAIRED)]),
    "server": Planted(
        256,
        180.0,
        (
            (_both(0, 64), 90.0),
            (_both(64, 128), 90.0),
            *((_both(8 * i, 8 * i + 8), 25.0) for i in range(16)),
            *((pair, 6.0) for pair in _SERVER_CORES),
        ),
        cores=_SERVER_CORES,
        l2=_SERVER_CORES,
        l3=tuple(_both(8 * i, 8 * i + 8) for i in range(16)),
        packages=(_both(0, 64), _both(64, 128)),
    ),
}
