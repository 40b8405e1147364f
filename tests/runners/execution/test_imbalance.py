"""How a run's work was divided is found from the looks at its threads."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.app import Build
from configs.variables import SetVariable
from runners.execution.execute import Harness, Observation, execute
from runners.execution.imbalance import FIELDS, read_imbalance
from runners.execution.witness import Ending
from runners.node.topology import CoreKind
from runners.placement.course import POINTS, Course, Point, quarters
from runners.placement.thread_trace import Stay, ThreadTrace
from runners.plan.launch import Launch
from tests.runners.cases import case, observation
from tests.support.held import looks_counted
from tests.support.programs import witness
from tests.support.studies import two_cpus
from tests.support.tools import need_tool
from tests.support.wait import HANG_S

# Two P-cores, two E-cores; CPU 9 is of no kind.
KINDS = (CoreKind("P", (0, 1), ""), CoreKind("E", (2, 3), ""))
PASSIVE = case(wait_policy="passive")


def thread(
    tid: int, cpu_s_on: dict[int, float], pid: int = 1, life: tuple[int, int] = (1, 20)
) -> ThreadTrace:
    allowed = tuple(cpu_s_on)
    stay = Stay(allowed, 20, Counter(dict.fromkeys(allowed, 5)), sum(cpu_s_on.values()))
    return ThreadTrace(tid, pid, [stay], *life, cpu_s_on=cpu_s_on)


def observed(*threads: ThreadTrace) -> Observation:
    total = {cpu: sum(one.cpu_s_on.get(cpu, 0.0) for one in threads) for cpu in (0, 1, 2, 3, 9)}
    points = Point(0.0, {}), Point(2.0, {cpu: used for cpu, used in total.items() if used})
    ending = Ending(0, 2.0, 0.9, 0.1, 1 << 20, None)
    return observation(ending, threads=threads, looks=20, course=points)


def test_a_team_on_two_kinds_is_compared_thread_by_thread_and_kind_by_kind() -> None:
    run = observed(thread(1, {0: 1.2}), thread(2, {2: 2.0}))

    fields = read_imbalance(run, PASSIVE, KINDS).fields

    # The mean is 1.6 s, the largest 2.0 s.
    assert fields["imbalance"] == pytest.approx(0.2)
    assert fields["waited"] == pytest.approx({"P": 0.4, "E": 0.0})
    assert fields["cpu_share"] == pytest.approx({"P": 0.375, "E": 0.625})
    assert fields["team_cpu_s"] == [{"P": 1.2, "E": 0.0}, {"P": 0.0, "E": 2.0}]
    assert fields["course"] == [{"P": 0.3, "E": 0.5}] * 4


def test_who_waited_for_which_kind_is_known_only_of_threads_that_stay_on_theirs() -> None:
    same = read_imbalance(observed(thread(1, {0: 1.0}), thread(2, {1: 2.0})), PASSIVE, KINDS)
    moved = read_imbalance(
        observed(thread(1, {0: 1.0, 2: 0.5}), thread(2, {3: 2.0})), PASSIVE, KINDS
    )

    # It was born after the last look but the one at the end.
    late = read_imbalance(observed(thread(1, {0: 1.0}), thread(2, {})), PASSIVE, KINDS)

    assert late.fields["imbalance"] == pytest.approx(0.5)
    assert late.fields["team_cpu_s"] == [{"P": 1.0, "E": 0.0}, {"P": 0.0, "E": 0.0}]
    assert same.fields["imbalance"] == pytest.approx(0.25)
    assert moved.fields["team_cpu_s"] == [{"P": 1.0, "E": 0.5}, {"P": 0.0, "E": 2.0}]
    assert "waited" not in same.fields | moved.fields | late.fields


def test_helpers_and_what_has_just_started_the_program_are_no_members_of_the_team() -> None:
    shell, helper = thread(1, {0: 0.02}, pid=1), thread(4, {3: 0.01}, pid=2)
    run = observed(shell, thread(2, {0: 1.0}, pid=2), thread(3, {1: 1.0}, pid=2), helper)

    fields = read_imbalance(run, PASSIVE, KINDS).fields

    assert fields["imbalance"] == pytest.approx(0.0)
    assert fields["team_cpu_s"] == [{"P": 1.0, "E": 0.0}] * 2


@pytest.mark.parametrize(
    ("threads", "reason"),
    [
        ((), "no look found a thread that had used CPU time"),
        (
            (thread(1, {0: 0.3}), thread(2, {1: 0.4})),
            "the busiest thread used less than 0.5 s of CPU time",
        ),
        ((thread(1, {0: 2.0}),), "only 1 of 2 threads were seen at a time"),
        (
            (thread(1, {0: 2.0}, pid=1), thread(2, {1: 2.0}, pid=2)),
            "2 processes worked, not one team",
        ),
        (
            (
                thread(1, {0: 2.0}),
                thread(2, {1: 1.0}, life=(1, 9)),
                thread(3, {1: 1.0}, life=(10, 20)),
            ),
            "threads were started anew, or more than 2 worked",
        ),
    ],
)
def test_without_one_team_that_worked_nothing_is_known(
    threads: tuple[ThreadTrace, ...], reason: str
) -> None:
    reading = read_imbalance(observed(*threads), PASSIVE, KINDS)

    assert reading.fields == {}
    assert set(reading.unavailable) == set(FIELDS)
    assert all(reason in why for why in reading.unavailable.values())


ONE_S = thread(1, {0: 1.0}), thread(2, {1: 2.0})


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"wait_policy": "active"}, "threads that wait actively use CPU time"),
        ({"wait_policy": "runtime-default"}, "libgomp by default waits actively at first"),
        ({"threads": 1}, "one thread has none to wait for"),
        (
            {"variables": (SetVariable("KMP_BLOCKTIME", "infinite", "study.yaml"),)},
            "KMP_BLOCKTIME is set",
        ),
        # How other threads wait is not known: theirs is the least that they waited.
        ({"build": Build("own", "own", "pthreads"), "wait_policy": "runtime-default"}, ""),
    ],
)
def test_waiting_that_may_use_cpu_time_hides_an_imbalance(
    changes: dict[str, object], reason: str
) -> None:
    run = observed(*(ONE_S[:1] if changes.get("threads") == 1 else ONE_S))

    reading = read_imbalance(run, replace(PASSIVE, **changes), KINDS)  # type: ignore[arg-type]

    assert reason in reading.unavailable.get("imbalance", "")
    assert ("imbalance" in reading.fields) == (not reason)
    assert reading.fields["cpu_share"] == {"P": 1.0, "E": 0.0}


def test_of_a_cpu_without_a_kind_nothing_is_said_by_kind() -> None:
    reading = read_imbalance(observed(thread(1, {0: 1.0}), thread(2, {9: 2.0})), PASSIVE, KINDS)

    assert reading.fields == {"imbalance": pytest.approx(0.25)}
    assert reading.unavailable["course"] == "the core kind of CPU 9 is not known"


def test_quarters_end_between_looks_where_there_was_none() -> None:
    # All on CPU 0 for 3 s of 8 s, then all on CPU 2; looks at 0, 3 and 8 s.
    points = [Point(0.0, {}), Point(3.0, {0: 3.0}), Point(8.0, {0: 3.0, 2: 5.0})]

    assert quarters(points) == [
        pytest.approx(of) for of in ({0: 2.0}, {0: 1.0, 2: 1.0}, {0: 0, 2: 2.0}, {0: 0, 2: 2.0})
    ]


@given(gaps=st.lists(st.floats(0.001, 1.0), min_size=1, max_size=700))
def test_a_course_of_any_length_keeps_even_points_its_first_and_its_last(gaps: list[float]) -> None:
    course, at_s = Course(), 0.0
    for gap in gaps:
        course.add(at_s, {0: at_s})
        last_s = at_s
        at_s += gap

    assert len(course.points) < 2 * POINTS
    assert (course.points[0].at_s, course.points[-1].at_s) == (0.0, last_s)
    # A thread that works all the time works a quarter in each quarter, however many were kept.
    assert [of.get(0, 0.0) for of in quarters(course.points)] == pytest.approx([last_s / 4] * 4)
    kept = [point.at_s for point in course.points]
    assert kept == sorted(set(kept))


UNEVEN = """\
#include "work.h"
#include <omp.h>
int main(void) {
#pragma omp parallel
    work_unseen(omp_get_thread_num() == 0 ? 1.2 : 0.6);
    char* digits = looks();
    const long enough = atol(digits) + 2;
    while (atol(digits) < enough) {
        usleep(1000);
    }
}
"""


@pytest.fixture
def looks(tmp_path: Path) -> Iterator[Path]:
    with looks_counted(tmp_path / "looks") as path:
        yield path


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
@pytest.mark.parametrize(("runtime", "compiler"), [("libgomp", "gcc"), ("libomp", "clang")])
def test_planted_work_of_two_to_one_is_found(
    runtime: str, compiler: str, tmp_path: Path, looks: Path
) -> None:
    source, program = tmp_path / "uneven.c", tmp_path / "uneven"
    source.write_text(UNEVEN)
    placed = Path(__file__).with_name("placed")
    command = [
        need_tool(compiler),
        "-O1",
        "-fopenmp",
        f"-I{placed}",
        "-o",
        str(program),
        str(source),
    ]
    subprocess.run(command, check=True)
    first, second = two_cpus()
    variables = {
        "PATH": os.environ["PATH"],
        "LOOKS": str(looks),
        "OMP_NUM_THREADS": "2",
        "OMP_WAIT_POLICY": "passive",
        "OMP_PLACES": f"{{{first}}},{{{second}}}",
        "OMP_PROC_BIND": "close",
    }
    run = execute(Launch((), (str(program),), variables, {}, ()), HANG_S, Harness(witness(), None))
    assert run.ending.exit_code == 0, run.stderr
    made = replace(PASSIVE, build=Build(runtime, "uneven", runtime))

    fields = read_imbalance(
        run, made, [CoreKind("P", (first,), ""), CoreKind("E", (second,), "")]
    ).fields

    # The kernel rounds each CPU time down to 0.01 s, user and system time separately.
    assert fields["imbalance"] == pytest.approx(0.25, abs=0.03)
    assert fields["waited"] == pytest.approx({"P": 0.0, "E": 0.5}, abs=0.04)
