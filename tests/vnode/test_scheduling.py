"""Schedulers, energy-aware scheduling and ITMT of a kernel that shows all of them."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable, Iterator

import pytest

from pinstudy.base import ROOT
from tests.vnode.conftest import Guests
from vnode.commands import (
    journal_exists,
    pinstudy,
    records,
    settings,
    start_study,
    study,
    until,
    without_pandas,
)
from vnode.node import KEPT, VirtualNode
from vnode.shape import Shape

pytestmark = pytest.mark.vnode
# A power cut leaves no such file to take away.
without_tables = pytest.mark.usefixtures("records_only")
held = pytest.mark.usefixtures("gate")

NAME = "schedulers"
# Governors x schedulers x EAS; under performance EAS is impossible.
CASES, POSSIBLE, REPETITIONS = 8, 4, 2
KILLS = 4
STATE = "cat /sys/kernel/sched_ext/state"
FILES = "/proc/sys/kernel/sched_{energy_aware,itmt_enabled} /sys/kernel/sched_ext/state"
REASON = "runnable task stall: a thread failed to run for 30 s"
# The last policy has another governor than the others, so that EAS is impossible at first.
_AS_AT_FIRST = f"""
rm -rf {KEPT}/[!l]*
pkill -KILL -f '[s]cx_made' || true
until [ "$({STATE})" = disabled ]; do sleep 0.1; done
cd /sys/devices/system/cpu/cpufreq
for policy in policy*; do echo schedutil >$policy/scaling_governor; done
echo 1 | tee /proc/sys/kernel/sched_{{energy_aware,itmt_enabled}}
echo performance >policy7/scaling_governor
"""

PROGRAM = ROOT / "build" / "bin" / "mandelbrot-libgomp"
GATE, WAITS = "/run/gate", "/run/waits"
# In the program's place: while there is a gate, each run waits until somebody writes to it.
_GATED = f"""#!/bin/sh
if [ -p {GATE} ]; then
    touch {WAITS}
    read -r _ <{GATE}
