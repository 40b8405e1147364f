"""Short templates for what `pinstudy demo` found. They decide nothing; numbers are rounded here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pinstudy.analysis.format.numbers import fixed, mean_count, three_digits
from pinstudy.analysis.words.experiments import ns
from pinstudy.base.text import plural

Values = Mapping[str, float | int | str | None]

# What each effect is called, in the order of the page.
TITLES = {
    "contention": "four threads, two counters",
    "false sharing": "both counters in one cache line",
    "one core": "two threads on one core",
    "latency": "core to core",
    "who ran where": "who ran where",
}
# Why it is so, for the page.
REASONS = {
    "contention": (
        "Only one core at a time can write to a cache line.",
        "Two threads on two cores pull it to and fro for almost every addition.",
    ),
    "false sharing": (
        "The counters are two variables, and no thread uses both.",
        "But they are in one line, and a line has one owner.",
    ),
    "one core": (
        "A sum waits for the addition before: the core has units to spare.",
        "A sine keeps them busy, and a second one has to wait.",
    ),
    "latency": ("The darker a cell, the sooner one CPU sees what the other one wrote.",),
    "who ran where": (
        "Where nothing pins them, the kernel moves threads when it likes to.",
        "A cell is the share of looks that found the thread there.",
    ),
}
# To ask before the picture is shown.
QUESTIONS = {
    "contention": "Four threads on all CPUs, or each pair on one: which is sooner done?",
    "false sharing": "What changes when two variables that nobody shares lie side by side?",
    "one core": "When is a second thread on the same core free of charge?",
    "latency": "Which two CPUs would you give to two threads that talk?",
    "who ran where": "How often does a thread change its CPU in a second?",
}
PANELS = {
    "round": "time of a round (ms)",
    "sum": "sums: times the time alone",
    "sine": "sines: times the time alone",
}
LABELS = {
    "unpinned": "unpinned",
    "same-cpu-pin": "a pair on one CPU",
    "siblings-pin": "a pair on one core",
    "pcores-pin": "a core for each",
    "two lines": "two cache lines",
    "one line": "one cache line",
}
# The kernel's groups of CPUs, by their names in analysis.latency.findings.
WITHIN = {
    "SMT siblings": "on one core",
    "L2": "within a cluster (L2)",
    "L3": "below one L3 cache",
    "package": "within a package",
    "NUMA node": "within a NUMA node",
    "all measured": "across the node",
}

_MOST_NS = 1e5

NOT_YET = "no run of it yet: a second start goes on"
ONE_CPU = "the program may use one CPU only, and this needs two"
NOT_SHOWN = "not shown: {why}"
NOT_COMPARED = "not compared: {why}"
PICTURES = "What a thread placement costs"
CALMER = "disturbed: {how}; end other programs, then start again with --fresh"
ABOUT_INTERVALS = "In parentheses: 95 % intervals. A dot is a run."
TIMES = "{ratio} times"
WITH_INTERVAL = "{ratio} times ({low} to {high})"
NOT_DISTINGUISHABLE = "not distinguishable, "
PINNED = "{cpus}, {moves} moves a second"


def cells(effect: str, values: Values, why_not: str) -> list[str]:
    """Return an effect's numbers for a line of the terminal, or why there are none."""
    found = list(_CELLS[effect](values))
    if why_not:
        found.append(_lacking(effect, values, why_not))
    return found


def sentence(effect: str, values: Values, why_not: str) -> str:
    """Return an effect in one sentence with its number, or why there is none."""
    if why_not or not values:
        said = _lacking(effect, values, why_not or NOT_YET)
        return f"{said[0].upper()}{said[1:]}."
    return _SENTENCES[effect](values)


def _lacking(effect: str, values: Values, why_not: str) -> str:
    # Of two threads on one core what is known is of other placements.
    template = NOT_COMPARED if values and effect != "one core" else NOT_SHOWN
    return template.format(why=why_not)


