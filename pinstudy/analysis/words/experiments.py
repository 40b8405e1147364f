"""Short templates for what is measured of placements: latencies, affinity, results side by side.

They decide nothing. A template is one idea; its numbers are rounded here or by who fills it in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import exp

from pinstudy.analysis.format.numbers import fixed, signed_in_percent, signed_percent
from pinstudy.analysis.objectives import Objective
from pinstudy.analysis.published import Published, sources_of
from pinstudy.analysis.statistics.sample import MIN_TRIMMED, TRIMMED_SHARE
from pinstudy.analysis.verdict.case_caveats import caveats_of
from pinstudy.analysis.verdict.model import CaseFinding, Caveat, Comparison
from pinstudy.analysis.words.verdict import modes_text, note, ratio_interval, ratio_text, with_unit
from pinstudy.base.text import first_of, one_line

# Latencies.
MEASURED = "{pairs} of {possible} {how}"
HOW = "by {method}, {lines} a pair, {samples}"
BY_ANOTHER_TOOL = "of another tool's {file}, a mean each; method, samples and spread are not known"
GROUPS_SHOWN = (
    "topology not known: CPUs of a group are {times} times nearer to each other than to others",
    "of a group of 2, maybe siblings on a core, a team has one CPU",
    "--sysroot tells the topology, --kinds the core kinds",
)
METHODS = {"cas": "compare-and-swap (cas)", "store": "stores and loads (store)"}
SWITCHED_OUT = (
    "something else ran here: threads were switched out {times}",
    "medians bear that; means do not",
)
LEFT_OUT = "left out: {count}: {why}"
REST_IN = "the first {shown} of {rows}; the others: {where}"
DISTURBED = "disturbed, over three times the way over a third CPU: CPUs {pairs}"
OF_NO_SMALLER_GROUP = "a group's range: of its pairs that share no smaller group"
AS_NEAR = "as near: their runs overlap those with the nearest CPU, which may be so by luck"
ELSEWHERE, OUTSIDE = "on another core", "outside its group of 2"
NO_RUNS = "as near: not known, a matrix has no runs"
MAYBE_SIBLINGS = "sibling: the other of a group of 2, maybe on another core"
ONE_CORE = "no team: one core was measured, a team needs two"
KINDS_DIFFER = "core kinds differ in speed, too ({kinds}): latency alone does not show it"

# Affinity.
NOTHING_COMPARED = "nothing is compared"
# By the reason that two cases are not compared.
NOT_COMPARED = {
    "lost": "too many runs lost",
    "modes": "runs in several modes",
    "few": "too few runs, or not in turn",
}
PINNED_ALIKE = "who pins makes no difference (within {margin} %) in {equivalent} of {pairs}"
ACROSS_ATTEMPTS = "no attempt made runs of both: {cases}; the node may have changed between"
OTHER_MACHINES = "published numbers are of other machines: {sources}"
NOT_COUNTED = "L1 load misses not counted: {why}"
NO_THREAD_ALONE = "not compared: {cases}: no comparable run of one thread on that kind of core"
NO_RUN = "no run used: {cases}{how}"
LOST = "not compared: {lost}"
ONE_PROCESS = "an experiment compares threads of one process"
CO_RUNNER = "a co-runner shares what the experiment is about"
AGAINST_ONE_THREAD = (
    "ratio: to one thread alone on the same kind of core; of two kinds, to the mean of both"
)
ONE_WAY = (
    "one-way time: half a round trip; means are over runs",
    "a run's rate: the harmonic mean of its samples' one-way transfers a second",
)
MOST_CONTENDED = "most contended: {mapping}, line {line} ({samples})"
CACHE_LINES = (
    "one execution of each case under perf c2c, which is none of its runs",
    "HITM: a load that found its line modified in another core's cache",
    "local: in the same NUMA node; remote: in another",
)
NO_C2C = "cache lines that cores took from each other (HITM): the study does not collect c2c"
NO_CACHE_LINES = "contended cache lines not known: {why}"
NO_LATENCIES = "latencies not shown: {why}"
MEASURE_LATENCIES = "latency between CPUs not measured: `{command}`"

# Results side by side.
AGREEMENT = "{of}: {agree} of {decided} rows that both decide agree"
NONE_DECIDED = "{of}: no row that both decide"
DISAGREE = "{row}: A {a}, B {b}"
UNLIKE = "not alike: {fact}: A {a}, B {b} (A: {name})"
WHATEVER_CHANGED = "B / A: all of this is in it"
UNKNOWN_GOVERNOR = (
    "{side}: rows do not tell their governor; --as-governor says for which to take it"
)
TESTED_TOGETHER = "B against A: all rows of a table are tested together (Holm)"
NO_COMMON_BASELINE = "no baseline is in both: no ratios to it"
TO_OWN_BASELINE = (
    "A / own, B / own: to {row} of the same results",
    "outcomes: against the baseline under the row's own governor",
)
RATIOS_ARE_OF = "ratios are of {kinds}"
MEANS = "means"
TRIMMED = f"typical values ({TRIMMED_SHARE * 100:g} % trimmed)"
NOT_TRIMMED = f"typical values (fewer than {MIN_TRIMMED} runs: nothing is trimmed)"
TOO_WIDE = "too wide to tell"
LOADED = "{tool} is loaded into one of both, and its start is in the numbers"

# One study over time.
NO_SUCH_CASE = "not in these results"
NO_VALUE = "no {of} that can be in a ratio"
FROM_TO = "{fact}: {a} to {b}"
CHANGED = "{fact}: {changes}"
NOTHING_CHANGED = "no recorded fact changed"
BEFORE_NEWEST = "changed before the newest: {facts}"
NO_CHANGE_POINT = "none in {cases} over {results}"
FALSE_ALARMS = (
    "where nothing changes and results scatter normally, 1 history in 20 has any of these, at most",
    "what changed at the same place need not be the cause",
)
CHANGE_LINE = "{case} {change} % from {day} ({facts})"
SERIES_CELLS = "median; behind it its 95 % interval in %; * first value of a new level"

# Figures.
NOT_MEASURED = "Not measured: {field}: {why}."

# Many results.
BEST_MAPPINGS = (
    "better, equivalent, worse, undecided: configurations by the outcome of their best mapping",
    "the best mapping has the best ratio to the baseline; its interval is widened for that choice",
)
ONE_NODE = "{letters}: of one node, or of nodes alike in all that is known"

_MAX_ROWS = 6


def row(case: CaseFinding) -> str:
    """Return a case's row and mapping: `#3 pcores-pin`, `#6 unpinned [scx_lavd]`."""
    under = f" [{case.summary.key.setting_words}]" if case.summary.key.setting_words else ""
    return one_line(f"#{case.number} {case.full_mapping}{under}")


