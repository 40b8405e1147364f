"""Proves, team by team, whether the threads of a run were where its mapping puts them. Pure.

Ranks of their own CPUs share no core. The usual trap is another one: a runtime that binds threads
in every rank from the same first CPU on, because nothing has told the ranks apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from pinstudy.base.cpulist import format_cpulist
from pinstudy.runners.placement.thread_placement import (
    Expected,
    Proof,
    Samples,
    busy_threads,
    cpu_time_problem,
    migration_problem,
    prove,
)


def prove_teams(
    samples: Samples, expected: Sequence[Expected], cpu_s: Sequence[float | None]
) -> Proof:
    """Compare the samples of all teams with what the mapping promises to each of them.

    `cpu_s` has the CPU seconds of each rank at its end; it is empty where a program is the only
    one. A rank that is elsewhere decides over one
    that is not proved. perf counts all ranks together, so its counts are compared with the sums.
    """
    if not cpu_s:
        return prove(samples, expected[0])
    parts = [_of_rank(samples, rank, cpu_s[rank]) for rank in range(len(expected))]
    proofs = [prove(part, of) for part, of in zip(parts, expected, strict=True)]
    for verdict in ("violated", "unproved"):
        for rank, proof in enumerate(proofs):
            if proof.verdict == verdict:
                shared = _shared_cpus(parts, rank) if verdict == "violated" else ""
                return Proof(verdict, f"rank {rank}: {proof.reason}{shared}")
    problem = cpu_time_problem(samples)
    first = expected[0]
    if not (first.helpers or first.free_agents):
        together = replace(
            first,
            cpus=tuple(chain.from_iterable(team.cpus for team in expected)),
            places=tuple(chain.from_iterable(team.places for team in expected)),
        )
        problem = problem or migration_problem(samples, together)
    return Proof("unproved", problem) if problem else Proof("proved")


def _of_rank(samples: Samples, rank: int, cpu_s: float | None) -> Samples:
    """Return the samples of one rank, without what is known of all ranks together only."""
    return replace(
        samples,
        threads=[thread for thread in samples.threads if thread.team == rank],
        cpu_s=cpu_s,
        task_clock_s=None,
        migrations=None,
        unmet=0 if samples.unmet == 0 else None,
    )


def _shared_cpus(parts: Sequence[Samples], rank: int) -> str:
    """Return in words which CPU a rank shared with another one; empty where it shared none."""
    used = [
        set(chain.from_iterable(thread.ran_on for thread in busy_threads(part.threads)))
        for part in parts
    ]
    for other, cpus in enumerate(used):
        if other != rank and (shared := cpus & used[rank]):
            first, second = sorted((rank, other))
            return f"; ranks {first} and {second} shared CPU {format_cpulist(sorted(shared))}"
    return ""