fi
exec /run/program "$@"
"""
_HOLD = f"""
cp {PROGRAM} /run/program
printf %s '{_GATED}' >/run/gated
chmod +x /run/gated
mount --bind /run/gated {PROGRAM}
mkfifo {GATE}
"""
# After a power cut there is nothing to undo.
_UNDO = f"rm -f {GATE} {WAITS}; umount {PROGRAM} || true"


@pytest.fixture
def node(guests: Guests) -> VirtualNode:
    """Give a node whose schedulers can be switched, and on which nothing is."""
    node = guests.get(Shape(scheduling=True))
    node.shell(_AS_AT_FIRST)
    return node


@pytest.fixture
def gate(node: VirtualNode) -> Iterator[None]:
    """Let the program of each run wait at its start."""
    node.shell(_HOLD)
    yield
    node.shell(_UNDO)


def hold_a_run(node: VirtualNode, wanted: Callable[[], bool]) -> None:
    """Let runs go until the program of one waits while a condition holds.

    While a program waits, its study changes nothing.
    """
    until(node, lambda: waits(node))
    while not wanted():
        node.shell(f"rm {WAITS}; echo >{GATE}")
        until(node, lambda: waits(node))


def waits(node: VirtualNode) -> bool:
    return node.run("test", "-e", WAITS).status == 0


def let_all_go(node: VirtualNode) -> None:
    """Let the program that waits go on, and let no later one wait."""
    node.shell(f"mv {GATE} /run/opened; rm {WAITS}; echo >/run/opened")


def all_settings(node: VirtualNode) -> str:
    return settings(node) + node.shell(f"grep -H . {FILES} || true")


def in_force(node: VirtualNode) -> bool:
    """Return whether a scheduler of sched_ext is in force."""
    return node.shell(STATE) == "enabled"


def is_clean(node: VirtualNode) -> bool:
    return node.run("pgrep", "-f", "scx_made").status == 1 and not journal_exists(node)


@without_tables
def test_each_case_is_scheduled_as_it_asks_and_all_is_put_back(node: VirtualNode) -> None:
    before = all_settings(node)

    ended = pinstudy(node, *study(NAME))

    assert ended.status == 0, ended
    assert "scheduler scx_made: started for its cases, and ended at the end" in ended.output
    assert all_settings(node) == before
    assert is_clean(node)
    runs = records(node, NAME)
    good = [run for run in runs if run["status"] == "ok"]
    assert len(good) == POSSIBLE * REPETITIONS, [run.get("reason") for run in runs]
    for run in good:
        asked = run["settings"]
        made = asked["sched_ext"] == "scx_made"
        assert run["sched_energy_aware"] == asked["energy_aware"]
        assert (run["sched_itmt"], asked["itmt"]) == ("off", "off")
        assert run["settings_read"] == asked | {"governor": "schedutil"}
        assert run["sched_ext"] == ("enabled" if made else "disabled")
        assert run["sched_ext_scheduler"].startswith("made_1.0" if made else "none")
        assert ("scheduler_loaded_s" in run) == made
    left_out = [run for run in runs if run["status"] == "skipped"]
    assert {run["governor"] for run in left_out} == {"performance"}
    assert all("energy-aware scheduling is impossible now" in run["reason"] for run in left_out)


@without_tables
@held
def test_after_ctrl_c_the_kernels_own_scheduler_is_back(node: VirtualNode) -> None:
    before = all_settings(node)
    running = start_study(node, NAME)
    hold_a_run(node, lambda: in_force(node))

    node.kill(running, signal.SIGINT)

    assert node.wait(running).status == 130
    assert all_settings(node) == before
    assert is_clean(node)


@without_tables
@held
def test_after_kills_at_random_moments_the_next_command_finds_all_put_back(
    node: VirtualNode,
) -> None:
    before = all_settings(node)
    moments = random.Random(5)
    for kill in range(KILLS):
        running = start_study(node, NAME)
        if kill % 2:
            hold_a_run(node, lambda: in_force(node))
        else:
            until(node, lambda: journal_exists(node))
            node.run("sleep", f"{moments.uniform(0, 3):.2f}")
        node.kill(running, signal.SIGKILL)
        assert node.wait(running).status == -signal.SIGKILL

        done = pinstudy(node, "mappings")

        assert done.status == 0, done
        assert all_settings(node) == before, done.errors
        assert is_clean(node)
        node.shell(f"rm -f {WAITS}")
    node.shell(f"rm {GATE}")
    assert pinstudy(node, *study(NAME)).status == 0
    good = [run["run_id"] for run in records(node, NAME) if run["status"] == "ok"]
    assert len(good) == len(set(good)) == POSSIBLE * REPETITIONS


@without_tables
@held
def test_a_supervisor_that_is_killed_takes_the_scheduler_along(node: VirtualNode) -> None:
    running = start_study(node, NAME)
    hold_a_run(node, lambda: in_force(node))

    node.shell("pkill -KILL -f '[h]ost/supervisor.py'")
    let_all_go(node)

    assert node.wait(running).status == 0
    assert is_clean(node)
    assert not in_force(node)


@without_tables
@held
def test_a_scheduler_that_is_thrown_out_in_a_run_is_told_with_its_reason(node: VirtualNode) -> None:
    running = start_study(node, NAME)
    hold_a_run(node, lambda: in_force(node))

    node.shell(f"printf '{REASON}' >/sys/module/pinstudy_vnode/parameters/throw_out")
    let_all_go(node)

    assert node.wait(running).status == 0
    assert is_clean(node)
    runs = records(node, NAME)
    told = [run for run in runs if f"scx_made was thrown out: {REASON}" in run.get("reason", "")]
    assert [run["status"] for run in told] == ["settings-changed"], told
    good = [run for run in runs if run["status"] == "ok"]
    assert any(run["settings"]["sched_ext"] == "scx_made" for run in good), "it was started again"


@without_tables
def test_a_scheduler_that_somebody_else_started_is_left_alone(node: VirtualNode) -> None:
    node.start("scx_made")
    until(node, lambda: in_force(node))

    ended = pinstudy(node, *study(NAME))

    assert ended.status == 1
    assert "which this study did not start: end its program" in ended.output + ended.errors
    assert in_force(node)
    assert not journal_exists(node)


@held
def test_after_a_power_cut_the_study_goes_on_with_the_kernels_own_scheduler(
    node: VirtualNode,
) -> None:
    start_study(node, NAME)
    hold_a_run(node, lambda: in_force(node) and len(records(node, NAME)) > CASES - POSSIBLE)

    node.power_cut()
    node.boot()
    assert journal_exists(node)
    # The study goes on with the program that it began with, and no run waits.
    node.shell(f"{_HOLD}rm {GATE}")
    with without_pandas(node):
        ended = pinstudy(node, *study(NAME))

    assert ended.status == 0, ended
    assert "the node was rebooted" in ended.errors
    assert is_clean(node)
    good = [run for run in records(node, NAME) if run["status"] == "ok"]
    assert len(good) == POSSIBLE * REPETITIONS
