"""How a run's work was divided is found from the looks at its threads."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.base.reading import Reading
from pinstudy.configs.app import Build
from pinstudy.configs.variables import SetVariable
from pinstudy.runners.execution.execute import Harness, execute
from pinstudy.runners.execution.imbalance import FIELDS, read_imbalance
from pinstudy.runners.execution.witness import Ending
from pinstudy.runners.node.topology import CoreKind
from pinstudy.runners.placement.thread_trace import (
    POINTS,
    Course,
    Point,
    Stay,
    ThreadTrace,
    quarters,
)
from pinstudy.runners.plan.launch import Launch
from tests.runners.cases import case, observation
from tests.support.held import looks_counted
from tests.support.programs import PLACED, witness
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


def read(*threads: ThreadTrace, **changes: object) -> Reading:
    """Return how the work of these threads was divided in a run of two seconds."""
    total = {cpu: sum(seen.cpu_s_on.get(cpu, 0.0) for seen in threads) for cpu in (0, 1, 2, 3, 9)}
    points = Point(0.0, {}), Point(2.0, {cpu: used for cpu, used in total.items() if used})
    ending = Ending(0, 2.0, 0.9, 0.1, 1 << 20, None)
    run = observation(ending, threads=threads, looks=20, course=points)
    return read_imbalance(run, replace(PASSIVE, **changes), KINDS)  # type: ignore[arg-type]


def test_a_team_on_two_kinds_is_compared_thread_by_thread_and_kind_by_kind() -> None:
    fields = read(thread(1, {0: 1.2}), thread(2, {2: 2.0})).fields
    # The mean is 1.6 s, the largest 2.0 s.
    assert fields["imbalance"] == pytest.approx(0.2)
    assert fields["waited"] == pytest.approx({"P": 0.4, "E": 0.0})
    assert fields["cpu_share"] == pytest.approx({"P": 0.375, "E": 0.625})
    assert fields["team_cpu_s"] == [{"P": 1.2, "E": 0.0}, {"P": 0.0, "E": 2.0}]
    assert fields["course"] == [{"P": 0.3, "E": 0.5}] * 4


@pytest.mark.parametrize(
    ("threads", "imbalance", "team"),
    [
        # Who waited for which kind is known only of threads that stay on theirs.
        ([thread(1, {0: 1.0}), thread(2, {1: 2.0})], 0.25, [(1.0, 0.0), (2.0, 0.0)]),
        ([thread(1, {0: 1.0, 2: 0.5}), thread(2, {3: 2.0})], 0.125, [(1.0, 0.5), (0.0, 2.0)]),
        # It was born after the last look but the one at the end.
        ([thread(1, {0: 1.0}), thread(2, {})], 0.5, [(1.0, 0.0), (0.0, 0.0)]),
        # A shell that has started the program, and a helper, are no members of the team.
        (
            [
                *(thread(1, {0: 0.02}, pid=1), thread(2, {0: 1.0}, pid=2)),
                *(thread(3, {1: 1.0}, pid=2), thread(4, {3: 0.01}, pid=2)),
            ],
            *(0.0, [(1.0, 0.0), (1.0, 0.0)]),
        ),
    ],
)
def test_the_team_are_its_busiest_threads_wherever_they_were(
    threads: list[ThreadTrace], imbalance: float, team: list[tuple[float, float]]
) -> None:
    fields = read(*threads).fields
    assert fields["imbalance"] == pytest.approx(imbalance)
    assert [(times["P"], times["E"]) for times in fields["team_cpu_s"]] == team
    assert "waited" not in fields


LATE = thread(2, {1: 1.0}, life=(1, 9)), thread(3, {1: 1.0}, life=(10, 20))


@pytest.mark.parametrize(
    ("threads", "reason"),
    [
        ((), "no look found a thread that had used CPU time"),
        ((thread(1, {0: 0.3}), thread(2, {1: 0.4})), "busiest thread used less than 0.5 s of CPU"),
        ((thread(1, {0: 2.0}),), "only 1 of 2 threads were seen at a time"),
        ((thread(1, {0: 2.0}), thread(2, {1: 2.0}, pid=2)), "2 processes worked, not one team"),
        ((thread(1, {0: 2.0}), *LATE), "threads were started anew, or more than 2 worked"),
    ],
)
def test_without_one_team_nothing_is_known(threads: tuple[ThreadTrace, ...], reason: str) -> None:
    reading = read(*threads)
    assert reading.fields == {}
    assert set(reading.unavailable) == set(FIELDS)
    assert all(reason in why for why in reading.unavailable.values())


SPINS = (SetVariable("KMP_BLOCKTIME", "infinite", "study.yaml"),)
OWN = Build("own", "own", "pthreads")


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"wait_policy": "active"}, "threads that wait actively use CPU time"),
        ({"wait_policy": "runtime-default"}, "libgomp by default waits actively at first"),
        ({"threads": 1}, "one thread has none to wait for"),
        ({"variables": SPINS}, "KMP_BLOCKTIME is set"),
        # How other threads wait is not known: theirs is the least that they waited.
        ({"build": OWN, "wait_policy": "runtime-default"}, ""),
    ],
)
def test_waiting_actively_hides_an_imbalance(changes: dict[str, object], reason: str) -> None:
    team = thread(1, {0: 1.0}), thread(2, {1: 2.0})
    reading = read(*team[: 1 if "threads" in changes else 2], **changes)
    assert reason in reading.unavailable.get("imbalance", "")
    assert ("imbalance" in reading.fields) == (not reason)
    assert reading.fields["cpu_share"] == {"P": 1.0, "E": 0.0}


def test_of_a_cpu_without_a_kind_nothing_is_said_by_kind() -> None:
    reading = read(thread(1, {0: 1.0}), thread(2, {9: 2.0}))
    assert reading.fields == {"imbalance": pytest.approx(0.25)}
    assert reading.unavailable["course"] == "the core kind of CPU 9 is not known"


def test_quarters_end_between_looks_where_there_was_none() -> None:
    # All on CPU 0 for 3 s of 8 s, then all on CPU 2; looks at 0, 3 and 8 s.
    points = [Point(0.0, {}), Point(3.0, {0: 3.0}), Point(8.0, {0: 3.0, 2: 5.0})]
    expected: Sequence[dict[int, float]] = [{0: 2}, {0: 1, 2: 1}, {0: 0, 2: 2}, {0: 0, 2: 2}]
    assert quarters(points) == [pytest.approx(quarter) for quarter in expected]


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
    worked_s = [quarter.get(0, 0.0) for quarter in quarters(course.points)]
    assert worked_s == pytest.approx([last_s / 4] * 4)
    kept = [point.at_s for point in course.points]
    assert kept == sorted(set(kept))


UNEVEN = """\
#include "work.h"
#include <omp.h>
int main(void) {
#pragma omp parallel
    work_unseen(omp_get_thread_num() == 0 ? 0.8 : 0.4);
    char* digits = looks();
    const long enough = atol(digits) + 2;
    while (atol(digits) < enough) {
        usleep(1000);
    }
}
"""


@pytest.mark.parametrize(("runtime", "compiler"), [("libgomp", "gcc"), ("libomp", "clang")])
def test_planted_work_of_two_to_one_is_found(runtime: str, compiler: str, tmp_path: Path) -> None:
    first, second = two_cpus()
    source, program = tmp_path / "uneven.c", tmp_path / "uneven"
    source.write_text(UNEVEN)
    command = [need_tool(compiler), "-O1", "-fopenmp", f"-I{PLACED}", "-o"]
    subprocess.run([*command, str(program), str(source)], check=True)
    variables = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
    variables |= {"OMP_PLACES": f"{{{first}}},{{{second}}}", "OMP_PROC_BIND": "close"}
    with looks_counted(tmp_path / "looks") as looks:
        variables["LOOKS"] = str(looks)
        launch = Launch((), (str(program),), variables, {}, ())
        run = execute(launch, HANG_S, Harness(witness(), None))
    assert run.ending.exit_code == 0, run.stderr
    made = replace(PASSIVE, build=Build(runtime, "uneven", runtime))
    kinds = [CoreKind("P", (first,), ""), CoreKind("E", (second,), "")]
    fields = read_imbalance(run, made, kinds).fields
    # The kernel rounds each CPU time down to 0.01 s, user and system time separately.
    assert fields["imbalance"] == pytest.approx(0.25, abs=0.03)
    assert fields["waited"] == pytest.approx({"P": 0.0, "E": 0.5}, abs=0.04)
