"""The power PMU's events are found by their files, counted once a package, and told in joules."""

from __future__ import annotations

import math
import re
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runners.measure.energy.perf import (
    EVENTS,
    PerfMeter,
    PowerPmu,
    find_power_pmu,
    permission_problem,
    read_joules,
)
from runners.measure.perf.events import PerfPermission
from tests.runners.fake_commands import install
from tests.runners.power_pmu_trees import event_file, joules_row, power_pmu_tree
from tests.support.ordinary_user import open_folder, ordinary_user

DIES = {0: 0, 8: 0, 16: 1, 24: 1}


def test_domains_are_the_events_that_are_there(tmp_path: Path) -> None:
    pmu = find_power_pmu(power_pmu_tree(tmp_path))
    assert pmu.events == {
        "package": "power/energy-pkg/",
        "core": "power/energy-cores/",
        "uncore": "power/energy-gpu/",
        "psys": "power/energy-psys/",
    }
    assert pmu.unavailable == {"dram": "the power PMU has no energy-ram"}
    assert pmu.cpus == (0,)


def test_every_die_of_an_intel_server_is_counted(tmp_path: Path) -> None:
    root = power_pmu_tree(tmp_path, ("energy-pkg", "energy-ram"), "0,8,16,24", packages=DIES)
    assert find_power_pmu(root).cpus == (0, 8, 16, 24)


@pytest.mark.parametrize("vendor", ["AuthenticAMD", "HygonGenuine", "SomeoneElse"])
def test_dies_that_repeat_their_package_are_counted_once(tmp_path: Path, vendor: str) -> None:
    root = power_pmu_tree(tmp_path, ("energy-pkg",), "0,8,16,24", vendor, DIES)
    assert find_power_pmu(root).cpus == (0, 16)


def test_packages_that_cannot_be_told_apart_are_not_counted(tmp_path: Path) -> None:
    root = power_pmu_tree(tmp_path, ("energy-pkg",), "0,8", "AuthenticAMD", {0: 0})
    pmu = find_power_pmu(root)
    assert pmu.events == {}
    assert "cpu8/topology/physical_package_id is missing" in pmu.unavailable["package"]
    assert "counted twice" in pmu.unavailable["package"]


def test_one_counter_needs_no_topology(tmp_path: Path) -> None:
    assert find_power_pmu(power_pmu_tree(tmp_path, vendor="AuthenticAMD")).cpus == (0,)


def test_a_node_without_the_pmu_has_a_reason_for_every_domain(tmp_path: Path) -> None:
    pmu = find_power_pmu(tmp_path)
    assert pmu.events == {}
    assert set(pmu.unavailable) == set(EVENTS)
    assert "no power PMU here" in pmu.unavailable["package"]


@pytest.mark.parametrize("cpumask", ["", "none", "-1", "0-", "99999999999"])
def test_a_cpumask_that_names_no_cpu_is_a_reason(tmp_path: Path, cpumask: str) -> None:
    pmu = find_power_pmu(power_pmu_tree(tmp_path, cpumask=cpumask))
    assert pmu.events == {}
    assert "power/cpumask" in pmu.unavailable["package"]


@pytest.mark.parametrize("text", ["", "\n", "energy", "event=2", "event=0x02,x=1", "event=0x02/"])
def test_an_event_that_perf_would_refuse_is_left_out(tmp_path: Path, text: str) -> None:
    root = power_pmu_tree(tmp_path)
    event_file(root, "energy-psys").write_text(text)
    pmu = find_power_pmu(root)
    assert "psys" not in pmu.events
    assert "events/energy-psys" in pmu.unavailable["psys"]
    assert "package" in pmu.events


def test_an_event_without_permission_is_left_out() -> None:
    with open_folder() as folder:
        root = power_pmu_tree(folder)
        event_file(root, "energy-psys").chmod(0)
        with ordinary_user():
            pmu = find_power_pmu(root)
    assert "no permission" in pmu.unavailable["psys"]
    assert "package" in pmu.events


