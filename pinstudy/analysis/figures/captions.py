"""The captions of figures, as files beside them: Markdown, and LaTeX ready to be pasted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pinstudy.analysis.figures.drawing import NotDrawn
from pinstudy.analysis.format.latex import text_of
from pinstudy.analysis.format.table import markdown_text
from pinstudy.analysis.records.files import write_file
from pinstudy.base.text import one_line

MARKDOWN, LATEX = "captions.md", "captions.tex"
# The formats that LaTeX reads.
_FOR_LATEX = (".pdf", ".png")
_LATEX_HEAD = """% Figures of {source}, at the size in which they are printed: do not scale them.
% In the preamble: \\usepackage{{graphicx}}, \\graphicspath{{{{PATH/TO/THIS/FOLDER/}}}}
"""
_ENVIRONMENT = r"""
\begin{figure}
  \centering
  \includegraphics{%(name)s}
  \caption{%(caption)s}
  \label{fig:%(label)s}
\end{figure}
"""


@dataclass(frozen=True)
class Written:
    """A figure that was written: its title and caption, and its files."""

    name: str
    title: str
    caption: str
    files: tuple[Path, ...]


def write_captions(source: str, figures: Sequence[Written | NotDrawn], folder: Path) -> list[Path]:
    """Write the captions of what was written; return the files' paths, none without a figure.

    Raises UserError when the folder cannot be written.
    """
    written = [figure for figure in figures if isinstance(figure, Written)]
    if not written:
        return []
    missing = [figure for figure in figures if isinstance(figure, NotDrawn)]
    files = [write_file(folder / MARKDOWN, _markdown(source, written, missing))]
    if any(path.suffix in _FOR_LATEX for figure in written for path in figure.files):
        files.append(write_file(folder / LATEX, _latex(source, written)))
    return files


def _markdown(source: str, written: Sequence[Written], missing: Sequence[NotDrawn]) -> str:
    parts = [f"# Figures of {markdown_text(one_line(source))}"]
    parts += [
        f"## {figure.name}\n\n{markdown_text(figure.title)}. {markdown_text(figure.caption)}"
        for figure in written
    ]
    if missing:
        lines = (f"- {figure.name}: {markdown_text(one_line(figure.reason))}" for figure in missing)
        parts.append("## Not drawn\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _latex(source: str, written: Sequence[Written]) -> str:
    return _LATEX_HEAD.format(source=one_line(source)) + "".join(
        _ENVIRONMENT
        % {
            "name": figure.name,
            "caption": text_of(f"{figure.title}. {figure.caption}"),
            "label": figure.name.replace("/", "-"),
        }
        for figure in written
    )
