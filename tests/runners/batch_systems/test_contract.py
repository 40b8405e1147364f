"""What each batch system promises of its jobs, by the options and words of its own manual pages."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.base.errors import StudyError
from pinstudy.runners.batch_systems.interface import JobState, Submitted
from pinstudy.runners.batch_systems.pbs import read_qstat
from pinstudy.runners.batch_systems.registry import open_system
from pinstudy.runners.batch_systems.slurm import read_squeue
from tests.runners.batch_systems.asked import arguments, install_recorder, job_of, queue_of
from tests.runners.fake_commands import install
from tests.support.tools import DATA

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
PLACED = {"node": "n1", "feature": "hybrid"}


def options(system: str, job: dict[str, Any], queue: dict[str, Any]) -> list[str]:
    """Return what a job's script asks for; Flux's has it in the line that submits it."""
    made = job_of(Path("/shared"), **job)
    lines = open_system(system).script(queue_of(system, **queue), made).splitlines()
    if system != "flux":
        mark = {"slurm": "#SBATCH ", "pbs": "#PBS "}[system]
        return [line.removeprefix(mark) for line in lines if line.startswith(mark)]
    (line,) = [line for line in lines if line.startswith("#   flux submit ")]
    *asked, bash, file = shlex.split(line.removeprefix("#   flux submit "))
    assert (bash, file) == ("/bin/bash", "THIS-FILE")
    return asked


ALL = PLACED | {"name": "a b;c", "first_worker": 2, "workers": 4, "after": "12"}
SITE_WITH_ALL = SITE | {"most_at_once": 2, "directives": ("--mem=1G", "-x 'y z'")}


@pytest.mark.parametrize(
    ("system", "job", "queue", "expected"),
    [
        # A whole node. Of the environment PBS takes only the PATH along (no -V), and an array of
        # one is refused by it. What the batch system itself says of a job goes beside the logs.
        (
            *("slurm", {}, {}),
            "--job-name=quick --time=2:00:00 --nodes=1 --ntasks=1 --cpus-per-task=8 --exclusive "
            "--mem=0 --requeue --open-mode=append --signal=B:USR1@600 --export=ALL "
            "--output=/shared/logs/worker-0.log",
        ),
        (
            *("pbs", {}, {}),
            "-N quick -S /bin/bash -l select=1:ncpus=8 -l place=excl -l walltime=2:00:00 -r y "
            "-j oe -o /shared/logs/pbs-0.log",
        ),
        (
            *("flux", {}, {}),
            "--job-name=quick --time-limit=7200s --signal=SIGUSR1@600s --nodes=1 --ntasks=1 "
            "--exclusive --output=/shared/logs/flux-{{id.dec}}.log",
        ),
        # All that can be asked for; the site's own directives come last, and so count.
        (
            *("slurm", ALL, SITE_WITH_ALL | {"cpus": None}),
            "--job-name=a-b-c --array=2-5%2 --partition=main --account=project --time=2:00:00 "
            "--nodes=1 --ntasks=1 --exclusive --mem=0 --constraint=hybrid --nodelist=n1 "
            "--dependency=afterany:12 --requeue --open-mode=append --signal=B:USR1@600 "
            "--export=ALL --output=/shared/logs/worker-%a.log --mem=1G -x 'y z'",
        ),
        (
            *("pbs", ALL, SITE_WITH_ALL),
            "-N a-b-c -J 2-5%2 -S /bin/bash -q main -A project "
            "-l select=1:ncpus=8:hybrid=true:host=n1 -l place=excl -l walltime=2:00:00 "
            "-W depend=afterany:12 -r y -j oe -o /shared/logs/pbs-^array_index^.log --mem=1G "
            "-x 'y z'",
        ),
        (
            *("flux", ALL | {"after": "ƒ1", "workers": 1}, SITE_WITH_ALL),
            "--job-name=a-b-c --queue=main --bank=project --time-limit=7200s "
            "--signal=SIGUSR1@600s --nodes=1 --ntasks=1 --exclusive --requires=hybrid host:n1 "
            "--dependency=afterany:ƒ1 --output=/shared/logs/flux-{{id.dec}}.log --mem=1G -x y z",
        ),
    ],
)
def test_a_job_asks_for_all_that_is_wanted_and_for_no_more(
    system: str, job: dict[str, Any], queue: dict[str, Any], expected: str
) -> None:
    assert " ".join(options(system, job, queue)) == expected


@pytest.mark.parametrize(
    ("system", "job", "queue", "expected"),
    [
        ("slurm", {"workers": 2}, {"most_at_once": 2}, ["--array=0-1"]),
        # A limit is never cut; a longer job is warned earlier, but not more than ten minutes.
        ("slurm", {}, {"time_limit_s": 60.2}, ["--time=0:01:01"]),
        ("slurm", {}, {"time_limit_s": 60}, ["--time=0:01:00", "--signal=B:USR1@15"]),
        ("slurm", {}, {"time_limit_s": 361_800}, ["--time=100:30:00", "--signal=B:USR1@600"]),
        ("flux", {}, {"time_limit_s": 1800.0}, ["--time-limit=1800s", "--signal=SIGUSR1@180s"]),
        ("flux", {}, {"time_limit_s": 31 * 86_400.0 - 1}, ["--time-limit=2678399s"]),
        ("slurm", {"first_worker": 3}, {}, ["--output=/shared/logs/worker-3.log"]),
        ("slurm", {"logs": Path("/a b")}, {}, ['--output="/a b/worker-0.log"']),
        ("slurm", {"logs": Path("/worker-N.log")}, {}, ["--output=/worker-N.log/worker-0.log"]),
        # With PBS names are legal in all versions.
        ("pbs", {"name": "pinstudy-paper-parallel"}, {}, ["-N pinstudy-paper-"]),
        ("pbs", {"name": "123456789012345678"}, {}, ["-N p12345678901234"]),
    ],
)
def test_limits_paths_and_names_are_told_so_that_the_system_takes_them(
    system: str, job: dict[str, Any], queue: dict[str, Any], expected: list[str]
) -> None:
    asked = options(system, job, queue)
    assert [option for option in expected if option not in asked] == []


@pytest.mark.parametrize(
    ("system", "answer", "words"),
    [
        ("slurm", "42", ["--parsable"]),
        ("slurm", "42;here", ["--parsable"]),
        ("pbs", "26[].vm", []),
        ("flux", "ƒGTwWVd", ["submit", *options("flux", {"after": "ƒ1"}, {}), "/bin/bash"]),
    ],
)
def test_a_submitted_job_has_the_id_that_is_told(
    commands: Path, system: str, answer: str, words: list[str]
) -> None:
    calls = install_recorder(commands, SUBMIT[system], f"echo '{answer}'")
    job = job_of(Path("/shared"), first_worker=1, workers=3, after="ƒ1" if "ƒ" in answer else "")
    taken = open_system(system).submit(Path("/job.sh"), queue_of(system), job)
    assert taken == Submitted(answer, 1, 3)
    assert arguments(calls) == [[*words, "/job.sh"]]


FAILED = "sbatch: error: Batch job submission failed: "


@pytest.mark.parametrize(
    ("system", "status", "said", "refused"),
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
def test_a_refusal_names_its_key_of_site_or_study_and_the_systems_words(
    commands: Path, system: str, status: int, said: str, refused: str
) -> None:
    install(commands, SUBMIT[system], f"cat >&2 <<'E'\n{said}\nE\nexit {status}")
    queue = queue_of(system, directives=("--cpu-freq=PowerSave",), **SITE)
    place = {"node": "n9"} if "n9" in refused else {"feature": "hybrid"}
    job = job_of(Path("/shared"), workers=4, after="12", **place)
    with pytest.raises(StudyError) as error:
        open_system(system).submit(Path("/job.sh"), queue, job)
    told = str(error.value)
    assert told.startswith(f"{refused} is refused: `{SUBMIT[system]} ")
    assert f"/job.sh` ended with status {status}: {said.replace(chr(10), ' ')}" in told
    if refused == "the job":
        assert "--cpu-freq=PowerSave" in told.rpartition("(asked for: ")[2]


TAKEN = "look whether .* has taken the job quick all the same"


@pytest.mark.parametrize(
    ("system", "script", "problem"),
    [
        *(
            (system, f"printf '%b\\n' '{said}'", f"told no id of a job: .*; {TAKEN}")
            for system, answers in {
                "slurm": ["", "Submitted batch job 12", "-1", "12 13", "1" * 30],
                "pbs": ["", "26[0].vm", "../x", "12 13", "12.vm;id"],
                "flux": ["", r"ƒ1\nƒ1", r"ƒ1\nƒ2\nƒ3", r"12\n13", r"ƒ0\nƒ1"],
            }.items()
            for said in answers
        ),
        ("slurm", "echo 'Welcome to the cluster'; echo 12", TAKEN),
        ("slurm", "kill -9 $$", f"^`sbatch .*; {TAKEN}"),
        ("slurm", "exec sleep 600", f"did not answer.*; {TAKEN}"),
    ],
)
def test_a_job_without_an_id_may_have_been_taken(
    commands: Path, monkeypatch: pytest.MonkeyPatch, system: str, script: str, problem: str
) -> None:
    if "sleep" in script:
        monkeypatch.setattr("pinstudy.runners.batch_systems.native.SUBMIT_LIMIT_S", 0.3)
    install(commands, SUBMIT[system], script)
    with pytest.raises(StudyError, match=problem) as told:
        job = job_of(Path("/shared"), workers=2)
        open_system(system).submit(Path("/job.sh"), queue_of(system), job)
    assert "refused" not in str(told.value)


def test_variables_do_not_make_another_slurm_job_of_what_was_shown(
    commands: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(commands, "sbatch", f"env >{tmp_path}/env; echo 1")
    hidden = "ARRAY_INX WAIT EXPORT TIMELIMIT PARTITION ERROR THREADS_PER_CORE TRES_PER_TASK"
    for name in (*hidden.split(), "ACCOUNT", "QOS"):
        monkeypatch.setenv(f"SBATCH_{name}", "x")
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    open_system("slurm").submit(tmp_path, queue_of("slurm", queue="main"), job_of(tmp_path))
    seen = (tmp_path / "env").read_text().splitlines()
    # The site names no account and no QOS: what the user has set for all jobs holds.
    kept = {"SBATCH_ACCOUNT=x", "SBATCH_QOS=x", "SLURM_CONF=/etc/slurm/slurm.conf"}
    assert {line for line in seen if line.startswith(("SBATCH_", "SLURM_"))} == kept
    # The job inherits it.
    assert "LC_ALL=C.UTF-8" in seen


def polled(commands: Path, system: str, script: str, *jobs: Submitted) -> list[JobState]:
    install(commands, POLL[system], script)
    return open_system(system).poll(jobs)


def recorded(path: str) -> str:
    """Return the script that answers as a batch system did."""
    return f"cat {DATA}/batch/{path}"


BEGAN = "Job Array Began at Sat Nov 21 at 23:04"
RAN = "Job run at Sat Nov 21 at 23:04 on (vm:ncpus=2) and"
NEVER = "Can Never Run: Insufficient amount of resource: ncpus (R: 64 A: 2 T: 2)"
TOO_LONG = RAN.replace("23:04", "23:01") + " exceeded resource walltime, Exit_status -29"
NO_CORES = "unsatisfiable request: need 1 slot(s) of 1 core(s), only 0 such slot(s) available"
NO_HISTORY = "qstat: PBS is not configured to maintain job history 24.vm"
ALONE = json.loads((DATA / "batch/flux/jobs.json").read_text())["jobs"][-1]
# Script, jobs and their workers, and of each worker: id, state, node, reason.
ANSWERED = {
    "slurm": (
        recorded("slurm/squeue-22.05.txt"),
        "8*4 7 1 9 11 10 99",
        "8_0 ended n1 COMPLETED",
        "8_1 ended n1 COMPLETED",
        "8_2 ended n1 FAILED: NonZeroExitCode",
        "8_3 ended n1 COMPLETED",
        "7 ended - CANCELLED",
        "1 ended n1 COMPLETED",
        "9 queued - DependencyNeverSatisfied",
        "11 held - PENDING: job requeued in held state",
        "10 held - PENDING: JobHeldUser",
        "99 ended - Slurm knows it no longer",
    ),
    "slurm, newer": (recorded("slurm/squeue-26.05.txt"), "1*2", "1_0 queued - ", "1_1 queued - "),
    "slurm, blanks and bars": (
        "echo '4|PENDING|ReqNodeNotAvail, UnavailableNodes:n3 | or so|'; echo '5|RUNNING|None|n2'",
        "4 5",
        "4 queued - ReqNodeNotAvail, UnavailableNodes:n3 | or so",
        "5 running n2 ",
    ),
    "slurm, words and underscores": (
        "echo '4|PENDING|launch_failed_requeued_held|'; echo '5|PENDING|power_withheld|'\n"
        "echo '6|PENDING|held_state|'; echo '7|PENDING|shield_of_node|'",
        "4 5 6 7",
        "4 held - PENDING: launch_failed_requeued_held",
        "5 queued - power_withheld",
        "6 held - PENDING: held_state",
        "7 queued - shield_of_node",
    ),
    "slurm, forgotten": (
        "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1",
        "5",
        "5 ended - Slurm knows it no longer",
    ),
    "pbs, finished": (
        recorded("pbs/finished.txt"),
        "11[].vm*2",
        f"11[0].vm ended vm {RAN} finished",
        f"11[1].vm ended vm {RAN} finished",
    ),
    "pbs, at its limit": (recorded("pbs/walltime.txt"), "4.vm", f"4.vm ended vm {TOO_LONG}"),
    "pbs, of an unknown job": (
        f"{recorded('pbs/waiting.txt')}; echo 'qstat: Unknown Job Id 24.vm' >&2; exit 153",
        "24.vm 11[].vm*2 12.vm 13.vm 14.vm",
        "24.vm ended - PBS knows it no longer",
        f"11[1].vm queued - {BEGAN}",
        f"11[2].vm queued - {BEGAN}",
        "12.vm held - Hold_Types u",
        f"13.vm queued - {NEVER}",
        "14.vm queued - afterany:12.vm@vm",
    ),
    "pbs, of a finished job": (
        f"{recorded('pbs/waiting.txt')}; echo 'qstat: 24.vm Job has finished' >&2; exit 35",
        "11[].vm*2 24.vm",
        "11[0].vm running vm ",
        f"11[1].vm queued - {BEGAN}",
        "24.vm ended - PBS knows it no longer",
    ),
    # It is asked again without it.
    "pbs, without history": (
        f"[ $1 != -x ] || {{ echo '{NO_HISTORY}' >&2; exit 0; }}\n"
        "[ $1 = -f ] && echo 'Job Id: 24.vm|job_state=R|exec_host=n1/0*8'",
        "24.vm",
        "24.vm running n1 ",
    ),
    "flux": (
        recorded("flux/jobs.json") + "; echo 'JobID 99 unknown' >&2",
        "ƒaznXod ƒTL2FGB ƒPEpEB1 ƒXErMNw ƒKwZppX ƒGTwWVd ƒ2i",
        "ƒaznXod held - held: urgency 0",
        "ƒTL2FGB ended n2 CANCELED, cancel",
        "ƒPEpEB1 ended n1 TIMEOUT, timeout, resource allocation expired",
        f"ƒXErMNw ended - FAILED, alloc, {NO_CORES} (total cores: 0)",
        "ƒKwZppX ended n1 FAILED, returncode 3",
        "ƒGTwWVd ended n1 COMPLETED",
        "ƒ2i ended - Flux knows it no longer",
    ),
    "flux, of one job": (
        f"cat <<'E'\n{json.dumps(ALONE)}\nE",
        "ƒGTwWVd",
        "ƒGTwWVd ended n1 COMPLETED",
    ),
}


@pytest.mark.parametrize(("system", "answered"), ANSWERED.items(), ids=ANSWERED)
def test_answers_are_read_as_states(commands: Path, system: str, answered: tuple[str, ...]) -> None:
    script, jobs, *states = answered
    asked, first = [], 0
    for job_id, _, workers in (job.partition("*") for job in jobs.split()):
        asked.append(Submitted(job_id, first, int(workers or 1)))
        first = asked[-1].first_worker + asked[-1].workers
    found = polled(commands, system.partition(",")[0], script, *asked)
    told = [f"{job.job_id} {job.state} {job.node or '-'} {job.reason}" for job in found]
    assert [job.worker for job in found] == list(range(first))
    assert told == states


ANSWERS = {
    "slurm": "5|{}|None|n1",
    "pbs": "Job Id: 24.vm|Job_Name=x|job_state={}",
    "flux": '{{"id": 99, "state": "{}", "urgency": 16, "dependencies": ["afterany=ƒ1"]}}',
}


STATES = {
    "slurm": {
        **dict.fromkeys(("CONFIGURING", "REQUEUED"), "queued"),
        **dict.fromkeys(("SUSPENDED", "SPECIAL_EXIT"), "held"),
        **dict.fromkeys(("TIMEOUT", "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY"), "ended"),
        **{"COMPLETING": "running", "SOMETHING_NEW": "unknown"},
    },
    "pbs": {
        **{"Q": "queued", "W": "queued", "S": "held", "E": "running", "X": "ended"},
        **dict.fromkeys(("M", "B", "", "RR"), "unknown"),
    },
    "flux": {
        **dict.fromkeys(("DEPEND", "PRIORITY", "SCHED"), "queued"),
        **{"RUN": "running", "CLEANUP": "running", "INACTIVE": "ended", "NEWS": "unknown"},
    },
}


@pytest.mark.parametrize("system", STATES)
def test_a_state_is_what_the_worker_may_still_do(commands: Path, system: str) -> None:
    for word, state in STATES[system].items():
        script = f"cat <<'E'\n{ANSWERS[system].format(word)}\nE"
        (found,) = polled(commands, system, script, JOBS[system][0])
        assert found.state == state, word
        if system == "flux":
            assert (found.reason == "afterany=ƒ1") == (state in ("queued", "running"))
        else:
            assert state != "unknown" or word in found.reason


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
def test_an_unread_answer_is_unknown(commands: Path, system: str, script: str, reason: str) -> None:
    (found,) = polled(commands, system, script, JOBS[system][0])
    assert found.state == "unknown"
    assert reason in found.reason


@pytest.mark.parametrize(
    ("system", "question"),
    [
        ("slurm", ["-h", "-r", "-t", "all", "-o", "%i|%T|%r|%N", "-j", "5,4"]),
        ("pbs", ["-x", "-f", "-F", "dsv", "-D", "|", "-t", "24.vm", "26[].vm"]),
        ("flux", ["jobs", "--json", "99", "22313697280", "17280532480"]),
    ],
)
def test_one_question_is_asked_for_all_jobs_whatever_a_user_has_set(
    commands: Path, monkeypatch: pytest.MonkeyPatch, system: str, question: list[str]
) -> None:
    monkeypatch.setenv("SQUEUE_STATES", "x")
    told = install_recorder(commands, POLL[system], f"env >{commands}/env")
    open_system(system).poll(JOBS[system])
    assert arguments(told) == [question]
    assert ("SQUEUE_STATES=" in (commands / "env").read_text()) == (system != "slurm")


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


# Two clusters of Slurm, each of which knows its own jobs alone, as squeue(1) has it.
CLUSTERS = """\
cluster=here
for argument; do case $argument in --clusters=*) cluster=${argument#*=} ;; esac; done
case $cluster in
here) echo '41|RUNNING|None|n1' ;;
there) echo '41|PENDING|Priority|'; echo '42_2|RUNNING|None|m1' ;;
*) echo "error: No cluster '$cluster' known by database." >&2; exit 1 ;;
esac
"""
HERE, THERE = Submitted("41", 0, 1), Submitted("41;there", 1, 1)
ARRAY_THERE = Submitted("42;there", 2, 2)


def test_each_cluster_is_asked_apart(commands: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What a user has set for all commands must not move a job that is here.
    monkeypatch.setenv("SLURM_CLUSTERS", "there")
    told = install_recorder(commands, "squeue", CLUSTERS)
    *known, away = open_system("slurm").poll([HERE, THERE, ARRAY_THERE, Submitted("7;away", 1, 1)])
    assert known == [
        JobState(0, "41", "running", "", "n1"),
        JobState(1, "41;there", "queued", "Priority", ""),
        JobState(2, "42_2;there", "running", "", "m1"),
        JobState(3, "42_3;there", "ended", "Slurm knows it no longer", ""),
    ]
    assert away.state == "unknown" and "No cluster 'away' known" in away.reason
    asked = [(call[0], call[-1]) for call in arguments(told)]
    assert asked == [("-h", "41"), ("--clusters=there", "41,42"), ("--clusters=away", "7")]


def test_jobs_are_cancelled_in_their_cluster(commands: Path) -> None:
    told = install_recorder(commands, "scancel", '[ "$1" != --clusters=there ] || exit 1')
    problem = open_system("slurm").cancel([HERE, THERE, ARRAY_THERE])
    assert arguments(told) == [["41"], ["--clusters=there", "41", "42"]]
    assert problem == "`scancel --clusters=there 41 42` ended with status 1: no message"


def test_a_job_follows_another_in_the_same_cluster(commands: Path) -> None:
    told = install_recorder(commands, "sbatch", "echo '43;there'")
    job, slurm = job_of(Path("/x"), after=THERE.job_id), open_system("slurm")
    script = slurm.script(queue_of("slurm"), job)
    assert "#SBATCH --dependency=afterany:41\n" in script
    assert "#   sbatch --parsable --clusters=there THIS-FILE\n" in script
    assert slurm.submit(Path("/job.sh"), queue_of("slurm"), job).job_id == "43;there"
    assert arguments(told) == [["--parsable", "--clusters=there", "/job.sh"]]


@given(st.text(alphabet=st.sampled_from("18_|\n PENDINGR x"), max_size=60))
def test_of_whatever_squeue_prints_nothing_is_told_that_does_not_stand_there(text: str) -> None:
    for job_id, (word, reason, nodes) in read_squeue(text).items():
        lines = [" ".join(line.split()) for line in text.splitlines() if job_id in line]
        assert any(word in line and reason in line and nodes in line for line in lines)


WORDS = st.text(alphabet=st.sampled_from("ab |\\=:.[]0"), max_size=12)


@given(WORDS, WORDS)
def test_values_of_qstat_are_read_whatever_they_hold(variables: str, comment: str) -> None:
    # qstat(1B), "-F dsv": the delimiter in a value, and a backslash, stand behind a backslash.
    escaped = [text.replace("\\", "\\\\").replace("|", "\\|") for text in (variables, comment)]
    line = "Job Id: 1.vm|Variable_List=A={}|comment={}|x=y\n".format(*escaped)
    told = read_qstat(f"noise\n{line}Job Id: 2.vm|job_state=R\n")
    assert told["1.vm"] == {
        "Variable_List": " ".join(f"A={variables}".split()),
        "comment": " ".join(comment.split()),
        "x": "y",
    }
    assert told["2.vm"] == {"job_state": "R"}