def test_the_command_is_system_wide_on_the_pmus_cpus_and_begins_switched_off(
    tmp_path: Path,
) -> None:
    install(tmp_path, "perf", 'echo "$*" >&2; exit 255')
    pmu = PowerPmu({"package": "power/energy-pkg/", "dram": "power/energy-ram/"}, (0, 16))
    meter = PerfMeter(str(tmp_path / "perf"), pmu)
    meter.start()
    meter.close()
    assert re.fullmatch(
        r"perf could not attach: stat -x ; -o /proc/self/fd/\d+ "
        r"-e power/energy-pkg/,power/energy-ram/ "
        r"-D -1 --control fd:\d+,\d+ -C 0,16 -- cat",
        meter.problems()["package"],
    )


def test_rows_are_joules_by_domain() -> None:
    # The first row's figures are from a public recording (see tests/data/perf).
    rows = [
        "475.42;Joules;power/energy-pkg/;20005659301;100.00;;",
        joules_row("energy-ram", "31.5"),
    ]
    assert read_joules("\n".join(rows)) == ({"package": 475.42, "dram": 31.5}, {})


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("<not supported>;Joules;power/energy-pkg/;0;100.00;;", "energy-pkg is not supported"),
        ("<not counted>;Joules;power/energy-pkg/;0;100.00;;", "energy-pkg is not counted"),
        ("2041842;;power/energy-pkg/;2500000000;100.00;;", "not a sum of Joules"),
        ("-3.5;Joules;power/energy-pkg/;2500000000;100.00;;", "not a sum of Joules"),
        ("S0;1;3.5;Joules;power/energy-pkg/;2500000000;100.00;;", "not a sum of Joules"),
    ],
)
def test_a_row_that_is_no_energy_is_a_reason(row: str, said: str) -> None:
    joules, problems = read_joules(row)
    assert joules == {}
    assert said in problems["package"]


@given(st.text(max_size=200) | st.from_regex(r"[-0-9.;<>a-z ]{0,12};Joules;power/energy-pkg/;.*"))
def test_any_output_of_perf_is_survived(text: str) -> None:
    joules, problems = read_joules(text)
    assert not set(joules) & set(problems)
    assert all(math.isfinite(value) and value >= 0 for value in joules.values())


FILES = ("events/energy-pkg", "events/energy-ram", "cpumask")


@settings(max_examples=40)
@given(st.sampled_from(FILES), st.binary(max_size=30) | st.none())
def test_any_content_of_the_files_is_survived(name: str, data: bytes | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = power_pmu_tree(Path(folder), ("energy-pkg", "energy-ram"))
        path = event_file(root, "").parent.parent / name
        path.unlink() if data is None else path.write_bytes(data)
        pmu = find_power_pmu(root)
    assert set(pmu.events) | set(pmu.unavailable) == set(EVENTS)
    assert not set(pmu.events) & set(pmu.unavailable)
    assert all(pmu.events[domain] == f"power/{EVENTS[domain]}/" for domain in pmu.events)


@pytest.mark.parametrize(
    ("paranoid", "admin", "perfmon", "allowed"),
    [
        (2, False, False, False),
        (1, False, False, False),
        (0, False, False, True),
        (-1, False, False, True),
        (2, False, True, True),
        (2, True, False, True),
        # Debian's level 3 lets nobody count who is not an administrator.
        (3, False, True, False),
        (3, True, False, True),
    ],
)
def test_who_may_count_whole_cpus(paranoid: int, admin: bool, perfmon: bool, allowed: bool) -> None:
    reason = permission_problem(PerfPermission(paranoid, admin, perfmon))
    assert (reason == "") == allowed
    if not allowed:
        assert f"is {paranoid}); as root: sysctl kernel.perf_event_paranoid=0" in reason
