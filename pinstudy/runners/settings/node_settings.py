"""All settings of a node that a study's cases ask for; they share a journal, and an order.

Frequency scaling comes first, because a governor decides what else is possible; a scheduler of
sched_ext comes last, because it reads the others when it starts. Each is saved before it is changed
for the first time, and read back. What a case leaves as it is has the value from before the study.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

from pinstudy.base.command import without_interruption
from pinstudy.base.reading import Reading, Unavailable
from pinstudy.configs.settings import (
    CURRENT,
    GOVERNOR,
    KERNEL,
    ON,
    SCHED_EXT,
    Settings,
    program_of,
)
from pinstudy.configs.site import GovernorRule, SchedulerRule, Site
from pinstudy.runners.host.privileges import invoking_uid, may_be_root, write_problem
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import NO_TURBO, Cpufreq, policy_directories, read_cpufreq
from pinstudy.runners.node.scheduler import SCHED_EXT as SCHED_EXT_STATE
from pinstudy.runners.node.scheduler import SCHED_EXT_NAME, read_loaded
from pinstudy.runners.node.topology import Core, Topology, with_siblings
from pinstudy.runners.records.settings_of_runs import NO_SCHED_EXT
from pinstudy.runners.settings import epp, governor, turbo
from pinstudy.runners.settings.files import (
    is_settled,
    put_in_force,
    read_scaling,
    read_settings,
    scheduler_command_problem,
    unwritable_file,
)
from pinstudy.runners.settings.frequency_limit import FREQUENCY_LIMITS
from pinstudy.runners.settings.governor import PERFORMANCE
from pinstudy.runners.settings.recovery import Restored, Saved
from pinstudy.runners.settings.registry import FACTORS, SCALING, SETTINGS, ordered, owner_of
from pinstudy.runners.settings.sched_ext import (
    SchedExt,
    SchedulerProgram,
    await_program,
    belongs_to,
    unsafe_for_root,
)
from pinstudy.runners.settings.setting import NOBODY, Present, Setting, SettingFile

# Slurm sets it in every job step that was started with --cpu-freq (srun(1)).
SLURM_REQUEST = "SLURM_CPU_FREQ_REQ"
# The EPP of the firmware (Linux Documentation/admin-guide/pm/intel_pstate.rst).
_DEFAULT_EPP = "default"
_DRIVER = "scaling_driver"
# The file of each limit, by the name of the setting.
_LIMITS = {limit.name: limit.file for limit in FREQUENCY_LIMITS}
_UNSAVED = "settings are not changed, because they cannot be saved{}"


class FrequencyScaling:
    """Switches the scaling of one node during one study, which restores what it has saved.

    Only the policies that a case needs are switched: those of its CPUs, and of their SMT siblings,
    which share a clock. All others keep their settings from before the study, so that a case does
    not depend on the previous one.
    """

    def __init__(
        self,
        root: Path,
        cores: Iterable[Core],
        rule: GovernorRule,
        environment: Mapping[str, str],
        saved: Saved,
    ) -> None:
        """`rule` is the site's; `saved` is shared with what else changes settings."""
        self._root = root
        self._tree = Tree(root)
        self._cores = tuple(cores)
        self._rule = rule
        self._environment = environment
        self._kept = saved
        self._before: tuple[SettingFile, ...] | Unavailable | None = None
        self._saved = self._locked = False
        # The settings that any case has asked for: others are left to whoever changes them.
        self._ever_asked: set[str] = set()

    def problem(
        self, wanted: Mapping[str, str], cpus: Sequence[int], now: Cpufreq | None = None
    ) -> str | None:
        """Return why a case cannot be scaled so now, or None; changes nothing.

        `wanted` has its settings by name, `now` is the state of frequency scaling, if it was read.
        """
        asked = _asked(wanted)
        present = Present(self._tree, now or read_cpufreq(self._root), cpus, wanted)
        if _not_in_force(asked, present) is None:
            return None
        return self._refusal(asked, present)

    def impossible(
        self, wanted: Mapping[str, str], cpus: Sequence[int], now: Cpufreq
    ) -> str | None:
        """Return why the node can never be scaled so, whoever sets it, or None."""
        present = Present(self._tree, now, cpus, wanted)
        found = (setting.impossible(present, value) for setting, value in _asked(wanted))
        return next(filter(None, found), None)

    def apply(self, wanted: Mapping[str, str], cpus: Sequence[int]) -> str | None:
        """Put a case's scaling in force and read it back; return why that failed, or None.

        What a case does not ask for is as it was before the study.
        """
        asked = _asked(wanted)
        if problem := self._read_before(asked):
            return problem
        now = Present(self._tree, read_cpufreq(self._root), cpus, wanted)
        needed = replace(now, cpus=with_siblings(self._cores, cpus))
        if not self._saved:
            if not asked:
                return None
            problem = _not_in_force(asked, now)
            if problem is None and self._is_applied(needed):
                return None
            refused = self._refusal(asked, now) or self._save()
            if refused is not None:
                return None if problem is None else refused
        if problem := self._switch(needed):
            return problem
        return _not_in_force(asked, replace(now, cpufreq=read_cpufreq(self._root, cpus)))

    def _read_before(self, asked: Sequence[tuple[Setting, str]]) -> str | None:
        """Read what is in force before a case changes it; return why it cannot be saved, or None.

        A limit that was lowered by heat then is read once a case asks for limits.
        """
        new = {setting.name for setting, _ in asked} - self._ever_asked
        self._ever_asked |= new
        if self._before is None:
            # A study that asks for nothing changes nothing, and needs no lock.
            self._locked = bool(asked) and self._kept.lock() is None
            self._before = read_scaling(self._tree, self._ever_asked)
        elif new & _LIMITS.keys() and isinstance(self._before, tuple):
            known = {file.path for file in self._before}
            found = read_scaling(self._tree, self._ever_asked)
            if isinstance(found, Unavailable):
                # The next case reads them again.
                self._ever_asked -= new
                return _UNSAVED.format(f": {found.reason}")
            limits = [
                file for file in found if file.name in _LIMITS.values() and file.path not in known
            ]
            self._before = tuple(ordered((*self._before, *limits)))
            return self._kept.add(limits) if self._saved and limits else None
        return None

    def _refusal(self, asked: Sequence[tuple[Setting, str]], now: Present) -> str | None:
        """Return why the node cannot have what a case asks for, or nobody here can set it.

        A governor decides what else is possible, also where it is not in force yet.
        """
        refused = (setting.refused(now, value) for setting, value in asked)
        locked = (self._settable_problem(now, setting, value) for setting, value in asked)
        return next(filter(None, chain(refused, locked)), None)

    def _settable_problem(self, now: Present, setting: Setting, value: str) -> str | None:
        """Return why a setting that is not in force cannot be set; None when it can."""
        problem = setting.problem(now, value)
        if problem is None and _not_in_force(_asked(now.wanted or {}), now):
            return None
        by_command = self._rule.by == "command" and setting.name == governor.Governor.name
        if SLURM_REQUEST in self._environment and self._rule.by != "command":
            return f"{problem}; in this job Slurm sets it: ask for it with --cpu-freq"
        if self._rule.by == "slurm":
            return f"{problem}; here Slurm sets it: start pinstudy by `srun --cpu-freq=…`"
        if self._rule.by == "nobody":
            return f"{problem}; {NOBODY}"
        # For a recorded tree, root's permissions on the node itself are assumed.
        if self._tree.live and not by_command:
            folders = now.cpufreq.directories(with_siblings(self._cores, now.cpus))
            written = [file.path for file in setting.files(now, value)]
            if locked := unwritable_file(self._tree, folders, written):
                return f"{problem}; {': '.join(write_problem(locked))}"
        if leftover := self._kept.leftover:
            return f"{problem}; {leftover}"
        return None

    def _save(self) -> str | None:
        """Write the settings from before the study into the journal; return why that failed."""
        if not self._locked:
            if problem := self._kept.lock():
                return problem
            # What was read before may have been another process's, which has put it back since.
            self._locked, self._before = True, read_scaling(self._tree, self._ever_asked)
        settings = self._before
        if settings is None or isinstance(settings, Unavailable):
            return _UNSAVED.format("" if settings is None else f": {settings.reason}")
        problem = self._kept.add(settings)
        self._saved = problem is None
        return problem

    def _is_applied(self, needed: Present) -> bool:
        """Whether all settings already have the values that a case needs."""
        if isinstance(self._before, Unavailable) or not needed.directories:
            return False
        targets, to_reset = self._targets(needed)
        applied = all(is_settled(self._tree, file) for file in targets)
        return applied and not any(self._tree.text(path) == PERFORMANCE for path in to_reset)

    def _targets(self, needed: Present) -> tuple[list[SettingFile], list[str]]:
        """Return the files of a case, and those whose EPP `performance` is to be reset.

        Offline policies that the case does not need are left alone.
        """
        before = self._before if isinstance(self._before, tuple) else ()
        values = {file.path: file.value for file in before}
        asked = {
            file.path: file.value
            for setting, value in _asked(needed.wanted or {})
            for file in setting.files(needed, value)
        }
        wanted, present = values | asked, self._present(needed)
        targets: list[SettingFile] = []
        to_reset: list[str] = []
        for file in before:
            if _owner_folder(file) not in present or turbo.follows_node(file, asked):
                continue
            if file.path in asked:
                targets.append(SettingFile(file.path, asked[file.path]))
            elif file.name == epp.FILE and epp.follows_governor(
                self._tree.text(f"{file.folder}/{_DRIVER}")
            ):
                folder = f"{file.folder}/{governor.FILE}"
                original, switched = values.get(folder), asked.get(folder)
                if switched in (None, original) or PERFORMANCE not in (original, switched):
                    targets.append(file)
                elif switched != PERFORMANCE:
                    to_reset.append(file.path)
            elif self._is_as_before(file, wanted, asked):
                targets.append(file)
        return targets, to_reset

    def _is_as_before(
        self, file: SettingFile, wanted: Mapping[str, str], asked: Mapping[str, str]
    ) -> bool:
        """Return whether a file for which a case does not ask is as before the study.

        `wanted` is what all files are to have, if they are there.
        """
        if file.name == governor.FIXED_FILE:
            # Under another governor than before the study there is none.
            return f"{file.folder}/{governor.FILE}" not in asked
        if tuning := governor.tuned(file):
            folder, name = tuning
            if own := wanted.get(f"{folder}/{governor.FILE}"):
                return own == name
            return any(path.endswith(governor.FILE) and wanted[path] == name for path in wanted)
        if file.path == turbo.MIN_PERFORMANCE and wanted.get(NO_TURBO) != turbo.TEXTS[NO_TURBO][ON]:
            return False
        return file.name == governor.FILE or self._was_asked(file)

    def _was_asked(self, file: SettingFile) -> bool:
        setting = owner_of(file.path)
        return setting is not None and setting.name in self._ever_asked

    def _switch(self, needed: Present) -> str | None:
        targets, to_reset = self._targets(needed)
        problems = put_in_force(self._tree, targets, self._rule.set)
        if problems:
            # Policies that the case does not need may have gone offline in the meantime.
            present = self._present(needed)
            for file in targets:
                if file.path in problems and _owner_folder(file) in present:
                    words = _words(file.path, needed)
                    return f"{words} could not be set: {problems[file.path]}"
        return self._reset_epp(needed.asked(governor.Governor.name) or "", to_reset)

    def _present(self, needed: Present) -> set[str]:
        """Return the directories of what may change now.

        These are the policies with a CPU online, or that a case needs, and those of all CPUs.
        """
        of_node = (path.rpartition("/")[0] for path in turbo.FILES)
        return {*policy_directories(self._tree).values(), *needed.directories, *of_node}

    def _reset_epp(self, wanted: str, paths: Sequence[str]) -> str | None:
        """Replace the EPP that some drivers leave behind after the governor `performance`.

        amd-pstate keeps EPP 0 when the governor goes from performance to powersave (Linux 6.12
        drivers/cpufreq/amd-pstate.c), which would make both governors the same.
        """
        for path in paths:
            if self._tree.text(path) != PERFORMANCE:
                continue
            offered = self._tree.text(f"{path.rpartition('/')[0]}/{epp.AVAILABLE}")
            if isinstance(offered, Unavailable) or _DEFAULT_EPP not in offered.split():
                return f"the governor {wanted} has no EPP of its own: {path} stays {PERFORMANCE}"
            if failed := self._tree.put(path, _DEFAULT_EPP):
                return f"the governor {wanted} has no EPP of its own: {failed.reason}"
        return None


