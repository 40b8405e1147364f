"""What was seen of the threads is compared with what the mapping says."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.execution.placement import (
    Proof,
    Stay,
    ThreadTrace,
    Wanted,
    Watched,
    busy_threads,
    most_at_a_time,
    prove,
    settling_looks,
)


def trace(
    tid: int,
    *stays: tuple[tuple[int, ...], dict[int, int], float],
    pid: int = 100,
    life: tuple[int, int] = (1, 99),
) -> ThreadTrace:
    """Return a thread by its stays: mask, looks by CPU, CPU time at the last; never waiting."""
    made = [Stay(mask, sum(seen.values()), Counter(seen), cpu_s) for mask, seen, cpu_s in stays]
    return ThreadTrace(tid, pid, made, *life, runnable_looks=[*range(life[0], life[1] + 1)])


def steady(
    tid: int, mask: tuple[int, ...], cpu: int, cpu_s: float = 1.0, **more: object
) -> ThreadTrace:
    """Return a thread that had one mask at all of twenty looks."""
    return trace(tid, (mask, {cpu: 20}, cpu_s), **more)  # type: ignore[arg-type]


def proof(
    threads: list[ThreadTrace], binding: str, cpus: tuple[int, ...], wanted: int, **more: object
) -> Proof:
    facts = {"looks": 20, "elapsed_s": 1.0, "unmet": 0} | more
    return prove(Watched(threads, **facts), Wanted(binding, cpus, wanted))  # type: ignore[arg-type]


def test_pinned_threads_on_their_own_cpus_are_proved() -> None:
    team = [steady(100, (0,), 0), steady(101, (1,), 1)]
    assert proof(team, "pin", (0, 1), 2) == Proof("proved")


def test_ignored_places_are_a_violation() -> None:
    team = [steady(100, (0, 1), 0), steady(101, (0, 1), 1)]
    found = proof(team, "pin", (0, 1), 2)
    assert found.verdict == "violated"
    assert "thread 100 was allowed CPU 0-1;" in found.reason


def test_two_threads_on_one_cpu_are_a_violation() -> None:
    team = [steady(100, (0,), 0), steady(101, (0,), 0)]
    assert "both pinned to CPU 0" in proof(team, "pin", (0, 1), 2).reason


def test_two_children_on_one_cpu_are_a_violation() -> None:
    team = [steady(100, (0,), 0, pid=100), steady(101, (0,), 0, pid=101)]
    assert "both pinned to CPU 0" in proof(team, "pin", (0, 1), 2).reason


def test_threads_share_a_cpu_only_where_the_mapping_gives_it_twice() -> None:
    def on(*cpus: int) -> list[ThreadTrace]:
        return [steady(100 + i, (cpu,), cpu) for i, cpu in enumerate(cpus)]

    assert proof(on(0, 0, 1, 1), "pin", (0, 0, 1, 1), 4).verdict == "proved"
    crowded = proof(on(0, 0, 0, 1), "pin", (0, 0, 1, 1), 4)
    assert crowded.verdict == "violated"
    assert crowded.reason == "threads 100 and 101 and 102 were all pinned to CPU 0"


def test_a_smaller_team_than_asked_for_is_a_violation_where_births_are_told() -> None:
    team = [steady(100, (0,), 0)]
    assert proof(team, "pin", (0, 1), 2) == Proof("violated", "only 1 of 2 threads ran")
    unknown = proof(team, "pin", (0, 1), 2, unmet=None)
    assert unknown == Proof("unproved", "only 1 of 2 threads were seen in 20 looks")
    assert proof(team, "pin", (0, 1), 2, unmet=1).verdict == "unproved"


def test_a_thread_that_had_nothing_to_do_may_be_of_the_team() -> None:
    team = [steady(100, (0, 1), 0), steady(101, (0, 1), 1, cpu_s=0.0)]
    found = proof(team, "set", (0, 1), 2)
    assert found.verdict == "unproved"
    assert found.reason.startswith("only 1 of 2 threads used CPU time")


def test_a_larger_team_than_pinned_is_a_violation() -> None:
    team = [steady(100 + i, (i,), i) for i in range(3)]
    found = proof(team, "pin", (0, 1, 2), 2)
    assert found == Proof("violated", "3 threads ran at the same time, 2 were asked for")


def test_threads_that_came_one_after_the_other_are_not_counted_together() -> None:
    first, second = (1, 9), (10, 20)
    team = [
        steady(100, (0,), 0),
        steady(101, (1,), 1, life=first),
        steady(102, (1,), 1, life=second),
    ]
    assert proof(team, "pin", (0, 1), 2).verdict == "proved"
    assert proof(team, "pin", (0, 1), 3).verdict == "violated"


@pytest.mark.parametrize("more", [{"looks": 6}, {"looks": 1}, {"elapsed_s": 0.002}])
@pytest.mark.parametrize("cpus", [(0,), (1,)])
def test_too_few_looks_prove_nothing_and_condemn_nothing(
    more: dict[str, float], cpus: tuple[int, ...]
) -> None:
    found = proof([steady(100, (0,), 0)], "pin", cpus, 1, **more)
    assert found.verdict == "unproved"
    assert "too few" in found.reason


def test_threads_too_many_to_follow_are_unproved() -> None:
    found = proof([steady(100, (0,), 0)], "pin", (0,), 1, overflowed=True)
    assert found == Proof("unproved", "more than 1 threads were born, too many to follow")


def test_a_mask_that_was_put_back_is_a_violation() -> None:
    bound_meanwhile = trace(100, ((0, 1), {0: 2}, 0.1), ((1,), {1: 95}, 1.9), ((0, 1), {0: 3}, 2.0))
    for binding in ("none", "set"):
        found = proof([bound_meanwhile], binding, (0, 1), 1)
        assert found.verdict == "violated"
        assert found.reason.startswith("thread 100 was bound to CPU 1 at 95 of 100 looks;")


def test_threads_that_swap_their_cpus_are_a_violation() -> None:
    stays = [((0,), {0: 5}, 0.1), ((1,), {1: 5}, 0.2)] * 20
    team = [trace(100, *stays), trace(101, *stays[1:], stays[0])]
    assert proof(team, "pin", (0, 1), 2).verdict == "violated"


def test_the_first_looks_at_a_thread_are_forgiven_and_counted() -> None:
    # libomp: from CPU to CPU, then everywhere, then to its place.
    settled = trace(
        100,
        ((0, 1), {0: 3}, 0.0),
        ((1,), {1: 1}, 0.0),
        ((0, 1), {1: 2}, 0.01),
        ((0,), {0: 40}, 2.0),
    )
    wanted = Wanted("pin", (0,), 1)
    assert prove(Watched([settled], 46, 2.0, unmet=0), wanted).verdict == "proved"
    assert settling_looks(settled, wanted) == 6
    assert settling_looks(steady(100, (0,), 0), wanted) == 0


def test_a_thread_that_was_bound_late_is_unproved_and_told_by_its_share() -> None:
    late = trace(100, ((0, 1), {0: 30}, 0.5), ((0,), {0: 60}, 2.0))
    found = proof([late], "pin", (0,), 1)
    assert found.verdict == "unproved"
    assert "at 30 of 90 looks" in found.reason
    assert found.reason.endswith("bound after 25% of its CPU time")
    elsewhere = trace(100, ((1,), {1: 30}, 0.5), ((0,), {0: 60}, 2.0))
    assert proof([elsewhere], "pin", (0,), 1).verdict == "violated"
    assert proof([late], "set", (0,), 1).verdict == "violated"


def test_a_thread_outside_the_set_is_a_violation() -> None:
    team = [trace(100, ((0, 1), {0: 5}, 0.5), ((0, 1), {3: 1}, 0.6), ((0, 1), {0: 5}, 1.0))]
    assert "ran on CPU 3, outside 0-1" in proof(team, "set", (0, 1), 1).reason


def test_threads_bound_by_somebody_else_violate_scheduler_and_set() -> None:
    for binding in ("none", "set"):
        team = [steady(100, (0, 1), 0), steady(101, (1,), 1)]
        assert "thread 101 was bound to CPU 1;" in proof(team, binding, (0, 1), 2).reason


def test_a_cpu_of_the_mapping_that_was_away_is_a_violation_whatever_the_masks_say() -> None:
    team = [steady(100, (0, 1), 0), steady(101, (0, 1), 0)]
    assert proof(team, "set", (0, 1), 2, hotplugged_cpus=(7,)).verdict == "proved"
    away = proof(team, "set", (0, 1), 2, hotplugged_cpus=(1, 7))
    assert away == Proof("violated", "CPU 1 went offline or came back while the program ran")


def test_a_waiting_shell_beside_the_program_is_no_violation() -> None:
    shell = steady(90, (0, 1), 0, cpu_s=0.02, pid=90)
    team = [steady(100, (0,), 0), steady(101, (1,), 1)]
    assert proof([shell, *team], "pin", (0, 1), 2).verdict == "proved"


def test_a_process_that_waits_for_its_child_does_not_share_its_cpu_with_it() -> None:
    program, worker = steady(100, (1,), 1), steady(101, (0,), 0)
    child = steady(200, (1,), 1, cpu_s=0.2, pid=200, life=(3, 5))
    program.runnable_looks = [1, 2, 6, 7]
    child.runnable_looks = [3, 4, 5]
    assert proof([program, child, worker], "pin", (1, 0), 2).verdict == "proved"
    program.runnable_looks.append(5)
    beside = proof([program, child, worker], "pin", (1, 0), 2)
    assert beside == Proof("violated", "threads 100 and 200 were both pinned to CPU 1")


def test_threads_of_one_process_share_a_cpu_also_when_they_take_turns() -> None:
    team = [steady(100, (0,), 0), steady(101, (0,), 0)]
    team[0].runnable_looks, team[1].runnable_looks = [1, 3], [2, 4]
    assert proof(team, "pin", (0, 1), 2).verdict == "violated"


def test_helpers_that_sleep_decide_nothing_and_workers_all() -> None:
    helpers = [steady(110 + number, (0,), 0, cpu_s=0.0) for number in range(5)]
    team = [steady(100, (0,), 0), steady(101, (1,), 1)]
    assert proof([*team, *helpers], "pin", (0, 1), 2).verdict == "proved"
    worker = steady(120, (0,), 0, cpu_s=0.2)
    assert proof([*team, worker], "pin", (0, 1), 2).verdict == "violated"


@given(st.lists(st.integers(0, 500), min_size=1, max_size=60))
def test_threads_that_do_not_decide_have_little_cpu_time_together(hundredths: list[int]) -> None:
    threads = [
        steady(100 + number, (0,), 0, cpu_s=ticks / 100) for number, ticks in enumerate(hundredths)
    ]
    deciding = {thread.tid for thread in busy_threads(threads)}
    rest_s = sum(thread.cpu_s for thread in threads if thread.tid not in deciding)
    assert rest_s <= 0.05 * sum(thread.cpu_s for thread in threads) + 1e-9
    busiest = max(threads, key=lambda thread: thread.cpu_s)
    assert busiest.cpu_s == 0 or busiest.tid in deciding


@given(st.lists(st.tuples(st.integers(1, 30), st.integers(0, 9)), min_size=1, max_size=20))
def test_the_most_threads_at_a_time_are_those_of_the_fullest_look(
    lives: list[tuple[int, int]],
) -> None:
    threads = [
        steady(100 + number, (0,), 0, life=(first, first + more))
        for number, (first, more) in enumerate(lives)
    ]
    found = most_at_a_time(threads)
    of_look = [sum(first <= look <= first + more for first, more in lives) for look in range(1, 41)]
    assert len(found) == max(of_look)
    assert max(one.first_look for one in found) <= min(one.last_look for one in found)


def test_cpu_time_that_nobody_accounts_for_forbids_proved() -> None:
    team = [steady(100, (0,), 0)]
    assert proof(team, "pin", (0,), 1, cpu_s=1.02, unmet=None).verdict == "proved"
    unseen = proof(team, "pin", (0,), 1, cpu_s=3.0, unmet=None)
    assert unseen.verdict == "unproved"
    assert unseen.reason == "1.99 s of 3 s of CPU time were used by threads that no look has met"
    assert proof(team, "pin", (0,), 1, cpu_s=1.02, task_clock_s=1.03).verdict == "proved"
    escaped = proof(team, "pin", (0,), 1, cpu_s=1.02, task_clock_s=5.0)
    assert escaped.verdict == "unproved"
    assert "perf counted 5 s of CPU time" in escaped.reason
    # Children that nobody waited for, but that were looked at.
    assert proof(team, "pin", (0,), 1, cpu_s=0.1, task_clock_s=1.01).verdict == "proved"


def test_what_a_thread_did_after_its_last_look_is_no_more_than_it_was_seen_to_do() -> None:
    worker = trace(101, ((0,), {0: 9}, 0.09))
    worker.gone_s = 0.02
    seen = proof([steady(100, (0,), 0, 0.1), worker], "pin", (0, 0), 2, cpu_s=0.21, unmet=None)
    assert seen.verdict == "proved"
    # Children that live for 3 ms, of which every third was met once; the next looks came later.
    children = [trace(101 + i, ((0,), {0: 1}, 0.0), pid=101 + i, life=(i, i)) for i in range(100)]
    for child in children:
        child.gone_s = 0.011
    unseen = proof([steady(100, (0,), 0, 0.1), *children], "set", (0,), 1, cpu_s=1.0, unmet=None)
    assert (unseen.verdict, unseen.reason[:18]) == ("unproved", "0.39 s of 1 s of C")


def test_pinned_threads_that_perf_saw_moving_are_not_proved() -> None:
    team = [steady(100, (0,), 0), steady(101, (1,), 1)]
    assert proof(team, "pin", (0, 1), 2, migrations=4).verdict == "proved"
    moved = proof(team, "pin", (0, 1), 2, migrations=79)
    assert moved.verdict == "unproved"
    assert moved.reason.startswith("perf counted 79 migrations of 2 threads")
    free = [steady(100, (0, 1), 0), steady(101, (0, 1), 1)]
    assert proof(free, "set", (0, 1), 2, migrations=79).verdict == "proved"


def test_nothing_seen_is_unproved() -> None:
    assert proof([], "set", (0,), 1).verdict == "unproved"
