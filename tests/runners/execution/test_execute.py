"""Programs are started, watched and ended for real, with real launchers and OpenMP runtimes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from pprint import pformat

import pytest

from runners.execution import outcome
from runners.execution.execute import Harness, Observation, execute
from runners.execution.witness import LaunchError
from runners.host.processes import ignores_children
from runners.measure.perf.events import perf_command
from runners.placement.process_events import ProcessEvents
from runners.placement.thread_placement import Expected, Proof, busy_threads
from runners.plan.launch import Launch
from tests.support.held import looks_counted
from tests.support.limits import many_open_files
from tests.support.programs import build_team, built, witness
from tests.support.studies import two_cpus, write_program
from tests.support.tools import ROOT, need_tool
from tests.support.wait import HANG_S, until


def run(
    program: list[str], launcher: list[str] | None = None, limit_s: float = HANG_S, **variables: str
) -> Observation:
    environment = {"PATH": os.environ["PATH"], **variables}
    launch = Launch(tuple(launcher or ()), tuple(program), environment, variables, ())
    return execute(launch, limit_s, Harness(witness(), None))


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


def test_exit_status_and_output_are_the_programs_own() -> None:
    seen = run(["/bin/sh", "-c", "echo 'two  blanks'; echo oops >&2; exit 5"])
    assert (seen.ending.exit_code, seen.ending.signal) == (5, None)
    assert (seen.stdout, seen.stderr) == ("two  blanks\n", "oops\n")


@pytest.mark.parametrize("launcher", [[], ["/usr/bin/env"]])
def test_a_program_has_nothing_to_read(launcher: list[str]) -> None:
    assert run(["readlink", "/proc/self/fd/0"], launcher).stdout == "/dev/null\n"


def test_a_signal_is_told_from_an_exit_status() -> None:
    seen = run(["/bin/sh", "-c", "kill -9 $$"])
    assert (seen.ending.exit_code, seen.ending.signal) == (None, signal.SIGKILL)


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


def test_a_program_that_cannot_be_started_says_why() -> None:
    assert run(["/no/such/program"]).ending.exec_errno == 2


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
    """A meter that logs its calls."""

    def __init__(self, name: str, calls: list[str]) -> None:
        self._name, self._calls = name, calls

    def start(self) -> None:
        self._calls.append(f"{self._name} start")

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
    class ListenersMeter(LoggingMeter):
        def start(self) -> None:
            self._calls += listeners()

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
    execute(launch, HANG_S, Harness(witness(), None, meters=(ListenersMeter("", found),)))
    assert [one[:8] for one in found] == ["socket:[", " stop"]


def test_the_time_limit_ends_the_program_and_what_it_started() -> None:
    marker = f"31.{os.getpid()}"
    seen = run(["/bin/sh", "-c", f"sleep {marker} & sleep {marker}"], limit_s=0.3)
    assert seen.timed_out
    assert seen.ending.signal == signal.SIGKILL
    assert not running(marker)


def test_a_daemon_that_leaves_the_process_group_is_ended_too() -> None:
    marker = f"32.{os.getpid()}"
    seen = run(["/bin/sh", "-c", f"setsid sleep {marker} & sleep 0.1"])
    assert seen.ending.exit_code == 0
    assert not running(marker)


def test_the_time_limit_ends_a_program_that_left_its_group_and_stopped_its_witness() -> None:
    marker = f"34.{os.getpid()}"
    code = (
        "import os, signal, time; os.setpgid(0, os.getpgid(os.getppid()));"
        f"os.kill(os.getppid(), signal.SIGSTOP); os.execlp('sleep', 'sleep', '{marker}')"
    )
    seen = run([sys.executable, "-c", code], limit_s=0.5)
    assert seen.timed_out
    assert seen.ending.signal == signal.SIGKILL
    assert not running(marker)


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
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runners.execution.witness.KILL_GRACE_S", 0.1)
    marker = f"35.{os.getpid()}"
    text = SILENT_WITNESS.format(python=sys.executable, marker=marker)
    silent = write_program(tmp_path / "witness", text)
    launch = Launch((), ("/bin/true",), dict(os.environ), {}, ())
    seen = execute(launch, 0.5, Harness(silent, None))
    assert seen.timed_out
    assert seen.ending.cpu_s is None
    assert seen.ending.elapsed_s >= 0.5
    assert not running(marker)


def test_a_launcher_that_does_not_end_and_starts_nothing_is_a_failure_that_names_it() -> None:
    # It closes what the program's start would be reported by.
    stuck = "import os, time; print('stuck', flush=True); os.closerange(3, 4096); time.sleep(600)"
    reason = r"reports nothing more, and did not end within 2 s: stuck$"
    with pytest.raises(LaunchError, match=reason):
        run(["/bin/true"], [sys.executable, "-c", stuck])


def test_a_refused_launcher_is_a_failure_that_names_it() -> None:
    taskset = need_tool("taskset")
    with pytest.raises(LaunchError, match=r"taskset.*(failed to set|invalid)"):
        run(["/bin/true"], [taskset, "-c", "4095"])


def test_the_last_mask_of_the_shortest_program_is_seen() -> None:
    cpu = two_cpus()[1]
    seen = run(["/bin/true"], [need_tool("taskset"), "-c", str(cpu)])
    assert {thread.allowed for thread in seen.threads} == {(cpu,)}
    # Which proves nothing: one look is not enough.
    assert proof_of(seen, "pin", (cpu,), 1).verdict == "unproved"


def team(runtime: str, folder: Path, places: str, mask: str) -> Observation:
    """Run a team of two that works until there were enough looks at it."""
    with looks_counted(folder / "looks") as looks:
        return run(
            [str(build_team(runtime, folder))],
            [need_tool("taskset"), "-c", mask],
            LOOKS=str(looks),
            OMP_NUM_THREADS="2",
            OMP_PLACES=places,
            OMP_PROC_BIND="close",
            OMP_DYNAMIC="false",
            OMP_WAIT_POLICY="passive",
        )


@pytest.mark.parametrize("runtime", ["libgomp", "libomp"])
def test_places_are_proved_with_both_runtimes(tmp_path: Path, runtime: str) -> None:
    first, second = two_cpus()
    seen = team(runtime, tmp_path, f"{{{second}}},{{{first}}}", f"{first},{second}")
    proof = proof_of(seen, "pin", (first, second), 2)
    assert (proof.verdict, proof.reason) == ("proved", "")


# Places, and the CPUs that they ask for, where the program may use A and B, or A alone.
IGNORED = [
    # The mask lacks the second place.
    ("{A},{B}", "A", (0, 1)),
    # libgomp binds to places of its own choice instead, libomp runs unbound.
    ("{4095},{4094}", "A,B", (4094, 4095)),
]


@pytest.mark.parametrize("runtime", ["libgomp", "libomp"])
@pytest.mark.parametrize(("places", "mask", "wanted"), IGNORED, ids=["outside the mask", "invalid"])
def test_a_runtime_that_silently_ignores_its_places_is_caught(
    tmp_path: Path, runtime: str, places: str, mask: str, wanted: tuple[int, int]
) -> None:
    first, second = two_cpus()
    names = str.maketrans({"A": str(first), "B": str(second)})
    seen = team(runtime, tmp_path, places.translate(names), mask.translate(names))
    assert seen.ending.exit_code == 0
    expected = (first, second) if wanted == (0, 1) else wanted
    assert proof_of(seen, "pin", expected, 2).verdict == "violated"


def likwid_pin(*cpus: int) -> list[str]:
    listed = ",".join(map(str, cpus))
    return [need_tool("likwid-pin"), "-q", "-s", "0x0", "-c", listed, "taskset", "-c", listed]


def test_likwid_pin_pins_by_physical_numbers_and_its_start_is_not_counted(tmp_path: Path) -> None:
    first, second = two_cpus()
    slow = write_program(tmp_path / "slow", '#!/bin/sh\nsleep 1\nexec "$@"\n')

    def beside_s() -> float:
        """Return by how much the elapsed time exceeds what the program itself tells."""
        seen = run(
            [str(built("mandelbrot-libgomp")), "30000"],
            [*likwid_pin(second, first), str(slow)],
            OMP_NUM_THREADS="2",
            OMP_WAIT_POLICY="passive",
        )
        proof = proof_of(seen, "pin", (first, second), 2)
        assert (proof.verdict, proof.reason) == ("proved", ""), pformat(seen.threads)
        own_s = float(seen.stdout.partition("Timer Total_time")[2].split()[0])
        return seen.ending.elapsed_s - own_s

    # With the start, which waits here, it would be 1 s at least each time.
    until(lambda: beside_s() < 1.0)


def test_what_likwid_pin_runs_at_a_threads_birth_shares_no_cpu_with_it(tmp_path: Path) -> None:
    first, second = two_cpus()
    slow = "#!/bin/sh\ni=0\nwhile [ $i -lt 300000 ]; do i=$((i + 1)); done\n"
    write_program(tmp_path / "nm", slow)
    seen = run(
        [str(built("mandelbrot-libgomp")), "30000"],
        likwid_pin(second, first),
        OMP_NUM_THREADS="2",
        PATH=f"{tmp_path}:{os.environ['PATH']}",
    )
    assert len({thread.pid for thread in busy_threads(seen.threads)}) == 2, pformat(seen.threads)
    assert proof_of(seen, "pin", (first, second), 2) == Proof("proved"), pformat(seen.threads)


def test_likwid_pin_passes_arguments_with_blanks_unharmed() -> None:
    likwid = need_tool("likwid-pin")
    seen = run(["/bin/sh", "-c", "printf '%s\\n' 'a  b'"], [likwid, "-q", "-c", str(two_cpus()[0])])
    assert seen.stdout.endswith("a  b\n")


def test_a_killed_runner_leaves_no_program_behind() -> None:
    marker = f"33.{os.getpid()}"
    code = (
        "import os, pathlib; from runners.execution.execute import *;"
        "from runners.plan.command_line import Launch;"
        f"execute(Launch((), ('/bin/sleep', '{marker}'), dict(os.environ), {{}}, ()), 60,"
        f" Harness(pathlib.Path({str(witness())!r}), None))"
    )
    runner = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    until(lambda: any("sleep" in text for text in running(marker) if "python" not in text))
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    until(lambda: not running(marker))


def test_a_line_that_is_cut_is_not_kept_in_part() -> None:
    # A million bytes and a half; both ends of what is kept are within a line of 43 bytes.
    line = "time = " + "1234567890" * 3 + " sec.\\n"
    seen = run([sys.executable, "-c", f"print('{line}' * 35000, end='')"])
    lines = set(seen.stdout.splitlines())
    assert lines == {line.removesuffix("\\n"), "[...]"}
