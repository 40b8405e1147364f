"""Slurm: what is asked of it by sbatch(1), and what squeue's recorded answers mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import StudyError
from runners.batch.systems.interface import JobState, Submitted
from runners.batch.systems.script import Job
from runners.batch.systems.slurm import Slurm, read_squeue
from tests.runners.batch.asked import (
    RECORDED,
    arguments,
    directives,
    install_recorder,
    job_of,
    queue_of,
)
from tests.runners.fake_commands import install

LOGS = Path("/shared/logs")


def options(job: Job, **keys: object) -> list[str]:
    return directives(Slurm().render(queue_of("slurm", **keys), job), "#SBATCH")


def test_a_worker_has_a_node_for_itself_with_all_its_cpus_and_memory() -> None:
    asked = options(job_of(Path("/shared")))
    for option in ("--nodes=1", "--ntasks=1", "--cpus-per-task=8", "--exclusive", "--mem=0"):
        assert option in asked
    assert not any(option.startswith("--array") for option in asked)


def test_a_site_that_does_not_say_its_cpus_asks_for_no_number() -> None:
    assert not any("cpus" in option for option in options(job_of(Path("/shared")), cpus=None))


def test_a_job_runs_again_keeps_its_log_and_is_warned() -> None:
    asked = options(job_of(Path("/shared"), first_worker=3))
    for option in ("--requeue", "--open-mode=append", "--export=ALL"):
        assert option in asked
    assert "--output=/shared/logs/worker-3.log" in asked


@pytest.mark.parametrize(
    ("hours", "limit", "warning"),
    [
        (1 / 60, "0:01:00", 15),
        (0.5, "0:30:00", 180),
        (2, "2:00:00", 600),
        (100.5, "100:30:00", 600),
    ],
)
def test_a_longer_job_is_warned_earlier_but_not_more_than_ten_minutes(
    hours: float, limit: str, warning: int
) -> None:
    asked = options(job_of(Path("/shared")), time_limit_s=hours * 3600)
    assert f"--time={limit}" in asked
    # B: the batch script alone, and that is the worker.
    assert f"--signal=B:USR1@{warning}" in asked


def test_a_time_limit_is_never_cut() -> None:
    assert "--time=0:01:01" in options(job_of(Path("/shared")), time_limit_s=60.2)


def test_workers_of_a_split_study_are_tasks_of_an_array_with_their_own_numbers() -> None:
    asked = options(job_of(Path("/shared"), first_worker=2, workers=4))
    assert "--array=2-5" in asked
    assert "--output=/shared/logs/worker-%a.log" in asked


@pytest.mark.parametrize(("most", "array"), [(2, "0-3%2"), (4, "0-3"), (9, "0-3")])
def test_no_more_workers_run_at_a_time_than_the_site_allows(most: int, array: str) -> None:
    assert f"--array={array}" in options(job_of(Path("/shared"), workers=4), most_at_once=most)


def test_what_the_site_and_the_study_ask_for_is_told() -> None:
    job = job_of(Path("/shared"), node="n1", feature="hybrid", after=("12", "13"))
    asked = options(job, queue="main", account="project", directives=("--mem=100G", "--qos=x"))
    for option in (
        "--partition=main",
        "--account=project",
        "--nodelist=n1",
        "--constraint=hybrid",
        "--dependency=afterany:12:13",
    ):
        assert option in asked
    # Of two options that say the same the last one counts.
    assert asked[-2:] == ["--mem=100G", "--qos=x"]


def test_a_job_s_name_is_one_word() -> None:
    assert "--job-name=a-b-c" in options(job_of(Path("/shared"), name="a b;c"))


def test_logs_in_a_folder_with_blanks_are_one_word_of_the_directive() -> None:
    job = job_of(Path("/shared"), logs=Path("/my results/logs"))
    assert '--output="/my results/logs/worker-0.log"' in options(job)


def test_a_folder_that_is_called_as_a_log_stays_what_it_is() -> None:
    job = job_of(Path("/shared"), logs=Path("/shared/worker-N.log"))
    assert "--output=/shared/worker-N.log/worker-0.log" in options(job)


def test_a_submitted_job_has_the_id_that_slurm_tells(commands: Path, tmp_path: Path) -> None:
    told = install_recorder(commands, "sbatch", "echo '42;here'")
    job = job_of(tmp_path, first_worker=1, workers=3)
    taken = Slurm().submit(tmp_path / "job.sh", queue_of("slurm"), job)
    assert taken == Submitted(("42",), 1, 3)
    assert arguments(told) == [["--parsable", str(tmp_path / "job.sh")]]


def test_variables_do_not_make_another_job_of_what_was_shown(
    commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(commands, "sbatch", f"env >{tmp_path}/env; echo 1")
    for name in ("ARRAY_INX", "WAIT", "EXPORT", "TIMELIMIT", "PARTITION", "ACCOUNT", "QOS"):
        monkeypatch.setenv(f"SBATCH_{name}", "x")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    Slurm().submit(tmp_path, queue_of("slurm", queue="main"), job_of(tmp_path))
    seen = (tmp_path / "env").read_text().splitlines()
    # The site names no account and no QOS: what the user has set for all jobs holds.
    assert {line for line in seen if line.startswith(("SBATCH_", "SLURM_"))} == {
        "SBATCH_ACCOUNT=x",
        "SBATCH_QOS=x",
        "SLURM_CONF=/etc/slurm/slurm.conf",
    }
    # The job inherits it.
    assert "LC_ALL=C.UTF-8" in seen


FAILED = "sbatch: error: Batch job submission failed: "


@pytest.mark.parametrize(
    ("said", "what"),
    [
        (FAILED + "Invalid feature specification", "`feature hybrid` is refused: "),
        (FAILED + "Requested node configuration is not available", "`feature hybrid` is refused: "),
        (
            f"sbatch: error: invalid partition specified: main\n{FAILED}Invalid partition name "
            "specified",
            "`queue main` is refused: ",
        ),
        (FAILED + "Invalid job array specification", "`4 workers` is refused: "),
        (
            FAILED + "Invalid account or account/partition combination specified",
            "`account project` is refused: ",
        ),
        (
            FAILED + "Requested time limit is invalid (missing or exceeds some limit)",
            "`time_limit 2:00:00` is refused: ",
        ),
        (FAILED + "Job dependency problem", "`after 12` is refused: "),
        (
            "sbatch: error: governor of PowerSave is not allowed in slurm.conf\n"
            "sbatch: error: Invalid --cpu-freq argument",
            "the job is refused: ",
        ),
    ],
)
def test_a_refusal_says_what_of_the_site_or_study_it_is_about_in_slurm_s_words(
    commands: Path, tmp_path: Path, said: str, what: str
) -> None:
    install(commands, "sbatch", f"cat >&2 <<'E'\n{said}\nE\nexit 1")
    queue = queue_of("slurm", queue="main", account="project", directives=("--cpu-freq=PowerSave",))
    job = job_of(tmp_path, workers=4, feature="hybrid", after=("12",))
    with pytest.raises(StudyError) as refused:
        Slurm().submit(tmp_path / "job.sh", queue, job)
    told = str(refused.value)
    assert told.startswith(what + f"`sbatch --parsable {tmp_path}/job.sh` ended with status 1: ")
    assert said.replace("\n", " ") in told
    if what.startswith("the job"):
        assert "--cpu-freq=PowerSave" in told.rpartition("(asked for: ")[2]


def test_a_node_without_the_feature_is_told_by_its_name(commands: Path, tmp_path: Path) -> None:
    install(commands, "sbatch", f"echo '{FAILED}Invalid node name specified' >&2; exit 1")
    with pytest.raises(StudyError, match=r"^`node n9` is refused: "):
        Slurm().submit(tmp_path, queue_of("slurm"), job_of(tmp_path, node="n9"))


@pytest.mark.usefixtures("commands")
def test_where_there_is_no_slurm_that_is_told(tmp_path: Path) -> None:
    with pytest.raises(StudyError) as refused:
        Slurm().submit(tmp_path / "job.sh", queue_of("slurm"), job_of(tmp_path))
    assert str(refused.value) == (
        f"`sbatch --parsable {tmp_path}/job.sh` cannot be started: there is no sbatch on the PATH; "
        "submit where the commands of Slurm are"
    )


def test_a_submission_that_is_not_answered_may_have_been_taken(
    commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runners.batch.systems.interface.SUBMIT_LIMIT_S", 0.3)
    install(commands, "sbatch", "sleep 600")
    with pytest.raises(StudyError, match=r"did not answer.*Slurm has taken the job quick all the"):
        Slurm().submit(tmp_path / "job.sh", queue_of("slurm"), job_of(tmp_path))


@pytest.mark.parametrize("said", ["", "Submitted batch job 12", "-1", "12 13", "1" * 30])
def test_an_answer_that_is_no_number_of_a_job_is_not_taken(
    commands: Path, tmp_path: Path, said: str
) -> None:
    install(commands, "sbatch", f"echo '{said}'")
    with pytest.raises(StudyError, match="told no number of a job"):
        Slurm().submit(tmp_path, queue_of("slurm"), job_of(tmp_path))


def states(commands: Path, answer: str, *jobs: Submitted) -> dict[str, tuple[str, str, str]]:
    (commands / "answer").write_text(answer)
    install(commands, "squeue", f"cat {commands}/answer")
    return {s.job_id: (s.state, s.reason, s.node) for s in Slurm().poll(jobs)}


def test_recorded_states_of_jobs_and_tasks_are_read(commands: Path) -> None:
    answer = (RECORDED / "slurm" / "squeue-22.05.txt").read_text()
    jobs = [Submitted((str(number),), 0, 1) for number in (7, 1, 9, 11, 10, 99)]
    assert states(commands, answer, *jobs, Submitted(("8",), 0, 4)) == {
        "7": ("ended", "CANCELLED", ""),
        "1": ("ended", "COMPLETED", "n1"),
        "9": ("queued", "DependencyNeverSatisfied", ""),
        "11": ("held", "PENDING: job requeued in held state", ""),
        "10": ("held", "PENDING: JobHeldUser", ""),
        "99": ("ended", "Slurm knows it no longer", ""),
        "8_0": ("ended", "COMPLETED", "n1"),
        "8_1": ("ended", "COMPLETED", "n1"),
        "8_2": ("ended", "FAILED: NonZeroExitCode", "n1"),
        "8_3": ("ended", "COMPLETED", "n1"),
    }


def test_newer_versions_answer_alike(commands: Path) -> None:
    answer = (RECORDED / "slurm" / "squeue-26.05.txt").read_text()
    assert states(commands, answer, Submitted(("1",), 0, 2)) == {
        "1_0": ("queued", "", ""),
        "1_1": ("queued", "", ""),
    }


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("CONFIGURING", "queued"),
        ("REQUEUED", "queued"),
        ("SUSPENDED", "held"),
        ("SPECIAL_EXIT", "held"),
        ("COMPLETING", "running"),
        ("TIMEOUT", "ended"),
        ("NODE_FAIL", "ended"),
        ("PREEMPTED", "ended"),
        ("OUT_OF_MEMORY", "ended"),
        ("SOMETHING_NEW", "unknown"),
    ],
)
def test_a_state_is_what_the_worker_may_still_do(commands: Path, word: str, state: str) -> None:
    (found,) = states(commands, f"5|{word}|None|n1\n", Submitted(("5",), 0, 1)).values()
    assert found[0] == state
    assert word in found[1] or state in ("queued", "running")


def test_a_reason_with_blanks_and_bars_spoils_nothing(commands: Path) -> None:
    answer = "4|PENDING|ReqNodeNotAvail, UnavailableNodes:n3 | or so|\n5|RUNNING|None|n2\n"
    assert states(commands, answer, Submitted(("4",), 0, 1), Submitted(("5",), 1, 1)) == {
        "4": ("queued", "ReqNodeNotAvail, UnavailableNodes:n3 | or so", ""),
        "5": ("running", "", "n2"),
    }


def test_one_question_is_asked_for_all_jobs_of_anybody(
    commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SQUEUE_STATES", "PENDING")
    told = install_recorder(commands, "squeue", f"env >{commands}/env")
    Slurm().poll([Submitted(("4",), 0, 9), Submitted(("5",), 0, 1)])
    assert arguments(told) == [["-h", "-r", "-t", "all", "-o", "%i|%T|%r|%N", "-j", "4,5"]]
    assert "SQUEUE_" not in (commands / "env").read_text()


def test_one_job_that_slurm_has_forgotten_has_ended(commands: Path) -> None:
    said = "slurm_load_jobs error: Invalid job id specified"
    install(commands, "squeue", f"echo '{said}' >&2; exit 1")
    assert Slurm().poll([Submitted(("4",), 2, 1)]) == [
        JobState(2, "4", "ended", "Slurm knows it no longer")
    ]


def test_while_the_controller_is_away_nothing_is_known(commands: Path) -> None:
    said = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"
    install(commands, "squeue", f"echo '{said}' >&2; exit 1")
    found = Slurm().poll([Submitted(("4",), 0, 2)])
    assert [state.state for state in found] == ["unknown", "unknown"]
    assert all("Unable to contact slurm controller" in state.reason for state in found)


def test_all_jobs_are_cancelled_by_one_command(commands: Path) -> None:
    told = install_recorder(commands, "scancel", "")
    assert Slurm().cancel([Submitted(("4",), 0, 9), Submitted(("5",), 0, 1)]) == ""
    assert arguments(told) == [["4", "5"]]


def test_jobs_that_have_ended_are_no_reason_against_cancelling(commands: Path) -> None:
    said = "scancel: error: Kill job error on job id 4: Invalid job id specified"
    install(commands, "scancel", f"echo '{said}' >&2; exit 1")
    assert Slurm().cancel([Submitted(("4",), 0, 1)]) == ""


def test_a_job_that_cannot_be_cancelled_is_told(commands: Path) -> None:
    gone = "scancel: error: Kill job error on job id 4: Invalid job id specified"
    said = "scancel: error: Kill job error on job id 5: Access/permission denied"
    install(commands, "scancel", f"printf '%s\\n' '{gone}' '{said}' >&2; exit 1")
    why = Slurm().cancel([Submitted(("4",), 0, 1), Submitted(("5",), 0, 1)])
    assert why == f"`scancel 4 5` ended with status 1: {said}"


@given(st.text(alphabet=st.sampled_from("18_|\n PENDINGR x"), max_size=60))
def test_whatever_squeue_prints_nothing_is_told_that_does_not_stand_there(text: str) -> None:
    for told in read_squeue(text).items():
        (job_id, (word, reason, nodes)) = told
        lines = [" ".join(line.split()) for line in text.splitlines() if job_id in line]
        assert any(word in line and reason in line and nodes in line for line in lines)
