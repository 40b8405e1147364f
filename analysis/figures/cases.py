"""Time, energy, migrations, frequency and residency of each case: every run a dot, and the mean."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, MaxNLocator

from analysis.figures.drawing import (
    Drawing,
    NotDrawn,
    extremes,
    sentences,
    why_not_measured,
)
from analysis.figures.rows import (
    MEAN,
    ByKind,
    Entry,
    RunsByCase,
    area_entry,
    case_entries,
    draw_bars,
    draw_by_kind,
    draw_runs,
    draw_stacked,
    entry,
    jitter,
    label_empty_rows,
    mean_down,
    mean_entry,
    row_figure,
    scale_for,
    write_beside,
)
from analysis.figures.style import (
    ANY_KIND,
    BLACK,
    KNOWN_KINDS,
    cores_of,
    kind_style,
    label_text,
    marker_style,
)
from analysis.format.numbers import mean_count, percent
from analysis.objectives import ENERGY, TIME, Objective
from analysis.results.sources import Results
from analysis.statistics.sample import Sample
from analysis.verdict.model import CaseFinding, TableFindings
from analysis.words import experiments as words
from base.text import plural

SHOWN: dict[Objective, tuple[str, str, str]] = {
    TIME: ("time (s)", "Mean time", "s"),
    ENERGY: ("package energy (J)", "Mean package energy", "J"),
}
MIGRATIONS_TITLE = "Migrations per case"
_MIGRATIONS = {
    "migrations": ("migrations of the threads", "The mean number of migrations"),
    "vcpu_migrations": ("migrations of the vCPUs", "The mean number of migrations of vCPUs"),
}


def draw_time_and_energy(
    results: Results, table: TableFindings, runs: RunsByCase, name: str
) -> Drawing | NotDrawn:
    """Draw the runs' times, and energies where they were measured."""
    what = "Time and energy per case"
    shown = [o for o in SHOWN if any(o in case.samples for case in table.cases)]
    if not shown:
        fields = [objective.field for objective in SHOWN]
        return NotDrawn(name, what, why_not_measured(results, table.cases, fields))
    figure, axes = row_figure(
        table.title,
        table.cases,
        [(SHOWN[objective][0], 1.0) for objective in shown],
        [*_run_entries(table.cases, runs), *_marks(table.cases, runs)],
    )
    limits = [_draw_objective(a, table.cases, runs, o) for a, o in zip(axes, shown, strict=True)]
    lacking = [
        _not_measured(results, table.cases, o.field, SHOWN[o][0]) for o in SHOWN if o not in shown
    ]
    caption = sentences(_how_to_read(table.cases, runs), *dict.fromkeys(limits), *lacking)
    title = what if len(shown) == len(SHOWN) else "Time per case"
    return Drawing(name, title, caption, _alt_text(table.cases, shown), figure)


def _not_measured(results: Results, cases: Sequence[CaseFinding], field: str, panel: str) -> str:
    why = why_not_measured(results, cases, [field])
    return words.NOT_MEASURED.format(field=panel.partition(" (")[0], why=why)


def _draw_objective(
    axes: Axes, cases: Sequence[CaseFinding], runs: RunsByCase, objective: Objective
) -> str:
    """Draw one objective; return the caption's sentence on the dots."""
    samples = _samples(cases, objective)
    means = {row: sample.mean for row, sample in samples.items()}
    scale_for(axes, means.values())
    limit = draw_runs(axes, cases, runs, objective.field)
    intervals = [sample.mean_interval for sample in samples.values()]
    draw_bars(axes, means, intervals, mean_down(runs))
    away = [
        (outlier.value, row + float(jitter(np.array([outlier.repetition]))[0]))
        for row, case in enumerate(cases)
        for outlier in case.outliers
        if outlier.objective == objective
    ]
    if away:
        values, heights = zip(*away, strict=True)
        axes.scatter(
            values, heights, s=42, marker="o", facecolor="none", edgecolor=BLACK,
            linewidth=0.8, zorder=3,
        )  # fmt: skip
    label_empty_rows(axes, cases, samples)
    return limit


def _samples(cases: Sequence[CaseFinding], objective: Objective) -> dict[int, Sample]:
    return {
        row: case.samples[objective] for row, case in enumerate(cases) if objective in case.samples
    }


def _run_entries(cases: Sequence[CaseFinding], runs: RunsByCase) -> list[Line2D]:
    return case_entries(case for case in cases if case.case_id in runs)


