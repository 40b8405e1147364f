"""A program that runs already is looked at, as a user would: by its PID, or as a job of Slurm."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pinstudy.base.reading import Reading
from pinstudy.cli.commands.look import _cpus, _show
from pinstudy.runners.look.look import ProgramLook, ThreadLook
from pinstudy.runners.look.look import look as look_at
from pinstudy.runners.measure.conditions.cpu_time import HarnessCost
from pinstudy.runners.node.node import open_node
from tests.runners.fake_commands import install
from tests.support.cli import argv, pinstudy
from tests.support.processes import ended
from tests.support.studies import two_cpus
from tests.support.tools import need_tool
from tests.support.wait import until

BUSY = "while :; do :; done"
NAME = f"busy{os.getpid()}"


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Give a process that works on the second of two CPUs, and has for half a second already."""
    # No other process of the node has this name.
    shell = tmp_path / NAME
    shell.symlink_to(need_tool("sh"))
    command = [need_tool("taskset"), "-c", str(two_cpus()[1]), str(shell), "-c", BUSY]
    with ended(subprocess.Popen(command, text=True)) as process:
        until(lambda: cpu_s(process.pid) > 0.5, process)
        yield process


def cpu_s(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def look(*arguments: object, status: int = 0, folder: str = "/", **variables: str) -> Any:  # noqa: ANN401 - JSON, or what is printed
    done = pinstudy(Path(folder), "look", *map(str, arguments), status=status, **variables)
    return json.loads(done.stdout) if "--json" in arguments else done.stdout + done.stderr


def test_a_thread_is_shown_where_it_is_and_with_what_it_uses_meanwhile(
    busy: subprocess.Popen[str],
) -> None:
    first, second = two_cpus()
    kinds = ("--kinds", f"P={first},E={second}")
    before_s = cpu_s(busy.pid)
    seen = look(busy.pid, "--seconds", 0.5, "--expect", second, *kinds, "--json")
    used_s = cpu_s(busy.pid) - before_s
    (thread,) = seen["threads"]
    assert (thread["pid"], thread["name"], thread["allowed"]) == (busy.pid, NAME, str(second))
    # What it had used before is not counted.
    assert 0 < thread["cpu_s"] <= min(used_s, seen["elapsed_s"])
    assert thread["cpu_s_on"] == {"E": pytest.approx(thread["cpu_s"])}
    assert thread["migrations"] in (0, None)
    assert seen["placement"] == {"verdict": "proved", "reason": ""}
    assert seen["imbalance"] is None
    assert NAME not in [task["command"] for task in seen["beside"]["foreign_tasks"]]


def test_a_thread_elsewhere_than_expected_is_told_by_the_exit_status(
    tmp_path: Path, busy: subprocess.Popen[str]
) -> None:
    first, second = two_cpus()
    shown = look(busy.pid, "--seconds", 0.5, "--expect", first, status=1)
    assert f"violated: thread {busy.pid} ran on CPU {second}, outside {first}" in shown
    assert f"process {busy.pid} {tmp_path}/{NAME} -c {BUSY}" in " ".join(shown.split())


def test_cpu_time_on_a_cpu_without_a_kind_is_shown_as_such(busy: subprocess.Popen[str]) -> None:
    shown = look(busy.pid, "--seconds", 0.5, "--kinds", f"P={two_cpus()[0]}")
    rows = [line.split() for line in shown.splitlines()]
    assert ["100", "%"] in [row[-2:] for row in rows if row[:2] == ["none", "others"]]


def test_the_processes_of_a_job_and_their_descendants_are_looked_at(
    tmp_path: Path, busy: subprocess.Popen[str]
) -> None:
    table = f"echo PID JOBID STEPID\necho {busy.pid} 7 0\necho {os.getpid()} 7 batch\necho -1 7 0"
    install(tmp_path, "scontrol", table)
    install(tmp_path, "squeue", "echo '7|RUNNING|None|n1'")
    looker = subprocess.Popen(
        argv("look", "--job", "7", "--seconds", "0.5", "--json"),
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        text=True,
    )
    with ended(looker):
        seen = json.loads(looker.communicate()[0])
    # The busy process is a child of this one, and not looked at twice.
    assert seen["pids"] == [os.getpid()]
    assert busy.pid in [thread["pid"] for thread in seen["threads"] if thread["at_work"]]
    # Started within the job, the command would find itself at work.
    assert looker.pid not in [thread["pid"] for thread in seen["threads"]]


def test_steps_are_found_without_a_controller_that_answers(
    tmp_path: Path, busy: subprocess.Popen[str]
) -> None:
    install(tmp_path, "scontrol", f"echo PID JOBID STEPID\necho {busy.pid} 7 batch")
    install(tmp_path, "squeue", "echo 'Unable to contact slurm controller' >&2; exit 1")
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert look("--job", "7.batch", "--seconds", 0.5, "--json", PATH=path)["pids"] == [busy.pid]
    unknown = look("--job", 8, status=1, PATH=path)
    assert "squeue" in unknown
    assert unknown.endswith("ended with status 1: Unable to contact slurm controller\n")


def test_a_program_that_ends_is_shown_until_its_end(busy: subprocess.Popen[str]) -> None:
    helper = ["sh", "-c", f"sleep 0.3; kill {busy.pid}"]
    with ended(subprocess.Popen(helper, text=True)):
        shown = look(busy.pid, "--seconds", 3600)
    assert "at work, and it ended" in shown


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "give one of PID and --job ID; `pgrep -a NAME` finds a PID"),
        (("4194305",), "no process 4194305 lives here; `pgrep -a NAME` finds one"),
        (("1", "--pin"), "--pin and --threads belong to --expect CPUS, such as --expect 0-7"),
        (
            ("1", "--expect", "70-"),
            "--expect 70-: '70-' is not a CPU number or a range such as 0-3",
        ),
        (("1", "--expect", "65535"), "--expect 65535: no CPU 65535 here; online are CPUs "),
        (("1", "--seconds", "nan"), "--seconds nan: expected a number from 0.5 to 3600"),
        (("--job", ""), "--job '': expected a job's id, such as 1234, 1234_5 or 1234.0"),
        (("--job", "8.batch"), "job 8.batch is not known to Slurm, or no longer; `squeue --me`"),
    ],
)
def test_what_cannot_be_looked_at_is_said(
    tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    install(tmp_path, "scontrol", "echo 'No job steps exist on this node.' >&2; exit 1")
    install(
        tmp_path, "squeue", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1"
    )
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert problem in look(*arguments, status=2, PATH=path)


def test_what_was_seen_until_ctrl_c_is_kept(busy: subprocess.Popen[str]) -> None:
    node = open_node(Path("/"))

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    seen = look_at(node, [busy.pid], 3600, sleep=interrupt)
    assert (seen.interrupted, seen.ended, seen.looks) == (True, False, 2)
    assert [thread.pid for thread in seen.threads] == [busy.pid]


def test_without_slurm_a_job_cannot_be_looked_at(tmp_path: Path) -> None:
    assert "there is no scontrol on the PATH" in look("--job", 8, status=1, PATH=str(tmp_path))


def test_names_with_line_breaks_and_long_lists_of_cpus_keep_a_row_on_its_line(
    capsys: pytest.CaptureFixture[str],
) -> None:
    even = tuple(range(0, 128, 2))
    thread = ThreadLook(42, 42, "a\nb", even, even, 9.0, {"P": 9.0}, None, 12345, True)
    beside = Reading({}, {"foreign_cpu_s": "not read"})
    cost = HarnessCost(0.1, 0, ())
    seen = ProgramLook((42,), "a", 10.0, 80, False, False, (thread,), even, beside, None, cost)

    first, second = two_cpus()
    _show(seen, open_node(Path("/"), f"P={first},E={second}").topology)

    (row,) = (line for line in capsys.readouterr().out.splitlines() if "  42 " in line)
    assert row.split("  ")[-1] == "0,2,4,6,8,10,…(64)"
    assert "a b" in row.replace("\N{REPLACEMENT CHARACTER}", " ")
    assert len(row) <= 100
    # 16384 CPUs and more: the first range is kept.
    assert _cpus([*range(20_000, 30_000), *range(40_000, 50_000)]) == "20000-29999,…(20000)"


def test_an_idle_program_proves_no_placement() -> None:
    with ended(subprocess.Popen(["sleep", "600"], text=True)) as process:
        arguments = (process.pid, "--seconds", 0.5, "--expect", two_cpus()[0])
        # Until it sleeps, it works.
        until(lambda: "S" in Path(f"/proc/{process.pid}/stat").read_text().split()[2], process)
        shown = look(*arguments, status=1)
    assert "0 of 1 thread at work" in shown
    assert "placement unproved: no thread was at work" in shown
    assert "Beside it  not known: no thread was at work" in shown
