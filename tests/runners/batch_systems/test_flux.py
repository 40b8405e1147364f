"""Flux: what is asked of it by flux-submit(1), and what its recorded answers mean."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from runners.batch_systems.flux import Flux, read_flux_jobs
from runners.batch_systems.interface import JobState, Submitted
from tests.runners.batch.asked import RECORDED, arguments, install_recorder, job_of, queue_of
from tests.runners.fake_commands import install

# Ids as Flux has told them, and their numbers.
HELD, CANCELLED, TIMEOUT = "ƒaznXod", "ƒTL2FGB", "ƒPEpEB1"
UNSATISFIABLE, FAILED, COMPLETED = "ƒXErMNw", "ƒKwZppX", "ƒGTwWVd"
ALL = [
    Submitted(job_id, worker, 1)
    for worker, job_id in enumerate((HELD, CANCELLED, TIMEOUT, UNSATISFIABLE, FAILED, COMPLETED))
]


def test_a_worker_is_a_job_whose_options_are_on_the_command_line(
    commands: Path, tmp_path: Path
) -> None:
    told = install_recorder(commands, "flux", f"echo {COMPLETED}")
    job, script = job_of(tmp_path, first_worker=2, after=HELD), tmp_path / "job.sh"
    assert Flux().submit(script, queue_of("flux"), job) == Submitted(COMPLETED, 2, 1)
    ((*options, bash, file),) = arguments(told)
    assert options[0] == "submit"
    assert f"--dependency=afterany:{HELD}" in options
    assert (bash, file) == ("/bin/bash", str(script))


def test_recorded_states_of_jobs_are_read(commands: Path) -> None:
    install(commands, "flux", f"cat {RECORDED}/flux/jobs.json")
    note = (
        "unsatisfiable request: need 1 slot(s) of 1 core(s), only 0 such slot(s) available (total "
        "cores: 0)"
    )
    assert Flux().poll(ALL) == [
        JobState(0, HELD, "held", "held: urgency 0"),
        JobState(1, CANCELLED, "ended", "CANCELED, cancel", "n2"),
        JobState(2, TIMEOUT, "ended", "TIMEOUT, timeout, resource allocation expired", "n1"),
        JobState(3, UNSATISFIABLE, "ended", f"FAILED, alloc, {note}"),
        JobState(4, FAILED, "ended", "FAILED, returncode 3", "n1"),
        JobState(5, COMPLETED, "ended", "COMPLETED", "n1"),
    ]


def test_a_job_that_is_asked_for_alone_is_answered_alone(commands: Path) -> None:
    job = json.loads((RECORDED / "flux" / "jobs.json").read_text())["jobs"][-1]
    install(commands, "flux", f"cat <<'E'\n{json.dumps(job)}\nE")
    assert Flux().poll([Submitted(COMPLETED, 3, 1)]) == [
        JobState(3, COMPLETED, "ended", "COMPLETED", "n1")
    ]


@given(
    st.text(max_size=40)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner) | st.dictionaries(st.sampled_from(["jobs", "id", "state"]), inner)
        ),
        max_leaves=6,
    ).map(json.dumps)
)
def test_whatever_flux_prints_there_are_jobs_or_none(text: str) -> None:
    for number, job in read_flux_jobs(text).items():
        assert job["id"] == number
