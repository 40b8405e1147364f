"""What a killed pinstudy has left ends, all else goes on; which daemons interfere."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.base.errors import StudyError
from pinstudy.base.reading import Unavailable, known
from pinstudy.runners.host import supervisor
from pinstudy.runners.host.interference import (
    daemon_warning,
    end_orphans,
    find_daemons,
    stop_commands,
)
from pinstudy.runners.host.processes import parse_task, read_stats
from pinstudy.runners.host.starter import (
    INSTRUMENT,
    PROGRAM,
    VARIABLE,
    Starter,
    folder_prefix,
    mark_of,
    marked,
    own_starter,
    parse_starter,
    starter_of_folder,
)
from pinstudy.runners.host.tree import Tree
from tests.runners.proc_trees import process
from tests.support.ordinary_user import NOBODY, open_folder
from tests.support.processes import alive, children, ended, name_of, wait_until_gone
from tests.support.programs import witness as built_witness
from tests.support.tools import ROOT, missing, need_tool
from tests.support.wait import HANG_S, until

# A runner: its program, below a witness, has a child in a session of its own, as a daemon has.
RUNNER = """
import sys; sys.path.insert(0, sys.argv[1])
from pathlib import Path
from pinstudy.runners.execution.execute import Harness, execute
from pinstudy.runners.plan.launch import Launch
command = "setsid sleep 300 & echo started; exec sleep 300"
launch = Launch(tuple(sys.argv[3:]), ("/bin/sh", "-c", command), {"PATH": "/usr/bin:/bin"}, {}, ())
execute(launch, 300.0, Harness(Path(sys.argv[2]), None), lambda pid: print(pid, flush=True))
"""
# A starter that waits, with a marked program that has a daemon, and a temporary folder.
STARTER = """
import subprocess, sys; sys.path.insert(0, sys.argv[1])
from pinstudy.runners.execution.output_file import temporary_folder
from pinstudy.runners.host.starter import marked
command = f"{sys.argv[2]} sleep 300 & echo $!; exec sleep 300"
environment = marked({"PATH": "/usr/bin:/bin"})
with temporary_folder() as folder:
    program = subprocess.Popen(["/bin/sh", "-c", command], env=environment, start_new_session=True,
                               stdout=subprocess.PIPE)
    print(program.pid, int(program.stdout.readline()), folder, flush=True)
    sys.stdin.read()
"""


class Left:
    """A process that is killed, what it started, and its folder."""

    def __init__(self, starter: subprocess.Popen[str]) -> None:
        self.starter = starter
        assert starter.stdout
        program, *more = starter.stdout.readline().split()
        self.processes = [int(program), *map(int, more[:1])]
        self.folder = Path(*more[1:])
        until(lambda: {name_of(pid) for pid in self.processes} == {"sleep"})

    def lose_starter(self) -> None:
        self.starter.kill()
        self.starter.wait()

    @property
    def alive(self) -> bool:
        return all(map(alive, self.processes))


@contextmanager
def left(script: str, *arguments: str) -> Iterator[Left]:
    starter = subprocess.Popen(
        [sys.executable, "-c", script, str(ROOT), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": tempfile.gettempdir()},
    )
    with ended(starter):
        lost = Left(starter)
        try:
            yield lost
        finally:
            starter.kill()
            for pid in lost.processes:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            # The next test would find what is still to die.
            wait_until_gone(lost.processes)


@contextmanager
def study(witness: Path | None = None, *launcher: str) -> Iterator[Left]:
    """Give a runner's program, its daemon and its witness."""
    with left(RUNNER, str(witness or built_witness()), *launcher) as lost:
        (program,) = lost.processes
        task = parse_task(Path(f"/proc/{program}/stat").read_text())
        until(lambda: [name_of(child) for child in children(program)] == ["sleep"])
        assert task is not None
        lost.processes += [*children(program), task.parent]
        yield lost


def lose_runner(lost: Left) -> None:
    """Kill the runner while the witness can learn nothing of it."""
    os.kill(lost.processes[-1], signal.SIGSTOP)
    lost.lose_starter()


def test_an_orphan_is_ended_with_all_that_descends_from_it() -> None:
    with study() as lost:
        program, daemon, _ = lost.processes
        lose_runner(lost)
        assert lost.alive
        (line,) = [line for line in end_orphans() if f"sleep ({program})" in line]
        assert f"sleep ({daemon})" in line
        wait_until_gone(lost.processes)
    assert not any(str(program) in line for line in end_orphans())


def test_what_still_has_its_runner_is_left_alone() -> None:
    with study() as other:
        # Stopped, it cannot speak for itself.
        other.starter.send_signal(signal.SIGSTOP)
        assert not any(str(other.processes[0]) in line for line in end_orphans())
        assert other.alive


