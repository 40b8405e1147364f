"""Executes a launch once under perf and meters, and returns what was observed.

Nothing is interpreted here: pinstudy/runners/execution/outcome.py classifies the run.

A batch system that ends a job signals all its processes, and the program may get its signal before
pinstudy does. So a run has failed only if no signal to pinstudy follows, and if the host had what
the run needed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from pinstudy.base.decoding import Amount, ClockNs, Count, Cpu
from pinstudy.base.errors import ShortageError, shortage_in, shortage_of
from pinstudy.runners.execution.output_file import OutputFile, working_folder, written_text
from pinstudy.runners.execution.rank_processes import RankProcesses
from pinstudy.runners.execution.region_marks import RegionMarks, SeenRegions
from pinstudy.runners.execution.witness import Ending, LaunchError, WitnessProcess
from pinstudy.runners.measure.conditions.cpu_time import CostClock, HarnessCost
from pinstudy.runners.measure.meter import Meter, Meters
from pinstudy.runners.measure.perf.stat import Perf, start_perf
from pinstudy.runners.placement.look_log import LookLog
from pinstudy.runners.placement.process_events import ProcessEvents
from pinstudy.runners.placement.sampler import LoadedLibraries, Pace, PlacementSampler
from pinstudy.runners.placement.thread_placement import Proof
from pinstudy.runners.placement.thread_trace import Point, ThreadTrace
from pinstudy.runners.plan.launch import Launch

# Signals to all processes of a job arrive within milliseconds of one another.
SIGNAL_GRACE_S = 0.25
_THREADS = "/proc/self/task"
UNSEEN = Proof("unproved", "none of its executions was seen")

# A run's processes, which wait before their exec; `close` leaves none behind.
Processes = WitnessProcess | RankProcesses


@dataclass(frozen=True)
class Observation:
    """The facts about one execution; `perf_problem` is empty when perf was attached.

    `cost` is what pinstudy itself used while the program ran. `invalid_reason` is (status, reason)
    when the engine found the run invalid, else None. `check_failure` is why the check command
    rejected the result; empty when it accepted it, or was not run. `course` is the sampler's,
    `thread_libraries` are those that were looked for. The other fields are those of Samples, Ending
    and Perf. `teams` has how each of the processes ended that a launcher started side by side,
    `facts` what the launcher took. `perf_output` is what was counted outside all `regions`.
    `window_ns` is the program's window by CLOCK_MONOTONIC, 0 where not known, and `co_run` what was
    seen of the co-runner, if there was one.
    """

    ending: Ending
    timed_out: bool
    stdout: str
    stderr: str
    threads: tuple[ThreadTrace, ...]
    looks: Count
    perf_output: str
    perf_problem: str
    perf_command: tuple[str, ...]
    cost: HarnessCost | None = None
    invalid_reason: tuple[str, str] | None = None
    check_failure: str = ""
    hotplugged_cpus: tuple[Cpu, ...] = ()
    unmet: Count | None = None
    overflowed: bool = False
    in_ticks: bool = False
    drops_children: bool = False
    course: tuple[Point, ...] = ()
    thread_libraries: tuple[str, ...] = ()
    teams: tuple[Ending, ...] = ()
    facts: dict[str, Amount] = field(default_factory=dict)
    regions: SeenRegions | None = None
    window_ns: tuple[ClockNs, ClockNs] = (0, 0)
    co_run: CoRun | None = None


@dataclass(frozen=True)
class CoRun:
    """What was seen of a co-runner, from before the program's start to its end.

    `windows_ns` are the windows of its executions that ended well, by CLOCK_MONOTONIC. `problem` is
    why it did not go on, at `failed_ns`; empty when it ran until it was ended. `cpu_s` is the CPU
    time of its processes while the program ran, `supervisor_cpu_s` that of what restarted it.
    `proof` is that of all executions together, `threads` and `looks` are of the one that used most
    CPU time.
    """

    windows_ns: tuple[tuple[ClockNs, ClockNs], ...] = ()
    problem: str = ""
    failed_ns: ClockNs = 0
    cpu_s: Amount = 0.0
    supervisor_cpu_s: Amount = 0.0
    proof: Proof = UNSEEN
    threads: tuple[ThreadTrace, ...] = ()
    looks: Count = 0


@dataclass(frozen=True)
class Harness:
    """What all executions of a study share; `cores` holds the CPUs of each core.

    `perf_command` is that of a PerfStat; None without counters. perf writes to the open file
    `perf_file`, if there is one.
    """

    witness: Path
    perf_command: Sequence[str] | None
    perf_problem: str = ""
    meters: tuple[Meter, ...] = ()
    cores: tuple[tuple[int, ...], ...] = ()
    perf_file: int | None = None


def execute(
    launch: Launch,
    limit_s: float,
    harness: Harness,
    on_start: Callable[[int], None] | None = None,
    cpus: Collection[int] = (),
    libraries: LoadedLibraries | None = None,
    regions: RegionMarks | None = None,
    log: LookLog | None = None,
) -> Observation:
    """Run the launch once and return what was observed.

    A run longer than `limit_s` seconds is killed. `on_start` is called with the program's process
    number once it runs. From the launch to the program's end, pinstudy and perf keep off the
    program's CPUs, `cpus`, if they can. `libraries` looks at what the program loads, `regions`
    answers its marks, `log` keeps each look at its threads. What a program writes (Launch.writes)
    follows what it has printed. Raises LaunchError when the launcher refuses, StudyError when there
    is no room for the program's output. No process is left behind, also after KeyboardInterrupt.
    """
    with (
        working_folder(launch.writes) as folder,
        OutputFile() as out,
        OutputFile() as err,
        OutputFile() as said,
    ):
        streams = out.file, err.file, said.file
        process = _started(harness.witness, launch, streams, folder, regions)
        perf: Perf | None = None
        try:
            # After the launch: the launcher, and through it the program, would inherit this mask.
            with move_to_housekeeping_cpus(cpus, harness.cores) as own_cpus:
                if harness.perf_command:
                    target = ("-p", ",".join(map(str, process.pids)))
                    perf = start_perf(harness.perf_command, target, output=harness.perf_file)
                    if regions and not perf.problem:
                        regions.attach(perf, harness.perf_command, target)
                seen = _observe(
                    process,
                    perf,
                    limit_s,
                    harness,
                    on_start,
                    (out, err),
                    own_cpus,
                    libraries,
                    regions,
                    log,
                )
        finally:
            if perf:
                perf.close()
            process.close()
        return replace(seen, stdout=seen.stdout + written_text(folder, launch.writes))


def _started(
    witness: Path,
    launch: Launch,
    streams: tuple[IO[bytes], IO[bytes], IO[bytes]],
    folder: Path | None,
    regions: RegionMarks | None,
) -> Processes:
    """Start the launcher, and stop all programs before their exec; raises LaunchError.

    `streams` take what the program writes to stdout and to stderr, and what its launcher says.
    """
    if launch.ranks:
        # The launcher of ranks passes on what they print, with messages of its own.
        return RankProcesses(witness, launch, *streams[:2], folder)
    environment = launch.environment
    inherited: tuple[int, ...] = ()
    if regions:
        environment, inherited = environment | regions.environment, (regions.descriptor,)
    started = (witness, launch.launcher, launch.program, environment)
    return WitnessProcess(*started, *streams, folder=folder, inherited=inherited)


def _observe(
    process: Processes,
    perf: Perf | None,
    limit_s: float,
    harness: Harness,
    on_start: Callable[[int], None] | None,
    streams: tuple[OutputFile, OutputFile],
    own_cpus: tuple[int, ...],
    libraries: LoadedLibraries | None,
    regions: RegionMarks | None,
    log: LookLog | None,
) -> Observation:
    sampler = PlacementSampler(
        process.witness_pids, descendants_only=True, libraries=libraries, log=log
    )
    meters = Meters(harness.meters)
    # Before the meters: where the kernel sends no events, this is a wait, and it would be idle time
    # among what they measure.
    with ProcessEvents((*process.witness_pids, *process.pids)) as events:
        meters.start()
        clock = CostClock(own_cpus)
        if regions:
            regions.start()
        process.go()
        if on_start:
            on_start(process.pids[0])
        timed_out = _watch(process, sampler, events, limit_s, meters, streams)
        cost = clock.stop()
        meters.stop()
        sampler.sample(at_end=True)  # the zombie still has its main thread's last mask
        unmet = events.unmet(trace.tid for trace in sampler.threads)
    perf_output = perf.finish() if perf else ""
    ending = process.reap()
    return Observation(
        ending=ending,
        timed_out=timed_out,
        stdout=streams[0].text(),
        stderr=streams[1].text(),
        threads=sampler.threads,
        looks=sampler.samples,
        perf_output=perf_output,
        perf_problem=perf.problem if perf else harness.perf_problem,
        perf_command=tuple(harness.perf_command or ()) if perf else (),
        cost=cost,
        hotplugged_cpus=sampler.hotplugged_cpus,
        unmet=unmet,
        overflowed=sampler.overflowed,
        in_ticks=sampler.in_ticks,
        drops_children=sampler.drops_children,
        course=sampler.course,
        thread_libraries=libraries.names if libraries else (),
        teams=process.endings,
        facts=dict(process.facts),
        regions=regions.finish() if regions else None,
        window_ns=process.window_ns,
    )


def _watch(
    process: Processes,
    sampler: PlacementSampler,
    events: ProcessEvents,
    limit_s: float,
    meters: Meters,
    streams: tuple[OutputFile, ...],
) -> bool:
    """Sample the program's threads until it ends; return whether it was killed at its limit."""
    now = time.monotonic()
    deadline = now + limit_s
    pace = Pace()
    while not process.wait_ended(min(pace.pause_s, max(0.0, deadline - now))):
        now = time.monotonic()
        if now >= deadline:
            process.kill()
            return True
        pace.step(sampler, born=events.read())
        if meters.sample_if_due(now):
            for stream in streams:
                stream.trim()
    return False


