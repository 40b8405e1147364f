"""Energy against load: more of it the more cores are busy, in proportion to time, by each source.

No program uses a known energy. But an idle node uses less than one with a busy core, and that one
less than a node whose cores are all busy; twice the time takes twice the energy; two ways to read
the same counters agree; and what a board or a system takes more under load is at least what its
packages take more.

Temperatures are read before and after that load, and throttle counters with them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pinstudy.base.units import duration
from pinstudy.runners.measure.energy.commands import COMMAND
from pinstudy.runners.measure.energy.cores import FIELD as BY_KIND
from pinstudy.runners.measure.energy.cores import WINDOW
from pinstudy.runners.measure.energy.sampled import FoundMeter, SampledMeter
from pinstudy.runners.measure.energy.source import EnergyMeter, find_meters, try_perf, try_powercap
from pinstudy.runners.prove.bench import Bench, Seen, Task
from pinstudy.runners.prove.counting import KindRuns, chain_words
from pinstudy.runners.prove.proof import Instrument, beyond, deviation
from pinstudy.runners.records.energy import DOMAINS, FIELDS, POWERS, SCOPES
from pinstudy.runners.records.instruments import Finding

LOADS = ("idle", "one core busy", "all cores busy")
# Seconds of each load.
TIMES_S = (1.0, 2.0, 4.0)
QUICK_S = (1.0, 2.0)
# The clock may fall within the first seconds of a load.
LINEAR_WITHIN = 0.15
SOURCES_WITHIN = 0.02
# Of the package's power: less is the noise of an idle node.
MORE_BY = 0.02
# What other meters see of the packages' further power: converters, fans and memory take more with
# them, but not twice as much again.
CONTAINS = (1 - MORE_BY, 3.0)
# Of the loads that a slow meter needs; beyond it is not tested.
LONGEST_S, QUICK_LONGEST_S = 60.0, 12.0
# A load must outlast the shortest run that a meter tells, its own start included.
OUTLASTS = 1.2
# Of a kind's power, with work on another one.
LESS_BY = 0.15
IDLE_NODE = "an idle node"
# Those that busy cores fill; an idle graphics unit or memory need not use more.
OF_CORES = ("package", "core", "board", "system")
# One core is little beside all that they take in, and their steps may be whole watts.
_WIDER = ("board", "system")
_FIELDS = FIELDS | SCOPES


@dataclass(frozen=True)
class Joules:
    """What each source read of one load, by its name: joules by domain, and its window's seconds.

    `problems` has by source and domain why there are none.
    """

    joules: Mapping[str, Mapping[str, float]]
    window_s: Mapping[str, float]
    problems: Mapping[str, Mapping[str, str]]

    def power_w(self, source: str, domain: str) -> float | None:
        """Return the average power of a domain in watts; None where it is not known."""
        joules, window_s = self.joules[source].get(domain), self.window_s[source]
        return joules / window_s if joules is not None and window_s else None


Loads = Mapping[tuple[str, float], Joules]
# By source of an energy, the meter beside RAPL that it is.
Found = Mapping[str, FoundMeter]


def energy_meters(
    bench: Bench, quick: bool
) -> tuple[dict[str, EnergyMeter], dict[str, dict[str, str]], dict[str, FoundMeter]]:
    """Return the meters of the sources that can be tested; by domain why there are none.

    Last come the meters beside RAPL: those that a study would choose, and that of the site.
    """
    root, site = bench.node.root, bench.site
    tried: dict[str, tuple[EnergyMeter | None, dict[str, str]]] = {
        "powercap": try_powercap(root),
        "perf": try_perf(root, bench.collectors.perf or None),
    }
    meters = {
        name: meter
        for name, (meter, problems) in tried.items()
        if meter is not None and "package" not in problems
    }
    absent = {name: problems for name, (_, problems) in tried.items()}
    rule = site.energy if site else None
    asked = (rule.meter or COMMAND) if rule else ""
    found = {
        meter.name: meter
        for meter in find_meters(root, rule)
        if meter.name == asked or not meter.by_name
    }
    most_s = QUICK_LONGEST_S if quick else LONGEST_S
    for name, meter in found.items():
        absent[name] = {}
        if meter.problem:
            absent[name] = {meter.scope: meter.problem}
        elif OUTLASTS * meter.least_s > most_s:
            why = f"loads of more than {duration(most_s)} would be needed"
            absent[name] = {meter.scope: why + (": not with --quick" if quick else "")}
        else:
            meters[name] = SampledMeter(meter)
    return meters, absent, found


def load_times(meters: Mapping[str, EnergyMeter], quick: bool) -> tuple[float, ...]:
    """Return the seconds of each load: the usual ones, and a longer one for slow meters."""
    usual = QUICK_S if quick else TIMES_S
    needed = (m.found.least_s for m in meters.values() if isinstance(m, SampledMeter))
    slow_s = OUTLASTS * max(needed, default=0.0)
    return usual if slow_s <= usual[-1] else (*usual, math.ceil(slow_s))


def load_task(bench: Bench, load: str, seconds: float) -> Task:
    """Return the task that puts a load on the node for so many seconds."""
    cpus = bench.first_cpus
    if load == LOADS[0]:
        return Task(("idle", "--seconds", f"{seconds:g}"), cpus[:1])
    if load == LOADS[1]:
        return Task(chain_words(seconds), cpus[:1])
    return Task(chain_words(seconds, len(cpus)), cpus, len(cpus), "none", None)


def run_load(
    bench: Bench, load: str, seconds: float, meters: Mapping[str, EnergyMeter]
) -> tuple[Joules, Seen]:
    """Put a load on the node for so many seconds; return what each source read of it."""
    task = load_task(bench, load, seconds)
    # perf is farther from the program: its own start must not be in the other one's window.
    seen = bench.run(task, *(meters[name] for name in sorted(meters)))
    joules: dict[str, dict[str, float]] = {}
    window_s: dict[str, float] = {}
    problems: dict[str, dict[str, str]] = {}
    for name, meter in meters.items():
        read = meter.reading()
        joules[name] = {
            domain: read.fields[field] for domain, field in _FIELDS.items() if field in read.fields
        }
        window_s[name] = read.fields.get("energy_window_s", 0.0)
        problems[name] = {
            domain: read.unavailable[field]
            for domain, field in _FIELDS.items()
            if field in read.unavailable
        }
    return Joules(joules, window_s, problems), seen


def judge_energy(
    loads: Loads,
    absent: Mapping[str, Mapping[str, str]],
    several_cores: bool,
    found: Found = {},  # noqa: B006 - it is not changed
) -> list[Finding]:
    """Judge each source's domains by the loads, then one source by the other.

    `absent` has by source and domain why a source has none; `found` are the meters beside RAPL.
    """
    findings: list[Finding] = []
    sources = list(next(iter(loads.values())).joules) if loads else []
    for source in absent:
        main = found[source].scope if source in found else "package"
        if source not in sources:
            why = absent[source].get(main, "not there")
            findings.append(_instrument(main, source).absent(why))
            continue
        long_enough = _long_enough(loads, found[source].least_s) if source in found else loads
        for domain in (main,) if source in found else DOMAINS:
            if domain == main or domain not in absent[source]:
                judged = _judge_domain(long_enough, source, domain, absent, several_cores)
                findings.append(judged)
    rapl = [source for source in sources if source not in found]
    if len(rapl) == 2:
        findings += _judge_sources(loads, rapl)
    for source in sources if rapl else ():
        if source in found:
            long_enough = _long_enough(loads, found[source].least_s)
            findings += _judge_against(long_enough, source, found[source].scope, rapl[0])
    return findings


def _long_enough(loads: Loads, least_s: float) -> Loads:
    return {key: joules for key, joules in loads.items() if key[1] >= least_s}


def _judge_against(loads: Loads, source: str, scope: str, rapl: str) -> list[Finding]:
    """Judge whether a meter sees what the packages take more under load, and no multiple of it."""
    longest = max(seconds for _, seconds in loads)
    more: list[float] = []
    for name, domain in ((source, scope), (rapl, "package")):
        idle, every = (loads[load, longest].power_w(name, domain) for load in LOADS[::2])
        if idle is None or every is None:
            return []
        more.append(every - idle)
    least, most = (bound * more[1] for bound in CONTAINS)
    instrument = Instrument(
        "energy",
        f"{scope} by {source} against {rapl}",
        f"{least:.2f} to {most:.2f} W more with {LOADS[-1]}; {rapl}: {more[1]:.2f} W",
        _instrument(scope, source).fields,
    )
    off = "" if least <= more[0] <= most else f"{more[0] / more[1]:.3g} times the package's"
    return [instrument.found(f"{more[0]:.2f} W more", off)]


def _instrument(domain: str, source: str) -> Instrument:
    fields = [_FIELDS[domain]]
    if domain in SCOPES:
        fields += [POWERS[domain], "edp_js", "ed2p_js2", "energy_net_j", "idle_power_w"]
    truth = "grows with load and time" if domain in OF_CORES else "moves"
    return Instrument("energy", f"{domain} by {source}", truth, tuple(fields))


def _judge_domain(
    loads: Loads,
    source: str,
    domain: str,
    absent: Mapping[str, Mapping[str, str]],
    several_cores: bool,
) -> Finding:
    instrument = _instrument(domain, source)
    if why := absent[source].get(domain):
        return instrument.absent(why)
    longest = max(seconds for _, seconds in loads)
    powers = {load: loads[load, longest].power_w(source, domain) for load in LOADS}
    idle, single, every = (powers[load] for load in LOADS)
    if single is None or every is None:
        # `domain_fields` leaves out a domain whose counter did not move.
        why = loads[LOADS[-1], longest].problems[source].get(domain, "not measured")
        if domain in OF_CORES and domain not in _WIDER:
            return instrument.found("nothing", f"stands still: {why}")
        return instrument.absent(why)
    if idle is None:
        idle = 0.0
    measured = f"{idle:.2f}, {single:.2f}, {every:.2f} W ({', '.join(LOADS)})"
    if domain not in OF_CORES:
        return instrument.found(measured)
    return instrument.found(measured, _off_by_load(loads, source, domain, several_cores))


def _off_by_load(loads: Loads, source: str, domain: str, several_cores: bool) -> str:
    """Return what is wrong with a domain's joules under the loads; empty when nothing is."""
    times = sorted({seconds for _, seconds in loads})
    longest = times[-1]
    power = {
        (load, seconds): loads[load, seconds].power_w(source, domain) or 0.0
        for load in LOADS
        for seconds in times
    }
    idle, single, every = (power[load, longest] for load in LOADS)
    if domain in _WIDER:
        return "" if every >= idle * (1 + MORE_BY) else "not more with all cores busy than idle"
    if single < idle * (1 + MORE_BY):
        return "not more with one busy core than idle"
    if several_cores and every < single * (1 + MORE_BY):
        return "not more with all cores busy than with one"
    for load in LOADS[1:] if len(times) > 2 else ():
        # Of the seconds that a load lasts longer: what its start takes is in none of them.
        shortest, middle = times[-3:-1]
        first_w = _power_between(loads, source, domain, load, shortest, middle)
        second_w = _power_between(loads, source, domain, load, middle, longest)
        if not abs(deviation(first_w, second_w)) <= LINEAR_WITHIN:
            return (
                f"{load}: {first_w:.1f} W from {duration(shortest)} to {duration(middle)}, "
                f"{second_w:.1f} W from then to {duration(longest)}"
            )
    return ""