def test_somebody_elses_orphan_is_named_with_the_command_that_ends_it() -> None:
    if os.geteuid() != 0:
        missing("working for somebody else needs root")
    as_nobody = (need_tool("setpriv"), f"--reuid={NOBODY}", "--clear-groups")
    with open_folder() as folder:
        witness = Path(shutil.copy(built_witness(), folder))
        with study(witness, *as_nobody) as theirs:
            lose_runner(theirs)
            with pytest.raises(StudyError, match=f"belongs to user {NOBODY}: end it") as refused:
                end_orphans()
            assert theirs.alive
            message = str(refused.value)
            assert f"sudo kill -9 {theirs.processes[0]}" in message
            assert str(theirs.processes[-1]) in message and "\n" not in message


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


# One that clears its environment is found as a descendant; a stopped one is ended as well.
@pytest.mark.parametrize("daemon", ["setsid", "env -i setsid"])
@pytest.mark.usefixtures("temporary")
def test_what_a_killed_starter_has_left_is_ended_and_its_folder_removed(daemon: str) -> None:
    with left(STARTER, daemon) as lost:
        (lost.folder / "inside").mkdir()
        (lost.folder / "inside" / "file").touch()
        (lost.folder / "link").symlink_to(ROOT)
        os.kill(lost.processes[-1], signal.SIGSTOP)
        lost.lose_starter()
        lines = end_orphans()
        assert [line for line in lines if "left running: sleep (" in line]
        assert "removed 1 temporary folder of a pinstudy that was killed" in lines
        wait_until_gone(lost.processes)
        assert not lost.folder.exists()
        assert (ROOT / "README.md").exists()
    assert end_orphans() == []


@pytest.mark.usefixtures("temporary")
def test_what_has_a_living_starter_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with left(STARTER, "setsid") as other:
        # Stopped, it cannot speak for itself.
        other.starter.send_signal(signal.SIGSTOP)
        assert end_orphans() == []
        assert other.alive and other.folder.exists()
        # A pinstudy within what a killed one has left ends nothing of it.
        mark = mark_of(other.processes[0])
        assert mark
        monkeypatch.setenv(VARIABLE, "".join(map(str, mark)))
        other.lose_starter()
        end_orphans()
        assert other.alive


def has_mark(pid: int, mark: tuple[Starter, str]) -> bool:
    return mark_of(pid) == mark


def test_what_another_place_has_marked_is_left_alone(temporary: Path, at_end: ExitStack) -> None:
    gone = replace(own_starter(), started=1)
    for starter in (replace(gone, place="0123abcd"), replace(gone, place="")):
        (temporary / f"pinstudy-{starter}-x").mkdir()
        environment = {VARIABLE: f"{starter}{PROGRAM}"}
        sleeper = at_end.enter_context(subprocess.Popen(["/bin/sleep", "300"], env=environment))
        at_end.callback(sleeper.kill)
        # Its first instruction may still be to come.
        until(partial(has_mark, sleeper.pid, (starter, PROGRAM)))
    assert end_orphans() == []
    assert len(list(temporary.iterdir())) == 2


def test_neither_folders_of_other_names_nor_links_nor_others_are_removed(temporary: Path) -> None:
    gone = replace(own_starter(), started=1)
    for name in ("pinstudy-x", "pinstudy-fuzz-abc", f"{gone}", f"pinstudy-{gone}", "kept"):
        (temporary / name).mkdir()
    (temporary / f"pinstudy-{gone}-link").symlink_to(temporary / "kept")
    (temporary / f"pinstudy-{gone}-file").touch()
    if os.geteuid() == 0:
        theirs = temporary / f"pinstudy-{gone}-theirs"
        theirs.mkdir()
        os.chown(theirs, NOBODY, NOBODY)
    before = sorted(temporary.iterdir())
    assert end_orphans() == []
    assert sorted(temporary.iterdir()) == before


def test_a_mark_names_this_process_and_has_one_length() -> None:
    environment = marked({"A": "b", VARIABLE: "another's"}, INSTRUMENT)
    assert next(iter(environment)) == VARIABLE
    assert environment == {VARIABLE: f"{own_starter()}{INSTRUMENT}", "A": "b"}
    assert own_starter().pid == os.getpid()
    stats = known(read_stats(Tree(Path("/"))))
    assert stats
    assert not own_starter().is_gone(stats)
    assert replace(own_starter(), started=1).is_gone(stats)
    # Hidden (proc(5), hidepid), and gone.
    assert not own_starter().is_gone({})
    assert starter_of_folder(f"{folder_prefix()}x") == own_starter()