def _asked(wanted: Mapping[str, str]) -> list[tuple[Setting, str]]:
    return [(setting, wanted[setting.name]) for setting in SCALING if setting.name in wanted]


def _not_in_force(asked: Iterable[tuple[Setting, str]], now: Present) -> str | None:
    """Return why the first setting that is not in force is not, or None."""
    problems = (setting.problem(now, value) for setting, value in asked)
    return next(filter(None, problems), None)


def _owner_folder(file: SettingFile) -> str:
    """Return the directory of the policy that a file is about, or of what all policies share."""
    tuning = governor.tuned(file)
    return tuning[0] if tuning else file.folder


def _words(path: str, now: Present) -> str:
    """Return the setting that a file belongs to, with what a case asks of it."""
    setting = owner_of(path)
    assert setting
    value = now.asked(setting.name)
    return f"{setting.title} {value}" if value else f"{setting.title} from before the study"


# The time that a program whose scheduler was thrown out has to say why and end.
_LAST_WORDS_S = 5.0


class SchedExtLoading:
    """Loads the schedulers of one study; `end` must be called at the end."""

    def __init__(self, tree: Tree, saved: Saved, rule: SchedulerRule) -> None:
        """`saved` is shared with what else changes settings; `rule` is the site's."""
        self._tree, self._saved, self._rule = tree, saved, rule
        # The program that pinstudy started and whose scheduler is in force, if there is one.
        self.running: SchedulerProgram | None = None
        # What the site's command has set last.
        self._by_site = CURRENT

    def problem(self, scheduler: str) -> str | None:
        """Return why the scheduler of a case cannot be in force, or None; changes nothing.

        It is a command line, KERNEL or CURRENT.
        """
        if scheduler == CURRENT:
            return None
        state = self._tree.word(SCHED_EXT_STATE)
        loaded = state if isinstance(state, Unavailable) else read_loaded(self._tree)
        if isinstance(loaded, Unavailable):
            if loaded.missing and scheduler == KERNEL:
                return None
            return (
                f"{scheduler} needs sched_ext: {loaded.reason} (it is in Linux from 6.12 "
                "on, with CONFIG_SCHED_CLASS_EXT)"
            )
        if self._is_in_force(scheduler, loaded):
            return None
        found = (
            "the kernel's own scheduler is"
            if loaded == NO_SCHED_EXT
            else f"{loaded} of sched_ext is"
        )
        if self._rule.by == "nobody":
            return f"{found} in force, not {scheduler}; {NOBODY}"
        if leftover := self._saved.leftover:
            return f"{found} in force; {leftover}"
        return None if self._rule.by == "command" else self._start_problem(scheduler, loaded)

    def give_way(self, scheduler: str) -> None:
        """End a scheduler that a case does not want."""
        if self.running and self.running.command_line != scheduler:
            self.end()

    def thrown_out(self) -> str:
        """Return why the scheduler that was started is no longer in force; empty while it is.

        It is started again for the next case that wants it.
        """
        program = self.running
        if program is None or (program.in_force and not program.ended):
            return ""
        program.await_end(_LAST_WORDS_S)
        return f"{program.command_line} was thrown out: {self.end()}"

    def end(self) -> str:
        """End the scheduler that was started; return what its program said."""
        program, self.running = self.running, None
        return program.stop() if program else ""

    def apply(self, scheduler: str) -> str | None:
        """Put a case's scheduler in force; return why that failed, or None."""
        if self._rule.by == "command":
            return self._by_command(scheduler)
        self.give_way(scheduler)
        if self.running and (why := self.thrown_out()):
            return why
        if problem := self.problem(scheduler):
            return problem
        if program_of(scheduler) is None or self.running or self._rule.by == "nobody":
            return None
        if problem := self._save_scheduler():
            return problem
        self.running = SchedulerProgram(self._tree, scheduler)
        if problem := self.running.start():
            self.running = None
        return problem or None

    def _is_in_force(self, scheduler: str, loaded: str) -> bool:
        """Return whether what a case wants is in force already."""
        if self.running and self.running.command_line == scheduler:
            return self.running.in_force
        # Nobody knows the arguments of a program that another started.
        program = program_of(scheduler)
        by_another = self._rule.by == "nobody" and program == scheduler
        return (program is None or by_another) and _has(loaded, scheduler)

    def _start_problem(self, scheduler: str, loaded: str) -> str | None:
        """Return why pinstudy itself cannot load a scheduler, or unload it; None when it can."""
        if loaded != NO_SCHED_EXT and self.running is None:
            return (
                f"the scheduler {loaded} of sched_ext is in force, which this study did not start: "
                "end its program"
            )
        program = program_of(scheduler)
        if program is None:
            return None
        if shutil.which(program) is None:
            return f"there is no {program} on the PATH"
        if self._tree.live and not may_be_root():
            return f"only root may load {scheduler}: run as root"
        return unsafe_for_root(scheduler) if invoking_uid() is not None else None

    def _by_command(self, scheduler: str) -> str | None:
        """Have the site's command set a scheduler, unless it was set so and is still in force."""
        loaded = read_loaded(self._tree)
        kept = scheduler == CURRENT or _has(loaded, scheduler)
        if scheduler == self._by_site and kept:
            return None
        self._by_site = scheduler
        if scheduler == CURRENT:
            before = self._saved.value(SCHED_EXT_NAME)
            settings = [] if before is None else [SettingFile(SCHED_EXT_NAME, before)]
            command = self._rule.restore or self._rule.set
            failed = put_in_force(self._tree, settings, scheduler_command=command)
            return failed.get(SCHED_EXT_NAME)
        problem = self.problem(scheduler)
        if problem is None and isinstance(loaded, Unavailable):
            # A kernel without sched_ext has its own scheduler in force, and no other.
            return None
        problem = problem or self._save_scheduler()
        problem = problem or scheduler_command_problem(self._rule.set, scheduler)
        problem = problem or await_program(self._tree, program_of(scheduler))
        if problem:
            self._by_site = ""
        return problem or None

    def _save_scheduler(self) -> str | None:
        found = read_settings(self._tree, [SCHED_EXT_NAME])
        if isinstance(found, Unavailable):
            return f"the scheduler is not changed, because it cannot be saved: {found.reason}"
        return self._saved.add(found)


