"""Commands of batch systems: how they are run, and those that a site's file has for its own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.base.command import MAX_BYTES
from pinstudy.base.errors import StudyError, UserError
from pinstudy.configs.library import CONFIGS, load_site
from pinstudy.configs.load import parse_site
from pinstudy.configs.site import BATCH_SYSTEMS, Queue
from pinstudy.runners.batch_systems.commands import Commands
from pinstudy.runners.batch_systems.interface import (
    ANY_JOB_ID,
    BatchSystem,
    JobState,
    Submitted,
    run_client,
)
from pinstudy.runners.batch_systems.registry import open_system, queue_of, system_of
from tests.runners.batch_systems.asked import arguments, install_recorder, job_of
from tests.runners.fake_commands import install
from tests.support.processes import wait_until_gone

# The commands of LSF, as its example has them.
SITE = load_site("example-lsf")
FILE = (CONFIGS / "sites/example-lsf.yaml").read_text()


def test_there_is_an_interface_for_each_batch_system_of_a_site() -> None:
    assert len({type(open_system(name)) for name in BATCH_SYSTEMS}) == len(BATCH_SYSTEMS)
    assert isinstance(system_of(SITE), Commands)
    with pytest.raises(UserError, match="'slrum' is not known; did you mean 'slurm'"):
        open_system("slrum")


@pytest.mark.parametrize(
    ("script", "stdout", "error"),
    [
        ('echo "asked $1"; echo "but so" >&2; exit 35', "asked a b\n", "status 35: but so"),
        ("exit 3", "", "status 3: no message"),
        # A command has nothing to read.
        ("cat; exit 3", "", "status 3: no message"),
        (r"printf 'a\033[31m\n\tb\377 c' >&2; exit 1", "", "status 1: a\ufffd[31m b\ufffd c"),
    ],
)
def test_an_answer_has_both_streams(commands: Path, script: str, stdout: str, error: str) -> None:
    install(commands, "qstat", script)
    answer = run_client(("qstat", "a b"), 10)
    assert (answer.failed, answer.stdout) == (True, stdout)
    assert answer.error == f"`qstat 'a b'` ended with {error}"


def test_a_command_that_cannot_be_started_is_a_reason(commands: Path) -> None:
    (commands / "sbatch").write_bytes(b"\x7fELF, but not quite")
    (commands / "sbatch").chmod(0o755)
    assert "cannot be started" in run_client(("sbatch",), 10).error
    answer = run_client(("qsub", "job.sh"), 10)
    assert answer.failed
    assert answer.error == "`qsub job.sh` cannot be started: there is no qsub on the PATH"


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("sleep 600 & echo $! >TOLD; wait", "answer"),
        # It closes its streams.
        ("exec >&- 2>&-; echo $$ >TOLD; exec sleep 600", "end"),
    ],
)
def test_a_hanging_command_is_ended_with_all(commands: Path, script: str, problem: str) -> None:
    told = commands / "told"
    install(commands, "squeue", script.replace("TOLD", str(told)))
    # It may be ended before it has done all.
    for limit_s in (0.5, 4.0, 64.0):
        answer = run_client(("squeue", "-h"), limit_s)
        assert answer.error == f"`squeue -h` did not {problem} within {limit_s:g} s"
        if told.exists() and told.read_text():
            break
    wait_until_gone([int(told.read_text())])


def test_a_command_that_talks_without_end_is_ended(commands: Path) -> None:
    install(commands, "squeue", "exec yes n1")
    answer = run_client(("squeue",), 60)
    assert answer.error == f"`squeue` answered more than {MAX_BYTES} bytes"
    assert not answer.stdout


def test_variables_are_left_out_and_added(commands: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SQUEUE_STATES", "PENDING")
    monkeypatch.setenv("SQUEUER", "stays")
    monkeypatch.setenv("LC_ALL", "xx_XX.UTF-8")
    install(commands, "squeue", "env")
    plain = run_client(("squeue",), 10, plain=True, leave_out=("SQUEUE_",)).stdout.splitlines()
    assert {"LC_ALL=C", "SQUEUER=stays"} < set(plain)
    assert not any(line.startswith("SQUEUE_") for line in plain)
    assert "SQUEUE_STATES=PENDING" in run_client(("squeue",), 10).stdout.splitlines()


@pytest.fixture
def lsf() -> tuple[BatchSystem, Queue]:
    return system_of(SITE), queue_of(SITE)


def place_of(text: str) -> str:
    """Return the beginning of a message about the example's line with a text, as an expression."""
    (line,) = [number for number, line in enumerate(FILE.splitlines(), 1) if text in line]
    # A table begins in the line of its first key.
    return rf"pinstudy/configs/sites/example-lsf.yaml:{line + (text == 'patterns:')}:\d+: "


