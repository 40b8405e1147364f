"""A batch system by a site's own commands: those of LSF, as its example has them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import StudyError, UserError
from configs.library import CONFIGS, load_site
from configs.load import parse_site
from configs.site import Queue
from runners.batch_systems.commands import Commands
from runners.batch_systems.interface import ANY_JOB_ID, BatchSystem, JobState, Submitted
from runners.batch_systems.registry import queue_of, system_of
from tests.runners.batch.asked import arguments, install_recorder, job_of
from tests.runners.fake_commands import install

SITE = load_site("example-lsf")
FILE = (CONFIGS / "sites/example-lsf.yaml").read_text()


def lsf() -> tuple[BatchSystem, Queue]:
    return system_of(SITE), queue_of(SITE)


def line_of(text: str) -> int:
    """Return the line of the example in which a text stands."""
    (line,) = [number for number, line in enumerate(FILE.splitlines(), 1) if text in line]
    return line


def place_of(text: str) -> str:
    """Return the beginning of a message about that line, as an expression."""
    return rf"configs/sites/example-lsf.yaml:{line_of(text)}:\d+: "


def test_a_job_is_submitted_by_the_site_s_command(commands: Path, tmp_path: Path) -> None:
    told = install_recorder(commands, "bsub", "echo 'Job <17> is submitted to queue <normal>.'")
    system, queue = lsf()
    script = tmp_path / "a job.sh"
    job = job_of(tmp_path, first_worker=3, node="n2", name="a b")
    assert system.submit(script, queue, job) == Submitted("17", 3, 1)
    assert arguments(told) == [
        [
            *("-J", "a-b", "-q", "normal", "-W", "120", "-n", "32", "-R", "span[hosts=1]"),
            *("-x", "-r", "-m", "n2", "-o", f"{tmp_path}/logs/lsf-%J.log", "/bin/bash"),
            str(script),
        ]
    ]
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
    tmp_path: Path, target: dict[str, str], message: str
) -> None:
    system, queue = lsf()
    with pytest.raises(UserError, match=f"^{place_of('submit:')}{message}$"):
        system.script(queue, job_of(tmp_path, **target))


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
    ],
)
def test_a_job_that_is_not_accepted_names_the_site_s_line(
    commands: Path, tmp_path: Path, script: str, message: str
) -> None:
    install(commands, "bsub", script)
    system, queue = lsf()
    with pytest.raises(StudyError, match=message) as refused:
        system.submit(tmp_path / "job.sh", queue, job_of(tmp_path, node="n1"))
    assert "\n" not in str(refused.value)


def test_an_id_that_would_be_an_option_is_none(commands: Path, tmp_path: Path) -> None:
    text = re.sub(r"job: .*", "job: 'Job <(.+)>'", FILE)
    site = parse_site(text.encode(), "example-lsf.yaml")
    install(commands, "bsub", "echo 'Job <-u all> is submitted'")
    with pytest.raises(StudyError, match=r"^example-lsf.yaml:\d+:\d+: the pattern finds no id"):
        system_of(site).submit(tmp_path / "job", queue_of(site), job_of(tmp_path, node="n1"))


@pytest.mark.usefixtures("commands")
def test_where_the_commands_are_not_that_is_told(tmp_path: Path) -> None:
    system, queue = lsf()
    with pytest.raises(StudyError, match=r"there is no bsub on the PATH; submit where the comm"):
        system.submit(tmp_path / "job.sh", queue, job_of(tmp_path, node="n1"))


def polled(commands: Path, script: str, *ids: str) -> list[JobState]:
    install(commands, "bjobs", script)
    jobs = [Submitted(job_id, number, 1) for number, job_id in enumerate(ids)]
    return system_of(SITE).poll(jobs)


@pytest.mark.parametrize(
    ("answer", "state", "reason"),
    [
        (
            "echo 'PEND  Job dependency not satisfied'",
            "queued",
            "PEND Job dependency not satisfied",
        ),
        ("echo 'USUSP -'", "queued", "USUSP -"),
        ("echo 'RUN   -'", "running", ""),
        ("echo 'EXIT  -'", "ended", "EXIT -"),
        ("echo 'Job <17> is not found' >&2; exit 255", "ended", "Job <17> is not found"),
    ],
)
def test_a_state_is_what_a_pattern_finds(
    commands: Path, answer: str, state: str, reason: str
) -> None:
    assert polled(commands, answer, "17") == [JobState(0, "17", state, reason)]


@pytest.mark.parametrize(
    ("answer", "place", "reason"),
    [
        ("echo 'UNKWN -'", "patterns:", "no pattern matches what `bjobs .* 17` printed: UNKWN -"),
        ("true", "patterns:", "no pattern matches what `bjobs .* 17` printed: nothing"),
        ("printf 'RUN\\nDONE\\n'", "patterns:", "the patterns running and ended match what `bjobs"),
        ("echo 'LIM is down' >&2; exit 255", "poll:", "`bjobs .*` ended with status 255: LIM is"),
    ],
)
def test_an_answer_that_is_not_understood_is_unknown_and_names_the_site_s_line(
    commands: Path, answer: str, place: str, reason: str
) -> None:
    (found,) = polled(commands, answer, "17")
    assert found.state == "unknown"
    # A table begins in the line of its first key.
    line = line_of(place) + (place == "patterns:")
    assert re.match(rf"configs/sites/example-lsf.yaml:{line}:\d+: {reason}", found.reason)


def test_each_job_is_asked_for_in_plain_words(
    commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "xx_XX.UTF-8")
    told = install_recorder(commands, "bjobs", "[ $LC_ALL = C ] && echo RUN")
    states = system_of(SITE).poll([Submitted("17", 0, 1), Submitted("18", 1, 1)])
    assert [state.state for state in states] == ["running", "running"]
    question = ["-a", "-noheader", "-o", "stat pend_reason"]
    assert arguments(told) == [[*question, "17"], [*question, "18"]]


def test_a_system_that_does_not_answer_is_asked_once(
    commands: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runners.batch_systems.commands.POLL_LIMIT_S", 0.3)
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
    problem = system_of(SITE).cancel(jobs)
    assert re.fullmatch(
        f"{place_of('cancel:')}`bkill 18` ended with status 255: Job <18>: denied", problem
    )


def test_placeholders_are_filled_once_and_other_braces_stay(commands: Path, tmp_path: Path) -> None:
    told = install_recorder(commands, "a", "echo 7")
    text = (
        "title: x\nbatch_system:\n  submit: [a, '{other}', '{time_limit}={minutes}', '{script}']\n"
        "  poll: 'b {job}'\n  cancel: 'c {job}'\n"
        "  patterns: {job: '[0-9]+', pending: P, running: R, ended: E}\ntime_limit: 90 s\n"
    )
    site = parse_site(text.encode(), "x.yaml")
    script = tmp_path / "{name}"
    assert system_of(site).submit(script, queue_of(site), job_of(tmp_path)).job_id == "7"
    assert arguments(told) == [["{other}", "0:01:30=2", str(script)]]


@given(st.text(max_size=40))
def test_any_id_is_one_argument_that_is_no_option(text: str) -> None:
    if ANY_JOB_ID.fullmatch(text):
        assert text.isascii()
        assert text.isprintable()
        assert not text.startswith("-")
        assert not set(text) & set(" /$`'\"\\&|<>*?!")


def test_a_site_with_commands_is_opened_by_them() -> None:
    assert isinstance(system_of(SITE), Commands)
