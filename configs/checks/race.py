"""Finds the mistakes between a study and its race."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from base.structure import Path
from base.text import shown, unknown_word
from configs.app import App
from configs.repetitions import RACE_OF, Race
from configs.study import AppChoice, Study

_RACE: Path = ("repetitions", "race")
_OF: Path = (*_RACE, "of")


def race_mistakes(
    race: Race, choices: Sequence[AppChoice], data: dict[str, Any], engine: str | None
) -> Iterator[tuple[Path, str]]:
    """Yield (path in the study's file, message) of each mistake.

    `data` are the study's valid fields; `engine` is None where the file names an unknown one.
    """
    if data.get("order", Study.order) != "randomised-blocks":
        yield ("order",), "cases race block by block; write order: randomised-blocks"
    if engine not in ("local", None):
        yield ("engine",), "cases race on one node; write engine: local"
    if race.of in RACE_OF and race.higher:
        yield (*_RACE, "better"), f"less is better of {race.of}"
    if race.of in ("energy", "edp") and "energy" not in data.get("collect", Study.collect):
        yield _OF, f"{race.of} is asked for, and 'collect' leaves energy out"
    for app in {choice.app.name: choice.app for choice in choices}.values():
        if problem := _of_problem(race.of, app):
            yield _OF, problem
    yield from _work_mistakes(race, choices)


def _of_problem(of: str, app: App) -> str | None:
    """Return why an app's cases cannot race for `of`, or None."""
    metrics = [metric.name for metric in app.metrics]
    if of in RACE_OF and of in metrics:
        return f"app {app.name!r} has a metric named {of!r} as well; name that otherwise"
    if of in RACE_OF and app.fixed_time:
        return f"app {app.name!r} runs as long as it is told; name one of its metrics"
    if of in RACE_OF or of in metrics:
        return None
    return unknown_word("measure", of, [*RACE_OF, *metrics], f" to app {app.name!r}")


def _work_mistakes(race: Race, choices: Sequence[AppChoice]) -> Iterator[tuple[Path, str]]:
    """Yield a mistake if cases do different work, or print no metric to race for."""
    works = {(choice.app.name, size.name): size for choice in choices for size in choice.sizes}
    if len(works) > 1:
        one, another = (" ".join(work) for work in list(works)[:2])
        yield (
            _RACE,
            "only cases that do the same work can race, one app and one size of it; the study has "
            f"{shown(one)} and {shown(another)}",
        )
    if race.of in RACE_OF:
        return
    for (app, name), size in works.items():
        if size.quiet:
            yield _OF, f"size {name!r} silences app {app!r}, which prints no metric then"
