"""The texts of an artifact: what its folder holds, and its description for an appendix. Pure.

The appendix answers what the artifact description and evaluation of SC ask (sc-conference-series,
AD/AE appendices) and the check-list of cTuning (ctuning.org/ae, artifact appendix), in words of our
own. What the records do not tell is to be filled in, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from pinstudy.analysis.artifact.crate import METADATA_FILE, TO_FILL_IN, Publication
from pinstudy.analysis.artifact.document import Code, Items, Section, Terms
from pinstudy.analysis.artifact.files import MADE, ArtifactFile, meaning_of
from pinstudy.analysis.artifact.provenance import Row, StudyFacts, titles
from pinstudy.base import VERSION
from pinstudy.base.text import first_of, plural
from pinstudy.base.units import duration

README_FILE = "README.md"
SCRIPT_FILE = "reproduce.sh"
SUMS_FILE = "SHA256SUMS"
APPENDIX = "artifact-appendix"
# Of the parts of an artifact, what they are.
PARTS = {
    README_FILE: "this page",
    f"{APPENDIX}.md": "artifact description and evaluation, to be completed",
    f"{APPENDIX}.tex": "the same for LaTeX",
    SCRIPT_FILE: "makes tables and verdicts again, and compares them",
    METADATA_FILE: "the metadata, as an RO-Crate 1.1",
    SUMS_FILE: "SHA-256 of all other files, as sha256sum checks them",
}
_MAX_NAMED = 8
_AGAIN = Code((f"./{SCRIPT_FILE}", f"PINSTUDY=/path/to/bin/pinstudy ./{SCRIPT_FILE}"))


def readme(
    studies: Sequence[StudyFacts], files: Sequence[ArtifactFile], software: Iterable[Row]
) -> list[Section]:
    """Return the page that says what the folder holds, tells and gives again."""
    runs = sum(attempt.runs for study in studies for attempt in study.attempts)
    names = dict.fromkeys(name for study in studies for name, _ in study.nodes)
    return [
        Section(
            titles(studies),
            (
                f"{plural(runs, 'run') if runs else 'Imported means'}, and what follows from them. "
                "Whether OpenMP threads should be pinned on these nodes:",
                Items(tuple(line for study in studies for line in _decisions(study, studies))),
            ),
        ),
        Section(
            "Make tables and verdicts again",
            (
                _AGAIN,
                f"It needs pinstudy {VERSION}, neither the node nor a network, and takes seconds. "
                "Exit status: 0 if all bytes are the same, 1 if one differs.",
                "They were made by " + ", ".join(map(" ".join, software)) + ".",
            ),
        ),
        Section("What is here", (Terms(tuple(_contents(studies, files))),)),
        Section(
            "What it tells about you",
            (
                f"Names of nodes ({first_of(list(names), _MAX_NAMED, ', ') or 'none'}), of studies "
                "and programs; paths of programs and libraries; kernel, firmware and product; "
                "variables that programs inherited (most as digests); names of other processes "
                "that ran beside them; the ends of what programs wrote on stderr. Nothing of it "
                "was changed: records have checksums. A card (pinstudy card) names neither node "
                "nor user.",
            ),
        ),
    ]


def _decisions(study: StudyFacts, studies: Sequence[StudyFacts]) -> list[str]:
    prefix = f"{study.path}: " if len(studies) > 1 else ""
    return [f"{prefix}{line}" for line in study.decisions]


def _contents(studies: Sequence[StudyFacts], files: Sequence[ArtifactFile]) -> Iterable[Row]:
    yield from PARTS.items()
    for study in studies:
        mine = [file for file in files if file.path.startswith(f"{study.path}/")]
        by_meaning: dict[str, list[ArtifactFile]] = {}
        for file in mine:
            by_meaning.setdefault(file.meaning, []).append(file)
        for meaning, same in by_meaning.items():
            name = same[0].path
            if len(same) > 1:
                name = f"{name.rpartition('/')[0]}/ ({len(same)})"
            yield name, meaning


def appendix(
    publication: Publication,
    studies: Sequence[StudyFacts],
    files: Sequence[ArtifactFile],
    software: Iterable[Row],
) -> list[Section]:
    """Return the artifact's description and evaluation, as far as records tell it."""
    attempts = [attempt for study in studies for attempt in study.attempts]
    runs = sum(attempt.runs for attempt in attempts)
    measured = sum(attempt.elapsed_s for attempt in attempts)
    size = sum(file.size_bytes for file in files)
    programs = list(dict.fromkeys(title for study in studies for title in study.tables))
    return [
        Section(
            "Artifact appendix",
            (
                "The artifact holds the raw records of all runs, and makes the tables and the "
                "verdicts again from them, byte for byte, on any Linux machine. "
                f"{TO_FILL_IN}: which contributions, tables and figures of the paper rest on it.",
            ),
        ),
        Section("Check-list", (Terms(tuple(_check_list(publication, programs, runs, size))),)),
        Section("How it is obtained", (f"{TO_FILL_IN}: address or DOI of the archive.",)),
        Section("Hardware dependencies", tuple(_hardware(studies))),
        Section("Software dependencies", tuple(_software(studies, software))),
        Section(
            "Data sets",
            (
                "Inputs: none beside the sizes that the apps' files name (results/*/*/apps). "
                "Outputs: "
                + (
                    f"{plural(runs, 'record')} in results/*/*/records, a JSON object a run."
                    if runs
                    else "imported means, in results/*/*/summaries.csv."
                ),
            ),
        ),
        Section(
            "Installation",
            (
                f"pinstudy {VERSION}: in its checkout, or from its source archive, either of",
                Code(("make setup        # then bin/pinstudy", "pip install .     # a wheel")),
            ),
        ),
        Section("Experiment workflow", tuple(_workflow(studies, measured))),
        Section("Evaluation and expected results", tuple(_evaluation(studies))),
        Section(
            "Customisation",
            (
                "Another margin, baseline or columns of tables: options of pinstudy verdict and "
                "pinstudy tables. Other programs, mappings or governors: keys of study.yaml.",
            ),
        ),
    ]


