"""Joules by perf's PMUs: `power` of whole packages, `power_core` of each core for its core kind."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pinstudy.base.reading import Reading, Unavailable
from pinstudy.runners.measure.energy.cores import (
    CoreCounters,
    CoreMeter,
    find_core_counters,
    kind_fields,
    read_core_joules,
    try_cores,
)
from pinstudy.runners.measure.energy.perf import (
    PerfMeter,
    PowerPmu,
    find_power_pmu,
    permission_problem,
    read_joules,
)
from pinstudy.runners.measure.perf.events import PerfPermission, perf_command, read_permission
from pinstudy.runners.measure.perf.stat import PerfStat
from pinstudy.runners.node.discovery import read_topology
from pinstudy.runners.records.energy import PERF_EVENTS
from pinstudy.runners.records.perf.output import parse_perf_output
from tests.runners.fake_commands import install
from tests.runners.power_pmu_trees import (
    NO_CAPABILITIES,
    add_core_pmu,
    core_row,
    event_file,
    install_failing_perf,
    install_perf,
    joules_row,
    power_pmu_tree,
    set_permission,
)
from tests.support.ordinary_user import open_folder, ordinary_user
from tests.support.processes import wait_until_gone
from tests.support.tools import ROOT, missing, need_tool
from tests.support.trees import build_tree, write

PMU = PowerPmu(
    {"package": "power/energy-pkg/", "uncore": "power/energy-gpu/"},
    (0,),
    dict.fromkeys(("core", "dram", "psys"), "not here"),
)
CPU = min(os.sched_getaffinity(0))
DIES = {0: 0, 8: 0, 16: 1, 24: 1}
CORE_MASK = "sys/bus/event_source/devices/power_core/cpumask"
# A Ryzen AI 9 HX 370: CPU n and n + 12 are siblings, cores 0 to 3 are Zen 5, the others Zen 5c.
FIRST_CPUS = "0-11"
TWO_KINDS = CoreCounters("power_core/energy-core/", {"P": (0, 1), "E": (2, 3)})


def around(meter: PerfMeter | CoreMeter) -> Reading:
    meter.start()
    meter.stop()
    return meter.reading()


def test_the_energy_between_start_and_stop_is_the_run_s(tmp_path: Path) -> None:
    moments = iter([100.0, 102.5])
    # The first row's figures are from a public recording (see tests/data/perf).
    package = "475.42;Joules;power/energy-pkg/;20005659301;100.00;;"
    perf = install_perf(tmp_path, package, joules_row("energy-gpu", "0"))
    reading = around(PerfMeter(perf, PMU, lambda: next(moments)))
    fields = {"energy_pkg_j": 475.42, "energy_uncore_j": 0.0, "energy_window_s": 2.5}
    assert reading.fields == fields | {"energy_source": "perf"}
    absent = ("energy_core_j", "energy_dram_j", "energy_psys_j")
    assert reading.unavailable == dict.fromkeys(absent, "not here")


def test_a_package_that_used_nothing_is_not_believed(tmp_path: Path) -> None:
    reading = around(PerfMeter(install_perf(tmp_path, joules_row("energy-pkg", "0.00")), PMU))
    assert "did not move" in reading.unavailable["energy_pkg_j"]
    assert reading.unavailable["energy_uncore_j"] == "perf printed no value of power/energy-gpu/"


def test_a_meter_starts_anew_for_every_run_and_may_fail(tmp_path: Path) -> None:
    meter = PerfMeter(install_perf(tmp_path, joules_row("energy-pkg", "2.0")), PMU)
    meter.start()  # this run is interrupted
    assert around(meter).fields["energy_pkg_j"] == 2.0
    install_failing_perf(tmp_path, "Operation not permitted")
    reading = around(meter)
    assert reading.fields == {}
    assert "could not attach: Operation not permitted" in reading.unavailable["energy_pkg_j"]
    assert "could not attach" in meter.problems()["package"]
    reading = around(PerfMeter(str(tmp_path / "none"), PMU))
    assert "No such file" in reading.unavailable["energy_pkg_j"]


def real_perf() -> str:
    perf = need_tool("perf")
    if problem := permission_problem(read_permission(Path("/"))):
        missing(problem)
    return perf


def test_real_perf_counts_a_cpu_only_while_it_is_told_to() -> None:
    perf = real_perf()
    before = time.monotonic()
    perf_stat = PerfStat(perf_command(perf, "cpu-clock"), ("-C", str(CPU)), cat=True)
    try:
        assert perf_stat.problem == ""
        began = time.monotonic()
        time.sleep(0.2)
        at_least_s = time.monotonic() - began
        perf_stat.disable()
        at_most_s = time.monotonic() - before
        # Longer than what the start of perf has added to the upper bound.
        time.sleep(at_most_s - at_least_s + 0.3)
        (row,) = parse_perf_output(perf_stat.finish()).rows
    finally:
        perf_stat.close()
    # Milliseconds; the clock of a whole CPU runs whether the CPU works or not.
    assert row.event == "cpu-clock" and row.value is not None
    assert 1e3 * at_least_s - 1 <= row.value <= 1e3 * at_most_s + 1


def test_real_perf_ends_with_whoever_started_it() -> None:
    code = (
        "import sys, time\n"
        "from pinstudy.runners.measure.perf.events import perf_command\n"
        "from pinstudy.runners.measure.perf.stat import PerfStat\n"
        f"command = perf_command({real_perf()!r}, 'cpu-clock')\n"
        f"stat = PerfStat(command, ('-C', '{CPU}'), cat=True)\n"
        "print(stat._process.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as starter:
        assert starter.stdout
        perf = Path("/proc") / starter.stdout.readline().strip()
        assert "cpu-clock" in (perf / "cmdline").read_text()
        starter.send_signal(signal.SIGKILL)
    wait_until_gone([int(perf.name)])


def test_the_commands_are_system_wide_by_cpu_and_begin_switched_off(tmp_path: Path) -> None:
    install(tmp_path, "perf", 'echo "$*" >&2; exit 255')
    perf, root = str(tmp_path / "perf"), zen(tmp_path / "node")
    packages = PowerPmu({"package": "power/energy-pkg/", "dram": "power/energy-ram/"}, (0, 16))
    power, cores = PerfMeter(perf, packages), CoreMeter(perf, root, read_topology(root))
    around(power)
    around(cores)
    for problem, form, events, cpus in (
        (power.problems()["package"], "-x ;", "power/energy-pkg/,power/energy-ram/", "0,16"),
        (cores.problem(), "-j -A", "power_core/energy-core/", "0-11"),
    ):
        assert re.fullmatch(
            rf"perf could not attach: stat {form} -o /proc/self/fd/\d+ -e {events} "
            rf"-D -1 --control fd:\d+,\d+ -C {cpus} -- cat",
            problem,
        )


def test_domains_are_the_events_that_are_there(tmp_path: Path) -> None:
    pmu = find_power_pmu(power_pmu_tree(tmp_path))
    names = {"package": "pkg", "core": "cores", "uncore": "gpu", "psys": "psys"}
    assert pmu.events == {domain: f"power/energy-{name}/" for domain, name in names.items()}
    assert pmu.unavailable == {"dram": "the power PMU has no energy-ram"}
    assert pmu.cpus == (0,)


@pytest.mark.parametrize(
    ("vendor", "cpus", "dies", "counted"),
    [
        ("GenuineIntel", "0,8,16,24", DIES, (0, 8, 16, 24)),
        # Dies of others repeat their package.
        ("AuthenticAMD", "0,8,16,24", DIES, (0, 16)),
        ("SomeoneElse", "0,8,16,24", DIES, (0, 16)),
        # One counter needs no topology.
        ("AuthenticAMD", "0", None, (0,)),
        # Packages that cannot be told apart.
        (
            "AuthenticAMD",
            "0,8",
            {0: 0},
            "cpu8/topology/physical_package_id is missing: one package",
        ),
        *[("GenuineIntel", mask, None, "power/cpumask") for mask in ("", "none", "-1", "0-")],
        ("GenuineIntel", "99999999999", None, "power/cpumask"),
    ],
)
def test_dies_that_repeat_their_package_are_counted_once(
    tmp_path: Path,
    vendor: str,
    cpus: str,
    dies: dict[int, int] | None,
    counted: tuple[int, ...] | str,
) -> None:
    pmu = find_power_pmu(power_pmu_tree(tmp_path, ("energy-pkg",), cpus, vendor, dies))
    if isinstance(counted, str):
        assert pmu.events == {}
        assert counted in pmu.unavailable["package"]
    else:
        assert pmu.cpus == counted


@pytest.mark.parametrize("text", ["", "energy", "event=2", "event=0x02,x=1", None])
def test_an_event_that_perf_would_refuse_or_nobody_may_read_is_left_out(text: str | None) -> None:
    with open_folder() as folder:
        root = add_core_pmu(power_pmu_tree(build_tree(folder, "hx370")), FIRST_CPUS)
        files = event_file(root, "energy-psys"), event_file(root, "energy-core", "power_core")
        for file in files:
            file.chmod(0) if text is None else file.write_text(text)
        with ordinary_user():
            pmu, cores = find_power_pmu(root), find_core_counters(root, read_topology(root))
    assert "package" in pmu.events and "psys" not in pmu.events
    assert isinstance(cores, Unavailable)
    for file, why in zip(files, (pmu.unavailable["psys"], cores.reason), strict=True):
        assert f"events/{file.name}" in why
        assert ("no permission" in why) is (text is None)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("<not supported>;Joules;power/energy-pkg/;0;100.00;;", "energy-pkg is not supported"),
        ("2041842;;power/energy-pkg/;2500000000;100.00;;", "not a sum of Joules"),
        ("-3.5;Joules;power/energy-pkg/;2500000000;100.00;;", "not a sum of Joules"),
        ("S0;1;3.5;Joules;power/energy-pkg/;2500000000;100.00;;", "not a sum of Joules"),
    ],
)
def test_a_row_that_is_no_energy_is_a_reason(row: str, reason: str) -> None:
    joules, problems = read_joules(row)
    assert joules == {}
    assert reason in problems["package"]


@given(st.text(max_size=200) | st.from_regex(r"CPU[0-9]{0,9};[-0-9.<>a-z ]{0,12};Joules;p.*"))
def test_any_output_of_perf_is_survived(text: str) -> None:
    joules, problems = read_core_joules(text)
    assert not set(joules) & set(problems)
    assert all(math.isfinite(value) and value >= 0 for value in joules.values())
    counted = CoreCounters("power_core/energy-core/", {"P": (0,)})
    reading = kind_fields(counted, joules, problems, 1.0)
    assert ("energy_by_kind_j" in reading.fields) != ("energy_by_kind_j" in reading.unavailable)


FILES = (
    "power/events/energy-pkg",
    "power/cpumask",
    "power_core/events/energy-core",
    "power_core/cpumask",
)


@settings(max_examples=40)
@given(st.sampled_from(FILES), st.binary(max_size=30) | st.none())
def test_any_content_of_the_files_is_survived(both: Path, name: str, data: bytes | None) -> None:
    path = both / "sys/bus/event_source/devices" / name
    content = path.read_bytes()
    path.unlink() if data is None else path.write_bytes(data)
    try:
        pmu, cores = find_power_pmu(both), find_core_counters(both, read_topology(both))
    finally:
        path.write_bytes(content)
    assert set(pmu.events) | set(pmu.unavailable) == set(PERF_EVENTS)
    assert not set(pmu.events) & set(pmu.unavailable)
    assert all(pmu.events[domain] == f"power/{PERF_EVENTS[domain]}/" for domain in pmu.events)
    if isinstance(cores, CoreCounters):
        assert cores.event == "power_core/energy-core/"
        counted = [cpu for cpus in cores.cpus.values() for cpu in cpus]
        assert len(set(counted)) == len(counted)
        assert cores.cpus.keys() | cores.unavailable.keys() == {"P", "E"}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree with both PMUs for many examples, each of which puts back the file that it spoils."""
    root = build_tree(tmp_path_factory.mktemp("shared"), "hx370")
    cpuinfo = (root / "proc/cpuinfo").read_text()
    add_core_pmu(power_pmu_tree(root), FIRST_CPUS)
    write(root, "proc/cpuinfo", cpuinfo)
    return root


