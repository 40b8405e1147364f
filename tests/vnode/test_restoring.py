"""Settings of a real kernel after a study was killed, and after the power was cut."""

from __future__ import annotations

import signal

import pytest

from tests.vnode.commands import (
    journal_exists,
    pinstudy,
    records,
    set_apart,
    settings,
    start_study,
    study,
    until,
)
from tests.vnode.conftest import USUAL, Guests
from tests.vnode.node import VirtualNode

pytestmark = pytest.mark.vnode


@pytest.mark.parametrize("made", [0, 1, 4])
def test_after_a_kill_the_next_command_puts_everything_back(node: VirtualNode, made: int) -> None:
    set_apart(node)
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


def test_after_a_power_cut_settings_are_put_back_and_the_study_goes_on(guests: Guests) -> None:
    node = guests.boot(USUAL)
    set_apart(node)
    before = settings(node)
    start_study(node, "ten-cases")
    until(node, lambda: len(records(node, "ten-cases")) >= 3)

    node.power_cut()
    node.boot()
    # The kernel's own defaults, which are not what the user had set.
    assert settings(node) != before
    assert journal_exists(node)
    kept = records(node, "ten-cases")
    ended = pinstudy(node, *study("ten-cases"))

    assert ended.status == 0, ended
    assert settings(node) == before
    assert not journal_exists(node)
    runs = records(node, "ten-cases")
    assert len(kept) >= 3
    assert all(run in runs for run in kept)
    good = [run["case_number"] for run in runs if run["status"] == "ok"]
    assert sorted(good) == list(range(1, 11))
