"""Programs are started, watched and ended for real, and are where they or their runtimes go."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from pprint import pformat

import pytest

from pinstudy.runners.execution import outcome
from pinstudy.runners.execution.execute import Harness, Observation, execute
from pinstudy.runners.execution.witness import LaunchError
from pinstudy.runners.host.processes import ignores_children
from pinstudy.runners.measure.perf.events import OUTPUT, perf_command
from pinstudy.runners.measure.perf.stat import PerfStat
from pinstudy.runners.placement.process_events import ProcessEvents
from pinstudy.runners.placement.thread_placement import Expected, Proof, busy_threads
from pinstudy.runners.plan.launch import Launch
from tests.support.held import looks_counted
from tests.support.limits import many_open_files
from tests.support.processes import alive, children, name_of, wait_until_gone
from tests.support.programs import build_placed, build_team, built, run_placed, witness
from tests.support.studies import two_cpus, write_program
from tests.support.tools import ROOT, need_tool
from tests.support.wait import HANG_S, until

OMP = {"OMP_NUM_THREADS": "2", "OMP_DYNAMIC": "false", "OMP_WAIT_POLICY": "passive"}


def run(
    program: list[str],
    launcher: Sequence[str] = (),
    limit_s: float = HANG_S,
    variables: dict[str, str] = OMP,
) -> Observation:
    environment = {"PATH": os.environ["PATH"], **variables}
    launch = Launch(tuple(launcher), tuple(program), environment, variables, ())
    return execute(launch, limit_s, Harness(witness(), None))


def shell(script: str, limit_s: float = HANG_S) -> Observation:
    return run(["/bin/sh", "-c", script], limit_s=limit_s)


def proof_of(seen: Observation, binding: str, places: tuple[int, ...], threads: int) -> Proof:
    return outcome.proof_of(seen, [Expected(binding, places, threads)])


def running(marker: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = entry.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if marker in text and f"/{os.getpid()}/" not in str(entry):
            found.append(text)
    return found


@pytest.fixture
def marker() -> Iterator[str]:
    """A time to sleep by which a test's processes are known, of which none may be left."""
    name = f"31.{os.getpid()}"
    yield name
    assert not running(name)


def test_exit_status_and_output_are_the_programs_own() -> None:
    seen = shell("echo 'two  blanks'; echo oops >&2; exit 5")
    assert (seen.ending.exit_code, seen.ending.signal) == (5, None)
    assert (seen.stdout, seen.stderr) == ("two  blanks\n", "oops\n")
    assert run(["/no/such/program"]).ending.exec_errno == 2


def test_a_signal_is_told_from_an_exit_status() -> None:
    seen = shell("kill -9 $$")
    assert (seen.ending.exit_code, seen.ending.signal) == (None, signal.SIGKILL)


def test_a_program_has_nothing_to_read() -> None:
    for launcher in ([], ["/usr/bin/env"]):
        assert run(["readlink", "/proc/self/fd/0"], launcher).stdout == "/dev/null\n"


def test_a_program_ends_where_its_starter_ignores_the_end_of_children() -> None:
    code = "import os, signal as s, sys; s.signal(s.SIGCHLD, s.SIG_IGN); os.execv(*sys.argv[1:2]"
    ignoring = [sys.executable, "-c", f"{code}, sys.argv[1:])"]
    seen = run(["/bin/cat", "/proc/self/status"], ignoring, limit_s=30)
    assert (seen.timed_out, seen.ending.exit_code) == (False, 0)
    assert not ignores_children(seen.stdout)


def test_a_program_is_run_and_counted_beside_many_open_files() -> None:
    launch = Launch((), ("/bin/echo", "here"), {}, {}, ())
    harness = Harness(witness(), perf_command(need_tool("perf"), "task-clock"))
    with many_open_files():
        seen = execute(launch, HANG_S, harness)
    assert (seen.stdout, seen.perf_problem) == ("here\n", "")
    assert "task-clock" in seen.perf_output
    # Not with the descriptors and the process that it had.
    assert seen.perf_command == harness.perf_command


def test_the_window_is_the_programs_own() -> None:
    def elapsed_s() -> float:
        found = run(["/bin/sleep", "0.3"]).ending.elapsed_s
        assert found >= 0.3
        return found

    # A busy node may keep any program waiting, but not each of them.
    until(lambda: elapsed_s() < 0.45)


def test_what_the_launcher_does_is_outside_the_window() -> None:
    def elapsed_s() -> float:
        slow = ["/bin/sh", "-c", 'sleep 1; exec "$@"', "sh"]
        return run(["/bin/sleep", "0.3"], slow).ending.elapsed_s

    # With the launcher it would be 1.3 s at least.
    until(lambda: 0.3 <= elapsed_s() < 1.0)


