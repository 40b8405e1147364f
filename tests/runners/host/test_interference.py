"""Which witnesses have lost their pinstudy, and what becomes of them."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from base.errors import StudyError
from base.reading import Unavailable
from runners.host.interference import daemon_warning, end_orphans, find_daemons, stop_commands
from runners.host.processes import parse_task
from runners.host.tree import Tree
from tests.runners.proc_trees import process
from tests.support.ordinary_user import NOBODY, open_folder
from tests.support.processes import alive, children, name_of
from tests.support.programs import witness as built_witness
from tests.support.tools import ROOT, missing, need_tool
from tests.support.wait import until

# A runner: its program has a child in a session of its own, as a daemon has.
RUNNER = """
import sys; sys.path.insert(0, sys.argv[2])
from pathlib import Path
from runners.execution.execute import Harness, execute
from runners.plan.launch import Launch
command = "setsid sleep 300 & echo started; exec sleep 300"
launch = Launch(tuple(sys.argv[3:]), ("/bin/sh", "-c", command), {"PATH": "/usr/bin:/bin"}, {}, ())
execute(launch, 300.0, Harness(Path(sys.argv[1]), None), lambda pid: print(pid, flush=True))
"""


class Study:
    """A runner with a witness and a program that has a daemon."""

    def __init__(self, witness: Path, launcher: tuple[str, ...]) -> None:
        command = [sys.executable, "-c", RUNNER, str(witness), str(ROOT), *launcher]
        self.runner = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self.runner.stdout is not None
        self.program = int(self.runner.stdout.readline())
        task = parse_task(Path(f"/proc/{self.program}/stat").read_text())
        assert task is not None
        self.witness = task.parent
        until(lambda: children(self.program))
        self.daemon = children(self.program)[0]
        until(lambda: name_of(self.program) == name_of(self.daemon) == "sleep")

    @property
    def left(self) -> list[int]:
        return [pid for pid in (self.witness, self.program, self.daemon) if alive(pid)]

    def lose_runner(self) -> None:
        """Kill the runner while the witness can learn nothing of it."""
        os.kill(self.witness, signal.SIGSTOP)
        self.runner.kill()
        self.runner.wait()

    def end(self) -> None:
        self.runner.kill()
        self.runner.wait()
        assert self.runner.stdout is not None
        self.runner.stdout.close()
        for pid in self.left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


@contextmanager
def study(witness: Path | None = None, launcher: tuple[str, ...] = ()) -> Iterator[Study]:
    made = Study(witness or built_witness(), launcher)
    try:
        yield made
    finally:
        made.end()


def test_an_orphan_is_ended_with_all_that_descends_from_it() -> None:
    with study() as lost:
        lost.lose_runner()
        assert len(lost.left) == 3
        (line,) = [line for line in end_orphans() if f"sleep ({lost.program})" in line]
        assert f"sleep ({lost.daemon})" in line
        until(lambda: not lost.left)
    assert not any(str(lost.program) in line for line in end_orphans())


def test_what_still_has_its_runner_is_left_alone() -> None:
    with study() as other:
        # Stopped, it cannot speak for itself.
        other.runner.send_signal(signal.SIGSTOP)
        assert not any(str(other.program) in line for line in end_orphans())
        assert len(other.left) == 3


def test_somebody_elses_orphan_is_named_with_the_command_that_ends_it() -> None:
    if os.geteuid() != 0:
        missing("working for somebody else needs root")
    with open_folder() as folder:
        witness = Path(shutil.copy(built_witness(), folder))
        as_nobody = (need_tool("setpriv"), f"--reuid={NOBODY}", "--clear-groups")
        with study(witness, as_nobody) as theirs:
            theirs.lose_runner()
            with pytest.raises(StudyError, match=f"belongs to user {NOBODY}: end it") as refused:
                end_orphans()
            assert len(theirs.left) == 3
            message = str(refused.value)
            assert f"sudo kill -9 {theirs.program}" in message
            assert str(theirs.witness) in message
            assert "\n" not in message


def test_the_daemons_that_are_known_to_interfere_on_hybrid_nodes_are_found(tmp_path: Path) -> None:
    # The kernel cuts names: power-profiles-.
    names = ("gamemoded", "intel_lpmd", "irqbalance", "power-profiles-daemon", "thermald", "tlp-pd")
    similar = ("tuned-gui", "xtuned", "tune", "power-profilesd", "bash")
    for pid, name in enumerate((*names, "tuned", "tuned-ppd", "thermald", *similar), 50):
        process(tmp_path, pid, name)
    assert find_daemons(Tree(tmp_path)) == [*names, "tuned", "tuned-ppd"]


def test_a_process_that_vanishes_and_garbage_are_passed_over(tmp_path: Path) -> None:
    process(tmp_path, 1, "systemd")
    for name in ("31", "32", "sys"):
        (tmp_path / "proc" / name).mkdir()
    (tmp_path / "proc/32/stat").write_bytes(b"\xff\xfe\x00")
    assert find_daemons(Tree(tmp_path)) == []


def test_a_node_without_proc_is_not_called_quiet(tmp_path: Path) -> None:
    assert isinstance(find_daemons(Tree(tmp_path)), Unavailable)


def test_a_node_that_hides_the_processes_of_others_is_not_called_quiet(tmp_path: Path) -> None:
    process(tmp_path, 4711, "pinstudy")
    hidden = find_daemons(Tree(tmp_path))
    assert hidden == Unavailable("/proc hides other users' processes (hidepid)")
    process(tmp_path, 4712, "gamemoded")
    assert find_daemons(Tree(tmp_path)) == ["gamemoded"]


@pytest.mark.skipif(os.geteuid() != 0, reason="a PID namespace of its own takes root")
def test_a_container_does_not_call_the_node_around_it_quiet() -> None:
    asking = (
        "from pathlib import Path; from runners.host.interference import find_daemons; "
        "from runners.host.tree import Tree; print(find_daemons(Tree(Path('/'))).reason)"
    )
    inside = [need_tool("unshare"), "--pid", "--fork", "--mount-proc", sys.executable, "-c", asking]
    done = subprocess.run(inside, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "a container sees its own processes only\n"


def test_the_warning_is_one_line_that_ends_with_the_command() -> None:
    assert daemon_warning([]) is None
    warning = daemon_warning(["irqbalance", "thermald"])
    assert warning is not None
    assert "\n" not in warning
    assert "irqbalance, thermald run" in warning
    assert warning.endswith(" sudo systemctl stop irqbalance thermald")


def test_a_users_own_service_and_a_unit_of_another_name() -> None:
    assert stop_commands(["gamemoded", "system76-power"]) == (
        "sudo systemctl stop com.system76.PowerDaemon && systemctl --user stop gamemoded"
    )
