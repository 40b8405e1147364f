"""Decode the bytes of a YAML file to a study, app, site or mappings, or report all mistakes.

A study's digest is the same for the same cases, however its file is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from pinstudy.base.errors import ConfigError, UserError
from pinstudy.base.files import sha256_of_json
from pinstudy.configs.app import App
from pinstudy.configs.checks import Resolver, exclusion_mistakes
from pinstudy.configs.decoding import AtKey, decode_keys, flat_keys
from pinstudy.configs.document import Document, parse_yaml
from pinstudy.configs.mapping import Mapping, MappingsFile
from pinstudy.configs.overridden import override
from pinstudy.configs.overrides import AS_WRITTEN, Overrides
from pinstudy.configs.repetitions import GONE, MAX_REPETITIONS, Repetitions
from pinstudy.configs.site import MeterName, Site
from pinstudy.configs.study import Study
from pinstudy.configs.values import is_name, option_value

# These change no run: the study's place, its names in tables, forecasts, measurements beside its
# runs, what is better of a metric, the nodes of the runs, their largest number, and the time of a
# search.
_NOT_IN_DIGEST = (
    *(
        "path",
        "source",
        "overrides",
        "digest",
        "title",
        "summary",
        "estimate_s",
        "c2c",
        "fixed_time",
        "spread",
    ),
    *("implementation", "algorithm", "obtain", "engine", "prove", "marked_regions"),
    "better",
    *("repetitions", "decide", "time_budget_s", "runs", "resumed_by"),
)


def parse_study(
    data: bytes,
    path: str,
    find_app: Callable[[str], App],
    mappings: Iterable[Mapping],
    overrides: Overrides = AS_WRITTEN,
) -> Study:
    """Return the study of a file's bytes; `path` is how messages name the file.

    The study is named as its file. `find_app` returns the app of a name, or raises UserError; the
    study may name `mappings`. Raises ConfigError with every mistake, UserError for `overrides` that
    do not fit the study.
    """
    document = parse_yaml(data, path)
    _refuse_gone(document)
    values = _named_values(Study, document)
    if document.value is None:
        # It was not read to its end: keys that the rest has are not missing.
        _raise_any(document)
    rule = values.get("repetitions")
    if overrides.repetitions is not None and isinstance(rule, Repetitions):
        values["repetitions"] = rule = _with_most(rule, overrides.repetitions)
    keys = document.value if isinstance(document.value, dict) else ()
    known = {mapping.name: mapping for mapping in mappings}
    resolver = Resolver(values, keys, find_app, known)
    resolved = resolver.resolve()
    document.add(resolver.mistakes)
    document.problems += resolver.elsewhere
    if not document.problems:
        # Options may leave no case that an exclusion is about: it is held against the file alone.
        document.add(list(exclusion_mistakes(values | resolved)))
    _raise_any(document)
    assert isinstance(rule, Repetitions)
    values = override(resolver, resolved, overrides)
    values |= {"repetitions": rule.most, "decide": rule.decide}
    if overrides.meter is not None:
        values["meter"] = option_value("--meter", overrides.meter, MeterName)
    # The copy of the file beside the results must state what is not as in the file.
    source = overrides.note.encode() + data
    study = Study(**values, path=path, source=source, overrides=overrides)
    return replace(study, digest=study_digest(study))


def _refuse_gone(document: Document) -> None:
    """Refuse rules that `repetitions` once had, in a line that says what to write instead."""
    keys = document.value
    rule = keys.get("repetitions") if isinstance(keys, dict) else None
    if not isinstance(keys, dict) or not isinstance(rule, dict):
        return
    if gone := next((name for name in GONE if name in rule), None):
        document.add([(("repetitions", gone), AtKey(GONE[gone]))])
        # One line is enough: the other keys of the rule are gone with it.
        keys["repetitions"] = "1"


def _with_most(rule: Repetitions, most: int) -> Repetitions:
    """Return the repetitions with another number; raises UserError where it is not allowed.

    Whoever gives a number wants so many repetitions, whatever they decide.
    """
    if not 1 <= most <= MAX_REPETITIONS:
        raise UserError(f"--repetitions {most}: expected a number from 1 to {MAX_REPETITIONS}")
    return replace(rule, most=most, decide=None)


def parse_app(data: bytes, path: str) -> App:
    """Return the app of a file's bytes, named as its file; raises ConfigError."""
    return App(**_parsed(App, data, path), source=data)


