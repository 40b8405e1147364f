"""PBS: what is asked of it by qsub(1B), and what qstat's recorded answers mean."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from configs.errors import StudyError, UserError
from runners.batch.pbs import Pbs, read_qstat
from runners.batch.system import Job, JobState, Submitted
from tests.runners.batch.asked import (
    DATA,
    arguments,
    directives,
    install_recorder,
    job_of,
    queue_of,
)
from tests.runners.fake_commands import install

SHARED = Path("/shared")
ONE, ARRAY = Submitted(("24.vm",), 0, 1), Submitted(("26[].vm",), 0, 4)


def options(job: Job, **keys: object) -> list[str]:
    return directives(Pbs().render(queue_of("pbs", **keys), job), "#PBS")


def test_a_worker_has_a_node_for_itself_with_all_its_cpus() -> None:
    asked = options(job_of(SHARED), cpus=64)
    assert "-l select=1:ncpus=64" in asked
    assert "-l place=excl" in asked
    assert "-l walltime=2:00:00" in asked
    # Rerunnable; read by bash, whatever the user's login shell is.
    assert "-r y" in asked
    assert "-S /bin/bash" in asked
    # The whole environment (-V) is not taken along.
    assert not any(option.startswith(("-V", "-v")) for option in asked)


def test_an_array_of_one_is_refused_by_pbs_and_not_asked_for() -> None:
    assert not any(option.startswith("-J") for option in options(job_of(SHARED, workers=1)))
    assert "-J 1-2" in options(job_of(SHARED, first_worker=1, workers=2))
    assert "-J 0-3%2" in options(job_of(SHARED, workers=4), most_at_once=2)


def test_nodes_and_features_are_part_of_the_chunk() -> None:
    assert "-l select=1:ncpus=8:hybrid=true" in options(job_of(SHARED, feature="hybrid"))
    assert "-l select=1:ncpus=8:host=n1" in options(job_of(SHARED, node="n1"))


def test_what_the_site_asks_for_is_told() -> None:
    job = job_of(SHARED, after=("26[].vm", "27.vm"))
    asked = options(job, queue="workq", account="project", directives=("-P x",))
    for option in ("-q workq", "-A project", "-W depend=afterany:26[].vm:27.vm"):
        assert option in asked
    assert asked[-1] == "-P x"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("pinstudy-paper-parallel", "pinstudy-paper-"),
        ("9lives", "p9lives"),
        ("123456789012345678", "p12345678901234"),
        ("a b", "a-b"),
    ],
)
def test_a_name_is_legal_in_all_versions(name: str, said: str) -> None:
    assert f"-N {said}" in options(job_of(SHARED, name=name))


def test_what_pbs_says_of_the_job_goes_beside_the_logs() -> None:
    asked = options(job_of(SHARED))
    assert "-j oe" in asked
    assert "-o /shared/logs/" in asked


@pytest.mark.parametrize("odd", [" ", ":", ","])
def test_folders_that_qsub_would_take_apart_are_refused(odd: str) -> None:
    with pytest.raises(UserError, match="cannot be told to the batch system"):
        options(job_of(SHARED, logs=Path(f"/a{odd}b")))


def test_a_submitted_job_has_the_id_that_pbs_tells(commands: Path, tmp_path: Path) -> None:
    told = install_recorder(commands, "qsub", "echo '26[].vm'")
    job = job_of(tmp_path, workers=4)
    assert Pbs().submit(tmp_path / "job.sh", queue_of("pbs"), job) == ARRAY
    assert arguments(told) == [[str(tmp_path / "job.sh")]]


@pytest.mark.parametrize(
    ("status", "said", "what"),
    [
        (187, "qsub: Unknown resource: hybrid", "feature hybrid"),
        (170, "qsub: Unknown queue", "queue workq"),
        (2, "qsub: illegal -J value", "2 workers"),
    ],
)
def test_a_refusal_says_what_it_is_about_in_pbs_s_words(
    commands: Path, tmp_path: Path, status: int, said: str, what: str
) -> None:
    install(commands, "qsub", f"echo '{said}' >&2; exit {status}")
    job = job_of(tmp_path, workers=2, feature="hybrid")
    with pytest.raises(StudyError) as refused:
        Pbs().submit(tmp_path / "job.sh", queue_of("pbs", queue="workq"), job)
    assert str(refused.value) == (
        f"`{what}` is refused: `qsub {tmp_path}/job.sh` ended with status {status}: {said}"
    )


@pytest.mark.parametrize("said", ["", "26[0].vm", "../x", "12 13", "12.vm;id"])
def test_an_answer_that_is_no_id_is_not_taken(commands: Path, tmp_path: Path, said: str) -> None:
    install(commands, "qsub", f"echo '{said}'")
    with pytest.raises(StudyError, match="told no id of a job"):
        Pbs().submit(tmp_path, queue_of("pbs"), job_of(tmp_path))


def states(commands: Path, recording: str, *jobs: Submitted) -> list[JobState]:
    install(commands, "qstat", f"cat {DATA}/pbs/qstat-{recording}.json")
    return Pbs().poll(jobs)


def test_a_running_job_has_its_node(commands: Path) -> None:
    assert states(commands, "running", ONE) == [JobState(0, "24.vm", "running", "", "vm")]


def test_subjobs_of_an_array_have_states_of_their_own(commands: Path) -> None:
    began = "Job Array Began at Sat Nov 21 at 01:43"
    assert states(commands, "array", ARRAY) == [
        JobState(0, "26[0].vm", "running", "", "vm"),
        JobState(1, "26[1].vm", "queued", began, ""),
        JobState(2, "26[2].vm", "queued", began, ""),
        JobState(3, "26[3].vm", "queued", began, ""),
    ]
    ended = states(commands, "array-finished", ARRAY)
    assert {(state.state, state.node) for state in ended} == {("ended", "vm")}


def test_a_job_that_can_never_run_says_so(commands: Path) -> None:
    (found,) = states(commands, "cannever", Submitted(("10.vm",), 0, 1))
    assert found.state == "ended"
    assert found.reason.startswith(
        "Can Never Run: Insufficient amount of resource: ncpus (R: 64 A: 2 T: 2)"
    )


def test_a_job_that_waits_for_ever_says_so(commands: Path) -> None:
    comment = "Can Never Run: Insufficient amount of resource: hybrid (True != False)"
    answer = {"Jobs": {"24.vm": {"job_state": "Q", "comment": comment}}}
    install(commands, "qstat", f"cat <<'E'\n{json.dumps(answer)}\nE")
    assert Pbs().poll([ONE]) == [JobState(0, "24.vm", "queued", comment)]


def test_a_held_job_says_who_holds_it(commands: Path) -> None:
    assert states(commands, "held", Submitted(("25.vm",), 0, 1)) == [
        JobState(0, "25.vm", "held", "Hold_Types u")
    ]


def test_a_job_that_was_ended_at_its_limit_says_so(commands: Path) -> None:
    (found,) = states(commands, "walltime", Submitted(("2.vm",), 0, 1))
    assert (found.state, found.node) == ("ended", "vm")
    assert "exceeded resource walltime, Exit_status -29" in found.reason


def test_a_job_without_exit_status_has_ended_as_well(commands: Path) -> None:
    (found,) = states(commands, "dep-failed", Submitted(("18.vm",), 0, 1))
    assert found.state == "ended"


def test_one_question_is_asked_for_all_jobs(commands: Path) -> None:
    told = install_recorder(commands, "qstat", "echo '{\"Jobs\": {}}'")
    Pbs().poll([ONE, ARRAY])
    assert arguments(told) == [["-x", "-f", "-F", "json", "-t", "24.vm", "26[].vm"]]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (153, "qstat: Unknown Job Id 24.vm"),
        (35, "qstat: 24.vm Job has finished, use -x or -H to obtain historical job information"),
    ],
)
def test_a_job_that_pbs_has_forgotten_has_ended_and_spoils_no_other(
    commands: Path, status: int, said: str
) -> None:
    recording = DATA / "pbs" / "qstat-array.json"
    install(commands, "qstat", f"cat {recording}; echo '{said}' >&2; exit {status}")
    found = Pbs().poll([ONE, ARRAY])
    assert [state.state for state in found] == ["ended", "running", "queued", "queued", "queued"]
    assert found[0].reason == "PBS knows it no longer"


def test_a_server_without_history_is_asked_without_it(commands: Path) -> None:
    no_history = "qstat: PBS is not configured to maintain job history"
    recording = DATA / "pbs" / "qstat-running.json"
    install(
        commands,
        "qstat",
        f"[ $1 != -x ] || {{ echo '{no_history}' >&2; exit 1; }}\ncat {recording}",
    )
    assert [state.state for state in Pbs().poll([ONE])] == ["running"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'qstat: cannot connect to server vm (errno=111)' >&2; exit 111", "cannot connect"),
        ("echo 'Job id  Name'", "tells nothing of it"),
        ("echo '{\"Jobs\": [1, 2]}'", "tells nothing of it"),
        ('echo \'{"Jobs": {"24.vm": 3}}\'', "tells nothing of it"),
        ("printf '[%.0s' $(seq 20000)", "tells nothing of it"),
        ('echo \'{"Jobs": {"24.vm": {"job_state": ["R"]}}}\'', "job_state"),
        ('echo \'{"Jobs": {"24.vm": {"job_state": "M"}}}\'', "job_state M"),
    ],
)
def test_what_cannot_be_asked_or_read_is_unknown(commands: Path, script: str, reason: str) -> None:
    install(commands, "qstat", script)
    (found,) = Pbs().poll([ONE])
    assert found.state == "unknown"
    assert reason in found.reason


def test_ids_that_are_none_of_pbs_are_asked_and_cancelled_by_nobody(commands: Path) -> None:
    for name in ("qstat", "qdel"):
        install(commands, name, f"touch {commands}/asked")
    odd = Submitted(("-Wforce", "$(id)", "../24.vm"), 0, 3)
    assert [state.state for state in Pbs().poll([odd])] == ["unknown"] * 3
    assert Pbs().cancel([odd]) == ""
    assert not (commands / "asked").exists()


def test_jobs_that_have_ended_are_no_reason_against_cancelling(commands: Path) -> None:
    told = install_recorder(commands, "qdel", "echo 'qdel: Unknown Job Id 24.vm' >&2; exit 153")
    assert Pbs().cancel([ONE, ARRAY]) == ""
    assert arguments(told) == [["24.vm", "26[].vm"]]
    install(commands, "qdel", "echo 'qdel: Unauthorized Request  24.vm' >&2; exit 159")
    assert Pbs().cancel([ONE]).endswith("ended with status 159: qdel: Unauthorized Request 24.vm")


def test_values_that_stand_there_as_they_are_spoil_nothing() -> None:
    told = read_qstat('{"Jobs": {"1.vm": {"job_state": "R", "Variable_List": "a\tb\nc"}}}')
    assert told["1.vm"]["job_state"] == "R"


@given(
    st.text(max_size=40)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=4),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["Jobs", "a"]), inner),
        max_leaves=6,
    ).map(json.dumps)
)
def test_whatever_qstat_prints_there_are_jobs_or_none(text: str) -> None:
    assert all(isinstance(job, dict) for job in read_qstat(text).values())