def _has(loaded: str | Unavailable, scheduler: str) -> bool:
    """Return whether the loaded scheduler is that of a program, or none where none is."""
    program = program_of(scheduler)
    if program is None:
        return loaded == NO_SCHED_EXT
    return isinstance(loaded, str) and belongs_to(program, loaded)


# In the order in which they are set, which is the other way round when they are put back.
SWITCHES = tuple(
    setting
    for setting in reversed(SETTINGS)
    if setting.name and not setting.scaling and not isinstance(setting, SchedExt)
)


class Switches:
    """Switches what is neither frequency scaling nor a scheduler, on one node during one study."""

    def __init__(
        self, saved: Saved, governor_rule: GovernorRule, scheduler_rule: SchedulerRule
    ) -> None:
        """`saved` is shared with what else changes settings; the rules are the site's."""
        self._saved = saved
        self._set_by = {False: governor_rule.by, True: scheduler_rule.by}

    def problem(self, now: Present) -> str | None:
        """Return why the node cannot be as a case asks, or None; changes nothing."""
        problems = (self._problem(setting, now) for setting in SWITCHES)
        return next(filter(None, problems), None)

    def give_way(self, now: Present) -> str | None:
        """Put back what cannot be read or set any more once a governor has changed."""
        hidden = (setting for setting in SWITCHES if setting.hidden_by_governors)
        problems = (self._put_back(setting, now) for setting in hidden)
        return next(filter(None, problems), None)

    def apply(self, now: Present) -> str | None:
        """Put a case's settings in force and read them back; return why that failed, or None."""
        for setting in SWITCHES:
            value = now.asked(setting.name)
            problem = (
                self._put_back(setting, now) if value is None else self._set(setting, now, value)
            )
            if problem:
                return problem
        return None

    def _problem(self, setting: Setting, now: Present) -> str | None:
        value = now.asked(setting.name)
        if value is None or setting.is_in_force(now, value):
            return None
        if refused := setting.refused(now, value):
            return refused
        problem = setting.problem(now, value)
        if self._set_by[setting.of_scheduler] == "nobody":
            return f"{problem}; {NOBODY}"
        # For a recorded tree, root's permissions on the node itself are assumed.
        if now.tree.live:
            for file in setting.files(now, value):
                if not now.tree.writable(file.path):
                    return f"{problem}; {': '.join(write_problem(file.path))}"
        if leftover := self._saved.leftover:
            return f"{problem}; {leftover}"
        return None

    def _set(self, setting: Setting, now: Present, value: str) -> str | None:
        if setting.is_in_force(now, value):
            return None
        if problem := self._problem(setting, now):
            return problem
        files = setting.files(now, value)
        before = read_settings(now.tree, [file.path for file in files])
        if isinstance(before, Unavailable):
            return f"{setting.title} is not changed, because it cannot be saved: {before.reason}"
        if problem := self._saved.add(before):
            return problem
        failed = put_in_force(now.tree, files)
        problem = next(iter(failed.values()), None)
        if problem is None and not setting.is_in_force(now, value):
            problem = setting.problem(now, value)
        return problem and f"{setting.title} could not be set to {value}: {problem}"

    def _put_back(self, setting: Setting, now: Present) -> str | None:
        """Give a setting its value from before the study, if it was saved."""
        saved = [file for file in self._saved.files if setting.paths.fullmatch(file.path)]
        failed = put_in_force(now.tree, saved) if saved else {}
        return next(iter(failed.values()), None)


