"""Finds words in a study's `exclude` that name none of its cases' values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pinstudy.base.text import unknown_word
from pinstudy.configs.decoding import Mistake
from pinstudy.configs.settings import GOVERNOR, NAMES, SettingFactors
from pinstudy.configs.study import AppChoice, Exclusion, Study

_NOUNS = {
    "apps": "app",
    "builds": "build",
    "sizes": "size",
    "threads": "thread count",
    "mappings": "mapping",
    "wait_policies": "wait policy",
    "governors": GOVERNOR,
}
_KEYS = {"wait_policies": "wait_policy"}


def exclusion_mistakes(values: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield the words of a study's exclusions that none of its cases has, with their places.

    `values` are those of the study by field, its apps and mappings looked up. Schedules are not
    among them: which one a program has by default is known when its cases are planned.
    """
    known = _values_of_cases(values)
    exclusions: Sequence[Exclusion] = values.get("exclude") or ()
    for index, exclusion in enumerate(exclusions):
        for name, words in exclusion.factors.items():
            if name not in known:
                continue
            path = _path(exclusion, name)
            for word in words:
                if word not in known[name]:
                    message = unknown_word(
                        _NOUNS.get(name, name), str(word), known[name].values(), " to this study"
                    )
                    yield ("exclude", index, *path), message


def _path(exclusion: Exclusion, name: str) -> tuple[str, ...]:
    if name in NAMES or (name == "governors" and exclusion.governors is None):
        return "settings", GOVERNOR if name == "governors" else name
    return (_KEYS.get(name, name),)


def _values_of_cases(values: Mapping[str, Any]) -> dict[str, dict[Any, str]]:
    """Return what cases have of each key, each value with how it is written."""
    choices: Sequence[AppChoice] = values["apps"]
    factors: SettingFactors = values.get("settings") or SettingFactors()
    governors = factors.governor or values.get("governors", Study.governors)
    of_study = values.get("wait_policies", Study.wait_policies)
    named: dict[str, Iterable[Any]] = {
        "apps": (choice.app.name for choice in choices),
        "builds": (build.name for choice in choices for build in choice.builds),
        "sizes": (size.name for choice in choices for size in choice.sizes),
        "threads": (count for choice in choices for count in choice.threads),
        "mappings": (
            mapping.name
            for choice in choices
            for mapping in (values["mappings"] if choice.mappings is None else choice.mappings)
        ),
        "wait_policies": (
            policy for choice in choices for policy in choice.wait_policies or of_study
        ),
        "governors": governors,
    }
    named |= {name: getattr(factors, name) or () for name in NAMES}
    return {name: {value: str(value) for value in found} for name, found in named.items()}
