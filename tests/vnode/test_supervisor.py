"""A virtual node ends with the process that started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import alive, children, wait_until_gone
from tests.support.tools import ROOT
from tests.support.wait import until
from tests.vnode.conftest import USUAL, Guests
from vnode.node import NotReadyError
from vnode.supervisor import CPU_CONTROLLER, groups_of

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
    (supervisor,) = children(starter.pid)
    groups = list(CPU_CONTROLLER.glob(f"{groups_of(supervisor)}-*"))
    assert groups or not os.access(CPU_CONTROLLER, os.W_OK)

    starter.send_signal(signal.SIGKILL)
    starter.wait()
    starter.stdout.close()

    wait_until_gone([qemu])
    until(lambda: not any(group.exists() for group in groups))


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

    wait_until_gone([node.pid])
