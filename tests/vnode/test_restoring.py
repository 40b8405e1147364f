"""Settings of a real kernel after a study was killed."""

from __future__ import annotations

import signal

import pytest

from vnode.commands import (
    journal_exists,
    pinstudy,
    records,
    settings,
    start_study,
    until,
    vary_settings,
)
from vnode.node import VirtualNode

pytestmark = [pytest.mark.vnode, pytest.mark.usefixtures("records_only")]


@pytest.mark.parametrize("made", [0, 1, 4])
def test_after_a_kill_the_next_command_puts_everything_back(node: VirtualNode, made: int) -> None:
    vary_settings(node)
    before = settings(node)
    killed = start_study(node, "ten-cases")
    until(node, lambda: journal_exists(node) and len(records(node, "ten-cases")) >= made)
    if made == 0:
        until(node, lambda: settings(node) != before)

    node.kill(killed, signal.SIGKILL)
    assert node.wait(killed).status == -signal.SIGKILL
    assert journal_exists(node)
    assert pinstudy(node, "mappings").status == 0

    assert settings(node) == before
    assert not journal_exists(node)
    assert node.run("pgrep", "-f", "mandelbrot-libgomp").status == 1
