"""Joules by core kind: each core's counter is read once, and added to those of its kind."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.reading import Unavailable
from runners.measure.energy.cores import (
    CoreCounters,
    CoreMeter,
    find_core_counters,
    kind_fields,
    read_core_joules,
    try_cores,
)
from runners.node.discovery import read_topology
from tests.runners.fake_commands import install
from tests.runners.power_pmu_trees import (
    NO_CAPABILITIES,
    add_core_pmu,
    core_row,
    event_file,
    install_failing_perf,
    install_perf,
    set_permission,
)
from tests.support.ordinary_user import open_folder, ordinary_user
from tests.support.trees import build_tree, write

PMU = "sys/bus/event_source/devices/power_core"
# A Ryzen AI 9 HX 370: CPU n and n + 12 are siblings, cores 0 to 3 are Zen 5, the others Zen 5c.
FIRST_CPUS = "0-11"


def zen(folder: Path, cpumask: str = FIRST_CPUS) -> Path:
    return add_core_pmu(build_tree(folder, "hx370"), cpumask)


def counters(root: Path) -> CoreCounters | Unavailable:
    return find_core_counters(root, read_topology(root))


def reason(root: Path) -> str:
    found = counters(root)
    assert isinstance(found, Unavailable)
    return found.reason


def measured(root: Path, perf: str) -> CoreMeter:
    moments = iter([100.0, 102.5])
    meter = CoreMeter(perf, root, read_topology(root), lambda: next(moments))
    meter.start()
    meter.stop()
    return meter


def test_the_cores_of_each_kind_are_added_up(tmp_path: Path) -> None:
    # Zen 5 cores take 4 J each, Zen 5c cores 1.5 J each, one of them nothing: it slept.
    rows = [core_row(cpu, "4.000000") for cpu in range(4)]
    rows += [core_row(cpu, "1.500000") for cpu in range(4, 11)] + [core_row(11, "0.000000")]
    reading = measured(zen(tmp_path / "node"), install_perf(tmp_path, *rows)).reading()

    assert reading.fields == {
        "energy_by_kind_j": {"P": 16.0, "E": 10.5},
        "energy_by_kind_window_s": 2.5,
    }
    assert reading.unavailable == {}


def test_each_core_is_counted_on_the_one_cpu_that_the_mask_has_of_it(tmp_path: Path) -> None:
    # The kernel may name either sibling.
    found = counters(zen(tmp_path, "0-1,3-11,14"))
    assert isinstance(found, CoreCounters)
    assert found.event == "power_core/energy-core/"
    assert found.cpus == {"P": (0, 1, 14, 3), "E": (4, 5, 6, 7, 8, 9, 10, 11)}


def test_the_command_is_system_wide_by_cpu_and_begins_switched_off(tmp_path: Path) -> None:
    install(tmp_path, "perf", 'echo "$*" >&2; exit 255')
    problem = measured(zen(tmp_path / "node"), str(tmp_path / "perf")).problem()
    assert re.fullmatch(
        r"perf could not attach: stat -j -A -o /proc/self/fd/\d+ -e power_core/energy-core/ "
        r"-D -1 --control fd:\d+,\d+ -C 0-11 -- cat",
        problem,
    )


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        ("i9-14900k", "Intel counts no core alone"),
        ("hx370", "AMD's cores have a counter each; Linux shows them from 6.14 on"),
        ("gb10", "no counter of single cores is known on this processor"),
    ],
)
def test_without_the_pmu_the_reason_depends_on_the_processor(
    tmp_path: Path, machine: str, said: str
) -> None:
    why = reason(build_tree(tmp_path, machine))
    assert why.startswith("no power_core PMU here: ")
    assert why.endswith(said)


def test_a_pmu_without_its_event_is_a_reason(tmp_path: Path) -> None:
    root = zen(tmp_path)
    event_file(root, "energy-core", "power_core").unlink()
    assert reason(root) == "the power_core PMU has no energy-core"


@pytest.mark.parametrize("text", ["", "energy", "event=1", "event=0x01,umask=1"])
def test_an_encoding_that_perf_would_refuse_is_a_reason(tmp_path: Path, text: str) -> None:
    root = zen(tmp_path)
    event_file(root, "energy-core", "power_core").write_text(text)
    assert "events/energy-core" in reason(root)


def test_an_encoding_that_nobody_may_read_is_a_reason() -> None:
    with open_folder() as folder:
        root = zen(folder)
        event_file(root, "energy-core", "power_core").chmod(0)
        with ordinary_user():
            assert "no permission" in reason(root)


@pytest.mark.parametrize("mask", ["", "none", "-1", "0-", "99999999999"])
def test_a_mask_that_names_no_cpu_is_a_reason(tmp_path: Path, mask: str) -> None:
    assert "power_core/cpumask" in reason(zen(tmp_path, mask))


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
    root = zen(tmp_path / "node", mask)
    rows = [core_row(cpu, "1.000000") for cpu in range(12)]
    reading = measured(root, install_perf(tmp_path, *rows)).reading()

    assert reading.fields["energy_by_kind_j"] == {"P": 4.0}
    assert reading.unavailable.keys() == {"energy_by_kind_j.E"}
    assert reading.unavailable["energy_by_kind_j.E"].startswith(why)


def test_a_mask_of_other_cores_leaves_nothing_to_count(tmp_path: Path) -> None:
    why = reason(zen(tmp_path, "30-31"))
    assert why.startswith("the core of CPUs 0,12 has no CPU in ")
    assert "the core of CPUs 4,16 has no CPU in " in why


def test_while_cores_may_be_offline_no_kind_has_a_sum(tmp_path: Path) -> None:
    root = add_core_pmu(build_tree(tmp_path, "synthetic-forest"), "0-8")
    assert reason(root) == (
        "CPUs are offline (9-11): the energy of their cores cannot be read; put them online"
    )


def test_siblings_that_are_off_are_no_cores_of_their_own(tmp_path: Path) -> None:
    root = add_core_pmu(build_tree(tmp_path, "synthetic-forest"), "0-8")
    write(root, "sys/devices/system/cpu/smt/control", "off")
    found = counters(root)
    assert isinstance(found, CoreCounters)
    assert found.cpus == {"P": tuple(range(9))}


def test_a_core_that_goes_offline_between_runs_is_noticed_at_the_next_start(
    tmp_path: Path,
) -> None:
    root = zen(tmp_path / "node")
    meter = CoreMeter(
        install_perf(tmp_path, *(core_row(cpu, "1.0") for cpu in range(12))),
        root,
        read_topology(root),
    )
    meter.start()
    meter.stop()
    assert meter.reading().fields["energy_by_kind_j"] == {"P": 4.0, "E": 8.0}

    write(root, f"{PMU}/cpumask", "0-2,4-11")
    meter.start()
    meter.stop()
    reading = meter.reading()
    assert reading.fields["energy_by_kind_j"] == {"E": 8.0}
    assert "it may have gone offline" in reading.unavailable["energy_by_kind_j.P"]


def test_a_core_of_which_perf_tells_nothing_leaves_its_kind_without_a_sum() -> None:
    counted = CoreCounters("power_core/energy-core/", {"P": (0, 1), "E": (2, 3)})
    text = "\n".join(
        [
            core_row(0, "1.0"),
            core_row(1, "1.0"),
            core_row(2, "1.0"),
            core_row(3, "<not supported>"),
        ]
    )
    reading = kind_fields(counted, *read_core_joules(text), 1.0)
    assert reading.fields["energy_by_kind_j"] == {"P": 2.0}
    assert reading.unavailable == {"energy_by_kind_j.E": "energy-core of CPU 3 is not supported"}

    reading = kind_fields(counted, *read_core_joules(core_row(0, "1.0")), 1.0)
    assert reading.fields == {}
    assert reading.unavailable == {
        "energy_by_kind_j": "perf printed no value of energy-core of CPU 1; "
        "perf printed no value of energy-core of CPU 2"
    }


def test_counters_of_which_none_moved_measured_nothing() -> None:
    counted = CoreCounters("power_core/energy-core/", {"P": (0,), "E": (1,)})
    still = "\n".join([core_row(0, "0.000000"), core_row(1, "0.000000")])
    reading = kind_fields(counted, *read_core_joules(still), 0.001)
    assert reading.fields == {}
    assert reading.unavailable["energy_by_kind_j"].startswith(
        "no core's energy counter moved in 0.001 s"
    )


def test_a_kind_that_slept_all_the_time_used_nothing() -> None:
    counted = CoreCounters("power_core/energy-core/", {"P": (0,), "E": (1,)})
    text = "\n".join([core_row(0, "3.25"), core_row(1, "0.000000")])
    reading = kind_fields(counted, *read_core_joules(text), 1.0)
    assert reading.fields["energy_by_kind_j"] == {"P": 3.25, "E": 0.0}


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (core_row(0, "-1.5"), "what perf printed of energy-core of CPU 0 is no number of Joules"),
        (
            core_row(0, "7.0").replace("Joules", ""),
            "what perf printed of energy-core of CPU 0 is no number of Joules",
        ),
        (core_row(0, "1.0") + "\n" + core_row(0, "1.0"), "perf printed energy-core of CPU 0 twice"),
    ],
)
def test_a_row_that_is_no_energy_of_a_core_is_a_reason(row: str, why: str) -> None:
    assert read_core_joules(row) == ({}, {0: why})


def test_rows_of_versions_that_name_cpus_otherwise_are_read() -> None:
    assert read_core_joules("CPU5;1.25;Joules;power_core/energy-core/;2109691270;100.00;;") == (
        {5: 1.25},
        {},
    )


def test_a_perf_that_may_not_count_whole_cpus_names_the_grant(tmp_path: Path) -> None:
    root = zen(tmp_path / "node")
    set_permission(root, "2", NO_CAPABILITIES)
    perf = install_failing_perf(tmp_path, "Operation not permitted")
    found = try_cores(root, perf, read_topology(root))
    assert isinstance(found, Unavailable)
    assert found.reason.endswith("as root: sysctl kernel.perf_event_paranoid=0")


def test_a_perf_that_fails_or_is_not_installed_is_a_reason(tmp_path: Path) -> None:
    root = zen(tmp_path / "node")
    topology = read_topology(root)
    failing = try_cores(root, install_failing_perf(tmp_path, "no such PMU"), topology)
    assert failing == Unavailable("perf could not attach: no such PMU")
    missing = try_cores(root, None, topology)
    assert isinstance(missing, Unavailable) and missing.reason.startswith("not installed")
    silent = try_cores(root, install_perf(tmp_path), topology)
    assert silent == Unavailable("perf printed no value of energy-core")
    refusing = install_perf(tmp_path, *(core_row(cpu, "<not supported>") for cpu in range(12)))
    refused = try_cores(root, refusing, topology)
    assert refused == Unavailable("energy-core of CPU 0 is not supported")
    works = install_perf(tmp_path, *(core_row(cpu, "0.0") for cpu in range(12)))
    assert isinstance(try_cores(root, works, topology), CoreMeter)


@given(st.text(max_size=200) | st.from_regex(r"CPU[0-9]{0,9};[-0-9.<>a-z ]{0,12};Joules;p.*"))
def test_any_output_of_perf_is_survived(text: str) -> None:
    joules, problems = read_core_joules(text)
    assert not set(joules) & set(problems)
    assert all(math.isfinite(value) and value >= 0 for value in joules.values())
    counted = CoreCounters("power_core/energy-core/", {"P": (0,)})
    reading = kind_fields(counted, joules, problems, 1.0)
    assert ("energy_by_kind_j" in reading.fields) != ("energy_by_kind_j" in reading.unavailable)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tree for many examples, each of which puts back the file that it spoils."""
    return zen(tmp_path_factory.mktemp("shared"))


@given(st.sampled_from(("events/energy-core", "cpumask")), st.binary(max_size=30) | st.none())
def test_any_content_of_the_files_is_survived(shared: Path, name: str, data: bytes | None) -> None:
    path = shared / PMU / name
    content = path.read_bytes()
    path.unlink() if data is None else path.write_bytes(data)
    try:
        found = counters(shared)
    finally:
        path.write_bytes(content)
    if isinstance(found, CoreCounters):
        assert found.event == "power_core/energy-core/"
        counted = [cpu for cpus in found.cpus.values() for cpu in cpus]
        assert len(set(counted)) == len(counted)
        assert found.cpus.keys() | found.unavailable.keys() == {"P", "E"}
