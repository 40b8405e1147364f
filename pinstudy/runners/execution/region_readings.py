"""The fields of a record that tell of a program's regions, from what was seen at their marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pinstudy.base.reading import Reading, Unavailable
from pinstudy.runners.execution.region_marks import SeenRegions
from pinstudy.runners.measure.regions import Region
from pinstudy.runners.records.energy import domain_fields, run_figures
from pinstudy.runners.records.perf.counters import no_counters
from pinstudy.runners.records.perf.output import PerfOutput, parse_perf_output

# Returns the counter fields of the parts of a run.
ReadCounters = Callable[[Sequence[PerfOutput]], Reading]


@dataclass(frozen=True)
class RegionSources:
    """Where the figures of regions come from.

    `counters` are None where perf counted nothing, for the reason `no_counters`. `energy_problems`
    are by domain; `idle_power_w` is that of the case.
    """

    counters: ReadCounters | None
    no_counters: str
    energy_problems: Mapping[str, str]
    idle_power_w: float | Unavailable


def no_regions(names: Iterable[str], reason: str) -> Reading:
    """Return the reading of a run whose regions are not measured, for one reason."""
    return Reading({}, {f"regions.{name}": reason for name in names})


def read_regions(seen: SeenRegions, sources: RegionSources) -> Reading:
    """Return `regions`, an object by name, and `region_marks`, what marking took.

    A region has `executions`, `elapsed_s`, the fields of energy, counters and temperature that a
    run has, each where it was measured, and `unavailable` with reasons for the others.
    """
    regions = seen.regions
    found = Reading()
    measured: dict[str, Any] = {}
    for name in regions.names:
        region = regions.region(name)
        if isinstance(region, str):
            found.unavailable[f"regions.{name}"] = region
        else:
            reading = _of_region(region, seen, sources)
            measured[name] = reading.fields | {"unavailable": reading.unavailable}
    if measured:
        found.fields["regions"] = measured
    found.fields["region_marks"] = {
        "marks": regions.marks,
        "cost_s": regions.cost_s,
        "longest_s": seen.longest_s,
    }
    if regions.unknown:
        found.fields["region_marks"]["unknown"] = regions.unknown
    return found


def _of_region(region: Region, seen: SeenRegions, sources: RegionSources) -> Reading:
    elapsed_s = region.elapsed_s
    reading = Reading({"executions": region.executions, "elapsed_s": elapsed_s})
    if (mark_s := seen.regions.mark_s) is not None:
        reading.fields["mark_s"] = mark_s
    first_c, last_c = region.temperatures_c
    for name, of in (("temperature_before_c", first_c), ("temperature_after_c", last_c)):
        if of:
            reading.fields[name] = dict(of)
    energy = domain_fields(region.joules, sources.energy_problems, elapsed_s, "powercap")
    energy |= run_figures(energy, elapsed_s, sources.idle_power_w)
    return reading | _counts(region, seen, sources) | energy


def _counts(region: Region, seen: SeenRegions, sources: RegionSources) -> Reading:
    if sources.counters is None:
        return no_counters(sources.no_counters)
    if region.parts_problem:
        return no_counters(region.parts_problem)
    for part in region.parts:
        if problem := seen.perf_problems.get(part):
            return no_counters(problem)
    return sources.counters([parse_perf_output(seen.perf_outputs[of]) for of in region.parts])