class LoggingMeter:
    """A meter that logs its calls, and what it finds when it starts."""

    def __init__(
        self, name: str, calls: list[str], found: Callable[[], list[str]] = lambda: []
    ) -> None:
        self._name, self._calls, self._found = name, calls, found

    def start(self) -> None:
        self._calls += [f"{self._name} start", *self._found()]

    def sample(self) -> None:
        pass

    def stop(self) -> None:
        self._calls.append(f"{self._name} stop")


def test_meters_nest_and_the_last_is_nearest_to_the_program() -> None:
    calls: list[str] = []
    meters = (LoggingMeter("outer", calls), LoggingMeter("inner", calls))
    launch = Launch((), ("/bin/true",), {}, {}, ())
    harness = Harness(witness(), None, meters=meters)
    execute(launch, 10.0, harness, lambda _: calls.append("program"))
    assert calls == ["outer start", "inner start", "program", "inner stop", "outer stop"]


def test_the_wait_for_the_kernels_reports_of_births_is_over_when_the_meters_start() -> None:
    def listeners() -> list[str]:
        """Return this process's sockets at the kernel's connector, netlink's protocol 11."""
        lines = Path("/proc/net/netlink").read_text().splitlines()[1:]
        inodes = {fields[-1] for line in lines if (fields := line.split())[1] == "11"}
        links = [str(Path(entry).readlink()) for entry in os.scandir("/proc/self/fd")]
        return [link for link in links if link.startswith("socket:[") and link[8:-1] in inodes]

    with ProcessEvents(()) as events:
        if events.unmet(()) is None:
            pytest.skip("the kernel sends no process events here")
    found: list[str] = []
    launch = Launch((), ("/bin/true",), {}, {}, ())
    meter = LoggingMeter("", found, listeners)
    execute(launch, HANG_S, Harness(witness(), None, meters=(meter,)))
    assert [call[:8] for call in found] == [" start", "socket:[", " stop"]


LEAVES_ITS_GROUP_AND_STOPS_ITS_WITNESS = (
    "import os, signal, time; os.setpgid(0, os.getpgid(os.getppid()));"
    "os.kill(os.getppid(), signal.SIGSTOP); os.execlp('sleep', 'sleep', 'MARKER')"
)


@pytest.mark.parametrize(
    "program",
    [
        ("/bin/sh", "-c", "sleep MARKER & sleep MARKER"),
        (sys.executable, "-c", LEAVES_ITS_GROUP_AND_STOPS_ITS_WITNESS),
    ],
)
def test_the_time_limit_ends_all_that_was_started(marker: str, program: tuple[str, ...]) -> None:
    seen = run([word.replace("MARKER", marker) for word in program], limit_s=0.5)
    assert seen.timed_out
    assert seen.ending.signal == signal.SIGKILL


def test_a_daemon_that_leaves_the_process_group_is_ended_too(marker: str) -> None:
    seen = shell(f"setsid sleep {marker} & sleep 0.1")
    assert seen.ending.exit_code == 0


SILENT_WITNESS = """#!{python}
import os, sys, time
program = os.fork()
if program == 0:
    os.setsid()
    os.execlp("sleep", "sleep", "{marker}")
os.write(int(sys.argv[2]), b"ready %d %d\\n" % (program, os.getpid()))
time.sleep(1000)
"""


def test_a_witness_that_says_no_more_is_ended_with_all_its_descendants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, marker: str
) -> None:
    monkeypatch.setattr("pinstudy.runners.execution.witness.KILL_GRACE_S", 0.1)
    text = SILENT_WITNESS.format(python=sys.executable, marker=marker)
    silent = write_program(tmp_path / "witness", text)
    launch = Launch((), ("/bin/true",), dict(os.environ), {}, ())
    seen = execute(launch, 0.5, Harness(silent, None))
    assert seen.timed_out
    assert seen.ending.cpu_s is None
    assert seen.ending.elapsed_s >= 0.5


def test_a_killed_runner_leaves_no_program_behind(marker: str) -> None:
    code = (
        "import os, pathlib; from pinstudy.runners.execution.execute import *;"
        "from pinstudy.runners.plan.command_line import Launch;"
        f"execute(Launch((), ('/bin/sleep', '{marker}'), dict(os.environ), {{}}, ()), 60,"
        f" Harness(pathlib.Path({str(witness())!r}), None))"
    )
    runner = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    until(lambda: any("sleep" in text for text in running(marker) if "python" not in text))
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    until(lambda: not running(marker))


# It closes what the program's start would be reported by.
STUCK = "import os, time; print('stuck', flush=True); os.closerange(3, 4096); time.sleep(600)"


