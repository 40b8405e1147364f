"""Nothing of a QEMU outlives its supervisor or that one's starter; `sleep` stands in for QEMU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from runners.host import supervisor
from tests.support.processes import alive, wait_until_gone
from tests.support.wait import HANG_S, until

SUPERVISOR = str(Path(supervisor.__file__))
ISOLATED = (sys.executable, "-I")
LONG = ("/bin/sleep", "600")
# Ignores every signal that can be ignored.
DEAF = (
    sys.executable,
    "-c",
    "import signal, time\n"
    "for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:\n"
    "    signal.signal(number, signal.SIG_IGN)\n"
    "time.sleep(600)",
)
# Starts a supervisor as runners/vm/guest.py does, says both process numbers, and hangs.
STARTER = """
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
import os, sys
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


def end(process: subprocess.Popen[bytes], qemu: int) -> None:
    """Close the supervisor's standard input, and see both end."""
    assert process.stdin
    process.stdin.close()
    assert process.wait(HANG_S) == 0
    assert not alive(qemu)


@pytest.mark.parametrize(
    ("command", "start", "stopped"),
    [
        (LONG, ISOLATED, False),
        (LONG, (sys.executable, "-c", MANY_FILES), False),
        (DEAF, ISOLATED, False),
        (LONG, ISOLATED, True),
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
        end(process, qemu)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_starter_that_dies_leaves_nothing(how: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTER, SUPERVISOR, *LONG], stdout=subprocess.PIPE
    ) as starter:
        assert starter.stdout
        supervisor_pid, qemu = map(int, starter.stdout.readline().split())
        assert alive(supervisor_pid) and alive(qemu)
        starter.send_signal(how)
        starter.wait()
    wait_until_gone((qemu, supervisor_pid))


def test_either_that_is_killed_takes_the_other_with_it() -> None:
    with kept(*LONG) as (process, qemu):
        process.kill()
        wait_until_gone((qemu,))
    with kept(*LONG) as (process, qemu):
        os.kill(qemu, signal.SIGKILL)
        assert process.wait(HANG_S) == 0


def test_signals_of_a_terminal_are_the_starter_s() -> None:
    with kept(*LONG) as (process, qemu):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process.send_signal(number)
        time.sleep(0.2)
        assert process.poll() is None and alive(qemu)
        end(process, qemu)


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
