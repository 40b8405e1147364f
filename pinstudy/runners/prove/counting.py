"""Counters against work of a known amount: instructions, cycles, frequency, misses, switches.

An addition that waits for the one before it takes one cycle, on every core that Linux runs on
today, at every frequency. So a loop of additions has known instructions and cycles, and its
additions a second are the frequency. What a program needs for its start is measured by a run that
adds nothing, and taken off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pinstudy.base.reading import Unavailable, known
from pinstudy.base.text import plural
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.perf.events import (
    HARDWARE_EVENTS,
    event_list,
    events_by_pmu,
    read_permission,
)
from pinstudy.runners.node.cpufreq import policy_directories
from pinstudy.runners.node.facts import memory_bytes
from pinstudy.runners.node.topology import CoreKind, Topology
from pinstudy.runners.prove.bench import Bench, Seen, Task
from pinstudy.runners.prove.proof import Instrument, beyond
from pinstudy.runners.records.instruments import Finding

# Seconds of additions: more than METER_S, so that the kernel's figure is read meanwhile, and more
# than 2^32 cycles at 2 GHz, so that a counter of 32 bits shows itself.
CHAIN_S = 2.2
SPLIT_S = 1.3
SHORT_S = 0.4
# The kernel's own instructions, in the ticks of the clock, are some hundredths of a percent.
INSTRUCTIONS_WITHIN = 0.001
CYCLES_WITHIN = 0.02
CONSTANT_WITHIN = 0.01
FREQUENCY_WITHIN = 0.02
SHARE_WITHIN = 0.01
SUM_WITHIN = 0.01
# While the host stalls an emulated CPU, its clock goes on and its counters may stand still.
EMULATED_SUM_WITHIN = 0.05
# Many more than any core has counters.
EVENTS_AT_ONCE = 24
MOVES = 200
SLEEPS = 500
# What the kernel may add: a move at the start, the switches of a busy node.
MORE_MOVES = 5
MORE_SWITCHES = 0.05
READS = 2_000_000
# Beyond the last cache every read misses; one more miss may be that of the page table.
FAR_BETWEEN = (0.7, 2.2)
NEAR_AT_MOST = 0.05
NEAR_BYTES = 16 * 1024
# Used where the node does not report the size of its last cache.
USUAL_LAST_CACHE = 64 * 1024**2
CACHES_OVER = 4
MOST_OF_MEMORY = 0.25
_MIGRATIONS = ("migrations", "vcpu_migrations")
CLOCK_WITHIN = 0.005
A_CLOCK = "this CPU is emulated, and its cycles are a clock of 1 GHz"
EMULATED = "this CPU is emulated: {subject} of an emulated CPU is not known"


@dataclass(frozen=True)
class KindRuns:
    """The runs on the first CPU of a core kind, and on its last one."""

    kind: CoreKind
    cpu: int
    last_cpu: int
    empty: Seen
    chain: Seen
    elsewhere: tuple[Seen, ...]
    kernel_khz: float | None

    def counted(self, seen: Seen, event: str) -> float | None:
        """Return what the kind's own PMU counted of an event, without the program's start."""
        value = count_on(seen.fields, event, self.kind.name)
        start = count_on(self.empty.fields, event, self.kind.name)
        return None if value is None else value - (start or 0.0)

    def cycles_per_addition(self, seen: Seen) -> float | None:
        """Return the cycles of an addition; None where cycles or additions are not known."""
        cycles, additions = self.counted(seen, "cycles"), seen.printed.get("additions")
        return cycles / additions if cycles is not None and additions else None


class FrequencyMeter:
    """Reads the kernel's own figure for a CPU's frequency while a program runs there."""

    def __init__(self, tree: Tree, cpu: int) -> None:
        folder = policy_directories(tree).get(cpu)
        self._tree, self._path = tree, f"{folder}/scaling_cur_freq" if folder else ""
        self.khz: list[int] = []

    def start(self) -> None:
        """Read nothing: the CPU is idle."""

    def sample(self) -> None:
        """Read the frequency."""
        if self._path and (khz := known(self._tree.natural(self._path))):
            self.khz.append(khz)

    def stop(self) -> None:
        """Read nothing: the CPU is idle again."""

    @property
    def mean_khz(self) -> float | None:
        """The mean of what was read."""
        return sum(self.khz) / len(self.khz) if self.khz else None


def count_on(fields: Mapping[str, Any], event: str, kind: str) -> float | None:
    """Return what the PMUs of a core kind counted of an event; None where they counted nothing."""
    rows = [
        row
        for row in fields.get("counters", ())
        if row["event"] == event and kind in row["kinds"] and not row["multiplexed"]
    ]
    return float(sum(row["value"] for row in rows)) if rows else None


def run_on(bench: Bench, kind: CoreKind) -> KindRuns | None:
    """Run additions on a core kind; None where none of its CPUs is allowed."""
    cpus = [cpu for cpu in kind.cpus if cpu in bench.node.topology.allowed]
    if not cpus:
        return None
    first = (cpus[0],)
    meter = FrequencyMeter(bench.node.tree, cpus[0])
    empty = bench.run(Task(chain_words(0), first))
    chain = bench.run(Task(chain_words(CHAIN_S), first), meter)
    last = {cpus[-1]} - {cpus[0]}
    elsewhere = tuple(bench.run(Task(chain_words(SHORT_S), (cpu,))) for cpu in last)
    return KindRuns(kind, cpus[0], cpus[-1], empty, chain, elsewhere, meter.mean_khz)


def chain_words(seconds: float, threads: int = 1) -> tuple[str, ...]:
    """Return the program's arguments for additions of so many seconds by each thread."""
    return ("chain", "--seconds", f"{seconds:g}", "--threads", str(threads))