@pytest.mark.parametrize(
    ("launcher", "reason"),
    [
        (
            [sys.executable, "-c", STUCK],
            r"reports nothing more, and did not end within 2 s: stuck$",
        ),
        (["taskset", "-c", "4095"], r"taskset.*(failed to set|invalid)"),
        (["/bin/sh", "-c", "kill -9 $$"], r"^/bin/sh was ended by SIGKILL"),
        # In a printable line.
        (
            ["/bin/sh", "-c", r"printf 'no\n \033[31mluck' >&2; exit 3"],
            r"ended with status 3: no \ufffd\[31mluck$",
        ),
    ],
)
def test_a_launcher_that_starts_nothing_is_named(launcher: list[str], reason: str) -> None:
    with pytest.raises(LaunchError, match=reason):
        run(["/bin/true"], [need_tool(launcher[0]), *launcher[1:]])


def test_a_line_that_is_cut_is_not_kept_in_part() -> None:
    # A million bytes and a half; both ends of what is kept are within a line of 43 bytes.
    line = "time = " + "1234567890" * 3 + " sec."
    seen = run([sys.executable, "-c", f"print('{line}\\n' * 35000, end='')"])
    assert set(seen.stdout.splitlines()) == {line, "[...]"}


def test_the_last_mask_of_the_shortest_program_is_seen() -> None:
    cpu = two_cpus()[1]
    seen = run(["/bin/true"], [need_tool("taskset"), "-c", str(cpu)])
    assert {thread.allowed for thread in seen.threads} == {(cpu,)}
    # Which proves nothing: one look is not enough.
    assert proof_of(seen, "pin", (cpu,), 1).verdict == "unproved"


# By these a witness ends its program, and not itself.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


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
        command = perf_command(need_tool("perf"), "task-clock,context-switches")
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
def test_a_killed_witness_takes_all_processes_with_it(struck: Struck, launched: bool) -> None:
    launcher = (need_tool("taskset"), "-c", str(min(os.sched_getaffinity(0)))) if launched else ()
    with pytest.raises(LaunchError, match=r"^pinstudy-witness was ended by SIGKILL"):
        struck.run(parent, launcher=launcher)


@pytest.mark.parametrize("number", ENDING)
def test_a_witness_that_is_asked_to_ends_its_program(struck: Struck, number: int) -> None:
    assert struck.run(parent, number).ending.signal == signal.SIGKILL


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_perf_that_is_ended_has_no_partial_counts(struck: Struck, number: int) -> None:
    seen = struck.run(lambda _: perf_of_this_process(), number)
    assert (seen.ending.exit_code, seen.perf_output) == (0, "")
    assert seen.perf_problem == f"perf was ended by {signal.Signals(number).name} while it counted"


@pytest.mark.parametrize(
    "number",
    [signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGXCPU, signal.SIGPIPE, 34, 64],
)
def test_a_witness_leaves_warnings_to_the_study(number: int) -> None:
    assert shell(f"kill -{number} $PPID").ending.exit_code == 0


@pytest.mark.parametrize(
    "words", ["", "ended", "ended x y", "ended 1 2 3", "failed no", "reaped 0", "x" * 100_000]
)
def test_what_a_program_says_in_its_witness_name_fails_the_run(words: str) -> None:
    # The second of the descriptors that the witness's arguments name.
    script = "set -- $(tr '\\0' ' ' </proc/$PPID/cmdline); echo \"$WORDS\" >/proc/$PPID/fd/$3; cat"
    with pytest.raises(LaunchError, match=r"^pinstudy-witness (said|reports)") as refused:
        run(["/bin/sh", "-c", script], variables={"WORDS": words})
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


@pytest.fixture
def looks(tmp_path: Path) -> Iterator[Path]:
    """The file with the number of looks, for which programs wait (work.h): no look is too late."""
    with looks_counted(tmp_path / "looks") as path:
        yield path


def team(runtime: str, looks: Path, places: str, mask: str) -> Observation:
    """Run a team of two that works until there were enough looks at it."""
    program = [str(build_team(runtime))]
    variables = OMP | {"LOOKS": str(looks), "OMP_PLACES": places, "OMP_PROC_BIND": "close"}
    return run(program, [need_tool("taskset"), "-c", mask], variables=variables)


@pytest.mark.parametrize("runtime", ["libgomp", "libomp"])
def test_places_are_proved_with_both_runtimes(looks: Path, runtime: str) -> None:
    first, second = two_cpus()
    seen = team(runtime, looks, f"{{{second}}},{{{first}}}", f"{first},{second}")
    assert proof_of(seen, "pin", (first, second), 2) == Proof("proved")