def test_a_sites_command_submits_a_job(commands: Path, lsf: tuple[BatchSystem, Queue]) -> None:
    told = install_recorder(commands, "bsub", "echo 'Job <17> is submitted to queue <normal>.'")
    system, queue = lsf
    job = job_of(Path("/x"), first_worker=3, node="n2", name="a b")
    assert system.submit(Path("/a job.sh"), queue, job) == Submitted("17", 3, 1)
    options = "-J a-b -q normal -W 120 -n 32 -R span[hosts=1] -x -r -m n2 -o /x/logs/lsf-%J.log"
    assert arguments(told) == [[*options.split(), "/bin/bash", "/a job.sh"]]
    text = system.script(queue, job)
    assert "\nworker=3\n" in text
    assert "bsub -J a-b " in text.partition("submitted by:\n")[2].splitlines()[0]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ({}, r"the command has {node}, and the job names none; name some by --nodes"),
        ({"feature": "hybrid"}, r"the job is for feature hybrid, and the command has no {feature}"),
    ],
)
def test_a_target_that_the_command_cannot_ask_for_is_a_mistake(
    lsf: tuple[BatchSystem, Queue], target: dict[str, str], message: str
) -> None:
    system, queue = lsf
    with pytest.raises(UserError, match=f"^{place_of('submit:')}{message}$"):
        system.script(queue, job_of(Path("/x"), **target))


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "echo 'main: No such queue. Job not submitted.' >&2; exit 255",
            f"^{place_of('submit:')}the job is refused: `bsub .* ended with status 255: main: No",
        ),
        (
            "echo 'Request aborted by esub.'",
            f"^{place_of('is submitted')}the pattern finds no id in what `bsub .*` printed: "
            "Request aborted by esub.; look whether the batch system of example-lsf has taken the",
        ),
        ("kill -9 $$", "signal|-9.*look whether the batch system of example-lsf has taken the job"),
        ("", "there is no bsub on the PATH; submit where the commands of the batch system of ex"),
    ],
)
def test_a_job_that_is_not_accepted_names_the_site_s_line(
    commands: Path, lsf: tuple[BatchSystem, Queue], script: str, message: str
) -> None:
    if script:
        install(commands, "bsub", script)
    with pytest.raises(StudyError, match=message) as refused:
        lsf[0].submit(Path("/job.sh"), lsf[1], job_of(Path("/x"), node="n1"))
    assert "\n" not in str(refused.value)


def test_an_id_that_would_be_an_option_is_none(commands: Path) -> None:
    text = re.sub(r"job: .*", "job: 'Job <(.+)>'", FILE)
    site = parse_site(text.encode(), "example-lsf.yaml")
    install(commands, "bsub", "echo 'Job <-u all> is submitted'")
    with pytest.raises(StudyError, match=r"^example-lsf.yaml:\d+:\d+: the pattern finds no id"):
        system_of(site).submit(Path("/job"), queue_of(site), job_of(Path("/x"), node="n1"))