@pytest.mark.parametrize(
    ("paranoid", "admin", "perfmon", "allowed"),
    [
        (1, False, False, False),
        (0, False, False, True),
        (2, False, True, True),
        (2, True, False, True),
        # Debian's level 3 lets nobody count who is not an administrator.
        (3, False, True, False),
        (3, True, False, True),
    ],
)
def test_who_may_count_whole_cpus(paranoid: int, admin: bool, perfmon: bool, allowed: bool) -> None:
    reason = permission_problem(PerfPermission(paranoid, admin, perfmon))
    told = f"is {paranoid}); as root: sysctl kernel.perf_event_paranoid=0" in reason
    assert (reason == "", told) == (allowed, not allowed)
    no_events = PerfPermission(None, admin, perfmon)
    assert permission_problem(no_events) == "this kernel has no performance events"


def zen(folder: Path, cpumask: str = FIRST_CPUS) -> Path:
    return add_core_pmu(build_tree(folder, "hx370"), cpumask)


def one_joule_each(folder: Path) -> str:
    return install_perf(folder, *(core_row(cpu, "1.000000") for cpu in range(12)))


def test_the_cores_of_each_kind_are_added_up(tmp_path: Path) -> None:
    # Zen 5 cores take 4 J each, Zen 5c cores 1.5 J each, one of them nothing: it slept.
    rows = [core_row(cpu, "4.000000") for cpu in range(4)]
    rows += [core_row(cpu, "1.500000") for cpu in range(4, 11)] + [core_row(11, "0.000000")]
    moments = iter([100.0, 102.5])
    root = zen(tmp_path / "node")
    perf = install_perf(tmp_path, *rows)
    reading = around(CoreMeter(perf, root, read_topology(root), lambda: next(moments)))
    by_kind = {"P": 16.0, "E": 10.5}
    assert reading == Reading({"energy_by_kind_j": by_kind, "energy_by_kind_window_s": 2.5})


