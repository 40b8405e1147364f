"""How results are made again: the commands, the study as it was kept, and what took part."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from analysis.advice.raced import rule_of
from analysis.report.left_aside import Places
from analysis.results.files import read_limited
from analysis.results.node_files import NodeSheet, kinds_option
from analysis.results.sources import Results
from base.reading import number_or_nan
from configs.repetitions import PRECISION_OF
from runners.records.reader import read_records
from runners.records.values import BASELINE, SKIPPED
from runners.study.machine import APPS, STUDY_FILE

# All that is asked of them here is the same in the records of a case: the first ones have it.
MAX_RECORDS = 10_000
MAX_STUDY_CHARACTERS = 100_000
MAX_APPS = 100
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
# What configs.load puts before a study that was run with another number than its own.
_REPETITIONS = re.compile(r"# Run with (--repetitions [0-9]{1,5})\.$", re.MULTILINE)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}")


@dataclass(frozen=True)
class CaseCommand:
    """The command line of a case's first run, with what was set in its environment."""

    table: int
    number: int
    row: str
    line: str


@dataclass
class Reproduction:
    """What it takes: commands to type, the study's text (None if not kept), versions, commands.

    `apps` are the texts of the apps' files by name.
    `rules` are in words what ended the repetitions of a case, where a precision did.
    """

    commands: list[str]
    study_name: str
    study: str | None
    digests: list[str]
    versions: dict[str, list[str]] = field(default_factory=dict)
    cases: list[CaseCommand] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    apps: dict[str, str] = field(default_factory=dict)


def reproduction(
    results: Results, places: Places, sheets: Sequence[NodeSheet]
) -> Reproduction | None:
    """Return how to make the results again; None for results that no pinstudy has made."""
    if results.runs is None or results.folder is None or _imported(results.folder):
        return None
    frame = results.runs.frame
    names = [str(name) for name in frame["study"].dropna().unique()]
    name = names[0] if names and _NAME.fullmatch(names[0]) else "study"
    study = _text_of(results.folder / STUDY_FILE)
    instead = _REPETITIONS.match(study or "")
    emulated = (frame["vm_accelerator"] == "tcg").any()
    options = [
        kinds_option(sheets),
        instead[1] if instead else "",
        "--allow-emulation" if emulated else "",
    ]
    found = Reproduction(
        commands=[
            " ".join(filter(None, [f"bin/pinstudy run {name}.yaml", *options])),
            f"bin/pinstudy report results/{name}",
        ],
        study_name=name,
        study=study,
        digests=[str(digest) for digest in frame["study_digest"].dropna().unique()],
    )
    for app in frame["app"].dropna().unique()[:MAX_APPS]:
        text = _text_of(results.folder / APPS / f"{app}.yaml") if _NAME.fullmatch(app) else None
        if text is not None:
            found.apps[app] = text
    _read_parts(results, places, found)
    return found


def _imported(folder: Path) -> bool:
    """Return whether the runs were imported: a folder has such runs only, or none."""
    return any("imported" in record for record in islice(read_records(folder / "records"), 1))


def _text_of(path: Path) -> str | None:
    """Return the text of a file beside records, as YAML to be saved; None where there is none."""
    data = read_limited(path)
    if data is None:
        return None
    text = data.decode("utf-8-sig", "replace")[:MAX_STUDY_CHARACTERS]
    return text.replace("\r\n", "\n").expandtabs()


def _read_parts(results: Results, places: Places, found: Reproduction) -> None:
    """Add what took part in the runs, by the records' own words."""
    assert results.folder is not None
    seen: set[str] = set()
    for record in islice(read_records(results.folder / "records"), MAX_RECORDS):
        if record.get("status") in (SKIPPED, BASELINE):
            continue
        for what, version in _versions(record):
            known = found.versions.setdefault(what, [])
            if version not in known and len(known) < 20:
                known.append(version)
        rule = _rule(record.get("repetition_rule"))
        if rule and rule not in found.rules and len(found.rules) < 20:
            found.rules.append(rule)
        case_id = record.get("case_id")
        line = _line(record)
        if isinstance(case_id, str) and case_id in places and case_id not in seen and line:
            seen.add(case_id)
            at, case = places[case_id]
            found.cases.append(CaseCommand(at, case.number, case.label, line))
    found.cases.sort(key=lambda case: (case.table, case.number))


def _versions(record: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = [("kernel", record.get("kernel")), ("microcode", record.get("microcode"))]
    versions, runtime = record.get("versions"), record.get("runtime")
    if isinstance(versions, dict):
        found += [(str(name), version) for name, version in list(versions.items())[:20]]
    if isinstance(runtime, dict):
        found.append(("OpenMP runtime", runtime.get("version")))
    found.append(("program", record.get("build")))
    found.append(("program and libraries, SHA-256", record.get("program_digest")))
    return [(what, version) for what, version in found if isinstance(version, str) and version]


def _rule(rule: object) -> str:
    """Return what ended the repetitions of a case, in words; empty for what is no rule."""
    if not isinstance(rule, dict):
        return ""
    if race := rule_of(rule):
        best = "most" if race.higher else "least"
        return (
            f"The cases raced for the {best} {race.of}: in blocks of one run of each, those that "
            "were reliably worse than the best ended. The best of them was then tried against the "
            "first case, by fresh runs of it."
        )
    least, most, share = (number_or_nan(rule.get(key)) for key in ("min", "max", "ci_half_width"))
    named = rule.get("of")
    measures = [name for name in PRECISION_OF if isinstance(named, list) and name in named]
    if math.isnan(least + most + share) or not measures:
        return ""
    return (
        f"Each case was repeated {least:g} to {most:g} times: until the 95 % interval of its mean "
        f"{' and '.join(measures)} reached no further than {share * 100:g} % to each side."
    )


def _line(record: Mapping[str, Any]) -> str:
    """Return a command line as one would type it, with its variables before it."""
    command, environment = record.get("command"), record.get("environment")
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        return ""
    variables = environment.get("set") if isinstance(environment, dict) else None
    words = [
        f"{name}={shlex.quote(str(value))}"
        for name, value in (variables.items() if isinstance(variables, dict) else ())
        if _VARIABLE.fullmatch(name)
    ]
    return " ".join([*words, *(shlex.quote(word) for word in command)])