class NodeSettings:
    """Switches the settings of one node during one study; `restore` must be called at the end."""

    def __init__(
        self,
        root: Path,
        topology: Topology,
        site: Site | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        """`site` says who sets them; by default pinstudy does."""
        governor = site.governor if site else GovernorRule()
        scheduler = site.scheduler if site else SchedulerRule()
        self._root, self._tree = root, Tree(root)
        self._saved = Saved(
            root, governor.restore or governor.set, scheduler.restore or scheduler.set
        )
        self.scaling = FrequencyScaling(root, topology.cores, governor, environment, self._saved)
        self._switches = Switches(self._saved, governor, scheduler)
        self.schedulers = SchedExtLoading(self._tree, self._saved, scheduler)
        # The scaling and CPUs of the last case; None if they are not known to be in force.
        self._scaled: tuple[dict[str, str], tuple[int, ...]] | None = None

    @property
    def journal_path(self) -> Path:
        """The file that has the settings from before the study."""
        return self._saved.journal.path

    def problem(
        self, governor: str, settings: Settings, cpus: Sequence[int], now: Cpufreq | None = None
    ) -> str | None:
        """Return why a case with these settings cannot run now, or None; changes nothing.

        `now` is the state of frequency scaling, if it was read already.
        """
        wanted = _wanted(governor, settings)
        present = Present(self._tree, now or read_cpufreq(self._root), cpus, wanted)
        return (
            self.scaling.problem(wanted, cpus, present.cpufreq)
            or self._switches.problem(present)
            or self.schedulers.problem(settings[SCHED_EXT])
        )

    def impossible(
        self, governor: str, settings: Settings, cpus: Sequence[int], now: Cpufreq
    ) -> str | None:
        """Return why the node can never have a case's frequency scaling, or None."""
        return self.scaling.impossible(_wanted(governor, settings), cpus, now)

    def apply(self, governor: str, settings: Settings, cpus: Sequence[int]) -> str | None:
        """Put a case's settings in force and read them back; return why that failed, or None."""
        wanted = _wanted(governor, settings)
        scaled = {name: wanted[name] for name in wanted if FACTORS[name].scaling}, tuple(cpus)
        self.schedulers.give_way(settings[SCHED_EXT])
        # Most studies change no setting: their runs wait for no reading of all policies.
        gives_way = scaled != self._scaled and self._saved.files
        if gives_way and (problem := self._switches.give_way(self._present(cpus))):
            return problem
        self._scaled = None
        if problem := self.scaling.apply(wanted, cpus):
            return problem
        self._scaled = scaled
        problem = None
        if settings.asked or self._saved.files:
            problem = self._switches.apply(self._present(cpus, wanted))
        return problem or self.schedulers.apply(settings[SCHED_EXT])

    def read_back(self, governor: str, settings: Settings, cpus: Sequence[int]) -> Reading:
        """Return what is in force of the settings that a case asks for (`settings_read`)."""
        wanted = _wanted(governor, settings)
        if not wanted:
            return Reading()
        present = self._present(cpus, wanted)
        found = {name: FACTORS[name].read(present) for name in wanted}
        read = {name: value for name, value in found.items() if not isinstance(value, Unavailable)}
        return Reading({"settings_read": read}) if read else Reading()

    def scheduler_state(self) -> Reading:
        """Return how long the scheduler that pinstudy started has been in force, and its CPU time.

        Both are of its process, in seconds; without one there are none.
        """
        program = self.schedulers.running
        if program is None:
            return Reading()
        used = program.cpu_time
        return Reading(
            {
                "scheduler_loaded_s": round(program.loaded_s, 3),
                "scheduler_cpu_s": round(used.user_s + used.system_s, 2),
            }
        )

    def restore(self) -> Restored | None:
        """End the scheduler and put all settings back; return None when nothing was changed."""
        with without_interruption():
            self.schedulers.end()
            return self._saved.restore()

    def _present(self, cpus: Sequence[int], wanted: Mapping[str, str] | None = None) -> Present:
        return Present(self._tree, read_cpufreq(self._root, cpus), cpus, wanted)


def _wanted(governor: str, settings: Settings) -> dict[str, str]:
    """Return what a case asks for, by name."""
    return ({} if governor == CURRENT else {GOVERNOR: governor}) | settings.asked
