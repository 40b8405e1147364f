"""What a study measures around each run, and the engine that makes runs on this node itself.

A user's check command reads what the program printed, and its exit status decides. It runs after
the measured window and without a mapping. pinstudy-witness starts it like a program, so that no
process of it is left, however it or pinstudy ends.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

from pinstudy.base import VERSION
from pinstudy.base.errors import SHORTAGES, ShortageError, shortage_of
from pinstudy.base.reading import Reading, Unavailable, reading_of
from pinstudy.base.text import ended_by, one_line, shown
from pinstudy.configs.site import Site
from pinstudy.configs.study import TRACE, Study
from pinstudy.runners.execution.co_runner import (
    CoRunner,
    co_run_reading,
    housekeeping_from,
    invalid_reason,
)
from pinstudy.runners.execution.execute import Harness, Observation, execute
from pinstudy.runners.execution.imbalance import read_imbalance
from pinstudy.runners.execution.outcome import failure_of
from pinstudy.runners.execution.output_file import OutputFile
from pinstudy.runners.execution.region_marks import (
    RegionInstruments,
    RegionMarks,
    no_regions,
    read_regions,
)
from pinstudy.runners.execution.witness import Ending, LaunchError, WitnessProcess
from pinstudy.runners.host.program_files import find_runtime
from pinstudy.runners.host.software import build_of, description_of, for_tools, tool_versions
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.conditions.power_before import PowerBefore, wait_for_power
from pinstudy.runners.measure.conditions.surroundings import Surroundings, read_load
from pinstudy.runners.measure.conditions.temperature import Gate
from pinstudy.runners.measure.energy.cores import FIELD as CORES
from pinstudy.runners.measure.energy.cores import CoreMeter, try_cores
from pinstudy.runners.measure.energy.powercap import find_zones
from pinstudy.runners.measure.energy.source import (
    IdleMeasurements,
    asked_meter,
    choose_energy,
    no_energy,
)
from pinstudy.runners.measure.meter import Meter, Meters
from pinstudy.runners.measure.perf.events import (
    event_list,
    events_by_pmu,
    kinds_of_pmus,
    perf_command,
    read_core_pmus,
    read_permission,
    unsupported_reason,
)
from pinstudy.runners.measure.perf.stat import find_perf
from pinstudy.runners.node.node import Node
from pinstudy.runners.node.power import long_term_window_s
from pinstudy.runners.placement.look_log import LookLog
from pinstudy.runners.placement.sampler import LoadedLibraries
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.plan.mechanisms import mechanism_of
from pinstudy.runners.plan.runs import set_to
from pinstudy.runners.records.energy import run_figures
from pinstudy.runners.records.perf.counters import fields_of, no_counters, read_counters
from pinstudy.runners.records.perf.output import PerfOutput, parse_perf_output


class Collectors:
    """A study's collectors on this machine, made once and used around every run."""

    def __init__(
        self,
        study: Study,
        node: Node,
        witness: Path,
        programs: Mapping[str, Path],
        tools: Mapping[str, str],
        site: Site | None = None,
    ) -> None:
        """`programs` and `tools`, the launchers of runs, are paths by name; `site` may be None.

        Raises UserError for a bad event, and for an energy meter that is not there.

        The attribute `perf` is the path of perf, empty when nothing is counted; `kinds` are the
        node's core kinds. `log` has the looks of the run since `begin`, if the study collects
        traces; else it is None.
        """
        root = self.root = node.root
        self._node = node
        self.kinds = node.topology.kinds
        self.log: LookLog | None = None
        self._traces = TRACE in study.collect
        self._pmus = read_core_pmus(root)
        self._unsupported_reason = unsupported_reason(root)
        self._cores: CoreMeter | Unavailable
        if "energy" in study.collect:
            perf = find_perf()
            self._energy = choose_energy(root, perf, asked_meter(study, site))
            self._cores = try_cores(root, perf, node.topology)
        else:
            why_not = "the study does not collect energy"
            self._energy, self._cores = no_energy(why_not), Unavailable(why_not)
        self.idle_measurements = IdleMeasurements(study.idle_power, self._energy)
        self._programs = {name: _program_facts(path) for name, path in programs.items()}
        self.perf = (find_perf() or "") if "perf" in study.collect else ""
        self._versions = tool_versions(dict(tools) | ({"perf": self.perf} if self.perf else {}))
        problem = ""
        if "perf" not in study.collect:
            problem = "the study does not collect perf's counters"
        elif not self.perf:
            problem = f"perf is not installed; {for_tools().sentence}"
        self._counter_fields = fields_of(study.events)
        events = event_list(study.events, read_permission(root).user_only, events_by_pmu(root))
        self._power_before = _power_before(study, root)
        self._surroundings = Surroundings(node, self._power_before)
        gate, self.power_gate = study.temperature_gate, study.power_gate
        # Energy is read last before the program starts, and first when it has ended: that of
        # packages or more nearest to the program, because all figures rest on it.
        self._of_cores = () if isinstance(self._cores, Unavailable) else (self._cores,)
        of_packages = (self._energy.meter,) if self._energy.meter else ()
        self.harness = Harness(
            witness,
            None if problem else perf_command(self.perf, events),
            problem,
            meters=(self._surroundings, *self._of_cores, *of_packages),
            cores=tuple(core.cpus for core in node.topology.cores),
        )
        self._energy_at_marks = self._energy.at_marks()
        self.gate = Gate(gate, self._surroundings.thermometer) if gate else None
        self.warnings = self._surroundings.warnings

    def wait_for_power(self, notify: Callable[[str], None]) -> Reading:
        """Wait as the study's power gate asks for; see `pinstudy.runners.measure.conditions`."""
        if self.power_gate is None:
            return Reading()
        return wait_for_power(self.power_gate, self._power_before, notify)

    @property
    def counts_cores(self) -> bool:
        """Whether the energy of single cores is counted."""
        return bool(self._of_cores)

    def meters_around(self, *nearer: Meter) -> tuple[Meter, ...]:
        """Return a run's meters with `nearer`; only energy's are nearer to the program."""
        around, *nearest = self.harness.meters
        return (around, *nearer, *nearest)

    def begin(self) -> None:
        """A run is about to be made: `log` is its own from now on."""
        self.log = LookLog() if self._traces else None

    def measured(self, case: Case, run: Observation) -> list[Reading]:
        """Return the collectors' readings of one run."""
        energy = self._energy.reading()
        idle_w = self.idle_measurements.power_w(set_to(case))
        energy |= run_figures(energy, run.ending.elapsed_s, idle_w, self._energy.scope)
        implementation = case.app.implementation
        return [
            Reading({"implementation": implementation} if implementation else {}),
            self._programs[case.build.program],
            self._versions_of(case),
            self._counters(case, run),
            energy,
            self._regions(case, run, idle_w),
            self._core_energy(),
            self._surroundings.measured(
                tuple(sorted(set(case.all_cpus))),
                _known_cpu_s(run),
                run.cost,
                energy.fields.get("power_pkg_w"),
                {thread.pid for thread in run.threads} if run.teams else (),
            ),
        ]

    def idle(self, case: Case) -> list[Reading]:
        """Measure the node while no program runs, under the case's settings."""
        load = read_load(Tree(self._node.root))
        thermometer = self._surroundings.thermometer
        around = Meters([thermometer, *self._of_cores])
        around.start()
        try:
            energy = self.idle_measurements.measure(set_to(case))
        finally:
            around.stop()
        readings = [energy, self._core_energy(), thermometer.reading()]
        return [*readings, reading_of({"load_1min": load})]

    def _core_energy(self) -> Reading:
        if isinstance(self._cores, Unavailable):
            return Reading({}, {CORES: self._cores.reason})
        return self._cores.reading()

    def _versions_of(self, case: Case) -> Reading:
        used = {
            name: self._versions[name]
            for name in (*launchers_of(case), "perf")
            if name in self._versions
        }
        return Reading({"versions": {"pinstudy": VERSION} | used})

    def _counters(self, case: Case, run: Observation) -> Reading:
        if run.perf_problem:
            return no_counters(run.perf_problem, self._counter_fields)
        outputs = [run.perf_output]
        for name in run.regions.regions.begun if run.regions else ():
            assert run.regions
            if problem := run.regions.perf_problems.get(name):
                return no_counters(problem, self._counter_fields)
            outputs.append(run.regions.perf_outputs[name])
        parsed = [parse_perf_output(output) for output in outputs]
        return self._read_counters(case, parsed, run.ending.system_share)

    def _read_counters(
        self, case: Case, outputs: Sequence[PerfOutput], kernel_share: float | None
    ) -> Reading:
        first, *more = outputs
        return read_counters(
            first,
            kinds_of_pmus(self._pmus, self._node.topology.kinds, case.host_mask),
            self._unsupported_reason,
            kernel_share,
            more,
        )

    def region_marks(self, case: Case) -> RegionMarks | None:
        """Return what answers the marks of a run's regions; None without any."""
        if not case.regions or "regions" in case.engine.lacks:
            return None
        thermometer, (energy, _) = self._surroundings.thermometer, self._energy_at_marks
        instruments = RegionInstruments(read_temperatures_c=lambda: thermometer.read_c()[0])
        if self.log:
            instruments = replace(instruments, log=self.log.mark)
        if energy:
            instruments = replace(
                instruments,
                start_energy=energy.start,
                sample=energy.sample,
                read_joules=energy.joules,
            )
        return RegionMarks(case.regions, instruments)

    def _regions(self, case: Case, run: Observation, idle_w: float | Unavailable) -> Reading:
        if run.regions is None:
            return no_regions(case.regions, case.engine.lacks.get("regions", ""))
        energy, reasons = self._energy_at_marks
        # How much of a region's time was the kernel's is not known.
        read = partial(self._read_counters, case, kernel_share=None)
        counters = Unavailable(run.perf_problem) if run.perf_problem else read
        problems = energy.problems() if energy else reasons
        return read_regions(run.regions, counters, problems, idle_w)


