"""What `pinstudy demo` found: four effects of a thread placement, and who ran where.

Each is a row of numbers, or the reason why there are none; `pinstudy.analysis.words.demo` has its
words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pinstudy.analysis.affinity.experiments import Affinity, Sharing, affinity
from pinstudy.analysis.affinity.team import Team
from pinstudy.analysis.affinity.timed_cases import (
    Against,
    ExperimentRow,
    Measured,
    compared,
    why_not_compared,
)
from pinstudy.analysis.findings.glance import Disturbed, disturbed_of
from pinstudy.analysis.format.numbers import finite
from pinstudy.analysis.format.table import joined
from pinstudy.analysis.latency.findings import LatencyGroup, latency_findings
from pinstudy.analysis.objectives import TIME
from pinstudy.analysis.results.node_files import cpus_of
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import Findings
from pinstudy.analysis.words import demo as words
from pinstudy.analysis.words import experiments
from pinstudy.base.text import one_line

# Sizes of the study pinstudy/configs/studies/demo.yaml, and how it places the threads.
TWO_LINES, ONE_LINE = "integer-quick", "false-sharing-quick"
WORKLOADS = {"accumulate-quick": "sum", "sin-quick": "sine"}
UNPINNED, ONE_CPU, ONE_CORE = "unpinned", "same-cpu-pin", "siblings-pin"

# Numbers by name, with the unit at its end, and words such as an outcome.
Values = Mapping[str, float | int | str | None]


@dataclass(frozen=True)
class Bar:
    """A placement's typical value, and that of each run; `label` is a key of words.LABELS."""

    label: str
    value: float
    runs: tuple[float, ...] = ()


@dataclass(frozen=True)
class Panel:
    """Bars that share a unit; `title` is a key of words.PANELS."""

    title: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True)
class DemoRow:
    """An effect (a key of words.TITLES), its numbers, and why it is not shown or not compared."""

    effect: str
    values: Values = field(default_factory=dict)
    why_not: str = ""
    panels: tuple[Panel, ...] = ()


@dataclass(frozen=True)
class Demo:
    """The rows in the order of the page, the experiments that two draw, and disturbances."""

    rows: tuple[DemoRow, ...]
    measured: Affinity | None
    disturbed: Disturbed


def demo_findings(results: Results, findings: Findings) -> Demo:
    """Return what the study `demo` found."""
    measured = affinity(results, findings)
    if measured is None:
        nothing = (DemoRow(effect, why_not=words.NOT_YET) for effect in words.TITLES)
        return Demo(tuple(nothing), None, disturbed_of(findings))
    timed = {
        (_size(row), row.measured.case.mapping): row
        for group in measured.contention
        for row in group.rows
    }
    rows = (
        _contention(timed),
        _false_sharing(timed, findings.margin),
        _one_core(measured.sharing),
        _latency(measured),
        _who_ran_where([team for group in measured.teams for team in group]),
    )
    return Demo(rows, measured, disturbed_of(findings))


def _size(row: ExperimentRow) -> str:
    return str(row.measured.case.summary.key.table.size)


def _contention(timed: Mapping[tuple[str, str], ExperimentRow]) -> DemoRow:
    free, pinned = timed.get((TWO_LINES, UNPINNED)), timed.get((TWO_LINES, ONE_CPU))
    places = [row for (size, _), row in timed.items() if size == TWO_LINES]
    bars = tuple(_bars((row.measured.case.mapping, row.measured) for row in places))
    times = _times({"unpinned": free, "one_cpu": pinned})
    return DemoRow(
        "contention",
        times | (_ratio(pinned.against, inverse=True) if pinned else {}),
        _why_not([free, pinned], pinned.against if pinned else None),
        (Panel("round", bars),) if bars else (),
    )


def _false_sharing(timed: Mapping[tuple[str, str], ExperimentRow], margin: float) -> DemoRow:
    apart, together = timed.get((TWO_LINES, ONE_CPU)), timed.get((ONE_LINE, ONE_CPU))
    against = None
    if apart and together:
        pair = together.measured, (apart.measured,)
        against = compared([pair], margin).get(pair)
    bars = tuple(
        _bars(
            (label, row.measured)
            for label, row in (("two lines", apart), ("one line", together))
            if row
        )
    )
    return DemoRow(
        "false sharing",
        _times({"two_lines": apart, "one_line": together}) | _ratio(against),
        _why_not([apart, together], against),
        (Panel("round", bars),) if bars else (),
    )


