"""Flux: what is asked of it by flux-submit(1), and what its recorded answers mean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import StudyError
from runners.batch_systems.flux import Flux, read_flux_jobs
from runners.batch_systems.interface import JobState, Submitted
from tests.runners.batch.asked import RECORDED, arguments, install_recorder, job_of, queue_of
from tests.runners.fake_commands import install

# Ids as Flux has told them, and their numbers.
HELD, CANCELLED, TIMEOUT = "ƒaznXod", "ƒTL2FGB", "ƒPEpEB1"
UNSATISFIABLE, FAILED, COMPLETED = "ƒXErMNw", "ƒKwZppX", "ƒGTwWVd"
ALL = Submitted((HELD, CANCELLED, TIMEOUT, UNSATISFIABLE, FAILED, COMPLETED), 0, 6)


def test_each_worker_is_a_job_with_an_id_of_its_own(commands: Path, tmp_path: Path) -> None:
    told = install_recorder(commands, "flux", f"printf '%s\\n' {HELD} {FAILED} {COMPLETED}")
    job = job_of(tmp_path, first_worker=2, workers=3)
    taken = Flux().submit(tmp_path / "job.sh", queue_of("flux"), job)
    # Their numbers say in which order they were asked for.
    assert taken == Submitted((COMPLETED, FAILED, HELD), 2, 3)
    assert "--cc=2-4" in arguments(told)[0]


def test_no_more_workers_run_at_a_time_than_the_site_allows(commands: Path, tmp_path: Path) -> None:
    install(
        commands,
        "flux",
        f"""printf '%s\\n' "$*" >>{commands}/told
case $* in
  *--cc=0-1*) printf 'ƒ1\\nƒ2\\n' ;;
  *--cc=2-3*) printf 'ƒ3\\nƒ4\\n' ;;
  *'--cc=4 '*) echo ƒ5 ;;
esac""",
    )
    job = job_of(tmp_path, workers=5, after=("ƒ9",))
    taken = Flux().submit(tmp_path, queue_of("flux", most_at_once=2), job)
    assert taken.ids == ("ƒ1", "ƒ2", "ƒ3", "ƒ4", "ƒ5")
    calls = (commands / "told").read_text().splitlines()
    waits = [
        [option for option in call.split() if option.startswith("--dependency")] for call in calls
    ]
    assert waits == [
        ["--dependency=afterany:ƒ9"],
        ["--dependency=afterany:ƒ1", "--dependency=afterany:ƒ2"],
        ["--dependency=afterany:ƒ3", "--dependency=afterany:ƒ4"],
    ]


def test_when_a_worker_is_refused_those_before_it_are_cancelled(
    commands: Path, tmp_path: Path
) -> None:
    install(
        commands,
        "flux",
        f"""echo "$*" >>{commands}/told
case $* in
  cancel*) exit 0 ;;
  *'--cc=0 '*) echo {COMPLETED} ;;
  *) echo 'flux-submit: ERROR: [Errno 22] Invalid queue specified: nosuch' >&2; exit 1 ;;
esac""",
    )
    queue = queue_of("flux", queue="nosuch", most_at_once=1)
    with pytest.raises(StudyError) as refused:
        Flux().submit(tmp_path / "job.sh", queue, job_of(tmp_path, workers=2))
    assert str(refused.value).startswith("`queue nosuch` is refused: `flux submit ")
    assert "Invalid queue specified: nosuch" in str(refused.value)
    calls = (commands / "told").read_text().splitlines()
    assert calls[-1] == "cancel 10150215680"


def test_recorded_states_of_jobs_are_read(commands: Path) -> None:
    install(commands, "flux", f"cat {RECORDED}/flux/jobs.json")
    note = (
        "unsatisfiable request: need 1 slot(s) of 1 core(s), only 0 such slot(s) available (total "
        "cores: 0)"
    )
    assert Flux().poll([ALL]) == [
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
    assert Flux().poll([Submitted((COMPLETED,), 3, 1)]) == [
        JobState(3, COMPLETED, "ended", "COMPLETED", "n1")
    ]


def test_an_id_that_several_workers_share_is_asked_for_as_it_is(commands: Path) -> None:
    install(commands, "flux", "echo 'JobID 99 unknown' >&2; exit 1")
    ended = "Flux knows it no longer"
    assert Flux().poll([Submitted(("ƒ2i",), 0, 2)]) == [
        JobState(worker, "ƒ2i", "ended", ended) for worker in range(2)
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