def _power_before(study: Study, root: Path) -> PowerBefore:
    if "energy" not in study.collect:
        why_not = Unavailable("the study does not collect energy")
        return PowerBefore(why_not, why_not)
    window_s = study.power_gate.over_s if study.power_gate else None
    return PowerBefore(find_zones(root), window_s or long_term_window_s(Tree(root)))


def launchers_of(case: Case) -> tuple[str, ...]:
    """Return the names of the tools that start a case's program."""
    needed = mechanism_of(case.mechanism).needs(case.mapping)
    return (*((needed,) if needed else ()), *case.engine.tools(case))


@dataclass(frozen=True)
class LocalEngine:
    """Makes runs on this node itself."""

    collectors: Collectors

    def execute(self, case: Case, launch: Launch) -> Observation:
        """Execute a launch once, and run the check command on the result of a good run."""
        harness, check = self.collectors.harness, case.app.check.command
        if launch.co_runner:
            run = self._executed_with(case, launch, launch.co_runner)
        else:
            run = self._executed(case, launch, harness)
        if not check or failure_of(case, run):
            return run
        check_failure = check_failure_of(check, run.stdout, launch.environment, harness.witness)
        return replace(run, check_failure=check_failure)

    def _executed_with(self, case: Case, launch: Launch, other: Launch) -> Observation:
        """Execute a launch once beside its co-runner."""
        harness = self.collectors.harness
        with CoRunner(case, other, harness) as co_runner:
            meters = self.collectors.meters_around(co_runner)
            run = self._executed(case, launch, replace(harness, meters=meters))
        seen, cost = co_runner.seen, run.cost
        if cost:
            cost = replace(cost, cpu_s=round(cost.cpu_s + seen.supervisor_cpu_s, 6))
        invalid = invalid_reason(case, seen, run.window_ns)
        return replace(run, cost=cost, co_run=seen, invalid_reason=invalid)

    def _executed(self, case: Case, launch: Launch, harness: Harness) -> Observation:
        libraries = LoadedLibraries() if case.build.runtime == "other" else None
        marks = self.collectors.region_marks(case)
        with closing(marks) if marks else nullcontext():
            return execute(
                launch,
                case.app.limit_s,
                harness,
                cpus=housekeeping_from(case, harness),
                libraries=libraries,
                regions=marks,
                log=self.collectors.log,
            )

    def measured(self, case: Case, run: Observation) -> list[Reading]:
        """Return the collectors' readings of the run, and what was seen of its threads."""
        divided = read_imbalance(run, case, self.collectors.kinds)
        loaded = {"thread_libraries": list(run.thread_libraries)} if run.thread_libraries else {}
        co_runner = [co_run_reading(run)] if run.co_run else []
        return [*self.collectors.measured(case, run), divided, Reading(loaded), *co_runner]

    def close(self) -> None:
        """Do nothing: no process outlives a run."""


