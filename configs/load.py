"""Decode the bytes of a YAML file to a study, app, site or mappings, or report all mistakes.

A study has a digest of what it asks for: the same for the same cases, however the file is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import is_dataclass, replace
from pathlib import PurePath
from typing import Any

from base.errors import ConfigError, Problem, UserError
from base.structure import AtKey, InvalidError, Mistakes, Table
from configs.app import App
from configs.checks import Resolver, Shelf
from configs.document import Document, parse_yaml
from configs.mapping import Mapping, MappingsFile
from configs.repetitions import MAX_REPETITIONS, Repetitions
from configs.site import Site
from configs.study import Study
from configs.values import is_name

_STUDY = Table(Study, "a study")
_APP, _SITE = Table(App, "an app"), Table(Site, "a site")
_MAPPINGS = Table(MappingsFile, "a file of mappings")
# These change no run: where the study stands, its names in tables, forecasts, what is done beside
# its runs, on which nodes they are made, how many of them at most, and how long a race may take.
_NOT_ASKED_FOR = (
    *("path", "source", "digest", "title", "summary", "estimate_s", "c2c", "fixed_time", "spread"),
    *("implementation", "algorithm", "obtain", "engine"),
    *("repetitions", "within_s", "runs"),
)


def parse_study(data: bytes, path: str, shelf: Shelf, repetitions: int | None = None) -> Study:
    """Return the study of a file's bytes; `path` is how messages name the file.

    The study is named as its file. `repetitions` replaces the file's number of runs of each case,
    or the highest one. Raises ConfigError with every mistake, UserError for a wrong `repetitions`.
    """
    document = parse_yaml(data, path)
    values, problems = _decode_named(_STUDY, document)
    asked = values.get("repetitions")
    if repetitions is not None and isinstance(asked, Repetitions):
        values["repetitions"] = asked = _instead(asked, repetitions)
    keys = document.value if isinstance(document.value, dict) else ()
    resolver = Resolver(values, shelf, keys)
    values |= resolver.resolve()
    problems += _placed(document, resolver.mistakes, problems)
    _raise_any(problems + resolver.elsewhere)
    assert isinstance(asked, Repetitions)
    values |= {"repetitions": asked.most, "precision": asked.precision, "race": asked.race}
    # The copy of the file beside the results must state the other number.
    note = "" if repetitions is None else f"# Run with --repetitions {repetitions}.\n"
    study = Study(**values, path=path, source=note.encode() + data)
    return replace(study, digest=study_digest(study))


def _instead(asked: Repetitions, most: int) -> Repetitions:
    """Return the repetitions with another number; raises UserError where it is not allowed."""
    if not 1 <= most <= MAX_REPETITIONS:
        raise UserError(f"--repetitions {most}: expected a number from 1 to {MAX_REPETITIONS}")
    if asked.race:
        raise UserError("--repetitions: in a race the runs decide; give it more 'within' or 'runs'")
    if asked.precision and most < asked.precision.least:
        raise UserError(
            f"--repetitions {most}: the study's min is {asked.precision.least}, expected no less"
        )
    return replace(asked, most=most)


def parse_app(data: bytes, path: str) -> App:
    """Return the app of a file's bytes, named as its file; raises ConfigError."""
    return App(**_named_values(_APP, data, path), source=data)


def parse_site(data: bytes, path: str) -> Site:
    """Return the site of a file's bytes, named as its file; raises ConfigError."""
    return Site(**_named_values(_SITE, data, path), source=data)


def parse_mappings(data: bytes, path: str) -> tuple[Mapping, ...]:
    """Return the mappings of a file's bytes, in their order; raises ConfigError."""
    document = parse_yaml(data, path)
    values, problems = _decode(_MAPPINGS, document, document.value)
    _raise_any(problems)
    return MappingsFile(**values).mappings


def _named_values(table: Table, data: bytes, path: str) -> dict[str, Any]:
    values, problems = _decode_named(table, parse_yaml(data, path))
    _raise_any(problems)
    return values


def _decode_named(table: Table, document: Document) -> tuple[dict[str, Any], list[Problem]]:
    """Return the values and problems of a table that is named as its file."""
    stem = PurePath(document.path).stem
    what = table.declared.__name__.lower()
    value: object = document.value
    if isinstance(document.value, dict):
        value = {"name": stem if is_name(stem) else what, **document.value}
    values, problems = _decode(table, document, value)
    name = values.get("name")
    if not is_name(stem):
        message = f"a {what} is named as its file, and {stem!r} is no name: use letters, digits, -"
        problems.append(document.problem((), message))
    elif name and name != stem:
        message = f"{what} {name!r} stands in a file named {stem!r}; name both alike"
        problems.append(document.problem(("name",), message))
    return values, problems


def _decode(
    table: Table, document: Document, value: object
) -> tuple[dict[str, Any], list[Problem]]:
    """Return the valid values of a document by field, and all its problems.

    The document's own problems come first, and hide those that follow at the same place.
    """
    if document.problems and document.value is None:
        return {}, list(document.problems)
    try:
        values, mistakes = table.values(value)
    except InvalidError:
        known = ", ".join(table.key_names)
        message = f"expected keys and values; known keys: {known}"
        return {}, [*document.problems, document.problem((), message)]
    return values, [*document.problems, *_placed(document, mistakes, document.problems)]


def _placed(document: Document, mistakes: Mistakes, known: Iterable[Problem]) -> list[Problem]:
    """Return the mistakes as problems, except those at the place of a known problem."""
    taken = {(problem.line, problem.column) for problem in known}
    found = [
        document.problem(path, message, key=isinstance(message, AtKey))
        for path, message in mistakes
    ]
    return [problem for problem in found if (problem.line, problem.column) not in taken]


def _raise_any(problems: Iterable[Problem]) -> None:
    # The same mistake of an app's file is found once for every entry that names the app.
    unique = dict.fromkeys(problems)
    if unique:
        raise ConfigError(list(unique))


def study_digest(study: Study) -> str:
    """Return the hexadecimal SHA-256 of the study's canonical JSON (sorted keys, no spaces).

    Where the study has an app, its JSON has the digest of the app's. Fields that a study does not
    use (None) are left out: a new one leaves other digests as they are.
    """
    # A thousand entries may name the same app, which is hashed once.
    apps = {id(choice.app): choice.app for choice in study.apps}
    digests = {which: _sha256(_asked_for(app)) for which, app in apps.items()}
    choices = [_asked_for(choice, app=digests[id(choice.app)]) for choice in study.apps]
    return _sha256(_asked_for(study, apps=choices))


def _asked_for(table: object, **instead: object) -> dict[str, object]:
    """Return the fields of a dataclass that change its runs, some of them with other values."""
    return {
        field: _plain(value)
        for field, value in (vars(table) | instead).items()
        if value is not None and field not in _NOT_ASKED_FOR
    }


def _plain(value: object) -> object:
    if is_dataclass(value):
        return _asked_for(value)
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def _sha256(asked: dict[str, object]) -> str:
    text = json.dumps(asked, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