def judge_instructions(runs: KindRuns) -> Finding:
    """Judge the instructions that a kind's PMU counts of a loop of known length."""
    truth = runs.chain.printed.get("instructions")
    name = runs.kind.name
    words = f"{truth:,.0f} in the loop" if truth else "the loop's"
    instrument = Instrument("instructions", name, words, ("instructions", f"instructions.{name}"))
    if why := runs.chain.why_without("instructions"):
        return instrument.absent(why)
    if not truth:
        return instrument.absent("the loop is not written in this processor's instructions")
    counted = runs.counted(runs.chain, "instructions")
    if counted is None:
        return instrument.found("none", _elsewhere(runs, "instructions"))
    if runs.chain.emulated and (far := beyond(counted, truth, INSTRUCTIONS_WITHIN)):
        return instrument.absent(f"{EMULATED.format(subject='what an instruction')} ({far})")
    return instrument.found(f"{counted:,.0f}", beyond(counted, truth, INSTRUCTIONS_WITHIN))


def _elsewhere(runs: KindRuns, event: str) -> str:
    pmus = ", ".join(
        str(row["pmu"]) for row in runs.chain.fields.get("counters", ()) if row["event"] == event
    )
    return f"counted by {pmus or 'no PMU'}, not by that of the {runs.kind.name}-cores"


def counts_time(seen: Seen) -> bool:
    """Whether an emulated CPU's cycles are a clock of 1 GHz, as QEMU's Arm has it."""
    return seen.emulated and abs(seen.fields.get("freq_mean_ghz", 0.0) - 1.0) < CLOCK_WITHIN


def judge_cycles(runs: KindRuns, more: Iterable[Seen] = ()) -> Finding:
    """Judge whether an addition takes one cycle, on all CPUs of a kind and at all frequencies.

    `more` are runs on the kind's first CPU at other frequencies.
    """
    name = runs.kind.name
    instrument = Instrument("cycles", name, "1 an addition", ("cycles", f"cycles.{name}"))
    if why := runs.chain.why_without("cycles"):
        return instrument.absent(why)
    if runs.cycles_per_addition(runs.chain) is None:
        return instrument.found("none", _elsewhere(runs, "cycles"))
    if runs.chain.emulated:
        return instrument.absent(EMULATED.format(subject="how many cycles an addition"))
    cycles = [runs.cycles_per_addition(seen) for seen in (runs.chain, *runs.elsewhere, *more)]
    values = [value for value in cycles if value is not None]
    spread = max(values) / min(values) - 1
    measured = f"{values[0]:.4f}, alike within {spread:.2%} in {plural(len(values), 'run')}"
    off = beyond(values[0], 1.0, CYCLES_WITHIN)
    if not off and spread > CONSTANT_WITHIN:
        off = f"it varies by {spread:.2%}, at most {CONSTANT_WITHIN:.0%} is allowed"
    return instrument.found(measured, off)


