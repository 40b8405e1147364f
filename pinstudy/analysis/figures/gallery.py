"""All figures of results: those of the whole study, of tables, of experiments, and their files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pinstudy.analysis.affinity.experiments import Affinity, Sharing, affinity
from pinstudy.analysis.affinity.timed_cases import CONTENTION, LATENCY, SMT
from pinstudy.analysis.answer import analyze
from pinstudy.analysis.figures.comparisons import draw_comparisons
from pinstudy.analysis.figures.drawing import (
    FORMATS,
    Drawing,
    NotDrawn,
    WrittenFigure,
    slug,
    write_captions,
    write_drawing,
)
from pinstudy.analysis.figures.drift import draw_drift
from pinstudy.analysis.figures.experiments import draw_contention, draw_smt, draw_teams
from pinstudy.analysis.figures.latency import draw_latency
from pinstudy.analysis.figures.overview import draw_overview_plane
from pinstudy.analysis.figures.rows import runs_by_case
from pinstudy.analysis.figures.style import SCREEN, Layout, read_labels
from pinstudy.analysis.figures.tables import draw_imbalance, draw_kinds, draw_slowdowns
from pinstudy.analysis.objectives import ENERGY, OBJECTIVES, TIME
from pinstudy.analysis.overview.grid import unique_names
from pinstudy.analysis.records.gathered import THREADMAP
from pinstudy.analysis.results.case import grouped
from pinstudy.analysis.results.sources import Results, open_results
from pinstudy.analysis.verdict.model import Findings, objectives_in
from pinstudy.analysis.words.programs import program_names
from pinstudy.base.errors import UserError
from pinstudy.configs.results_folder import FIGURES_FOLDER

COMPARISONS, PLANE, DRIFT = "comparisons", "time-energy", "runs-over-time"
IMBALANCE, KINDS, SLOWDOWNS, THREADS = "imbalance", "kinds", "slowdowns", "threads"
# What can be asked for: the kinds of every study, then those of co-runners and experiments.
FIGURES = (
    COMPARISONS, PLANE, IMBALANCE, KINDS, DRIFT, SLOWDOWNS, CONTENTION, SMT, THREADS, LATENCY,
)  # fmt: skip


def kind_of(name: str) -> str:
    """Return the kind of a figure of that name: `imbalance` of `lulesh-x8/imbalance`."""
    last = name.rpartition("/")[2]
    return next(kind for kind in FIGURES if last.startswith(kind))


# Of a program's name, in that of a folder: file systems take some 255.
_MOST_LETTERS = 80


@dataclass(frozen=True)
class Wanted:
    """Which kinds of figures are wanted, in which layout and formats."""

    kinds: Collection[str] = FIGURES
    layout: Layout = SCREEN
    formats: Sequence[str] = FORMATS


# All of them, as a folder has them.
ALL = Wanted()


def table_folders(findings: Findings) -> list[str]:
    """Return the name of each table's folder: `lulesh-x8`, and `table-3` where no letter can be."""
    program = program_names([table.key for table in findings.tables])
    names = (
        f"{slug(program(table.key), f'table-{number}')[:_MOST_LETTERS]} {table.key.threads_label}"
        for number, table in enumerate(findings.tables, 1)
    )
    return [slug(name, "table") for name in unique_names(names)]


def table_figures(
    results: Results, findings: Findings, tables: int | None = None, wanted: Wanted = ALL
) -> Iterator[tuple[int, Drawing | NotDrawn]]:
    """Yield the figures of each table with the table's place, drawn one at a time.

    `tables` is how many of them to draw, by default all.
    """
    folders = table_folders(findings)
    layout = wanted.layout
    for place, (table, folder) in enumerate(zip(findings.tables[:tables], folders, strict=False)):
        if KINDS in wanted.kinds:
            yield place, draw_kinds(results, table, f"{folder}/kinds", layout)
        if IMBALANCE in wanted.kinds:
            for drawn in draw_imbalance(results, table, f"{folder}/imbalance", layout):
                yield place, drawn
        if SLOWDOWNS in wanted.kinds:
            slowdowns = draw_slowdowns(table, f"{folder}/slowdowns", layout)
            if slowdowns is not None:
                yield place, slowdowns


