"""The files of an artifact: which of a results folder belong into it, copied and hashed.

A results folder may come from anybody, and a user may have put anything into it: what goes on to a
reviewer is what pinstudy has written there, by its name, and nothing that a link leads to.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from pinstudy.analysis.output import ADVICE_FILE, PAIRS_FILE, VERDICT_FILE
from pinstudy.analysis.records.files import MAX_BYTES
from pinstudy.analysis.results.summaries import FILE as SUMMARIES_FILE
from pinstudy.analysis.tables.means import FILES as TABLES
from pinstudy.base.errors import UserError
from pinstudy.base.files import NotAFileError, open_regular, read_regular
from pinstudy.base.folders import OpenFolder
from pinstudy.base.text import one_line
from pinstudy.configs.results_folder import (
    APPS,
    C2C,
    CARD_FILE,
    ENVIRONMENTS,
    FIGURES_FOLDER,
    LATENCY_FILE,
    LATENCY_UNAVAILABLE,
    NODES,
    PROGRAMS,
    RACE_FILE,
    REPORT_FILE,
    STUDY_FILE,
    TRACES,
)

# What is made again from the records, and compared.
MADE = {
    TABLES["markdown"]: "the tables",
    TABLES["csv"]: "the tables' numbers, unrounded",
    TABLES["latex"]: "the tables in LaTeX",
    VERDICT_FILE: "the verdict: outcomes, decisions, notes",
}
# By their names in a results folder, `/` between levels: what is taken as it is, and what it is.
TAKEN = {
    "records/*.jsonl": "the runs of an attempt, a JSON object a line",
    f"{NODES}/*.json": "facts of the node, or how its instruments were tested",
    f"{NODES}/*.svg": "the node's picture, by lstopo",
    f"{PROGRAMS}/*.json": "paths and SHA-256 of a program and its libraries",
    f"{ENVIRONMENTS}/*.json": "variables that the programs inherited, most as digests",
    STUDY_FILE: "the study as it was last run",
    f"{APPS}/*.yaml": "how an app of the study is started and checked",
    RACE_FILE: "the rule of the race",
    LATENCY_FILE: "latencies between CPUs",
    LATENCY_UNAVAILABLE: "why there are no latencies",
    f"{C2C}/*": "contended cache lines",
    f"{TRACES}/*.json.gz": "the looks at the threads of a run",
    SUMMARIES_FILE: "means that were imported",
    ADVICE_FILE: "the advice, as it was",
    REPORT_FILE: "the report, as it was",
    CARD_FILE: "the card, as it was",
    PAIRS_FILE: "latencies by pairs of CPUs",
    f"{FIGURES_FOLDER}/*": "a figure or its caption, as it was",
    f"{FIGURES_FOLDER}/*/*": "a figure of one table, as it was",
}
# Names that need no quoting in a list of digests, a shell or a URI.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+=@-]{0,254}", re.ASCII)
# 100,000 records of 4 kB are promised; ten times as much is no results folder.
_MAX_FILE_BYTES = 4 << 30
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True)
class ArtifactFile:
    """A file of the artifact: its path there, `/` between levels, and what it is."""

    path: str
    size_bytes: int
    sha256: str
    meaning: str


def copy_results(source: Path, target: Path) -> list[str]:
    """Copy what belongs into an artifact; return the paths in `source` that were left out.

    Neither folders nor files are entered by a link. `target` is made. Raises UserError for a file
    that is too large, OSError when something cannot be read or written.
    """
    left_out = []
    with OpenFolder(source) as opened:
        # A walk does not begin at a link, and the user may well have named one.
        for found in _walk(opened.real_path):
            path = found.path
            if path in MADE:
                continue
            if found.barred or not meaning_of(path):
                left_out.append(one_line(path))
                continue
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            try:
                _copy(found.place, target / path)
            except UserError as error:
                raise UserError(f"{source / path}: {error}") from None
    return sorted(left_out)


def meaning_of(path: str) -> str:
    """Return what a file of a results folder is; empty for one that no artifact has."""
    parts = path.split("/")
    if not all(_NAME.fullmatch(part) for part in parts):
        return ""
    return next((meaning for pattern, meaning in TAKEN.items() if _fits(parts, pattern)), "")


def _fits(parts: list[str], pattern: str) -> bool:
    patterns = pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


@dataclass(frozen=True)
class _Found:
    """A name in the results folder: its path there, and one that is valid for the moment.

    `barred` is what is neither entered nor read.
    """

    path: str
    place: Path
    barred: bool = False


def _walk(top: Path) -> Iterator[_Found]:
    levels = max(pattern.count("/") for pattern in TAKEN)
    for folder, folders, names, descriptor in os.fwalk(top, onerror=_raise):
        below = Path(folder).relative_to(top)
        here = Path(f"/proc/self/fd/{descriptor}")
        entered = {name for name in folders if not (here / name).is_symlink()}
        if len(below.parts) >= levels:
            entered = set()
        for name in sorted(set(folders) - entered):
            yield _Found(str(below / name), here / name, barred=True)
        for name in sorted(names):
            # A link, a pipe, a device: nothing that pinstudy has written.
            is_other = (here / name).is_symlink() or not (here / name).is_file()
            yield _Found(str(below / name), here / name, barred=is_other)
        folders[:] = sorted(entered)


def _raise(error: OSError) -> None:
    raise error


def _copy(source: Path, target: Path) -> None:
    descriptor = open_regular(source, links=False)
    try:
        if os.fstat(descriptor).st_size > _MAX_FILE_BYTES:
            raise UserError(
                f"larger than {_MAX_FILE_BYTES >> 30} GiB; expected a file of pinstudy's: move it "
                "out of the results"
            )
        with target.open("xb") as stream:
            while piece := os.read(descriptor, _PIECE_BYTES):
                stream.write(piece)
    finally:
        os.close(descriptor)


def made_before(source: Path, name: str) -> str | None:
    """Return the text of a table or verdict in a results folder; None where there is no such file.

    Raises UserError for one that is too large, OSError when it cannot be read.
    """
    path = source / name
    try:
        data = read_regular(path, MAX_BYTES, links=False)
    except (FileNotFoundError, NotAFileError):
        return None
    if len(data) > MAX_BYTES:
        raise UserError(f"{path}: larger than {MAX_BYTES >> 20} MiB; expected {MADE[name]}")
    return data.decode("utf-8", "replace")


def hashed(root: Path, path: str, meaning: str) -> ArtifactFile:
    """Return a file of an artifact with its size and SHA-256; raises OSError."""
    digest = hashlib.sha256()
    with (root / path).open("rb") as stream:
        while piece := stream.read(_PIECE_BYTES):
            digest.update(piece)
        return ArtifactFile(path, stream.tell(), digest.hexdigest(), meaning)


def sums(files: Iterable[ArtifactFile]) -> str:
    """Return the lines that sha256sum(1) checks."""
    return "".join(f"{file.sha256}  {file.path}\n" for file in files)
