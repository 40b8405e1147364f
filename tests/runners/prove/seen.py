"""What a run on a hybrid node shows, for judges: perf's rows as perf prints them, and the work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinstudy.runners.node.topology import CoreKind
from pinstudy.runners.prove.bench import Seen
from pinstudy.runners.prove.counting import KindRuns
from pinstudy.runners.records.perf.counters import read_counters
from pinstudy.runners.records.perf.output import parse_perf_output

P = CoreKind("P", (0, 1, 2, 3), "a test's")
E = CoreKind("E", (4, 5, 6, 7), "a test's")
KINDS = {"cpu_core": ("P",), "cpu_atom": ("E",)}
# A clock of 4 GHz on P, of 2 GHz on E, and one addition a cycle.
GHZ = {"cpu_core": 4.0, "cpu_atom": 2.0}


def rows(on_ns: Mapping[str, int], counts: Mapping[tuple[str, str], float]) -> str:
    """Return perf's rows of a run that was so long on each PMU's CPUs.

    perf extrapolates each count to the whole run.
    """
    whole = sum(on_ns.values())
    lines = [f"{whole / 1e6};msec;task-clock;{whole};100.00;;"]
    for (pmu, event), value in counts.items():
        running = on_ns.get(pmu, 0)
        printed = f"{value * whole / running:.0f}" if running else "<not counted>"
        share = 100 * running // whole
        lines.append(f"{printed};;{pmu}/{event}/;{running};{share}.00;;")
    return "\n".join(lines) + "\n"


def seen(
    on_ns: Mapping[str, int],
    counts: Mapping[tuple[str, str], float] | None = None,
    printed: Mapping[str, float] | None = None,
    **fields: Any,  # noqa: ANN401 - any field of a record
) -> Seen:
    """Return a run; without `counts`, cycles are those of the clocks and as many instructions."""
    if counts is None:
        counts = {
            (pmu, event): on_ns.get(pmu, 0) * GHZ[pmu]
            for pmu in KINDS
            for event in ("cycles", "instructions")
        }
    reading = read_counters(parse_perf_output(rows(on_ns, counts)), KINDS)
    return Seen(reading.fields | fields, reading.unavailable, printed or {})


def chain(pmu: str, seconds: float = 1.0, ghz: float | None = None) -> Seen:
    """Return a run of additions on a CPU of a PMU."""
    clock = GHZ[pmu] if ghz is None else ghz
    additions = clock * seconds * 1e9
    on_ns = {pmu: round(seconds * 1e9)}
    counts = {(name, "cycles"): additions if name == pmu else 0.0 for name in KINDS}
    counts |= {(name, "instructions"): additions * 1.02 if name == pmu else 0.0 for name in KINDS}
    printed = {
        "additions": additions,
        "instructions": round(additions * 1.02),
        "adding_s": seconds,
        "elapsed_s": seconds,
    }
    return seen(on_ns, counts, printed)


def of_kind(pmu: str, of_chain: Seen | None = None, kernel_ghz: float | None = None) -> KindRuns:
    """Return the runs on a kind: an empty one of 0.1 ms, and additions."""
    kind = P if pmu == "cpu_core" else E
    empty = chain(pmu, 1e-4)
    khz = None if kernel_ghz is None else kernel_ghz * 1e6
    return KindRuns(
        kind, kind.cpus[0], kind.cpus[-1], empty, of_chain or started(chain(pmu), empty), (), khz
    )


def started(of_chain: Seen, empty: Seen) -> Seen:
    """Return a run whose counters have a program's start, that of `empty`, as well."""
    counters = [
        row | {"value": row["value"] + start["value"]}
        for row, start in zip(of_chain.fields["counters"], empty.fields["counters"], strict=True)
    ]
    totals = {
        name: of_chain.fields[name] + empty.fields[name] for name in ("cycles", "instructions")
    }
    fields = {**of_chain.fields, "counters": counters, **totals}
    return Seen(fields, of_chain.unavailable, of_chain.printed)
