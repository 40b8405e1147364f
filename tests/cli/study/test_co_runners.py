"""A study of co-runners, as a user runs it: real programs, which are held until they were seen."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import pinstudy, started, stop
from tests.support.processes import command_line, descendants, wait_until_gone
from tests.support.studies import records, write_app, write_program, write_study
from tests.support.trees import build_tree
from tests.support.wait import HANG_S, until

# Uses CPU time, 20 clock ticks by the kernel's count, so that it can be looked at.
WORK = (
    "t=0; while [ $t -lt 20 ]; do read -r s </proc/$$/stat; set -- ${s##*) }; "
    "t=$((${12} + ${13})); done\n"
)
# The co-runner leaves a line whenever it starts.
OTHER = f"#!/bin/sh\necho >>starts\n{WORK}"
# Ends when the co-runner has begun three times since.
MAIN = f"""\
#!/bin/sh
{WORK}first=$(wc -l <starts)
while [ $(wc -l <starts) -lt $((first + 3)) ]; do :; done
"""
BLOCKED = "#!/bin/sh\nread _ <gate\n"
# Goes on beside a program only: its witness is then started by the co-runners' supervisor.
BESIDE = (
    "read -r s </proc/$PPID/stat; set -- ${s##*) }; "
    "grep -q co_runner_supervisor /proc/$2/cmdline || exit 0\n"
)
CO_RUNNER = {
    **{"app": "other", "build": "plain", "size": "small", "threads": 1},
    "mapping": "unpinned",
}


def write(folder: Path, main: str, other: str, co_runners: object = CO_RUNNER) -> None:
    (folder / "starts").touch()
    os.mkfifo(folder / "gate")
    for name, text in (("main", main), ("other", other)):
        program = write_program(folder / name, text)
        write_app(folder, name, program, {"small": {"arguments": ""}})
    write_study(folder, "both", "main", "small", co_runners=co_runners, collect=["perf"])


def by_app(folder: Path) -> dict[tuple[str, bool], dict[str, Any]]:
    """Return each run by its app, and whether something ran beside it."""
    return {(run["app"], "co_runner" in run): run for run in records(folder)}


def test_a_co_runner_starts_again_until_the_program_ends_and_runs_alone_as_well(
    tmp_path: Path,
) -> None:
    write(tmp_path, MAIN, OTHER)
    pinstudy(tmp_path, "run", "both.yaml", status=0)
    runs = by_app(tmp_path)
    assert sorted(runs) == [("main", True), ("other", False)]
    beside, alone = runs["main", True], runs["other", False]
    assert {run["status"] for run in runs.values()} == {"ok"}
    assert beside["co_runner"] == "other-plain small x1 unpinned"
    assert beside["co_runner_alone"] == alone["case_id"]
    assert beside["co_runner_command"] == alone["command"]
    assert beside["co_runner_program_digest"] == alone["program_digest"]
    # Of three that began, two have ended in between.
    assert beside["co_runner_completed"] >= 2
    assert 0 < beside["co_runner_elapsed_s"] <= beside["elapsed_s"] / 2
    assert 0 < beside["co_runner_rate_hz"] <= 1 / beside["co_runner_elapsed_s"]
    # Each of them used a fifth of a second, which is not the program's.
    assert beside["co_runner_cpu_s"] >= 0.4
    assert not any("other" in task["command"] for task in beside["foreign_tasks"])
    everywhere = beside["cpus"]
    assert {t["allowed"] for t in beside["co_runner_placement"]["threads"]} == {everywhere}
    assert (alone["table_number"], alone["case_number"]) == (2, 1)


def test_a_co_runner_that_does_not_end_has_no_time_and_the_reason(tmp_path: Path) -> None:
    blocked = f"#!/bin/sh\n{BESIDE}read _ <gate\n"
    write(tmp_path, f"#!/bin/sh\n{WORK}", blocked, [CO_RUNNER, "none"])
    pinstudy(tmp_path, "run", "both.yaml", status=0)
    runs = by_app(tmp_path)
    beside = runs["main", True]
    assert beside["status"] == "ok", beside
    assert beside["co_runner_completed"] == 0
    for name in ("co_runner_elapsed_s", "co_runner_rate_hz"):
        assert name not in beside
        assert beside["unavailable"][name] == "the co-runner did not end once in this run"
    verdict = " ".join(pinstudy(tmp_path, "verdict", "results/both").stdout.split())
    assert "not measured in 1 run: the co-runner did not end once in this run" in verdict


# Ends when the co-runner has failed: a process is there until its exit status was taken.
FAILED = ">ran; while [ ! -s failed ]; do :; done; while [ -d /proc/$(cat failed) ]; do :; done"
# A killed witness may leave its program behind, which the supervisor then kills.
KILLS = "while [ ! -s w ]; do :; done; kill -9 $(cat w); while [ -d /proc/$(cat w) ]; do :; done"


@pytest.mark.parametrize(
    ("main", "other", "reason"),
    [
        (WORK, "sh\necho no luck >&2; exit 3\n", "failed: exit status 3 (no luck)"),
        (WORK, "nowhere\n", "failed: could not be started: No such file or directory"),
        (
            FAILED,
            f"sh\n{WORK}[ ! -e ran ] || {{ echo $$ >failed; exit 4; }}\n",
            "failed: exit status 4",
        ),
        (
            f"{KILLS}\n{WORK}",
            f"sh\n{BESIDE}echo $PPID >w\nread _ <gate\n",
            "cannot run: pinstudy-witness was ",
        ),
    ],
    ids=["before", "not there", "meanwhile", "killed"],
)
def test_a_run_whose_co_runner_fails_is_not_averaged(
    tmp_path: Path, main: str, other: str, reason: str
) -> None:
    write(tmp_path, f"#!/bin/sh\n{main}\n", f"#!/bin/{other}")
    pinstudy(tmp_path, "run", "both.yaml")
    run = by_app(tmp_path)["main", True]
    assert run["status"] == "failed"
    assert run["reason"].startswith(f"its co-runner other-plain small x1 unpinned {reason}")


def test_a_program_ended_at_its_limit_ends_its_co_runner(tmp_path: Path) -> None:
    write(tmp_path, BLOCKED, f"#!/bin/sh\necho $$ >>starts\n{WORK}")
    app = tmp_path / "apps" / "main.yaml"
    app.write_text(app.read_text() + "timeout: 1 s\n")
    pinstudy(tmp_path, "run", "both.yaml")

    assert by_app(tmp_path)["main", True]["status"] == "timeout"
    wait_until_gone(map(int, (tmp_path / "starts").read_text().split()))


def test_a_co_runner_inherits_the_signals_and_cpus_of_a_program_alone(tmp_path: Path) -> None:
    # Masks of signals and of CPUs, as the kernel shows them.
    shows = "grep -E '^(SigBlk|SigIgn|SigCgt|Cpus_allowed_list)' /proc/self/status >>shown-$PPID"
    other = f"#!/bin/sh\n{shows}\n{WORK}echo >>starts\n"
    write(tmp_path, f"#!/bin/sh\nwhile [ $(wc -l <starts) -lt 3 ]; do :; done\n{WORK}", other)
    pinstudy(tmp_path, "run", "both.yaml", status=0)
    shown = [path.read_text() for path in tmp_path.glob("shown-*")]
    assert len(shown) >= 4
    assert len(set(shown)) == 1


@contextmanager
def begun(folder: Path, other: str) -> Iterator[subprocess.Popen[str]]:
    """Start the study of a blocked program and its blocked co-runner; return when both run."""
    write(folder, BLOCKED.replace("read", ">begun; read"), f"#!/bin/sh\n{BESIDE}{other}")
    with started(folder, "run", "both.yaml") as process:
        until((folder / "begun").exists, what="the program runs")
        yield process


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_co_runner_outlives_pinstudy(tmp_path: Path, number: signal.Signals) -> None:
    # It starts a process in a session of its own, as a daemon does.
    with begun(tmp_path, "setsid sleep 100000 &\nread _ <gate\n") as process:
        until(
            lambda: any(command_line(pid)[:1] == ["sleep"] for pid in descendants(process.pid)),
            what="the co-runner has started its daemon",
        )
        stop(process, number)
        assert process.stderr
        assert "Traceback" not in process.stderr.read()


def test_a_stopped_supervisor_ends_with_pinstudy(tmp_path: Path) -> None:
    with begun(tmp_path, "read _ <gate\n") as process:
        everyone = list(descendants(process.pid))
        # What it has just forked still has its command line.
        supervisor = next(
            pid for pid in everyone if "co_runner_supervisor.py" in " ".join(command_line(pid))
        )
        os.kill(supervisor, signal.SIGSTOP)
        process.kill()
        process.wait(HANG_S)
        wait_until_gone(everyone)


def test_the_plan_shows_co_runners_and_the_cpus_that_both_use(tmp_path: Path) -> None:
    write(tmp_path, OTHER, OTHER, ["none", CO_RUNNER | {"mapping": "ecores-pin"}])
    study = tmp_path / "both.yaml"
    two = study.read_text().replace("mappings: unpinned", "mappings: [pcores-pin, ecores-pin]")
    study.write_text(two)
    node = str(build_tree(tmp_path / "node", "i9-14900k-noht"))
    done = pinstudy(tmp_path, "plan", "both.yaml", "--sysroot", node, status=0)
    name = "other-plain small x1 ecores-pin"
    assert f"  #3  pcores-pin current, beside {name} on CPUs 8  CPUs 0  about" in done.stdout
    assert "\n      beside it: env " in done.stdout
    assert f"\nco-runner {name} shares CPUs 8 with the program in 1 case\n" in done.stdout
    assert "\n1 case more: co-runners alone, to compare with\n" in done.stdout
    assert "\nstudy both: 5 cases, " in done.stdout


PICKLED = (
    b"\x80\x04\x95\x1c\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94."
)


@pytest.mark.parametrize(
    ("words", "times"),
    [(PICKLED + b"\n", 1), (b'{"problem": {"problem": []}}\n', 9), (b"without end " * 100_000, 30)],
    ids=["pickle", "fields", "endless"],
)
def test_what_a_co_runner_says_in_its_supervisors_name_fails_the_run(
    tmp_path: Path, words: bytes, times: int
) -> None:
    (tmp_path / "words").write_bytes(words)
    # A pipe of the supervisor, which its witness descends from.
    other = (
        f"#!/bin/sh\n{BESIDE}"
        f"for i in $(seq {times}); do cat words >/proc/$2/fd/1; done\n>said\nread _ <gate\n"
    )
    write(tmp_path, "#!/bin/sh\nwhile [ ! -e said ] && [ -e /proc/$PPID ]; do :; done\n", other)
    app = tmp_path / "apps" / "main.yaml"
    app.write_text(app.read_text() + "timeout: 5 s\n")
    pinstudy(tmp_path, "run", "both.yaml")

    run = by_app(tmp_path)["main", True]
    assert run["status"] in ("failed", "timeout")
    if run["status"] == "failed":
        assert run["reason"].startswith("its co-runner other-plain small x1 unpinned ")
        assert len(run["reason"]) < 300