def judge_frequency(runs: KindRuns) -> list[Finding]:
    """Judge the frequency from cycles and the CPU's clock, and the kernel's own figure."""
    name = runs.kind.name
    additions, adding_s = runs.chain.printed.get("additions"), runs.chain.printed.get("adding_s")
    real = bool(additions and adding_s) and not runs.chain.emulated
    true_ghz = (additions or 0.0) / (adding_s or 1.0) / 1e9 if real else None
    words = f"{true_ghz:.3f} GHz by additions" if true_ghz else "by additions"
    counters = Instrument("frequency", name, words, ("freq_ghz", "freq_mean_ghz"))
    kernel = Instrument("kernel's frequency", name, words)
    counted = runs.chain.fields.get("freq_ghz", {}).get(name)
    why = runs.chain.problem or runs.chain.why_without("freq_mean_ghz")
    told_ghz = runs.kernel_khz / 1e6 if runs.kernel_khz else None
    reference, by = (true_ghz, "additions") if true_ghz else (told_ghz, "the kernel")
    if counts_time(runs.chain):
        return [counters.absent(A_CLOCK), kernel.absent(A_CLOCK)]
    if counted is None:
        first = counters.absent(why or f"no cycles were counted on {name}-cores")
    elif reference is None:
        first = counters.absent(EMULATED.format(subject="how long an addition"))
    else:
        off = beyond(counted, reference, FREQUENCY_WITHIN)
        first = Instrument(
            "frequency", name, f"{reference:.3f} GHz by {by}", counters.fields
        ).found(f"{counted:.3f} GHz", off)
    truth = true_ghz or counted
    if told_ghz is None:
        return [first, kernel.absent("no scaling_cur_freq here")]
    if truth is None:
        return [first, kernel.absent(EMULATED.format(subject="how long an addition"))]
    source = "additions" if true_ghz else "cycles"
    second = Instrument("kernel's frequency", name, f"{truth:.3f} GHz by {source}")
    return [first, second.found(f"{told_ghz:.3f} GHz", beyond(told_ghz, truth, FREQUENCY_WITHIN))]


def split_task(first: int, last: int, share: float) -> Task:
    """Return the task of a thread that starts on a CPU, and leaves it after a share of its time."""
    words = ("split", "--seconds", f"{SPLIT_S:g}", "--share", f"{share:g}", "--other", str(last))
    return Task(words, (first,))


def judge_residency(seen: Seen, first: KindRuns, last: KindRuns) -> Finding:
    """Judge where a thread was counted that was on one core kind, then on another."""
    kind = first.kind.name
    # The program's start is on its first CPU.
    whole_s = float(seen.fields.get("task_clock_s", 0.0))
    share = 1 - seen.printed.get("last_s", 0.0) / whole_s if whole_s else 0.0
    names = f"{kind} {last.kind.name}"
    instrument = Instrument("residency", names, f"{share:.1%} on {kind}", ("residency",))
    if why := seen.why_without("residency"):
        return instrument.absent(why)
    measured = seen.fields["residency"].get(kind, 0.0)
    off = abs(measured - share)
    allowed = f"{off * 100:.1f} points off, at most {SHARE_WITHIN * 100:g} allowed"
    return instrument.found(f"{measured:.1%}", allowed if not off <= SHARE_WITHIN else "")


def judge_sum(seen: Seen, first: KindRuns, last: KindRuns) -> Finding:
    """Judge whether the cycles of a run on two CPUs are those of its work on each.

    They are the first CPUs of two kinds, or, with one kind given twice, its first and its last CPU.
    """
    names = " ".join(dict.fromkeys((first.kind.name, last.kind.name)))
    instrument = Instrument(
        "sum over two CPUs", names, "the cycles of each", ("cycles", "instructions")
    )
    if why := seen.why_without("cycles") or seen.why_without("task_clock_s"):
        return instrument.absent(why)
    on_last = first.elsewhere[0] if first is last else last.chain
    by_first, by_last = _cycles_by(first, first.chain), _cycles_by(last, on_last)
    if by_first is None or by_last is None:
        return instrument.absent("the cycles of one of them are not known by themselves")
    # The program's start is on its first CPU, and is no work.
    if first.chain.emulated:
        last_s = seen.printed.get("last_s", 0.0)
        expected = by_first * (float(seen.fields["task_clock_s"]) - last_s) + by_last * last_s
    else:
        expected = by_first * seen.printed.get("first_additions", 0.0)
        expected += by_last * seen.printed.get("last_additions", 0.0)
        expected += float(first.empty.fields.get("cycles", 0.0))
    counted = float(seen.fields["cycles"])
    instrument = replace(instrument, truth=f"{expected:,.0f} cycles")
    within = EMULATED_SUM_WITHIN if first.chain.emulated else SUM_WITHIN
    return instrument.found(f"{counted:,.0f}", beyond(counted, expected, within))


def _cycles_by(runs: KindRuns, seen: Seen) -> float | None:
    """Return the cycles of an addition; of an emulated CPU, those of a second at its clock."""
    if not seen.emulated:
        return runs.cycles_per_addition(seen)
    ghz = seen.fields.get("freq_ghz", {}).get(runs.kind.name)
    return None if ghz is None else ghz * 1e9


def many_events(bench: Bench) -> str:
    """Return more events than a core has counters, for perf's `-e`."""
    user_only = read_permission(bench.node.root).user_only
    usual = event_list((), user_only, events_by_pmu(bench.node.root))
    more = "instructions:u" if user_only else "instructions"
    return ",".join([usual, *[more] * EVENTS_AT_ONCE])