def _power_between(
    loads: Loads, source: str, domain: str, load: str, shorter_s: float, longer_s: float
) -> float:
    """Return the power of a load in the seconds that it lasts longer, in watts."""
    first, second = (loads[load, seconds] for seconds in (shorter_s, longer_s))
    joules = second.joules[source].get(domain, 0.0) - first.joules[source].get(domain, 0.0)
    return joules / (second.window_s[source] - first.window_s[source] or float("inf"))


def _judge_sources(loads: Loads, sources: Sequence[str]) -> list[Finding]:
    """Judge whether two sources read the same power of the longest loads of all cores."""
    longest = max(seconds for _, seconds in loads)
    read = loads[LOADS[-1], longest]
    found = []
    for domain in DOMAINS:
        first, second = (read.power_w(source, domain) for source in sources)
        if first is None or second is None:
            continue
        fields = _instrument(domain, sources[0]).fields
        instrument = Instrument(
            "energy", f"{domain} twice", f"{second:.2f} W by {sources[1]}", fields
        )
        off = beyond(first, second, SOURCES_WITHIN)
        found.append(instrument.found(f"{first:.2f} W by {sources[0]}", off))
    return found


def judge_cores(work: Mapping[str, Seen], idle: Seen | None, counted: bool) -> list[Finding]:
    """Judge the energy by core kind: the kind on which additions run uses more of it.

    `work` has the run on each kind; `idle` the one in which nothing worked, None without one;
    `counted` is whether the cores have counters. The cores of all kinds together are a part of
    the package, and use no more than it.
    """
    return [_judge_cores_of(kind, work, idle, counted) for kind in work]


