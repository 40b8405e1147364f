"""Slurm: what is asked of it by sbatch(1), and what squeue's recorded answers mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import StudyError
from runners.batch_systems.interface import JobState, Submitted
from runners.batch_systems.slurm import Slurm, read_squeue
from tests.runners.batch.asked import (
    RECORDED,
    arguments,
    install_recorder,
    job_of,
    queue_of,
)
from tests.runners.fake_commands import install


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
    monkeypatch.setattr("runners.batch_systems.native.SUBMIT_LIMIT_S", 0.3)
    install(commands, "sbatch", "sleep 600")
    with pytest.raises(StudyError, match=r"did not answer.*Slurm has taken the job quick all the"):
        Slurm().submit(tmp_path / "job.sh", queue_of("slurm"), job_of(tmp_path))


@pytest.mark.parametrize("script", ["kill -9 $$", "echo 'Welcome to the cluster'; echo 12"])
def test_a_command_that_may_have_submitted_is_not_called_a_refusal(
    commands: Path, tmp_path: Path, script: str
) -> None:
    install(commands, "sbatch", script)
    with pytest.raises(StudyError, match="Slurm has taken the job quick all the") as told:
        Slurm().submit(tmp_path / "job.sh", queue_of("slurm"), job_of(tmp_path))
    assert "refused" not in str(told.value)


def states(commands: Path, answer: str, *jobs: Submitted) -> dict[str, tuple[str, str, str]]:
    (commands / "answer").write_text(answer)
    install(commands, "squeue", f"cat {commands}/answer")
    return {s.job_id: (s.state, s.reason, s.node) for s in Slurm().poll(jobs)}


def test_recorded_states_of_jobs_and_tasks_are_read(commands: Path) -> None:
    answer = (RECORDED / "slurm" / "squeue-22.05.txt").read_text()
    jobs = [Submitted(str(number), 0, 1) for number in (7, 1, 9, 11, 10, 99)]
    assert states(commands, answer, *jobs, Submitted("8", 0, 4)) == {
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
    assert states(commands, answer, Submitted("1", 0, 2)) == {
        "1_0": ("queued", "", ""),
        "1_1": ("queued", "", ""),
    }


def test_a_reason_with_blanks_and_bars_spoils_nothing(commands: Path) -> None:
    answer = "4|PENDING|ReqNodeNotAvail, UnavailableNodes:n3 | or so|\n5|RUNNING|None|n2\n"
    assert states(commands, answer, Submitted("4", 0, 1), Submitted("5", 1, 1)) == {
        "4": ("queued", "ReqNodeNotAvail, UnavailableNodes:n3 | or so", ""),
        "5": ("running", "", "n2"),
    }


# Two clusters, each of which knows its own jobs alone, as squeue(1) and scancel(1) have it.
CLUSTERS = """\
cluster=here
for argument; do case $argument in --clusters=*) cluster=${argument#*=} ;; esac; done
cat "$FOLDER/$cluster" 2>/dev/null ||
    { echo "error: No cluster '$cluster' known by database." >&2; exit 1; }
"""


@pytest.fixture
def clusters(commands: Path) -> Path:
    """Give a folder where each cluster has a file with the answer of its squeue."""
    (commands / "here").write_text("41|RUNNING|None|n1\n")
    (commands / "there").write_text("41|PENDING|Priority|\n42_2|RUNNING|None|m1\n")
    install_recorder(commands, "squeue", CLUSTERS.replace("$FOLDER", str(commands)))
    return commands


HERE, THERE = Submitted("41", 0, 1), Submitted("41;there", 1, 1)
ARRAY_THERE = Submitted("42;there", 2, 2)


def test_each_cluster_is_asked_for_its_own_jobs(
    clusters: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What a user has set for all commands must not move a job that is here.
    monkeypatch.setenv("SLURM_CLUSTERS", "there")
    assert Slurm().poll([HERE, THERE, ARRAY_THERE]) == [
        JobState(0, "41", "running", "", "n1"),
        JobState(1, "41;there", "queued", "Priority", ""),
        JobState(2, "42_2;there", "running", "", "m1"),
        JobState(3, "42_3;there", "ended", "Slurm knows it no longer", ""),
    ]
    asked = arguments(clusters / "squeue.told")
    assert [(call[0], call[-1]) for call in asked] == [
        ("-h", "41"),
        ("--clusters=there", "41,42"),
    ]


@pytest.mark.usefixtures("clusters")
def test_a_cluster_that_is_away_leaves_its_jobs_unknown_and_no_others() -> None:
    away = Submitted("7;away", 1, 1)
    here, gone = Slurm().poll([HERE, away])
    assert here.state == "running"
    assert gone.state == "unknown"
    assert "No cluster 'away' known" in gone.reason


def test_jobs_are_cancelled_in_their_cluster(commands: Path) -> None:
    told = install_recorder(commands, "scancel", '[ "$1" != --clusters=there ] || exit 1')
    problem = Slurm().cancel([HERE, THERE, ARRAY_THERE])
    assert arguments(told) == [["41"], ["--clusters=there", "41", "42"]]
    assert problem == "`scancel --clusters=there 41 42` ended with status 1: no message"


def test_a_job_follows_another_in_the_same_cluster(commands: Path, tmp_path: Path) -> None:
    told = install_recorder(commands, "sbatch", "echo '43;there'")
    job = job_of(tmp_path, after=THERE.job_id)
    script = Slurm().script(queue_of("slurm"), job)
    assert "#SBATCH --dependency=afterany:41\n" in script
    assert "#   sbatch --parsable --clusters=there THIS-FILE\n" in script
    taken = Slurm().submit(tmp_path / "job.sh", queue_of("slurm"), job)
    assert taken.job_id == "43;there"
    assert arguments(told) == [["--parsable", "--clusters=there", str(tmp_path / "job.sh")]]


@given(st.text(alphabet=st.sampled_from("18_|\n PENDINGR x"), max_size=60))
def test_whatever_squeue_prints_nothing_is_told_that_does_not_stand_there(text: str) -> None:
    for told in read_squeue(text).items():
        (job_id, (word, reason, nodes)) = told
        lines = [" ".join(line.split()) for line in text.splitlines() if job_id in line]
        assert any(word in line and reason in line and nodes in line for line in lines)
