"""A run that the host lacks resources for is made later, and counts as no failure."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from runners.records.reader import read_records
from tests.faults.trial import Trial

# From the limit that refuses the next file to one that refuses none.
OPEN_FILES = range(4, 26)
SMALL = (4, 8, 12)


@pytest.mark.parametrize(
    "most",
    [
        *SMALL,
        *(pytest.param(of, marks=pytest.mark.faults) for of in OPEN_FILES if of not in SMALL),
    ],
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
