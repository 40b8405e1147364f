"""Environment variables that files set for programs, and how a program is told its thread count.

An app, a build of it, a study and a mapping may each set variables; of two that set the same one,
the later in this order counts. A value may have the places `{threads}`, `{cpus}` and `{places}`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pinstudy.base.text import shown, unknown_word
from pinstudy.configs.decoding import (
    AtKey,
    InvalidError,
    MismatchError,
    Mistake,
    Mistakes,
    entries,
    written,
)
from pinstudy.configs.mechanisms import mechanisms_by_variable
from pinstudy.configs.values import ARGUMENT_SCHEMA, MAX_TEXT_CHARACTERS, text_schema

PLACES = {
    "threads": "the thread count",
    "cpus": "the CPUs of the case, such as 0,2,4",
    "places": "the same as OMP_PLACES takes them, such as {0},{2},{4}",
}
OMP_NUM_THREADS = "OMP_NUM_THREADS"
# In place of a variable: the program's arguments have the thread count.
BY_ARGUMENTS = "arguments"
# The program starts as many threads as its affinity mask has CPUs.
BY_AFFINITY = "affinity"
_NO_VARIABLE = (BY_ARGUMENTS, BY_AFFINITY)

# What pinstudy sets itself, and the key that decides it.
OWN = {
    OMP_NUM_THREADS: "say how many in 'threads', and how in the app's 'threads_by'",
    "GOMP_CPU_AFFINITY": "use a mapping of mechanism omp-places",
    **{
        variable: f"use a mapping of mechanism {mechanism}"
        for variable, mechanism in mechanisms_by_variable().items()
    },
    "OMP_SCHEDULE": "name it in 'schedules'",
    "OMP_WAIT_POLICY": "name it in 'wait_policy'",
    "OMP_DYNAMIC": "it is false, so that the thread count is the one asked for",
    "LC_ALL": "it is C, so that numbers are printed in one way",
}
# A name that every shell can export (POSIX.1-2017, section 8.1).
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}", re.ASCII)
_NAME_RULE = "letters, digits and _ only, at most 100, the first no digit"
# A count for each level of nested regions, the outermost first (OpenMP 6.0, section 4.1.3).
_COUNTS = re.compile(r"\s*[1-9][0-9]{0,5}((?:\s*,\s*[1-9][0-9]{0,5})+)\s*", re.ASCII)
# `{0}` is a place of OMP_PLACES, not one of ours.
_PLACE = re.compile(r"\{([A-Za-z_]+)\}", re.ASCII)


# Names with values, sorted by name.
Assignments = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class SetVariable:
    """A variable with its value, in which places may stand, and the file's part that sets it."""

    name: str
    value: str
    by: str


_TABLE = "a table of variables, such as {OPENBLAS_CORETYPE: Haswell}"


def _variables(plain: object) -> Assignments:
    mistakes: Mistakes = []
    table = entries(plain, _TABLE)
    for name, text in table.items():
        if problem := _name_problem(name):
            mistakes.append(((name,), AtKey(problem)))
        elif problem := _value_problem(text):
            mistakes.append(((name,), problem))
    wrong = {path[0] for path, _ in mistakes}
    valid = tuple(sorted(item for item in table.items() if item[0] not in wrong))
    if mistakes:
        raise InvalidError(mistakes, valid)
    return valid


def _threads_by(plain: str) -> str:
    """Return the name of a variable, or BY_ARGUMENTS or BY_AFFINITY."""
    if not NAME.fullmatch(plain) or (plain.islower() and plain not in _NO_VARIABLE):
        raise MismatchError
    if plain in OWN and plain != OMP_NUM_THREADS:
        raise InvalidError(f"{plain} is set by pinstudy: {OWN[plain]}")
    return plain


_SCHEMA = {
    "type": "object",
    "propertyNames": {"pattern": f"^(?:{NAME.pattern})$"},
    "additionalProperties": ARGUMENT_SCHEMA,
    "minProperties": 1,
}
Variables = Annotated[Assignments, written(Any, to=_variables, expected=_TABLE, schema=_SCHEMA)]
# What tells a program its thread count.
ThreadsBy = Annotated[
    str,
    written(
        str,
        to=_threads_by,
        expected=f"a variable such as OPENBLAS_NUM_THREADS, {BY_ARGUMENTS!r} or {BY_AFFINITY!r}",
        schema=text_schema(NAME.pattern),
    ),
]


def _name_problem(name: str) -> str | None:
    if not NAME.fullmatch(name):
        return f"{shown(name)} is no name of a variable: {_NAME_RULE}"
    if name in OWN:
        return f"{name} is set by pinstudy: {OWN[name]}"
    return None


def _value_problem(value: object) -> str | None:
    if not isinstance(value, str) or len(value) > MAX_TEXT_CHARACTERS or not value.isprintable():
        return (
            f"{shown(value)} is not a variable's value: one line of at most "
            f"{MAX_TEXT_CHARACTERS} characters; an empty one is ''"
        )
    for place in _PLACE.findall(value):
        if place not in PLACES:
            return unknown_word("place", f"{{{place}}}", [f"{{{known}}}" for known in PLACES])
    return None


def counting(threads_by: Iterable[str]) -> tuple[str, ...]:
    """Return the variables among what tells a program its thread count."""
    return tuple(name for name in threads_by if name not in _NO_VARIABLE)


def nested_counts(text: str) -> str:
    """Return what OMP_NUM_THREADS says of regions within others, such as `,2`; else nothing."""
    match = _COUNTS.fullmatch(text)
    return "".join(match[1].split()) if match else ""


def merged(sources: Iterable[tuple[str, Assignments | None]]) -> tuple[SetVariable, ...]:
    """Return the variables of some sources, each named by what sets it; later ones count."""
    found: dict[str, SetVariable] = {}
    for by, variables in sources:
        found |= {name: SetVariable(name, value, by) for name, value in variables or ()}
    return tuple(found.values())


def filled(value: str, places: Mapping[str, str]) -> str:
    """Return a value with its places filled; `places` has a text for each of PLACES."""
    return _PLACE.sub(lambda place: places[place[1]], value)


def thread_count_mistakes(
    variables: Assignments | None, threads_by: Collection[str]
) -> Iterator[Mistake]:
    """Yield a mistake for each variable that tells the program its thread count already."""
    for name, _ in variables or ():
        if name in threads_by:
            yield (name,), AtKey(f"{name} has the thread count; say how many in 'threads'")
