"""A run's record says what went on around it on the node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from base.reading import Unavailable
from runners.host.tree import Tree
from runners.measure.conditions.cpu_time import HarnessCost
from runners.measure.conditions.surroundings import Surroundings, read_load
from runners.node.node import open_node
from tests.runners.proc_trees import process
from tests.runners.sensor_trees import hwmon, throttle
from tests.support.trees import build_tree, write

LIMIT = "sys/class/powercap/intel-rapl:0"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A recorded hybrid with sensors, one daemon, and 1.00 s of busy time on CPU 3."""
    root = build_tree(tmp_path, "i9-14900k-noht")
    hwmon(root, 5, "coretemp", {"Package id 0": 41000})
    for cpu in range(24):
        throttle(root, cpu, core_throttle_count=0, package_throttle_count=0)
    write(root, "proc/loadavg", "1.25 0.60 0.30 2/812 4711")
    write(root, "proc/stat", "cpu3 100 0 0 0 0 0 0 0 0 0")
    write(root, f"{LIMIT}/name", "package-0")
    write(root, f"{LIMIT}/constraint_0_name", "long_term")
    write(root, f"{LIMIT}/constraint_0_power_limit_uw", 125_000_000)
    process(root, 90, "irqbalance", user=10, threads=(3,))
    return root


def fields(
    root: Path, user_s: float, harness: HarnessCost | None, power_w: object = None
) -> tuple[dict[str, Any], dict[str, str]]:
    around = Surroundings(open_node(root))
    around.start()
    write(root, "proc/loadavg", "9.00 0.60 0.30 2/812 4711")
    write(root, "proc/stat", "cpu3 189 0 10 0 0 0 1 4 0 0")
    process(root, 90, "irqbalance", user=35, threads=(3,))
    around.stop()
    reading = around.measured((3,), user_s + 0.1, harness, power_w)
    return reading.fields, reading.unavailable


def test_all_of_it_is_in_the_record(root: Path) -> None:
    found, unavailable = fields(root, 0.6, HarnessCost(0.05, 30, (8, 9)), 124.0)
    assert found == {
        "temperature_before_c": {"package 0": 41.0},
        "temperature_after_c": {"package 0": 41.0},
        "throttle": {"core_count": 0, "package_count": 0},
        "power_limit_note": found["power_limit_note"],
        # 1.00 s busy, 0.7 s of them the program's; the harness was on other CPUs.
        "foreign_cpu_s": pytest.approx(0.3),
        "interrupts_s": pytest.approx(0.01),
        "steal_s": pytest.approx(0.04),
        "foreign_tasks": [{"command": "irqbalance", "cpu_s": 0.25}],
        "load_1min": 1.25,
        "daemons": ["irqbalance"],
        "harness": {"cpu_s": 0.05, "context_switches": 30, "cpus": "8-9"},
    }
    assert found["power_limit_note"].startswith("at PL1: average package power 124.0 W")
    assert set(unavailable) == {"quota_throttled_s"} | {
        f"throttle.{level}_{name}"
        for level in ("core", "package")
        for name in ("ms", "power_limit_count")
    }


def test_power_is_held_against_the_limit_that_is_in_force_at_the_run(root: Path) -> None:
    around = Surroundings(open_node(root))
    around.start()
    # thermald lowers limits while a study runs.
    write(root, f"{LIMIT}/constraint_0_power_limit_uw", 45_000_000)
    around.stop()
    note = around.measured((3,), 0.7, None, 44.5).fields["power_limit_note"]
    assert note.startswith("at PL1: average package power 44.5 W, PL1 45.0 W")


def test_a_task_on_an_smt_sibling_is_foreign_too(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k")
    write(root, "proc/stat", "cpu2 100 0 0 0 0 0 0 0\ncpu3 100 0 0 0 0 0 0 0\n")
    around = Surroundings(open_node(root))
    around.start()
    write(root, "proc/stat", "cpu2 200 0 0 0 0 0 0 0\ncpu3 150 0 0 0 0 0 0 0\n")
    process(root, 90, "noise", user=50, threads=(3,))
    around.stop()
    found = around.measured((2,), 1.0, None, None).fields
    assert found["foreign_cpu_s"] == pytest.approx(0.5)
    assert found["foreign_tasks"] == [{"command": "noise", "cpu_s": 0.5}]


def test_the_harness_is_not_foreign_where_it_shares_the_cpus(root: Path) -> None:
    found, _ = fields(root, 0.6, HarnessCost(0.05, 30, (3, 4)))
    assert found["foreign_cpu_s"] == pytest.approx(0.25)


def test_the_warning_names_the_daemons_of_the_start(root: Path) -> None:
    around = Surroundings(open_node(root))
    assert len(around.warnings) == 1
    assert around.warnings[0].endswith("sudo systemctl stop irqbalance")


def test_a_bare_node_has_reasons_instead(tmp_path: Path) -> None:
    around = Surroundings(open_node(build_tree(tmp_path, "rpl0")))
    around.start()
    around.stop()
    reading = around.measured((3,), 1.0, None, None)
    assert set(reading.unavailable) >= {
        *("temperature_before_c", "temperature_after_c", "throttle", "quota_throttled_s"),
        *("foreign_cpu_s", "interrupts_s", "steal_s", "load_1min"),
    }
    assert all(reading.unavailable.values())
    assert not set(reading.fields) & set(reading.unavailable)


@pytest.mark.parametrize("text", ["", "nan 1 1", "1e9 1 1", "-1.0 0 0", "busy", "1"])
def test_garbage_is_no_load(tmp_path: Path, text: str) -> None:
    write(tmp_path, "proc/loadavg", text)
    assert isinstance(read_load(Tree(tmp_path)), Unavailable)
