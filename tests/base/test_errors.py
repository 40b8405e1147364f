"""A temporary shortage on the host is told apart from failures of programs and launchers."""

from __future__ import annotations

import errno
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from pinstudy.base.command import output_of
from pinstudy.base.errors import ShortageError, shortage_in
from pinstudy.runners.execution.collectors import check_failure_of
from pinstudy.runners.execution.execute import (
    Harness,
    Observation,
    execute,
    execute_unless_shutting_down,
)
from pinstudy.runners.execution.witness import LaunchError
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.measure.perf.stat import PerfStat
from pinstudy.runners.plan.launch import Launch
from tests.runners.cases import observation
from tests.support.limits import no_more_files
from tests.support.ordinary_user import NOBODY, open_folder
from tests.support.programs import witness
from tests.support.studies import write_program
from tests.support.tools import missing, need_tool

GOOD = observation()


def run_under(launcher: tuple[str, ...], program: Path) -> Observation:
    launch = Launch(launcher, ("/bin/true",), {"PATH": os.environ["PATH"]}, {}, ())
    return execute_unless_shutting_down(
        lambda: execute(launch, 20.0, Harness(program, None)), lambda _: None
    )


def ended(status: int, stderr: str) -> Observation:
    return replace(GOOD, ending=replace(GOOD.ending, wait_status=status << 8), stderr=stderr)


def shortage_of_run(run: Observation) -> str:
    return shortage_in(run.ending.exec_errno, run.ending.exit_code, run.stderr)


def test_a_witness_that_may_not_fork_is_a_shortage() -> None:
    if os.geteuid() != 0:
        missing("working for a user who may start nothing needs root")
    refused = (
        *(need_tool("setpriv"), f"--reuid={NOBODY}", "--clear-groups"),
        *(need_tool("prlimit"), "--nproc=0:0"),
    )
    with open_folder() as folder:
        program = Path(shutil.copy(witness(), folder))
        with pytest.raises(ShortageError, match="pinstudy-witness: fork: Resource temporarily"):
            run_under(refused, program)


@pytest.mark.parametrize(
    "message",
    [
        "taskset: failed to execute /bin/true: Resource temporarily unavailable",
        "taskset: failed to execute /bin/true: Cannot allocate memory",
        "taskset: error while loading shared libraries: libc.so.6: cannot open shared object file: "
        "Error 23",
        "sh: 0: Cannot fork",
    ],
)
def test_a_launcher_that_was_refused_something_is_a_shortage(message: str) -> None:
    launcher = ("/bin/sh", "-c", f"echo '{message}' >&2; exit 127")
    with pytest.raises(ShortageError, match="the host was short of it"):
        run_under(launcher, witness())


def test_what_is_refused_for_another_reason_is_no_shortage() -> None:
    def refuse() -> Observation:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    with pytest.raises(LaunchError, match="failed to set"):
        run_under(("/bin/sh", "-c", "echo taskset: failed to set affinity >&2; exit 1"), witness())
    with pytest.raises(PermissionError):
        execute_unless_shutting_down(refuse, lambda _: None)


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM])
def test_a_program_that_the_kernel_could_not_start_is_a_shortage(number: int) -> None:
    run = replace(GOOD, ending=replace(GOOD.ending, wait_status=127 << 8, exec_errno=number))
    assert os.strerror(number) in shortage_of_run(run)
    with pytest.raises(ShortageError, match=os.strerror(number)):
        execute_unless_shutting_down(lambda: run, lambda _: None)


UNAVAILABLE = "Resource temporarily unavailable"
LOADER = "lu: error while loading shared libraries: libm.so.6: "


@pytest.mark.parametrize(
    ("run", "is_short"),
    [
        (ended(127, f"{LOADER}cannot map: Cannot allocate memory"), True),
        (ended(1, f"\nlibgomp: Thread creation failed: {UNAVAILABLE}\n"), True),
        (ended(1, f"OMP: Error #34: no\nOMP: System error #11: {UNAVAILABLE}\n"), True),
        (GOOD, False),
        (
            replace(
                GOOD, ending=replace(GOOD.ending, wait_status=127 << 8, exec_errno=errno.ENOENT)
            ),
            False,
        ),
        (ended(0, f"libgomp: Thread creation failed: {UNAVAILABLE}"), False),
        (ended(1, "my file: Cannot allocate memory"), False),
        (ended(127, f"{LOADER}No such file"), False),
    ],
)
def test_loader_and_runtimes_tell_of_a_shortage_and_programs_do_not(
    run: Observation, is_short: bool
) -> None:
    assert bool(shortage_of_run(run)) == is_short


def test_what_cannot_be_opened_for_want_of_descriptors_is_not_absent(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("1\n")
    tree = Tree(tmp_path)
    with no_more_files():
        with pytest.raises(ShortageError, match="cannot read /there: Too many open files"):
            tree.text("/there")
        with pytest.raises(ShortageError, match="cannot read /: Too many open files"):
            tree.names("/")
        with pytest.raises(ShortageError, match="true could not be asked: Too many"):
            output_of(["true"])
        with pytest.raises(OSError, match="Too many open files"):
            check_failure_of(("/bin/true",), "", {}, witness())
    assert tree.text("/there") == "1"
    short = write_program(tmp_path / "ldd", "#!/bin/sh\necho 'sh: 1: Cannot fork' >&2\nexit 2\n")
    with pytest.raises(ShortageError, match="ldd could not be asked: sh: 1: Cannot fork"):
        output_of([str(short)])
    # Room for what the program prints, but not for the channel to its witness.
    with no_more_files(but=4), pytest.raises(ShortageError, match="Too many open files"):
        run_under((), witness())
    # Enough for the two buffers and two pipes of perf, too few to start it.
    open_files = Path("/proc/self/fd")
    before = sorted(path.name for path in open_files.iterdir())
    with no_more_files(but=8), pytest.raises(OSError, match="Too many open files"):
        PerfStat(("true",), ())
    assert sorted(path.name for path in open_files.iterdir()) == before