@pytest.mark.parametrize(
    ("answer", "state", "place", "reason"),
    [
        ("echo 'PEND  not satisfied'", "queued", "", "PEND not satisfied"),
        ("echo 'USUSP -'", "queued", "", "USUSP -"),
        ("echo 'RUN   -'", "running", "", ""),
        ("echo 'EXIT  -'", "ended", "", "EXIT -"),
        ("echo 'Job <17> is not found' >&2; exit 255", "ended", "", "Job <17> is not found"),
        # What is not understood is unknown, and names the site's line.
        ("echo UNKWN", "unknown", "patterns:", "no pattern matches what `bjobs .*` printed: UNKWN"),
        ("true", "unknown", "patterns:", "no pattern matches what `bjobs .* 17` printed: nothing"),
        ("echo RUN; echo DONE", "unknown", "patterns:", "the patterns running and ended match .*"),
        ("echo down >&2; exit 255", "unknown", "poll:", "`bjobs .*` ended with status 255: down"),
    ],
)
def test_a_state_is_what_one_pattern_finds(
    commands: Path, answer: str, state: str, place: str, reason: str
) -> None:
    install(commands, "bjobs", answer)
    (found,) = system_of(SITE).poll([Submitted("17", 0, 1)])
    assert (found.worker, found.job_id, found.state) == (0, "17", state)
    assert re.fullmatch(f"{place_of(place)}{reason}" if place else re.escape(reason), found.reason)


def test_each_job_is_asked_for_plainly(commands: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "xx_XX.UTF-8")
    told = install_recorder(commands, "bjobs", "[ $LC_ALL = C ] && echo RUN")
    assert system_of(SITE).poll([Submitted("17", 0, 1), Submitted("18", 1, 1)]) == [
        JobState(0, "17", "running"),
        JobState(1, "18", "running"),
    ]
    question = ["-a", "-noheader", "-o", "stat pend_reason"]
    assert arguments(told) == [[*question, "17"], [*question, "18"]]


def test_a_silent_system_is_asked_once(commands: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinstudy.runners.batch_systems.commands.POLL_LIMIT_S", 0.3)
    told = install_recorder(commands, "bjobs", "exec sleep 600")
    states = system_of(SITE).poll([Submitted(number, 0, 1) for number in ("17", "18", "19")])
    assert {state.state for state in states} == {"unknown"}
    assert all("did not answer within 0.3 s" in state.reason for state in states)
    assert len(arguments(told)) <= 1


def test_each_job_is_cancelled_and_only_a_job_that_lives_is_a_problem(commands: Path) -> None:
    gone = 'echo "Job <$1>: Job has already finished" >&2; exit 255'
    told = install_recorder(commands, "bkill", gone)
    jobs = [Submitted("17", 0, 1), Submitted("18", 1, 1)]
    assert system_of(SITE).cancel(jobs) == ""
    assert arguments(told) == [["17"], ["18"]]
    install(commands, "bkill", "[ $1 = 17 ] || { echo 'Job <18>: denied' >&2; exit 255; }")
    denied = f"{place_of('cancel:')}`bkill 18` ended with status 255: Job <18>: denied"
    assert re.fullmatch(denied, system_of(SITE).cancel(jobs))


def test_placeholders_are_filled_once_and_other_braces_stay(commands: Path) -> None:
    told = install_recorder(commands, "a", "echo 7")
    text = (
        "title: x\nbatch_system:\n  submit: [a, '{other}', '{time_limit}={minutes}', '{script}']\n"
        "  poll: 'b {job}'\n  cancel: 'c {job}'\n"
        "  patterns: {job: '[0-9]+', pending: P, running: R, ended: E}\ntime_limit: 90 s\n"
    )
    site = parse_site(text.encode(), "x.yaml")
    job = job_of(Path("/x"))
    assert system_of(site).submit(Path("/{name}"), queue_of(site), job).job_id == "7"
    assert arguments(told) == [["{other}", "0:01:30=2", "/{name}"]]


@given(st.text(max_size=40))
def test_any_id_is_one_argument_that_is_no_option(text: str) -> None:
    if ANY_JOB_ID.fullmatch(text):
        assert text.isascii() and text.isprintable()
        assert not text.startswith("-")
        assert not set(text) & set(" /$`'\"\\&|<>*?!")
