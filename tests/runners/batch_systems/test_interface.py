"""Commands of batch systems that answer, fail, hang, talk too much or are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from base.command import MAX_BYTES
from base.errors import UserError
from base.text import one_line
from configs.site import BATCH_SYSTEMS
from runners.batch_systems.interface import run_client
from runners.batch_systems.registry import open_system
from tests.runners.fake_commands import install
from tests.support.processes import wait_until_gone


def test_there_is_an_interface_for_each_batch_system_of_a_site() -> None:
    assert len({type(open_system(name)) for name in BATCH_SYSTEMS}) == len(BATCH_SYSTEMS)


def test_another_batch_system_is_a_users_mistake() -> None:
    with pytest.raises(UserError, match="'slrum' is not known; did you mean 'slurm'"):
        open_system("slrum")


def test_an_answer_has_status_and_both_streams(commands: Path) -> None:
    install(commands, "qstat", 'echo "asked $1"; echo "but so" >&2; exit 35')
    answer = run_client(("qstat", "24.vm"), 10)
    assert (answer.status, answer.stdout, answer.stderr) == (35, "asked 24.vm\n", "but so\n")
    assert answer.failed
    assert answer.error == "`qstat 24.vm` ended with status 35: but so"


def test_a_command_that_says_nothing_is_told_as_one(commands: Path) -> None:
    install(commands, "qdel", "exit 3")
    assert run_client(("qdel", "a b"), 10).error == "`qdel 'a b'` ended with status 3: no message"


@pytest.mark.usefixtures("commands")
def test_a_command_that_is_not_there_is_a_reason() -> None:
    answer = run_client(("sbatch", "job.sh"), 10)
    assert answer.failed
    assert answer.error == ("`sbatch job.sh` cannot be started: there is no sbatch on the PATH")


def test_a_command_that_is_no_program_is_a_reason(commands: Path) -> None:
    (commands / "sbatch").write_bytes(b"\x7fELF, but not quite")
    (commands / "sbatch").chmod(0o755)
    assert "cannot be started" in run_client(("sbatch",), 10).error


def test_a_command_has_nothing_to_read(commands: Path) -> None:
    install(commands, "qsub", "cat")
    assert run_client(("qsub",), 10).stdout == ""


def test_a_command_that_hangs_is_ended_with_what_it_has_started(
    commands: Path, tmp_path: Path
) -> None:
    install(commands, "squeue", f"sleep 600 & echo $! >{tmp_path}/child; wait")
    child = tmp_path / "child"
    # It may be ended before it has started all.
    for limit_s in (0.5, 4.0, 64.0):
        answer = run_client(("squeue", "-h"), limit_s)
        assert answer.failed
        assert answer.error == f"`squeue -h` did not answer within {limit_s:g} s"
        if child.exists() and child.read_text():
            break
    wait_until_gone([int(child.read_text())])


def test_a_command_that_closes_its_streams_and_hangs_is_ended(
    commands: Path, tmp_path: Path
) -> None:
    install(commands, "squeue", f"exec >&- 2>&-; touch {tmp_path}/closed; exec sleep 600")
    # It may be ended before it has closed them.
    for limit_s in (0.5, 4.0, 64.0):
        said = run_client(("squeue",), limit_s).error
        if (tmp_path / "closed").exists():
            break
    assert said == f"`squeue` did not end within {limit_s:g} s"


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
    assert "LC_ALL=C" in plain
    assert "SQUEUER=stays" in plain
    assert not any(line.startswith("SQUEUE_") for line in plain)
    assert "SQUEUE_STATES=PENDING" in run_client(("squeue",), 10).stdout.splitlines()


def test_words_that_are_no_text_are_one_line_of_bounded_length(commands: Path) -> None:
    install(commands, "sbatch", r"printf 'a\033[31m\n\tb\377 c' >&2; exit 1")
    assert run_client(("sbatch",), 10).error.endswith("status 1: a\ufffd[31m b\ufffd c")
    assert len(one_line("x" * 10**6)) < 1000
