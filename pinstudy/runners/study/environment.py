"""The variables that a study's programs inherit, and whether they are those of its earlier runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pinstudy.base.errors import UserError
from pinstudy.base.files import sha256_of_json, write_json
from pinstudy.configs.inherited_variables import PATH, inherited_variables
from pinstudy.configs.results_folder import ENVIRONMENTS
from pinstudy.runners.host.processes import inherited_limits
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.records.kept_facts import EnvironmentFacts, environment_changes, kept_facts
from pinstudy.runners.study.programs import WAYS_ON

# Among the variables, of which none has a blank in its name.
DIRECTORY = "working directory"
_ONLY_TOLD = (PATH, DIRECTORY)


@dataclass(frozen=True)
class StudyEnvironment:
    """The inherited variables and limits that count, by case, each with their digest."""

    by_case: Mapping[str, tuple[str, Mapping[str, str]]]

    @classmethod
    def of(cls, cases: Iterable[Case], launch: Callable[[Case], Launch]) -> StudyEnvironment:
        """Read the variables that `launch` gives the programs of these cases."""
        launches = {case.case_id: launch(case) for case in cases}
        beside = inherited_limits() | {DIRECTORY: str(Path.cwd())}
        kept = {
            case_id: inherited_variables(started.environment, started.set_variables) | beside
            for case_id, started in launches.items()
        }
        return cls({case_id: (sha256_of_json(of), of) for case_id, of in kept.items()})

    def digest(self, case: Case) -> str:
        """Return the digest of a case's variables, for the record of a run."""
        return self.by_case[case.case_id][0]

    def check_earlier(self, folder: Path, recorded: Mapping[str, Collection[str]]) -> None:
        """Raise UserError when a case's variables are not those of its earlier records.

        `recorded` has the digests in these records by case. `folder` is the results folder, whose
        folder `environments` has the variables of each digest. PATH may differ, because another
        terminal or sudo has another one, and programs are started by their own paths; so may the
        working directory: a footnote of the tables tells of them.
        """
        for case_id, (digest, now) in self.by_case.items():
            for other in sorted(set(recorded.get(case_id, ())) - {digest}):
                then = kept_facts(folder / ENVIRONMENTS, other, EnvironmentFacts)
                before = _without_told(then.variables) if then else None
                if changes := environment_changes(before, _without_told(now)):
                    raise UserError(
                        f"{folder}: the environment is not that of the runs there: {changes}; "
                        f"{WAYS_ON}"
                    )

    def keep(self, folder: Path) -> None:
        """Write the variables beside the records; raises StudyError."""
        for digest, variables in dict(self.by_case.values()).items():
            path = folder / ENVIRONMENTS / f"{digest}.json"
            write_json(path, {"variables": variables}, sort_keys=True)


def _without_told(variables: Mapping[str, str]) -> EnvironmentFacts:
    return EnvironmentFacts(
        {name: value for name, value in variables.items() if name not in _ONLY_TOLD}
    )