def _check_list(
    publication: Publication, programs: Sequence[str], runs: int, size_bytes: int
) -> Iterable[Row]:
    yield "Programs", first_of(programs, _MAX_NAMED) or "unknown"
    yield "Compilation", "compiler and flags of each program: built_with in its records"
    yield "Execution", f"{plural(runs, 'run')} under the mappings of study.yaml"
    yield "Metrics", "time; energy, counters and placement where the node has them"
    yield "Output", ", ".join(MADE)
    yield "Disk space", f"{size_bytes / 2**20:.1f} MiB, and the same while it is made again"
    yield "Time to prepare", "minutes, for the installation of pinstudy"
    yield "Public", f"{TO_FILL_IN}: yes, where"
    yield "Licences", f"code BSD-3-Clause; records {publication.licence or TO_FILL_IN}"
    names = ", ".join(author.name for author in publication.authors)
    yield "Authors", names or TO_FILL_IN


def _hardware(studies: Sequence[StudyFacts]) -> Iterable[str | Terms]:
    nodes = dict(node for study in studies for node in study.nodes)
    again = "a node such as" if nodes else "the results do not describe their node."
    yield f"To make tables and verdicts again: none. To measure again: {again}"
    for name, rows in nodes.items():
        yield Terms((("node", name), *rows))


def _software(studies: Sequence[StudyFacts], software: Iterable[Row]) -> Iterable[str | Terms]:
    yield "Tables and verdicts were made by"
    yield Terms(tuple(software))
    if versions := dict.fromkeys(chain.from_iterable(study.versions for study in studies)):
        yield "Part in the runs took"
        yield Terms(tuple(versions))


def _workflow(studies: Sequence[StudyFacts], measured_s: float) -> Iterable[str | Code]:
    yield "Check the files and make tables and verdicts again, in seconds:"
    yield _AGAIN
    if commands := tuple(chain.from_iterable(study.commands for study in studies)):
        yield (
            f"Measure again, on a node as above; the runs took {duration(measured_s)} together, "
            "preparations not counted:"
        )
        yield Code(commands)


def _evaluation(studies: Sequence[StudyFacts]) -> Iterable[str | Items]:
    yield (
        f"{SCRIPT_FILE} ends with status 0: every byte of {', '.join(MADE)} is as it was. "
        "Their answer:"
    )
    yield Items(tuple(line for study in studies for line in _decisions(study, studies)))
    yield (
        "Runs that are made again give other times. What should come again are the outcomes "
        "(better, worse, equivalent) within the intervals of verdict.md, on a like node."
    )


def meaning(path: str) -> str:
    """Return what a file of a study's folder in the artifact is; `path` is below that folder."""
    return MADE.get(path) or meaning_of(path)
