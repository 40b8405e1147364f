"""What the looks at the threads of ranks prove, and what does not fool the proof."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from runners.placement.team_placement import prove_teams
from runners.placement.thread_placement import Expected, Proof, Samples
from runners.placement.thread_trace import Mask, Stay, ThreadTrace

LOOKS = 100


def steady(tid: int, mask: Mask, cpu: int, rank: int, cpu_s: float = 4.0) -> ThreadTrace:
    """Return a thread that was on one CPU under one mask in all looks."""
    stay = Stay(mask, LOOKS, Counter({cpu: LOOKS}), cpu_s, cpu_s)
    return ThreadTrace(tid, tid, [stay], 1, LOOKS, team=rank)


def visitor(tid: int, home: int, away: int, away_s: float, rank: int) -> ThreadTrace:
    """Return a thread on one CPU that was bound to another one for some looks at first."""
    stays = [
        Stay((home,), 5, Counter({home: 5}), 0.1, 0.1),
        Stay((away,), 3, Counter({away: 3}), 0.1 + away_s, away_s),
        Stay((home,), 92, Counter({home: 92}), 4.0, 3.9 - away_s),
    ]
    return ThreadTrace(tid, tid, stays, 1, LOOKS, team=rank)


def samples(*threads: ThreadTrace, **more: object) -> Samples:
    return replace(Samples(threads, LOOKS, 5.0, unmet=0), **more)  # type: ignore[arg-type]


def pinned(*cpus: int) -> list[Expected]:
    return [Expected("pin", (cpu,), 1, mpi=True) for cpu in cpus]


@pytest.mark.parametrize(
    ("threads", "expected", "proof"),
    [
        ([steady(7, (0,), 0, 0), steady(8, (1,), 1, 1)], pinned(0, 1), Proof("proved")),
        # Right CPUs, wrong ranks.
        (
            [steady(7, (1,), 1, 0), steady(8, (0,), 0, 1)],
            pinned(0, 1),
            Proof("violated", "rank 0: thread 7 ran on CPU 1, outside 0"),
        ),
        (
            [steady(7, (0,), 0, 0), steady(8, (0,), 0, 1)],
            pinned(0, 1),
            Proof(
                "violated",
                "rank 1: thread 8 ran on CPU 0, outside 1; ranks 0 and 1 shared CPU 0",
            ),
        ),
        # Unbound ranks, whose runtimes bind them to the first CPU.
        (
            [steady(7, (0,), 0, 0), steady(8, (0,), 0, 1)],
            [Expected("none", (0, 1), 1, mpi=True)] * 2,
            Proof(
                "violated",
                "rank 0: thread 7 was bound to CPU 0; the mapping allows 0-1; ranks 0 and 1 shared "
                "CPU 0",
            ),
        ),
        # A rank that nobody saw, and one that is as good as idle.
        (
            [steady(7, (0,), 0, 0)],
            pinned(0, 1),
            Proof("unproved", "rank 1: no thread was seen: the run lasted 5 s"),
        ),
        # MPI's start: 0.2 of 4 s are 5 %.
        ([visitor(7, 0, 1, 0.2, 0), steady(8, (1,), 1, 1)], pinned(0, 1), Proof("proved")),
        (
            [visitor(7, 0, 1, 0.21, 0), steady(8, (1,), 1, 1)],
            pinned(0, 1),
            Proof(
                "violated", "rank 0: thread 7 ran on CPU 1, outside 0; ranks 0 and 1 shared CPU 1"
            ),
        ),
    ],
)
def test_ranks_are_proved_one_by_one(
    threads: list[ThreadTrace], expected: list[Expected], proof: Proof
) -> None:
    assert prove_teams(samples(*threads), expected, [4.0] * len(expected)) == proof


def test_a_short_run_is_not_proved_by_what_mpi_did_when_it_started() -> None:
    stays = [
        Stay((0,), 50, Counter({0: 50}), 0.5, 0.5),
        Stay((1,), 50, Counter({1: 50}), 0.55, 0.05),
    ]
    short = ThreadTrace(7, 7, stays, 1, LOOKS, team=0)
    proof = prove_teams(samples(short), pinned(0), [0.55])
    assert proof.verdict == "unproved"
    assert proof.reason.endswith(
        "; MPI may have moved it when it started: a larger size would show it"
    )
    # Any other program is not moved by its start.
    assert prove_teams(samples(short), [Expected("pin", (0,), 1)], [0.55]).verdict == "violated"


@pytest.mark.parametrize(
    ("cpu_s", "more", "reason"),
    [
        ([4.0, 4.0], {"cpu_s": 8.0, "task_clock_s": 8.1, "migrations": 3.0}, ""),
        # Neither rank's looks show it, but perf counted half a second more.
        (
            [4.0, 4.0],
            {"cpu_s": 8.0, "task_clock_s": 9.0},
            "perf counted 9 s of CPU time, of which processes account for 8 s only",
        ),
        (
            [4.0, 4.0],
            {"cpu_s": 8.0, "migrations": 13.0},
            "perf counted 13 migrations of 2 threads that stay where they are pinned",
        ),
        (
            [4.0, 5.0],
            {"unmet": None},
            "rank 1: 0.99 s of 5 s of CPU time were used by threads that no look has met",
        ),
    ],
)
def test_what_the_looks_do_not_show_leaves_ranks_unproved(
    cpu_s: list[float], more: dict[str, float | None], reason: str
) -> None:
    seen = samples(steady(7, (0,), 0, 0), steady(8, (1,), 1, 1), **more)
    proof = prove_teams(seen, pinned(0, 1), cpu_s)
    assert proof == (Proof("unproved", reason) if reason else Proof("proved"))
