"""Flux: what is asked of it by flux-submit(1), and what its recorded answers mean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import StudyError
from runners.batch.systems.flux import Flux, read_flux_jobs
from runners.batch.systems.interface import JobState, Submitted
from tests.runners.batch.asked import RECORDED, arguments, install_recorder, job_of, queue_of
from tests.runners.fake_commands import install

# Ids as Flux has told them, and their numbers.
HELD, CANCELLED, TIMEOUT = "ƒaznXod", "ƒTL2FGB", "ƒPEpEB1"
UNSATISFIABLE, FAILED, COMPLETED = "ƒXErMNw", "ƒKwZppX", "ƒGTwWVd"
ALL = Submitted((HELD, CANCELLED, TIMEOUT, UNSATISFIABLE, FAILED, COMPLETED), 0, 6)


def submitted(commands: Path, tmp_path: Path, **keys: object) -> list[list[str]]:
    """Return the arguments of each flux submit for one worker with these keys."""
    queue_keys = ("queue", "account", "directives", "time_limit_s")
    queue = queue_of("flux", **{key: keys.pop(key) for key in queue_keys if key in keys})
    told = install_recorder(commands, "flux", f"echo {COMPLETED}")
    Flux().submit(tmp_path / "job.sh", queue, job_of(tmp_path, **keys))
    return arguments(told)


def test_a_worker_has_a_node_for_itself(commands: Path, tmp_path: Path) -> None:
    (asked,) = submitted(commands, tmp_path)
    assert asked[0] == "submit"
    for option in ("--nodes=1", "--ntasks=1", "--exclusive", "--job-name=quick"):
        assert option in asked
    assert asked[-2:] == ["/bin/bash", str(tmp_path / "job.sh")]
    assert not any(option.startswith("--cc") for option in asked)


def test_a_worker_is_warned_before_its_limit(commands: Path, tmp_path: Path) -> None:
    (asked,) = submitted(commands, tmp_path, time_limit_s=1800.0)
    assert "--time-limit=1800s" in asked
    assert "--signal=SIGUSR1@180s" in asked


def test_a_time_limit_of_a_month_is_told_in_seconds(commands: Path, tmp_path: Path) -> None:
    (asked,) = submitted(commands, tmp_path, time_limit_s=31 * 24 * 3600.0 - 1)
    assert "--time-limit=2678399s" in asked


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


def test_what_the_site_and_the_study_ask_for_is_told(commands: Path, tmp_path: Path) -> None:
    (asked,) = submitted(
        commands,
        tmp_path,
        node="n1",
        feature="hybrid",
        after=("ƒ12", "ƒ13"),
        queue="batch",
        account="bank",
        directives=("--setattr=a='b c'", "-o verbose"),
    )
    for option in (
        "--queue=batch",
        "--bank=bank",
        "--requires=hybrid host:n1",
        "--dependency=afterany:ƒ12",
        "--dependency=afterany:ƒ13",
    ):
        assert option in asked
    assert asked[-5:-2] == ["--setattr=a=b c", "-o", "verbose"]


def test_what_flux_says_goes_to_a_file_named_by_ordinary_letters(
    commands: Path, tmp_path: Path
) -> None:
    (asked,) = submitted(commands, tmp_path)
    assert f"--output={tmp_path}/logs/flux-{{{{id.dec}}}}.log" in asked


def test_the_script_names_the_command_that_submits_it(tmp_path: Path) -> None:
    script = Flux().render(queue_of("flux"), job_of(tmp_path, workers=3))
    assert "#   flux submit --job-name=quick --cc=0-2 " in script
    assert "/bin/bash THIS-FILE\n" in script


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


@pytest.mark.parametrize(
    "said", ["", "ƒ1\\nƒ1\\n", "ƒ1\\n", "ƒ1\\nƒ2\\nƒ3\\n", "12\\n13\\n", "ƒ0\\nƒ1\\n"]
)
def test_an_answer_with_other_than_one_id_a_worker_is_not_taken(
    commands: Path, tmp_path: Path, said: str
) -> None:
    install(commands, "flux", f"[ $1 = cancel ] || printf '{said}'")
    with pytest.raises(StudyError, match="told other ids than one for each"):
        Flux().submit(tmp_path, queue_of("flux"), job_of(tmp_path, workers=2))


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


def test_one_question_is_asked_for_all_jobs_by_their_numbers(commands: Path) -> None:
    told = install_recorder(commands, "flux", f"cat {RECORDED}/flux/jobs.json")
    Flux().poll([ALL, Submitted(("f2i",), 6, 1)])
    numbers = ["22313697280", "17280532480", "14596177920", "19847446528", "12431917056"]
    # ƒ2i is 99 (flux-cancel's own words for it).
    assert arguments(told) == [["jobs", "--json", *numbers, "10150215680", "99"]]


def test_a_job_that_is_asked_for_alone_is_answered_alone(commands: Path) -> None:
    job = json.loads((RECORDED / "flux" / "jobs.json").read_text())["jobs"][-1]
    install(commands, "flux", f"cat <<'E'\n{json.dumps(job)}\nE")
    assert Flux().poll([Submitted((COMPLETED,), 3, 1)]) == [
        JobState(3, COMPLETED, "ended", "COMPLETED", "n1")
    ]


def test_a_job_that_flux_has_forgotten_has_ended_and_spoils_no_other(commands: Path) -> None:
    install(commands, "flux", f"cat {RECORDED}/flux/jobs.json; echo 'JobID 99 unknown' >&2")
    first, second = Flux().poll([Submitted(("ƒ2i",), 0, 1), Submitted((HELD,), 1, 1)])
    assert (first.state, first.reason) == ("ended", "Flux knows it no longer")
    assert second.state == "held"


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("DEPEND", "queued"),
        ("PRIORITY", "queued"),
        ("SCHED", "queued"),
        ("RUN", "running"),
        ("CLEANUP", "running"),
        ("INACTIVE", "ended"),
        ("NEWS", "unknown"),
    ],
)
def test_a_state_is_what_the_worker_may_still_do(commands: Path, state: str, expected: str) -> None:
    answer = json.dumps({"id": 99, "state": state, "urgency": 16, "dependencies": ["afterany=ƒ1"]})
    install(commands, "flux", f"cat <<'E'\n{answer}\nE")
    (found,) = Flux().poll([Submitted(("ƒ2i",), 0, 1)])
    assert found.state == expected
    assert (found.reason == "afterany=ƒ1") == (expected in ("queued", "running"))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'flux-jobs: ERROR: Unable to connect to Flux' >&2; exit 1", "Unable to connect"),
        ("echo 'rpc: Operation not permitted' >&2; echo '{\"jobs\": []}'", "tells nothing of it"),
        ("echo nonsense", "tells nothing of it"),
        ("echo '{\"jobs\": 3}'", "tells nothing of it"),
        ("printf '[%.0s' $(seq 20000)", "tells nothing of it"),
    ],
)
def test_what_cannot_be_asked_or_read_is_unknown(commands: Path, script: str, reason: str) -> None:
    install(commands, "flux", script)
    (found,) = Flux().poll([Submitted(("ƒ2i",), 0, 1)])
    assert found.state == "unknown"
    assert reason in found.reason


def test_an_id_that_several_workers_share_is_asked_for_as_it_is(commands: Path) -> None:
    install(commands, "flux", "echo 'JobID 99 unknown' >&2; exit 1")
    ended = "Flux knows it no longer"
    assert Flux().poll([Submitted(("ƒ2i",), 0, 2)]) == [
        JobState(worker, "ƒ2i", "ended", ended) for worker in range(2)
    ]


def test_jobs_that_have_ended_are_no_reason_against_cancelling(commands: Path) -> None:
    told = install_recorder(
        commands, "flux", "echo 'flux-cancel: ERROR: ƒ2i: unknown job id' >&2; exit 1"
    )
    assert Flux().cancel([Submitted(("ƒ2i", HELD), 0, 2)]) == ""
    assert arguments(told) == [["cancel", "99", "22313697280"]]


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