def affinity_figures(
    results: Results, experiments: Affinity, wanted: Wanted = ALL
) -> Iterator[tuple[str, Drawing | NotDrawn]]:
    """Yield the figures of each affinity experiment with the experiment, drawn one at a time."""
    kinds, layout = wanted.kinds, wanted.layout
    runs = runs_by_case(results)
    for number, experiment in enumerate(experiments.contention if CONTENTION in kinds else (), 1):
        yield CONTENTION, draw_contention(experiment, runs, f"contention-{number}", layout)
    pairs = grouped(experiments.sharing, _build) if SMT in kinds else []
    for number, workloads in enumerate(pairs, 1):
        yield SMT, draw_smt(workloads, f"smt-{number}", layout)
    for number, teams in enumerate(experiments.teams if THREADS in kinds else (), 1):
        yield THREADMAP, draw_teams(teams, f"threads-{number}", layout)
    if LATENCY not in kinds:
        return
    if experiments.latency is not None:
        yield LATENCY, draw_latency(experiments.latency, layout)
    elif experiments.why_no_latency:
        yield LATENCY, NotDrawn("latency", "Core-to-core latency", experiments.why_no_latency)


def _build(sharing: Sharing) -> tuple[str, ...]:
    """Return what workloads share that stand beside each other: build, governor and all else."""
    key = sharing[0].measured.case.summary.key
    of_table = key.table.build, key.table.schedule, key.table.wait_policy
    return *of_table, key.setting_words, key.governor


def all_figures(
    results: Results, findings: Findings, wanted: Wanted = ALL
) -> Iterator[Drawing | NotDrawn]:
    """Yield every figure: of all configurations, the tables, the affinity experiments, all runs."""
    yield from _study_figures(results, findings, wanted)
    for _, drawn in table_figures(results, findings, wanted=wanted):
        yield drawn
    yield from _experiment_figures(results, findings, wanted)


def _study_figures(
    results: Results, findings: Findings, wanted: Wanted
) -> Iterator[Drawing | NotDrawn]:
    if COMPARISONS in wanted.kinds:
        printed = [
            objective for objective in objectives_in(findings.tables) if objective not in OBJECTIVES
        ]
        for objective in (TIME, ENERGY, *printed):
            yield draw_comparisons(results, findings, objective, wanted.layout)
    if PLANE in wanted.kinds:
        for guests in sorted({case.summary.key.in_guest for case in findings.cases}):
            yield draw_overview_plane(results, findings, wanted.layout, guests)
    if DRIFT in wanted.kinds:
        yield draw_drift(results, findings, wanted.layout)


def _experiment_figures(
    results: Results, findings: Findings, wanted: Wanted
) -> Iterator[Drawing | NotDrawn]:
    experiments = affinity(results, findings)
    if experiments is not None:
        for _, drawn in affinity_figures(results, experiments, wanted):
            yield drawn


@dataclass(frozen=True)
class Options:
    """How figures are asked for: `width` is in inches, `labels` a file of names, `only` kinds."""

    formats: Sequence[str] = FORMATS
    only: Sequence[str] = FIGURES
    width: float | None = None
    title: str | None = None
    labels: Path | None = None


@dataclass(frozen=True)
class Found:
    """The figures that were written, or were not drawn, and the files of their captions."""

    figures: Sequence[WrittenFigure | NotDrawn]
    captions: Sequence[Path]

    @property
    def files(self) -> list[Path]:
        """All files, in the order in which they were written."""
        drawn = [path for figure in self.figures if isinstance(figure, WrittenFigure)
                 for path in figure.files]  # fmt: skip
        return [*drawn, *self.captions]


def write_figures(source: str, into: Path | None = None, options: Options = Options()) -> Found:
    """Write the figures of a source of results and their captions; return what was written.

    They go into `figures/` of the results' folder unless `into` says another one. Raises UserError
    when the source cannot be read, has no folder, or the folder cannot be written, and for names in
    the file of labels that the results do not have.
    """
    results = open_results(source)
    if into is None:
        if results.folder is None:
            raise UserError(f"{source}: has no folder of its own; name one with --output DIR")
        into = results.folder / FIGURES_FOLDER
        # The author of the results may have put the link there, to redirect what is written.
        if into.is_symlink():
            raise UserError(f"{into}: is a link; remove it, or name a folder with --output DIR")
    findings = analyze(results)
    names = read_labels(options.labels, findings) if options.labels else {}
    layout = Layout(options.width, options.title, names)
    wanted = Wanted(options.only, layout, options.formats)
    found = _written(all_figures(results, findings, wanted), into, wanted)
    return Found(found, write_captions(source, found, into))


def _written(
    figures: Iterable[Drawing | NotDrawn], folder: Path, wanted: Wanted
) -> list[WrittenFigure | NotDrawn]:
    return [
        drawn
        if isinstance(drawn, NotDrawn)
        else WrittenFigure(
            drawn.name,
            drawn.title,
            drawn.caption,
            tuple(write_drawing(drawn, folder, wanted.formats)),
        )
        for drawn in figures
    ]
