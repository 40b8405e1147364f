"""PBS: what is asked of it by qsub(1B), and what qstat's recorded answers mean."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import UserError
from runners.batch_systems.interface import JobState, Submitted
from runners.batch_systems.pbs import Pbs, read_qstat
from tests.runners.batch.asked import RECORDED, arguments, install_recorder, job_of, queue_of
from tests.runners.fake_commands import install

ONE, ARRAY = Submitted("24.vm", 0, 1), Submitted("26[].vm", 0, 4)


@pytest.mark.parametrize("odd", [" ", ":", ","])
def test_folders_that_qsub_would_take_apart_are_refused(odd: str) -> None:
    with pytest.raises(UserError, match="cannot be told to the batch system"):
        Pbs().script(queue_of("pbs"), job_of(Path("/shared"), logs=Path(f"/a{odd}b")))


def states(commands: Path, recording: str, *jobs: Submitted) -> list[JobState]:
    install(commands, "qstat", f"cat {RECORDED}/pbs/{recording}.txt")
    return Pbs().poll(jobs)


def test_subjobs_of_an_array_have_states_of_their_own(commands: Path) -> None:
    array = Submitted("11[].vm", 0, 3)
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
    jobs = [Submitted(f"{number}.vm", 0, 1) for number in (12, 13, 14)]
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
    assert states(commands, "walltime", Submitted("4.vm", 0, 1)) == [
        JobState(0, "4.vm", "ended", said, "vm")
    ]


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
