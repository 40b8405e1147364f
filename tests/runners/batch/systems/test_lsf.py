"""LSF, as its documentation says: there are no recorded answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.batch.systems.interface import JobState, Submitted
from runners.batch.systems.lsf import Lsf, read_bjobs
from tests.runners.batch.asked import job_of, queue_of
from tests.runners.fake_commands import install

ONE, ARRAY = Submitted(("17",), 0, 1), Submitted(("18",), 0, 3)


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


@given(st.text(alphabet=st.sampled_from("178|\n RUN-*n"), max_size=60))
def test_whatever_bjobs_prints_it_is_read_line_by_line(text: str) -> None:
    told = read_bjobs(text)
    assert len(told) <= sum(line.count("|") >= 5 for line in text.splitlines())