@pytest.mark.parametrize(
    ("machine", "cpumask", "found"),
    [
        # The kernel may name either sibling.
        ("hx370", "0-1,3-11,14", {"P": (0, 1, 14, 3), "E": tuple(range(4, 12))}),
        *[
            ("hx370", mask, "power_core/cpumask")
            for mask in ("", "none", "-1", "0-", "99999999999")
        ],
        ("hx370", "30-31", "the core of CPUs 0,12 has no CPU in "),
        # Without the PMU the reason depends on the processor.
        ("i9-14900k", None, "no power_core PMU here: Intel counts no core alone"),
        ("hx370", None, "AMD's cores have a counter each; Linux shows them from 6.14 on"),
        ("gb10", None, "no counter of single cores is known on this processor"),
    ],
)
def test_each_core_is_counted_on_the_one_cpu_that_the_mask_has_of_it(
    tmp_path: Path, machine: str, cpumask: str | None, found: dict[str, tuple[int, ...]] | str
) -> None:
    root = build_tree(tmp_path, machine)
    if cpumask is not None:
        add_core_pmu(root, cpumask)
    counters = find_core_counters(root, read_topology(root))
    if isinstance(found, str):
        assert isinstance(counters, Unavailable)
        assert found in counters.reason
    else:
        assert isinstance(counters, CoreCounters)
        assert (counters.event, counters.cpus) == ("power_core/energy-core/", found)