@contextmanager
def move_to_housekeeping_cpus(
    cpus: Collection[int], cores: Iterable[Collection[int]] = ()
) -> Iterator[tuple[int, ...]]:
    """Keep all threads of this process off `cpus` within the context; yield the CPUs they use.

    Children inherit affinity masks: a process that is started meanwhile gets these CPUs.
    `cores` holds the CPUs of each core: SMT siblings of `cpus` are avoided too, if other CPUs are
    left. A process that may use no CPU besides `cpus` stays where it is. Every thread gets its own
    mask back, also after an exception.
    """
    masks = _masks()
    allowed = os.sched_getaffinity(0)
    free = free_cpus(allowed, cpus, cores)
    if not free:
        yield tuple(sorted(allowed))
        return
    try:
        for thread in masks:
            set_mask(thread, free)
        yield tuple(sorted(free))
    finally:
        for thread, mask in masks.items():
            set_mask(thread, mask)


def free_cpus(
    allowed: Iterable[int], used: Collection[int], cores: Iterable[Collection[int]]
) -> set[int]:
    """Return the allowed CPUs that are not used: only those of unused cores, if there are any."""
    touched = set(used).union(*(core for core in cores if not set(core).isdisjoint(used)))
    allowed = set(allowed)
    return (allowed - touched) or (allowed - set(used))


