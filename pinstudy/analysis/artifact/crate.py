"""The metadata of an artifact as an RO-Crate: JSON-LD that archives and catalogues read. Pure.

RO-Crate 1.1 (Sefton et al. 2020, https://w3id.org/ro/crate/1.1) with the profile Process Run Crate
0.5 (https://w3id.org/ro/wfrun/process/0.5): each attempt at a study is a CreateAction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pinstudy.analysis.artifact.files import MADE, ArtifactFile
from pinstudy.analysis.artifact.provenance import Attempt, Row, StudyFacts, titles
from pinstudy.base import VERSION
from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line, plural, shown
from pinstudy.configs.results_folder import APPS, STUDY_FILE

METADATA_FILE = "ro-crate-metadata.json"
TO_FILL_IN = "TO FILL IN"
_SPECIFICATION = "https://w3id.org/ro/crate/1.1"
_PROFILE = "https://w3id.org/ro/wfrun/process/0.5"
_SPDX = "https://spdx.org/licenses/"
# The context of 1.1 has no sha256 yet; later ones have this.
_CONTEXT = [f"{_SPECIFICATION}/context", {"sha256": "http://schema.org/sha256"}]
_FORMATS = {
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "jsonl": "application/x-ndjson",
    "md": "text/markdown",
    "pdf": "application/pdf",
    "png": "image/png",
    "sh": "application/x-sh",
    "svg": "image/svg+xml",
    "tex": "application/x-tex",
    "yaml": "application/yaml",
}
_ORCID = re.compile(r"(?:https?://orcid\.org/)?((?:[0-9]{4}-){3}[0-9]{3}[0-9X])", re.ASCII)
_LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]{0,80}", re.ASCII)

Entity = dict[str, Any]
Links = Entity | list[Entity]


@dataclass(frozen=True)
class Author:
    """A person, and the person's ORCID iD; empty for none."""

    name: str
    orcid: str = ""


@dataclass(frozen=True)
class Publication:
    """What only its authors know of an artifact. `day` is ISO 8601, `licence` an SPDX identifier.

    `licence` is empty and `authors` are none where they are to be filled in.
    """

    day: str
    authors: tuple[Author, ...] = ()
    licence: str = ""


def author_of(text: str) -> Author:
    """Return the author of `NAME` or `NAME;ORCID`; raises UserError for another text.

    The last character of an ORCID iD is a check digit (ISO 7064, MOD 11-2).
    """
    name, _, orcid = (part.strip() for part in text.partition(";"))
    if not name:
        raise UserError(f"--author {shown(text)}: expected NAME or NAME;ORCID")
    if not orcid:
        return Author(one_line(name))
    found = _ORCID.fullmatch(orcid)
    if not found or found[1][-1] != _check_digit(found[1]):
        raise UserError(
            f"--author {shown(text)}: {shown(orcid)} is no ORCID iD; expected one such as "
            "0000-0002-1825-0097"
        )
    return Author(one_line(name), found[1])


def _check_digit(orcid: str) -> str:
    total = 0
    for digit in orcid.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    rest = (12 - total % 11) % 11
    return "X" if rest == 10 else str(rest)


def licence_of(text: str) -> str:
    """Return an SPDX identifier as it is typed; raises UserError for what can be none."""
    if text and not _LICENCE.fullmatch(text):
        raise UserError(
            f"--licence {shown(text)}: expected an identifier of SPDX, such as CC-BY-4.0"
        )
    return text


