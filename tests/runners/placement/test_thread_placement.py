"""What was seen of the threads is compared with what the mapping says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.placement.thread_placement import (
    Expected,
    Proof,
    Samples,
    busy_threads,
    most_at_a_time,
    prove,
    released_looks,
    settling_looks,
    surplus_team,
)
from runners.placement.thread_trace import Stay, ThreadTrace


def trace(
    tid: int,
    *stays: tuple[tuple[int, ...], dict[int, int], float],
    pid: int = 100,
    life: tuple[int, int] = (1, 99),
) -> ThreadTrace:
    """Return a thread by its stays: mask, looks by CPU, CPU time at the last; never waiting."""
    made = [Stay(mask, sum(seen.values()), Counter(seen), cpu_s) for mask, seen, cpu_s in stays]
    return ThreadTrace(tid, pid, made, *life, runnable=looks(*range(life[0], life[1] + 1)))


def looks(*numbers: int, each_s: float = 0.02) -> dict[int, float]:
    return dict.fromkeys(numbers, each_s)


def steady(
    tid: int, mask: tuple[int, ...], cpu: int, cpu_s: float = 1.0, **more: object
) -> ThreadTrace:
    """Return a thread that had one mask at all of twenty looks."""
    return trace(tid, (mask, {cpu: 20}, cpu_s), **more)  # type: ignore[arg-type]


def proof(
    threads: list[ThreadTrace], binding: str, cpus: tuple[int, ...], wanted: int, **more: object
) -> Proof:
    facts = {"looks": 20, "elapsed_s": 1.0, "unmet": 0} | more
    return prove(Samples(threads, **facts), Expected(binding, cpus, wanted))  # type: ignore[arg-type]


def one_on_each(*cpus: int) -> list[ThreadTrace]:
    """Return threads that are pinned to a CPU each."""
    return [steady(100 + number, (cpu,), cpu) for number, cpu in enumerate(cpus)]


def in_turns(tid: int, *cpus: int) -> ThreadTrace:
    """Return a thread that is bound to one CPU after the other, twenty times."""
    return trace(tid, *[((cpu,), {cpu: 5}, 0.1 * (turn + 1)) for turn, cpu in enumerate(cpus)] * 20)


BOTH = (0, 1)
PINNED = one_on_each(0, 1)
FREE = [steady(100, BOTH, 0), steady(101, BOTH, 1)]
ALONE = one_on_each(0)
BOUND_BY_OTHERS = [steady(100, BOTH, 0), steady(101, (1,), 1)]
PUT_BACK = [trace(100, (BOTH, {0: 2}, 0.1), ((1,), {1: 95}, 1.9), (BOTH, {0: 3}, 2.0))]
STRAYED = [trace(100, (BOTH, {0: 5}, 0.5), (BOTH, {3: 1}, 0.6), (BOTH, {0: 5}, 1.0))]
BOUND_LATE = [trace(100, (BOTH, {0: 30}, 0.5), ((0,), {0: 60}, 2.0))]
ELSEWHERE_FIRST = [trace(100, ((1,), {1: 30}, 0.5), ((0,), {0: 60}, 2.0))]
ONE_AFTER_THE_OTHER = [
    *ALONE,
    steady(101, (1,), 1, life=(1, 9)),
    steady(102, (1,), 1, life=(10, 20)),
]
SHELL = steady(90, BOTH, 0, cpu_s=0.02, pid=90)
HELPERS = [steady(110 + number, (0,), 0, cpu_s=0.0) for number in range(5)]
WORKER = steady(120, (0,), 0, cpu_s=0.2)

# Threads, binding, its CPUs, requested threads, other facts; verdict, reason.
RULES: dict[str, tuple[list[ThreadTrace], str, tuple[int, ...], int, dict[str, Any], str, str]] = {
    "pinned": (PINNED, "pin", BOTH, 2, {}, "proved", ""),
    "ignored": (FREE, "pin", BOTH, 2, {}, "violated", "thread 100 was allowed CPU 0-1;"),
    "two on one": (one_on_each(0, 0), "pin", BOTH, 2, {}, "violated", "both pinned to CPU 0"),
    "two children on one": (
        *([*ALONE, steady(101, (0,), 0, pid=101)], "pin", BOTH, 2, {}),
        *("violated", "both pinned to CPU 0"),
    ),
    "a CPU given twice": (one_on_each(0, 0, 1, 1), "pin", (0, 0, 1, 1), 4, {}, "proved", ""),
    "given twice, used thrice": (
        *(one_on_each(0, 0, 0, 1), "pin", (0, 0, 1, 1), 4, {}),
        *("violated", "threads 100 and 101 and 102 were all pinned to CPU 0"),
    ),
    "a smaller team": (ALONE, "pin", BOTH, 2, {}, "violated", "only 1 of 2 threads ran"),
    "births untold": (
        ALONE,
        "pin",
        BOTH,
        2,
        {"unmet": None},
        "unproved",
        "1 of 2 threads were seen",
    ),
    "a shell and its helper": (
        *([*ALONE, steady(101, (1,), 1, cpu_s=0.002, pid=101)], "pin", BOTH, 2, {}),
        *("violated", "only 1 of 2 threads ran"),
    ),
    "little work in a team": (
        *([*ALONE, steady(101, (1,), 1, cpu_s=0.002)], "pin", BOTH, 2, {}, "proved", ""),
    ),
    "one not met": (ALONE, "pin", BOTH, 2, {"unmet": 1}, "unproved", ""),
    "nothing to do": (
        *([FREE[0], steady(101, BOTH, 1, cpu_s=0.0)], "set", BOTH, 2, {}),
        *("unproved", "only 1 of 2 threads used CPU time"),
    ),
    "a larger team": (
        *(one_on_each(0, 1, 2), "pin", (0, 1, 2), 2, {}),
        *("violated", "3 threads ran at the same time, 2 were asked for"),
    ),
    "one after the other": (ONE_AFTER_THE_OTHER, "pin", BOTH, 2, {}, "proved", ""),
    "never three at a time": (ONE_AFTER_THE_OTHER, "pin", BOTH, 3, {}, "violated", ""),
    "six looks": (ALONE, "pin", (0,), 1, {"looks": 6}, "unproved", "too few"),
    "six looks elsewhere": (ALONE, "pin", (1,), 1, {"looks": 6}, "unproved", "too few"),
    "one look elsewhere": (ALONE, "pin", (1,), 1, {"looks": 1}, "unproved", "too few"),
    "two milliseconds": (ALONE, "pin", (1,), 1, {"elapsed_s": 0.002}, "unproved", "too few"),
    "too many": (ALONE, "pin", (0,), 1, {"overflowed": True}, "unproved", "too many to follow"),
    "put back, none": (PUT_BACK, "none", BOTH, 1, {}, "violated", "bound to CPU 1 at 95 of 100"),
    "put back, set": (PUT_BACK, "set", BOTH, 1, {}, "violated", "bound to CPU 1 at 95 of 100"),
    "swapped": ([in_turns(100, 0, 1), in_turns(101, 1, 0)], "pin", BOTH, 2, {}, "violated", ""),
    "bound late": (BOUND_LATE, "pin", (0,), 1, {}, "unproved", "bound after 25% of its CPU time"),
    "bound late, looks": (BOUND_LATE, "pin", (0,), 1, {}, "unproved", "at 30 of 90 looks"),
    "late and elsewhere": (ELSEWHERE_FIRST, "pin", (0,), 1, {}, "violated", ""),
    "late in a set": (BOUND_LATE, "set", (0,), 1, {}, "violated", ""),
    "outside": (STRAYED, "set", BOTH, 1, {}, "violated", "ran on CPU 3, outside 0-1"),
    "bound, none": (BOUND_BY_OTHERS, "none", BOTH, 2, {}, "violated", "101 was bound to CPU 1;"),
    "bound, set": (BOUND_BY_OTHERS, "set", BOTH, 2, {}, "violated", "101 was bound to CPU 1;"),
    "another CPU away": (FREE, "set", BOTH, 2, {"hotplugged_cpus": (7,)}, "proved", ""),
    "a CPU away": (
        *(FREE, "set", BOTH, 2, {"hotplugged_cpus": (1, 7)}),
        *("violated", "CPU 1 went offline or came back while the program ran"),
    ),
    "a waiting shell": ([SHELL, *PINNED], "pin", BOTH, 2, {}, "proved", ""),
    "sleeping helpers": ([*PINNED, *HELPERS], "pin", BOTH, 2, {}, "proved", ""),
    "a worker beside": ([*PINNED, WORKER], "pin", BOTH, 2, {}, "violated", ""),
    "CPU time seen": (ALONE, "pin", (0,), 1, {"cpu_s": 1.02, "unmet": None}, "proved", ""),
    "CPU time unseen": (
        *(ALONE, "pin", (0,), 1, {"cpu_s": 3.0, "unmet": None}),
        *("unproved", "1.99 s of 3 s of CPU time were used by threads that no look has met"),
    ),
    "perf agrees": (ALONE, "pin", (0,), 1, {"cpu_s": 1.02, "task_clock_s": 1.03}, "proved", ""),
    "perf counted more": (
        *(ALONE, "pin", (0,), 1, {"cpu_s": 1.02, "task_clock_s": 5.0}),
        *("unproved", "perf counted 5 s of CPU time"),
    ),
    "stolen from it": (
        *(ALONE, "pin", (0,), 1, {"cpu_s": 1.02, "task_clock_s": 1.3, "uncharged_s": 0.28}),
        *("proved", ""),
    ),
    "less was stolen": (
        *(ALONE, "pin", (0,), 1, {"cpu_s": 1.02, "task_clock_s": 1.3, "uncharged_s": 0.15}),
        *("unproved", "of which processes account for 1.02 s only"),
    ),
    # Children that nobody waited for, but that were looked at.
    "not waited for": (ALONE, "pin", (0,), 1, {"cpu_s": 0.1, "task_clock_s": 1.01}, "proved", ""),
    "few migrations": (PINNED, "pin", BOTH, 2, {"migrations": 4}, "proved", ""),
    "pinned and moved": (
        PINNED,
        "pin",
        BOTH,
        2,
        {"migrations": 79},
        "unproved",
        "79 migrations of 2",
    ),
    "moved in a set": (FREE, "set", BOTH, 2, {"migrations": 79}, "proved", ""),
    "nothing seen": ([], "set", (0,), 1, {}, "unproved", ""),
}


@pytest.mark.parametrize(
    ("threads", "binding", "cpus", "wanted", "more", "verdict", "reason"), RULES.values(), ids=RULES
)
def test_what_was_seen_of_threads_is_proved_violated_or_neither(
    threads: list[ThreadTrace],
    binding: str,
    cpus: tuple[int, ...],
    wanted: int,
    more: dict[str, Any],
    verdict: str,
    reason: str,
) -> None:
    found = proof(threads, binding, cpus, wanted, **more)
    assert found.verdict == verdict
    assert reason in found.reason
    assert (found.reason == "") == (verdict == "proved")


def test_the_first_looks_at_a_thread_are_forgiven_and_counted() -> None:
    # libomp: from CPU to CPU, then everywhere, then to its place.
    settled = trace(
        100,
        ((0, 1), {0: 3}, 0.0),
        ((1,), {1: 1}, 0.0),
        ((0, 1), {1: 2}, 0.01),
        ((0,), {0: 40}, 2.0),
    )
    wanted = Expected("pin", (0,), 1)
    assert prove(Samples([settled], 46, 2.0, unmet=0), wanted).verdict == "proved"
    assert settling_looks(settled, wanted) == 6
    assert settling_looks(steady(100, (0,), 0), wanted) == 0


@pytest.mark.parametrize(
    ("last", "cpu_s", "released", "verdict"),
    [
        # When the program ends, libomp 16 lets the main thread go.
        (((0, 1), {1: 1}), 2.1, 1, "proved"),
        (((0, 1), {0: 3}), 2.1, 3, "proved"),
        # It worked on, or could leave the mapping's CPUs, or lost its place.
        (((0, 1), {0: 3}), 2.2, 0, "violated"),
        (((0, 1, 2), {2: 1}), 2.0, 0, "violated"),
        (((1, 2), {1: 1}), 2.0, 0, "violated"),
    ],
)
def test_the_last_looks_at_a_thread_are_forgiven_when_it_was_let_go(
    last: tuple[tuple[int, ...], dict[int, int]], cpu_s: float, released: int, verdict: str
) -> None:
    bound = ((0,), {0: 40}, 2.0)
    thread = trace(100, ((0, 1), {0: 2}, 0.0), bound, (*last, cpu_s))
    other = steady(101, (1,), 1, cpu_s=2.0)
    wanted = Expected("pin", (0, 1), 2)
    assert released_looks(thread, wanted) == released
    seen = Samples([thread, other], 43, 2.0, unmet=0)
    assert prove(seen, wanted).verdict == verdict
    # Its place stays its own: no other thread may be bound there.
    crowd = Samples([thread, steady(101, (0,), 0, cpu_s=2.0)], 43, 2.0, unmet=0)
    assert prove(crowd, wanted).verdict == "violated"
    # Nobody lets go of a virtual CPU, nor of the CPUs of a set that the kernel was told.
    assert prove(seen, wanted, long_lived=True).verdict == "violated"
    in_set = Samples([trace(100, bound, (*last, cpu_s))], 43, 2.0, unmet=0)
    assert prove(in_set, Expected("set", (0,), 1)).verdict == "violated"


def test_a_process_that_waits_for_its_child_does_not_share_its_cpu_with_it() -> None:
    program, worker = steady(100, (1,), 1), steady(101, (0,), 0)
    child = steady(200, (1,), 1, cpu_s=0.2, pid=200, life=(3, 5))
    program.runnable, child.runnable = looks(1, 2, 6, 7), looks(3, 4, 5)
    assert proof([program, child, worker], "pin", (1, 0), 2).verdict == "proved"


@pytest.mark.parametrize(
    ("share", "verdict"), [(0.002, "proved"), (0.049, "proved"), (0.051, "violated")]
)
def test_processes_share_a_cpu_when_both_want_it_for_longer_than_a_start(
    share: float, verdict: str
) -> None:
    program, worker = steady(100, (1,), 1), steady(101, (0,), 0)
    child = steady(200, (1,), 1, cpu_s=0.2, pid=200, life=(3, 5))
    # Together at two looks; the other looks at the child found the program waiting for it.
    together = looks(3, 4, each_s=share * 2.0 / 2)
    program.runnable = looks(1, 2, 6, 7, each_s=0.5) | together
    child.runnable = together | looks(5, each_s=0.5)
    found = prove(Samples([program, child, worker], 99, 2.0, unmet=0), Expected("pin", (1, 0), 2))
    reason = "threads 100 and 200 were both pinned to CPU 1" if verdict == "violated" else ""
    assert found == Proof(verdict, reason)


def test_a_shell_that_waits_for_a_cpu_on_a_busy_node_works_beside_none_of_its_children() -> None:
    # Their milliseconds disturb nobody, however long others keep them from the CPU.
    shell = steady(100, (0,), 0, cpu_s=0.0021)
    children = [
        steady(200 + number, (0,), 0, cpu_s=0.0009, pid=200 + number, life=(2, 9))
        for number in range(4)
    ]
    shell.runnable = looks(*range(1, 10), each_s=0.01)
    for number, child in enumerate(children, 3):
        child.runnable = looks(number, each_s=0.03)
    found = prove(Samples([shell, *children], 12, 0.15, unmet=0), Expected("pin", (0,), 1))
    assert found.verdict != "violated"


def test_of_many_processes_as_many_count_as_were_runnable_together_for_long() -> None:
    # All four for a moment, three for a fifth of the run, two for all of it.
    lasts = (101, 101, 21, 1)
    threads = [steady(pid, (0,), 0, pid=pid) for pid in (100, 101, 102, 103)]
    for thread, last in zip(threads, lasts, strict=True):
        thread.runnable = looks(*range(1, last + 1))
    found = prove(Samples(threads, 101, 2.0, unmet=0), Expected("pin", (0, 0), 2))
    assert found.reason == "threads 100 and 101 and 102 were all pinned to CPU 0"


@pytest.mark.parametrize("binding", ["none", "set", "pin"])
def test_more_threads_than_asked_for_are_counted_where_no_placement_shows_them(
    binding: str,
) -> None:
    wanted = Expected(binding, (0, 1), 2)
    team = [steady(100 + number, (0, 1), 0) for number in range(4)]
    assert surplus_team(team, wanted, 1.0) == (0 if binding == "pin" else 4)
    assert surplus_team(team[:2], wanted, 1.0) == 0


def test_helper_processes_may_be_anywhere_beside_a_team_that_is_complete() -> None:
    def verdict(*threads: ThreadTrace, processes: int) -> str:
        expected = Expected("set", (0, 1), 2, helper_processes=processes)
        return prove(Samples(threads, 20, 1.0, unmet=0), expected).verdict

    def elsewhere(tid: int, pid: int, cpu_s: float = 0.3) -> ThreadTrace:
        thread = steady(tid, tuple(range(8)), 5, cpu_s=cpu_s)
        thread.pid = pid
        return thread

    team = [steady(tid, (0, 1), 0) for tid in (100, 101)]
    # Two threads of one process are one helper, and a second process is not.
    helper = [elsewhere(200, 200), elsewhere(201, 200)]
    assert verdict(*team, *helper, processes=0) == "violated"
    assert verdict(*team, *helper, processes=1) == "proved"
    assert verdict(*team, *helper, elsewhere(300, 300), processes=1) == "violated"
    assert verdict(*team, *helper, elsewhere(300, 300), processes=2) == "proved"
    # The process that works most is the team.
    assert verdict(*team, elsewhere(200, 200, cpu_s=3.0), processes=1) == "violated"
    # None is a helper as long as the rest are too few to be a team.
    assert verdict(team[0], elsewhere(200, 200), processes=1) == "violated"


def test_threads_that_work_one_after_the_other_or_hardly_are_no_more_than_asked_for() -> None:
    wanted = Expected("set", (0, 1), 2)
    team = [steady(100 + number, (0, 1), 0) for number in range(3)]
    # Born when another has ended, for a moment side by side.
    team[1].runnable, team[2].runnable = looks(1, 2, 3), looks(3, 4, 5)
    assert surplus_team(team, wanted, 1.0) == 0
    idle = steady(110, (0, 1), 0, cpu_s=0.01)
    assert surplus_team([*team[:2], idle], wanted, 1.0) == 0
    # A helper that the app names is none of the team's.
    many = [steady(100 + number, (0, 1), 0) for number in range(3)]
    assert surplus_team(many, replace(wanted, helpers=1), 1.0) == 0


def test_threads_of_one_process_share_a_cpu_also_when_they_take_turns() -> None:
    team = [steady(100, (0,), 0), steady(101, (0,), 0)]
    team[0].runnable, team[1].runnable = looks(1, 3), looks(2, 4)
    assert proof(team, "pin", (0, 1), 2).verdict == "violated"


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


def test_what_a_thread_did_after_its_last_look_is_no_more_than_it_was_seen_to_do() -> None:
    worker = trace(101, ((0,), {0: 9}, 0.09))
    worker.gone_s = 0.02
    seen = proof([steady(100, (0,), 0, 0.1), worker], "pin", (0, 0), 2, cpu_s=0.21, unmet=None)
    assert seen.verdict == "proved"
    # What the main thread does until the next tick is counted then.
    # Children that live for 3 ms, of which every third was met once; the next looks came later.
    children = [trace(101 + i, ((0,), {0: 1}, 0.0), pid=101 + i, life=(i, i)) for i in range(100)]
    for child in children:
        child.gone_s = 0.011
    everyone = [steady(100, (0,), 0, 0.1), *children]
    unseen = proof(everyone, "set", (0,), 1, cpu_s=1.0, unmet=None)
    assert (unseen.verdict, unseen.reason[:17]) == ("unproved", "0.89 s of 1 s of ")
    # Half a tick of each may be hidden.
    unseen = proof(everyone, "set", (0,), 1, cpu_s=1.0, unmet=None, in_ticks=True)
    assert (unseen.verdict, unseen.reason[:18]) == ("unproved", "0.39 s of 1 s of C")


def brief(*stays: tuple[tuple[int, ...], int, float], entering_s: float = 0.0) -> list[ThreadTrace]:
    """Return 96 threads, each of these stays: mask, CPU, CPU time; the last one is entered so."""
    made = [
        trace(200 + number, *[(mask, {cpu: 2}, cpu_s) for mask, cpu, cpu_s in stays], life=(1, 3))
        for number in range(96)
    ]
    for thread in made:
        thread.stays[-1].entering_s = entering_s
    return made


BORN = ((0,), 0, 0.0001)
AWAY = ((1,), 1, 0.009)
BACK = ((0,), 0, 0.0091)

# Threads of 9 ms each beside a main thread of 0.15 s; binding, CPUs, other facts; verdict, reason.
BRIEF: dict[str, tuple[list[ThreadTrace], str, tuple[int, ...], dict[str, Any], str, str]] = {
    "in place": (brief(((0,), 0, 0.009)), "set", (0,), {"cpu_s": 1.02}, "proved", ""),
    "away": (
        brief(AWAY),
        "set",
        (0,),
        {"cpu_s": 1.02},
        "violated",
        "0.864 s of 1.02 s of CPU time",
    ),
    "away, pin": (brief(AWAY), "pin", (0,), {"cpu_s": 1.02}, "violated", "was allowed CPU 1;"),
    "away, untold": (brief(AWAY), "set", (0,), {"unmet": None}, "violated", ""),
    "bound later": (brief(BORN, AWAY), "set", (0,), {"cpu_s": 1.02}, "violated", ""),
    "back at the end": (brief(BORN, AWAY, BACK), "set", (0,), {"cpu_s": 1.02}, "violated", ""),
    "back between looks": (
        *(brief(BORN, ((1,), 1, 0.0002), BACK, entering_s=0.0089), "set", (0,), {"cpu_s": 1.02}),
        *("unproved", "0.864 s of 1.02 s of CPU time were used while threads were not"),
    ),
    "free, pin": (brief(((0, 1), 0, 0.009)), "pin", (0, 1), {"cpu_s": 1.02}, "unproved", ""),
    "just born": (brief(BORN), "set", (0,), {"cpu_s": 1.02}, "unproved", "after the last looks"),
    "not met": (brief(BORN), "set", (0,), {"cpu_s": 1.02, "unmet": 9}, "unproved", "no look"),
    "dropped": (
        *(brief(((0,), 0, 0.009)), "set", (0,), {"cpu_s": 0.16, "unmet": None}),
        *("unproved", "a process ignores the end of its children"),
    ),
    "dropped, all met": (brief(((0,), 0, 0.009)), "set", (0,), {"cpu_s": 0.16}, "proved", ""),
    "dropped, counted": (
        *(brief(((0,), 0, 0.009)), "set", (0,), {"cpu_s": 0.16, "task_clock_s": 1.04}),
        *("proved", ""),
    ),
    "dropped, unseen": (
        *(brief(((0,), 0, 0.009)), "set", (0,), {"cpu_s": 0.16, "task_clock_s": 1.1}),
        *("unproved", "perf counted 1.1 s of CPU time, of which processes account for 1.01 s only"),
    ),
}


@pytest.mark.parametrize(
    ("workers", "binding", "cpus", "more", "verdict", "reason"), BRIEF.values(), ids=BRIEF
)
def test_cpu_time_of_threads_that_each_use_little_is_added_up(
    workers: list[ThreadTrace],
    binding: str,
    cpus: tuple[int, ...],
    more: dict[str, Any],
    verdict: str,
    reason: str,
) -> None:
    main = steady(100, cpus if binding == "set" else (0,), 0, cpu_s=0.15)
    found = proof([main, *workers], binding, cpus, 1, **more)
    assert found.verdict == verdict, found
    assert reason in found.reason


def test_what_many_threads_use_until_they_are_bound_is_forgiven_once() -> None:
    def found(count: int) -> Proof:
        late = [trace(100 + i, (BOTH, {0: 1}, 0.009), ((0,), {0: 9}, 0.1)) for i in range(count)]
        places = (0,) * count + (1,)
        return proof(late, "pin", places, count, cpu_s=0.1 * count)

    assert found(1).verdict == "proved"
    assert found(2).verdict == "proved"
    assert found(8).reason == (
        "0.062 s of 0.8 s of CPU time were used while threads were not, or not yet, in their places"
    )


def test_a_program_may_be_linked_and_read_its_input_before_it_is_bound() -> None:
    def verdict(start_s: float) -> str:
        thread = trace(100, (BOTH, {0: 3}, start_s), ((0,), {0: 90}, 1.0))
        return proof([thread], "pin", BOTH, 1, cpu_s=1.0).verdict

    assert (verdict(0.019), verdict(0.021)) == ("proved", "unproved")


@pytest.mark.parametrize(
    ("binding", "last"), [("none", (BOTH, {0: 20}, 1.2)), ("pin", ((0,), {0: 20}, 1.2))]
)
@pytest.mark.parametrize(
    ("tid", "mask", "cpu", "used_s", "found"),
    [
        # libomp identifies CPUs in its first call, here when a quarter of the work is done.
        (100, (1,), 1, 0.0002, "forgiven"),
        (100, (1,), 1, 0.019, "forgiven"),
        (100, (1,), 1, 0.021, "violated"),
        (100, (5,), 5, 0.0002, "violated"),
        # Only the main thread does that.
        (101, (1,), 1, 0.0002, "violated"),
    ],
)
def test_a_main_thread_that_passes_from_cpu_to_cpu_is_forgiven_once(
    binding: str,
    last: tuple[tuple[int, ...], dict[int, int], float],
    tid: int,
    mask: tuple[int, ...],
    cpu: int,
    used_s: float,
    found: str,
) -> None:
    thread = trace(tid, (BOTH, {0: 9}, 0.3), (mask, {cpu: 1}, 0.4 + used_s), last)
    # The look that found it there came long after the one before.
    thread.stays[1].spent_s, thread.stays[1].entering_s = 0.1 + used_s, 0.1
    thread.stays[2].entering_s = 0.1
    forgiven = "unproved" if binding == "pin" else "proved"  # bound late
    verdict = proof([thread], binding, BOTH, 1, cpu_s=1.2).verdict
    assert verdict == (forgiven if found == "forgiven" else "violated")
    again = trace(tid, *[(BOTH, {0: 9}, 0.3), (mask, {cpu: 1}, 0.301)] * 2, last)
    again.stays[2].cpu_s, again.stays[3].cpu_s = 0.6, 0.601
    assert proof([again], binding, BOTH, 1, cpu_s=1.2).verdict == "violated"


def test_of_brief_threads_those_that_live_one_after_the_other_do_not_share_a_cpu() -> None:
    main = steady(100, (1,), 1)
    turns = [steady(101 + i, (0,), 0, cpu_s=0.009, life=(i, i + 1)) for i in range(1, 90)]
    for thread in turns:
        thread.runnable = looks(thread.first_look, thread.last_look, each_s=0.01)
    assert proof([main, *turns], "pin", (0, 1), 2).verdict == "proved"
    for thread in turns:
        thread.first_look -= 1
    crowded = proof([main, *turns], "pin", (0, 1), 2)
    assert crowded.reason.endswith("were both pinned to CPU 0")


def test_a_helper_may_be_anywhere_beside_a_team_that_is_complete_and_in_place() -> None:
    def verdict(*threads: ThreadTrace, helpers: int = 1, binding: str = "pin") -> str:
        samples = Samples(threads, 20, 1.0, unmet=0, migrations=900.0)
        return prove(samples, Expected(binding, (0, 1), 2, helpers)).verdict

    everywhere = tuple(range(8))
    team = one_on_each(0, 1)
    helper = steady(200, everywhere, 5, cpu_s=0.3)
    for binding, members in (("pin", team), ("set", [steady(n, (0, 1), 0) for n in (100, 101)])):
        assert verdict(*members, helper, binding=binding) == "proved"
        assert verdict(*members, helper, helpers=0, binding=binding) == "violated"
        # One that works more than the team, a second one, and one in the place of the team.
        busiest = steady(200, everywhere, 5, cpu_s=1.5)
        assert verdict(*members, busiest, binding=binding) == "violated"
        second = steady(201, everywhere, 6, cpu_s=0.3)
        assert verdict(*members, helper, second, binding=binding) == "violated"
        assert verdict(*members, helper, second, helpers=2, binding=binding) == "proved"
        assert verdict(members[0], helper, binding=binding) == "violated"
    # A helper that has inherited a member's CPU does not crowd it; a second team does.
    assert verdict(*team, steady(200, (0,), 0, cpu_s=0.3)) == "proved"
    assert verdict(*team, *(steady(200 + n, (n,), n, cpu_s=0.9) for n in (0, 1))) == "violated"
    # Without helpers, migrations of pinned threads are no proof.
    assert verdict(*team) == "unproved"
