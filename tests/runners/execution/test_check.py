"""Checks by a command are started and ended for real."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from base.errors import ShortageError
from runners.execution.check import check_failure_of
from tests.support.processes import wait_until_gone
from tests.support.programs import witness
from tests.support.studies import write_program
from tests.support.tools import ROOT
from tests.support.wait import HANG_S, until


def check_failure(
    *command: str, printed: str = "", limit_s: float = HANG_S, **variables: str
) -> str:
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", **variables}
    return check_failure_of(command, printed, environment, witness(), limit_s)


def script(text: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", text)


def test_the_exit_status_tells_whether_the_result_is_good() -> None:
    assert check_failure("/bin/true") == ""
    assert check_failure("/bin/false") == (
        "the check '/bin/false' ended with exit status 1: no message"
    )
    assert check_failure(*script("kill -9 $$")).endswith("was ended by SIGKILL")
    # As pipes end commands elsewhere.
    assert check_failure(*script("kill -PIPE $$; exit 0")).endswith("was ended by SIGPIPE")


def test_it_reads_what_the_program_printed(tmp_path: Path) -> None:
    printed = "é\n" * 300_000 + "the last line\n"
    expected = tmp_path / "expected"
    expected.write_text(printed)
    assert check_failure("cmp", "-", str(expected), printed=printed) == ""
    assert "exit status 1" in check_failure("cmp", "-", str(expected), printed="another\n")
    # One that does not read is not waited for.
    assert check_failure("true", printed=printed) == ""


def test_it_is_no_shell_line_and_has_the_programs_environment_and_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    says = '[ "$1" = \'two  words; exit 3\' ] && [ "$OF" = here ]'
    write_program(tmp_path / "verify.sh", f"#!/bin/sh\n{says}\n")
    monkeypatch.chdir(tmp_path)
    assert check_failure("./verify.sh", "two  words; exit 3", OF="here") == ""
    assert "exit status 1" in check_failure("./verify.sh", "two  words; exit 3")


def test_the_end_of_its_stderr_is_the_reason_in_one_harmless_line() -> None:
    why = check_failure(*script("printf 'a\\nrow 7:\\033[31m 1 is not 2\\n' >&2; exit 2"))
    assert why.endswith("exit status 2: a row 7:\ufffd[31m 1 is not 2")
    flood = "head -c 3000000 /dev/zero | tr '\\0' x; head -c 3000000 /dev/zero | tr '\\0' y >&2"
    why = check_failure(*script(f"{flood}; echo ' the end' >&2; exit 2"))
    assert why.endswith("y the end")
    assert len(why) < 500


@pytest.mark.parametrize(
    ("command", "why"),
    [("/no/such/check", "No such file or directory"), ("/tmp", "Permission denied")],
)
def test_what_cannot_be_started_is_a_refusal_that_says_why(command: str, why: str) -> None:
    assert check_failure(command) == f"the check '{command}' cannot be started: {why}"


REFUSED_WITNESS = """#!{python}
import os, sys
command, report = int(sys.argv[1]), int(sys.argv[2])
os.write(report, b"ready %d %d\\n" % (os.getpid(), os.getpid()))
os.write(report, b"failed {number}\\nended 0 1\\nreaped 32512 0 0 0 0\\n")
while os.read(command, 4096):
    pass
"""


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_one_that_the_host_could_not_start_for_a_while_has_not_failed(
    number: int, tmp_path: Path
) -> None:
    text = REFUSED_WITNESS.format(python=sys.executable, number=number)
    refused = write_program(tmp_path / "witness", text)
    with pytest.raises(ShortageError, match=f"cannot be started: {os.strerror(number)}"):
        check_failure_of(("true",), "", {}, refused)


def test_a_witness_that_cannot_be_had_is_a_refusal_too() -> None:
    why = check_failure_of(("true",), "", {}, Path("/no/such/witness"))
    assert why.startswith("the check 'true' cannot be run: ")


def pids(file: Path, count: int) -> list[int]:
    """Wait until a file has so many process numbers, and return them."""
    until(lambda: len(written(file)) >= count)
    return written(file)


def written(file: Path) -> list[int]:
    return [int(number) for number in file.read_text().split()] if file.exists() else []


# Itself, a child, and one that leaves for a session of its own.
LINGERS = (
    "echo $$ >> FILE; sleep 600 & echo $! >> FILE; setsid sh -c 'echo $$ >> FILE; sleep 600' & "
)


def test_after_its_time_it_is_ended_with_all_that_it_has_started(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    # It may be ended before it has started all.
    for limit_s in (1.0, 4.0, 16.0, 64.0):
        file.unlink(missing_ok=True)
        why = check_failure(*script(LINGERS.replace("FILE", str(file)) + "wait"), limit_s=limit_s)
        assert why.endswith(f"did not end within {limit_s:g} s")
        if len(written(file)) == 3:
            break
    wait_until_gone(pids(file, 3))


def test_nothing_that_it_has_started_outlives_a_good_check(tmp_path: Path) -> None:
    file = tmp_path / "pids"
    waits = f"while [ $(wc -l < {file}) -lt 3 ]; do sleep 0.01; done"
    assert check_failure(*script(LINGERS.replace("FILE", str(file)) + waits)) == ""
    wait_until_gone(pids(file, 3))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_it_does_not_outlive_pinstudy(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "pids"
    asks = (
        "import os, sys; from pathlib import Path;"
        "from runners.execution.check import check_failure_of;"
        "check_failure_of(sys.argv[2:], '', os.environ, Path(sys.argv[1]))"
    )
    line = LINGERS.replace("FILE", str(file)) + "wait"
    asking = subprocess.Popen(
        [sys.executable, "-c", asks, str(witness()), *script(line)],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    started = pids(file, 3)
    asking.send_signal(number)
    asking.wait()
    wait_until_gone(started)
