"""LSF, as its documentation says: there are no recorded answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import StudyError
from runners.batch.systems.interface import JobState, Submitted
from runners.batch.systems.lsf import Lsf, read_bjobs
from runners.batch.systems.script import Job
from tests.runners.batch.asked import arguments, directives, install_recorder, job_of, queue_of
from tests.runners.fake_commands import install

SHARED = Path("/shared")
ONE, ARRAY = Submitted(("17",), 0, 1), Submitted(("18",), 0, 3)


def options(job: Job, **keys: object) -> list[str]:
    return directives(Lsf().render(queue_of("lsf", **keys), job), "#BSUB")


def test_a_worker_has_a_host_for_itself_with_all_its_slots() -> None:
    asked = options(job_of(SHARED), cpus=64)
    for option in ("-n 64", '-R "span[hosts=1]"', "-x", "-r", "-J quick"):
        assert option in asked


def test_indices_of_arrays_count_from_one() -> None:
    assert '-J "quick[1-4]"' in options(job_of(SHARED, workers=4))
    assert '-J "quick[3-5]%2"' in options(job_of(SHARED, first_worker=2, workers=3), most_at_once=2)


@pytest.mark.parametrize(
    ("seconds", "said"), [(3600, "1:00"), (5400, "1:30"), (61, "0:02"), (360000, "100:00")]
)
def test_a_time_limit_is_in_minutes_and_never_cut(seconds: float, said: str) -> None:
    assert f"-W {said}" in options(job_of(SHARED), time_limit_s=seconds)


def test_what_the_site_and_the_study_ask_for_is_told() -> None:
    job = job_of(SHARED, node="n1", feature="hybrid", after=("12", "13"))
    asked = options(job, queue="normal", account="project", directives=("-G group",))
    for option in (
        "-q normal",
        "-P project",
        "-m n1",
        '-R "select[hybrid] span[hosts=1]"',
        '-w "ended(12) && ended(13)"',
    ):
        assert option in asked
    assert asked[-1] == "-G group"


def test_what_lsf_says_of_the_job_goes_beside_the_logs_and_not_into_a_mail() -> None:
    assert "-o /shared/logs/lsf-%J.log" in options(job_of(SHARED))
    assert "-o /shared/logs/lsf-%J.%I.log" in options(job_of(SHARED, workers=2))


def test_the_script_is_read_for_its_directives(
    commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BSUB_QUIET", "1")
    install(
        commands,
        "bsub",
        f"[ $# = 0 ] && [ -z $BSUB_QUIET ] && cat >{tmp_path}/read\n"
        "echo 'Job <18> is submitted to queue <normal>.'",
    )
    job = job_of(tmp_path, workers=3)
    script = tmp_path / "job.sh"
    script.write_text(Lsf().render(queue_of("lsf"), job))
    assert Lsf().submit(script, queue_of("lsf"), job) == ARRAY
    assert (tmp_path / "read").read_text() == script.read_text()


def test_a_refusal_says_what_it_is_about_in_lsf_s_words(commands: Path, tmp_path: Path) -> None:
    said = "normall: No such queue. Job not submitted."
    install(commands, "bsub", f"echo '{said}' >&2; exit 255")
    (tmp_path / "job.sh").touch()
    with pytest.raises(StudyError) as refused:
        Lsf().submit(tmp_path / "job.sh", queue_of("lsf", queue="normall"), job_of(tmp_path))
    assert str(refused.value) == (
        f"`queue normall` is refused: `bsub < {tmp_path}/job.sh` ended with status 255: {said}"
    )


@pytest.mark.parametrize("said", ["", "Job <1;2> is submitted", "Request aborted by esub."])
def test_an_answer_that_is_no_number_is_not_taken(
    commands: Path, tmp_path: Path, said: str
) -> None:
    install(commands, "bsub", f"echo '{said}'")
    (tmp_path / "job.sh").touch()
    with pytest.raises(StudyError, match="told no number of a job"):
        Lsf().submit(tmp_path / "job.sh", queue_of("lsf"), job_of(tmp_path))


def states(commands: Path, answer: str, *jobs: Submitted) -> list[JobState]:
    (commands / "answer").write_text(answer)
    install(commands, "bjobs", f"cat {commands}/answer")
    return Lsf().poll(jobs)


def test_jobs_and_elements_of_arrays_have_their_states(commands: Path) -> None:
    answer = (
        "17|0|PEND|-|-|Job dependency condition not satisfied; Load information | unavailable\n"
        "18|1|RUN|8*n1|-|-\n"
        "18|2|EXIT|8*n2|TERM_RUNLIMIT: job killed after reaching LSF run time limit|-\n"
        "18|3|USUSP|n3:n4|-|-\n"
    )
    waits = "Job dependency condition not satisfied; Load information | unavailable"
    ended = "EXIT: TERM_RUNLIMIT: job killed after reaching LSF run time limit"
    assert states(commands, answer, ONE, ARRAY) == [
        JobState(0, "17", "queued", waits),
        JobState(0, "18[1]", "running", "", "n1"),
        JobState(1, "18[2]", "ended", ended, "n2"),
        JobState(2, "18[3]", "held", "USUSP", "n3"),
    ]


@pytest.mark.parametrize("word", ["UNKWN", "ZOMBI", "NEWS"])
def test_a_job_whose_host_does_not_answer_may_still_be_at_work(commands: Path, word: str) -> None:
    assert states(commands, f"17|0|{word}|n1|-|-\n", ONE) == [
        JobState(0, "17", "unknown", word, "n1")
    ]


def test_one_question_is_asked_for_all_jobs_of_anybody(
    commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LSB_BJOBS_FORMAT", "jobid")
    told = install_recorder(commands, "bjobs", f"env >{commands}/env")
    Lsf().poll([ONE, ARRAY])
    form = "jobid jobindex stat exec_host exit_reason pend_reason delimiter='|'"
    assert arguments(told) == [["-u", "all", "-a", "-noheader", "-o", form, "17", "18"]]
    assert "LSB_BJOBS" not in (commands / "env").read_text()


def test_a_job_that_lsf_has_forgotten_has_ended_and_spoils_no_other(commands: Path) -> None:
    said = "Job <17> is not found"
    install(commands, "bjobs", f"echo '{said}' >&2; echo '18|1|RUN|n1|-|-'; exit 255")
    first, second, *_ = Lsf().poll([ONE, ARRAY])
    assert (first.state, first.reason) == ("ended", "LSF knows it no longer")
    assert second.state == "running"


@pytest.mark.parametrize("gone", ["170", "117", "18[17]"])
def test_a_job_is_not_gone_because_another_one_is(commands: Path, gone: str) -> None:
    install(commands, "bjobs", f"echo 'Job <{gone}> is not found' >&2; exit 255")
    assert [state.state for state in Lsf().poll([ONE])] == ["unknown"]


def test_what_cannot_be_asked_is_unknown(commands: Path) -> None:
    said = "Failed in an LSF library call: LIM is down; try later"
    install(commands, "bjobs", f"echo '{said}' >&2; exit 255")
    found = Lsf().poll([ONE, ARRAY])
    assert {state.state for state in found} == {"unknown"}
    assert all(said in state.reason for state in found)


def test_jobs_that_have_ended_are_no_reason_against_cancelling(commands: Path) -> None:
    told = install_recorder(
        commands,
        "bkill",
        "echo 'Job <17>: Job has already finished' >&2\necho 'Job <18> is being terminated'\n"
        "exit 255",
    )
    assert Lsf().cancel([ONE, ARRAY]) == ""
    assert arguments(told) == [["17", "18"]]


def test_a_job_that_cannot_be_cancelled_is_told(commands: Path) -> None:
    install(commands, "bkill", "echo 'Job <17>: User permission denied' >&2; exit 255")
    assert Lsf().cancel([ONE]).endswith("Job <17>: User permission denied")


@given(st.text(alphabet=st.sampled_from("178|\n RUN-*n"), max_size=60))
def test_whatever_bjobs_prints_it_is_read_line_by_line(text: str) -> None:
    told = read_bjobs(text)
    assert len(told) <= sum(line.count("|") >= 5 for line in text.splitlines())