def _masks() -> dict[int, set[int]]:
    masks = {}
    for name in os.listdir(_THREADS):  # noqa: PTH208 - per run
        with suppress(OSError):  # a thread that ends meanwhile
            masks[int(name)] = os.sched_getaffinity(int(name))
    return masks


def set_mask(thread: int, cpus: Iterable[int]) -> None:
    """Have a thread, 0 for this one, run on these CPUs."""
    # The thread may have ended, or the CPUs may be offline: the kernel then keeps the mask.
    with suppress(OSError):
        os.sched_setaffinity(thread, cpus)


def execute_unless_shutting_down(
    execute: Callable[[], Observation], may_start: Callable[[float | None], None]
) -> Observation:
    """Return what `execute` observes, unless the job's shutdown killed the program.

    `may_start` raises StoppedError when no further run may start. Raises StoppedError or
    KeyboardInterrupt during a shutdown, ShortageError when the host is short of what every run
    needs, and otherwise LaunchError or OSError as `execute` does.
    """
    try:
        run = execute()
    except (LaunchError, OSError) as error:
        time.sleep(SIGNAL_GRACE_S)
        may_start(None)
        if problem := shortage_of(error):
            raise ShortageError(problem) from error
        raise
    lost_co_runner = run.co_run is not None and run.co_run.problem
    if (run.ending.wait_status != 0 or lost_co_runner) and not run.timed_out:
        time.sleep(SIGNAL_GRACE_S)
        may_start(None)
        if problem := shortage_in(run.ending.exec_errno, run.ending.exit_code, run.stderr):
            raise ShortageError(problem)
    return run
