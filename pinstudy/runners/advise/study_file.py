"""The study file of a search: a study like any other, written for a program and a node. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line
from pinstudy.configs.app import FALLBACK_SCHEDULE, SIZE_PLACE, THREADS_PLACE, kind_of
from pinstudy.configs.document import MAX_BYTES
from pinstudy.configs.load import study_digest
from pinstudy.configs.repetitions import RACE_REPETITIONS, Race
from pinstudy.configs.study import RANDOMISED, Study
from pinstudy.configs.values import MAX_TEXT_CHARACTERS
from pinstudy.configs.variables import OMP_NUM_THREADS
from pinstudy.runners.advise.candidates import Field, Group
from pinstudy.runners.advise.program import Program
from pinstudy.runners.advise.reference import Reference, threads_by
from pinstudy.runners.advise.request import METRIC, Request
from pinstudy.runners.node.topology import Topology

PREFIX = "advise"
# The only size of a program that is given as a command line.
SIZE = "given"
# A study's name has at most 64 characters: the prefix, the app's name and eight digits.
_MAX_NAME = 40
# A longer title ends with one more character, an ellipsis.
_MAX_TITLE = MAX_TEXT_CHARACTERS - 1
# Of the rule of a race these change no run: a search may resume with other values of them.
_CHANGEABLE = ("time_budget_s", "runs", "resumed_by")

Document = dict[str, Any]


@dataclass(frozen=True)
class StudyFile:
    """A study's name, the content of its file, the folder where its program runs, and its race."""

    name: str
    document: Document
    directory: str
    rule: Race

    @property
    def data(self) -> bytes:
        """The file's bytes; raises UserError when they are more than a study may have."""
        too_long = UserError(
            f"study {self.name}: the program's arguments are longer than the {MAX_BYTES // 1024} "
            "KiB that a study may have, which repeats them for each thread count; put them into a "
            "script"
        )
        if len(json.dumps(self.document)) > MAX_BYTES:
            # Writing so much as YAML would take seconds.
            raise too_long
        head = (
            f"# Written by `pinstudy advise` in {json.dumps(self.directory)}, where its program is "
            "run.\n# The same command continues it; its first case is the reference.\n"
        )
        text = yaml.dump(
            self.document,
            Dumper=_Dumper,
            default_flow_style=None,
            sort_keys=False,
            allow_unicode=True,
            width=100,
        )
        data = (head + text).encode()
        if len(data) > MAX_BYTES:
            raise too_long
        return data


def make_study_file(
    request: Request,
    program: Program,
    reference: Reference,
    field: Field,
    governors: Sequence[str],
    topology: Topology,
) -> StudyFile:
    """Return the study whose cases are the field's candidates.

    Its name ends with eight hexadecimal digits of a hash of the command and its working directory,
    the rules of the race, the reference, the requested threads, schedules and governors, and the
    node's CPUs.
    """
    name = app_name(request.program.name)
    app = _app(request, program, field, name)
    rule = _rule(request)
    identity = {
        "app": {key: value for key, value in app.items() if key != "schedules"},
        "race": {key: value for key, value in vars(rule).items() if key not in _CHANGEABLE},
        "reference": [reference.threads, reference.schedule, reference.wait_policy],
        "asked": [request.threads, request.schedules, request.governors, request.wait_policies],
        "directory": request.directory,
        "node": _shape(topology),
    }
    digits = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:8]
    document = {
        "title": one_line(f"How is {name} run best here?"),
        "apps": [_entry(app, program, group, reference) for group in field.groups],
        "governors": list(governors),
        "repetitions": RACE_REPETITIONS,
        "warmup": 1,
        # Cases end early, so that a race draws each block anew.
        "order": RANDOMISED,
        "seed": int(digits, 16),
        "wait_policy": reference.wait_policy,
        "collect": ["perf", "energy"],
    }
    return StudyFile(f"{PREFIX}-{name}-{digits}", document, request.directory, rule)


def with_race(study: Study, rule: Race) -> Study:
    """Return a search's study with the rule of its race, which no file has."""
    raced = replace(study, race=rule)
    return replace(raced, digest=study_digest(raced))