def _one_core(sharing: Sequence[Sharing]) -> DemoRow:
    values: dict[str, float | int | str | None] = {}
    panels, reasons = [], []
    for group in sharing:
        workload = WORKLOADS.get(_size(group[0]), "")
        of_two = {row.measured.case.mapping: row for row in group if row.measured.threads == 2}
        if not workload or not of_two:
            continue
        for mapping, name in ((ONE_CORE, "one_core"), (ONE_CPU, "one_cpu")):
            found = _ratio(of_two[mapping].against) if mapping in of_two else {}
            values |= {f"{workload}_{name}_{key}": value for key, value in found.items()}
        bars = tuple(
            Bar(mapping, row.against.difference.ratio)
            for mapping, row in of_two.items()
            if row.against
        )
        panels += [Panel(workload, bars)] if bars else []
        row = of_two.get(ONE_CORE)
        reasons.append(_why_not([row], row.against if row else None, cpus=1))
    why = joined(dict.fromkeys(filter(None, reasons))) or ("" if values else words.NOT_YET)
    return DemoRow("one core", values, why, tuple(panels))


def _latency(measured: Affinity) -> DemoRow:
    if measured.latency is None:
        return DemoRow("latency", why_not=measured.why_no_latency or words.NOT_YET)
    latency = measured.latency
    groups = [group for group in latency_findings(latency).groups if group.range]
    near, far = min(groups, key=_median), max(groups, key=_median)
    (a, b, least), (c, d, most) = latency.nearest, latency.farthest
    return DemoRow(
        "latency",
        {
            "near": near.kernel.names[0],
            "near_ns": _median(near),
            "far": far.kernel.names[0],
            "far_ns": _median(far),
            "pairs": len(latency.pairs),
            "pairs_of_node": latency.pairs_of_node,
            "least_ns": least,
            "least_cpus": f"{a},{b}",
            "most_ns": most,
            "most_cpus": f"{c},{d}",
        },
    )


def _median(group: LatencyGroup) -> float:
    assert group.range is not None
    return group.range.median_ns


def _who_ran_where(teams: Sequence[Team]) -> DemoRow:
    by_mapping = {team.case.mapping: team for team in teams}
    free, pinned = by_mapping.get(UNPINNED), by_mapping.get(ONE_CPU)
    if free is None:
        return DemoRow("who ran where", why_not=words.NOT_YET)
    values: dict[str, float | int | str | None] = {"threads": len(free.threads)}
    for name, team in (("unpinned", free), ("pinned", pinned)):
        if team is not None:
            values[f"{name}_cpus"] = len(team.seen)
            values[f"{name}_moves_per_s"] = team.moves
    return DemoRow("who ran where", values)


def _bars(cases: Iterable[tuple[str, Measured]]) -> Iterator[Bar]:
    for label, measured in cases:
        if measured.sample is not None and measured.values is not None:
            runs = tuple(map(float, measured.values.measured(TIME)))
            yield Bar(label, measured.sample.centre, runs)


def _times(rows: Mapping[str, ExperimentRow | None]) -> dict[str, float | int | str | None]:
    samples = {name: row.measured.sample for name, row in rows.items() if row}
    return {
        name: value
        for place, sample in samples.items()
        if sample
        for name, value in ((f"{place}_ms", sample.centre), (f"{place}_runs", sample.n))
    }


def _ratio(
    against: Against | None, *, inverse: bool = False
) -> dict[str, float | int | str | None]:
    """Return a ratio with its 95 % interval; `inverse` for that of the other way round."""
    if against is None:
        return {}
    ratio, interval = against.difference.ratio, against.difference.known_interval()
    ends = [interval.low, interval.high] if interval else []
    if inverse:
        ratio, ends = 1 / ratio, [1 / end if end else float("inf") for end in reversed(ends)]
    low, high = ends or (None, None)
    return {
        "ratio": ratio,
        "ratio_low": low,
        "ratio_high": None if high is None else finite(high),
        "outcome": against.comparison.outcome,
    }


def _why_not(rows: Sequence[ExperimentRow | None], against: Against | None, cpus: int = 2) -> str:
    """Return why cases are not compared; empty where they are.

    On fewer than `cpus` CPUs their placements are all the same one.
    """
    for row in rows:
        if row is None:
            return words.NOT_YET
        summary = row.measured.case.summary
        if summary.was_skipped:
            return one_line(str(summary.circumstances.skip_reason))
        if row.measured.sample is None:
            reasons = (why for found in summary.circumstances.reasons.values() for why in found)
            return joined(dict.fromkeys(map(one_line, reasons))) or words.NOT_YET
    cases = [row.measured.case for row in rows if row]
    if any(len(cpus_of(case.summary.key.cpus)) < cpus for case in cases):
        return words.ONE_CPU
    if against is not None:
        return ""
    return experiments.NOT_COMPARED[why_not_compared([row.measured for row in rows if row])]
