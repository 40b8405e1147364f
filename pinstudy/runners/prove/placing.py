"""The proof of placement against what runtimes and launchers do, and do not do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pinstudy.base.cpulist import format_cpulist
from pinstudy.runners.host.software import for_programs, for_tools
from pinstudy.runners.plan.openmp_variables import BINDING_VARIABLES
from pinstudy.runners.prove.bench import Bench, Seen, Task
from pinstudy.runners.prove.counting import chain_words
from pinstudy.runners.prove.proof import Instrument
from pinstudy.runners.records.instruments import Finding

MOST_THREADS = 4
# A runtime binds its main thread when it forms its team: of a short run on a busy or emulated node
# this is too large a part. Each time is tried once, until a run is long enough.
TIMES_S = (1.0, 4.0, 16.0)
_FIELDS = ("placement",)


def placing_cpus(firsts: tuple[int, ...]) -> tuple[int, ...]:
    """Return some of the cores' first CPUs: the first and the last ones, of all kinds."""
    half = MOST_THREADS // 2
    return firsts if len(firsts) <= MOST_THREADS else firsts[:half] + firsts[-half:]


def prove_placements(bench: Bench) -> list[Finding]:
    """Pin a team by each runtime and by likwid-pin, then let one ignore what it was told."""
    topology = bench.node.topology
    cpus = placing_cpus(bench.first_cpus)
    where = f"pinned on CPUs {format_cpulist(cpus)}"
    found = []
    for runtime in ("libgomp", "libomp"):
        instrument = Instrument("placement", runtime, where, _FIELDS)
        if not bench.has(runtime):
            program = f"yardstick-{runtime}"
            remedy = for_programs([program]).sentence
            found.append(instrument.absent(f"{program} is not built; {remedy}"))
            continue
        task = Task((), cpus, len(cpus), "pin", "omp-places", runtime)
        found.append(judge_placement(instrument, _until(bench, task, "proved")))
        if len(cpus) > 1:
            told = Instrument("placement", f"{runtime}, ignoring it", "caught", _FIELDS)
            seen = _until(bench, task, "violated", BINDING_VARIABLES)
            found.append(judge_ignored(told, seen))
    instrument = Instrument("placement", "likwid-pin", where, _FIELDS)
    if "likwid-pin" not in bench.tools:
        return [*found, instrument.absent(f"likwid-pin is not installed; {for_tools().sentence}")]
    if topology.allowed != topology.online:
        return [
            *found,
            instrument.absent("inside a restricted CPU set it takes numbers as logical ones"),
        ]
    task = Task((), cpus, len(cpus), "pin", "likwid-pin")
    return [*found, judge_placement(instrument, _until(bench, task, "proved"))]


def _until(bench: Bench, task: Task, verdict: str, without: Sequence[str] = ()) -> Seen:
    """Return the first run whose proof has this verdict; where none has, the longest one."""
    seen = Seen()
    for seconds in TIMES_S:
        words = chain_words(seconds, task.threads)
        seen = bench.run(replace(task, words=words), without=without)
        if seen.problem or seen.proof.verdict == verdict:
            break
    return seen


def judge_placement(instrument: Instrument, seen: Seen) -> Finding:
    """Judge the proof of threads that were pinned."""
    if seen.problem:
        return instrument.absent(seen.problem)
    verdict = seen.proof.verdict
    if verdict == "unproved":
        return instrument.absent(seen.proof.reason)
    return instrument.found(verdict, "" if verdict == "proved" else seen.proof.reason)


def judge_ignored(instrument: Instrument, seen: Seen) -> Finding:
    """Judge the proof of threads that were to be pinned, and were not told so."""
    verdict = seen.proof.verdict
    if seen.problem or verdict == "unproved":
        return instrument.absent(seen.problem or seen.proof.reason)
    off = "" if verdict == "violated" else "threads that were not pinned were not caught"
    return instrument.found("caught" if not off else verdict, off)
