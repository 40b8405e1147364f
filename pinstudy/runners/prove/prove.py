"""Tests all instruments of this node, one after the other, and returns what was found."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from math import exp, log, sqrt
from statistics import fmean, stdev

from pinstudy.base.reading import Unavailable
from pinstudy.base.units import duration
from pinstudy.configs.site import Site
from pinstudy.runners.node.cpufreq import read_cpufreq
from pinstudy.runners.node.node import Node
from pinstudy.runners.node.topology import CoreKind
from pinstudy.runners.prove.bench import Bench, Seen, Task
from pinstudy.runners.prove.clocks import UNDER, Tried, judge_setups, try_setups, why_not_settable
from pinstudy.runners.prove.counting import (
    MOVES,
    NEAR_BYTES,
    READS,
    SHORT_S,
    SLEEPS,
    KindRuns,
    chain_words,
    chase_words,
    far_bytes,
    judge_cycles,
    judge_frequency,
    judge_instructions,
    judge_migrations,
    judge_misses,
    judge_multiplexing,
    judge_residency,
    judge_sum,
    judge_switches,
    many_events,
    run_on,
    split_task,
)
from pinstudy.runners.prove.placing import prove_placements
from pinstudy.runners.prove.power import (
    LOADS,
    Loads,
    energy_meters,
    judge_cores,
    judge_energy,
    judge_heat,
    judge_kinds,
    load_times,
    loads_of,
    run_load,
)
from pinstudy.runners.prove.proof import Instrument, confirmed, new_proof
from pinstudy.runners.records.instruments import Finding, Proof

REPETITIONS = (10, 30, 100)
# Of a two-sided test, and the share of true differences that it shall find.
SIGNIFICANCE = 0.05
POWER = 0.8
# Two halves of the same runs differ so much once in ten thousand times.
ALARM = 0.0001


def smallest_difference(times_s: Sequence[float], repetitions: int) -> float:
    """Return the share by which two cases of so many runs must differ to be told apart.

    Of the standard deviation s of the logarithms of equal runs, two means of n runs each differ
    significantly in 80 of 100 studies if they are (t(0.975) + t(0.8)) s sqrt(2/n) apart, with
    2n - 2 degrees of freedom (Cohen, Statistical Power Analysis for the Behavioral Sciences, 1988,
    chapter 2; by Student's t instead of a noncentral one, which is close from 10 runs on).
    """
    # Few commands need it.
    from scipy import special

    df = 2 * repetitions - 2
    both = special.stdtrit(df, 1 - SIGNIFICANCE / 2) + special.stdtrit(df, POWER)
    return exp(float(both) * stdev(map(log, times_s)) * sqrt(2 / repetitions)) - 1


def judge_resolution(times_s: Sequence[float]) -> Finding:
    """Judge equal runs, taken in turns as two cases: they must not differ.

    The smallest differences are told with it.
    """
    instrument = Instrument(
        "resolution", "", f"{len(times_s) // 2} pairs of equal runs", ("elapsed_s",)
    )
    from scipy import stats

    first, second = ([log(time_s) for time_s in times_s[i::2]] for i in (0, 1))
    apart = abs(fmean(first) - fmean(second))
    # Equal times have no spread to test by.
    differ = stdev(first) + stdev(second) > 0 and (
        stats.ttest_ind(first, second, equal_var=False).pvalue < ALARM
    )
    told = ", ".join(f"{smallest_difference(times_s, n):.1%} with {n}" for n in REPETITIONS)
    measured = f"shows {told} repetitions"
    off = ""
    if differ:
        off = f"the two of each pair differ by {exp(apart) - 1:.2%}: something alternates"
    return instrument.found(measured, off)


SHARES = (0.1, 0.9)
PAIRS, QUICK_PAIRS = 10, 5
# Of each of the equal runs.
RUN_S = 0.4
HEAT_S = 4.0
CORES_S = 1.0

# What can be tried by itself: `counters` with governors, limits and turbo, `energy` with
# temperatures and throttling.
GROUPS = ("counters", "moves", "caches", "energy", "placement", "resolution")

Progress = Callable[[str], None]


def prove(
    node: Node,
    site: Site | None,
    quick: bool,
    doing: Progress,
    found: Callable[[Finding], None] = lambda _: None,
    only: Collection[str] = GROUPS,
) -> Proof:
    """Test the node's instruments, and return what was found of each.

    The caller holds the node's lock. `doing` is told what is tried next, `found` each finding at
    once. With `quick` fewer settings and times are tried; `only` are some of GROUPS. Settings are
    put back before it returns, or after a KeyboardInterrupt. Raises StudyError when a program is
    not built, or a setting cannot be put back.
    """
    began_s = time.monotonic()
    findings: list[Finding] = []
    for finding in _findings(Bench(node, site), site, quick, doing, only):
        findings.append(finding)
        found(finding)
    return new_proof(node, findings, time.monotonic() - began_s, quick)


def _findings(
    bench: Bench, site: Site | None, quick: bool, doing: Progress, only: Collection[str]
) -> Iterator[Finding]:
    doing("additions on each core kind")
    kinds = [runs for kind in bench.node.topology.kinds if (runs := run_on(bench, kind))]
    if "counters" in only:
        yield from _counters(bench, kinds, site, quick, doing)
    if "moves" in only:
        yield from _moves(bench, kinds, doing)
    if "caches" in only:
        yield from _misses(bench, kinds, doing)
    if "energy" in only:
        yield from confirmed(partial(_energy, bench, kinds, quick, doing))
    if "placement" in only:
        doing("placement by each runtime and launcher")
        yield from prove_placements(bench)
    if "resolution" in only:
        yield from confirmed(partial(_resolution, bench, kinds, quick, doing))


def _counters(
    bench: Bench, kinds: Sequence[KindRuns], site: Site | None, quick: bool, doing: Progress
) -> Iterator[Finding]:
    tried: dict[str, list[Tried]] = {}

    def settings() -> Iterator[Finding]:
        tried.update(try_setups(bench, kinds, quick))
        cpufreq = read_cpufreq(bench.node.root)
        for runs in kinds:
            yield from judge_setups(runs, tried[runs.kind.name], cpufreq)

    def counters(measured: list[KindRuns], kind: CoreKind) -> Iterator[Finding]:
        # What was measured first is judged first.
        runs = measured.pop() if measured else run_on(bench, kind)
        if runs:
            yield judge_instructions(runs)
            yield judge_cycles(runs, [trial.seen for trial in tried.get(kind.name, ())])
            yield from judge_frequency(runs)

    if why := why_not_settable(bench, site):
        yield Instrument(UNDER, "governors", "followed", ("governor_read",)).absent(why)
    else:
        doing("governors, limits and turbo")
        yield from confirmed(settings)
    for runs in kinds:
        yield from confirmed(partial(counters, [runs], runs.kind))


def _moves(bench: Bench, kinds: Sequence[KindRuns], doing: Progress) -> Iterator[Finding]:
    """Judge what is seen of a thread that changes its core kind, its CPU, or sleeps."""
    doing("a thread that changes its core kind or its CPU")
    if len(kinds) > 1:
        for share in SHARES:
            yield from confirmed(partial(_split, bench, kinds[0], kinds[1], share))
    for runs in kinds:
        if runs.last_cpu != runs.cpu:
            yield from confirmed(partial(_halves, bench, runs))
    doing("more events than counters, moves and sleeps")
    yield from confirmed(partial(_counted, bench))


def _split(bench: Bench, first: KindRuns, last: KindRuns, share: float) -> Iterator[Finding]:
    seen = bench.run(split_task(first.cpu, last.cpu, share))
    yield judge_residency(seen, first, last)
    yield judge_sum(seen, first, last)


def _halves(bench: Bench, runs: KindRuns) -> Iterator[Finding]:
    yield judge_sum(bench.run(split_task(runs.cpu, runs.last_cpu, 0.5)), runs, runs)


def _counted(bench: Bench) -> Iterator[Finding]:
    """Judge multiplexing, migrations and context switches."""
    cpus = tuple(sorted(bench.node.topology.allowed))
    many = Task(chain_words(SHORT_S), cpus[:1], events=many_events(bench))
    yield judge_multiplexing(bench.run(many))
    if len(cpus) < 2:
        yield Instrument("migrations", "", f"{MOVES} moves").absent("this process has one CPU only")
    else:
        moving = ("move", "--amount", str(MOVES), "--other", str(cpus[-1]))
        yield judge_migrations(bench.run(Task(moving, cpus[:1])))
    sleeping = ("sleep", "--amount", str(SLEEPS))
    yield judge_switches(bench.run(Task(sleeping, cpus[:1])))


def _misses(bench: Bench, kinds: Sequence[KindRuns], doing: Progress) -> Iterator[Finding]:
    doing("reads within and beyond the caches")
    far = far_bytes(bench.node.topology, bench.node.tree)
    for runs in kinds:
        yield from confirmed(partial(_misses_on, bench, runs, far))


def _misses_on(bench: Bench, runs: KindRuns, far: int | Unavailable) -> Iterator[Finding]:
    def reads_of(size_bytes: int) -> list[Seen]:
        """Return a run without reads and one with them."""
        words = (chase_words(size_bytes, reads) for reads in (0, READS))
        return [bench.run(Task(arguments, (runs.cpu,))) for arguments in words]

    near = reads_of(NEAR_BYTES)
    if why := near[1].why_without("cache_misses"):
        far = Unavailable(why)
    beyond = far if isinstance(far, Unavailable) else reads_of(far)
    yield from judge_misses(runs.kind.name, near, beyond)


def _energy(
    bench: Bench, kinds: Sequence[KindRuns], quick: bool, doing: Progress
) -> Iterator[Finding]:
    """Judge energy, temperature and throttling by loads on the node."""
    meters, absent, found = energy_meters(bench, quick)
    wanted = [(LOADS[-1], HEAT_S if bench.has_sensors else SHORT_S)]
    if meters:
        wanted = loads_of(load_times(meters, quick))
    loads: Loads = {}
    idle: Seen | None = None
    for load, seconds in wanted:
        doing(f"energy and heat: {load}, {duration(seconds)}")
        joules, seen = run_load(bench, load, seconds, meters)
        loads = {**loads, (load, seconds): joules}
        if load == LOADS[0]:
            idle = seen
    several = len(bench.node.topology.cores) > 1
    yield from judge_energy(loads if meters else {}, absent, several, found)
    work = _work_by_kind(bench, kinds)
    yield from judge_cores(work, idle, bench.collectors.counts_cores)
    yield from judge_kinds(kinds, idle.fields.get("power_pkg_w") if idle else None)
    yield from judge_heat(seen)


def _work_by_kind(bench: Bench, kinds: Sequence[KindRuns]) -> dict[str, Seen]:
    """Return a run of additions on each core kind, a new one where its cores have counters."""
    return {
        runs.kind.name: bench.run(Task(chain_words(CORES_S), (runs.cpu,)))
        if bench.collectors.counts_cores
        else runs.chain
        for runs in kinds
    }


def _resolution(
    bench: Bench, kinds: Sequence[KindRuns], quick: bool, doing: Progress
) -> Iterator[Finding]:
    """Judge equal runs of a team on all cores, left to the scheduler."""
    runtime = "libgomp" if bench.has("libgomp") else "pthreads"
    cpus = tuple(sorted(bench.node.topology.allowed))
    # What the slowest kind's CPU adds in the time: a team ends with its last thread.
    rates = [
        runs.chain.printed["additions"] / runs.chain.printed["adding_s"]
        for runs in kinds
        if runs.chain.printed.get("adding_s")
    ]
    amount = max(100, int(min(rates, default=1e9) * RUN_S))
    words = ("chain", "--amount", str(amount), "--threads", str(len(cpus)))
    task = Task(words, cpus, len(cpus), "none", None, runtime)
    runs = 2 * (QUICK_PAIRS if quick else PAIRS)
    doing(f"{runs} equal runs")
    seen = [bench.run(task) for _ in range(runs + 1)]
    # The first one finds the program outside the caches.
    times_s = [run.printed["elapsed_s"] for run in seen[1:] if run.printed.get("elapsed_s")]
    if len(times_s) < runs:
        why = next(filter(None, (run.problem for run in seen)), "no time was printed")
        yield Instrument("resolution", "", "equal runs").absent(why)
    else:
        yield judge_resolution(times_s)
