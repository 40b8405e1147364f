"""The pictures of `pinstudy demo`: few large bars for slides, and the experiments' own figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pinstudy.analysis.affinity.demo import Demo, DemoRow, Panel
from pinstudy.analysis.figures.drawing import Drawing, NotDrawn, sentences
from pinstudy.analysis.figures.experiments import draw_teams
from pinstudy.analysis.figures.latency import draw_latency
from pinstudy.analysis.figures.style import BLACK, BLUE, GREY, PALE, WIDTH, label_text
from pinstudy.analysis.format.numbers import fixed, three_digits
from pinstudy.analysis.words import demo as words

# Files' names, by effect.
NAMES = {
    "contention": "contention",
    "false sharing": "false-sharing",
    "one core": "one-core",
    "latency": "latency",
    "who ran where": "threads",
}
_RATIOS = ("sum", "sine")
# Letters for the last row of a lecture hall.
_FONT = 11.0
_BAR_IN, _TOP_IN, _BOTTOM_IN = 0.42, 0.45, 0.35
_LEFT_IN, _RIGHT_IN, _GAP_IN = 1.75, 0.75, 0.9


def draw_demo(demo: Demo) -> Iterator[tuple[DemoRow, Drawing | NotDrawn]]:
    """Yield each row with its picture, drawn one at a time."""
    for row in demo.rows:
        yield row, _draw(row, demo)


def _draw(row: DemoRow, demo: Demo) -> Drawing | NotDrawn:
    name, title = NAMES[row.effect], words.TITLES[row.effect]
    measured = demo.measured
    if row.effect == "latency" and measured and measured.latency:
        return replace(draw_latency(measured.latency), name=name)
    if row.effect == "who ran where" and measured and measured.teams:
        return draw_teams(measured.teams[0], name)
    if not row.panels:
        return NotDrawn(name, title, row.why_not or words.NOT_YET)
    said = "" if row.why_not else words.sentence(row.effect, row.values, "")
    return Drawing(name, title, said, sentences(said, *map(_alt_text, row.panels)), _bars(row))


def _bars(row: DemoRow) -> Figure:
    count = max(len(panel.bars) for panel in row.panels)
    height = _TOP_IN + _BAR_IN * count + _BOTTOM_IN
    wide = WIDTH - _LEFT_IN - _RIGHT_IN - _GAP_IN * (len(row.panels) - 1)
    figure = Figure(figsize=(WIDTH, height))
    panels = figure.subplots(
        1, len(row.panels), squeeze=False, sharey=True,
        gridspec_kw={"left": _LEFT_IN / WIDTH, "right": 1 - _RIGHT_IN / WIDTH,
                     "top": 1 - _TOP_IN / height, "bottom": _BOTTOM_IN / height,
                     "wspace": _GAP_IN / (wide / len(row.panels))},
    )[0]  # fmt: skip
    for axes, panel in zip(panels, row.panels, strict=True):
        _draw_panel(axes, panel)
    first = row.panels[0]
    labels = [label_text(words.LABELS.get(bar.label, bar.label), 24) for bar in first.bars]
    panels[0].set_yticks(range(len(labels)), labels, fontsize=_FONT)
    panels[0].set_ylim(count - 0.4, -0.6)
    return figure


def _draw_panel(axes: Axes, panel: Panel) -> None:
    is_ratio = panel.title in _RATIOS
    values = [bar.value for bar in panel.bars]
    axes.barh(range(len(values)), values, height=0.62, color=BLUE, zorder=2)
    for at, bar in enumerate(panel.bars):
        axes.plot(
            bar.runs, [at] * len(bar.runs), linestyle="", marker="o", markersize=4.5, zorder=3,
            markerfacecolor="white", markeredgecolor=BLACK, markeredgewidth=0.8,
        )  # fmt: skip
        end = max([bar.value, *bar.runs])
        text = fixed(bar.value, 2) if is_ratio else three_digits(bar.value)
        axes.annotate(
            text, (end, at), (7, 0), textcoords="offset points", va="center",
            fontsize=_FONT, weight="bold", annotation_clip=False,
        )  # fmt: skip
    if is_ratio:
        axes.axvline(1, color=GREY, linewidth=1.2, linestyle="--", zorder=4)
    axes.set_xlim(0, 1.02 * max(end for bar in panel.bars for end in (bar.value, *bar.runs)))
    axes.set_title(words.PANELS[panel.title], fontsize=_FONT, pad=8)
    axes.tick_params(axis="x", labelsize=_FONT - 2)
    axes.spines["left"].set_color(PALE)
    axes.grid(visible=False, axis="y")


def _alt_text(panel: Panel) -> str:
    bars: Sequence[str] = [
        f"{words.LABELS.get(bar.label, bar.label)} {three_digits(bar.value)}" for bar in panel.bars
    ]
    return f"Bars, {words.PANELS[panel.title]}: {', '.join(bars)}."
