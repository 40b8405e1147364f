"""Makes the gallery: every figure, the tables and the report of some results, with their commands.

`make docs` writes it into build/gallery, and tools/docs_links.py puts it on the site.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Literal

from analysis.answer import analyze
from analysis.figures.drawing import NotDrawn, write_drawing
from analysis.figures.gallery import all_figures
from analysis.report.page import write_report
from analysis.results.sources import PUBLISHED, open_results, sources_below
from analysis.tables.means import make_tables, render

INTO = Path("build/gallery")
PUBLICATION = "published:galante-2025"
VIRTUAL_NODE = Path("build/vnode-study")

_HEAD = """# Gallery

`make docs` makes this page: every figure that these results have, their tables and their report,
each below the command that makes it. [report.md](report.md) says what the figures show.

"""
_NO_VIRTUAL_NODE = f"""n/a, because `{VIRTUAL_NODE}` has no results. This makes them, and then
`make docs` shows them here:

```sh
make vnode-study ARGS='--out {VIRTUAL_NODE}'
```
"""


def section(source: str, into: Path, name: str) -> str:
    """Return a source's part of the page; its figures and report are written to into/name."""
    layout: Literal["full", "published"] = "published" if source.startswith(PUBLISHED) else "full"
    tables = render(make_tables(source, layout), "markdown").replace("## ", "#### ")
    figures, missing = "", ""
    results = open_results(source)
    for drawn in all_figures(results, analyze(results)):
        if isinstance(drawn, NotDrawn):
            missing += f"- `{drawn.name}` ({drawn.title}): n/a, because {drawn.reason}\n"
        else:
            (path,) = write_drawing(drawn, into / name, ["svg"])
            alt = drawn.alt.replace("[", "(").replace("]", ")")
            figures += f"#### {drawn.name}\n\n![{alt}]({name}/{path.name})\n\n{drawn.caption}\n\n"
    report = write_report(source, into / name)
    style = f"--layout {layout} --format markdown"
    return (
        f"### Figures\n\n{_command('figures', source, '--into figures')}{figures}{missing}\n"
        f"### Report\n\n{_command('report', source, '--into report')}"
        f"[The report]({name}/{report.name}) is one file, which needs no network.\n\n"
        f"### Tables\n\n{_command('tables', source, style)}{tables}\n\n"
    )


def _command(name: str, source: str, options: str) -> str:
    return f"```sh\nbin/pinstudy {name} {source} {options}\n```\n\n"


def make(into: Path = INTO, virtual_node: Path = VIRTUAL_NODE) -> str:
    """Write the gallery anew, and return its page."""
    shutil.rmtree(into, ignore_errors=True)
    page = f"{_HEAD}## {PUBLICATION}\n\n{section(PUBLICATION, into, 'published')}"
    page += "## A study in the virtual node\n\n"
    if virtual_node.is_dir():
        sources = sources_below(str(virtual_node))
        page += "".join(section(source, into, Path(source).name) for source in sources)
    else:
        page += _NO_VIRTUAL_NODE
    (into / "gallery.md").write_text(page, encoding="utf-8")
    return page


if __name__ == "__main__":
    make()