def _judge_cores_of(
    kind: str, work: Mapping[str, Seen], idle: Seen | None, counted: bool
) -> Finding:
    truth = "more where the work is; all within the package"
    instrument = Instrument("energy of cores", kind, truth, (BY_KIND,))
    here = _powers_by_kind(work[kind])
    if kind not in here:
        of_kind = work[kind].unavailable.get(f"{BY_KIND}.{kind}")
        why = of_kind or work[kind].why_without(BY_KIND)
        # `kind_fields` leaves out counters of which none moved.
        stuck = counted and not of_kind and not work[kind].problem
        return (
            instrument.found("nothing", f"stands still: {why}") if stuck else instrument.absent(why)
        )
    elsewhere = {f"work on {other}": seen for other, seen in work.items() if other != kind}
    elsewhere |= {IDLE_NODE: idle} if idle else {}
    without = {when: _powers_by_kind(seen).get(kind) for when, seen in elsewhere.items()}
    less = {when: power_w for when, power_w in without.items() if power_w is not None}
    told = "".join(f", {power_w:.2f} W ({when})" for when, power_w in less.items())
    measured = f"{here[kind]:.2f} W with work on {kind}{told}"
    package_w, together_w = work[kind].fields.get("power_pkg_w"), sum(here.values())
    if package_w is not None and together_w > package_w * (1 + SOURCES_WITHIN):
        return instrument.found(
            measured, f"all cores {together_w:.2f} W, the package {package_w:.2f} W"
        )
    for when, power_w in less.items():
        # pinstudy itself works on cores that the work leaves free.
        least_w = power_w * (1 + MORE_BY if when == IDLE_NODE else 1 - LESS_BY)
        if not here[kind] > least_w:
            return instrument.found(measured, f"not more with work on {kind} than with {when}")
    return instrument.found(measured)


