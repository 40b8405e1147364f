"""pinstudy keeps off the program's CPUs while the program runs, and only then."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from base.cpulist import parse_cpulist
from runners.execution.execute import (
    Harness,
    Observation,
    execute,
    free_cpus,
    move_to_housekeeping_cpus,
)
from runners.execution.witness import LaunchError
from runners.plan.launch import Launch
from tests.support.programs import witness
from tests.support.studies import two_cpus
from tests.support.tools import need_tool

SMT = ((0, 8), (1, 9), (2, 10), (3, 11))


@pytest.mark.parametrize(
    ("allowed", "used", "expected"),
    [
        (range(12), {0, 1}, {2, 3, 4, 5, 6, 7, 10, 11}),
        ({0, 1, 8, 9}, {0, 1}, {8, 9}),
        ({0, 1}, {0, 1}, set()),
        ({0, 1}, {0, 1, 2}, set()),
        ({5, 6}, {0}, {5, 6}),
    ],
)
def test_siblings_of_the_programs_cpus_are_taken_only_where_nothing_else_is_left(
    allowed: set[int], used: set[int], expected: set[int]
) -> None:
    assert free_cpus(allowed, used, SMT) == expected


def mask_of_self() -> str:
    """Return this thread's mask as the kernel's own file has it."""
    text = Path("/proc/thread-self/status").read_text()
    return text.partition("Cpus_allowed_list:")[2].split()[0]


def run(
    program: list[str],
    seen: list[str],
    cpus: tuple[int, ...],
    launcher: tuple[str, ...] = (),
    limit_s: float = 10.0,
) -> Observation:
    """Run a program on these CPUs, and put this process's mask meanwhile into `seen`."""
    launch = Launch(launcher, tuple(program), {"PATH": os.environ["PATH"]}, {}, ())
    harness = Harness(witness(), None)
    return execute(launch, limit_s, harness, lambda _: seen.append(mask_of_self()), cpus)


def test_the_runner_sits_elsewhere_and_the_program_keeps_its_own_mask() -> None:
    first, second = two_cpus()
    allowed = os.sched_getaffinity(0)
    during: list[str] = []
    seen = run(["/bin/sleep", "0.1"], during, (first,))
    assert set(parse_cpulist(during[0])) == allowed - {first}
    # What runs without a launcher has the mask that pinstudy was started with.
    assert {thread.allowed for thread in seen.threads} == {tuple(sorted(allowed))}
    assert os.sched_getaffinity(0) == allowed
    assert seen.cost is not None
    assert first not in seen.cost.cpus and second in seen.cost.cpus


def test_a_program_under_taskset_keeps_the_cpu_that_the_runner_left() -> None:
    taskset = need_tool("taskset")
    first, _ = two_cpus()
    seen = run(["/bin/sleep", "0.1"], [], (first,), (taskset, "-c", str(first)))
    assert {thread.allowed for thread in seen.threads} == {(first,)}


def test_a_program_on_every_cpu_leaves_the_runner_where_it_is() -> None:
    allowed = tuple(sorted(os.sched_getaffinity(0)))
    before = mask_of_self()
    during: list[str] = []
    seen = run(["/bin/true"], during, allowed)
    assert during == [before]
    assert seen.cost is not None and seen.cost.cpus == allowed


def test_the_mask_is_given_back_when_the_run_fails() -> None:
    first, _ = two_cpus()
    allowed = os.sched_getaffinity(0)
    run(["/no/such/program"], [], (first,))
    assert os.sched_getaffinity(0) == allowed
    run(["/bin/sleep", "9"], [], (first,), limit_s=0.05)
    assert os.sched_getaffinity(0) == allowed
    with pytest.raises(LaunchError):
        run(["/bin/true"], [], (first,), ("/no/such/launcher",))
    assert os.sched_getaffinity(0) == allowed


def test_the_mask_is_given_back_when_the_run_is_interrupted() -> None:
    first, _ = two_cpus()
    allowed = os.sched_getaffinity(0)

    class Interrupted(list[str]):
        def append(self, mask: str) -> None:
            super().append(mask)
            raise KeyboardInterrupt

    during = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        run(["/bin/sleep", "9"], during, (first,))
    assert during != [mask_of_self()]
    assert os.sched_getaffinity(0) == allowed


def test_every_thread_goes_aside_and_gets_its_own_mask_back() -> None:
    first, second = two_cpus()
    ready, done = threading.Event(), threading.Event()
    numbers: list[int] = []

    def wait() -> None:
        os.sched_setaffinity(0, {first})
        numbers.append(threading.get_native_id())
        ready.set()
        done.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    ready.wait()
    try:
        with move_to_housekeeping_cpus((first,)) as cpus:
            assert second in cpus
            assert first not in os.sched_getaffinity(numbers[0])
        assert os.sched_getaffinity(numbers[0]) == {first}
    finally:
        done.set()
        thread.join()


def test_the_cost_of_watching_a_sleeper_is_small_and_not_nothing() -> None:
    seen = run(["/bin/sleep", "0.5"], [], ())
    assert seen.cost is not None
    assert 0 < seen.cost.cpu_s < 0.25
    # Looks at 0.5 ms, 0.8 ms, ... and the end: between each of them the runner slept.
    assert seen.cost.context_switches >= 5
