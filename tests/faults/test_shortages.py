"""A run that the host lacks resources for is made later, and counts as no failure."""

from __future__ import annotations

import os
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pinstudy.runners.records.reader import read_records
from tests.faults.trial import Trial
from tests.support.cli import argv
from tests.support.tools import missing, need_tool
from tests.support.wait import HANG_S

# From the limit that refuses the next file to one that refuses none.
OPEN_FILES = range(4, 26)
SMALL = (4, 8, 12)


@pytest.mark.parametrize(
    "most",
    [*SMALL, *(pytest.param(of, marks=pytest.mark.faults) for of in OPEN_FILES if of not in SMALL)],
)
def test_a_runner_that_may_open_no_more_files_gives_up_and_burns_no_run(
    tmp_path: Path, most: int
) -> None:
    trial = Trial(tmp_path, 12)
    runner = trial.start()
    trial.wait_for_start_after(2)
    resource.prlimit(runner.pid, resource.RLIMIT_NOFILE, (most, 4096))
    status, err = trial.wait_for(runner)
    assert "Traceback" not in err
    trial.assert_no_process_left()
    trial.assert_none_twice()
    statuses = {record["status"] for record in read_records(trial.records_folder)}
    assert statuses <= {"ok", "interrupted"}, err
    if len(trial.final_runs()) < trial.runs:
        assert status == 1
        assert "Too many open files" in err.splitlines()[-1]
    recorded = len(trial.final_runs())
    status, err = trial.run()
    assert status == 0, err
    trial.assert_complete()
    assert "was ended from outside" not in err
    assert recorded == trial.runs or "gave up (" in err.splitlines()[0]


# An ordinary user without other processes; nobody else has a number near it.
_USER = 54_000 + os.getpid() % 10_000
# Of a study whose programs each need up to two processes beside the runner's.
PROCESSES = range(1, 9)


@pytest.fixture
def users_trial() -> Iterator[Trial]:
    """Give a trial in a folder of that user, with a program that loads libraries."""
    if os.geteuid() != 0:
        missing("another user needs root")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        trial = Trial(folder, 2)
        source, program = folder / "nap.c", folder / "nap"
        source.write_text("#include <unistd.h>\nint main(void) { return usleep(20000); }\n")
        program.unlink()
        subprocess.run([need_tool("gcc"), "-o", program, source], check=True)
        for path in (folder, *folder.rglob("*")):
            os.chown(path, _USER, _USER)
        yield trial


def with_processes(trial: Trial, most: int, *command: str) -> tuple[int, str]:
    """Run a command as the user who may have so many processes; return its status and stderr."""
    # It reads what is root's, as an interpreter below /root; an ordinary user has limits.
    rights = "-all,+dac_read_search"
    done = subprocess.run(
        [
            *(need_tool("setpriv"), f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups"),
            *(f"--inh-caps={rights}", f"--ambient-caps={rights}"),
            *(need_tool("prlimit"), f"--nproc={most}", "--", *argv(*command)),
        ],
        cwd=trial.folder,
        env=os.environ
        | {"HOME": str(trial.folder), "PINSTUDY_RESULTS": str(trial.folder / "results")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=HANG_S,
        check=False,
    )
    return done.returncode, done.stderr


def identities(trial: Trial) -> set[str]:
    """Return the digests of the programs in the results and in their records."""
    kept = {path.stem for path in trial.folder.glob("results/trial/*/programs/*.json")}
    return kept | {str(run["program_digest"]) for run in read_records(trial.records_folder)}


@pytest.mark.parametrize(
    "most", [3, *(pytest.param(most, marks=pytest.mark.faults) for most in PROCESSES if most != 3)]
)
def test_a_study_that_starts_with_too_few_processes_takes_no_program_for_another(
    users_trial: Trial, most: int
) -> None:
    trial = users_trial
    status, err = with_processes(trial, most, "run", "trial.yaml")
    assert status in (0, 1), err
    assert "Traceback" not in err
    if status:
        # The shell's own words where it cannot start pinstudy.
        last = err.splitlines()[-1]
        assert any(words in last for words in ("the host was short of it", "fork", "unavailable"))
    status, err = with_processes(trial, 1000, "run", "trial.yaml")
    assert status == 0, err
    assert len(identities(trial)) == 1
    assert {"ok"} == {run["status"] for run in trial.final_runs()}
