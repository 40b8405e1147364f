"""Sets who places the threads of each case, and restores what was in force at the end.

Energy-aware scheduling (EAS) is possible only while all CPUs have a governor that allows it, and
its file is empty otherwise (kernel/sched/topology.c, sched_energy_aware_handler). So it is put back
before a governor changes, and saved and set after that. A scheduler of sched_ext is started last,
because it reads the others when it starts.
"""

from __future__ import annotations

import shutil

from base.command import without_interruption
from base.reading import Unavailable
from configs.scheduling import CURRENT, KERNEL, ON, Scheduling
from configs.site import SchedulerRule
from runners.host.privileges import invoking_uid, may_be_root
from runners.host.tree import Tree
from runners.node.scheduler import (
    ENERGY_AWARE,
    IMPOSSIBLE,
    SCHED_EXT,
    SCHED_EXT_NAME,
    itmt_file,
    read_energy_aware,
    read_itmt,
    read_loaded,
)
from runners.records.settings_of_runs import NO_SCHED_EXT
from runners.settings.recovery import Restored
from runners.settings.saved import Saved
from runners.settings.sched_ext import SchedulerProgram, await_program, belongs_to, unsafe_for_root
from runners.settings.setting import (
    Setting,
    put_in_force,
    read_settings,
    scheduler_command_problem,
)

_NAMES = {ENERGY_AWARE: "energy-aware scheduling"}
# The time that a program whose scheduler was thrown out has to say why and end.
_LAST_WORDS_S = 5.0
_NOBODY = "at this site nobody sets it"
_IMPOSSIBLE = (
    f"energy-aware scheduling is impossible now ({ENERGY_AWARE} is empty): every CPU needs the "
    "governor schedutil, and the node cores of several capacities without SMT"
)


def _is_of(wanted: Scheduling, loaded: str | Unavailable) -> bool:
    """Return whether the loaded scheduler is that of the program, or none, that a case wants."""
    if wanted.program is None:
        return loaded == NO_SCHED_EXT
    return isinstance(loaded, str) and belongs_to(wanted.program, loaded)


