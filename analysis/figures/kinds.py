"""Frequency and residency per core kind of each case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.patches import Patch

from analysis.figures.drawing import Drawing, NotDrawn, extremes, sentences, why_not_measured
from analysis.figures.rows import ByKind, Entry, draw_by_kind, entry, row_figure, say_why_empty
from analysis.figures.style import ANY_KIND, KNOWN_KINDS, cores_of, label_text, look_of_kind
from analysis.format.numbers import percent
from analysis.results.sources import Results
from analysis.verdict.model import CaseFinding, TableFindings
from analysis.verdict.phrases import sentence

TITLE = "Frequency and residency per core kind"
# The panel of each field of a record, and the panel's share of the width.
_PANELS = {"freq_ghz": ("mean frequency (GHz)", 1.0), "residency": ("share of CPU time (%)", 1.15)}
# Smaller shares are too thin to be seen, and are written beside the bar.
_THIN = 0.1
_THIN_SHARES = f"Shares under {percent(_THIN)} are written beside the bar."


def draw_kinds(results: Results, table: TableFindings, name: str) -> Drawing | NotDrawn:
    """Draw the mean frequency on each core kind, and the share of CPU time on it."""
    cases = table.cases
    frequencies = _by_kind(cases, _frequencies_of)
    shares = _by_kind(cases, lambda case: case.summary.residency)
    fields = {"freq_ghz": frequencies, "residency": shares}
    shown = [field for field, values in fields.items() if values]
    if not shown:
        return NotDrawn(name, TITLE, why_not_measured(results, cases, ["freq_mean_ghz", *fields]))
    figure, axes = row_figure(
        table.title, cases, [_PANELS[field] for field in shown], _legend(frequencies, shares)
    )
    for panel, field in zip(axes, shown, strict=True):
        if field == "freq_ghz":
            _draw_frequencies(panel, frequencies)
        else:
            _draw_shares(panel, shares, len(cases))
        say_why_empty(panel, cases, {row for values in fields[field].values() for row in values})
    caption = sentences(
        "Means of the runs. Frequency is cycles per nanosecond on a CPU of the kind.",
        _THIN_SHARES if shares else "",
        *(
            f"{sentence(_PANELS[field][0])} not measured: "
            f"{why_not_measured(results, cases, [field])}."
            for field in fields
            if field not in shown
        ),
    )
    return Drawing(name, TITLE, caption, _seen(cases, frequencies, shares), figure)


def _frequencies_of(case: CaseFinding) -> Mapping[str, float]:
    """Return the mean frequencies by kind, or that over all CPUs where no more is known."""
    of_all = case.summary.measures["freq_mean_ghz"]
    if case.summary.freq_ghz or of_all.n == 0:
        return case.summary.freq_ghz
    return {ANY_KIND: of_all.mean}


def _by_kind(
    cases: Sequence[CaseFinding], of_case: Callable[[CaseFinding], Mapping[str, float]]
) -> ByKind:
    """Return the cases' values by kind and row."""
    values = [of_case(case) for case in cases]
    return {
        kind: {row: float(of_row[kind]) for row, of_row in enumerate(values) if kind in of_row}
        for kind in _in_order({kind for of_row in values for kind in of_row})
    }


def _in_order(kinds: Iterable[str]) -> list[str]:
    """Return kinds with those that are known first, in their order."""
    found = {*kinds}
    return [*(kind for kind in KNOWN_KINDS if kind in found), *sorted(found - {*KNOWN_KINDS})]


def _draw_frequencies(axes: Axes, frequencies: ByKind) -> None:
    draw_by_kind(axes, frequencies)
    # Room for the markers at both ends; margins are of the data's range, which begins above 0.
    highest = max(value for values in frequencies.values() for value in values.values())
    axes.set_xlim(0, 1.06 * highest if highest > 0 else 1.0)


def _draw_shares(axes: Axes, shares: ByKind, count: int) -> None:
    ends = [0.0] * count
    for kind, values in shares.items():
        used = {row: 100 * share for row, share in values.items() if share}
        axes.barh(
            list(used), list(used.values()), left=[ends[row] for row in used], height=0.62,
            linewidth=0.7, zorder=2, **look_of_kind(kind).areas,
        )  # fmt: skip
        for row, share in used.items():
            ends[row] += share
    for row in range(count):
        thin = [
            f"{label_text(kind, 8)} {percent(values[row])}"
            for kind, values in shares.items()
            if 0 < values.get(row, 0.0) < _THIN
        ]
        axes.text(101.5, row, ", ".join(thin), va="center", ha="left", fontsize=7)
    axes.set_xlim(0, 132)
    axes.set_xticks([0, 25, 50, 75, 100])


def _legend(frequencies: ByKind, shares: ByKind) -> list[Entry]:
    entries: list[Entry] = []
    for kind in _in_order([*frequencies, *shares]):
        look, name = look_of_kind(kind), cores_of(kind)
        if kind in frequencies:
            entries.append(entry(f"frequency, {name}", look.dots))
        if kind in shares:
            entries.append(Patch(linewidth=0.7, label=f"CPU time, {name}", **look.areas))
    return entries


def _seen(cases: Sequence[CaseFinding], frequencies: ByKind, shares: ByKind) -> str:
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
