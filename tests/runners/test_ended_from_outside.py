"""What takes part in a run is ended from outside: nothing is left, and no number is wrong."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from runners.execute import Harness, Observation, execute
from runners.launch import Launch
from runners.perf_events import perf_command
from runners.perf_process import PerfProcess
from runners.programs import WITNESS, find_program
from runners.witness_process import LaunchError
from tests.processes import alive, children
from tests.tools import need_tool

EVENTS = "task-clock,context-switches"


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def perf_of_this_process() -> int:
    return next(
        pid
        for pid in children(os.getpid())
        if Path(f"/proc/{pid}/comm").read_text().strip().startswith("perf")
    )


class Struck:
    """A program with a child of its own, of which something is killed while it runs."""

    def __init__(self, victim: Callable[[int], int], number: int = signal.SIGKILL) -> None:
        self._victim, self._number = victim, number
        self.processes: list[int] = []

    def run(self, launcher: tuple[str, ...] = ()) -> Observation:
        witness = find_program(WITNESS)
        assert witness, "the witness is not built; run `make setup`"
        program = ("/bin/sh", "-c", "sleep 33 & sleep 0.4; true")
        launch = Launch(launcher, program, {"PATH": os.environ["PATH"]}, {}, ())
        build = partial(perf_command, need_tool("perf"), EVENTS)
        return execute(launch, 20.0, Harness(witness, build), self._strike)

    def _strike(self, program: int) -> None:
        def later() -> None:
            while len(children(program)) < 2:
                time.sleep(0.005)
            self.processes = [program, parent(program), *children(program)]
            self.processes.append(perf_of_this_process())
            os.kill(self._victim(program), self._number)

        threading.Thread(target=later).start()

    def assert_nothing_is_left(self) -> None:
        assert len(self.processes) == 5
        deadline = time.monotonic() + 5
        while left := [pid for pid in self.processes if alive(pid)]:
            assert time.monotonic() < deadline, left
            time.sleep(0.01)


def itself(program: int) -> int:
    return program


def its_group(program: int) -> int:
    return -program


@pytest.mark.parametrize("victim", [itself, its_group])
def test_a_program_that_is_killed_says_so_and_leaves_nothing(victim: Callable[[int], int]) -> None:
    struck = Struck(victim)
    assert struck.run().ending.signal == signal.SIGKILL
    struck.assert_nothing_is_left()


def test_a_child_that_is_killed_is_the_programs_own_business() -> None:
    struck = Struck(lambda program: children(program)[0])
    assert struck.run().ending.exit_code == 0
    struck.assert_nothing_is_left()


@pytest.mark.parametrize("launched", [False, True])
def test_a_witness_that_is_killed_takes_program_and_children_with_it(launched: bool) -> None:
    launcher = (need_tool("taskset"), "-c", str(min(os.sched_getaffinity(0)))) if launched else ()
    struck = Struck(parent)
    with pytest.raises(LaunchError, match=r"^pinstudy-witness was ended by SIGKILL"):
        struck.run(launcher)
    struck.assert_nothing_is_left()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_perf_that_is_ended_gives_a_reason_and_no_partial_counts(number: int) -> None:
    struck = Struck(lambda _: perf_of_this_process(), number)
    seen = struck.run()
    assert seen.ending.exit_code == 0
    assert seen.perf_output == ""
    assert seen.perf_problem == f"perf was ended by {signal.Signals(number).name} while it counted"
    struck.assert_nothing_is_left()


def test_a_launcher_that_is_killed_is_named() -> None:
    witness = find_program(WITNESS)
    assert witness, "the witness is not built; run `make setup`"
    launch = Launch(("/bin/sh", "-c", "kill -9 $$"), ("/bin/true",), {}, {}, ())
    with pytest.raises(LaunchError, match=r"^/bin/sh was ended by SIGKILL"):
        execute(launch, 20.0, Harness(witness, None))


def test_a_perf_that_stops_by_itself_with_an_error_has_no_counts() -> None:
    script = (
        "trap 'exit 3' INT; fd=/proc/self/fd; read word <$fd/$1; echo ack >$fd/$2;"
        'echo "9;;context-switches;5;100.00" >"$3"; read wait <$fd/$1'
    )

    def build(_pid: int, output: str, control: int, acknowledge: int) -> list[str]:
        return ["/bin/sh", "-c", script, "perf", str(control), str(acknowledge), output]

    perf = PerfProcess(build, os.getpid())
    try:
        time.sleep(0.2)
        assert perf.problem == ""
        assert perf.finish() == ""
        assert perf.problem == "perf ended with status 3 while it counted"
    finally:
        perf.close()