class Schedulings:
    """Switches the scheduling of one node during one study; `restore` must be called at the end."""

    def __init__(self, tree: Tree, saved: Saved, rule: SchedulerRule) -> None:
        """`saved` is shared with the study's governors; `rule` is the site's."""
        self._tree, self._saved, self._rule = tree, saved, rule
        self._program: SchedulerProgram | None = None
        # What the site's command has set last.
        self._by_site = CURRENT

    def problem(self, wanted: Scheduling, governor_changes: bool = False) -> str | None:
        """Return why a case cannot be scheduled so now, or None; changes nothing.

        Where its governor changes before, nobody knows yet whether EAS is possible then.
        """
        return (
            self._switch_problem(ENERGY_AWARE, wanted.energy_aware, governor_changes)
            or self._switch_problem(itmt_file(self._tree), wanted.itmt)
            or self._scheduler_problem(wanted)
        )

    def give_way(self, wanted: Scheduling, governor_changes: bool) -> str | None:
        """End a scheduler that a case does not want; put EAS back if its governor is to change.

        Return why that failed, or None.
        """
        self._end_unwanted(wanted)
        return self._put_back(ENERGY_AWARE) if governor_changes else None

    def apply(self, wanted: Scheduling) -> str | None:
        """Put a case's scheduling in force and read it back; return why that failed, or None.

        What the case leaves as it is has the value from before the study.
        """
        return (
            self._switch(ENERGY_AWARE, wanted.energy_aware)
            or self._switch(itmt_file(self._tree), wanted.itmt)
            or self._schedule(wanted)
        )

    def restore(self) -> Restored | None:
        """End the scheduler and put all settings back; return None when nothing was changed."""
        with without_interruption():
            self._end_program()
            return self._saved.restore()

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
        return f"{program.command_line} was thrown out: {self._end_program()}"

    def _end_unwanted(self, wanted: Scheduling) -> None:
        if self._program and self._program.command_line != wanted.scheduler:
            self._end_program()

    def _end_program(self) -> str:
        program, self._program = self._program, None
        return program.stop() if program else ""

    def _state(self, path: str) -> str | Unavailable:
        return read_energy_aware(self._tree) if path == ENERGY_AWARE else read_itmt(self._tree)

    def _switch_problem(self, path: str, wanted: str, governor_changes: bool = False) -> str | None:
        """Return why a switch of the kernel's scheduler cannot be set, or None."""
        state = self._state(path)
        if wanted in (CURRENT, state):
            return None
        name = _NAMES.get(path, "ITMT")
        if isinstance(state, Unavailable):
            return f"{name} cannot be switched {wanted}: {state.reason}"
        if state == IMPOSSIBLE and not governor_changes:
            return _IMPOSSIBLE
        if self._rule.by == "nobody":
            return f"{name} is {state}, not {wanted}; {_NOBODY}"
        # For a recorded tree, root's permissions on the node itself are assumed.
        if self._tree.live and not self._tree.writable(path):
            return f"{name} is {state}; no permission to write {path}: run as root"
        if leftover := self._saved.leftover:
            return f"{name} is {state}; {leftover}"
        return None

    def _switch(self, path: str, wanted: str) -> str | None:
        if wanted == CURRENT:
            return self._put_back(path)
        if self._state(path) == wanted:
            return None
        text = self._tree.text(path)
        if problem := self._switch_problem(path, wanted):
            return problem
        assert isinstance(text, str)
        if problem := self._saved.add([Setting(path, text)]):
            return problem
        # Kernels that show truth values as letters take them, too.
        values = ("Y", "N") if text in "YN" else ("1", "0")
        failed = put_in_force(self._tree, [Setting(path, values[wanted != ON])])
        problem = failed.get(path)
        if problem is None and self._state(path) != wanted:
            problem = f"it is {self._state(path)} after that"
        return problem and f"{_NAMES.get(path, 'ITMT')} could not be switched {wanted}: {problem}"

    def _put_back(self, path: str) -> str | None:
        """Give a switch its value from before the study, if it was saved."""
        value = self._saved.value(path)
        if value is None:
            return None
        return put_in_force(self._tree, [Setting(path, value)]).get(path)

    def _scheduler_problem(self, wanted: Scheduling) -> str | None:
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
            return f"{found} in force, not {wanted.scheduler}; {_NOBODY}"
        if leftover := self._saved.leftover:
            return f"{found} in force; {leftover}"
        return None if self._rule.by == "command" else self._start_problem(wanted, loaded)

    def _is_in_force(self, wanted: Scheduling, loaded: str) -> bool:
        """Return whether what a case wants is in force already."""
        if wanted.program is None:
            return _is_of(wanted, loaded)
        if self._program and self._program.command_line == wanted.scheduler:
            return self._program.in_force
        # Nobody knows the arguments of a program that another started.
        by_another = self._rule.by == "nobody" and wanted.program == wanted.scheduler
        return by_another and _is_of(wanted, loaded)

    def _start_problem(self, wanted: Scheduling, loaded: str) -> str | None:
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

    def _schedule(self, wanted: Scheduling) -> str | None:
        if self._rule.by == "command":
            return self._by_command(wanted)
        self._end_unwanted(wanted)
        if self._program and (why := self.thrown_out()):
            return why
        if problem := self._scheduler_problem(wanted):
            return problem
        if wanted.program is None or self._program or self._rule.by == "nobody":
            return None
        if problem := self._save_scheduler():
            return problem
        self._program = SchedulerProgram(self._tree, wanted.scheduler)
        if problem := self._program.start():
            self._program = None
        return problem or None

    def _by_command(self, wanted: Scheduling) -> str | None:
        """Have the site's command set a scheduler, unless it was set so and is still in force."""
        loaded = read_loaded(self._tree)
        kept = wanted.scheduler == CURRENT or _is_of(wanted, loaded)
        if wanted.scheduler == self._by_site and kept:
            return None
        self._by_site = wanted.scheduler
        if wanted.scheduler == CURRENT:
            before = self._saved.value(SCHED_EXT_NAME)
            settings = [] if before is None else [Setting(SCHED_EXT_NAME, before)]
            command = self._rule.restore or self._rule.set
            failed = put_in_force(self._tree, settings, scheduler_command=command)
            return failed.get(SCHED_EXT_NAME)
        problem = self._scheduler_problem(wanted)
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
