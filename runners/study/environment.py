"""The variables that a study's programs inherit, and whether they are those of its earlier runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from base.errors import UserError
from base.files import sha256_of_json, write_json
from base.text import first_of
from runners.node.node_files import load_facts
from runners.plan.case import Case
from runners.plan.command_line import Launch
from runners.plan.inherited_variables import PATH, inherited_variables, variable_changes
from runners.study.programs import WAYS_ON

FOLDER = "environments"
_VARIABLES = "variables"
_MAX_NAMED = 6


@dataclass(frozen=True)
class StudyEnvironment:
    """The inherited variables that count, by case, each with their digest."""

    by_case: Mapping[str, tuple[str, Mapping[str, str]]]

    @classmethod
    def of(cls, cases: Iterable[Case], launch: Callable[[Case], Launch]) -> StudyEnvironment:
        """Read the variables that `launch` gives the programs of these cases."""
        kept = {case.case_id: inherited_variables(launch(case)) for case in cases}
        return cls({case_id: (sha256_of_json(of), of) for case_id, of in kept.items()})

    def digest(self, case: Case) -> str:
        """Return the digest of a case's variables, for the record of a run."""
        return self.by_case[case.case_id][0]

    def check_earlier(self, folder: Path, recorded: Mapping[str, Collection[str]]) -> None:
        """Raise UserError when a case's variables are not those of its earlier records.

        `recorded` has the digests in these records by case. `folder` is the results folder, whose
        folder `environments` has the variables of each digest. PATH may differ, because another
        terminal or sudo has another one, and programs are started by their own paths: a footnote of
        the tables tells of it.
        """
        for case_id, (digest, now) in self.by_case.items():
            for other in sorted(set(recorded.get(case_id, ())) - {digest}):
                then = load_facts(folder / FOLDER, other)
                if changes := _changes(_without_path(then), _without_path({_VARIABLES: now})):
                    raise UserError(
                        f"{folder}: the environment is not that of the runs there: {changes}; "
                        f"{WAYS_ON}"
                    )

    def keep(self, folder: Path) -> None:
        """Write the variables beside the records; raises StudyError."""
        for digest, variables in dict(self.by_case.values()).items():
            path = folder / FOLDER / f"{digest}.json"
            write_json(path, {_VARIABLES: variables}, sort_keys=True)


def _without_path(facts: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    variables = facts.get(_VARIABLES) if facts else None
    if not isinstance(variables, dict):
        return facts
    return {_VARIABLES: {name: of for name, of in variables.items() if name != PATH}}


def changed_variables(folder: Path, first: str, second: str) -> str:
    """Return in words which variables differ between two digests, by the files in a folder.

    Empty where none does.
    """
    return variables_between((folder, first), (folder, second))


def variables_between(first: tuple[Path, str], second: tuple[Path, str]) -> str:
    """Return the same of two digests that are each kept in a results folder of its own."""
    then, now = (load_facts(folder / FOLDER, digest) for folder, digest in (first, second))
    return _changes(then, now)


def _changes(before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> str:
    then, these = (of.get(_VARIABLES) if of else None for of in (before, now))
    if isinstance(then, dict) and isinstance(these, dict):
        return first_of(variable_changes(then, these), _MAX_NAMED)
    return f"which variables differ is not known (expected {FOLDER}/ beside the records)"