def _marks(cases: Sequence[CaseFinding], runs: RunsByCase) -> list[Line2D]:
    """Return the legend's entries for what is not a run."""
    intervals = any(sample.mean_interval for case in cases for sample in case.samples.values())
    entries = [mean_entry("mean, 95 % interval" if intervals else "mean")]
    if runs and any(case.outliers for case in cases):
        entries.append(entry("outlier, kept", marker_style("o", 6.5, BLACK, "none")))
    return entries


def _how_to_read(cases: Sequence[CaseFinding], runs: RunsByCase) -> str:
    if not runs:
        return "Means only: these results have no runs."
    without = any(
        sample.mean_interval is None for case in cases for sample in case.samples.values()
    )
    return sentences(
        "Each dot is a run, set apart in height so that equal ones are seen.",
        "A mean of fewer than five runs has no interval." if without else "",
    )


def _alt_text(cases: Sequence[CaseFinding], shown: Sequence[Objective]) -> str:
    parts = []
    for objective in shown:
        _, what, unit = SHOWN[objective]
        means = {row: sample.mean for row, sample in _samples(cases, objective).items()}
        parts.append(extremes(what, unit, means, cases))
        outliers = sum(o.objective == objective for case in cases for o in case.outliers)
        if outliers:
            parts.append(f"{plural(outliers, 'run')} far from the others of the case.")
    return sentences(*parts)


# Up to so many events the axis is linear: a logarithmic one makes much of 1 against 2.
MAX_LINEAR = 30.0


def draw_migrations(
    results: Results, table: TableFindings, runs: RunsByCase, name: str
) -> Drawing | NotDrawn:
    """Draw how often the kernel moved threads, and a guest's CPUs, to another CPU."""
    shown = [
        measure
        for measure in _MIGRATIONS
        if any(case.summary.stats[measure].n != 0 for case in table.cases)
    ]
    if not shown:
        return NotDrawn(
            name, MIGRATIONS_TITLE, why_not_measured(results, table.cases, ["migrations"])
        )
    panels = [(_MIGRATIONS[measure][0], 1.0) for measure in shown]
    entries = [*_run_entries(table.cases, runs), entry("mean", MEAN)]
    figure, axes = row_figure(table.title, table.cases, panels, entries, room=0.5)
    limits = [_draw_migrations(a, table.cases, runs, m) for a, m in zip(axes, shown, strict=True)]
    caption = sentences(
        "Each dot is a run." if runs else "Means only: these results have no runs.",
        "The number beside each row is the mean.",
        _axes_in_words(axes),
        *dict.fromkeys(limits),
    )
    alt = sentences(
        *(extremes(_MIGRATIONS[m][1], "", _means(table.cases, m), table.cases) for m in shown)
    )
    return Drawing(name, MIGRATIONS_TITLE, caption, alt, figure)


def _axes_in_words(axes: Sequence[Axes]) -> str:
    """Return which axes are logarithmic; empty when none is."""
    logarithmic = [each.get_xscale() != "linear" for each in axes]
    if not any(logarithmic):
        return ""
    which = "the axis" if all(logarithmic) else f"an axis beyond {MAX_LINEAR:g}"
    return f"From 1 on {which} is logarithmic; a 0 stands at 0."


def _means(cases: Sequence[CaseFinding], measure: str) -> dict[int, float]:
    return {
        row: case.summary.stats[measure].mean
        for row, case in enumerate(cases)
        if case.summary.stats[measure].n != 0
    }


def _draw_migrations(
    axes: Axes, cases: Sequence[CaseFinding], runs: RunsByCase, measure: str
) -> str:
    means = _means(cases, measure)
    limit = draw_runs(axes, cases, runs, measure)
    rows = np.array(list(means)) + mean_down(runs)
    axes.plot(list(means.values()), rows, zorder=4, **MEAN)
    most = max(3.0, axes.dataLim.x1)
    if most > MAX_LINEAR:
        axes.set_xscale("symlog", linthresh=1.0, linscale=0.6)
        axes.set_xticks([0.0, *(10.0**e for e in range(int(np.log10(most)) + 1))])
        axes.set_xticks([], minor=True)
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_xlim(-0.4, most * 1.5)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        axes.set_xlim(-0.05 * most, most * 1.1)
    write_beside(axes, {row: mean_count(mean) for row, mean in means.items()})
    label_empty_rows(axes, cases, means)
    return limit


KINDS_TITLE = "Frequency and residency per core kind"
# The panel of each field of a record, and the panel's share of the width.
_PANELS = {"freq_ghz": ("mean frequency (GHz)", 1.0), "residency": ("share of CPU time (%)", 1.15)}
# Smaller shares are too thin to be seen, and are written beside the bar.
_THIN = 0.1
_THIN_SHARES = f"Shares under {percent(_THIN)} are written beside the bar."