def _powers_by_kind(seen: Seen) -> Mapping[str, float]:
    """Return the average power of each kind's cores in watts; empty where it is not known."""
    window_s = seen.fields.get(WINDOW)
    joules = seen.fields.get(BY_KIND, {})
    return {kind: energy_j / window_s for kind, energy_j in joules.items()} if window_s else {}


def judge_kinds(kinds: Sequence[KindRuns], idle_w: float | None) -> list[Finding]:
    """Report the energy of an addition on each core kind, above that of the idle node.

    Where the kind's cores have counters, also what these say of it, the idle cores' included.
    """
    found = []
    for runs in kinds:
        instrument = Instrument("energy of an addition", runs.kind.name, "reported")
        power_w = runs.chain.fields.get("power_pkg_w")
        additions, elapsed_s = (
            runs.chain.printed.get("additions"),
            runs.chain.printed.get("elapsed_s"),
        )
        if power_w is None or idle_w is None:
            found.append(
                instrument.absent(runs.chain.why_without("power_pkg_w") or "idle power not known")
            )
        elif additions and elapsed_s:
            nanojoules = (power_w - idle_w) * elapsed_s / additions * 1e9
            own_w = _powers_by_kind(runs.chain).get(runs.kind.name)
            measured = f"{nanojoules:.3f} nJ above idle"
            if own_w is not None:
                measured += f"; {own_w * elapsed_s / additions * 1e9:.3f} nJ by the kind's cores"
            found.append(instrument.found(measured))
    return found


def loads_of(times_s: Sequence[float]) -> list[tuple[str, float]]:
    """Return the loads in the order of their runs: idle first, before the node is warm."""
    return [(load, seconds) for load in LOADS for seconds in times_s]


_BEFORE, _AFTER = "temperature_before_c", "temperature_after_c"


def judge_heat(seen: Seen) -> list[Finding]:
    """Judge the sensors by a run that kept all cores busy for some seconds."""
    warm = Instrument("temperature", "", "rises under load", (_BEFORE, _AFTER))
    throttle = Instrument("throttling", "", "counters are readable", ("throttle",))
    return [_judge_temperature(warm, seen), _judge_throttling(throttle, seen)]


def _judge_temperature(instrument: Instrument, seen: Seen) -> Finding:
    for name in (_BEFORE, _AFTER):
        if why := seen.why_without(name):
            return instrument.absent(why)
    before, after = seen.fields[_BEFORE], seen.fields[_AFTER]
    both = [package for package in before if package in after]
    if not both:
        return instrument.absent("no package was read both before and after")
    words = ", ".join(f"{package} {before[package]:g} to {after[package]:g} °C" for package in both)
    risen = any(after[package] > before[package] for package in both)
    return instrument.found(words, "" if risen else "no package became warmer")


def _judge_throttling(instrument: Instrument, seen: Seen) -> Finding:
    if why := seen.why_without("throttle"):
        return instrument.absent(why)
    counts = {name: count for name, count in seen.fields["throttle"].items() if count}
    told = ", ".join(f"{name} {count}" for name, count in counts.items())
    return instrument.found(told or "nothing was throttled")
