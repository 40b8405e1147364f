"""What a machine says of a study before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from configs.library import load_study
from runners.study.machine import open_machine
from tests.support.trees import build_tree, write

SHIPPED = ["paper", "paper-own", "paper-serial", "paper-own-parallel"]


@pytest.mark.parametrize("name", SHIPPED)
def test_a_node_without_governors_is_told_what_makes_runs(tmp_path: Path, name: str) -> None:
    machine = open_machine(build_tree(tmp_path, "kvm-guest"), None)
    study = load_study(name)
    told = machine.what_runs(study)
    assert "`current`" in told and "scheduler, pcores-set, pcores-pin there are runs" in told
    assert "pinstudy run quick`" in told
    assert machine.outlook(machine.plan(study))[-1] == told
    # The study that is named makes runs.
    assert machine.plan(load_study("quick")).cases


def test_guests_are_told_of_a_study_with_guests(tmp_path: Path) -> None:
    machine = open_machine(build_tree(tmp_path, "kvm-guest"), None)
    assert "pinstudy run vm`" in machine.what_runs(load_study("paper-own-vm"))


def test_a_node_that_has_one_of_the_governors_is_told_nothing(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    assert open_machine(root, None).what_runs(load_study("paper-own")) == ""
    for file in root.glob("sys/devices/system/cpu/cpufreq/policy*"):
        for name in ("scaling_available_governors", "scaling_governor"):
            write(root, f"{file.relative_to(root)}/{name}", "schedutil")
    assert "quick" in open_machine(root, None).what_runs(load_study("paper-own"))
