"""Short documents of sections, written as Markdown and as LaTeX from the same content. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pinstudy.analysis.format.table import latex_text, markdown_text


@dataclass(frozen=True)
class Terms:
    """A list of terms with their meanings."""

    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Items:
    """A list of texts."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Code:
    """Lines to type."""

    lines: tuple[str, ...]


# A text is a paragraph.
Block = str | Terms | Items | Code


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it; that of the first section is the document's title."""

    title: str
    blocks: tuple[Block, ...]


def as_markdown(sections: Sequence[Section]) -> str:
    """Return a document as Markdown."""
    parts = []
    for number, section in enumerate(sections):
        parts += [f"{'##' if number else '#'} {markdown_text(section.title)}", ""]
        for block in section.blocks:
            parts += [*_markdown(block), ""]
    return "\n".join(parts)


def _markdown(block: Block) -> Iterator[str]:
    if isinstance(block, Code):
        yield from ("```sh", *block.lines, "```")
    elif isinstance(block, Items):
        yield from (f"- {markdown_text(text)}" for text in block.texts)
    elif isinstance(block, Terms):
        yield from (
            f"- **{markdown_text(name)}**: {markdown_text(text)}" for name, text in block.rows
        )
    else:
        yield markdown_text(block)


_HEAD = "% For \\input in an article's appendix; needs no package.\n"


def as_latex(sections: Sequence[Section]) -> str:
    """Return a document as LaTeX, of sections without numbers, to be put into an article."""
    parts = []
    for number, section in enumerate(sections):
        level = "subsection" if number else "section"
        parts.append(rf"\{level}*{{{latex_text(section.title)}}}")
        for block in section.blocks:
            parts += [*_latex(block), ""]
    return _HEAD + "\n".join(parts)


def _latex(block: Block) -> Iterator[str]:
    if isinstance(block, Code):
        # Options of a study may come from anybody: none of them ends it.
        lines = (line.replace("\\end{", "\\end {") for line in block.lines)
        yield from (r"\begin{footnotesize}\begin{verbatim}", *lines)
        yield r"\end{verbatim}\end{footnotesize}"
    elif isinstance(block, str):
        yield latex_text(block)
    elif isinstance(block, Items):
        yield from _listed("itemize", (rf"\item {latex_text(text)}" for text in block.texts))
    else:
        rows = (rf"\item[{{{latex_text(name)}}}] {latex_text(text)}" for name, text in block.rows)
        yield from _listed("description", rows)


def _listed(environment: str, items: Iterable[str]) -> Iterator[str]:
    # An empty list is an error of LaTeX.
    if lines := list(items):
        yield from (rf"\begin{{{environment}}}", *lines, rf"\end{{{environment}}}")