@given(st.integers(1, 2**22), st.integers(0, 16**9 - 1), st.sampled_from(["", "9d51a307"]))
def test_a_starter_is_read_as_it_was_written(pid: int, started: int, place: str) -> None:
    starter = Starter(place, pid, started)
    assert len(str(starter)) == len(str(own_starter()))
    assert parse_starter(str(starter)) == starter


@given(st.text(max_size=30))
def test_any_other_text_names_nobody(text: str) -> None:
    assert parse_starter(text) is None


def test_the_daemons_that_are_known_to_interfere_on_hybrid_nodes_are_found(tmp_path: Path) -> None:
    # The kernel cuts names: power-profiles-.
    names = ("gamemoded", "intel_lpmd", "irqbalance", "power-profiles-daemon", "thermald", "tlp-pd")
    similar = ("tuned-gui", "xtuned", "tune", "power-profilesd", "bash")
    for pid, name in enumerate((*names, "tuned", "tuned-ppd", "thermald", *similar), 50):
        process(tmp_path, pid, name)
    assert find_daemons(Tree(tmp_path)) == [*names, "tuned", "tuned-ppd"]


def test_a_node_that_does_not_show_all_processes_is_not_called_quiet(tmp_path: Path) -> None:
    assert isinstance(find_daemons(Tree(tmp_path)), Unavailable)
    process(tmp_path, 4711, "pinstudy")
    hidden = Unavailable("/proc hides other users' processes (hidepid)")
    assert find_daemons(Tree(tmp_path)) == hidden
    process(tmp_path, 4712, "gamemoded")
    assert find_daemons(Tree(tmp_path)) == ["gamemoded"]
    # Garbage and a process that vanishes are passed over.
    process(tmp_path, 1, "systemd")
    for name in ("31", "32", "sys"):
        (tmp_path / "proc" / name).mkdir()
    (tmp_path / "proc/32/stat").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "proc/4712/stat").unlink()
    assert find_daemons(Tree(tmp_path)) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="a PID namespace of its own takes root")
