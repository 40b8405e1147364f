"""Who ran where, in a sentence a case: bound, free, oversubscribed, split across kinds."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.affinity.team import Team
from analysis.digits import mean_count, percent
from analysis.table import one_line
from analysis.verdict.phrases import listed, name, sentence
from configs.cpulist import format_cpulist
from configs.words import plural


def tell_team(team: Team) -> str:
    """Return what a case's threads were, in the order of the words of `threadmap`."""
    return f"{sentence(name(team.case))}: {'; '.join(_parts(team))}."


def binding(team: Team) -> str:
    """Return in a word or two how the threads were bound.

    `bound`: each to one CPU; `partly bound`: some of them; `confined`: to fewer CPUs than the node
    has; `free`: none of these. The node's CPUs are those of its file, else those that any thread
    was allowed.
    """
    if team.bound == len(team.threads):
        return "bound"
    if team.bound:
        return "partly bound"
    cpus = set(team.node.kind)
    return "confined" if cpus and not cpus <= set(team.allowed) else "free"


def _parts(team: Team) -> Iterator[str]:
    count, cpus = len(team.threads), format_cpulist(team.allowed)
    word = binding(team)
    yield {
        "bound": f"bound, {_each(team)} one CPU (CPUs {cpus})",
        "partly bound": f"partly bound, {team.bound} of {plural(count, 'thread')} to one CPU each",
        "confined": f"confined, {plural(count, 'thread')} to the CPUs {cpus}",
        "free": f"free, {plural(count, 'thread')} on any of the CPUs {cpus}",
    }[word]
    if team.oversubscribed:
        yield f"oversubscribed: {plural(count, 'thread')} on {plural(len(team.allowed), 'CPU')}"
    seen = f"seen on {plural(len(team.seen), 'CPU')}"
    shares = [f"{percent(share)} on {one_line(kind)}-cores" for kind, share in team.shares.items()]
    if len(shares) > 1:
        yield f"split across kinds: {listed(shares)} of all looks, {seen}"
    else:
        yield seen
    if team.moves is not None:
        times = "time" if mean_count(team.moves) == "1" else "times"
        yield f"its threads moved to another CPU {mean_count(team.moves)} {times} a run"


def _each(team: Team) -> str:
    return f"each of {plural(len(team.threads), 'thread')} to" if team.threads[1:] else "to"
