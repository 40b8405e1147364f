"""perf gets only events that the node allows, and no options from a study."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import UserError
from configs.event import event_problem
from runners.measure.perf.events import (
    DEFAULT_EVENTS,
    PerfPermission,
    event_list,
    parse_perf_version,
    perf_command,
    read_permission,
    too_many_events,
)
from runners.measure.perf.stat import PerfStat
from runners.records.perf.output import parse_perf_output
from tests.runners.fake_commands import install
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
def test_a_studys_events_come_after_the_defaults(
    requested: list[str], user_only: bool, events: str
) -> None:
    assert event_list(requested, user_only) == events


def test_an_event_that_has_names_on_each_pmu_is_asked_for_by_them() -> None:
    by_pmu = {"cycles": ("armv8_big/cpu_cycles/", "armv8_little/cpu_cycles/")}
    assert event_list(["cycles"], True, by_pmu) == IN_USER_MODE.replace(
        "cycles:u", "armv8_big/cpu_cycles/u,armv8_little/cpu_cycles/u"
    )


@pytest.mark.parametrize(
    "name",
    [
        "branch-misses",
        "L1-dcache-load-misses:u",
        "mem_load_retired.l3_miss",
        "sched:sched_switch",
        "cpu_core/event=0x3c,umask=0x0,name=x/",
        "r1a8",
    ],
)
def test_names_of_perf_list_are_events(name: str) -> None:
    assert event_problem(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        "-o",
        "--control=fd:1",
        "cycles,instructions",
        "{cycles,instructions}",
        "cycles instructions",
        "cycles\n",
        "/etc/passwd",
        "../evil.o",
        "evil.c",
        "$(true)",
        "x" * 1000,
    ],
)
def test_anything_else_is_refused(name: str) -> None:
    assert "is not an event" in str(event_problem(name))
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
        ("", None),
    ],
)
def test_versions_of_distributions_are_read(text: str, version: tuple[int, int] | None) -> None:
    assert parse_perf_version(text) == version


@pytest.mark.parametrize(
    ("paranoid", "capabilities", "expected"),
    [
        ("2", "000001ffffffffff", (False, False)),
        ("2", "0000000000000000", (False, True)),
        ("1", "0000000000000000", (False, False)),
        ("-1", "0000000000000000", (False, False)),
        ("2", "0000004000000000", (False, False)),  # CAP_PERFMON
        ("3", "0000004000000000", (True, False)),  # not enough for Debian's level 3
        ("4", "0000000000000000", (True, True)),
        ("3", "0000000000200000", (False, False)),  # CAP_SYS_ADMIN
        ("", "000001ffffffffff", (True, False)),
    ],
)
def test_permission_follows_the_paranoid_level_and_capabilities(
    tmp_path: Path, paranoid: str, capabilities: str, expected: tuple[bool, bool]
) -> None:
    write(tmp_path, "proc/sys/kernel/perf_event_paranoid", paranoid)
    write(tmp_path, "proc/self/status", f"Name:\tx\nCapEff:\t{capabilities}")
    permission = read_permission(tmp_path)
    assert (permission.forbidden, permission.user_only) == expected


def test_a_kernel_without_perf_events_forbids_all(tmp_path: Path) -> None:
    assert read_permission(tmp_path) == PerfPermission(None, False, False)
    assert read_permission(tmp_path).forbidden


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
