from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pinstudy.base.errors import StudyError
from pinstudy.runners.host.interference import end_orphans
from pinstudy.runners.host.lock import is_locked, node_lock
from tests.support.isolation import own_node
from tests.support.processes import alive, ended
from tests.support.programs import witness
from tests.support.tools import ROOT
from tests.support.wait import until

NODE = Path("/")
# A runner of a program; it never ends by itself.
RUNNER = """
import sys
from pathlib import Path
from pinstudy.runners.execution.execute import Harness, execute
from pinstudy.runners.plan.launch import Launch
launch = Launch((), ("/bin/sleep", "300"), {}, {}, ())
execute(launch, 300.0, Harness(Path(sys.argv[1]), None), lambda pid: print(pid, flush=True))
"""


def test_two_folders_are_locked_apart_and_one_is_locked_for_all_who_name_it(tmp_path: Path) -> None:
    with node_lock(NODE):
        assert is_locked(NODE)
        with own_node(tmp_path):
            assert not is_locked(NODE)
            with node_lock(NODE):
                asking = "from pinstudy.runners.host.lock import *; print(is_locked(Path('/')))"
                command = [sys.executable, "-c", asking]
                assert subprocess.check_output(command, cwd=ROOT, text=True) == "True\n"
    assert not is_locked(NODE)


def test_a_folder_that_is_gone_is_reported_in_one_line(tmp_path: Path) -> None:
    with own_node(tmp_path / "gone"), pytest.raises(StudyError) as refused, node_lock(NODE):
        pass
    assert str(refused.value) == f"$PINSTUDY_LOCK: {tmp_path}/gone is no folder"


def test_what_a_killed_study_under_another_lock_has_left_is_left_alone(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RUNNER, str(witness())]
    with own_node(tmp_path):
        runner = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    with ended(runner):
        assert runner.stdout is not None
        program = int(runner.stdout.readline())
        stat = Path(f"/proc/{program}/stat").read_text()
        parent = int(stat.rpartition(")")[2].split()[1])
        # A stopped witness can end nothing.
        os.kill(parent, signal.SIGSTOP)
    try:
        assert end_orphans() == []
        assert alive(program)
    finally:
        os.kill(parent, signal.SIGKILL)
        os.kill(program, signal.SIGKILL)
        until(lambda: not alive(program))