def rows(cases: Iterable[CaseFinding]) -> str:
    """Return the rows of cases, the first six by name."""
    return first_of(list(map(row, cases)), _MAX_ROWS, ", ")


def ns(value: float) -> str:
    """Return a time in ns, to the tenth."""
    return f"{fixed(value, 1)} ns"


def one_way(near: tuple[int, int, float], far: tuple[int, int, float], median: float) -> str:
    """Return the range of one-way times; `near` and `far` are two CPUs and their ns."""
    if near == far:
        return f"one way: {ns(median)}"
    ends = " to ".join(f"{ns(time)} (CPUs {a}, {b})" for a, b, time in (near, far))
    return f"one way: {ends}, {ns(median)} in the median pair"


def published_rates(chance: Published, near: Published) -> str:
    """Return what was published of neighbours that were chosen well, in transfers a second."""
    before, after = chance.rate_per_s or 0.0, near.rate_per_s or 0.0
    gain = signed_in_percent(after / before - 1, 2)
    return (
        f"published: {before / 1e6:g} to {after / 1e6:g} million/s ({gain} %) by choosing "
        f"neighbours well ({sources_of([chance, near])})"
    )


def least_and_most(compared: Iterable[tuple[CaseFinding, Comparison]]) -> str:
    """Return which cases take least and most of the time that they are compared with."""
    ordered = sorted(compared, key=lambda pair: pair[1].difference.log_ratio)
    extremes = [ordered[0], *ordered[1:][-1:]]
    return "; ".join(map(_extreme, ("least time", "most time"), extremes))


def _extreme(label: str, found: tuple[CaseFinding, Comparison]) -> str:
    case, comparison = found
    difference = comparison.difference
    ratio = f"{ratio_text(difference.ratio)} ({ratio_interval(difference)})"
    return f"{label}: {row(case)}, ratio {ratio}, {comparison.outcome}"


# What limits a ratio of one case, wherever it stands.
_OF_RATIOS = ("lost too many", "modes", "loaded at start", "unlike power supply", "unlike means")


def case_notes(
    case: CaseFinding, reference: CaseFinding | None, objective: Objective
) -> Iterator[str]:
    """Yield what limits a case's ratio to its reference, and its outcome."""
    codes = (*_OF_RATIOS, *(["lost runs"] * (not case.lost_of(objective).usable)))
    for caveat in caveats_of(case, reference, objective, margin=0.0, among=1):
        if caveat.code in codes:
            yield note(caveat)


def modes_that_hide(case: CaseFinding, name: str) -> str:
    """Return the modes for which a case has no outcome in the objective of that name."""
    objective = next((item for item in case.samples if item == name), None)
    if name in case.modes and isinstance(objective, Objective):
        modes = case.modes[name]
        values = ((mode.count, with_unit(exp(mode.value), objective.unit)) for mode in modes.modes)
        return modes_text(modes.n, "", values)
    if pairs := case.unclear[name]:
        ratios = ((mode.count, signed_percent(exp(mode.value) - 1)) for mode in pairs.modes)
        return f"against its baseline {modes_text(pairs.n, ' pairs', ratios)}"
    return case.summary.circumstances.unclear.get(name, "") or "against the modes of its baseline"


def unlike_means(comparison: Comparison) -> str:
    """Return how unlike the spreads are of runs whose means are compared."""
    return note(Caveat("unlike means", (), {"times": comparison.unlike_means}))
