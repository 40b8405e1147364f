"""pinstudy on an arm64 node with big and LITTLE cores, with a kernel of that architecture."""

from __future__ import annotations

import json
import re
import signal
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.tools import ROOT
from tests.vnode.conftest import Guests
from vnode.arm import BigLittle
from vnode.commands import (
    ENVIRONMENT,
    RESULTS,
    decided_runs,
    journal_exists,
    packed_results,
    read_on_host,
    records,
    study,
    until,
)
from vnode.node import KEPT, Ended, VirtualNode

pytestmark = pytest.mark.vnode

CPUFREQ = "/sys/devices/system/cpu/cpufreq"
# Pure-Python packages of this host's environment serve that architecture's Python as well; those
# with a compiled part come first, from a folder of their own.
PYTHON = {"PYTHONPATH": f"{ROOT}:{ROOT}/build/vnode-arm/python:{sysconfig.get_path('purelib')}"}
COMMAND = ("python3", "-m", "pinstudy")
_AS_AFTER_A_BOOT = f"""
rm -rf {KEPT}/[!l]*
for cpu in /sys/devices/system/cpu/cpu[1-9]*/online; do echo 1 >$cpu; done
for policy in {CPUFREQ}/policy*; do echo schedutil >$policy/scaling_governor; done
"""


@pytest.fixture
def node(guests: Guests) -> VirtualNode:
    """Give the guest with two cores of each kind, its settings as after a boot."""
    node = guests.get(BigLittle())
    node.shell(_AS_AFTER_A_BOOT)
    return node


def pinstudy(node: VirtualNode, *arguments: str) -> Ended:
    return node.run(*COMMAND, *arguments, cwd=KEPT, env=ENVIRONMENT | PYTHON)


def start_study(node: VirtualNode, name: str) -> int:
    return node.start(*COMMAND, *study(name), cwd=KEPT, env=ENVIRONMENT | PYTHON)


def governors(node: VirtualNode) -> list[str]:
    return node.shell(f"cat {CPUFREQ}/policy*/scaling_governor").split()


def vary_governors(node: VirtualNode) -> None:
    """Give the two clusters governors that differ from the boot's and from each other's."""
    node.shell(
        f"echo performance >{CPUFREQ}/policy0/scaling_governor;"
        f"echo powersave >{CPUFREQ}/policy2/scaling_governor"
    )


@dataclass(frozen=True)
class ArmCases:
    """One study of all cases: its end and its results.

    `frequencies` are those of the clocks during the study, in kHz; `packed` is a tar file of its
    results.
    """

    ended: Ended
    governors: list[str]
    frequencies: set[str]
    runs: list[dict[str, Any]]
    packed: bytes


@pytest.fixture(scope="module")
def cache() -> list[ArmCases]:
    """Give a list for the study, which takes minutes, so that the tests share it."""
    return []


def arm_cases(node: VirtualNode, cache: list[ArmCases]) -> ArmCases:
    """Return the study; the first test that needs it runs it."""
    if not cache:
        vary_governors(node)
        # The frequencies of the clocks, which cpufreq-dt reads, not those that it has set.
        watcher = node.start(
            *("bash", "-c", 'while :; do cat "$@"; sleep 0.2; done >/tmp/seen', "bash"),
            *(f"{CPUFREQ}/policy{number}/cpuinfo_cur_freq" for number in (0, 2)),
        )
        ended = pinstudy(node, *study("arm-cases"))
        node.kill(watcher, signal.SIGKILL)
        node.wait(watcher)
        frequencies = set(node.shell("cat /tmp/seen").split())
        packed = packed_results(node, "arm-cases")
        runs = records(node, "arm-cases")
        cache.append(ArmCases(ended, governors(node), frequencies, runs, packed))
    return cache[0]


def test_big_and_little_cores_are_found_and_ranked_by_capacity(node: VirtualNode) -> None:
    ended = pinstudy(node, "topology", "--json")

    assert ended.status == 0, ended
    kinds = json.loads(ended.output)["kinds"]
    assert [(kind["name"], kind["cpus"]) for kind in kinds] == [("P", "0-1"), ("E", "2-3")]
    # The kernel's capacity of a LITTLE core: 500 of 1024 per MHz, at 1.8 of 2.8 GHz.
    for kind, core, capacity in ((kinds[0], "a76", 1024), (kinds[1], "a55", 321)):
        assert f"/sys/devices/armv8_cortex_{core}/cpus" in kind["evidence"]
        assert f"cpu_capacity {capacity}" in kind["evidence"]


def test_a_little_core_that_is_offline_is_in_no_kind(node: VirtualNode) -> None:
    node.shell("echo 0 >/sys/devices/system/cpu/cpu3/online")

    ended = pinstudy(node, "topology", "--json")

    kinds = json.loads(ended.output)["kinds"]
    assert [(kind["name"], kind["cpus"]) for kind in kinds] == [("P", "0-1"), ("E", "2")]


