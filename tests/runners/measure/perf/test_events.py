"""perf gets only events that the node allows; its core PMUs are laid over the core kinds."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.base.cpulist import parse_cpulist
from pinstudy.base.errors import UserError
from pinstudy.configs.event import event_problem
from pinstudy.runners.measure.perf.events import (
    DEFAULT_EVENTS,
    PerfPermission,
    event_list,
    events_by_pmu,
    kinds_of_pmus,
    parse_perf_version,
    perf_command,
    read_core_pmus,
    read_permission,
    too_many_events,
    unsupported_reason,
)
from pinstudy.runners.measure.perf.stat import PerfStat
from pinstudy.runners.records.perf.output import parse_perf_output
from tests.runners.fake_commands import install
from tests.runners.topologies import core_ultra_7_164u, i9_14900k_without_smt
from tests.support.tools import need_tool
from tests.support.trees import write
from tests.support.wait import HANG_S

DEFAULTS = "task-clock,context-switches,cpu-migrations,page-faults,cycles,instructions,cache-misses"
IN_USER_MODE = DEFAULTS.replace(",", ":u,") + ":u"


def test_the_default_events_can_be_unscaled_and_need_one_programmable_counter() -> None:
    assert event_list() == DEFAULTS
    assert too_many_events([]) == ""


@pytest.mark.parametrize(
    ("requested", "user_only", "events"),
    [
        (["branch-misses", "cycles", "branch-misses"], False, f"{DEFAULTS},branch-misses"),
        (["cs", "cpu-cycles", "faults:u"], False, f"{DEFAULTS},faults:u"),
        (["branches:k", "cpu/x/", "cpu/y/k"], True, f"{IN_USER_MODE},branches:k,cpu/x/u,cpu/y/k"),
    ],
    ids=["once", "once under a short name", "in the mode that is asked for"],
)
def test_a_studys_events_come_last(requested: list[str], user_only: bool, events: str) -> None:
    assert event_list(requested, user_only) == events


def test_an_event_that_has_names_on_each_pmu_is_asked_for_by_them() -> None:
    by_pmu = {"cycles": ("armv8_big/cpu_cycles/", "armv8_little/cpu_cycles/")}
    assert event_list(["cycles"], True, by_pmu) == IN_USER_MODE.replace(
        "cycles:u", "armv8_big/cpu_cycles/u,armv8_little/cpu_cycles/u"
    )


@pytest.mark.parametrize(
    "name",
    [
        *("branch-misses", "L1-dcache-load-misses:u", "mem_load_retired.l3_miss", "r1a8"),
        *("sched:sched_switch", "cpu_core/event=0x3c,umask=0x0,name=x/"),
    ],
)
def test_names_of_perf_list_are_events(name: str) -> None:
    assert event_problem(name) is None


@pytest.mark.parametrize(
    "name",
    [
        *("", "-o", "--control=fd:1", "cycles,instructions", "{cycles,instructions}"),
        *("cycles instructions", "cycles\n", "/etc/passwd", "../evil.o", "evil.c", "$(true)"),
        "x" * 1000,
    ],
)
def test_anything_else_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="is not an event"):
        event_list([name])


@given(st.text(max_size=30))
def test_no_text_becomes_an_option_or_a_second_event(name: str) -> None:
    if not event_problem(name):
        assert not name.startswith("-")
        assert name.isprintable()
        assert name.count(",") == 0 or name.count("/") == 2


def test_more_events_than_e_cores_have_counters_for_is_said() -> None:
    wanted = ["branches", "branch-misses", "LLC-loads", "cache-references"]
    assert too_many_events([*wanted, "minor-faults", "cycles", "sched:sched_switch"]) == ""
    assert too_many_events([*wanted, "cs", "faults", "migrations", "cpu-cycles"]) == ""
    assert "6 events" in too_many_events([*wanted, "dTLB-load-misses"])


def test_the_command_attaches_with_counters_off(tmp_path: Path) -> None:
    install(tmp_path, "perf", 'echo "$*" >&2; exit 255')
    perf = PerfStat(perf_command(str(tmp_path / "perf"), "cycles"), ("-p", "42"))
    perf.close()
    assert re.fullmatch(
        r"perf could not attach: stat -x ; -o /proc/self/fd/\d+ -e cycles "
        r"-D -1 --control fd:\d+,\d+ -p 42",
        perf.problem,
    )


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("perf version 6.1.187\n", (6, 1)),
        ("perf version 4.18.0-553.el8.x86_64", (4, 18)),
        ("perf version 5.15.g8bb7eca972ad", (5, 15)),
        ("WARNING: perf not found for kernel 6.8.0-31\n\n  You may need to install", None),
    ],
)
def test_versions_of_distributions_are_read(text: str, version: tuple[int, int] | None) -> None:
    assert parse_perf_version(text) == version


@pytest.mark.parametrize(
    ("paranoid", "capabilities", "forbidden", "user_only"),
    [
        ("2", "000001ffffffffff", False, False),
        ("2", "0000000000000000", False, True),
        ("1", "0000000000000000", False, False),
        ("-1", "0000000000000000", False, False),
        ("2", "0000004000000000", False, False),  # CAP_PERFMON
        ("3", "0000004000000000", True, False),  # not enough for Debian's level 3
        ("4", "0000000000000000", True, True),
        ("3", "0000000000200000", False, False),  # CAP_SYS_ADMIN
        ("", "000001ffffffffff", True, False),
    ],
)
def test_permission_follows_the_paranoid_level_and_capabilities(
    tmp_path: Path, paranoid: str, capabilities: str, forbidden: bool, user_only: bool
) -> None:
    # A kernel without perf events forbids all.
    assert read_permission(tmp_path) == PerfPermission(None, False, False)
    assert read_permission(tmp_path).forbidden
    write(tmp_path, "proc/sys/kernel/perf_event_paranoid", paranoid)
    write(tmp_path, "proc/self/status", f"Name:\tx\nCapEff:\t{capabilities}")
    permission = read_permission(tmp_path)
    assert (permission.forbidden, permission.user_only) == (forbidden, user_only)


def test_a_real_perf_understands_the_command_and_counts_late_threads_and_children() -> None:
    perf = need_tool("perf")
    program = "import os, threading, time\nos.read(0, 1)\n" + (
        "def burn():\n t = time.thread_time()\n while time.thread_time() < t + 0.1: pass\n"
        "threads = [threading.Thread(target=burn) for _ in range(2)]\n"
        "[t.start() for t in threads]; [t.join() for t in threads]\n"
        "os.waitpid(os.fork() or (burn(), os._exit(0)), 0)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE) as child:
        counting = PerfStat(perf_command(perf, event_list()), ("-p", str(child.pid)))
        try:
            child.communicate(b"\n", timeout=HANG_S)
            rows = parse_perf_output(counting.finish())
        finally:
            counting.close()
    assert counting.problem == ""
    assert rows.unparsed == ()
    assert [row.event for row in rows.rows] == list(DEFAULT_EVENTS)
    assert rows.rows[0].run_ns > 0.29e9


EVENT_SOURCES = "sys/bus/event_source/devices"
ULTRA_PMUS = {"cpu_core": "0-3", "cpu_atom": "4-13"}
Devices = dict[str, str | None]


def tree(root: Path, cpus: Devices, cpuinfo: str = "") -> Path:
    for name, text in cpus.items():
        write(root, f"{EVENT_SOURCES}/{name}/type", 4)
        if text is not None:
            write(root, f"{EVENT_SOURCES}/{name}/cpus", text)
    write(root, "proc/cpuinfo", cpuinfo)
    return root


@pytest.mark.parametrize(
    ("devices", "pmus"),
    [
        (ULTRA_PMUS | {"uncore_imc_0": None}, {"cpu_core": range(4), "cpu_atom": range(4, 14)}),
        ({"cpu": None, "msr": None}, {"cpu": None}),
        # A kind whose cores are all disabled.
        ({"cpu_core": "0-7", "cpu_atom": ""}, {"cpu_core": range(8)}),
        ({"cpu_core": "not a list"}, {}),
        ({"cpu_core": "0-99999999"}, {}),
    ],
)
def test_pmus_with_a_list_of_cpus_and_the_one_named_cpu_are_core_pmus(
    tmp_path: Path, devices: Devices, pmus: dict[str, range | None]
) -> None:
    found = read_core_pmus(tree(tmp_path, devices))
    assert found == {name: cpus and tuple(cpus) for name, cpus in pmus.items()}


BIG_LITTLE: Devices = {"armv8_big": "2-3", "armv8_little": "0-1"}
CORES, ONE_ARM = "cpu_cycles inst_retired", {"armv8_pmuv3_0": "0-71", "nvidia_scf_pmu_0": None}


@pytest.mark.parametrize(
    ("devices", "listed", "by_pmu"),
    [
        (
            BIG_LITTLE,
            {"armv8_big": CORES, "armv8_little": "cpu_cycles stall_backend"},
            {
                "cycles": ("armv8_big/cpu_cycles/", "armv8_little/cpu_cycles/"),
                "instructions": ("armv8_big/inst_retired/",),
            },
        ),
        # Arm's only PMU is named where an interconnect has cycles, too.
        (BIG_LITTLE | {"armv8_big": ""}, {"armv8_little": "cpu_cycles"}, {}),
        (ONE_ARM, {"armv8_pmuv3_0": CORES}, {}),
        (
            ONE_ARM,
            {"armv8_pmuv3_0": CORES, "nvidia_scf_pmu_0": "cycles"},
            {"cycles": ("armv8_pmuv3_0/cpu_cycles/",)},
        ),
        # The one PMU of x86 for what it lists; those of Intel's hybrids perf itself splits.
        ({"cpu": None, "msr": None}, {}, {}),
        (
            {"cpu": None, "uncore_imc_0": None},
            {"cpu": "cpu-cycles instructions slots"},
            {"cycles": ("cpu/cpu-cycles/",), "instructions": ("cpu/instructions/",)},
        ),
        (ULTRA_PMUS | {"power": None}, {}, {}),
    ],
)
def test_events_are_asked_for_by_the_names_that_a_pmu_lists_where_they_must_be(
    tmp_path: Path, devices: Devices, listed: dict[str, str], by_pmu: dict[str, tuple[str, ...]]
) -> None:
    root = tree(tmp_path, devices)
    for pmu, names in listed.items():
        for name in names.split():
            write(root, f"{EVENT_SOURCES}/{pmu}/events/{name}", "event=0x11")
    assert events_by_pmu(root) == by_pmu


ALL_ULTRA = {name: parse_cpulist(cpus) for name, cpus in ULTRA_PMUS.items()}
ULTRA, I9 = core_ultra_7_164u().kinds, i9_14900k_without_smt().kinds


@pytest.mark.parametrize(
    ("allowed", "kinds"),
    [
        (None, {"cpu_core": ("P",), "cpu_atom": ("E", "LP-E")}),
        (range(4, 12), {"cpu_core": ("P",), "cpu_atom": ("E",)}),
        ([3, 13], {"cpu_core": ("P",), "cpu_atom": ("LP-E",)}),
    ],
)
def test_kinds_are_counted_together_where_a_program_may_use_both(
    allowed: Collection[int] | None, kinds: dict[str, tuple[str, ...]]
) -> None:
    assert kinds_of_pmus(ALL_ULTRA, ULTRA, allowed) == kinds
    # One PMU for all cores covers every kind.
    assert kinds_of_pmus({"cpu": None}, I9) == {"cpu": ("P", "E")}
    assert kinds_of_pmus({"cpu": None}, I9, [0, 1]) == {"cpu": ("P",)}


def test_why_a_node_has_no_hardware_events(tmp_path: Path) -> None:
    guest = "processor\t: 0\nflags\t\t: fpu hypervisor ssse3\n\nprocessor\t: 1\nflags\t\t: fpu\n"
    metal = guest.replace(" hypervisor", "")
    assert "virtual machine" in unsupported_reason(tree(tmp_path / "a", {}, guest))
    assert "no driver" in unsupported_reason(tree(tmp_path / "b", {}, metal))
    assert "this event" in unsupported_reason(tree(tmp_path / "c", {"cpu": None}, guest))
