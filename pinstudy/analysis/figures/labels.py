"""A file of names: what stands in figures for the mappings, programs and settings of results."""

from __future__ import annotations

from pathlib import Path

from pinstudy.analysis.verdict.model import Findings
from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line, unknown_word
from pinstudy.configs.decoding import AtKey
from pinstudy.configs.document import MAX_BYTES, parse_yaml

_EXPECTED = "expected `name in the results: name in the figure`"


def read_labels(path: Path, findings: Findings) -> dict[str, str]:
    """Return the names in figures by the names in the results.

    Raises UserError, with the file's line, for a file that cannot be read and for unknown names.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); name a YAML file") from error
    document = parse_yaml(data, str(path))
    if document.problems:
        raise UserError(str(document.problems[0]))
    if not isinstance(document.value, dict):
        raise UserError(str(document.problem((), f"{_EXPECTED}, a line a name")))
    known = names_in(findings)
    labels: dict[str, str] = {}
    for name, label in document.value.items():
        if name not in known:
            message = unknown_word("name", name, known)
            raise UserError(str(document.problem((name,), AtKey(message))))
        if not isinstance(label, str) or not label.strip():
            raise UserError(str(document.problem((name,), _EXPECTED)))
        labels[name] = label
    shown: dict[str, str] = {}
    for name in known:
        label = labels.get(name, name)
        if label in shown:
            first = shown[label]
            place = name if name in labels else first
            both = f"{one_line(first)} and {one_line(name)} would both be called {one_line(label)}"
            raise UserError(str(document.problem((place,), f"{both}; write two names")))
        shown[label] = name
    return labels


def names_in(findings: Findings) -> list[str]:
    """Return the names that stand in figures: of mappings, then of programs, then of settings."""
    keys = [case.summary.key for case in findings.cases]
    mappings = [name for key in keys for name in (key.mapping, key.vcpu_mapping)]
    programs = [name for key in keys for name in (key.table.app, key.co_runner)]
    settings = [part for key in keys for part in (*key.setting_words.split(", "), key.governor)]
    return [name for name in dict.fromkeys([*mappings, *programs, *settings]) if name]
