"""A node's latencies in sentences: clusters, agreement with the kernel, orders of CPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from analysis.format.numbers import percent, signed
from analysis.latency.agreement import (
    LEVELS,
    NUMA,
    PACKAGE,
    SIBLINGS,
    Agreement,
    Denied,
    KernelGroup,
    Why,
)
from analysis.latency.clusters import Clusters, enough
from analysis.latency.model import Latency
from analysis.latency.partners import NEXT, Team
from analysis.results.case import grouped
from analysis.verdict import phrases
from base.cpulist import format_cpulist, named_cpus
from base.text import first_of, one_line, plural

# CoffeeBeforeArch's experiment, as the literature quotes it, in millions a second.
PUBLISHED = (15.5, 16.6)
SECOND_HAND = "quoted at second hand; the original was not seen"
# Medians that scatter by less are alike for whoever places threads.
_ALIKE = 0.1
_MAX_DISTURBED = 3
_MAX_REASONS = 3
_METHODS = {
    "cas": "compare-and-swap (cas)",
    "store": "stores and loads (store)",
}
_GROUPS = {SIBLINGS: "core with siblings", "L2": "L2 cluster", "L3": "L3 group"}
_KERNEL_CLAIMS = {
    SIBLINGS: "are siblings of one core",
    PACKAGE: "are one package",
    NUMA: "are one NUMA node",
}
_MAX_LISTED = 6


def measured_sentences(latency: Latency) -> Iterator[str]:
    """Yield what was measured, and what was not."""
    pairs = latency.pairs
    of = latency.pairs_of_node
    how_many = plural(of, "pair") if len(pairs) == of else f"{len(pairs)} of {of} pairs"
    yield (
        f"{how_many} of CPUs, measured by {_METHODS[latency.method]} on "
        f"{plural(latency.addresses, 'line')} each ({plural(len(latency.one_way_ns), 'sample')}): "
        f"one way takes {_range(pairs['median_ns'].to_numpy())}."
    )
    if len(pairs) > 1:
        (a, b, least), (c, d, most) = latency.nearest, latency.farthest
        yield f"Nearest are CPUs {a} and {b} ({ns(least)}), farthest CPUs {c} and {d} ({ns(most)})."
    switched = int(np.nansum(latency.runs["switched"].to_numpy(dtype=float)))
    if switched:
        yield (
            f"Threads were switched out {plural(switched, 'time')} while they measured, so "
            "something else runs here: medians bear that, means and rates do not."
        )
    if latency.left_out:
        reasons = list(dict.fromkeys(one_line(one.reason) for one in latency.left_out))
        count = plural(len(latency.left_out), "pair")
        yield f"Left out: {count}, because: {first_of(reasons, _MAX_REASONS)}."


def _range(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    middle = ns(float(np.median(values)))
    if len(values) == 1:
        return middle
    return f"{ns(float(values.min()))} to {ns(float(values.max()))}, {middle} in the median pair"


def cluster_sentences(latency: Latency, clusters: Clusters, agreement: Agreement) -> Iterator[str]:
    """Yield why there are no clusters, or how they agree with the kernel's topology."""
    if len(latency.cpus) < 3:
        yield "Clusters: two CPUs make one pair, which is near to nothing else."
        return
    if not enough(latency.both_ways):
        possible = len(latency.cpus) * (len(latency.cpus) - 1) // 2
        yield (
            f"Clusters cannot be told: {len(latency.pairs)} of the {possible} pairs of these CPUs "
            "were measured; measure them all with --pairs all."
        )
        return
    if not clusters.found:
        yield _no_clusters(latency, clusters)
    found = [one.same for one in agreement.measured if one.same and one.same.names]
    if found and not agreement.denied:
        yield f"The kernel's topology agrees: {_kinds_of_groups(found)} were all found."
    elif found:
        yield f"The kernel's topology agrees in part: {_kinds_of_groups(found)} were found."
    yield from _denials(agreement.denied)
    if clusters.disturbed:
        yield _disturbed(latency, clusters)


def _no_clusters(latency: Latency, clusters: Clusters) -> str:
    if clusters.scatter <= _ALIKE:
        return (
            "No clusters: all pairs are alike within noise (they differ by "
            f"{percent(clusters.scatter)}, robust standard deviation)."
        )
    low, high = np.nanquantile(latency.both_ways, (0.05, 0.95))
    return (
        f"No clusters: pairs differ ({ns(float(low))} to {ns(float(high))}, nine of ten), but no "
        "group of CPUs stands apart from the others."
    )


def _spread(values: Sequence[float]) -> str:
    low, high = ns(min(values)), ns(max(values))
    return low if low == high else f"{low.removesuffix(' ns')} to {high}"


def _kinds_of_groups(groups_found: Sequence[KernelGroup]) -> str:
    inner_first = sorted(groups_found, key=lambda group: LEVELS.index(group.names[0]))
    counts = Counter(_GROUPS.get(group.names[0], group.names[0]) for group in inner_first)
    return listed([_several(count, name) for name, count in counts.items()])