@pytest.mark.parametrize("runtime", ["libgomp", "libomp"])
@pytest.mark.parametrize("is_invalid", [False, True], ids=["outside the mask", "invalid"])
def test_a_runtime_ignoring_places_is_caught(looks: Path, runtime: str, is_invalid: bool) -> None:
    first, second = two_cpus()
    # libgomp binds to places of its own choice instead of invalid ones, libomp runs unbound.
    wanted = (4094, 4095) if is_invalid else (first, second)
    mask = f"{first},{second}" if is_invalid else str(first)
    seen = team(runtime, looks, ",".join(f"{{{cpu}}}" for cpu in wanted), mask)
    assert seen.ending.exit_code == 0
    assert proof_of(seen, "pin", wanted, 2).verdict == "violated"


def likwid_pin(*cpus: int) -> list[str]:
    listed = ",".join(map(str, cpus))
    return [need_tool("likwid-pin"), "-q", "-s", "0x0", "-c", listed, "taskset", "-c", listed]


def test_likwid_pin_pins_by_physical_numbers_and_its_start_is_not_counted(tmp_path: Path) -> None:
    first, second = two_cpus()
    slow = write_program(tmp_path / "slow", '#!/bin/sh\nsleep 1\nexec "$@"\n')
    launcher = [*likwid_pin(second, first), str(slow)]
    program = [str(built("mandelbrot-libgomp")), "30000"]

    def beside_s() -> float:
        """Return by how much the elapsed time exceeds what the program itself tells."""
        seen = run(program, launcher)
        assert proof_of(seen, "pin", (first, second), 2) == Proof("proved"), pformat(seen.threads)
        own_s = float(seen.stdout.partition("Timer Total_time")[2].split()[0])
        return seen.ending.elapsed_s - own_s

    # With the start, which waits here, it would be 1 s at least each time.
    until(lambda: beside_s() < 1.0)


def test_what_likwid_pin_runs_at_a_threads_birth_shares_no_cpu_with_it(tmp_path: Path) -> None:
    first, second = two_cpus()
    slow = "#!/bin/sh\ni=0\nwhile [ $i -lt 300000 ]; do i=$((i + 1)); done\n"
    write_program(tmp_path / "nm", slow)
    program = [str(built("mandelbrot-libgomp")), "30000"]
    path = f"{tmp_path}:{os.environ['PATH']}"
    seen = run(program, likwid_pin(second, first), variables=OMP | {"PATH": path})
    assert len({thread.pid for thread in busy_threads(seen.threads)}) == 2, pformat(seen.threads)
    assert proof_of(seen, "pin", (first, second), 2) == Proof("proved"), pformat(seen.threads)


def test_likwid_pin_passes_arguments_with_blanks_unharmed() -> None:
    likwid = need_tool("likwid-pin")
    seen = run(["/bin/echo", "a  b"], [likwid, "-q", "-c", str(two_cpus()[0])])
    assert seen.stdout.endswith("a  b\n")


@pytest.fixture
def placed() -> str:
    """The program that places itself."""
    return str(build_placed("self_placed"))


# What would fool a proof, and what only looks like it.
# Program, binding, CPUs of the mapping and of the program as 0 or 1 of two, threads, verdict.
SELF_PLACED = [
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


@pytest.mark.parametrize(("name", "binding", "mapping", "own", "threads", "verdict"), SELF_PLACED)
def test_programs_that_place_themselves_are_told_from_those_that_do_not(
    *, placed: str, looks: Path, name: str, binding: str, mapping: str, own: str, threads: int,
    verdict: str,
) -> None:  # fmt: skip
    both = two_cpus()
    places = tuple(both[int(place)] for place in mapping)
    # Where the program leaves the mapping's CPUs it must be allowed to: no cpuset holds it.
    cpus = [str(both[int(place)]) for place in own]
    seen = run_placed([placed, name, *cpus], places, looks, HANG_S)
    assert seen.ending.exit_code == 0, seen.stderr
    # As root, who gets reports of births, and as any other user.
    for observation in (seen, replace(seen, unmet=None)):
        proof = proof_of(observation, binding, places, threads)
        assert proof.verdict == verdict, (proof, seen.threads)


def test_a_smaller_team_is_told_from_one_that_was_not_met(placed: str, looks: Path) -> None:
    seen = run_placed([placed, "reexecute"], two_cpus(), looks, HANG_S)
    proof = proof_of(seen, "none", two_cpus(), 2)
    if seen.unmet is None:
        assert proof.verdict == "unproved"
        assert proof.reason.startswith("only 1 of 2 threads were seen in ")
    else:
        assert (proof.verdict, proof.reason) == ("violated", "only 1 of 2 threads ran")


def test_cpu_time_is_that_of_all_processes_that_came_of_a_program(placed: str, looks: Path) -> None:
    seen = run_placed([placed, "daemonise"], two_cpus(), looks, HANG_S)
    assert seen.ending.cpu_s is not None and seen.ending.cpu_s >= 0.3
    # The kernel tells of a process and of the children that it waited for.
    assert seen.ending.user_s is not None and seen.ending.user_s < 0.1
