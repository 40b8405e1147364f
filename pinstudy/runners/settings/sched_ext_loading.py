"""Has the scheduler of each case in force: a program of sched_ext, or the kernel's own.

It comes after all other settings, because a scheduler reads them when it starts.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from pinstudy.base.reading import Unavailable
from pinstudy.configs.settings import CURRENT, KERNEL, program_of
from pinstudy.configs.site import SchedulerRule
from pinstudy.runners.host.privileges import invoking_uid, may_be_root
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.scheduler import SCHED_EXT, SCHED_EXT_NAME, read_loaded
from pinstudy.runners.records.settings_of_runs import NO_SCHED_EXT
from pinstudy.runners.settings.files import put_in_force, read_settings, scheduler_command_problem
from pinstudy.runners.settings.saved import Saved
from pinstudy.runners.settings.sched_ext import (
    SchedulerProgram,
    await_program,
    belongs_to,
    unsafe_for_root,
)
from pinstudy.runners.settings.setting import SettingFile
from pinstudy.runners.settings.switches import NOBODY

# The time that a program whose scheduler was thrown out has to say why and end.
_LAST_WORDS_S = 5.0


@dataclass(frozen=True)
class Wanted:
    """The scheduler of a case: a command line, KERNEL, or CURRENT."""

    scheduler: str

    @property
    def program(self) -> str | None:
        """The name of the program, None without one."""
        return program_of(self.scheduler)

    def is_loaded(self, loaded: str | Unavailable) -> bool:
        """Return whether the loaded scheduler is that of the program, or none where none is."""
        if self.program is None:
            return loaded == NO_SCHED_EXT
        return isinstance(loaded, str) and belongs_to(self.program, loaded)


class SchedExtLoading:
    """Loads the schedulers of one study; `end` must be called at the end."""

    def __init__(self, tree: Tree, saved: Saved, rule: SchedulerRule) -> None:
        """`saved` is shared with what else changes settings; `rule` is the site's."""
        self._tree, self._saved, self._rule = tree, saved, rule
        self._program: SchedulerProgram | None = None
        # What the site's command has set last.
        self._by_site = CURRENT

    def problem(self, scheduler: str) -> str | None:
        """Return why a scheduler cannot be in force, or None; changes nothing."""
        return self._problem(Wanted(scheduler))

    def give_way(self, scheduler: str) -> None:
        """End a scheduler that a case does not want."""
        if self._program and self._program.command_line != scheduler:
            self.end()

    @property
    def running(self) -> SchedulerProgram | None:
        """The program that pinstudy started and whose scheduler is in force, if there is one."""
        return self._program

    def thrown_out(self) -> str:
        """Return why the scheduler that was started is no longer in force; empty while it is.

        It is started again for the next case that wants it.
        """
        program = self._program
        if program is None or (program.in_force and not program.ended):
            return ""
        program.await_end(_LAST_WORDS_S)
        return f"{program.command_line} was thrown out: {self.end()}"

    def end(self) -> str:
        """End the scheduler that was started; return what its program said."""
        program, self._program = self._program, None
        return program.stop() if program else ""

    def apply(self, scheduler: str) -> str | None:
        """Put a case's scheduler in force; return why that failed, or None."""
        wanted = Wanted(scheduler)
        if self._rule.by == "command":
            return self._by_command(wanted)
        self.give_way(scheduler)
        if self._program and (why := self.thrown_out()):
            return why
        if problem := self._problem(wanted):
            return problem
        if wanted.program is None or self._program or self._rule.by == "nobody":
            return None
        if problem := self._save_scheduler():
            return problem
        self._program = SchedulerProgram(self._tree, wanted.scheduler)
        if problem := self._program.start():
            self._program = None
        return problem or None

    def _problem(self, wanted: Wanted) -> str | None:
        """Return why the scheduler of a case cannot be in force, or None."""
        if wanted.scheduler == CURRENT:
            return None
        state = self._tree.word(SCHED_EXT)
        loaded = state if isinstance(state, Unavailable) else read_loaded(self._tree)
        if isinstance(loaded, Unavailable):
            if loaded.missing and wanted.scheduler == KERNEL:
                return None
            return (
                f"{wanted.scheduler} needs sched_ext: {loaded.reason} (it is in Linux from 6.12 "
                "on, with CONFIG_SCHED_CLASS_EXT)"
            )
        if self._is_in_force(wanted, loaded):
            return None
        found = (
            "the kernel's own scheduler is"
            if loaded == NO_SCHED_EXT
            else f"{loaded} of sched_ext is"
        )
        if self._rule.by == "nobody":
            return f"{found} in force, not {wanted.scheduler}; {NOBODY}"
        if leftover := self._saved.leftover:
            return f"{found} in force; {leftover}"
        return None if self._rule.by == "command" else self._start_problem(wanted, loaded)

    def _is_in_force(self, wanted: Wanted, loaded: str) -> bool:
        """Return whether what a case wants is in force already."""
        if wanted.program is None:
            return wanted.is_loaded(loaded)
        if self._program and self._program.command_line == wanted.scheduler:
            return self._program.in_force
        # Nobody knows the arguments of a program that another started.
        by_another = self._rule.by == "nobody" and wanted.program == wanted.scheduler
        return by_another and wanted.is_loaded(loaded)

    def _start_problem(self, wanted: Wanted, loaded: str) -> str | None:
        """Return why pinstudy itself cannot load a scheduler, or unload it; None when it can."""
        if loaded != NO_SCHED_EXT and self._program is None:
            return (
                f"the scheduler {loaded} of sched_ext is in force, which this study did not start: "
                "end its program"
            )
        if wanted.program is None:
            return None
        if shutil.which(wanted.program) is None:
            return f"there is no {wanted.program} on the PATH"
        if self._tree.live and not may_be_root():
            return f"only root may load {wanted.scheduler}: run as root"
        return unsafe_for_root(wanted.scheduler) if invoking_uid() is not None else None

    def _by_command(self, wanted: Wanted) -> str | None:
        """Have the site's command set a scheduler, unless it was set so and is still in force."""
        loaded = read_loaded(self._tree)
        kept = wanted.scheduler == CURRENT or wanted.is_loaded(loaded)
        if wanted.scheduler == self._by_site and kept:
            return None
        self._by_site = wanted.scheduler
        if wanted.scheduler == CURRENT:
            before = self._saved.value(SCHED_EXT_NAME)
            settings = [] if before is None else [SettingFile(SCHED_EXT_NAME, before)]
            command = self._rule.restore or self._rule.set
            failed = put_in_force(self._tree, settings, scheduler_command=command)
            return failed.get(SCHED_EXT_NAME)
        problem = self._problem(wanted)
        if problem is None and isinstance(loaded, Unavailable):
            # A kernel without sched_ext has its own scheduler in force, and no other.
            return None
        problem = problem or self._save_scheduler()
        problem = problem or scheduler_command_problem(self._rule.set, wanted.scheduler)
        problem = problem or await_program(self._tree, wanted.program)
        if problem:
            self._by_site = ""
        return problem or None

    def _save_scheduler(self) -> str | None:
        found = read_settings(self._tree, [SCHED_EXT_NAME])
        if isinstance(found, Unavailable):
            return f"the scheduler is not changed, because it cannot be saved: {found.reason}"
        return self._saved.add(found)