def crate(
    publication: Publication,
    studies: Sequence[StudyFacts],
    files: Sequence[ArtifactFile],
    unhashed: Sequence[tuple[str, str]],
    software: Sequence[Row],
) -> Entity:
    """Return the metadata of an artifact that has these studies and files, as JSON has it.

    `unhashed` are the paths and meanings of files that are written after it; `software` are the
    names and versions of what made tables and verdicts.
    """
    of_studies = {
        study.path: [file for file in files if file.path.startswith(f"{study.path}/")]
        for study in studies
    }
    below = {file.path for mine in of_studies.values() for file in mine}
    people = _people(publication)
    authors = _references(person["@id"] for person in people)
    licence = _spdx(publication.licence) if publication.licence else None
    actions = [
        action for study in studies for action in _actions(study, of_studies[study.path], authors)
    ]
    top = [file.path for file in files if file.path not in below] + [path for path, _ in unhashed]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "conformsTo": _reference(_PROFILE),
        "name": titles(studies),
        "description": "Records of runs, tables and verdict, with what makes tables and verdict "
        "again: to pin or not to pin OpenMP threads.",
        "datePublished": publication.day,
        "author": authors,
        "license": _reference(licence["@id"]) if licence else _no_licence(),
        "keywords": "OpenMP, thread affinity, hybrid CPU, performance, energy",
        "hasPart": _references([*(f"{path}/" for path in of_studies), *top]),
        "mentions": _references(action["@id"] for action in actions),
    }
    entities: list[Entity] = [
        {
            "@id": METADATA_FILE,
            "@type": "CreativeWork",
            "about": _reference("./"),
            "conformsTo": _reference(_SPECIFICATION),
        },
        root,
        {"@id": _PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        *(_dataset(study, of_studies[study.path]) for study in studies),
        *map(_file, files),
        *(_described(path, meaning) for path, meaning in unhashed),
        *actions,
        *_software(studies, software),
        *people,
        *([licence] if licence else []),
        _spdx("BSD-3-Clause"),
    ]
    return {"@context": _CONTEXT, "@graph": list({it["@id"]: it for it in entities}.values())}


def _reference(name: str) -> Entity:
    return {"@id": name}


def _references(names: Iterable[str]) -> Links:
    """Return links; a single one is no list, as RO-Crate 1.1 recommends."""
    found = list(map(_reference, names))
    return found[0] if len(found) == 1 else found


def _described(path: str, meaning: str) -> Entity:
    ending = path.rpartition(".")[2]
    form = _FORMATS.get(ending, "text/plain")
    return {
        "@id": path,
        "@type": "File",
        "name": path.rpartition("/")[2],
        "description": meaning,
        "encodingFormat": form,
    }


def _file(file: ArtifactFile) -> Entity:
    known = {"contentSize": str(file.size_bytes), "sha256": file.sha256}
    return _described(file.path, file.meaning) | known


def _dataset(study: StudyFacts, files: Iterable[ArtifactFile]) -> Entity:
    nodes = "; ".join(", ".join(text for _, text in rows[:2]) for _, rows in study.nodes)
    return {
        "@id": f"{study.path}/",
        "@type": "Dataset",
        "name": f"Study {study.study}" + (f": {study.title}" if study.title else ""),
        "description": " ".join([*study.decisions, f"Node: {nodes or 'unknown'}."]),
        "hasPart": _references(file.path for file in files),
    }


def _actions(study: StudyFacts, files: Sequence[ArtifactFile], agents: Links) -> list[Entity]:
    """Return the making of each attempt's runs, and of tables and verdict.

    Runs that pinstudy has not made have no action: what made them is not known.
    """
    paths = {file.path for file in files}
    given = [
        path
        for path in sorted(paths)
        if path == f"{study.path}/{STUDY_FILE}" or path.startswith(f"{study.path}/{APPS}/")
    ]
    made = [attempt for attempt in study.attempts if attempt.versions and attempt.begin]
    actions = [_run_action(study, attempt, given, agents) for attempt in made]
    sources = [f"{study.path}/{attempt.shard}" for attempt in study.attempts]
    last = {
        "@id": f"#tables-{study.path}",
        "@type": "CreateAction",
        "name": f"Tables and verdict of study {study.study}",
        "description": "Made from the records, as reproduce.sh makes them again",
        "agent": agents,
        "instrument": _reference(_software_id("pinstudy", VERSION)),
        "object": _references(sources or sorted(paths - {f"{study.path}/{name}" for name in MADE})),
        "result": _references(f"{study.path}/{name}" for name in MADE),
        "actionStatus": "http://schema.org/CompletedActionStatus",
    }
    return [*actions, last]


def _run_action(study: StudyFacts, attempt: Attempt, given: Iterable[str], agents: Links) -> Entity:
    facts = (f"{study.path}/{path}" for path in attempt.facts)
    return {
        "@id": f"#runs-{study.path}/{attempt.shard}",
        "@type": "CreateAction",
        "name": f"Runs of study {study.study}",
        "description": f"{plural(attempt.runs, 'run')}, measured one after the other",
        "startTime": attempt.begin,
        "endTime": attempt.end,
        "agent": agents,
        "instrument": _references(_software_id("pinstudy", it) for it in attempt.versions),
        "object": _references([*given, *facts]),
        "result": _references([f"{study.path}/{attempt.shard}"]),
        "actionStatus": "http://schema.org/CompletedActionStatus",
    }


def _software_id(name: str, version: str) -> str:
    # A version of a record may have any character.
    return f"#{name}-" + re.sub(r"[^A-Za-z0-9.+-]+", "-", version)


def _software(studies: Iterable[StudyFacts], software: Sequence[Row]) -> list[Entity]:
    by_records = (it for study in studies for attempt in study.attempts for it in attempt.versions)
    needed = [_application(name, version) for name, version in software if name != "pinstudy"]
    own = [
        _application("pinstudy", version) | {"license": _reference(f"{_SPDX}BSD-3-Clause")}
        for version in dict.fromkeys([VERSION, *by_records])
    ]
    own[0]["softwareRequirements"] = _references(entity["@id"] for entity in needed)
    return [*own, *needed]


def _application(name: str, version: str) -> Entity:
    return {
        "@id": _software_id(name, version),
        "@type": "SoftwareApplication",
        "name": name,
        "softwareVersion": version,
    }


def _people(publication: Publication) -> list[Entity]:
    if not publication.authors:
        name = f"{TO_FILL_IN}: the authors (pinstudy artifact --author 'NAME;ORCID')"
        return [{"@id": "#author-1", "@type": "Person", "name": name}]
    return [
        {
            "@id": f"https://orcid.org/{author.orcid}" if author.orcid else f"#author-{number}",
            "@type": "Person",
            "name": author.name,
        }
        for number, author in enumerate(publication.authors, 1)
    ]


def _no_licence() -> str:
    return f"{TO_FILL_IN}: the licence of the records (pinstudy artifact --licence CC-BY-4.0)"


def _spdx(name: str) -> Entity:
    return {
        "@id": f"{_SPDX}{name}",
        "@type": "CreativeWork",
        "name": name,
        "description": f"The licence that SPDX calls {name}",
    }