def _several(count: int, name: str) -> str:
    """Return a count and its noun, whose first word has a plural: `8 cores with siblings`."""
    first, _, rest = name.partition(" with ")
    return plural(count, first) + (f" with {rest}" if rest else "")


def kernel_claim(group: KernelGroup) -> str:
    """Return what the kernel claims of a group: `share an L2 and an L3`."""
    shared = [name for name in group.names if name not in _KERNEL_CLAIMS]
    parts = [_KERNEL_CLAIMS[name] for name in group.names if name in _KERNEL_CLAIMS]
    if shared:
        parts.append(f"share an {' and an '.join(shared)}")
    return " and ".join(parts)


def _denials(denied: Sequence[Denied]) -> Iterator[str]:
    """Yield a sentence for each way in which groups of the kernel were not found."""
    for many in grouped(denied, lambda one: (kernel_claim(one.group), one.why)):
        each = " each" if len(many) > 1 else ""
        claim = f"{groups([one.group.cpus for one in many])}{each} {kernel_claim(many[0].group)}"
        yield f"The kernel says that {claim}; {_measured(many[0].why, many)}."


def _measured(why: Why, many: Sequence[Denied]) -> str:
    if why == "unmeasured":
        return "too few of their pairs were measured to tell"
    within = _spread([one.within_ns for one in many if one.within_ns is not None])
    outside = _spread([one.outside_ns for one in many if one.outside_ns is not None])
    if why == "no nearer":
        return (
            f"measured, they are no nearer to each other ({within}) than to the CPUs around them "
            f"({outside})"
        )
    if why == "partly":
        return "; ".join(_part(one) for one in many[:3])
    return (
        f"measured, they are nearer to each other ({within}) than to the CPUs around them "
        f"({outside}), but do not stand apart beyond noise"
    )


def _part(one: Denied) -> str:
    mine, cluster = set(one.group.cpus), set(one.nearest)
    without, more = sorted(mine - cluster), sorted(cluster - mine)
    parts = [f"without {named_cpus(without)}"] if without else []
    parts += [f"with {named_cpus(more)}"] if more else []
    return f"measured, {named_cpus(one.nearest)} are the cluster, {' and '.join(parts)}"


def _disturbed(latency: Latency, clusters: Clusters) -> str:
    rows = clusters.disturbed
    pairs = [
        f"{latency.cpus[a]} and {latency.cpus[b]} ({ns(float(latency.both_ways[a, b]))})"
        for a, b in rows
    ]
    verb = "takes" if len(rows) == 1 else "take"
    return (
        f"{plural(len(rows), 'pair')} {verb} more than three times as long as the way over a third "
        f"CPU, as if disturbed, and no cluster rests on that: CPUs {listed(pairs, _MAX_DISTURBED)}."
    )


def team_sentences(latency: Latency, teams: Sequence[Team]) -> Iterator[str]:
    """Yield what the order of CPUs gains, beside what was published."""
    if not teams:
        yield "A team needs two cores; one was measured."
        return
    if len(teams) == 1 and len(teams[0].cpus) == 2:
        yield "With two cores there is no order to choose."
    low, high = PUBLISHED
    yield (
        f"Published: {low} -> {high} million/s ({gained(high / low)}) by choosing neighbours well "
        f"({SECOND_HAND})."
    )
    kinds = [kind.name for kind in latency.topology.kinds]
    if len(kinds) > 1:
        yield (
            f"The core kinds ({', '.join(map(one_line, kinds))}) are not equally fast: this order "
            "looks at latency only, and takes the best kind first."
        )


def talking(team: Team) -> str:
    """Return how a team's threads talk."""
    return "each talking with the next" if team.how == NEXT else "talking in pairs"


def ns(value: float) -> str:
    """Return a time in ns, to the tenth where that is more than its noise."""
    return f"{value:.1f} ns" if value < 100 else f"{value:.0f} ns"


def millions(rate_per_s: float) -> str:
    """Return a rate in millions a second with three digits, without its unit."""
    value = rate_per_s / 1e6
    return f"{value:.0f}" if value >= 99.95 else f"{value:.3g}"


def gained(ratio: float, more: int = 0) -> str:
    """Return what a ratio of rates gains, as `+3.2 %`, with so many digits more."""
    return f"{signed(100 * (ratio - 1), 1 + more)} %"


def listed(parts: Sequence[str], most: int = _MAX_LISTED) -> str:
    """Return the parts with commas and `and`; of very many the first, and how many more."""
    return first_of(parts, most, ", ") if len(parts) > most else phrases.listed(parts)


def groups(many: Sequence[Sequence[int]]) -> str:
    """Return groups of CPUs in one list, by their first CPU: `CPUs 0-3, 4-7 and 8-11`.

    A group whose list has a comma of its own stands in brackets.
    """
    texts = [format_cpulist(one) for one in sorted(many, key=min)]
    bracketed = len(texts) > 1 and any("," in text for text in texts)
    return "CPUs " + listed([f"({text})" if bracketed else text for text in texts])