def app_name(file_name: str) -> str:
    """Return a program's file name as the name of an app."""
    plain = re.sub(r"[^A-Za-z0-9._+-]+", "-", file_name)
    return re.sub(r"^[^A-Za-z0-9]+", "", plain)[:_MAX_NAME] or "program"


class _Dumper(yaml.SafeDumper):
    """Writes each value in full: studies have no anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002 - as PyYAML has it
        return True

    def text(self, text: str) -> yaml.ScalarNode:
        """Write a text with unprintable characters in double quotes, which escape them.

        In other styles PyYAML 6 writes some of them as they are, and reads them as line breaks.
        """
        style = None if text.isprintable() else '"'
        node: yaml.ScalarNode = self.represent_scalar("tag:yaml.org,2002:str", text, style)
        return node


_Dumper.add_representer(str, _Dumper.text)


def _app(request: Request, program: Program, field: Field, name: str) -> Document:
    arguments, of_size = _split(request)
    app: Document = {
        "name": name,
        "title": one_line(request.shell_line, _MAX_TITLE),
        "builds": {_build(program): {"program": str(program.path), "runtime": program.runtime}},
        "sizes": {SIZE: {"arguments": of_size}},
        "arguments": arguments,
        "timeout": _seconds(request.limit_s),
    }
    if (told := threads_by(program, request)) != (OMP_NUM_THREADS,):
        app["threads_by"] = list(told)
    if request.helpers:
        app["helper_processes"] = request.helpers
    if request.variables:
        app["variables"] = dict(request.variables)
    if request.pattern is not None:
        app["metrics"] = {METRIC: {"pattern": request.pattern, "unit": "1"}}
    if request.region is not None:
        app["regions"] = [request.region]
    if request.check_command:
        app["check"] = {"command": list(request.check_command)}
    elif request.check_pattern is not None:
        app["check"] = {"pattern": request.check_pattern}
    schedules = dict.fromkeys(group.schedule for group in field.groups)
    if list(schedules) != [FALLBACK_SCHEDULE]:
        app["schedules"] = list(dict.fromkeys(map(kind_of, schedules)))
    return app


def _split(request: Request) -> tuple[list[str], list[str]]:
    """Return the app's arguments and those of its size, which are passed on as they are.

    `{threads}` is replaced in the app's only, where `{size}` stands for the size's arguments.
    """
    arguments = list(request.arguments)
    if not request.takes_threads:
        return [SIZE_PLACE], arguments
    if SIZE_PLACE in arguments:
        raise UserError(
            f"the program's arguments: {THREADS_PLACE} and a {SIZE_PLACE} of your own cannot be "
            "told apart; put the command into a script"
        )
    return [*arguments, SIZE_PLACE], []


def _entry(app: Document, program: Program, group: Group, reference: Reference) -> Document:
    entry: Document = {
        "app": app,
        "builds": [_build(program)],
        "sizes": [SIZE],
        "threads": [group.threads],
    }
    if "schedules" in app:
        entry["schedules"] = [group.schedule]
    if group.wait_policy != reference.wait_policy:
        entry["wait_policy"] = group.wait_policy
    if group.oversubscribe:
        entry["oversubscribe"] = True
    if "regions" in app:
        entry["regions"] = app["regions"]
    return entry | {"mappings": [placed.mapping.name for placed in group.placed]}


def _rule(request: Request) -> Race:
    return Race(
        of=request.of,
        higher=request.higher,
        margin=request.margin,
        time_budget_s=request.time_budget_s,
        runs=request.runs,
        region=request.region,
        resumed_by=request.resumed_by,
    )


def _build(program: Program) -> str:
    return "serial" if program.runtime == "none" else program.runtime


def _seconds(seconds: float) -> str:
    # A duration may have nine decimals.
    return f"{max(seconds, 1e-9):.9f}".rstrip("0").rstrip(".") + " s"


def _shape(topology: Topology) -> Document:
    """Return the facts of a node that decide the candidates."""
    return {
        "kinds": [[kind.name, kind.cpus] for kind in topology.kinds],
        "cores": [[core.cpus, core.kind, core.package] for core in topology.cores],
        "caches": [[cache.level, cache.type, cache.cpus] for cache in topology.caches],
        "allowed": topology.allowed,
    }
