"""Real programs that place themselves: what would fool a proof, and what only looks like it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runners.execution import outcome
from runners.execution.execute import Observation
from runners.placement.thread_placement import Expected, Proof
from tests.support.held import looks_counted
from tests.support.programs import build_placed, run_placed
from tests.support.studies import two_cpus

pytestmark = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("placed")
    for name in {case[0] for case in CASES}:
        build_placed(name, folder)
    return folder


@pytest.fixture
def looks(tmp_path: Path) -> Iterator[Path]:
    """The file with the number of looks, for which programs wait (work.h): no look is too late."""
    with looks_counted(tmp_path / "looks") as path:
        yield path


def run(program: list[str], mask: tuple[int, ...], looks: Path) -> Observation:
    return run_placed(program, mask, looks, limit_s=60)


def proof_of(seen: Observation, binding: str, places: tuple[int, ...], threads: int) -> Proof:
    return outcome.proof_of(seen, [Expected(binding, places, threads)])


# Program, binding, CPUs of the mapping and of the program as 0 or 1 of two, threads, verdict.
CASES = [
    ("rebind", "none", "01", "1", 1, "violated"),
    ("rebind", "pin", "0", "1", 1, "violated"),
    ("release", "pin", "01", "1", 1, "proved"),
    ("release", "pin", "0", "1", 1, "violated"),
    ("release", "set", "01", "1", 1, "violated"),
    ("daemonise", "none", "01", "1", 1, "violated"),
    ("daemonise", "set", "0", "1", 1, "violated"),
    ("daemonise", "pin", "0", "1", 1, "violated"),
    ("daemonise", "none", "01", "", 1, "proved"),
    ("daemonise", "pin", "0", "", 1, "proved"),
    ("pool", "none", "01", "", 2, "proved"),
    ("pool", "pin", "01", "01", 2, "proved"),
    ("pool", "pin", "01", "", 2, "violated"),
    ("reexecute", "none", "01", "", 1, "proved"),
    ("reexecute", "set", "01", "1", 1, "violated"),
    ("reexecute", "pin", "0", "0", 1, "proved"),
    ("children", "none", "01", "", 2, "proved"),
    ("children", "set", "01", "11", 2, "violated"),
    ("children", "pin", "01", "01", 2, "proved"),
    ("children", "pin", "01", "11", 2, "violated"),
    ("unseen", "none", "01", "", 1, "unproved"),
    ("unseen", "pin", "0", "", 1, "unproved"),
]


@pytest.mark.parametrize(("name", "binding", "mapping", "binds", "threads", "verdict"), CASES)
def test_programs_that_place_themselves_are_told_from_those_that_do_not(
    programs: Path,
    looks: Path,
    name: str,
    binding: str,
    mapping: str,
    binds: str,
    threads: int,
    verdict: str,
) -> None:
    both = two_cpus()
    places = tuple(both[int(place)] for place in mapping)
    own = [str(both[int(place)]) for place in binds]
    # Where the program leaves the mapping's CPUs it must be allowed to: no cpuset holds it.
    seen = run([str(programs / name), *own], places, looks)
    assert seen.ending.exit_code == 0, seen.stderr
    # As root, who gets reports of births, and as any other user.
    for observation in (seen, replace(seen, unmet=None)):
        proof = proof_of(observation, binding, places, threads)
        assert proof.verdict == verdict, (proof, seen.threads)


def test_a_team_that_is_smaller_than_asked_for_is_told_from_one_that_was_not_met(
    programs: Path, looks: Path
) -> None:
    first, second = two_cpus()
    seen = run([str(programs / "reexecute")], (first, second), looks)
    proof = proof_of(seen, "none", (first, second), 2)
    if seen.unmet is None:
        assert proof.verdict == "unproved"
        assert proof.reason.startswith("only 1 of 2 threads were seen in ")
    else:
        assert (proof.verdict, proof.reason) == ("violated", "only 1 of 2 threads ran")


def test_cpu_time_is_that_of_all_processes_that_came_of_a_program(
    programs: Path, looks: Path
) -> None:
    seen = run([str(programs / "daemonise")], two_cpus(), looks)
    assert seen.ending.cpu_s is not None and seen.ending.cpu_s >= 0.5
    # The kernel tells of a process and of the children that it waited for.
    assert seen.ending.user_s is not None and seen.ending.user_s < 0.1
