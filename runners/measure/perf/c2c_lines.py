"""From sampled memory accesses to contended cache lines: which, how often, by which CPUs. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from runners.measure.perf.c2c_samples import UNKNOWN, MemorySample

# Only the lines with most HITM are kept; the others have too few to matter.
MAX_LINES = 50
MAX_SYMBOLS = 5


@dataclass
class _Line:
    stores: int = 0
    cpus: Counter[int] = field(default_factory=Counter)
    symbols: Counter[str] = field(default_factory=Counter)

    def add(self, sample: MemorySample) -> None:
        self.stores += sample.store
        self.cpus[sample.cpu] += 1
        if sample.symbol != UNKNOWN:
            self.symbols[sample.symbol] += 1


def contended_lines(
    samples: Callable[[], Iterator[MemorySample]], line_bytes: int
) -> dict[str, Any]:
    """Return `sampled`, `lines` and `lines_left_out`, as docs/c2c.md describes them.

    `samples` gives the same samples each time it is called. They are read twice, so that accesses
    are collected only for the few lines that matter. All numbers are counts of samples. Raises what
    `samples` raises.
    """
    sampled: Counter[str] = Counter()
    local: Counter[int] = Counter()
    remote: Counter[int] = Counter()
    for sample in samples():
        sampled["samples"] += 1
        sampled["loads"] += sample.load
        sampled["stores"] += sample.store
        # An access without an address belongs to no line.
        if sample.address and sample.hitm:
            (local if sample.hitm == "local" else remote)[sample.address // line_bytes] += 1
    hitm = local + remote
    kept = sorted(hitm, key=lambda line: (-hitm[line], line))[:MAX_LINES]
    details = {line: _Line() for line in kept}
    for sample in samples() if kept else ():
        detail = details.get(sample.address // line_bytes)
        if detail and sample.address and (sample.load or sample.store):
            detail.add(sample)
    return {
        "sampled": {name: sampled[name] for name in ("samples", "loads", "stores")}
        | {
            "hitm": hitm.total(),
            "local_hitm": local.total(),
            "remote_hitm": remote.total(),
        },
        "lines": [
            {
                "address": f"{line * line_bytes:#x}",
                "hitm": hitm[line],
                "local_hitm": local[line],
                "remote_hitm": remote[line],
                "stores": details[line].stores,
                "cpus": {str(cpu): details[line].cpus[cpu] for cpu in sorted(details[line].cpus)},
                "symbols": [name for name, _ in details[line].symbols.most_common(MAX_SYMBOLS)],
            }
            for line in kept
        ],
        "lines_left_out": len(hitm) - len(kept),
    }
