"""Real programs of many threads and processes, each of less CPU time than a tick of the clock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pinstudy.runners.execution import outcome
from pinstudy.runners.execution.execute import Observation
from pinstudy.runners.placement.thread_placement import Expected
from tests.support.held import looks_counted
from tests.support.programs import build_placed, run_placed
from tests.support.studies import two_cpus

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")


@pytest.fixture(scope="module")
def brief() -> Path:
    return build_placed("brief")


@pytest.fixture
def looks(tmp_path: Path) -> Iterator[Path]:
    with looks_counted(tmp_path / "looks") as path:
        yield path


def run(program: list[str], mask: tuple[int, ...], looks: Path) -> Observation:
    seen = run_placed(program, mask, looks, limit_s=120)
    assert seen.ending.exit_code == 0, seen.stderr
    return seen


KINDS = ("threads", "children", "grandchildren", "vforked")
DROPPED = ("dropped", "dropped-grandchildren")
# Who works, bindings, CPUs of the mapping, of the program and of the workers as 0 or 1 of two (-:
# not bound), and the verdicts that are right.
CASES = [
    *[(worker, "set", "0", "--", {"proved"}) for worker in KINDS],
    *[(worker, "none", "01", "--", {"proved"}) for worker in KINDS],
    # What violates a set violates a pinning, too.
    *[(worker, "set pin", "0", "-1", {"violated"}) for worker in (*KINDS, *DROPPED)],
    # Something has bound them.
    *[(worker, "none", "01", "-1", {"violated"}) for worker in (*KINDS, *DROPPED)],
    # The kernel drops the CPU time of children: what they used after the last look is not known.
    *[(worker, "set", "0", "--", {"proved", "unproved"}) for worker in DROPPED],
    ("returning", "set", "0", "-1", {"violated"}),
    ("returning", "set", "0", "--", {"proved"}),
    ("burst", "set", "0", "-1", {"violated"}),
    ("burst", "set", "0", "--", {"proved"}),
    ("late", "set", "0", "-1", {"violated"}),
    ("late", "set", "0", "--", {"proved"}),
    ("idle", "set", "0", "--", {"proved"}),
    ("unseen", "set", "0", "-1", {"unproved"}),
    ("unseen", "set", "0", "--", {"unproved"}),
]


@pytest.mark.parametrize(("worker", "binding", "mapping", "binds", "verdicts"), CASES)
def test_cpu_time_of_brief_workers_is_judged_together(
    brief: Path, looks: Path, worker: str, binding: str, mapping: str, binds: str,
    verdicts: set[str],
) -> None:  # fmt: skip
    both = two_cpus()
    places = tuple(both[int(place)] for place in mapping)
    own = [str(-1 if place == "-" else both[int(place)]) for place in binds]
    # Where the workers leave the mapping's CPUs they must be allowed to: no cpuset holds them.
    seen = run([str(brief), worker, *own], places, looks)
    # Where every birth was reported and met, and where none is; with perf's count and without.
    for births in (0, None):
        for clock in ({}, {"task_clock_s": max(seen.ending.cpu_s or 0.0, seen_s(seen))}):
            observed = replace(seen, unmet=births)
            for word in binding.split():
                proof = outcome.proof_of(observed, [Expected(word, places, 1)], clock)
                assert proof.verdict in verdicts, (proof, births, clock, seen.threads)


def seen_s(seen: Observation) -> float:
    return sum(thread.cpu_s for thread in seen.threads)


def test_cpu_time_that_the_kernel_drops_is_not_taken_for_none(brief: Path, looks: Path) -> None:
    places = two_cpus()[:1]
    seen = run([str(brief), "dropped"], places, looks)
    assert seen.drops_children
    proof = outcome.proof_of(replace(seen, unmet=None), [Expected("set", places, 1)])
    assert proof.verdict == "unproved"
    assert proof.reason.startswith("a process ignores the end of its children")