def parse_site(data: bytes, path: str) -> Site:
    """Return the site of a file's bytes, named as its file; raises ConfigError."""
    return Site(**_parsed(Site, data, path), source=data, path=path)


def problem_at_site(site: Site, keys: tuple[str, ...], message: str) -> str:
    """Return a message about the value of a site that these keys lead to, with its place."""
    return str(parse_yaml(site.source, site.path).problem(keys, message))


def _parsed(table: type, data: bytes, path: str) -> dict[str, Any]:
    document = parse_yaml(data, path)
    values = _named_values(table, document)
    _raise_any(document)
    return values


def parse_mappings(data: bytes, path: str) -> tuple[Mapping, ...]:
    """Return the mappings of a file's bytes, in their order; raises ConfigError."""
    document = parse_yaml(data, path)
    values = _values(MappingsFile, document, document.value)
    _raise_any(document)
    return tuple(MappingsFile(**values).mappings.values())


def _named_values(table: type, document: Document) -> dict[str, Any]:
    """Return the valid values by field of a table that is named as its file; add all mistakes."""
    stem = PurePath(document.path).stem
    noun = table.__name__.lower()
    value: object = document.value
    if isinstance(document.value, dict):
        value = {"name": stem if is_name(stem) else noun, **document.value}
    values = _values(table, document, value)
    name = values.get("name")
    if not is_name(stem):
        message = f"a {noun} is named as its file, and {stem!r} is no name: use letters, digits, -"
        document.problems.append(document.problem((), message))
    elif name and name != stem:
        message = f"{noun} {name!r} stands in a file named {stem!r}; name both alike"
        document.problems.append(document.problem(("name",), message))
    return values


def _values(table: type, document: Document, value: object) -> dict[str, Any]:
    """Return the valid values of a document by field, and add all mistakes to its problems."""
    if document.problems and document.value is None:
        return {}
    if not isinstance(value, dict):
        known = ", ".join(key.name for key in flat_keys(table))
        document.add([((), f"expected keys and values; known keys: {known}")])
        return {}
    values, mistakes = decode_keys(table, value)
    document.add(mistakes)
    return values


def _raise_any(document: Document) -> None:
    # The same mistake of an app's file is found once for every entry that names the app.
    unique = dict.fromkeys(document.problems)
    if unique:
        raise ConfigError(list(unique))


def study_digest(study: Study) -> str:
    """Return the hexadecimal SHA-256 of the study's canonical JSON (sorted keys, no spaces).

    Where the study has an app, its JSON has the digest of the app's. Fields that a study does not
    use (None) are left out: a new one leaves other digests as they are.
    """
    # A thousand entries may name the same app, which is hashed once.
    used = [choice.app for choice in study.apps] + [runner.app for runner in study.all_co_runners]
    apps = {id(app): app for app in used}
    digests = {
        which: sha256_of_json(_digest_fields(app), _digest_fields) for which, app in apps.items()
    }
    choices = [_digest_fields(choice) | {"app": digests[id(choice.app)]} for choice in study.apps]
    fields = _digest_fields(study) | {"apps": choices}
    if study.co_runners:
        fields["co_runners"] = [
            runner and _digest_fields(runner) | {"app": digests[id(runner.app)]}
            for runner in study.co_runners
        ]
    return sha256_of_json(fields, _digest_fields)


def _digest_fields(table: object) -> dict[str, object]:
    """Return the fields of a dataclass that change its runs."""
    return {
        field: value
        for field, value in vars(table).items()
        if value is not None and field not in _NOT_IN_DIGEST
    }
