"""Who ran where, in a sentence a case, with the words of `threadmap` (docs/threadmap.md)."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.affinity.team import Team
from analysis.digits import mean_count, percent
from analysis.verdict.phrases import listed, name, sentence
from base.cpulist import format_cpulist
from base.text import one_line, plural


def tell_team(team: Team) -> str:
    """Return what a case's threads were allowed, and where they were seen."""
    return f"{sentence(name(team.case))}: {'; '.join(_parts(team))}."


def conclusion(team: Team) -> str:
    """Return the word for a team: the first that is true of it."""
    if team.oversubscribed:
        return "oversubscribed"
    if team.free:
        return "free"
    return "split across kinds" if team.split else "bound"


def _parts(team: Team) -> Iterator[str]:
    yield f"{conclusion(team)}, {_allowed(team)}"
    if team.split:
        counts = [f"{plural(n, 'thread')} on {one_line(k)}-cores" for k, n in team.split.items()]
        yield listed(counts)
    shares = [f"{percent(share)} on {one_line(kind)}-cores" for kind, share in team.shares.items()]
    looks = f" ({listed(shares)} of all looks)" if len(shares) > 1 else ""
    yield f"seen on {plural(len(team.seen), 'CPU')}{looks}"
    if team.moves is not None:
        times = "time" if mean_count(team.moves) == "1" else "times"
        yield f"its threads moved to another CPU {mean_count(team.moves)} {times} a run"


def _allowed(team: Team) -> str:
    """Return what the threads were allowed."""
    count, cpus = len(team.threads), format_cpulist(team.allowed)
    listed_cpus = f"CPU {cpus}" if len(team.allowed) == 1 else f"CPUs {cpus}"
    if team.single == count:
        who = f"{count} threads" if count > 1 else "the thread"
        return f"{who} bound to one CPU{' each' if count > 1 else ''}: {listed_cpus}"
    if team.single:
        return f"{team.single} of {count} threads bound to one CPU, of the {listed_cpus}"
    if len(team.masks) == 1:
        who = f"each of {count} threads" if count > 1 else "the thread"
        return f"{who} may run on the {listed_cpus}"
    return f"{count} threads have {len(team.masks)} sets of CPUs, of the {listed_cpus}"
