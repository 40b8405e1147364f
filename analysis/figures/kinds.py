"""Frequency and residency per core kind of each case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from analysis.figures.drawing import Drawing, NotDrawn
from analysis.figures.rows import Entry, Panel, put_words, row_figure, why_empty
from analysis.figures.style import (
    ANY_KIND,
    KIND_COLOURS,
    KIND_FILLS,
    KIND_HATCHES,
    KIND_MARKERS,
    PURPLE,
    in_style,
    label_text,
)
from analysis.figures.words import extremes, named, sentences, why_not_measured
from analysis.format.numbers import percent
from analysis.results.sources import Results
from analysis.verdict.model import CaseFinding, TableFindings

TITLE = "Frequency and residency per core kind"
# Smaller shares are too thin to be seen, and are written beside the bar.
_THIN = 0.1
_THIN_SHARES = f"Shares under {percent(_THIN)} are written beside the bar."


def draw_kinds(results: Results, table: TableFindings, name: str) -> Drawing | NotDrawn:
    """Draw the mean frequency on each core kind, and the share of CPU time on it."""
    cases = table.cases
    shown = [field for field, of_case in _OF_CASE.items() if any(of_case(case) for case in cases)]
    if not shown:
        return NotDrawn(name, TITLE, why_not_measured(results, cases, ["freq_mean_ghz", *_OF_CASE]))
    kinds = _kinds(cases)
    panels = {
        "freq_ghz": Panel("mean frequency (GHz)"),
        "residency": Panel("share of CPU time (%)", 1.15),
    }
    with in_style():
        figure, axes = row_figure(
            table.title, cases, [panels[field] for field in shown], _legend(kinds, cases)
        )
        draw = {"freq_ghz": _frequencies, "residency": _residencies}
        for panel, field in zip(axes, shown, strict=True):
            draw[field](panel, cases, kinds)
            for row, case in enumerate(cases):
                if not _OF_CASE[field](case):
                    put_words(panel, row, why_empty(case))
    lacking = [
        f"{panels[field].title} not measured: {why_not_measured(results, cases, [field])}."
        for field in _OF_CASE
        if field not in shown
    ]
    caption = sentences(
        "Means of the runs. Frequency is cycles per nanosecond on a CPU of the kind.",
        _THIN_SHARES if "residency" in shown else "",
        *(f"{text[0].upper()}{text[1:]}" for text in lacking),
    )
    return Drawing(name, TITLE, caption, _seen(cases, kinds), figure)


def _frequencies_of(case: CaseFinding) -> Mapping[str, float]:
    """Return the mean frequencies by kind, or that over all CPUs where no more is known."""
    of_all = case.summary.measures["freq_mean_ghz"]
    if case.summary.freq_ghz or of_all.n == 0:
        return case.summary.freq_ghz
    return {ANY_KIND: of_all.mean}


def _residencies_of(case: CaseFinding) -> Mapping[str, float]:
    """Return the shares of CPU time by kind."""
    return case.summary.residency


_OF_CASE = {"freq_ghz": _frequencies_of, "residency": _residencies_of}


def _kinds(cases: Sequence[CaseFinding]) -> list[str]:
    """Return the kinds that occur, those that are known in their order first."""
    found = {str(kind) for case in cases for of_case in _OF_CASE.values() for kind in of_case(case)}
    known = [kind for kind in KIND_COLOURS if kind in found]
    return known + sorted(found - {*known})


def _frequencies(axes: Axes, cases: Sequence[CaseFinding], kinds: Sequence[str]) -> None:
    for kind in kinds:
        values = {
            row: _frequencies_of(case)[kind]
            for row, case in enumerate(cases)
            if kind in _frequencies_of(case)
        }
        axes.plot(
            list(values.values()), list(values), linestyle="", zorder=3,
            marker=KIND_MARKERS.get(kind, "X"), markersize=5.5,
            color=KIND_COLOURS.get(kind, PURPLE), markerfacecolor=KIND_FILLS.get(kind, "white"),
        )  # fmt: skip
    # Room for the markers at both ends; margins are of the data's range, which begins above 0.
    highest = max((v for case in cases for v in _frequencies_of(case).values()), default=0.0)
    axes.set_xlim(0, 1.06 * highest if highest > 0 else 1.0)


def _residencies(axes: Axes, cases: Sequence[CaseFinding], kinds: Sequence[str]) -> None:
    ends = [0.0] * len(cases)
    for kind in kinds:
        if not any(case.summary.residency.get(kind) for case in cases):
            continue
        shares = [100 * float(case.summary.residency.get(kind, 0.0)) for case in cases]
        axes.barh(
            range(len(cases)), shares, left=ends, height=0.62, zorder=2,
            linewidth=[0.7 if share else 0.0 for share in shares],
            color=KIND_FILLS.get(kind, "white"), edgecolor=KIND_COLOURS.get(kind, PURPLE),
            hatch=KIND_HATCHES.get(kind, "xx"),
        )  # fmt: skip
        ends = [end + share for end, share in zip(ends, shares, strict=True)]
    for row, case in enumerate(cases):
        thin = {k: case.summary.residency.get(k, 0.0) for k in kinds}
        words = ", ".join(
            f"{label_text(kind, 8)} {percent(share)}" for kind, share in thin.items()
            if 0 < share < _THIN
        )  # fmt: skip
        axes.text(101.5, row, words, va="center", ha="left", fontsize=7)
    axes.set_xlim(0, 132)
    axes.set_xticks([0, 25, 50, 75, 100])


def _cores(kind: str) -> str:
    return "all CPUs" if kind == ANY_KIND else f"{label_text(kind, 12)}-cores"


def _legend(kinds: Sequence[str], cases: Sequence[CaseFinding]) -> list[Entry]:
    entries: list[Entry] = []
    for kind in kinds:
        name = _cores(kind)
        colour, fill = KIND_COLOURS.get(kind, PURPLE), KIND_FILLS.get(kind, "white")
        if any(kind in _frequencies_of(case) for case in cases):
            entries.append(
                Line2D([], [], linestyle="", marker=KIND_MARKERS.get(kind, "X"), markersize=5.5,
                       color=colour, markerfacecolor=fill, label=f"frequency, {name}")
            )  # fmt: skip
        if any(kind in _residencies_of(case) for case in cases):
            entries.append(
                Patch(facecolor=fill, edgecolor=colour, linewidth=0.7,
                      hatch=KIND_HATCHES.get(kind, "xx"), label=f"CPU time, {name}")
            )  # fmt: skip
    return entries


def _seen(cases: Sequence[CaseFinding], kinds: Sequence[str]) -> str:
    parts = []
    for kind in kinds:
        frequencies = _by_row(cases, "freq_ghz", kind)
        parts.append(extremes(f"The mean frequency on {_cores(kind)}", "GHz", frequencies, cases))
        shares = _by_row(cases, "residency", kind)
        if shares:
            most = max(shares, key=lambda row: shares[row])
            used = sum(share > 0 for share in shares.values())
            parts.append(
                f"{used} of {len(shares)} cases used {_cores(kind)}, most of all "
                f"{named(cases[most])} with {percent(shares[most])} of its CPU time."
            )
    return sentences(*parts)


def _by_row(cases: Sequence[CaseFinding], field: str, kind: str) -> dict[int, float]:
    found: dict[int, Mapping[str, float]] = {
        row: _OF_CASE[field](case) for row, case in enumerate(cases)
    }
    return {row: float(values[kind]) for row, values in found.items() if kind in values}
