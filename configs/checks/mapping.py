"""Which mechanism can express which tightness. Facts of the tools, not of a node.

An affinity mask (taskset, numactl) is one set of CPUs that all threads of a program inherit, so
it pins only where there is one thread. likwid-pin gives each thread one CPU. An OpenMP place can
be one CPU or a whole set, `{0,1,2}` (OpenMP 5.2, section 21.1.6, OMP_PLACES). A program that pins
its threads itself gives each one CPU.
"""

from __future__ import annotations

from configs.model import Mapping

EXPRESSED_BY = {
    "none": (),
    "set": ("taskset", "numactl", "omp-places"),
    "pin": ("omp-places", "likwid-pin", "taskset", "numactl", "program"),
}
PINS_ONE_THREAD = ("taskset", "numactl")
# Others have ended before the program's time begins, or are the program's own work. A library of
# likwid-pin's is preloaded, and pins each thread when the program creates it.
WITHIN_THE_RUN = ("likwid-pin",)


def why_contradictory(selection: str, tightness: str, mechanism: str | None) -> tuple[str, str]:
    """Return (key, reason) of what contradicts the rest of a mapping, or two empty texts."""
    if tightness == "none" and selection != "all":
        return "selection", (
            f"tightness 'none' leaves threads on all CPUs, which selection {selection!r} is not; "
            "use selection 'all', or tightness 'set' or 'pin'"
        )
    if selection == "same-cpu" and tightness != "pin":
        return "tightness", (
            f"{tightness!r} cannot put two threads on one CPU, as selection 'same-cpu' says; "
            "use 'pin'"
        )
    if mechanism is None or mechanism in EXPRESSED_BY[tightness]:
        return "", ""
    able = EXPRESSED_BY[tightness]
    if not able:
        return "mechanism", f"tightness {tightness!r} needs no mechanism; leave {mechanism!r} out"
    return "mechanism", f"{mechanism!r} cannot express {tightness!r}; use one of: {', '.join(able)}"


def why_never_pins(mapping: Mapping, threads: tuple[int, ...]) -> str | None:
    """Return why a mapping can pin at none of the thread counts, or None."""
    if mapping.tightness != "pin" or mapping.mechanism not in PINS_ONE_THREAD or 1 in threads:
        return None
    return (
        f"{mapping.mechanism} sets one mask for all threads and so pins one thread only; "
        f"mapping {mapping.name!r} needs 1 among the threads, or another mechanism"
    )
