"""The programs of a study, and whether they have changed since its earlier records."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec import to_builtins

from pinstudy.base import PINSTUDY
from pinstudy.base.errors import StudyError, UserError
from pinstudy.base.files import write_json
from pinstudy.base.reading import Reading
from pinstudy.configs.results_folder import PROGRAMS
from pinstudy.runners.host.program_files import ProgramFiles, ProgramReader, programs_in
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.command_line import program_arguments
from pinstudy.runners.plan.plan import Plan
from pinstudy.runners.records.kept_facts import ProgramFacts, kept_facts, program_changes

WAYS_ON = (
    "put it back and start the same command again to continue; or start anew with --fresh, which "
    f'keeps what was measured, as the "before" of `{PINSTUDY} compare`, or, as jobs have to, in '
    "another folder with --results"
)


@dataclass(frozen=True)
class StudyPrograms:
    """The programs of a study's cases when an attempt begins; `reader` reads them again."""

    reader: ProgramReader
    by_case: Mapping[str, tuple[Path, ...]]
    files: Mapping[tuple[Path, ...], ProgramFiles]

    @classmethod
    def of(cls, plan: Plan, reader: ProgramReader) -> StudyPrograms:
        """Read the programs of a plan's cases."""
        by_case = {
            case.case_id: programs_in(plan.programs[case.build.program], program_arguments(case))
            for case in plan.cases
        }
        files = {programs: reader.read(programs) for programs in set(by_case.values())}
        return cls(reader, by_case, files)

    def check_earlier(self, folder: Path, recorded: Mapping[str, Collection[str]]) -> None:
        """Raise UserError when a case's program is not that of its earlier records.

        `recorded` has the digests in these records by case. `folder` is the results folder, whose
        folder `programs` lists the files of each digest. Raises StudyError when a program cannot be
        read now.
        """
        for case_id, programs in self.by_case.items():
            now = self.files[programs]
            for digest in recorded.get(case_id, ()):
                if digest != now.digest:
                    before = kept_facts(folder / PROGRAMS, digest, ProgramFacts)
                    _check_known(programs[0], before, now)
                    raise UserError(
                        f"{folder}: {programs[0]} is not the program that made the runs there: "
                        f"{program_changes(before, now.facts())}; {WAYS_ON}"
                    )

    def measured(self, case: Case) -> Reading:
        """Read a case's program again; return the fields for the record of a run.

        Raises StudyError when the program has changed since the attempt began, or cannot be read
        now.
        """
        programs = self.by_case[case.case_id]
        before, now = self.files[programs], self.reader.read(programs)
        if now.digest != before.digest:
            _check_known(programs[0], before.facts(), now)
            raise StudyError(
                f"{programs[0]} has changed while the study ran: "
                f"{program_changes(before.facts(), now.facts())}; {WAYS_ON}"
            )
        absent = "; ".join(before.unavailable.values())
        return Reading({"program_digest": now.digest}, {"program_files": absent} if absent else {})

    def keep(self, folder: Path) -> None:
        """Write the programs' files and digests beside the records; raises StudyError."""
        for files in self.files.values():
            path = folder / PROGRAMS / f"{files.digest}.json"
            write_json(path, to_builtins(files.facts()), sort_keys=True)


def _check_known(program: Path, before: ProgramFacts | None, now: ProgramFiles) -> None:
    """Raise StudyError when files cannot be read that were readable before, as in a shortage."""
    known = before.unavailable if before else {}
    if new := [why for part, why in now.unavailable.items() if part not in known]:
        raise StudyError(
            f"{program}: whether it has changed cannot be told: {'; '.join(new)}; start the same "
            "command again when it can, it continues"
        )
