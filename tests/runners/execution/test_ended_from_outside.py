"""What takes part in a run is ended from outside: nothing is left, and no number is wrong."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from runners.execution.execute import Harness, Observation, execute
from runners.execution.witness import LaunchError
from runners.measure.perf.events import OUTPUT, perf_command
from runners.measure.perf.stat import PerfStat
from runners.plan.launch import Launch
from tests.support.processes import alive, children, name_of, wait_until_gone
from tests.support.programs import witness
from tests.support.tools import need_tool
from tests.support.wait import HANG_S, until

# By these a witness ends its program, and not itself.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
EVENTS = "task-clock,context-switches"


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def perf_of_this_process() -> int:
    return next(pid for pid in children(os.getpid()) if name_of(pid).startswith("perf"))


class Struck:
    """A program with children of its own, also daemons, of which something is killed meanwhile.

    What is not killed runs until the victim is gone.
    """

    def __init__(self, folder: Path) -> None:
        self._gate = folder / "gate"
        os.mkfifo(self._gate)
        self._processes: list[int] = []

    def run(
        self,
        victim: Callable[[int], int],
        number: int = signal.SIGKILL,
        launcher: tuple[str, ...] = (),
    ) -> Observation:
        """Run the program, kill the victim by a signal, and wait until nothing is left."""
        sleepers = "sleep 600 & setsid sleep 600 & env -i setsid /bin/sleep 600 &"
        program = ("/bin/sh", "-c", f"{sleepers} cat {self._gate}; true")
        launch = Launch(launcher, program, {"PATH": os.environ["PATH"]}, {}, ())
        command = perf_command(need_tool("perf"), EVENTS)
        strikes: list[threading.Thread] = []

        def strike(program: int) -> None:
            strikes.append(threading.Thread(target=self._strike, args=(program, victim, number)))
            strikes[0].start()

        try:
            return execute(launch, HANG_S, Harness(witness(), command), strike)
        finally:
            strikes[0].join()
            assert len(self._processes) == 7
            wait_until_gone(self._processes)

    def _strike(self, program: int, victim: Callable[[int], int], number: int) -> None:
        until(lambda: sorted(map(name_of, children(program))) == ["cat", *["sleep"] * 3])
        self._processes = [program, parent(program), *children(program)]
        self._processes.append(perf_of_this_process())
        struck = victim(program)
        os.kill(struck, number)
        # A witness ends its program first.
        until(lambda: not alive(abs(struck)) or not alive(program))
        # Opened for both sides: that waits for nobody, and lets whoever reads go on.
        gate = os.open(self._gate, os.O_RDWR)
        self._gate.unlink()
        os.close(gate)


@pytest.fixture
def struck(tmp_path: Path) -> Struck:
    return Struck(tmp_path)


@pytest.mark.parametrize("sign", [1, -1], ids=["itself", "its group"])
def test_a_program_that_is_killed_says_so_and_leaves_nothing(struck: Struck, sign: int) -> None:
    assert struck.run(lambda program: sign * program).ending.signal == signal.SIGKILL


def test_a_child_that_is_killed_is_the_programs_own_business(struck: Struck) -> None:
    assert struck.run(lambda program: children(program)[0]).ending.exit_code == 0


@pytest.mark.parametrize("launched", [False, True])
def test_a_witness_that_is_killed_takes_program_and_children_with_it(
    struck: Struck, launched: bool
) -> None:
    launcher = (need_tool("taskset"), "-c", str(min(os.sched_getaffinity(0)))) if launched else ()
    with pytest.raises(LaunchError, match=r"^pinstudy-witness was ended by SIGKILL"):
        struck.run(parent, launcher=launcher)


@pytest.mark.parametrize("number", ENDING)
def test_a_witness_that_is_asked_to_end_ends_its_program_and_says_so(
    struck: Struck, number: int
) -> None:
    assert struck.run(parent, number).ending.signal == signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_perf_that_is_ended_gives_a_reason_and_no_partial_counts(
    struck: Struck, number: int
) -> None:
    seen = struck.run(lambda _: perf_of_this_process(), number)
    assert (seen.ending.exit_code, seen.perf_output) == (0, "")
    assert seen.perf_problem == f"perf was ended by {signal.Signals(number).name} while it counted"


def run(*program: str, launcher: tuple[str, ...] = (), words: str = "") -> Observation:
    launch = Launch(launcher, program, {"WORDS": words, "PATH": os.environ["PATH"]}, {}, ())
    return execute(launch, HANG_S, Harness(witness(), None))


@pytest.mark.parametrize(
    "number",
    [signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGXCPU, signal.SIGPIPE, 34, 64],
)
def test_a_witness_leaves_warnings_to_the_study(number: int) -> None:
    assert run("/bin/sh", "-c", "kill -$0 $PPID", str(number)).ending.exit_code == 0


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("kill -9 $$", r"^/bin/sh was ended by SIGKILL"),
        (r"printf 'no\n \033[31mluck' >&2; exit 3", r"ended with status 3: no \ufffd\[31mluck$"),
    ],
)
def test_a_launcher_that_fails_is_named_in_a_printable_line(script: str, message: str) -> None:
    with pytest.raises(LaunchError, match=message):
        run("/bin/true", launcher=("/bin/sh", "-c", script))


@pytest.mark.parametrize(
    "words", ["", "ended", "ended x y", "ended 1 2 3", "failed no", "reaped 0", "x" * 100_000]
)
def test_what_a_program_says_in_its_witness_name_fails_the_run(words: str) -> None:
    # The second of the descriptors that the witness's arguments name.
    script = "set -- $(tr '\\0' ' ' </proc/$PPID/cmdline); echo \"$WORDS\" >/proc/$PPID/fd/$3; cat"
    with pytest.raises(LaunchError, match=r"^pinstudy-witness (said|reports)") as refused:
        run("/bin/sh", "-c", script, words=words)
    assert len(str(refused.value)) < 200


def test_a_perf_that_stops_by_itself_with_an_error_has_no_counts() -> None:
    # A shell looks for signals between commands: one that waits for ever might miss the signal.
    script = (
        "trap 'exit 3' INT; fd=/proc/self/fd; ctl=${5#fd:}; ack=${ctl#*,}; ctl=${ctl%,*};"
        "read word <$fd/$ctl; echo ack >$fd/$ack;"
        'echo "9;;context-switches;5;100.00" >"$1"; while :; do sleep 0.02; done'
    )
    perf = PerfStat(("/bin/sh", "-c", script, "perf", OUTPUT), ())
    try:
        assert perf.problem == ""
        assert perf.finish() == ""
        assert perf.problem == "perf ended with status 3 while it counted"
    finally:
        perf.close()