@pytest.mark.parametrize(
    ("mask", "why"),
    [
        ("0-10", "the core of CPUs 11,23 has no CPU in "),
        ("0-11,16", "the core of CPUs 4,16 has several CPUs in "),
    ],
)
def test_a_kind_with_a_core_that_cannot_be_counted_once_has_no_sum(
    tmp_path: Path, mask: str, why: str
) -> None:
    root = zen(tmp_path / "node")
    meter = CoreMeter(one_joule_each(tmp_path), root, read_topology(root))
    assert around(meter).fields["energy_by_kind_j"] == {"P": 4.0, "E": 8.0}
    # A core may go offline between runs.
    write(root, CORE_MASK, mask)
    reading = around(meter)
    assert reading.fields["energy_by_kind_j"] == {"P": 4.0}
    assert reading.unavailable.keys() == {"energy_by_kind_j.E"}
    assert reading.unavailable["energy_by_kind_j.E"].startswith(why)


def test_while_cores_may_be_offline_no_kind_has_a_sum(tmp_path: Path) -> None:
    root = add_core_pmu(build_tree(tmp_path, "synthetic-forest"), "0-8")
    assert find_core_counters(root, read_topology(root)) == Unavailable(
        "CPUs are offline (9-11): the energy of their cores cannot be read; put them online"
    )
    # Siblings that are off are no cores of their own.
    write(root, "sys/devices/system/cpu/smt/control", "off")
    found = find_core_counters(root, read_topology(root))
    assert isinstance(found, CoreCounters)
    assert found.cpus == {"P": tuple(range(9))}


