"""PBS: what is asked of it by qsub(1B), and what qstat's recorded answers mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import StudyError, UserError
from runners.batch.systems.interface import JobState, Submitted
from runners.batch.systems.pbs import Pbs, read_qstat
from runners.batch.systems.script import Job
from tests.runners.batch.asked import (
    RECORDED,
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
    assert "-o /shared/logs/pbs-0.log" in asked
    assert "-o /shared/logs/pbs-^array_index^.log" in options(job_of(SHARED, workers=2))


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
    install(commands, "qstat", f"cat {RECORDED}/pbs/{recording}.txt")
    return Pbs().poll(jobs)


def test_subjobs_of_an_array_have_states_of_their_own(commands: Path) -> None:
    array = Submitted(("11[].vm",), 0, 3)
    began = "Job Array Began at Sat Nov 21 at 23:04"
    assert states(commands, "waiting", array) == [
        JobState(0, "11[0].vm", "running", "", "vm"),
        JobState(1, "11[1].vm", "queued", began, ""),
        JobState(2, "11[2].vm", "queued", began, ""),
    ]
    ended = "Job run at Sat Nov 21 at 23:04 on (vm:ncpus=2) and finished"
    assert states(commands, "finished", array) == [
        JobState(number, f"11[{number}].vm", "ended", ended, "vm") for number in range(3)
    ]


def test_a_job_says_who_holds_it_that_it_can_never_run_or_what_it_waits_for(
    commands: Path,
) -> None:
    jobs = [Submitted((f"{number}.vm",), 0, 1) for number in (12, 13, 14)]
    never = "Can Never Run: Insufficient amount of resource: ncpus (R: 64 A: 2 T: 2)"
    assert states(commands, "waiting", *jobs) == [
        JobState(0, "12.vm", "held", "Hold_Types u"),
        JobState(0, "13.vm", "queued", never),
        JobState(0, "14.vm", "queued", "afterany:12.vm@vm"),
    ]


def test_a_job_that_was_ended_at_its_limit_says_so(commands: Path) -> None:
    said = (
        "Job run at Sat Nov 21 at 23:01 on (vm:ncpus=2) and exceeded resource walltime, "
        "Exit_status -29"
    )
    assert states(commands, "walltime", Submitted(("4.vm",), 0, 1)) == [
        JobState(0, "4.vm", "ended", said, "vm")
    ]


@pytest.mark.parametrize(
    ("letter", "state"),
    [
        *[("Q", "queued"), ("W", "queued"), ("S", "held"), ("E", "running"), ("X", "ended")],
        *[("M", "unknown"), ("B", "unknown"), ("", "unknown"), ("RR", "unknown")],
    ],
)
def test_a_state_is_what_the_worker_may_still_do(commands: Path, letter: str, state: str) -> None:
    install(commands, "qstat", f"echo 'Job Id: 24.vm|Job_Name=x|job_state={letter}'")
    (found,) = Pbs().poll([ONE])
    assert found.state == state
    assert state != "unknown" or found.reason == f"job_state {letter}"


def test_one_question_is_asked_for_all_jobs(commands: Path) -> None:
    told = install_recorder(commands, "qstat", "")
    Pbs().poll([ONE, ARRAY])
    options = ["-x", "-f", "-F", "dsv", "-D", "|", "-t"]
    assert arguments(told) == [[*options, "24.vm", "26[].vm"]]


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
    install(commands, "qstat", f"cat {RECORDED}/pbs/waiting.txt; echo '{said}' >&2; exit {status}")
    found = Pbs().poll([ONE, Submitted(("11[].vm",), 0, 2)])
    assert [state.state for state in found] == ["ended", "running", "queued"]
    assert found[0].reason == "PBS knows it no longer"


@pytest.mark.parametrize(
    "said", ["qstat: Unknown Job Id 124.vm", "qstat: 24.vm2 Job has finished, use -x or -H"]
)
def test_a_job_is_not_gone_because_one_with_a_longer_id_is(commands: Path, said: str) -> None:
    install(commands, "qstat", f"echo '{said}' >&2; exit 153")
    assert [state.state for state in Pbs().poll([ONE])] == ["unknown"]


def test_a_server_without_history_is_asked_without_it(commands: Path) -> None:
    no_history = "qstat: PBS is not configured to maintain job history 24.vm"
    told = install_recorder(
        commands,
        "qstat",
        f"[ $1 != -x ] || {{ echo '{no_history}' >&2; exit 0; }}\n"
        "echo 'Job Id: 24.vm|job_state=R|exec_host=n1/0*8'",
    )
    assert Pbs().poll([ONE]) == [JobState(0, "24.vm", "running", "", "n1")]
    assert [call[0] for call in arguments(told)] == ["-x", "-f"]


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo 'qstat: cannot connect to server vm (errno=111)' >&2; exit 111", "cannot connect"),
        ("echo 'Job id  Name'", "tells nothing of it"),
        ("echo 'Job Id: 25.vm|job_state=R'", "tells nothing of it"),
        ("echo 'Job Id: 24.vm'", "job_state"),
    ],
)
def test_what_cannot_be_asked_or_read_is_unknown(commands: Path, script: str, reason: str) -> None:
    install(commands, "qstat", script)
    (found,) = Pbs().poll([ONE])
    assert found.state == "unknown"
    assert reason in found.reason


def test_jobs_that_have_ended_are_no_reason_against_cancelling(commands: Path) -> None:
    told = install_recorder(commands, "qdel", "echo 'qdel: Unknown Job Id 24.vm' >&2; exit 153")
    assert Pbs().cancel([ONE, ARRAY]) == ""
    assert arguments(told) == [["24.vm", "26[].vm"]]
    install(commands, "qdel", "echo 'qdel: Unauthorized Request  24.vm' >&2; exit 159")
    assert Pbs().cancel([ONE]).endswith("ended with status 159: qdel: Unauthorized Request 24.vm")


# qstat(1B), "-F dsv": the delimiter in a value, and a backslash, stand behind a backslash.
def escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("|", "\\|")


WORDS = st.text(alphabet=st.sampled_from("ab |\\=:.[]0"), max_size=12)


@given(WORDS, WORDS)
def test_values_are_read_whatever_they_hold(variables: str, comment: str) -> None:
    line = f"Job Id: 1.vm|Variable_List=A={escaped(variables)}|comment={escaped(comment)}|x=y\n"
    told = read_qstat(f"noise\n{line}Job Id: 2.vm|job_state=R\n")
    assert told["1.vm"] == {
        "Variable_List": " ".join(f"A={variables}".split()),
        "comment": " ".join(comment.split()),
        "x": "y",
    }
    assert told["2.vm"] == {"job_state": "R"}


@given(st.text(max_size=40) | st.text(alphabet=st.sampled_from("Job Id: 1.vm|\\=\n"), max_size=60))
def test_whatever_qstat_prints_nothing_is_told_but_of_lines_about_jobs(text: str) -> None:
    told = read_qstat(text)
    assert len(told) <= sum(line.startswith("Job Id: ") for line in text.splitlines())