def test_a_container_does_not_call_the_node_around_it_quiet() -> None:
    asking = (
        "from pathlib import Path; from pinstudy.runners.host.interference import find_daemons; "
        "from pinstudy.runners.host.tree import Tree; print(find_daemons(Tree(Path('/'))).reason)"
    )
    inside = [need_tool("unshare"), "--pid", "--fork", "--mount-proc", sys.executable, "-c", asking]
    done = subprocess.run(inside, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "a container sees its own processes only\n"


def test_the_warning_is_one_line_that_ends_with_the_command() -> None:
    assert daemon_warning([]) is None
    warning = daemon_warning(["irqbalance", "thermald"])
    assert warning is not None and "\n" not in warning
    assert "irqbalance, thermald run" in warning
    assert warning.endswith(" sudo systemctl stop irqbalance thermald")
    # A user's own service, and a unit of another name.
    assert stop_commands(["gamemoded", "system76-power"]) == (
        "sudo systemctl stop com.system76.PowerDaemon && systemctl --user stop gamemoded"
    )


# Nothing of a QEMU outlives its supervisor or that one's starter; `sleep` stands in for QEMU.
SUPERVISOR = str(Path(supervisor.__file__))
ISOLATED = (sys.executable, "-I")
SLEEP = ("/bin/sleep", "600")
# Ignores every signal that can be ignored.
DEAF = (
    sys.executable,
    "-c",
    "import signal, time\n"
    "for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:\n"
    "    signal.signal(number, signal.SIG_IGN)\n"
    "time.sleep(600)",
)
# Starts a supervisor as pinstudy/runners/vm/guest.py does, says both process numbers, and hangs.
HANGS = """
import subprocess, sys, time
kept = subprocess.Popen(
    [sys.executable, "-I", *sys.argv[1:]],
    stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
)
print(kept.pid, kept.stdout.readline().decode().strip(), flush=True)
time.sleep(600)
"""
# Starts a supervisor with all numbers in use that select(2) takes.
MANY_FILES = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (2048, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
while os.dup(0) < 1024: pass
for number in range(3, 1025): os.set_inheritable(number, True)
os.execv(sys.executable, [sys.executable, "-I", *sys.argv[1:]])
"""


@contextmanager
def kept(
    *command: str, start: tuple[str, ...] = (sys.executable, "-I"), **options: object
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Give a supervisor and the process that it supervises; both are ended whatever happens."""
    process = subprocess.Popen(
        [*start, SUPERVISOR, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **options,  # type: ignore[call-overload]
    )
    assert process.stdout and process.stdin and process.stderr
    qemu = int(process.stdout.readline())
    try:
        yield process, qemu
    finally:
        for pid in (process.pid, qemu):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


def let_end(process: subprocess.Popen[bytes], qemu: int) -> None:
    """Close the supervisor's standard input, and see both end."""
    assert process.stdin
    process.stdin.close()
    assert process.wait(HANG_S) == 0
    assert not alive(qemu)


@pytest.mark.parametrize(
    ("command", "start", "stopped"),
    [
        (SLEEP, ISOLATED, False),
        (SLEEP, (sys.executable, "-c", MANY_FILES), False),
        (DEAF, ISOLATED, False),
        (SLEEP, ISOLATED, True),
    ],
    ids=["a QEMU", "many inherited files", "a deaf QEMU", "a stopped QEMU"],
)
def test_closing_its_standard_input_ends_both(
    command: tuple[str, ...], start: tuple[str, ...], stopped: bool
) -> None:
    with kept(*command, start=start) as (process, qemu):
        words = Path(f"/proc/{qemu}/cmdline").read_text().split("\0")[:-1]
        assert words == list(command)
        assert Path(f"/proc/{qemu}/stat").read_text().split()[3] == str(process.pid)
        if stopped:
            os.kill(qemu, signal.SIGSTOP)
        let_end(process, qemu)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_starter_that_dies_leaves_nothing(how: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HANGS, SUPERVISOR, *SLEEP], stdout=subprocess.PIPE
    ) as starter:
        assert starter.stdout
        supervisor_pid, qemu = map(int, starter.stdout.readline().split())
        assert alive(supervisor_pid) and alive(qemu)
        starter.send_signal(how)
        starter.wait()
    wait_until_gone((qemu, supervisor_pid))


def test_either_that_is_killed_takes_the_other_with_it() -> None:
    with kept(*SLEEP) as (process, qemu):
        process.kill()
        wait_until_gone((qemu,))
    with kept(*SLEEP) as (process, qemu):
        os.kill(qemu, signal.SIGKILL)
        assert process.wait(HANG_S) == 0


def test_signals_of_a_terminal_are_the_starter_s() -> None:
    with kept(*SLEEP) as (process, qemu):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process.send_signal(number)
        time.sleep(0.2)
        assert process.poll() is None and alive(qemu)
        let_end(process, qemu)


def test_a_command_that_is_not_there_starts_nothing_and_is_told() -> None:
    done = subprocess.run(
        [sys.executable, "-I", SUPERVISOR, "/no/such/qemu"],
        stdin=subprocess.PIPE,
        capture_output=True,
        timeout=HANG_S,
        check=False,
    )
    assert done.stdout == b""
    assert done.returncode != 0
    assert b"/no/such/qemu" in done.stderr


def test_open_descriptors_are_the_qemu_s_too_and_its_words_go_to_the_standard_error() -> None:
    descriptor = os.memfd_create("kernel")
    try:
        os.write(descriptor, b"a kernel")
        script = f"cat /proc/self/fd/{descriptor}; cat; echo ' and no input'"
        with kept("/bin/sh", "-c", script, pass_fds=[descriptor]) as (process, _):
            assert process.wait(HANG_S) == 0
            assert process.stdout and process.stderr
            assert process.stdout.read() == b""
            assert process.stderr.read() == b"a kernel and no input\n"
    finally:
        os.close(descriptor)


# Says what it hears of SIGINT, and ends; or hears nothing.
POLITE, RUDE = "echo interrupted; exit 7", ""


@pytest.mark.parametrize(
    ("answer", "patience_s", "said", "status"),
    [(POLITE, 60, b"interrupted\n", 7), (RUDE, 0.2, b"", 128 + signal.SIGKILL)],
)
def test_one_that_is_gentle_interrupts_first_and_kills_what_ignores_it(
    tmp_path: Path, answer: str, patience_s: float, said: bytes, status: int
) -> None:
    ready = tmp_path / "ready"
    script = f"trap '{answer}' INT; echo ready >$0; while sleep 0.02; do :; done"
    process = supervisor.supervised(("/bin/sh", "-c", script, str(ready)), patience_s)
    assert process.stdout
    program = int(process.stdout.readline())
    until(ready.exists)
    assert supervisor.let_go(process, HANG_S) == said
    assert process.returncode == status
    assert not alive(program)


def test_of_much_output_the_last_is_kept_while_the_program_goes_on() -> None:
    script = "i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done; exit 3"
    process = supervisor.supervised(("/bin/sh", "-c", script), 60)
    assert process.wait(HANG_S) == 3
    assert process.stdout
    process.stdout.readline()
    said = supervisor.let_go(process, HANG_S)
    assert len(said) == supervisor.MAX_OUTPUT_BYTES
    assert said.endswith(b"line 19999\n")
