"""Makes the gallery: figures, tables and report of some results, and of cards, with their commands.

`make docs` writes it into build/gallery, and website/docs_links.py puts it on the site.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.compare.many import compare_many, many_tables
from pinstudy.analysis.figures.comparisons import draw_comparisons
from pinstudy.analysis.figures.drawing import Drawing, NotDrawn, write_drawing
from pinstudy.analysis.figures.gallery import FIGURES, all_figures, kind_of
from pinstudy.analysis.objectives import TIME
from pinstudy.analysis.report.page import write_report
from pinstudy.analysis.results.card_file import Card, sheet_rows
from pinstudy.analysis.results.sources import PUBLISHED, open_results, sources_below
from pinstudy.analysis.tables.means import make_tables, render
from pinstudy.base.text import one_line

INTO = Path("build/gallery")
CARDS = Path("cards")
PUBLICATION = "published:galante-2025"
VIRTUAL_NODE = Path("build/vnode-study")
# Results of these studies are shown where they were made on this node: together they have every
# kind of figure.
RESULTS = Path("results")
_STUDIES = ("quick", "demo", "affinity", "co-runners")

_MARKUP = re.compile(r"[\\`*_{}\[\]()<>#+!|&-]")
_HEAD = """# Gallery

`make docs` makes this page: every figure that these results have, their tables and their report,
each below the command that makes it. [report.md](report.md) says what the figures show.

"""
# What makes a kind of figure that not every study has.
_COMMANDS = {
    "slowdowns": "run co-runners",
    "contention": "run affinity",
    "smt": "run affinity",
    "threads": "run affinity",
    "latency": "latency",
}
_NO_RESULTS = f"""n/a, because `{RESULTS}` has none of {", ".join(_STUDIES)}.
`bin/pinstudy demo` makes some in two minutes, and then `make docs` shows them here.

"""
_NO_VIRTUAL_NODE = f"""n/a, because `{VIRTUAL_NODE}` has no results. This makes them, and then
`make docs` shows them here:

```sh
make vnode-study ARGS='--out {VIRTUAL_NODE}'
```
"""


def section(source: str, into: Path, name: str) -> tuple[str, list[str]]:
    """Return a source's part of the page, and the names of its figures.

    Its figures and report are written to into/name.
    """
    layout: Literal["full", "published"] = "published" if source.startswith(PUBLISHED) else "full"
    tables = render(make_tables(source, layout), "markdown").replace("## ", "#### ")
    figures, missing = "", ""
    names = []
    results = open_results(source)
    for drawn in all_figures(results, analyze(results)):
        if isinstance(drawn, NotDrawn):
            missing += f"- `{drawn.name}` ({drawn.title}): n/a, because {drawn.reason}\n"
        else:
            names.append(drawn.name)
            figures += f"#### {drawn.name}\n\n{_picture(drawn, into, name)}{drawn.caption}\n\n"
    report = write_report(source, into / name)
    style = "--all" if layout == "full" else f"--layout {layout}"
    return (
        f"### Figures\n\n{_command('figures', source, '-o figures')}{figures}{missing}\n"
        f"### Report\n\n{_command('report', source, '-o report')}"
        f"[The report]({name}/{report.name}) is one file, which needs no network.\n\n"
        f"### Tables\n\n{_command('tables', source, f'{style} --format markdown')}{tables}\n\n"
    ), names


def _sections(folders: Sequence[Path], into: Path, figures: dict[str, list[str]]) -> str:
    """Return the parts of all results below some folders; add the names of their figures."""
    page = ""
    for folder in filter(Path.is_dir, folders):
        for source in sources_below(str(folder)):
            name = f"{folder.name}-{Path(source).name}"
            part, figures[source] = section(source, into, name)
            page += f"`{source}`\n\n{part}"
    return page


def _picture(drawn: Drawing, into: Path, name: str) -> str:
    """Write a figure into a folder of the gallery, and return its Markdown."""
    write_drawing(drawn, into / name, ["svg"])
    alt = drawn.alt.replace("[", "(").replace("]", ")")
    return f"![{alt}]({name}/{drawn.name}.svg)\n\n"


def kinds_table(figures: Mapping[str, Sequence[str]]) -> str:
    """Return which results show each kind of figure; `figures` has their names by source."""
    page = "| kind of figure | from |\n|---|---|\n"
    for kind in FIGURES:
        sources = [
            f"`{source}`"
            for source, names in figures.items()
            if any(kind_of(name) == kind for name in names)
        ]
        command = _COMMANDS.get(kind, "run quick")
        page += f"| {kind} | {', '.join(sources) or f'n/a here; `pinstudy {command}` makes it'} |\n"
    return f"{page}\n"


def cards_section(folder: Path, into: Path) -> str:
    """Return the part on the cards that come with pinstudy; their pictures and reports go there."""
    names = sources_below(str(folder))
    page = (
        "[What a card is, and how to send yours](cards.md). All of them side by side:\n\n"
        "```sh\nbin/pinstudy compare cards\n```\n\n"
    )
    nodes = compare_many([open_results(name) for name in names])
    page += render(many_tables(nodes)[:1], "markdown").replace("## ", "#### ") + "\n\n"
    for source in names:
        results = open_results(source)
        assert results.card is not None
        name, node = Path(source).stem, results.card.node
        (into / "cards" / name).mkdir(parents=True)
        write_report(source, into / "cards" / name)
        facts = "; ".join(value for _, value in sheet_rows(node)) if node else "an unknown node"
        drawn = draw_comparisons(results, analyze(results), TIME)
        if isinstance(drawn, Drawing):
            shown = _picture(drawn, into, f"cards/{name}")
        else:
            shown = f"{drawn.title}: n/a, because {escaped(drawn.reason)}\n\n"
        page += (
            f"#### {name}\n\n{escaped(facts)}; {escaped(_proved(results.card))}. "
            f"[Its report](cards/{name}/report.html).\n\n{shown}"
        )
    return page


def _proved(card: Card) -> str:
    return card.instruments.summary if card.instruments else "instruments not tested"


def escaped(text: str) -> str:
    """Return a text from a card so that Markdown shows it as it is."""
    return _MARKUP.sub(r"\\\g<0>", one_line(text))


def _command(name: str, source: str, options: str) -> str:
    return f"```sh\nbin/pinstudy {name} {source} {options}\n```\n\n"


def make(
    into: Path = INTO,
    virtual_node: Path = VIRTUAL_NODE,
    results: Path = RESULTS,
    cards: Path = CARDS,
) -> str:
    """Write the gallery anew, and return its page."""
    shutil.rmtree(into, ignore_errors=True)
    published, names = section(PUBLICATION, into, "published")
    figures = {PUBLICATION: names}
    emulated = _sections([virtual_node], into, figures)
    measured = _sections([results / study for study in _STUDIES], into, figures)
    page = (
        f"{_HEAD}{kinds_table(figures)}## {PUBLICATION}\n\nPublished means and deviations.\n\n"
        f"{published}## Cards\n\n{cards_section(cards, into)}"
        f"## Measured where this site was built\n\n{measured or _NO_RESULTS}"
        f"## A study in the virtual node\n\n{emulated or _NO_VIRTUAL_NODE}"
    )
    (into / "gallery.md").write_text(page, encoding="utf-8")
    return page


if __name__ == "__main__":
    make()
