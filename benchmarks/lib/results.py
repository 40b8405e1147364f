"""benchmarks/RESULTS.md: one section a benchmark, each with the machine that it ran on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from pinstudy.base.files import write_whole

HEAD = """\
# What the benchmarks found

Written by `make bench`, a section a benchmark; one that was not run keeps what it found before.
Each names its machine and when it began: numbers of two sections need not be of one session.
"""
_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def sections_of(text: str) -> dict[str, str]:
    """Return the body of each section of a file of results, by title, in its order."""
    parts = _HEADING.split(text)
    return {title: body.strip() for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def joined(sections: Mapping[str, str], order: Sequence[str]) -> str:
    """Return the file of these sections, in the order of titles; those it does not name last."""
    titles = [title for title in order if title in sections]
    titles += [title for title in sections if title not in order]
    return "\n".join([HEAD, *(f"## {title}\n\n{sections[title]}\n" for title in titles)])


def section(machine: Sequence[tuple[str, str]], output: str, is_markdown: bool) -> str:
    """Return the body of a section: the machine, then what a benchmark printed on it.

    Output that is no Markdown is shown as it was printed.
    """
    named = "\n".join(f"- {name}: {value}" for name, value in machine)
    # A heading of the same level would end the section.
    text = re.sub(r"^## ", "### ", output.strip(), flags=re.MULTILINE)
    if not is_markdown:
        text = f"```text\n{text}\n```"
    return f"{named}\n\n{text}"


def keep(path: Path, title: str, body: str, order: Sequence[str]) -> None:
    """Replace a section of the file; OSError when that fails."""
    older = sections_of(path.read_text(encoding="utf-8")) if path.exists() else {}
    write_whole(path, joined(older | {title: body}, order).encode())
