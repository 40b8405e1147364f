"""Whether perf samples which cache lines cores take from each other: `perf c2c`."""

from __future__ import annotations

from collections.abc import Iterator

from runners.doctor.asked_node import AskedNode
from runners.doctor.capability import Capability
from runners.doctor.counting import LASTING, LET_USERS_COUNT, no_perf, pmu_grant
from runners.measure.perf.c2c import NEEDS, try_c2c
from runners.measure.perf.pmus import read_core_pmus


def probe_c2c(node: AskedNode) -> Iterator[Capability]:
    """Record a moment of `true`, as studies that collect c2c record their cases."""
    if node.perf is None:
        yield no_perf(node, "perf-c2c")
        return
    trial = try_c2c(node.perf, node.root)
    if not trial.problem:
        what = "user space" if trial.modes else "user space and the kernel's own accesses"
        yield Capability("perf-c2c", "ok", f"samples accesses of {what}")
    elif trial.problem.startswith(NEEDS):
        yield Capability("perf-c2c", "missing", trial.problem, LET_USERS_COUNT, LASTING)
    else:
        grant = pmu_grant(node) if node.guest and not read_core_pmus(node.root) else ""
        yield Capability("perf-c2c", "missing", trial.problem, grant)
