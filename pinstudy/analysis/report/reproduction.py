"""How to reproduce results: the commands, the study's file, and the versions of all parts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pinstudy.analysis.format.table import Column, Table
from pinstudy.analysis.records.files import read_limited
from pinstudy.analysis.records.gathered import Record, command_lines
from pinstudy.analysis.records.race_records import rule_of
from pinstudy.analysis.report.exclusions import Place
from pinstudy.analysis.results.node_files import NodeSheet, kinds_option
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.words import report as words
from pinstudy.analysis.words.advice import anew
from pinstudy.base.reading import number_or_nan
from pinstudy.base.text import word_as_typed
from pinstudy.configs.overrides import NOTED, kept_options
from pinstudy.configs.results_folder import APPS, STUDY_FILE
from pinstudy.runners.records.status import SKIPPED

MAX_STUDY_CHARACTERS = 100_000
MAX_APPS = 100
# Of versions of one program, and of rules.
MAX_DIFFERENT = 20
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")


@dataclass(frozen=True)
class Parts:
    """The versions and command lines in the records.

    `rules` are sentences on what ended the repetitions of a case; `lines` has the command line of
    each case's first run.
    """

    rules: list[str]
    versions: Table
    lines: Table


@dataclass(frozen=True)
class Reproduction:
    """The commands to type, the study's text (None without its file), and the versions.

    `raced` tells that a search made the study: its command is needed alone, and none is known where
    the results do not have it. `apps` are the texts of the apps' files by name.
    """

    commands: list[str]
    raced: bool
    study_name: str
    study: str | None
    digests: list[str]
    apps: dict[str, str]
    parts: Parts


def reproduction(
    results: Results, places: Mapping[str, Place], sheets: Sequence[NodeSheet]
) -> Reproduction | None:
    """Return how to reproduce the results; None for those that pinstudy did not make."""
    if results.runs is None or results.folder is None or not results.made_here:
        return None
    frame = results.runs.frame
    names = [str(name) for name in frame["study"].dropna().unique()]
    name = names[0] if names and _NAME.fullmatch(names[0]) else "study"
    study = _text_of(results.folder / STUDY_FILE)
    apps = [app for app in frame["app"].dropna().unique()[:MAX_APPS] if _NAME.fullmatch(app)]
    texts = {app: _text_of(results.folder / APPS / f"{app}.yaml") for app in apps}
    return Reproduction(
        commands=_search(results) if results.runs.raced else _study_commands(results, name, sheets),
        raced=results.runs.raced,
        study_name=name,
        study=study,
        digests=[str(digest) for digest in frame["study_digest"].dropna().unique()],
        apps={app: text for app, text in texts.items() if text is not None},
        parts=_parts_of(results.runs.firsts, places),
    )


def _study_commands(results: Results, name: str, sheets: Sequence[NodeSheet]) -> list[str]:
    assert results.folder is not None
    # The file of a site stands beside the study's, wherever it was.
    kept = (
        Path(word).name if word.startswith("/") else word
        for word in kept_options(results.folder / STUDY_FILE, NOTED)
    )
    options = [
        kinds_option(sheets),
        *map(word_as_typed, kept),
        "--allow-emulation" if results.has_emulated_guests else "",
    ]
    return [
        " ".join(filter(None, [f"bin/pinstudy run {name}.yaml", *options])),
        f"bin/pinstudy report results/{name}",
    ]


def _search(results: Results) -> list[str]:
    """Return the command of the search; `pinstudy run` would repeat every case of its study."""
    assert results.runs is not None and results.folder is not None
    race = results.runs.race_reader.race(results.folder)
    command = race.rule.resumed_by if race else ""
    return [anew(command)] if " advise " in command else []


def _text_of(path: Path) -> str | None:
    """Return the text of a file beside records, as YAML to be saved; None where there is none."""
    data = read_limited(path)
    if data is None:
        return None
    text = data.decode("utf-8-sig", "replace")[:MAX_STUDY_CHARACTERS]
    return text.replace("\r\n", "\n").expandtabs()


def _parts_of(records: Iterable[Record], places: Mapping[str, Place]) -> Parts:
    ran = [record for record in records if record.get("status") != SKIPPED]
    versions: dict[str, list[str]] = {}
    rules: dict[str, None] = {}
    lines = command_lines(ran, places)
    for record in ran:
        for part, version in _versions(record):
            known = versions.setdefault(part, [])
            if version not in known and len(known) < MAX_DIFFERENT:
                known.append(version)
        if rule := _rule(record.get("repetition_rule")):
            rules[rule] = None
    return Parts(
        list(rules)[:MAX_DIFFERENT],
        Table(
            "What took part, by the records",
            (Column("what", right=False), Column("version", right=False)),
            tuple((part, version) for part, known in versions.items() for version in known),
        ),
        Table(
            "What was started in each case",
            (Column("table"), Column("row", right=False), Column("command line", right=False)),
            tuple(
                (str(at), case.label, lines[case_id])
                for case_id, (at, case) in places.items()
                if case_id in lines
            ),
        ),
    )


def _versions(record: Record) -> list[tuple[str, str]]:
    pairs = [("kernel", record.get("kernel")), ("microcode", record.get("microcode"))]
    versions, runtime = record.get("versions"), record.get("runtime")
    if isinstance(versions, dict):
        pairs += [(str(name), version) for name, version in list(versions.items())[:MAX_DIFFERENT]]
    if isinstance(runtime, dict):
        pairs.append(("OpenMP runtime", runtime.get("version")))
    pairs.append(("program", record.get("built_with")))
    pairs.append(("program and libraries, SHA-256", record.get("program_digest")))
    return [(part, version) for part, version in pairs if isinstance(version, str) and version]


def _rule(rule: object) -> str:
    if not isinstance(rule, dict):
        return ""
    if race := rule_of(rule):
        best = "most" if race.higher else "least"
        return (
            f"The cases raced for the {best} {race.of}: after each round the slower half of them "
            "ended. The last one was then tried against the first case, by fresh runs of it."
        )
    if isinstance(decide := rule.get("decide"), dict):
        first, most = (number_or_nan(decide.get(key)) for key in ("first", "max"))
        if math.isnan(first + most):
            return ""
        return (
            f"Each case was repeated {first:g} to {most:g} times: results were looked at after "
            f"{first:g} repetitions and whenever their number had doubled, until every comparison "
            "of times was decided or no time was left."
        )
    return ""


def citations(results: Results) -> list[str]:
    """Return what to cite: the program, and the publication whose study results redo or are."""
    if results.is_published:
        return [words.CITATION, words.PUBLICATION.format(how=words.PUBLISHED)]
    studies = () if results.runs is None else results.runs.frame["study"].dropna().unique()
    redone = any(str(study).split("-")[0] == "paper" for study in studies)
    return [words.CITATION, *([words.PUBLICATION.format(how=words.REDONE)] if redone else [])]
