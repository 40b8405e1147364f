"""What was seen of the threads of programs and ranks is compared with what the mapping says."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.runners.placement.team_placement import prove_teams
from pinstudy.runners.placement.thread_placement import (
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
from pinstudy.runners.placement.thread_trace import Mask, Stay, ThreadTrace


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

Rule = tuple[list[ThreadTrace], Expected, str, dict[str, Any]]


def rule(
    threads: list[ThreadTrace],
    where: str,
    said: str,
    **facts: Any,  # noqa: ANN401 - as Samples
) -> Rule:
    """Return a rule: a mapping such as `pin 2 on 0,1`, the verdict and a part of its reason."""
    binding, wanted, _, cpus = where.split()
    expected = Expected(binding, tuple(map(int, cpus.split(","))), int(wanted))
    return threads, expected, said, facts


RULES = {
    "pinned": rule(PINNED, "pin 2 on 0,1", "proved"),
    "ignored": rule(FREE, "pin 2 on 0,1", "violated: thread 100 was allowed CPU 0-1;"),
    "two on one": rule(one_on_each(0, 0), "pin 2 on 0,1", "violated: both pinned to CPU 0"),
    "two children on one": rule(
        [*ALONE, steady(101, (0,), 0, pid=101)], "pin 2 on 0,1", "violated: both pinned to CPU 0"
    ),
    "a CPU given twice": rule(one_on_each(0, 0, 1, 1), "pin 4 on 0,0,1,1", "proved"),
    "given twice, used thrice": rule(
        one_on_each(0, 0, 0, 1),
        "pin 4 on 0,0,1,1",
        "violated: 100 and 101 and 102 were all pinned to CPU 0",
    ),
    "a smaller team": rule(ALONE, "pin 2 on 0,1", "violated: only 1 of 2 threads ran"),
    "births untold": rule(ALONE, "pin 2 on 0,1", "unproved: 1 of 2 threads were seen", unmet=None),
    "a shell and its helper": rule(
        [*ALONE, steady(101, (1,), 1, cpu_s=0.002, pid=101)],
        "pin 2 on 0,1",
        "violated: only 1 of 2 threads ran",
    ),
    "little work in a team": rule(
        [*ALONE, steady(101, (1,), 1, cpu_s=0.002)], "pin 2 on 0,1", "proved"
    ),
    "one not met": rule(ALONE, "pin 2 on 0,1", "unproved", unmet=1),
    "nothing to do": rule(
        [FREE[0], steady(101, BOTH, 1, cpu_s=0.0)],
        "set 2 on 0,1",
        "unproved: only 1 of 2 threads used CPU time",
    ),
    "a larger team": rule(
        one_on_each(0, 1, 2),
        "pin 2 on 0,1,2",
        "violated: 3 threads ran at the same time, 2 were asked for",
    ),
    "one after the other": rule(ONE_AFTER_THE_OTHER, "pin 2 on 0,1", "proved"),
    "never three at a time": rule(ONE_AFTER_THE_OTHER, "pin 3 on 0,1", "violated"),
    "six looks": rule(ALONE, "pin 1 on 0", "unproved: too few", looks=6),
    "six looks elsewhere": rule(ALONE, "pin 1 on 1", "unproved: too few", looks=6),
    "one look elsewhere": rule(ALONE, "pin 1 on 1", "unproved: too few", looks=1),
    "two milliseconds": rule(ALONE, "pin 1 on 1", "unproved: too few", elapsed_s=0.002),
    "too many": rule(ALONE, "pin 1 on 0", "unproved: too many to follow", overflowed=True),
    "put back, none": rule(PUT_BACK, "none 1 on 0,1", "violated: bound to CPU 1 at 95 of 100"),
    "put back, set": rule(PUT_BACK, "set 1 on 0,1", "violated: bound to CPU 1 at 95 of 100"),
    "swapped": rule([in_turns(100, 0, 1), in_turns(101, 1, 0)], "pin 2 on 0,1", "violated"),
    "bound late": rule(BOUND_LATE, "pin 1 on 0", "unproved: bound after 25% of its CPU time"),
    "bound late, looks": rule(BOUND_LATE, "pin 1 on 0", "unproved: at 30 of 90 looks"),
    "late and elsewhere": rule(ELSEWHERE_FIRST, "pin 1 on 0", "violated"),
    "late in a set": rule(BOUND_LATE, "set 1 on 0", "violated"),
    "outside": rule(STRAYED, "set 1 on 0,1", "violated: ran on CPU 3, outside 0-1"),
    "bound, none": rule(BOUND_BY_OTHERS, "none 2 on 0,1", "violated: 101 was bound to CPU 1;"),
    "bound, set": rule(BOUND_BY_OTHERS, "set 2 on 0,1", "violated: 101 was bound to CPU 1;"),
    "another CPU away": rule(FREE, "set 2 on 0,1", "proved", hotplugged_cpus=(7,)),
    "a CPU away": rule(
        FREE,
        "set 2 on 0,1",
        "violated: CPU 1 went offline or came back while the program ran",
        hotplugged_cpus=(1, 7),
    ),
    "a waiting shell": rule([SHELL, *PINNED], "pin 2 on 0,1", "proved"),
    "sleeping helpers": rule([*PINNED, *HELPERS], "pin 2 on 0,1", "proved"),
    "a worker beside": rule([*PINNED, WORKER], "pin 2 on 0,1", "violated"),
    "CPU time seen": rule(ALONE, "pin 1 on 0", "proved", cpu_s=1.02, unmet=None),
    "CPU time unseen": rule(
        ALONE,
        "pin 1 on 0",
        "unproved: 1.99 s of 3 s of CPU time were used by threads that no",
        cpu_s=3.0,
        unmet=None,
    ),
    "perf agrees": rule(ALONE, "pin 1 on 0", "proved", cpu_s=1.02, task_clock_s=1.03),
    "perf counted more": rule(
        ALONE, "pin 1 on 0", "unproved: perf counted 5 s of CPU time", cpu_s=1.02, task_clock_s=5.0
    ),
    "stolen from it": rule(
        ALONE, "pin 1 on 0", "proved", cpu_s=1.02, task_clock_s=1.3, uncharged_s=0.28
    ),
    "less was stolen": rule(
        ALONE,
        "pin 1 on 0",
        "unproved: of which processes account for 1.02 s only",
        cpu_s=1.02,
        task_clock_s=1.3,
        uncharged_s=0.15,
    ),
    # Children that nobody waited for, but that were looked at.
    "not waited for": rule(ALONE, "pin 1 on 0", "proved", cpu_s=0.1, task_clock_s=1.01),
    "few migrations": rule(PINNED, "pin 2 on 0,1", "proved", migrations=4),
    "pinned and moved": rule(PINNED, "pin 2 on 0,1", "unproved: 79 migrations of 2", migrations=79),
    "moved in a set": rule(FREE, "set 2 on 0,1", "proved", migrations=79),
    "nothing seen": rule([], "set 1 on 0", "unproved"),
}


@pytest.mark.parametrize("given", RULES.values(), ids=RULES)
def test_what_was_seen_of_threads_is_proved_violated_or_neither(given: Rule) -> None:
    judge(given)


def judge(given: Rule) -> None:
    """Prove what a rule gives, and compare the verdict and its reason."""
    threads, expected, said, facts = given
    usual: dict[str, Any] = {"looks": 20, "elapsed_s": 1.0, "unmet": 0}
    found = prove(Samples(threads, **(usual | facts)), expected)
    verdict, _, reason = said.partition(": ")
    assert found.verdict == verdict, found
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
    in_place = trace(100, ((0,), {0: 3}, 0.0), ((0,), {0: 40}, 2.0))
    assert settling_looks(in_place, wanted) == 0


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


@pytest.mark.parametrize(("after_s", "verdict"), [(0.009, "proved"), (0.06, "violated")])
def test_what_a_thread_did_until_it_was_seen_free_may_have_been_done_in_its_place(
    after_s: float, verdict: str
) -> None:
    # It worked for 0.1 s between two looks, within which it was let go.
    thread = trace(100, ((0,), {0: 40}, 1.0), (BOTH, {0: 2}, 1.1 + after_s))
    thread.stays[1].entering_s = 0.1
    seen = Samples([thread, steady(101, (1,), 1)], 42, 2.0, unmet=0)
    assert prove(seen, Expected("pin", BOTH, 2)).verdict == verdict


# What libiomp5 2026.2 does: team and free agents under OMP_PLACES={0},{1}, under KMP_AFFINITY with
# the CPUs 0 and 1, and under a mask of both.
UNBOUND_AGENTS = [steady(102, BOTH, 1, cpu_s=1.5), steady(103, BOTH, 0, cpu_s=0.5)]
BOUND_AGENTS = [steady(102, (0,), 0, cpu_s=1.5), steady(103, (1,), 1, cpu_s=1.5)]


@pytest.mark.parametrize(
    ("threads", "wanted", "verdict", "at_work"),
    [
        ([*PINNED, *UNBOUND_AGENTS], "pin, 2 agents", "proved", 4),
        ([*PINNED, *BOUND_AGENTS], "pin, 2 agents", "proved", 4),
        ([*FREE, *UNBOUND_AGENTS], "none, 2 agents", "proved", 4),
        # Agents without work are nobody's; a team needs none.
        ([*PINNED, steady(102, BOTH, 0, cpu_s=0.0)], "pin, 1 agents", "proved", 0),
        (PINNED, "pin, 2 agents", "proved", 0),
        # More than are reserved, and one in place of a thread of the team.
        ([*PINNED, *UNBOUND_AGENTS], "pin, 1 agents", "violated", 4),
        ([*PINNED, *UNBOUND_AGENTS], "pin, 0 agents", "violated", 0),
        ([PINNED[0], *UNBOUND_AGENTS], "pin, 1 agents", "violated", 3),
        ([PINNED[0], UNBOUND_AGENTS[0]], "pin, 2 agents", "violated", 0),
    ],
)
def test_free_agents_are_none_of_the_team_and_are_told(
    threads: list[ThreadTrace], wanted: str, verdict: str, at_work: int
) -> None:
    binding, agents = wanted.split(", ")
    expected = Expected(binding, BOTH, 2, free_agents=int(agents.split()[0]))
    assert prove(Samples(threads, 20, 1.0, unmet=0), expected).verdict == verdict
    assert surplus_team(threads, expected, 1.0) == at_work


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


def test_a_shell_that_waits_for_a_cpu_works_beside_none_of_its_children() -> None:
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


def test_processes_that_others_keep_from_their_cpu_still_share_it() -> None:
    # A third of a second each, of twenty: the rest of the time they wait for the same CPU.
    workers = [steady(pid, (1,), 1, cpu_s=0.33, pid=pid, life=(1, 20)) for pid in (100, 200)]
    for worker in workers:
        worker.runnable = looks(*range(1, 21), each_s=1.0)
    found = prove(Samples(workers, 20, 20.0, unmet=0), Expected("pin", (0, 1), 2))
    assert found == Proof("violated", "threads 100 and 200 were both pinned to CPU 1")


def test_of_many_processes_as_many_count_as_were_runnable_together_for_long() -> None:
    # All four for a moment, three for a fifth of the run, two for all of it.
    lasts = {100: 101, 101: 101, 102: 21, 103: 1}
    threads = [steady(pid, (0,), 0, pid=pid) for pid in lasts]
    for thread in threads:
        thread.runnable = looks(*range(1, lasts[thread.pid] + 1))
    found = prove(Samples(threads, 101, 2.0, unmet=0), Expected("pin", (0, 0), 2))
    assert found.reason == "threads 100 and 101 and 102 were all pinned to CPU 0"


@pytest.mark.parametrize("binding", ["none", "set", "pin"])
def test_more_threads_than_asked_for_are_counted_where_no_placement_shows_them(
    binding: str,
) -> None:
    wanted = Expected(binding, BOTH, 2)
    team = [steady(100 + number, BOTH, 0) for number in range(4)]
    assert surplus_team(team, wanted, 1.0) == (0 if binding == "pin" else 4)
    assert surplus_team(team[:2], wanted, 1.0) == 0
    idle = steady(110, BOTH, 0, cpu_s=0.01)
    assert surplus_team([*team[:2], idle], wanted, 1.0) == 0
    # A helper that the app names is none of the team's.
    assert surplus_team(team[:3], replace(wanted, helpers=1), 1.0) == 0
    # Born when another has ended, for a moment side by side.
    team[1].runnable, team[2].runnable = looks(1, 2, 3), looks(3, 4, 5)
    assert surplus_team(team[:3], wanted, 1.0) == 0


def elsewhere(tid: int, pid: int = 100, cpu_s: float = 0.3) -> ThreadTrace:
    """Return a thread that may be on each of eight CPUs."""
    return steady(tid, tuple(range(8)), 5, cpu_s=cpu_s, pid=pid)


TEAM = [steady(tid, BOTH, 0) for tid in (100, 101)]
HELPER = [elsewhere(200, 200), elsewhere(201, 200)]


@pytest.mark.parametrize(
    ("threads", "binding", "helpers", "verdict"),
    [
        *(
            row
            for binding, team in (("pin", PINNED), ("set", TEAM))
            for row in (
                ([*team, elsewhere(200)], binding, {"helpers": 1}, "proved"),
                ([*team, elsewhere(200)], binding, {}, "violated"),
                # One that works more than the team, and a second one.
                ([*team, elsewhere(200, cpu_s=1.5)], binding, {"helpers": 1}, "violated"),
                ([*team, elsewhere(200), elsewhere(201)], binding, {"helpers": 1}, "violated"),
                ([*team, elsewhere(200), elsewhere(201)], binding, {"helpers": 2}, "proved"),
                # One in the place of the team.
                ([team[0], elsewhere(200)], binding, {"helpers": 1}, "violated"),
            )
        ),
        # A helper that has inherited a member's CPU does not crowd it; a second team does.
        ([*PINNED, steady(200, (0,), 0, cpu_s=0.3)], "pin", {"helpers": 1}, "proved"),
        (
            [*PINNED, *(steady(200 + n, (n,), n, cpu_s=0.9) for n in BOTH)],
            *("pin", {"helpers": 1}, "violated"),
        ),
        # Without helpers, migrations of pinned threads are no proof.
        (PINNED, "pin", {"helpers": 1}, "unproved"),
        # Two threads of one process are one helper, and a second process is not.
        ([*TEAM, *HELPER], "set", {}, "violated"),
        ([*TEAM, *HELPER], "set", {"helper_processes": 1}, "proved"),
        ([*TEAM, *HELPER, elsewhere(300, 300)], "set", {"helper_processes": 1}, "violated"),
        ([*TEAM, *HELPER, elsewhere(300, 300)], "set", {"helper_processes": 2}, "proved"),
        # The process that works most is the team.
        ([*TEAM, elsewhere(200, 200, 3.0)], "set", {"helper_processes": 1}, "violated"),
        # None is a helper as long as the rest are too few to be a team.
        ([TEAM[0], elsewhere(200, 200)], "set", {"helper_processes": 1}, "violated"),
    ],
)
def test_helpers_may_be_anywhere_beside_a_team_that_is_complete_and_in_place(
    threads: list[ThreadTrace], binding: str, helpers: dict[str, Any], verdict: str
) -> None:
    migrations = 900.0 if "helpers" in helpers else None
    samples = Samples(threads, 20, 1.0, unmet=0, migrations=migrations)
    assert prove(samples, Expected(binding, BOTH, 2, **helpers)).verdict == verdict


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
    assert max(thread.first_look for thread in found) <= min(thread.last_look for thread in found)


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
BRIEF = {
    "in place": rule(brief(((0,), 0, 0.009)), "set 1 on 0", "proved", cpu_s=1.02),
    "away": rule(brief(AWAY), "set 1 on 0", "violated: 0.864 s of 1.02 s of CPU time", cpu_s=1.02),
    "away, pin": rule(brief(AWAY), "pin 1 on 0", "violated: was allowed CPU 1;", cpu_s=1.02),
    "away, untold": rule(brief(AWAY), "set 1 on 0", "violated", unmet=None),
    "bound later": rule(brief(BORN, AWAY), "set 1 on 0", "violated", cpu_s=1.02),
    "back at the end": rule(
        brief(BORN, AWAY, BACK),
        "set 1 on 0",
        "violated: was allowed CPU 1; the mapping has 0",
        cpu_s=1.02,
    ),
    "elsewhere than allowed": rule(
        brief(((0,), 1, 0.009), BACK),
        "set 1 on 0",
        "violated: ran on CPU 1; the mapping has 0",
        cpu_s=1.02,
    ),
    "back between looks": rule(
        brief(BORN, ((1,), 1, 0.0002), BACK, entering_s=0.0089),
        "set 1 on 0",
        "unproved: 0.864 s of 1.02 s of CPU time were used while threads were not",
        cpu_s=1.02,
    ),
    "free, pin": rule(brief(((0, 1), 0, 0.009)), "pin 1 on 0,1", "unproved", cpu_s=1.02),
    "just born": rule(brief(BORN), "set 1 on 0", "unproved: after the last looks", cpu_s=1.02),
    "not met": rule(brief(BORN), "set 1 on 0", "unproved: no look", cpu_s=1.02, unmet=9),
    "dropped": rule(
        brief(((0,), 0, 0.009)),
        "set 1 on 0",
        "unproved: a process ignores the end of its children",
        cpu_s=0.16,
        unmet=None,
    ),
    "dropped, all met": rule(brief(((0,), 0, 0.009)), "set 1 on 0", "proved", cpu_s=0.16),
    "dropped, counted": rule(
        brief(((0,), 0, 0.009)), "set 1 on 0", "proved", cpu_s=0.16, task_clock_s=1.04
    ),
    "dropped, unseen": rule(
        brief(((0,), 0, 0.009)),
        "set 1 on 0",
        "unproved: of which processes account for 1.01 s only",
        cpu_s=0.16,
        task_clock_s=1.1,
    ),
}


@pytest.mark.parametrize("given", BRIEF.values(), ids=BRIEF)
def test_cpu_time_of_threads_that_each_use_little_is_added_up(given: Rule) -> None:
    workers, expected, said, facts = given
    main = steady(100, expected.cpus if expected.binding == "set" else (0,), 0, cpu_s=0.15)
    judge(([main, *workers], expected, said, facts))


@pytest.mark.parametrize(
    ("count", "reason"),
    [
        (1, ""),
        (2, ""),
        (8, "0.062 s of 0.8 s of CPU time were used while threads were not, or not yet, in their"),
    ],
)
def test_what_many_threads_use_until_they_are_bound_is_forgiven_once(
    count: int, reason: str
) -> None:
    late = [trace(100 + i, (BOTH, {0: 1}, 0.009), ((0,), {0: 9}, 0.1)) for i in range(count)]
    found = proof(late, "pin", (0,) * count + (1,), count, cpu_s=0.1 * count)
    assert (found.verdict == "proved") is (reason == "")
    assert found.reason.startswith(reason)


@pytest.mark.parametrize(("start_s", "verdict"), [(0.019, "proved"), (0.021, "unproved")])
def test_a_program_may_be_linked_and_read_its_input_before_it_is_bound(
    start_s: float, verdict: str
) -> None:
    thread = trace(100, (BOTH, {0: 3}, start_s), ((0,), {0: 90}, 1.0))
    assert proof([thread], "pin", BOTH, 1, cpu_s=1.0).verdict == verdict


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


RANK_LOOKS = 100


def steady_rank(tid: int, mask: Mask, cpu: int, rank: int, cpu_s: float = 4.0) -> ThreadTrace:
    """Return a thread that was on one CPU under one mask in all looks."""
    stay = Stay(mask, RANK_LOOKS, Counter({cpu: RANK_LOOKS}), cpu_s, cpu_s)
    return ThreadTrace(tid, tid, [stay], 1, RANK_LOOKS, team=rank)


def visitor(tid: int, home: int, away: int, away_s: float, rank: int) -> ThreadTrace:
    """Return a thread on one CPU that was bound to another one for some looks at first."""
    stays = [
        Stay((home,), 5, Counter({home: 5}), 0.1, 0.1),
        Stay((away,), 3, Counter({away: 3}), 0.1 + away_s, away_s),
        Stay((home,), 92, Counter({home: 92}), 4.0, 3.9 - away_s),
    ]
    return ThreadTrace(tid, tid, stays, 1, RANK_LOOKS, team=rank)


def samples(*threads: ThreadTrace, **more: object) -> Samples:
    return replace(Samples(threads, RANK_LOOKS, 5.0, unmet=0), **more)  # type: ignore[arg-type]


def pinned(*cpus: int) -> list[Expected]:
    return [Expected("pin", (cpu,), 1, mpi=True) for cpu in cpus]


IN_PLACE = [steady_rank(7, (0,), 0, 0), steady_rank(8, (1,), 1, 1)]
SWAPPED = [steady_rank(7, (1,), 1, 0), steady_rank(8, (0,), 0, 1)]
CROWDED = [steady_rank(7, (0,), 0, 0), steady_rank(8, (0,), 0, 1)]
UNBOUND = [Expected("none", (0, 1), 1, mpi=True)] * 2
FIRST_STRAYED = "rank 0: thread 7 ran on CPU 1, outside 0"


@pytest.mark.parametrize(
    ("threads", "expected", "cpu_s", "more", "verdict", "reason"),
    [
        (IN_PLACE, pinned(0, 1), (4.0, 4.0), {}, "proved", ""),
        # Right CPUs, wrong ranks.
        (SWAPPED, pinned(0, 1), (4.0, 4.0), {}, "violated", FIRST_STRAYED),
        (
            *(CROWDED, pinned(0, 1), (4.0, 4.0), {}, "violated"),
            "rank 1: thread 8 ran on CPU 0, outside 1; ranks 0 and 1 shared CPU 0",
        ),
        # Unbound ranks, whose runtimes bind them to the first CPU.
        (
            *(CROWDED, UNBOUND, (4.0, 4.0), {}, "violated"),
            "rank 0: thread 7 was bound to CPU 0; the mapping allows 0-1; ranks 0 and 1 shared "
            "CPU 0",
        ),
        # A rank that nobody saw.
        (
            *(IN_PLACE[:1], pinned(0, 1), (4.0, 4.0), {}, "unproved"),
            "rank 1: no thread was seen: the run lasted 5 s",
        ),
        # MPI's start: 0.2 of 4 s are 5 %.
        ([visitor(7, 0, 1, 0.2, 0), IN_PLACE[1]], pinned(0, 1), (4.0, 4.0), {}, "proved", ""),
        (
            *([visitor(7, 0, 1, 0.21, 0), IN_PLACE[1]], pinned(0, 1), (4.0, 4.0), {}, "violated"),
            f"{FIRST_STRAYED}; ranks 0 and 1 shared CPU 1",
        ),
        (
            *(IN_PLACE, pinned(0, 1), (4.0, 4.0)),
            *({"cpu_s": 8.0, "task_clock_s": 8.1, "migrations": 3.0}, "proved", ""),
        ),
        # No rank's looks show it, but perf counted half a second more.
        (
            *(IN_PLACE, pinned(0, 1), (4.0, 4.0), {"cpu_s": 8.0, "task_clock_s": 9.0}, "unproved"),
            "perf counted 9 s of CPU time, of which processes account for 8 s only",
        ),
        (
            *(IN_PLACE, pinned(0, 1), (4.0, 4.0), {"cpu_s": 8.0, "migrations": 13.0}, "unproved"),
            "perf counted 13 migrations of 2 threads that stay where they are pinned",
        ),
        (
            *(IN_PLACE, pinned(0, 1), (4.0, 5.0), {"unmet": None}, "unproved"),
            "rank 1: 0.99 s of 5 s of CPU time were used by threads that no look has met",
        ),
    ],
)
def test_ranks_are_proved_one_by_one(
    threads: list[ThreadTrace],
    expected: list[Expected],
    cpu_s: tuple[float, ...],
    more: dict[str, Any],
    verdict: str,
    reason: str,
) -> None:
    assert prove_teams(samples(*threads, **more), expected, list(cpu_s)) == Proof(verdict, reason)


def test_a_short_run_is_not_proved_by_what_mpi_did_when_it_started() -> None:
    stays = [
        Stay((0,), 50, Counter({0: 50}), 0.5, 0.5),
        Stay((1,), 50, Counter({1: 50}), 0.55, 0.05),
    ]
    short = ThreadTrace(7, 7, stays, 1, RANK_LOOKS, team=0)
    proof = prove_teams(samples(short), pinned(0), [0.55])
    assert proof.verdict == "unproved"
    assert proof.reason.endswith(
        "; MPI may have moved it when it started: a larger size would show it"
    )
    # Any other program is not moved by its start.
    assert prove_teams(samples(short), [Expected("pin", (0,), 1)], [0.55]).verdict == "violated"
