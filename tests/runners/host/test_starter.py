"""Whose a process or a folder is, and what of a killed pinstudy's is ended and removed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.reading import known
from runners.host.interference import end_orphans
from runners.host.processes import read_stats
from runners.host.starter import (
    INSTRUMENT,
    PROGRAM,
    VARIABLE,
    Starter,
    folder_prefix,
    mark_of,
    marked,
    own_starter,
    parse_starter,
    starter_of_folder,
)
from runners.host.tree import Tree
from tests.support.processes import alive, name_of, wait_until_gone
from tests.support.tools import ROOT
from tests.support.wait import until

# A starter that waits, with a marked program that has a daemon, and a temporary folder.
STARTER = """
import subprocess, sys; sys.path.insert(0, sys.argv[1])
from runners.execution.output_file import temporary_folder
from runners.host.starter import marked
command = "{} sleep 300 & echo $!; exec sleep 300"
environment = marked({"PATH": "/usr/bin:/bin"})
with temporary_folder() as folder:
    program = subprocess.Popen(["/bin/sh", "-c", command], env=environment, start_new_session=True,
                               stdout=subprocess.PIPE)
    print(program.pid, int(program.stdout.readline()), folder, flush=True)
    sys.stdin.read()
"""


class Left:
    """A starter, its program and the program's daemon."""

    def __init__(self, temporary: Path, daemon: str) -> None:
        self.starter = subprocess.Popen(
            [sys.executable, "-c", STARTER.replace("{}", daemon), str(ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"TMPDIR": str(temporary)},
        )
        assert self.starter.stdout
        program, daemon_pid, folder = self.starter.stdout.readline().split()
        self.processes = [int(program), int(daemon_pid)]
        self.folder = Path(folder)
        until(lambda: {name_of(pid) for pid in self.processes} == {"sleep"})

    def lose_starter(self) -> None:
        self.starter.kill()
        self.starter.wait()

    def end(self) -> None:
        with self.starter:
            self.starter.kill()
        for pid in self.processes:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def left(temporary: Path, daemon: str = "setsid") -> Iterator[Left]:
    made = Left(temporary, daemon)
    try:
        yield made
    finally:
        made.end()


def has_mark(pid: int, mark: tuple[Starter, str]) -> bool:
    return mark_of(pid) == mark


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


# One that clears its environment is found as a descendant.
@pytest.mark.parametrize("daemon", ["setsid", "env -i setsid"])
def test_what_a_killed_starter_has_left_is_ended_and_its_folder_removed(
    temporary: Path, daemon: str
) -> None:
    with left(temporary, daemon) as lost:
        (lost.folder / "inside").mkdir()
        (lost.folder / "inside" / "file").touch()
        (lost.folder / "link").symlink_to(ROOT)
        lost.lose_starter()
        lines = end_orphans()
        assert [line for line in lines if "left running: sleep (" in line]
        assert "removed 1 temporary folder of a pinstudy that was killed" in lines
        wait_until_gone(lost.processes)
        assert not lost.folder.exists()
        assert (ROOT / "README.md").exists()
    assert end_orphans() == []


def test_a_stopped_process_is_ended_as_well(temporary: Path) -> None:
    with left(temporary) as lost:
        for pid in lost.processes:
            os.kill(pid, signal.SIGSTOP)
        lost.lose_starter()
        end_orphans()
        wait_until_gone(lost.processes)


def test_what_has_a_living_starter_is_left_alone(temporary: Path, at_end: ExitStack) -> None:
    other = at_end.enter_context(left(temporary))
    # Stopped, it cannot speak for itself.
    other.starter.send_signal(signal.SIGSTOP)
    assert end_orphans() == []
    assert all(map(alive, other.processes))
    assert other.folder.exists()


def test_what_another_place_has_marked_is_left_alone(temporary: Path, at_end: ExitStack) -> None:
    gone = replace(own_starter(), started=1)
    elsewhere = (replace(gone, place="0123abcd"), replace(gone, place=""))
    for starter in elsewhere:
        (temporary / f"pinstudy-{starter}-x").mkdir()
        environment = {VARIABLE: f"{starter}{PROGRAM}"}
        sleeper = at_end.enter_context(subprocess.Popen(["/bin/sleep", "300"], env=environment))
        at_end.callback(sleeper.kill)
        # Its first instruction may still be to come.
        until(partial(has_mark, sleeper.pid, (starter, PROGRAM)))
    assert end_orphans() == []
    assert len(list(temporary.iterdir())) == 2


@pytest.mark.parametrize("name", ["pinstudy-x", "pinstudy-fuzz-abc", "{}", "pinstudy-{}"])
def test_a_folder_of_another_name_is_left(temporary: Path, name: str) -> None:
    gone = replace(own_starter(), started=1)
    (temporary / name.format(gone)).mkdir()
    assert end_orphans() == []
    assert (temporary / name.format(gone)).is_dir()


def test_neither_a_link_nor_a_file_nor_anothers_folder_is_removed(temporary: Path) -> None:
    gone = replace(own_starter(), started=1)
    kept = temporary / "kept"
    kept.mkdir()
    (temporary / f"pinstudy-{gone}-link").symlink_to(kept)
    (temporary / f"pinstudy-{gone}-file").touch()
    theirs = temporary / f"pinstudy-{gone}-theirs"
    theirs.mkdir()
    if os.geteuid() == 0:
        os.chown(theirs, 65534, 65534)
    else:
        theirs.rmdir()
    before = sorted(temporary.iterdir())
    assert end_orphans() == []
    assert sorted(temporary.iterdir()) == before


def test_a_pinstudy_within_what_a_killed_one_has_left_ends_nothing_of_it(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with left(temporary) as lost:
        mark = mark_of(lost.processes[0])
        assert mark
        monkeypatch.setenv(VARIABLE, f"{mark[0]}{mark[1]}")
        lost.lose_starter()
        end_orphans()
        assert all(map(alive, lost.processes))


def test_a_mark_names_this_process_and_has_one_length() -> None:
    environment = marked({"A": "b", VARIABLE: "another's"}, INSTRUMENT)
    assert next(iter(environment)) == VARIABLE
    assert environment == {VARIABLE: f"{own_starter()}{INSTRUMENT}", "A": "b"}
    assert own_starter().pid == os.getpid()
    stats = known(read_stats(Tree(Path("/"))))
    assert stats
    assert not own_starter().is_gone(stats)
    assert replace(own_starter(), started=1).is_gone(stats)
    # Hidden (proc(5), hidepid), and gone.
    assert not own_starter().is_gone({})
    assert starter_of_folder(f"{folder_prefix()}x") == own_starter()


@given(st.integers(1, 2**22), st.integers(0, 16**9 - 1), st.sampled_from(["", "9d51a307"]))
def test_a_starter_is_read_as_it_was_written(pid: int, started: int, place: str) -> None:
    starter = Starter(place, pid, started)
    assert len(str(starter)) == len(str(own_starter()))
    assert parse_starter(str(starter)) == starter


@given(st.text(max_size=30))
def test_any_other_text_names_nobody(text: str) -> None:
    assert parse_starter(text) is None