def draw_kinds(results: Results, table: TableFindings, name: str) -> Drawing | NotDrawn:
    """Draw the mean frequency on each core kind, and the share of CPU time on it."""
    cases = table.cases
    frequencies = cases_by_kind(cases, _frequencies_of)
    shares = cases_by_kind(cases, lambda case: case.summary.means_by_kind("residency"))
    fields = {"freq_ghz": frequencies, "residency": shares}
    shown = [field for field, values in fields.items() if values]
    if not shown:
        return NotDrawn(
            name, KINDS_TITLE, why_not_measured(results, cases, ["freq_mean_ghz", *fields])
        )
    figure, axes = row_figure(
        table.title,
        cases,
        [_PANELS[field] for field in shown],
        _legend_of_kinds(frequencies, shares),
    )
    for panel, field in zip(axes, shown, strict=True):
        if field == "freq_ghz":
            _draw_frequencies(panel, frequencies)
        else:
            _draw_shares(panel, shares, len(cases))
        label_empty_rows(panel, cases, {row for values in fields[field].values() for row in values})
    caption = sentences(
        "Means of the runs. Frequency is cycles per nanosecond on a CPU of the kind.",
        _THIN_SHARES if shares else "",
        *(
            _not_measured(results, cases, field, _PANELS[field][0])
            for field in fields
            if field not in shown
        ),
    )
    return Drawing(name, KINDS_TITLE, caption, _kinds_alt_text(cases, frequencies, shares), figure)


def _frequencies_of(case: CaseFinding) -> Mapping[str, float]:
    """Return the mean frequencies by kind, or that over all CPUs where no more is known."""
    of_all = case.summary.stats["freq_mean_ghz"]
    by_kind = case.summary.means_by_kind("freq_ghz")
    return by_kind if by_kind or of_all.n == 0 else {ANY_KIND: of_all.mean}


def cases_by_kind(
    cases: Sequence[CaseFinding], of_case: Callable[[CaseFinding], Mapping[str, float]]
) -> ByKind:
    """Return what `of_case` has of each case, by core kind and row."""
    values = [of_case(case) for case in cases]
    return {
        kind: {row: float(of_row[kind]) for row, of_row in enumerate(values) if kind in of_row}
        for kind in _in_order({kind for of_row in values for kind in of_row})
    }


def _in_order(kinds: Iterable[str]) -> list[str]:
    """Return kinds with those that are known first, in their order."""
    names = {*kinds}
    return [*(kind for kind in KNOWN_KINDS if kind in names), *sorted(names - {*KNOWN_KINDS})]


def _draw_frequencies(axes: Axes, frequencies: ByKind) -> None:
    draw_by_kind(axes, frequencies)
    # Room for the markers at both ends; margins are of the data's range, which begins above 0.
    highest = max(value for values in frequencies.values() for value in values.values())
    axes.set_xlim(0, 1.06 * highest if highest > 0 else 1.0)


def _draw_shares(axes: Axes, shares: ByKind, count: int) -> None:
    percents = {
        kind: {row: 100 * share for row, share in of_kind.items()}
        for kind, of_kind in shares.items()
    }
    draw_stacked(axes, percents, count)
    for row in range(count):
        thin = [
            f"{label_text(kind, 8)} {percent(values[row])}"
            for kind, values in shares.items()
            if 0 < values.get(row, 0.0) < _THIN
        ]
        axes.text(101.5, row, ", ".join(thin), va="center", ha="left", fontsize=7)
    axes.set_xlim(0, 132)
    axes.set_xticks([0, 25, 50, 75, 100])


def _legend_of_kinds(frequencies: ByKind, shares: ByKind) -> list[Entry]:
    entries: list[Entry] = []
    for kind in _in_order([*frequencies, *shares]):
        name = cores_of(kind)
        if kind in frequencies:
            entries.append(entry(f"frequency, {name}", kind_style(kind).dots))
        if kind in shares:
            entries.append(area_entry(f"CPU time, {name}", kind))
    return entries


def _kinds_alt_text(cases: Sequence[CaseFinding], frequencies: ByKind, shares: ByKind) -> str:
    parts = []
    for kind in _in_order([*frequencies, *shares]):
        what = f"The mean frequency on {cores_of(kind)}"
        parts.append(extremes(what, "GHz", frequencies.get(kind, {}), cases))
        if of_kind := shares.get(kind):
            most = max(of_kind, key=lambda row: of_kind[row])
            used = sum(share > 0 for share in of_kind.values())
            parts.append(
                f"{used} of {len(of_kind)} cases used {cores_of(kind)}, most of all "
                f"{cases[most].label} with {percent(of_kind[most])} of its CPU time."
            )
    return sentences(*parts)