def judge_multiplexing(seen: Seen) -> Finding:
    """Judge whether it shows that more events were asked for than there are counters."""
    instrument = Instrument("multiplexing", "", f"{EVENTS_AT_ONCE} events at once", HARDWARE_EVENTS)
    rows = [row for row in seen.fields.get("counters", ()) if row["event"] in HARDWARE_EVENTS]
    if seen.problem or not rows:
        return instrument.absent(seen.why_without("instructions"))
    if any(row["multiplexed"] for row in rows):
        least = min(row["running_ns"] / row["enabled_ns"] for row in rows)
        return instrument.found(f"seen: an event was counted for {least:.0%} of the time")
    return instrument.absent("this CPU has counters for all of them")


def judge_migrations(seen: Seen) -> Finding:
    """Judge the migrations of a thread that changes its CPU a known number of times."""
    truth = seen.printed.get("moves", 0.0)
    instrument = Instrument("migrations", "", f"{truth:.0f} moves", _MIGRATIONS)
    if why := seen.why_without("migrations"):
        return instrument.absent(why)
    counted = seen.fields["migrations"]
    more = counted - truth
    off = "" if 0 <= more <= MORE_MOVES else f"{more:+.0f}, 0 to {MORE_MOVES} more are allowed"
    by_kernel = f", {more:.0f} of them the kernel's" if more > 0 and not off else ""
    return instrument.found(f"{counted}{by_kernel}", off)


def judge_switches(seen: Seen) -> Finding:
    """Judge the context switches of a thread that sleeps a known number of times.

    A sleep that is over before the thread has left its CPU needs no switch: how often the thread
    left it, the kernel has told the program.
    """
    sleeps = seen.printed.get("sleeps", 0.0)
    instrument = Instrument("context switches", "", f"{sleeps:.0f} sleeps", ("context_switches",))
    if why := seen.why_without("context_switches"):
        return instrument.absent(why)
    counted = seen.fields["context_switches"]
    least = min(sleeps, seen.printed.get("left", sleeps))
    most = sleeps * (1 + MORE_SWITCHES)
    within = least <= counted <= most
    return instrument.found(
        f"{counted}", "" if within else f"{least:.0f} to {most:.0f} are allowed"
    )


def chase_words(size_bytes: int, reads: int) -> tuple[str, ...]:
    """Return the program's arguments for reads within so many bytes."""
    return ("chase", "--bytes", str(size_bytes), "--amount", str(reads))


def far_bytes(topology: Topology, tree: Tree) -> int | Unavailable:
    """Return how many bytes are far more than the last cache, or why there is no room for them."""
    sizes = [
        cache.size_bytes
        for cache in topology.caches
        if cache.type != "Instruction" and cache.size_bytes
    ]
    last = max(sizes, default=USUAL_LAST_CACHE)
    wanted = CACHES_OVER * last
    free = known(memory_bytes(tree, "MemAvailable"))
    if free is not None and wanted > MOST_OF_MEMORY * free:
        return Unavailable(
            f"{wanted // 1024**2} MiB, {CACHES_OVER} times the last cache, are more than a "
            f"quarter of the free memory"
        )
    return wanted


def judge_misses(
    kind: str, near: Sequence[Seen], far: Sequence[Seen] | Unavailable
) -> list[Finding]:
    """Judge the cache misses of reads within the first cache, and far beyond the last one.

    `near` and `far` each have a run without reads and one with them.
    """
    fields = ("cache_misses",)
    small = Instrument("cache misses near", kind, "0 a read within the first cache", fields)
    large = Instrument("cache misses far", kind, "1 a read beyond the last cache", fields)
    found = [_judge_misses(small, near, (0.0, NEAR_AT_MOST))]
    if isinstance(far, Unavailable):
        return [*found, large.absent(far.reason)]
    return [*found, _judge_misses(large, far, FAR_BETWEEN)]


def _judge_misses(
    instrument: Instrument, runs: Sequence[Seen], within: tuple[float, float]
) -> Finding:
    without, reading = runs
    for seen in runs:
        if why := seen.why_without("cache_misses"):
            return instrument.absent(why)
    if reading.emulated:
        return instrument.absent(EMULATED.format(subject="what the caches"))
    misses = reading.fields["cache_misses"] - without.fields["cache_misses"]
    a_read = misses / reading.printed["reads"]
    low, high = within
    # Misses of other work may be fewer in the run with reads than in the one without.
    off = (
        "" if a_read <= high and (low == 0 or a_read >= low) else f"{low:g} to {high:g} are allowed"
    )
    return instrument.found(f"{a_read:.3f} a read", off)