NONE = "perf printed no value of energy-core of CPU"


@pytest.mark.parametrize(
    ("joules", "by_kind", "reasons"),
    [
        # A kind that slept all the time used nothing.
        (["3.25", "1.0", "0.000000", "0.000000"], {"P": 4.25, "E": 0.0}, {}),
        (
            ["1.0", "1.0", "1.0", "<not supported>"],
            {"P": 2.0},
            {"energy_by_kind_j.E": "energy-core of CPU 3 is not supported"},
        ),
        (["1.0"], None, {"energy_by_kind_j": f"{NONE} 1; {NONE} 2"}),
    ],
)
def test_a_core_of_which_perf_tells_nothing_leaves_its_kind_without_a_sum(
    joules: list[str], by_kind: dict[str, float] | None, reasons: dict[str, str]
) -> None:
    text = "\n".join(core_row(cpu, value) for cpu, value in enumerate(joules))
    reading = kind_fields(TWO_KINDS, *read_core_joules(text), 1.0)
    assert reading.fields.get("energy_by_kind_j") == by_kind
    assert reading.unavailable == reasons


def test_counters_of_which_none_moved_measured_nothing() -> None:
    still = "\n".join(core_row(cpu, "0.000000") for cpu in range(4))
    reading = kind_fields(TWO_KINDS, *read_core_joules(still), 0.001)
    assert reading.fields == {}
    why = "no core's energy counter moved in 0.001 s"
    assert reading.unavailable["energy_by_kind_j"].startswith(why)


NO_NUMBER = "what perf printed of energy-core of CPU 0 is no number of Joules"


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        (core_row(0, "-1.5"), ({}, {0: NO_NUMBER})),
        (core_row(0, "7.0").replace("Joules", ""), ({}, {0: NO_NUMBER})),
        (f"{core_row(0, '1.0')}\n" * 2, ({}, {0: "perf printed energy-core of CPU 0 twice"})),
        # Versions that name CPUs otherwise.
        ("CPU5;1.25;Joules;power_core/energy-core/;2109691270;100.00;;", ({5: 1.25}, {})),
    ],
)
def test_rows_of_cores_are_read_and_what_is_no_energy_is_a_reason(
    rows: str, found: tuple[dict[int, float], dict[int, str]]
) -> None:
    assert read_core_joules(rows) == found


def test_cores_are_tried_and_why_they_cannot_be_counted_is_told(tmp_path: Path) -> None:
    root = zen(tmp_path / "node")
    topology = read_topology(root)

    def why(perf: str | None) -> str:
        found = try_cores(root, perf, topology)
        return found.reason if isinstance(found, Unavailable) else ""

    assert why(None).startswith("not installed")
    failing = install_failing_perf(tmp_path, "no such PMU")
    assert why(failing) == "perf could not attach: no such PMU"
    assert why(install_perf(tmp_path)) == "perf printed no value of energy-core"
    rows = [core_row(cpu, "<not supported>") for cpu in range(12)]
    assert why(install_perf(tmp_path, *rows)) == "energy-core of CPU 0 is not supported"
    # A perf that may not count whole CPUs.
    set_permission(root, "2", NO_CAPABILITIES)
    denied = install_failing_perf(tmp_path, "Operation not permitted")
    assert why(denied).endswith("as root: sysctl kernel.perf_event_paranoid=0")
    works = install_perf(tmp_path, *(core_row(cpu, "0.0") for cpu in range(12)))
    assert isinstance(try_cores(root, works, topology), CoreMeter)
