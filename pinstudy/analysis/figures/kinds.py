"""The mean frequency of each case on each core kind, and the share of its CPU time there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from matplotlib.axes import Axes

from pinstudy.analysis.figures.drawing import (
    Drawing,
    NotDrawn,
    Tooltips,
    extremes,
    sentences,
    why_not_measured,
)
from pinstudy.analysis.figures.layout import SCREEN, Layout
from pinstudy.analysis.figures.rows import (
    ByKind,
    Entry,
    area_entry,
    draw_by_kind,
    draw_stacked,
    entry,
    label_empty_rows,
    row_figure,
)
from pinstudy.analysis.figures.style import ANY_KIND, KNOWN_KINDS, cores_of, kind_style, label_text
from pinstudy.analysis.format.numbers import percent
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import CaseFinding, TableFindings
from pinstudy.analysis.words import experiments as words

TITLE = "Frequency and residency per core kind"
# The panel of each field of a record, and the panel's share of the width.
_PANELS = {"freq_ghz": ("mean frequency (GHz)", 1.0), "residency": ("share of CPU time (%)", 1.15)}
# Smaller shares are too thin to be seen, and are written beside the bar.
_THIN = 0.1
_THIN_SHARES = f"Shares under {percent(_THIN)} are written beside the bar."


def draw_kinds(
    results: Results, table: TableFindings, name: str, layout: Layout = SCREEN
) -> Drawing | NotDrawn:
    """Draw the mean frequency on each core kind, and the share of CPU time on it."""
    cases = table.cases
    frequencies = _by_kind(cases, _frequencies_of)
    shares = _by_kind(cases, lambda case: case.summary.means_by_kind("residency"))
    fields = {
        "freq_ghz": (_draw_frequencies, frequencies),
        "residency": (_draw_shares, shares),
    }
    shown = [field for field, (_, values) in fields.items() if values]
    if not shown:
        return NotDrawn(name, TITLE, why_not_measured(results, cases, ["freq_mean_ghz", *fields]))
    figure, axes = row_figure(
        table.title,
        cases,
        [_PANELS[field] for field in shown],
        _legend_of_kinds(frequencies, shares),
        layout=layout,
    )
    tooltips: dict[str, str | Sequence[str]] = {}
    for panel, field in zip(axes, shown, strict=True):
        draw, values = fields[field]
        tooltips |= draw(panel, cases, values)
        label_empty_rows(panel, cases, {row for of_kind in values.values() for row in of_kind})
    caption = sentences(
        "Means of the runs. Frequency is cycles per nanosecond on a CPU of the kind.",
        _THIN_SHARES if shares else "",
        *(
            _not_measured(results, cases, field, _PANELS[field][0])
            for field in fields
            if field not in shown
        ),
    )
    alt = _kinds_alt_text(cases, frequencies, shares)
    return Drawing(name, TITLE, caption, alt, figure, tooltips)


def _not_measured(results: Results, cases: Sequence[CaseFinding], field: str, panel: str) -> str:
    why = why_not_measured(results, cases, [field])
    return words.NOT_MEASURED.format(field=panel.partition(" (")[0], why=why)


def _frequencies_of(case: CaseFinding) -> Mapping[str, float]:
    """Return the mean frequencies by kind, or that over all CPUs where no more is known."""
    overall = case.summary.stats["freq_mean_ghz"]
    by_kind = case.summary.means_by_kind("freq_ghz")
    return by_kind if by_kind or overall.n == 0 else {ANY_KIND: overall.mean}


def _by_kind(
    cases: Sequence[CaseFinding], measure: Callable[[CaseFinding], Mapping[str, float]]
) -> ByKind:
    """Return a measure of the cases by core kind and row."""
    rows = [measure(case) for case in cases]
    return {
        kind: {at: float(row[kind]) for at, row in enumerate(rows) if kind in row}
        for kind in _in_order({kind for row in rows for kind in row})
    }


def _in_order(kinds: Iterable[str]) -> list[str]:
    """Return kinds with those that are known first, in their order."""
    names = {*kinds}
    return [*(kind for kind in KNOWN_KINDS if kind in names), *sorted(names - {*KNOWN_KINDS})]


def _draw_frequencies(axes: Axes, cases: Sequence[CaseFinding], frequencies: ByKind) -> Tooltips:
    tooltips = draw_by_kind(axes, cases, frequencies, "GHz")
    # Room for the markers at both ends; margins are of the data's range, which begins above 0.
    highest = max(value for values in frequencies.values() for value in values.values())
    axes.set_xlim(0, 1.06 * highest if highest > 0 else 1.0)
    return tooltips


def _draw_shares(axes: Axes, cases: Sequence[CaseFinding], shares: ByKind) -> Tooltips:
    percents = {
        kind: {row: 100 * share for row, share in by_row.items()} for kind, by_row in shares.items()
    }
    tooltips = draw_stacked(axes, cases, percents, "% of CPU time")
    for row in range(len(cases)):
        thin = [
            f"{label_text(kind, 8)} {percent(values[row])}"
            for kind, values in shares.items()
            if 0 < values.get(row, 0.0) < _THIN
        ]
        axes.text(101.5, row, ", ".join(thin), va="center", ha="left", fontsize=7)
    # Room for the words beside the bars, where there are any.
    has_thin = any(0 < share < _THIN for values in shares.values() for share in values.values())
    axes.set_xlim(0, 132 if has_thin else 102)
    axes.set_xticks([0, 25, 50, 75, 100])
    return tooltips


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
        frequency = f"The mean frequency on {cores_of(kind)}"
        parts.append(extremes(frequency, "GHz", frequencies.get(kind, {}), cases))
        if by_row := shares.get(kind, {}):
            most = max(by_row, key=lambda row: by_row[row])
            used = sum(share > 0 for share in by_row.values())
            parts.append(
                f"{used} of {len(by_row)} cases used {cores_of(kind)}, most of all "
                f"{cases[most].label} with {percent(by_row[most])} of its CPU time."
            )
    return sentences(*parts)
