"""An environment file (spack.yaml), read strictly: only the keys and kinds that ours use."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from base.errors import Problem
from base.structure import AtKey
from base.structure import Path as Place
from base.text import shown, unknown_word
from configs.document import Document, Value, parse_yaml
from tools.spack_files.specs import BadSpecError, Spec, parse

# What a value may be: a table of keys, a list of something, or one of the kinds of text below.
# "*" stands for any key; a list has the shape of its items.
Shape = str | list["Shape"] | dict[str, "Shape"]

SPEC, TEXT, YES_OR_NO = "a spec", "a text", "true or false"
SHAPE: Shape = {
    "spack": {
        "specs": [SPEC],
        "concretizer": {"unify": "true, false or when_possible"},
        "view": {"*": {"root": TEXT, "select": [SPEC], "exclude": [SPEC], "link": "roots or all"}},
        "config": {"shared_linking": {"type": "runpath"}},
        "packages": {"*": {"require": [SPEC]}},
        "repos": {"builtin": {"tag": TEXT}, "*": TEXT},
        "develop": {"*": {"spec": SPEC, "path": TEXT}},
        "include": [{"path": TEXT, "optional": YES_OR_NO}],
    }
}
# `view: true` is short for one view at the usual place.
_SHORT = {("spack", "view"): ("true", "false")}
# Without these the environment would be another one, without a word from Spack.
_NEEDED = ("specs", "view", "config", "repos", "develop")


@dataclass
class Environment:
    """What an environment file says; each spec with its place, and `sections` by name."""

    file: Path
    document: Document
    specs: list[tuple[Place, Spec]] = field(default_factory=list)
    sections: dict[str, Value] = field(default_factory=dict)

    def section(self, name: str) -> dict[str, Value]:
        """Return a section that is a table, else an empty one."""
        found = self.sections.get(name)
        return found if isinstance(found, dict) else {}

    def problem(self, place: Place, message: str, *, key: bool = False) -> Problem:
        """Return a mistake at this place."""
        return self.document.problem(place, AtKey(message) if key else message)


def read_environment(file: Path) -> tuple[Environment, list[Problem]]:
    """Return what an environment file says, and what is wrong in it by itself."""
    try:
        document = parse_yaml(file.read_bytes(), str(file))
    except OSError as error:
        return Environment(file, Document(str(file))), [Problem(str(file), 1, 1, str(error))]
    environment = Environment(file, document)
    problems = list(document.problems)
    problems += _misshapen(environment, document.value, SHAPE, ())
    top = document.value.get("spack") if isinstance(document.value, dict) else None
    if isinstance(top, dict):
        environment.sections = top
        missing = [name for name in _NEEDED if name not in top]
        problems += [
            document.problem(("spack",), AtKey(f"key {name!r} is missing")) for name in missing
        ]
    return environment, problems


def _misshapen(
    environment: Environment, value: Value, shape: Shape, place: Place
) -> Iterator[Problem]:
    if place in _SHORT and value in _SHORT[place]:
        return
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            yield environment.problem(place, f"expected a table of keys, not {shown(value)}")
            return
        for key, inner in value.items():
            known = shape.get(key, shape.get("*"))
            if known is None:
                message = unknown_word("key", key, shape)
                yield environment.problem((*place, key), message, key=True)
            else:
                yield from _misshapen(environment, inner, known, (*place, key))
    elif isinstance(shape, list):
        if not isinstance(value, list) or not value:
            yield environment.problem(place, f"expected a list, not {shown(value)}")
            return
        for index, item in enumerate(value):
            yield from _misshapen(environment, item, shape[0], (*place, index))
    else:
        yield from _misread(environment, value, shape, place)


def _misread(environment: Environment, value: Value, kind: str, place: Place) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield environment.problem(place, f"expected {kind}, not {shown(value)}")
    elif kind == SPEC:
        try:
            environment.specs.append((place, parse(value)))
        except BadSpecError as error:
            yield environment.problem(place, str(error))
    elif kind != TEXT and value not in kind.replace(",", "").split():
        yield environment.problem(place, f"expected {kind}, not {shown(value)}")