def _known_cpu_s(run: Observation) -> float | None:
    """Return the CPU time of the program and its co-runner, in seconds; None where not known."""
    if run.co_run is None or run.ending.cpu_s is None:
        return run.ending.cpu_s
    return run.ending.cpu_s + run.co_run.cpu_s


def _program_facts(program: Path) -> Reading:
    runtime = find_runtime(program, dict(os.environ))
    values: dict[str, object] = {
        "runtime": Unavailable(runtime) if isinstance(runtime, str) else asdict(runtime),
        "built_with": build_of(program),
    }
    if description := description_of(program):
        values["implementation"] = description[0]
    return reading_of(values)


# A check is not measured, but a study waits for it after every run.
LIMIT_S = 60.0
STDERR_BYTES = 2000
STDERR_CHARACTERS = 300
# How often its stderr is trimmed, seconds.
TRIM_S = 1.0


def check_failure_of(
    command: Sequence[str],
    output: str,
    environment: Mapping[str, str],
    witness: Path,
    limit_s: float = LIMIT_S,
) -> str:
    """Run the command with `output` on its stdin; return why it failed, empty when it succeeded.

    It has this process's working directory and user, and this environment. After `limit_s`
    seconds it is killed with all its descendants. Raises LaunchError, OSError or ShortageError when
    the host is short of resources, which is no failure of the check. Raises StudyError when there
    is no room for its stderr.
    """
    called = f"the check {shown(shlex.join(command))}"
    try:
        ending, stderr = _run(command, output, environment, witness, limit_s)
    except (LaunchError, OSError) as error:
        if shortage_of(error):
            raise
        return f"{called} cannot be run: {error}"
    if ending is None:
        return f"{called} did not end within {limit_s:g} s"
    if ending.exec_errno is not None:
        problem = f"{called} cannot be started: {os.strerror(ending.exec_errno)}"
        if ending.exec_errno in SHORTAGES:
            raise ShortageError(problem)
        return problem
    if ending.signal is not None:
        return f"{called} was {ended_by(ending.signal)}"
    if ending.exit_code:
        return f"{called} ended with exit status {ending.exit_code}: {stderr or 'no message'}"
    return ""


def _run(
    command: Sequence[str],
    output: str,
    environment: Mapping[str, str],
    witness: Path,
    limit_s: float,
) -> tuple[Ending | None, str]:
    """Return how the command ended, None after its time limit, and the end of its stderr."""
    with (
        os.fdopen(os.memfd_create("output"), "w+b") as stdin,
        Path(os.devnull).open("wb") as devnull,
        OutputFile() as stderr,
        OutputFile() as log,
    ):
        stdin.write(output.encode(errors="replace"))
        stdin.seek(0)
        process = WitnessProcess(
            witness, (), command, environment, devnull, stderr.file, log.file, stdin
        )
        deadline = time.monotonic() + limit_s
        try:
            process.go()
            while not process.wait_ended(min(TRIM_S, max(0.0, deadline - time.monotonic()))):
                if time.monotonic() >= deadline:
                    process.kill()
                    return None, ""
                stderr.trim()
            ending = process.reap()
            size = stderr.file.seek(0, os.SEEK_END)
            stderr.file.seek(max(0, size - STDERR_BYTES))
            tail = stderr.file.read().decode(errors="replace")
            return ending, one_line(tail, None)[-STDERR_CHARACTERS:]
        finally:
            process.close()
