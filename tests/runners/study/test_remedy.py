"""Which options make runs where a study has none."""

from __future__ import annotations

from pathlib import Path

import pytest

from configs.library import load_study
from configs.overrides import Overrides
from runners.study.machine import open_machine
from runners.study.remedy import remedy
from tests.support.trees import build_tree, write

SHIPPED = ["paper", "paper-own", "paper-serial", "paper-own-parallel"]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_node_without_governors_is_told_to_leave_them(tmp_path: Path, name: str) -> None:
    machine = open_machine(build_tree(tmp_path, "kvm-guest"), None)
    assert not machine.plan(load_study(name)).cases

    told = remedy(machine, load_study(name))

    able = machine.plan(load_study(name, Overrides(governors=("current",)))).cases
    assert told == f"add --governors current: {len(able)} cases can run then"


def test_where_no_option_helps_a_shipped_study_another_one_is_named(tmp_path: Path) -> None:
    # Guests of eight CPUs, on a node of two.
    machine = open_machine(build_tree(tmp_path, "kvm-guest"), None)
    able = len(machine.plan(load_study("vm")).cases)
    told = remedy(machine, load_study("paper-own-vm"))
    assert told == f"`pinstudy run vm` has {able} cases that can run"


def test_a_node_that_has_another_governor_is_told_so(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    for file in root.glob("sys/devices/system/cpu/cpufreq/policy*"):
        for name in ("scaling_available_governors", "scaling_governor"):
            write(root, f"{file.relative_to(root)}/{name}", "schedutil")
    assert remedy(open_machine(root, None), load_study("paper-own")).startswith("add --governors")


def test_options_that_were_given_stand_beside_those_that_help(tmp_path: Path) -> None:
    machine = open_machine(build_tree(tmp_path, "kvm-guest"), None)
    given = Overrides(mappings=("ecores-pin",), only=("mandelbrot",))
    told = remedy(machine, load_study("quick", given), ("--fresh",))
    assert told.startswith("add --mappings unpinned,")
    assert " --fresh: " in told
