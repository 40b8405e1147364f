"""`pinstudy prove` in nodes that are honest, and in nodes that lie: each lie is found."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pytest

from pinstudy.runners.records.instruments import FILE_NAME
from tests.support.tools import ROOT
from tests.vnode.conftest import Guests
from tests.vnode.test_arm import COMMAND, PYTHON
from vnode.arm import BigLittle
from vnode.commands import (
    ENVIRONMENT,
    PINSTUDY,
    journal_exists,
    pinstudy,
    settings,
    until,
    vary_settings,
)
from vnode.node import HANG_S, KEPT, Ended, VirtualNode

pytestmark = pytest.mark.prove

# By name. Some instruments are judged several times, as a thread's shares of its time on two CPUs.
Findings = Mapping[str, list[dict[str, Any]]]

# What an emulated node can test.
HONEST = {
    "frequency P",
    "frequency E",
    "kernel's frequency P",
    "kernel's frequency E",
    "residency P E",
    "sum over two CPUs P E",
    "sum over two CPUs P",
    "sum over two CPUs E",
    "multiplexing",
    "migrations",
    "context switches",
    "energy package by powercap",
    "energy core by powercap",
    "energy package by perf",
    "energy core by perf",
    "energy package twice",
    "energy core twice",
    "temperature",
    "throttling",
    "frequency under governor performance P",
    "frequency under governor powersave P",
    "placement libgomp, ignoring it",
    "placement libomp, ignoring it",
    "resolution",
}
# Of these, load of the host may keep a run from being proved.
PLACEMENTS = {"placement libgomp", "placement libomp", "placement likwid-pin"}
# The module's parameter that lies, the part of the instruments that tells it, and what must be off.
LIES: dict[str, tuple[int, str, set[str]]] = {
    "cycles_permille": (1100, "counters", {"frequency P", "frequency E"}),
    "swapped_kinds": (1, "counters", {"instructions P", "instructions E", "cycles P", "cycles E"}),
    "lost_after_migration": (1, "moves", {"sum over two CPUs P E"}),
    "counter_bits": (32, "counters", {"frequency P"}),
    "ignored_policy": (1, "counters", {"frequency under limit 2.6 GHz P"}),
    "shown_permille": (900, "counters", {"kernel's frequency P", "kernel's frequency E"}),
    "energy_stands_still": (1, "energy", {"energy package by powercap", "energy core by powercap"}),
    "energy_permille": (250, "energy", {"energy package twice", "energy core twice"}),
}
# Their values without a lie.
TRUTH = {
    **dict.fromkeys(LIES, 0),
    **{"cycles_permille": 1000, "shown_permille": 1000, "energy_permille": 1000},
    "counter_bits": 64,
}
# Lies of a perf, not of a kernel.
LIES_OF_PERF = {
    "migrations": ("moves", {"migrations"}),
    "extrapolated": ("moves", {"sum over two CPUs P E"}),
}


def prove(
    node: VirtualNode, *arguments: str, command: tuple[str, ...] = (PINSTUDY,), **variables: str
) -> tuple[Ended, Findings]:
    """Run it in the guest; return how it ended and its findings by name."""
    words = (*command, "prove", "--quick", "--json", *arguments)
    ended = node.run(*words, cwd=KEPT, env=ENVIRONMENT | variables, timeout=HANG_S)
    assert ended.status in (0, 1) and ended.output, ended
    findings: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for of in json.loads(ended.output)["findings"]:
        findings[f"{of['instrument']} {of['of']}".rstrip()].append(of)
    return ended, findings


def states(findings: Findings, state: str) -> set[str]:
    """Return the names of which a finding has this state."""
    return {name for name, each in findings.items() if any(of["state"] == state for of in each)}


def test_on_an_honest_node_nothing_is_off_and_all_settings_are_as_they_were(
    node: VirtualNode,
) -> None:
    vary_settings(node)
    before = settings(node)

    ended, found = prove(node)

    off = {name: found[name] for name in states(found, "off")}
    assert (ended.status, off) == (0, {})
    lacking = {name: found[name] for name in HONEST - states(found, "ok")}
    assert lacking == {}
    assert states(found, "ok") & PLACEMENTS
    assert any("frequency under limit" in name for name in states(found, "ok"))
    assert settings(node) == before
    assert not journal_exists(node)
    kept = json.loads(node.shell(f"cat {KEPT}/state/*/{FILE_NAME}"))
    assert kept == json.loads(ended.output)


@pytest.mark.parametrize("lie", LIES)
def test_each_lie_of_the_node_is_found(node: VirtualNode, lie: str) -> None:
    value, part, expected = LIES[lie]
    node.set_parameters(**{lie: value})
    try:
        ended, found = prove(node, "--only", part)
    finally:
        node.set_parameters(**TRUTH)

    assert ended.status == 1
    assert states(found, "off") >= expected, found


@pytest.mark.parametrize("lie", LIES_OF_PERF)
def test_each_lie_of_perf_is_found(node: VirtualNode, lie: str) -> None:
    part, expected = LIES_OF_PERF[lie]
    perf = shutil.which("perf")
    assert perf
    node.shell(f"mkdir -p /tmp/liar && ln -sf {ROOT}/vnode/guest/lying_perf.py /tmp/liar/perf")
    path = node.shell("echo $PATH")
    ended, found = prove(
        node, "--only", part, PATH=f"/tmp/liar:{path}", PINSTUDY_LIE=lie, PINSTUDY_PERF=perf
    )

    assert ended.status == 1
    assert states(found, "off") >= expected, found


@pytest.mark.parametrize("number", [2, 9])
def test_after_ctrl_c_or_a_kill_everything_is_put_back(node: VirtualNode, number: int) -> None:
    vary_settings(node)
    before = settings(node)
    command = (PINSTUDY, "prove", "--only", "counters")
    pid = node.start(*command, cwd=KEPT, env=ENVIRONMENT)
    until(node, lambda: journal_exists(node) and settings(node) != before)
    node.kill(pid, number)
    node.wait(pid)
    if number == 9:
        # Any command puts them back.
        assert pinstudy(node, "mappings").status == 0

    assert settings(node) == before
    assert not journal_exists(node)


def test_an_honest_node_of_another_architecture_raises_no_alarm(guests: Guests) -> None:
    ended, found = prove(guests.get(BigLittle()), command=COMMAND, **PYTHON)

    off = {name: found[name] for name in states(found, "off")}
    assert (ended.status, off) == (0, {})
    assert states(found, "ok") >= {
        "residency P E",
        "sum over two CPUs P E",
        "migrations",
        "context switches",
        "resolution",
    }
    assert states(found, "ok") & PLACEMENTS
