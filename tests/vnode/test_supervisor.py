"""Nothing of a virtual node outlives whoever started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.processes import alive
from tests.support.tools import ROOT
from tests.vnode.conftest import USUAL, Guests
from vnode.node import NotReadyError

pytestmark = pytest.mark.vnode

STARTER = """
import sys, time
from pathlib import Path
from vnode.node import VirtualNode
from tests.vnode.conftest import USUAL
node = VirtualNode(USUAL, Path(sys.argv[1]), e_share=0.4)
node.boot()
print(node.pid, flush=True)
time.sleep(600)
"""


def quota_groups() -> list[Path]:
    return list(Path("/sys/fs/cgroup/cpu").glob("pinstudy-vnode-*"))


def gone(pid: int) -> bool:
    for _ in range(100):
        if not alive(pid) and not quota_groups():
            return True
        time.sleep(0.1)
    return False


def test_a_starter_that_is_killed_leaves_no_qemu_and_no_quota(
    guests: Guests, tmp_path: Path
) -> None:
    guests.close()
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert starter.stdout
    qemu = int(starter.stdout.readline())
    assert alive(qemu)

    starter.send_signal(signal.SIGKILL)
    starter.wait()
    starter.stdout.close()

    assert gone(qemu)


def test_a_guest_that_hangs_is_noticed_by_its_silence(
    guests: Guests, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = guests.get(USUAL)
    monkeypatch.setattr("vnode.node.SILENCE_S", 10)
    assert node.run("sleep", "15").status == 0

    os.kill(node.pid, signal.SIGSTOP)

    with pytest.raises(NotReadyError, match="console"):
        node.run("true")


def test_a_power_cut_leaves_no_qemu(guests: Guests) -> None:
    node = guests.boot(USUAL)
    assert alive(node.pid)

    node.power_cut()

    assert gone(node.pid)
