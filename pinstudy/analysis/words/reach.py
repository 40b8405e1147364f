"""How much of their cores' speed teams reached, in words: a template a code, a line for all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import astuple

from pinstudy.analysis.findings.glance import ConfigurationKey
from pinstudy.analysis.format.numbers import decimals_left, fixed, in_percent
from pinstudy.analysis.results.bounds import Speeds
from pinstudy.analysis.statistics.sample import Interval
from pinstudy.analysis.verdict.costs import Waiting
from pinstudy.analysis.verdict.model import Findings
from pinstudy.analysis.verdict.reach import NoReach, Reach, Share, Why
from pinstudy.base.text import one_line

BOUND = "Bound"
_READING = (
    "reached: the time that a team takes where no core is ever idle (perfect balance) over its own"
)
_SPEEDS: Mapping[Speeds, str] = {
    "one thread": (
        "speeds of cores: those of one thread alone, which heat and memory may not leave to a team"
    ),
    "all cores": (
        "speeds of all cores: each core's share of a team on all cores of its kind, so that heat "
        "and memory are in them"
    ),
}
_OF_SERIAL = "speeds of cores: those of the build without threads where a build has no other"
_EQUAL_SHARES = (
    "equal shares: the most that an equal share of the work for each thread allows, as under "
    "schedule(static): the slowest kind ends last"
)
MAY_MOVE = "threads may move between kinds: the bound is that of the fastest cores they may use"
ABOVE = "above 100 %: faster together than these speeds say, as where more caches hold the data"
_WHY: Mapping[Why, str] = {
    "cores unknown": "not known: the node's file does not tell the cores of its CPUs",
    "more threads than cores": "not known: more threads than cores, and siblings share a core",
    "no speed": "not known: no case of one thread on {kinds} (study key `bound`)",
    "lost": "not known: too many runs were lost{of_kinds}",
    "out of turn": "not known: not made in turn with the speeds{of_kinds}",
    "modes": "not known: runs are in several modes, of which none is typical{of_kinds}",
}


def why_text(found: NoReach) -> str:
    """Return why it is not known what a team reached, as one clause."""
    kinds = one_line(", ".join(f"{kind}-cores" for kind in found.kinds))
    return _WHY[found.why].format(kinds=kinds, of_kinds=f" of {kinds}" if kinds else "")


def team_text(reach: Reach) -> str:
    """Return the team's cores: `8 P + 2 E`."""
    return one_line(" + ".join(f"{n} {kind}" for kind, n in reach.bound.threads.items()))


def share_text(share: Share) -> str:
    """Return a share in per cent, with both ends of its interval unless that says next to nothing.

    A tenth is the last digit, however narrow the interval is.
    """
    interval = share.interval
    value = fixed(100 * share.value, _decimals(interval))
    if interval is None or interval.tells_nothing:
        return value
    ends = "…".join(fixed(100 * end, _decimals(interval)) for end in astuple(interval))
    return f"{value} ({ends})"


def _decimals(interval: Interval | None) -> int:
    return max(0, min(1, decimals_left(100 * interval.half_width))) if interval else 1


def reach_notes(reach: Reach, waited: Waiting | None) -> Iterator[str]:
    """Yield what is to be known of a team's numbers, and who waited for whom, if any did."""
    if not reach.bound.stays:
        yield MAY_MOVE
    if waited is not None:
        yield f"{waited.fast}-cores waited for {waited.slow}-cores"
    interval = reach.reached.interval
    if reach.reached.value > 1 and (interval is None or interval.low > 1):
        yield ABOVE


def reading_notes(findings: Findings) -> Iterator[str]:
    """Yield what the numbers of these tables are, of those that any table has."""
    known = [reach for case in findings.cases for reach in case.reaches if isinstance(reach, Reach)]
    if not known:
        return
    yield _READING
    speeds = {reach.bound.speeds for reach in known}
    yield from (text for name, text in _SPEEDS.items() if name in speeds)
    if any(reach.bound.of_serial for reach in known):
        yield _OF_SERIAL
    if any(reach.equal_shares for reach in known):
        yield _EQUAL_SHARES


def bound_texts(findings: Findings, labels: Mapping[ConfigurationKey, str]) -> list[str]:
    """Return how much teams on several kinds reached, and what equal shares cap; none of others.

    How a team on one kind scales is what the levers tell. `labels` are the configurations'.
    """
    known = list(_on_several_kinds(findings, labels))
    if not known:
        return []
    shares = {name: reach.reached.value for name, reach in known}
    least = min(shares, key=lambda name: shares[name])
    low, high = (in_percent(share, 2) for share in (shares[least], max(shares.values())))
    texts = [f"{least} reached {low} % of what its cores could do"]
    if len(shares) > 1:
        texts = [
            f"teams on several kinds reached {low} to {high} % of what their cores could do",
            f"least: {least}",
        ]
    caps = {name: cap.value for name, reach in known if (cap := reach.equal_shares)}
    if caps:
        name = min(caps, key=lambda name: caps[name])
        capped = "it" if name == least else name
        texts.append(f"equal shares cap {capped} at {in_percent(caps[name], 2)} %")
    return texts


def _on_several_kinds(
    findings: Findings, labels: Mapping[ConfigurationKey, str]
) -> Iterator[tuple[str, Reach]]:
    """Yield each team by its name in a line, `mixed-pin of lu x10`, with what it reached."""
    for at, table in enumerate(findings.tables):
        for case in table.cases:
            reach = next(iter(case.reaches), None)
            if isinstance(reach, Reach) and len(reach.bound.threads) > 1 and not table.key.region:
                label = labels.get((at, case.governor, None), table.key.app)
                yield one_line(f"{case.full_mapping} of {label}"), reach