def times(values: Values, prefix: str = "") -> str:
    """Return a ratio with its interval: `4.1 times (3.9 to 4.3)`; empty where there is none."""
    ratio, low, high = (_number(values, f"{prefix}ratio{end}") for end in ("", "_low", "_high"))
    if ratio is None:
        return ""
    decimals = 2 if ratio < 3 else 1
    if low is None or high is None:
        return TIMES.format(ratio=fixed(ratio, decimals))
    ratio_text, low_text, high_text = (fixed(value, decimals) for value in (ratio, low, high))
    return WITH_INTERVAL.format(ratio=ratio_text, low=low_text, high=high_text)


def _contention(values: Values) -> Iterator[str]:
    return _two_times(values, {"unpinned": "unpinned_ms", "each pair on one CPU": "one_cpu_ms"})


def _false_sharing(values: Values) -> Iterator[str]:
    return _two_times(values, {"two lines": "two_lines_ms", "one line": "one_line_ms"})


def _two_times(values: Values, names: Mapping[str, str]) -> Iterator[str]:
    for label, name in names.items():
        value = _number(values, name)
        if value is not None:
            yield f"{label} {three_digits(value)} ms"
    if found := times(values):
        yield f"{_unclear(values)}{found}"


def _unclear(values: Values) -> str:
    return NOT_DISTINGUISHABLE if values.get("outcome") == "undecided" else ""


def _one_core(values: Values) -> Iterator[str]:
    # Where no core has two CPUs, two threads on one CPU are what is left to see.
    has_core = any(name.endswith("_one_core_ratio") for name in values)
    place, where = ("one_core", "") if has_core else ("one_cpu", " on one CPU")
    for workload in ("sum", "sine"):
        if found := times(values, f"{workload}_{place}_"):
            yield f"{workload}{where}: {found}"


def _latency(values: Values) -> Iterator[str]:
    if values.get("pairs_of_node") == 1:
        yield f"{_ns(values, 'near')} from one CPU to the other"
    elif values:
        places = ("near",) if values["near"] == values["far"] else ("near", "far")
        for place in places:
            group = str(values.get(place))
            yield f"{_ns(values, place)} {WITHIN.get(group, f'among {group}')}"


def _team(values: Values) -> Iterator[str]:
    for name in ("unpinned", "pinned"):
        moves = _number(values, f"{name}_moves_per_s")
        if moves is not None:
            cpus = plural(int(_number(values, f"{name}_cpus") or 0), "CPU")
            text = PINNED.format(cpus=cpus, moves=mean_count(moves))
            yield f"{name}: {text}"


def _as_long(subject: str, values: Values, under: str = "") -> str:
    ratio, _, interval = times(values).partition(" times")
    return f"{subject}: {_unclear(values)}{ratio} times as long{under}{interval}."


def _say_one_core(values: Values) -> str:
    said = [
        f"a {workload} takes {found}"
        for workload in ("sum", "sine")
        if (found := times(values, f"{workload}_one_core_"))
    ]
    return f"Two threads on one core: {', '.join(said)} the time alone."


def _say_team(values: Values) -> str:
    free, pinned = (_number(values, f"{name}_moves_per_s") for name in ("unpinned", "pinned"))
    cpus = plural(int(_number(values, "unpinned_cpus") or 0), "CPU")
    said = f"{values['threads']} unpinned threads were seen on {cpus}"
    if free is not None:
        said += f" and moved {mean_count(free)} times a second"
    return f"{said}." if pinned is None else f"{said}; pinned, {mean_count(pinned)} times."


def _ns(values: Values, place: str) -> str:
    time_ns = _number(values, f"{place}_ns") or 0.0
    # Where CPUs of a guest take turns, a line waits for the other's turn.
    return ns(time_ns) if time_ns < _MOST_NS else f"{three_digits(time_ns / 1e6)} ms"


def _number(values: Values, name: str) -> float | None:
    value = values.get(name)
    return float(value) if isinstance(value, (int, float)) else None


_CELLS = {
    "contention": _contention,
    "false sharing": _false_sharing,
    "one core": _one_core,
    "latency": _latency,
    "who ran where": _team,
}
_SENTENCES: Mapping[str, Callable[[Values], str]] = {
    "contention": lambda values: _as_long("Four threads on two lines", values, " unpinned"),
    "false sharing": lambda values: _as_long("The same two counters in one line", values),
    "one core": _say_one_core,
    "latency": lambda values: f"A cache line takes {', '.join(_latency(values))}.",
    "who ran where": _say_team,
}
