"""What each batch system promises of its jobs, by the options and words of its own manual pages."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from base.errors import StudyError
from runners.batch_systems.interface import JobState, Submitted
from runners.batch_systems.registry import open_system
from tests.runners.batch.asked import (
    RECORDED,
    arguments,
    directives,
    install_recorder,
    job_of,
    queue_of,
)
from tests.runners.fake_commands import install

NAMES = {"slurm": "Slurm", "pbs": "PBS", "flux": "Flux"}
MARKS = {"slurm": "#SBATCH", "pbs": "#PBS"}
SUBMIT = {"slurm": "sbatch", "pbs": "qsub", "flux": "flux"}
POLL = {"slurm": "squeue", "pbs": "qstat", "flux": "flux"}
CANCEL = {"slurm": "scancel", "pbs": "qdel", "flux": "flux"}
# Two jobs of each: with one worker, and with several.
JOBS = {
    "slurm": [Submitted("5", 0, 1), Submitted("4", 0, 9)],
    "pbs": [Submitted("24.vm", 0, 1), Submitted("26[].vm", 0, 4)],
    "flux": [Submitted("ƒ2i", 0, 1), Submitted("ƒaznXod", 1, 1), Submitted("ƒTL2FGB", 2, 1)],
}
SITE = {"queue": "main", "account": "project"}


def options(system: str, job: dict[str, Any], queue: dict[str, Any]) -> list[str]:
    """Return what a job's script asks for; Flux's has it in the line that submits it."""
    made = job_of(Path("/shared"), **job)
    script = open_system(system).script(queue_of(system, **queue), made)
    if system != "flux":
        return directives(script, MARKS[system])
    (line,) = [line for line in script.splitlines() if line.startswith("#   flux submit ")]
    *asked, bash, file = shlex.split(line.removeprefix("#   flux submit "))
    assert (bash, file) == ("/bin/bash", "THIS-FILE")
    return asked


WHOLE_NODE = {
    "slurm": ["--nodes=1", "--ntasks=1", "--cpus-per-task=8", "--exclusive", "--mem=0"],
    "pbs": ["-l select=1:ncpus=8", "-l place=excl", "-l walltime=2:00:00", "-S /bin/bash"],
    "flux": ["--nodes=1", "--ntasks=1", "--exclusive", "--job-name=quick"],
}
RERUN = {
    "slurm": ["--requeue", "--open-mode=append", "--export=ALL"],
    "pbs": ["-r y"],
}
PLACED = {"node": "n1", "feature": "hybrid"}


@pytest.mark.parametrize(
    ("system", "job", "queue", "expected"),
    [
        *[(system, {}, {}, asked) for system, asked in WHOLE_NODE.items()],
        *[(system, {}, {}, asked) for system, asked in RERUN.items()],
        # Arrays: indices are the workers.
        ("slurm", {"first_worker": 2, "workers": 4}, {}, ["--array=2-5"]),
        ("pbs", {"first_worker": 1, "workers": 2}, {}, ["-J 1-2"]),
        # No more workers at a time than the site allows.
        ("slurm", {"workers": 4}, {"most_at_once": 2}, ["--array=0-3%2"]),
        ("slurm", {"workers": 4}, {"most_at_once": 4}, ["--array=0-3"]),
        ("pbs", {"workers": 4}, {"most_at_once": 2}, ["-J 0-3%2"]),
        # A limit is never cut; a longer job is warned earlier, but not more than ten minutes.
        ("slurm", {}, {"time_limit_s": 60.2}, ["--time=0:01:01"]),
        ("slurm", {}, {"time_limit_s": 60}, ["--time=0:01:00", "--signal=B:USR1@15"]),
        ("slurm", {}, {"time_limit_s": 1800}, ["--time=0:30:00", "--signal=B:USR1@180"]),
        ("slurm", {}, {"time_limit_s": 361_800}, ["--time=100:30:00", "--signal=B:USR1@600"]),
        ("flux", {}, {"time_limit_s": 1800.0}, ["--time-limit=1800s", "--signal=SIGUSR1@180s"]),
        ("flux", {}, {"time_limit_s": 31 * 86_400.0 - 1}, ["--time-limit=2678399s"]),
        # The site's queue and account.
        ("slurm", {}, SITE, ["--partition=main", "--account=project"]),
        ("pbs", {}, SITE, ["-q main", "-A project"]),
        ("flux", {}, SITE, ["--queue=main", "--bank=project"]),
        # Nodes and features.
        ("slurm", PLACED, {}, ["--nodelist=n1", "--constraint=hybrid"]),
        ("pbs", {"feature": "hybrid"}, {}, ["-l select=1:ncpus=8:hybrid=true"]),
        ("pbs", {"node": "n1"}, {}, ["-l select=1:ncpus=8:host=n1"]),
        ("flux", PLACED, {}, ["--requires=hybrid host:n1"]),
        # Jobs in turn.
        ("slurm", {"after": "12"}, {}, ["--dependency=afterany:12"]),
        ("pbs", {"after": "26[].vm"}, {}, ["-W depend=afterany:26[].vm"]),
        ("flux", {"after": "ƒ1"}, {}, ["--dependency=afterany:ƒ1"]),
        # What the batch system itself says of a job goes beside the logs, not into a mail.
        ("slurm", {"first_worker": 3}, {}, ["--output=/shared/logs/worker-3.log"]),
        ("slurm", {"workers": 4}, {}, ["--output=/shared/logs/worker-%a.log"]),
        ("slurm", {"logs": Path("/a b")}, {}, ['--output="/a b/worker-0.log"']),
        ("slurm", {"logs": Path("/worker-N.log")}, {}, ["--output=/worker-N.log/worker-0.log"]),
        ("pbs", {}, {}, ["-j oe", "-o /shared/logs/pbs-0.log"]),
        ("pbs", {"workers": 2}, {}, ["-o /shared/logs/pbs-^array_index^.log"]),
        ("flux", {}, {}, ["--output=/shared/logs/flux-{{id.dec}}.log"]),
        # Names are one word, and with PBS legal in all versions.
        ("slurm", {"name": "a b;c"}, {}, ["--job-name=a-b-c"]),
        ("pbs", {"name": "pinstudy-paper-parallel"}, {}, ["-N pinstudy-paper-"]),
        ("pbs", {"name": "9lives"}, {}, ["-N p9lives"]),
        ("pbs", {"name": "123456789012345678"}, {}, ["-N p12345678901234"]),
        ("pbs", {"name": "a b"}, {}, ["-N a-b"]),
    ],
)  # fmt: skip
def test_what_is_wanted_of_a_job_is_asked_for(
    system: str, job: dict[str, Any], queue: dict[str, Any], expected: list[str]
) -> None:
    asked = options(system, job, queue)
    assert [option for option in expected if option not in asked] == []


@pytest.mark.parametrize(
    ("system", "keys", "never"),
    [
        # An array of one is refused by PBS.
        *[("slurm", {}, "--array"), ("pbs", {}, "-J")],
        # A site that does not say its CPUs asks for no number.
        ("slurm", {"cpus": None}, "--cpus"),
        # The whole environment is not taken along.
        ("pbs", {}, "-v"),
        ("pbs", {}, "-V"),
    ],
)
def test_what_is_not_wanted_is_not_asked_for(system: str, keys: dict[str, Any], never: str) -> None:
    assert not any(option.startswith(never) for option in options(system, {}, keys))


@pytest.mark.parametrize(
    ("system", "directives", "last"),
    [
        ("slurm", ("--mem=100G", "--qos=x"), ["--mem=100G", "--qos=x"]),
        ("pbs", ("-P x",), ["-P x"]),
        ("flux", ("--setattr=a='b c'", "-o verbose"), ["--setattr=a=b c", "-o", "verbose"]),
    ],
)
def test_the_sites_own_directives_come_last_and_so_count(
    system: str, directives: tuple[str, ...], last: list[str]
) -> None:
    assert options(system, {}, {"directives": directives})[-len(last) :] == last


@pytest.mark.parametrize(
    ("system", "answer", "job_id", "told"),
    [
        ("slurm", "42", "42", ["--parsable"]),
        ("slurm", "42;here", "42;here", ["--parsable"]),
        ("pbs", "26[].vm", "26[].vm", []),
    ],
)
def test_a_submitted_job_has_the_id_that_is_told(
    commands: Path, tmp_path: Path, system: str, answer: str, job_id: str, told: list[str]
) -> None:
    calls = install_recorder(commands, SUBMIT[system], f"echo '{answer}'")
    job = job_of(tmp_path, first_worker=1, workers=3)
    taken = open_system(system).submit(tmp_path / "job.sh", queue_of(system), job)
    assert taken == Submitted(job_id, 1, 3)
    assert arguments(calls) == [[*told, str(tmp_path / "job.sh")]]


FAILED = "sbatch: error: Batch job submission failed: "


@pytest.mark.parametrize(
    ("system", "status", "said", "what"),
    [
        ("slurm", 1, FAILED + "Invalid feature specification", "`feature hybrid`"),
        ("slurm", 1, FAILED + "Requested node configuration is not available", "`feature hybrid`"),
        ("slurm", 1, FAILED + "Invalid node name specified", "`node n9`"),
        ("slurm", 1, f"sbatch: error: invalid partition: main\n{FAILED}Invalid", "`queue main`"),
        ("slurm", 1, FAILED + "Invalid job array specification", "`4 workers`"),
        ("slurm", 1, FAILED + "Invalid account or account/partition", "`account project`"),
        ("slurm", 1, FAILED + "Requested time limit is invalid", "`time_limit 2:00:00`"),
        ("slurm", 1, FAILED + "Job dependency problem", "`after 12`"),
        ("slurm", 1, "sbatch: error: Invalid --cpu-freq argument", "the job"),
        ("pbs", 187, "qsub: Unknown resource: hybrid", "`feature hybrid`"),
        ("pbs", 170, "qsub: Unknown queue", "`queue main`"),
        ("pbs", 2, "qsub: illegal -J value", "`4 workers`"),
        ("flux", 1, "flux-submit: ERROR: Invalid queue specified: main", "`queue main`"),
    ],
)
def test_a_refusal_says_what_of_the_site_or_study_it_is_about_in_the_systems_words(
    commands: Path, tmp_path: Path, system: str, status: int, said: str, what: str
) -> None:
    install(commands, SUBMIT[system], f"cat >&2 <<'E'\n{said}\nE\nexit {status}")
    (tmp_path / "job.sh").touch()
    queue = queue_of(system, directives=("--cpu-freq=PowerSave",), **SITE)
    place = {"node": "n9"} if "n9" in what else {"feature": "hybrid"}
    with pytest.raises(StudyError) as refused:
        job = job_of(tmp_path, workers=4, after="12", **place)
        open_system(system).submit(tmp_path / "job.sh", queue, job)
    told = str(refused.value)
    assert told.startswith(f"{what} is refused: `{SUBMIT[system]} ")
    assert f"{tmp_path}/job.sh` ended with status {status}: {said.replace(chr(10), ' ')}" in told
    if what == "the job":
        assert "--cpu-freq=PowerSave" in told.rpartition("(asked for: ")[2]


@pytest.mark.parametrize(
    ("system", "said"),
    [
        *[("slurm", said) for said in ("", "Submitted batch job 12", "-1", "12 13", "1" * 30)],
        *[("pbs", said) for said in ("", "26[0].vm", "../x", "12 13", "12.vm;id")],
        *[("flux", said) for said in ("", r"ƒ1\nƒ1", r"ƒ1\nƒ2\nƒ3", r"12\n13", r"ƒ0\nƒ1")],
    ],
)
def test_an_answer_without_the_ids_of_the_jobs_is_not_taken(
    commands: Path, tmp_path: Path, system: str, said: str
) -> None:
    install(commands, SUBMIT[system], f"[ \"$1\" = cancel ] || printf '%b\\n' '{said}'")
    (tmp_path / "job.sh").touch()
    with pytest.raises(StudyError, match=r"told no id of a job"):
        job = job_of(tmp_path, workers=2)
        open_system(system).submit(tmp_path / "job.sh", queue_of(system), job)


def polled(commands: Path, system: str, script: str, *jobs: Submitted) -> list[JobState]:
    install(commands, POLL[system], script)
    return open_system(system).poll(jobs)


ANSWERS = {
    "slurm": "5|{}|None|n1",
    "pbs": "Job Id: 24.vm|Job_Name=x|job_state={}",
    "flux": '{{"id": 99, "state": "{}", "urgency": 16, "dependencies": ["afterany=ƒ1"]}}',
}


@pytest.mark.parametrize(
    ("system", "state", "words"),
    [
        ("slurm", "queued", ["CONFIGURING", "REQUEUED"]),
        ("slurm", "held", ["SUSPENDED", "SPECIAL_EXIT"]),
        ("slurm", "running", ["COMPLETING"]),
        ("slurm", "ended", ["TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY"]),
        ("slurm", "unknown", ["SOMETHING_NEW"]),
        ("pbs", "queued", ["Q", "W"]),
        ("pbs", "held", ["S"]),
        ("pbs", "running", ["E"]),
        ("pbs", "ended", ["X"]),
        ("pbs", "unknown", ["M", "B", "", "RR"]),
        ("flux", "queued", ["DEPEND", "PRIORITY", "SCHED"]),
        ("flux", "running", ["RUN", "CLEANUP"]),
        ("flux", "ended", ["INACTIVE"]),
        ("flux", "unknown", ["NEWS"]),
    ],
)
def test_a_state_is_what_the_worker_may_still_do(
    commands: Path, system: str, state: str, words: list[str]
) -> None:
    for word in words:
        script = f"cat <<'E'\n{ANSWERS[system].format(word)}\nE"
        (found,) = polled(commands, system, script, JOBS[system][0])
        assert found.state == state
        if system == "flux":
            assert (found.reason == "afterany=ƒ1") == (state in ("queued", "running"))
        else:
            assert state != "unknown" or word in found.reason


@pytest.mark.parametrize(
    ("system", "question", "variable"),
    [
        ("slurm", ["-h", "-r", "-t", "all", "-o", "%i|%T|%r|%N", "-j", "5,4"], "SQUEUE_STATES"),
        ("pbs", ["-x", "-f", "-F", "dsv", "-D", "|", "-t", "24.vm", "26[].vm"], ""),
        ("flux", ["jobs", "--json", "99", "22313697280", "17280532480"], ""),
    ],
)
def test_one_question_is_asked_for_all_jobs_whatever_a_user_has_set_for_his_own(
    commands: Path,
    monkeypatch: pytest.MonkeyPatch,
    system: str,
    question: list[str],
    variable: str,
) -> None:
    if variable:
        monkeypatch.setenv(variable, "x")
    told = install_recorder(commands, POLL[system], f"env >{commands}/env")
    open_system(system).poll(JOBS[system])
    assert arguments(told) == [question]
    assert not variable or f"{variable}=" not in (commands / "env").read_text()


PBS_ARRAY, FLUX_HELD = Submitted("11[].vm", 0, 2), Submitted("ƒaznXod", 1, 1)
FLUX_FAILED = "echo 'JobID 99 unknown' >&2"


@pytest.mark.parametrize(
    ("system", "script", "others", "states"),
    [
        ("slurm", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1", [], []),
        (
            "pbs",
            f"cat {RECORDED}/pbs/waiting.txt; echo 'qstat: Unknown Job Id 24.vm' >&2; exit 153",
            [PBS_ARRAY],
            ["running", "queued"],
        ),
        (
            "pbs",
            f"cat {RECORDED}/pbs/waiting.txt; "
            "echo 'qstat: 24.vm Job has finished, use -x or -H to obtain historical' >&2; exit 35",
            [PBS_ARRAY],
            ["running", "queued"],
        ),
        ("flux", f"cat {RECORDED}/flux/jobs.json; {FLUX_FAILED}", [FLUX_HELD], ["held"]),
    ],
)
def test_a_job_that_the_system_has_forgotten_has_ended_and_spoils_no_other(
    commands: Path, system: str, script: str, others: list[Submitted], states: list[str]
) -> None:
    first, *more = polled(commands, system, script, JOBS[system][0], *others)
    assert (first.state, first.reason) == ("ended", f"{NAMES[system]} knows it no longer")
    assert [state.state for state in more] == states


AWAY = "Unable to contact slurm controller (connect failure)"


@pytest.mark.parametrize(
    ("system", "script", "reason"),
    [
        ("slurm", f"echo 'slurm_load_jobs error: {AWAY}' >&2; exit 1", AWAY),
        ("pbs", "echo 'qstat: cannot connect to server vm' >&2; exit 111", "cannot connect"),
        ("pbs", "echo 'Job id  Name'", "tells nothing of it"),
        ("pbs", "echo 'Job Id: 25.vm|job_state=R'", "tells nothing of it"),
        ("pbs", "echo 'Job Id: 24.vm'", "job_state"),
        ("flux", "echo 'flux-jobs: ERROR: Unable to connect' >&2; exit 1", "Unable to connect"),
        ("flux", "echo 'not permitted' >&2; echo '{\"jobs\": []}'", "tells nothing of it"),
        ("flux", "echo nonsense", "tells nothing of it"),
        ("flux", "echo '{\"jobs\": 3}'", "tells nothing of it"),
        ("flux", "printf '[%.0s' $(seq 20000)", "tells nothing of it"),
        # A job is not gone because another one is.
        ("pbs", "echo 'qstat: Unknown Job Id 124.vm' >&2; exit 153", "124.vm"),
        ("pbs", "echo 'qstat: 24.vm2 Job has finished, use -x' >&2; exit 153", "24.vm2"),
    ],
)
def test_what_cannot_be_asked_or_read_is_unknown(
    commands: Path, system: str, script: str, reason: str
) -> None:
    (found,) = polled(commands, system, script, JOBS[system][0])
    assert found.state == "unknown"
    assert reason in found.reason


@pytest.mark.parametrize(
    ("system", "call", "gone", "denied"),
    [
        (
            "slurm",
            ["5", "4"],
            "scancel: error: Kill job error on job id 4: Invalid job id specified",
            "scancel: error: Kill job error on job id 5: Access/permission denied",
        ),
        ("pbs", ["24.vm", "26[].vm"], "qdel: Unknown Job Id 24.vm", "qdel: Unauthorized Request"),
        (
            "flux",
            ["cancel", "99", "22313697280", "17280532480"],
            "flux-cancel: ERROR: ƒ2i: unknown job id",
            "flux-cancel: ERROR: ƒaznXod: guests can only raise exceptions on their own jobs",
        ),
    ],
)
def test_all_jobs_are_cancelled_by_one_command_and_told_is_what_could_not_be(
    commands: Path, system: str, call: list[str], gone: str, denied: str
) -> None:
    told = install_recorder(commands, CANCEL[system], f"echo '{gone}' >&2; exit 1")
    assert open_system(system).cancel(JOBS[system]) == ""
    assert arguments(told) == [call]
    install(commands, CANCEL[system], f"printf '%s\\n' '{gone}' '{denied}' >&2; exit 1")
    why = open_system(system).cancel(JOBS[system])
    assert why == f"`{shlex.join([CANCEL[system], *call])}` ended with status 1: {denied}"
