"""From the bytes of a YAML file to a study, an app or the mappings, or all of its mistakes.

Importing this module imports the YAML and schema machinery, which takes a tenth of a second.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath
from typing import Any, TypeVar

from base.errors import ConfigError, Problem, UserError
from configs.checks.study import Resolver, Shelf
from configs.digest import study_digest
from configs.model import (
    CURRENT_GOVERNOR,
    DEFAULT_COLLECTORS,
    DEFAULT_WARMUP,
    App,
    AppChoice,
    Mapping,
    Site,
    Study,
    Vm,
)
from configs.schema.app import AppSchema
from configs.schema.decode import Strict, load, placed
from configs.schema.document import Document, parse_yaml
from configs.schema.fields import is_name
from configs.schema.mapping import MappingsSchema
from configs.schema.repetitions import MOST_REPETITIONS, Repetitions
from configs.schema.site import SiteSchema
from configs.schema.study import StudySchema

_Named = TypeVar("_Named", App, Site)

DEFAULT_SEED = 1
DEFAULT_ORDER = "randomised-blocks"
# Sleeping costs a wake-up; spinning costs a whole time slice whenever the CPU is shared with what
# is waited for, which on a busy node makes a run ten times longer.
DEFAULT_WAIT_POLICY = "passive"


def parse_study(data: bytes, path: str, shelf: Shelf, repetitions: int | None = None) -> Study:
    """Return the study of a file's bytes; `path` is how messages name the file.

    The study is named as its file. With `repetitions` each case is run as often, or at most as
    often, instead of as the file says. Raises ConfigError with every mistake.
    """
    document = parse_yaml(data, path)
    valid, problems = load(StudySchema(), document)
    if repetitions is not None and isinstance(valid.get("repetitions"), Repetitions):
        valid["repetitions"] = _instead(valid["repetitions"], repetitions)
    keys = document.value if isinstance(document.value, dict) else ()
    resolver = Resolver(valid, shelf, keys)
    choices, mappings, vm = resolver.resolve()
    problems += placed(document, resolver.mistakes, problems)
    problems += resolver.elsewhere + _name_problems(document, valid.get("name"), "study")
    _raise_any(problems)
    # Whoever reads it where it is kept must not take it for what was run.
    told = "" if repetitions is None else f"# Run with --repetitions {repetitions}.\n"
    study = _build_study(valid, choices, mappings, vm, path)
    return replace(study, source=told.encode() + data)


def _instead(asked: Repetitions, most: int) -> Repetitions:
    """Return another number of repetitions; raises UserError where there is none to be chosen."""
    if not 1 <= most <= MOST_REPETITIONS:
        raise UserError(f"--repetitions {most}: expected a number from 1 to {MOST_REPETITIONS}")
    if asked.race:
        raise UserError("--repetitions: in a race the runs decide; give it more 'within' or 'runs'")
    if asked.precision and most < asked.precision.least:
        raise UserError(
            f"--repetitions {most}: the study's min is {asked.precision.least}, expected no less"
        )
    return replace(asked, most=most)


def parse_app(data: bytes, path: str) -> App:
    """Return the app of a file's bytes, named as its file; raises ConfigError."""
    return replace(_parse_named(AppSchema(), App, data, path), source=data)


def parse_site(data: bytes, path: str) -> Site:
    """Return the site of a file's bytes, named as its file; raises ConfigError."""
    return _parse_named(SiteSchema(), Site, data, path)


def parse_mappings(data: bytes, path: str) -> tuple[Mapping, ...]:
    """Return the mappings of a file's bytes, in their order; raises ConfigError."""
    valid, problems = load(MappingsSchema(), parse_yaml(data, path))
    _raise_any(problems)
    return tuple(valid["mappings"].values())


def _parse_named(schema: Strict, kind: type[_Named], data: bytes, path: str) -> _Named:
    """Return what the schema makes of a file's bytes, named as the file; raises ConfigError."""
    document = parse_yaml(data, path)
    found, problems = load(schema, document)
    name = found.name if isinstance(found, kind) else found.get("name")
    _raise_any(problems + _name_problems(document, name, kind.__name__.lower()))
    named: _Named = replace(found, name=PurePath(path).stem)
    return named


def _raise_any(problems: Iterable[Problem]) -> None:
    # The same mistake of an app's file is found once for every entry that names the app.
    unique = dict.fromkeys(problems)
    if unique:
        raise ConfigError(list(unique))


def _name_problems(document: Document, name: str | None, what: str) -> list[Problem]:
    """Return the mistake of a file that is named in two ways, or in one that is no name."""
    stem = PurePath(document.path).stem
    if not is_name(stem):
        message = f"a {what} is named as its file, and {stem!r} is no name: use letters, digits, -"
        return [document.problem((), message)]
    if name and name != stem:
        message = f"{what} {name!r} stands in a file named {stem!r}; name both alike"
        return [document.problem(("name",), message)]
    return []


def _build_study(
    valid: dict[str, Any],
    choices: tuple[AppChoice, ...],
    mappings: tuple[Mapping, ...],
    vm: Vm | None,
    path: str,
) -> Study:
    study = Study(
        name=PurePath(path).stem,
        title=valid["title"],
        apps=choices,
        mappings=mappings,
        governors=tuple(valid.get("governors", (CURRENT_GOVERNOR,))),
        repetitions=valid["repetitions"].most,
        warmup=valid.get("warmup", DEFAULT_WARMUP),
        order=valid.get("order", DEFAULT_ORDER),
        seed=valid.get("seed", DEFAULT_SEED),
        wait_policies=tuple(valid.get("wait_policy", (DEFAULT_WAIT_POLICY,))),
        collect=tuple(valid.get("collect", DEFAULT_COLLECTORS)),
        events=tuple(valid.get("events", ())),
        path=path,
        digest="",
        temperature_gate=valid.get("temperature_gate"),
        baseline=valid.get("baseline"),
        vm=vm,
        precision=valid["repetitions"].precision,
        race=valid["repetitions"].race,
        latency=valid.get("latency"),
        spread=valid.get("batch"),
    )
    return replace(study, digest=study_digest(study))
