"""Executes the notebook of docs/, and writes it as a page with its outputs.

`make docs` writes it into build/notebook, and website/docs_links.py puts it on the site. As in
Jupyter, cells share their names; a cell shows what it prints, its last expression, and the figures
that it leaves open. Magics are not known. An error ends it: the traceback names cell and line.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import warnings
from contextlib import redirect_stdout
from html import escape
from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

SOURCE = Path("docs/notebook.ipynb")
INTO = Path("build/notebook")

# pandas' own rules and borders: the site has its own for tables. A corner is no header.
_PANDAS_STYLE = re.compile(r'<style scoped>.*?</style>\s*|(?<=<table) border="1"[^>]*', re.DOTALL)


def make(source: Path = SOURCE, into: Path = INTO) -> str:
    """Execute a notebook (nbformat 4.5), write its page and figures anew; return the page."""
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    matplotlib.use("agg")
    names: dict[str, Any] = {"__name__": "__main__"}
    parts = []
    for cell in json.loads(source.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        printed, value = _execute(text, f"{source}, cell {cell['id']}", names)
        parts.append(_source(text))
        parts.append(_as_html(f"<pre>{escape(printed)}</pre>") if printed else "")
        parts += [_shown(value), *_figures(into, f"{source.stem}/{cell['id']}")]
    # The title and its purpose come first.
    parts.insert(1, f'Made by executing <a href="{source.name}" download>{source.name}</a>.')
    page = "\n\n".join(filter(None, parts)) + "\n"
    (into / f"{source.stem}.md").write_text(page, encoding="utf-8")
    return page


def _execute(text: str, name: str, names: dict[str, Any]) -> tuple[str, Any]:
    """Return what a cell prints, and the value of its last expression; `names` are its globals."""
    tree = ast.parse(text, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    with redirect_stdout(StringIO()) as printed, warnings.catch_warnings():
        # What `plt.show()` says where there is a display.
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive")
        exec(compile(tree, name, "exec", dont_inherit=True), names)
        value = None
        if isinstance(last, ast.Expr):
            expression = ast.Expression(last.value)
            value = eval(compile(expression, name, "eval", dont_inherit=True), names)
    return printed.getvalue(), value


def _shown(value: object) -> str:
    """Return a value as HTML if it has some, which has escaped its texts, else as text."""
    if value is None:
        return ""
    if html := getattr(value, "_repr_html_", lambda: None)():
        plain = _PANDAS_STYLE.sub("", html).strip()
        return _as_html(plain.replace("<th></th>", "<td></td>"))
    return _as_html(f"<pre>{escape(repr(value))}</pre>")


def _as_html(html: str) -> str:
    """Return an output that Markdown leaves as it is: no fences, no links."""
    kept = re.sub(r"[`\[]", lambda mark: f"&#{ord(mark[0])};", html)
    return f'<div class="output">\n{kept}\n</div>'


def _figures(into: Path, name: str) -> list[str]:
    """Write the open figures as SVG, close them, and return the Markdown of each."""
    pictures = []
    for number in plt.get_fignums():
        figure = plt.figure(number)
        file = into / f"{name}-{number}.svg"
        file.parent.mkdir(exist_ok=True)
        figure.savefig(file, bbox_inches="tight")
        plt.close(figure)
        pictures.append(f"![{_titles(figure)}]({file.relative_to(into)})")
    return pictures


def _titles(figure: Figure) -> str:
    """Return what a figure shows, for those who cannot see it: its titles."""
    titles = "; ".join(
        title
        for axes in figure.axes
        for title in (axes.get_title("left"), axes.get_title(), axes.get_title("right"))
        if title
    )
    return (titles or "a figure without a title").replace("[", "(").replace("]", ")")


def _source(text: str) -> str:
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}python\n{text}\n{fence}"


if __name__ == "__main__":
    make()