def test_the_doctor_says_what_this_node_has_and_why_it_lacks_the_rest(node: VirtualNode) -> None:
    ended = pinstudy(node, "doctor", "--json")

    capabilities = {each["name"]: each for each in json.loads(ended.output)}
    for name in ("core-kinds", "cpus", "perf", "migrations", "governor", "libgomp", "taskset"):
        assert capabilities[name]["state"] == "ok", capabilities[name]
    for core in ("a55", "a76"):
        counters = capabilities[f"hardware-counters:armv8_cortex_{core}"]
        assert counters["state"] == "limited"
        assert "does not have instructions, cache-misses" in counters["why"]
    for name, where in (("energy:powercap", "/sys/class/powercap"), ("energy:perf", "power PMU")):
        assert capabilities[name]["state"] == "missing"
        assert where in json.dumps(capabilities[name])


def test_a_study_switches_both_clusters_and_leaves_them_as_they_were(
    node: VirtualNode, cache: list[ArmCases]
) -> None:
    result = arm_cases(node, cache)

    assert result.ended.status == 0, result.ended
    assert result.governors == ["performance", "powersave"]
    # 2.8 and 0.6 GHz were theirs before: the other two are the study's.
    assert result.frequencies == {"2800000", "1000000", "1800000", "600000"}
    assert sorted(run["case_number"] for run in result.runs) == [1, 2, 3, 4, 5, 6]
    for run in result.runs:
        assert run["status"] == "ok", run
        assert run["governor_read"] == run["governor"]
        assert run["driver"] == "cpufreq-dt"
        assert run["node"] == "virtual"


def test_threads_are_proved_to_be_where_the_mapping_puts_them(node: VirtualNode) -> None:
    runs = decided_runs(node, "arm-team", pinstudy)

    pinned = {"pcores-pin": {"0", "1"}, "ecores-pin": {"2", "3"}, "unpinned": {"0-3"}}
    assert {run["mapping"] for run in runs.values()} == set(pinned)
    for run in runs.values():
        assert run["placement"]["verdict"] == "proved", run["placement"]
        allowed = {thread["allowed"] for thread in run["placement"]["threads"]}
        assert allowed == pinned[run["mapping"]], run["placement"]


def test_cycles_are_counted_by_each_pmu_and_what_none_has_is_absent(
    node: VirtualNode, cache: list[ArmCases]
) -> None:
    residency = {"pcores-pin": {"P": 1, "E": 0}, "ecores-pin": {"P": 0, "E": 1}}
    counted = [run for run in arm_cases(node, cache).runs if "cycles" in run]
    # If the host stalls an emulated CPU, its counters miss a part of a short run.
    for run in arm_cases(node, cache).runs:
        assert run in counted or run["unavailable"]["cycles"].endswith("ask for fewer events"), run
    assert len(counted) >= 4
    # The trap: perf 6.1 opens a plain `cycles` on one of the two PMUs only.
    for run in counted:
        cycles = {
            count["pmu"]: count["value"] for count in run["counters"] if count["event"] == "cycles"
        }
        assert run["cycles"] == sum(cycles.values()) > 0, run
        assert sum(run["residency"].values()) == pytest.approx(1, abs=0.03)
        if run["mapping"] in residency:
            assert run["residency"] == pytest.approx(residency[run["mapping"]], abs=0.01)
        # QEMU counts cycles at 1 GHz, whatever cpufreq is set to.
        assert run["freq_mean_ghz"] == pytest.approx(1, rel=0.05)
        # Without `-icount` QEMU's PMU counts no instructions.
        for field in ("instructions", "cache_misses"):
            assert field not in run, (field, run)
            assert "not supported by this node" in run["unavailable"][field]


def test_after_a_kill_the_next_command_puts_both_clusters_back(node: VirtualNode) -> None:
    vary_governors(node)
    killed = start_study(node, "arm-cases")
    until(node, lambda: journal_exists(node) and len(records(node, "arm-cases")) >= 2)

    node.kill(killed, signal.SIGKILL)
    node.wait(killed)
    assert journal_exists(node)
    assert pinstudy(node, "mappings").status == 0

    assert governors(node) == ["performance", "powersave"]
    assert not journal_exists(node)


def test_tables_are_made_elsewhere_where_the_node_has_no_pandas(
    node: VirtualNode, cache: list[ArmCases], tmp_path: Path
) -> None:
    cases = arm_cases(node, cache)
    assert f"pinstudy tables {RESULTS}/arm-cases/vnode-arm" in cases.ended.errors

    tables = read_on_host(cases.packed, tmp_path, "tables", "--all")

    assert "numbers of a virtual node's model, not of hardware" in tables
    # A row's number, mapping, governor; count, lost, time; one run has no deviation; frequency,
    # which is absent where the host stalled an emulated CPU.
    row = (
        r"^ *\d  (\S+) +(\w+) \(cpufreq-dt\) "
        r"+1 +[01] +\d+\.\d+ +n/a \(a\) +(?:\d\.\d+|n/a \(\w\)) "
    )
    rows = re.findall(row, tables, re.MULTILINE)
    mappings = ("unpinned", "pcores-pin", "ecores-pin")
    assert rows == [
        (mapping, governor) for governor in ("performance", "powersave") for mapping in mappings
    ], tables
