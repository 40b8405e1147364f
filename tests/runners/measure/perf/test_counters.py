"""A row of perf becomes a number of the program only where that is what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.reading import Reading
from runners.measure.perf.counters import FIELDS, fields_of, no_counters, read_counters
from runners.measure.perf.output import parse_perf_output
from tests.support.tools import DATA

Kinds = Mapping[str, Sequence[str]]

RECORDED = DATA / "perf"
HYBRID = {"cpu_atom": ("E",), "cpu_core": ("P",)}
METEOR_LAKE = {"cpu_atom": ("E", "LP-E"), "cpu_core": ("P",)}
HOMOGENEOUS = {"cpu": ("P",)}
NO_PMU = "no hardware PMU in this virtual machine"


def read(lines: str, kinds_of: Kinds, kernel_share: float | None = None) -> Reading:
    output = parse_perf_output(lines.strip())
    return read_counters(output, kinds_of, kernel_share=kernel_share)


def read_file(name: str, kinds_of: Kinds, unsupported_reason: str = "") -> Reading:
    output = parse_perf_output((RECORDED / name).read_text())
    return read_counters(output, kinds_of, unsupported_reason)


def count(reading: Reading, pmu: str, event: str) -> dict[str, Any]:
    (found,) = (
        entry
        for entry in reading.fields["counters"]
        if (entry["pmu"], entry["event"]) == (pmu, event)
    )
    return dict(found)


def test_the_recorded_unpinned_run_is_unscaled_to_what_each_kind_really_counted() -> None:
    reading = read_file("unpinned.csv", HYBRID)
    # 133119427 x 527314 / 173176999 and 812254473 x 172649685 / 173176999; 527314 + 172649685 is
    # the software event's 173176999 exactly, so nothing was multiplexed.
    assert count(reading, "cpu_atom", "cycles") == {
        "pmu": "cpu_atom",
        "kinds": ["E"],
        "event": "cycles",
        "value": 405_341,
        "enabled_ns": 173_176_999,
        "running_ns": 527_314,
        "multiplexed": False,
    }
    assert count(reading, "cpu_core", "cycles")["value"] == 809_781_205
    fields = reading.fields
    assert fields["cycles"] == 405_341 + 809_781_205
    assert fields["page_faults"] == 62
    assert fields["residency"] == pytest.approx({"P": 0.9969551, "E": 0.0030449}, abs=1e-7)
    # value / enabled: 133119427 / 173176999 and 812254473 / 173176999 cycles a nanosecond.
    assert fields["freq_ghz"] == pytest.approx({"E": 0.768690, "P": 4.690314}, abs=1e-6)
    assert fields["freq_mean_ghz"] == pytest.approx(810_186_546 / 173_176_999)


def test_a_program_that_never_ran_on_a_kind_has_residency_zero_there_and_full_totals() -> None:
    reading = read(
        """
100.00;msec;task-clock;100000000;100.00
<not counted>;;cpu_atom/cycles/;0;0.00
400000000;;cpu_core/cycles/;100000000;100.00
<not counted>;;cpu_atom/instructions/;0;0.00
800000000;;cpu_core/instructions/;100000000;100.00
""",
        HYBRID,
    )
    assert reading.fields["residency"] == {"E": 0.0, "P": 1.0}
    assert reading.fields["cycles"] == 400_000_000
    assert reading.fields["instructions"] == 800_000_000
    assert reading.fields["freq_ghz"] == {"P": 4.0}
    assert reading.unavailable["freq_ghz.E"] == "the program never ran on an E-core"
    assert reading.unavailable["counters.cpu_atom/cycles"] == (
        "cpu_atom/cycles/: not counted: the program never ran on an E-core"
    )


def test_real_multiplexing_is_told_from_residency() -> None:
    reading = read(
        """
100.00;msec;task-clock;100000000;100.00
100000000;;cpu_atom/cycles/;40000000;40.00
300000000;;cpu_core/cycles/;60000000;60.00
5000;;cpu_atom/cache-misses/;20000000;20.00
5000;;cpu_core/cache-misses/;60000000;60.00
""",
        HYBRID,
    )
    assert count(reading, "cpu_atom", "cycles")["multiplexed"] is False
    assert count(reading, "cpu_atom", "cache-misses")["multiplexed"] is True
    assert count(reading, "cpu_core", "cache-misses")["multiplexed"] is True
    assert reading.fields["residency"] == {"E": 0.4, "P": 0.6}
    # Hand: 100e6 x 0.4 + 300e6 x 0.6.
    assert reading.fields["cycles"] == 220_000_000
    assert "80% of the time" in reading.unavailable["cache_misses"]


def test_when_every_event_is_multiplexed_there_is_no_residency() -> None:
    reading = read(
        """
100.00;msec;task-clock;100000000;100.00
100000000;;cpu_atom/cycles/;20000000;20.00
300000000;;cpu_core/cycles/;50000000;50.00
""",
        HYBRID,
    )
    assert "residency" not in reading.fields
    assert "multiplexed" in reading.unavailable["residency"]
    # Still a mean over a sample of the time: 300e6 x 0.5 cycles in 50 ms.
    assert reading.fields["freq_ghz"]["P"] == pytest.approx(3.0)


def test_an_event_that_one_kind_lacks_has_no_total_and_is_not_called_multiplexed() -> None:
    reading = read(
        """
100.00;msec;task-clock;100000000;100.00
100000000;;cpu_atom/cycles/;40000000;40.00
300000000;;cpu_core/cycles/;60000000;60.00
<not supported>;;cpu_atom/cache-misses/;0;100.00
1000;;cpu_core/cache-misses/;60000000;60.00
""",
        HYBRID,
    )
    assert count(reading, "cpu_core", "cache-misses")["multiplexed"] is False
    assert count(reading, "cpu_core", "cache-misses")["value"] == 600
    assert reading.unavailable["cache_misses"] == (
        "cpu_atom/cache-misses/: not supported by cpu_atom"
    )


def test_without_a_software_event_nothing_is_unscaled() -> None:
    reading = read("5000;;cpu_core/cycles/;60;99.00\n5000;;cpu_atom/cycles/;40;1.00", HYBRID)
    assert reading.fields["counters"] == []
    for name in ("cycles", "freq_mean_ghz", "freq_ghz", "residency"):
        assert name not in reading.fields
    assert "task-clock" in reading.unavailable["cycles"]
    assert "task-clock" in reading.unavailable["residency"]


def test_one_pmu_over_two_kinds_has_residency_by_pmu_only() -> None:
    reading = read(
        """
100.00;msec;task-clock;100000000;100.00
100000000;;cpu_atom/cycles/;40000000;40.00
300000000;;cpu_core/cycles/;60000000;60.00
""",
        METEOR_LAKE,
    )
    assert reading.fields["residency_pmu"] == {"cpu_atom": 0.4, "cpu_core": 0.6}
    assert reading.fields["residency"] == {"P": 0.6}
    assert reading.fields["freq_ghz"] == {"P": pytest.approx(3.0)}
    for field in ("residency.E", "residency.LP-E", "freq_ghz.E"):
        assert "cpu_atom counts E and LP-E cores together" in reading.unavailable[field]


def test_a_pmu_never_used_is_zero_for_both_its_kinds() -> None:
    reading = read(
        """
100.00;msec;task-clock;100000000;100.00
<not counted>;;cpu_atom/cycles/;0;0.00
300000000;;cpu_core/cycles/;100000000;100.00
""",
        METEOR_LAKE,
    )
    assert reading.fields["residency"] == {"P": 1.0, "E": 0.0, "LP-E": 0.0}


def test_arm_pmus_are_core_pmus() -> None:
    reading = read(
        """
10.00;msec;task-clock;10000000;100.00
20000000;;armv8_cortex_a725/cycles/u;2500000;25.00
40000000;;armv8_cortex_x925/cycles/u;7500000;75.00
""",
        {"armv8_cortex_a725": ("E",), "armv8_cortex_x925": ("P",)},
        kernel_share=0.002,
    )
    assert reading.fields["residency"] == {"E": 0.25, "P": 0.75}
    assert reading.fields["freq_ghz"] == pytest.approx({"E": 2.0, "P": 4.0})


def test_arms_own_names_of_events_are_understood() -> None:
    reading = read(
        """
10.00;msec;task-clock;10000000;100.00
20000000;;armv8_cortex_a55/cpu_cycles/;2500000;25.00
40000000;;armv8_cortex_a76/cpu_cycles/;7500000;75.00
<not supported>;;instructions;0;100.00
""",
        {"armv8_cortex_a55": ("E",), "armv8_cortex_a76": ("P",)},
    )
    # Counted is what is printed, times the share of the time: 5 and 30 million.
    assert reading.fields["cycles"] == 35_000_000
    assert reading.fields["residency"] == {"E": 0.25, "P": 0.75}
    assert "instructions" not in reading.fields
    assert reading.unavailable["instructions"] == "instructions: not supported by this node"


def test_a_homogeneous_node_prints_rows_without_a_pmu() -> None:
    reading = read(
        "10.00;msec;task-clock;10000000;100.00\n30000000;;cycles;10000000;100.00", HOMOGENEOUS
    )
    assert count(reading, "cpu", "cycles")["value"] == 30_000_000
    assert reading.fields["residency"] == {"P": 1.0}
    assert reading.fields["freq_ghz"] == {"P": 3.0}
    assert reading.fields["task_clock_s"] == 0.01


def test_an_event_that_was_asked_for_with_its_pmu_as_well_is_counted_once() -> None:
    reading = read(
        """
10.00;msec;task-clock;10000000;100.00
30000000;;cycles;10000000;100.00
30000000;;cpu/cycles/;10000000;100.00
""",
        HOMOGENEOUS,
    )
    assert reading.fields["cycles"] == 30_000_000


def test_a_perf_that_does_not_know_the_kinds_is_not_believed() -> None:
    reading = read(
        "10.00;msec;task-clock;10000000;100.00\n30000000;;cycles;10000000;100.00", HYBRID
    )
    assert "one core kind only" in reading.unavailable["cycles"]
    assert not {"cycles", "freq_mean_ghz", "residency"} & set(reading.fields)


def test_a_guest_without_a_pmu_gives_software_events_and_reasons() -> None:
    reading = read_file("guest.csv", {}, NO_PMU)
    fields = reading.fields
    assert fields["task_clock_s"] == pytest.approx(0.610313971)
    assert (fields["context_switches"], fields["migrations"], fields["page_faults"]) == (
        1871,
        799,
        82,
    )
    assert reading.unavailable["cycles"] == f"cycles: not supported by this node ({NO_PMU})"
    assert NO_PMU in reading.unavailable["freq_ghz"]
    assert NO_PMU in reading.unavailable["residency"]
    assert fields["counted_modes"] == "user+kernel"


def test_a_zero_that_only_means_no_permission_is_not_a_count() -> None:
    reading = read_file("guest-user.csv", {}, NO_PMU)
    assert reading.fields["page_faults"] == 119
    assert reading.fields["counted_modes"] == "user"
    for name in ("migrations", "context_switches"):
        assert name not in reading.fields
        assert "kernel.perf_event_paranoid" in reading.unavailable[name]


@pytest.mark.parametrize(
    ("kernel_share", "known"), [(None, False), (0.3, False), (0.011, False), (0.009, True)]
)
def test_user_cycles_give_a_frequency_only_when_the_kernel_had_little_of_the_time(
    kernel_share: float | None, known: bool
) -> None:
    reading = read(
        "10.00;msec;task-clock:u;10000000;100.00\n30000000;;cycles:u;10000000;100.00",
        HOMOGENEOUS,
        kernel_share=kernel_share,
    )
    assert reading.fields["cycles"] == 30_000_000
    assert ("freq_mean_ghz" in reading.fields) is known
    assert ("freq_mean_ghz" in reading.unavailable) is not known


def test_an_event_that_never_got_a_counter_is_not_a_zero() -> None:
    reading = read(
        "10.00;msec;task-clock;10000000;100.00\n<not counted>;;cycles;0;0.00", HOMOGENEOUS
    )
    assert "cycles" not in reading.fields
    assert "other events held the counters" in reading.unavailable["cycles"]


def test_a_program_that_never_ran_has_reasons_and_no_zeros() -> None:
    reading = read(
        "<not counted>;msec;task-clock;0;0.00\n<not counted>;;cpu-migrations;0;0.00\n"
        "<not counted>;;cycles;0;0.00",
        HOMOGENEOUS,
    )
    assert reading.fields == {"counters": []}
    assert set(FIELDS) <= set(reading.unavailable)


def test_energy_rows_are_not_the_programs() -> None:
    reading = read(
        "10.00;msec;task-clock;10000000;100.00\n475.42;Joules;power/energy-pkg/;20005659301;100.00",
        HOMOGENEOUS,
    )
    assert "whole machine" in reading.unavailable["counters.power/energy-pkg"]


def test_rows_of_single_cpus_are_not_taken_for_the_whole() -> None:
    reading = read("CPU0;5;;cpu-migrations;10;100.00\nCPU1;5;;cpu-migrations;10;100.00", {})
    assert "migrations" not in reading.fields


@pytest.mark.parametrize("text", ["", "# started on a day\n\n", "Killed\n", "perf: Segmentation"])
def test_an_output_without_rows_is_a_reason_for_every_field(text: str) -> None:
    reading = read(text, HYBRID)
    assert reading.fields == {}
    assert set(reading.unavailable) == set(FIELDS)


def test_lines_that_are_not_understood_are_reported_beside_the_others() -> None:
    reading = read("5;;page-faults;10;100.00\nKilled\n", {})
    assert reading.fields["page_faults"] == 5
    assert "'Killed'" in reading.unavailable["perf_output"]


def test_without_perf_every_field_has_the_reason() -> None:
    assert no_counters("perf is not installed") == Reading(
        {}, dict.fromkeys(FIELDS, "perf is not installed")
    )


@given(
    counts=st.tuples(st.integers(1, 10**13), st.integers(1, 10**13)),
    running=st.tuples(st.integers(10**6, 10**12), st.integers(10**6, 10**12)),
)
def test_what_perf_scaled_up_comes_back_as_it_was_counted(
    counts: tuple[int, int], running: tuple[int, int]
) -> None:
    enabled = sum(running)
    # perf_counts_values__scale: (u64)((double)val * ena / run)
    printed = [int(float(n) * enabled / run) for n, run in zip(counts, running, strict=True)]
    reading = read(
        f"1.00;msec;task-clock;{enabled};100.00\n"
        f"{printed[0]};;cpu_atom/cycles/;{running[0]};1.00\n"
        f"{printed[1]};;cpu_core/cycles/;{running[1]};1.00\n",
        HYBRID,
    )
    got = [count(reading, pmu, "cycles")["value"] for pmu in ("cpu_atom", "cpu_core")]
    assert got == [pytest.approx(n, abs=1, rel=1e-12) for n in counts]
    assert sum(reading.fields["residency"].values()) == pytest.approx(1)


_NAMES = """task-clock cycles cycles:u cpu_core/cycles/ cpu_atom/cycles/ duration_time
    cpu-migrations:u page-faults power/energy-pkg/ cpu_core/cache-misses/ sched:sched_switch
    cpu/event=0x3c/ uncore/x/"""

_lines = st.builds(
    "{};{};{};{};100.00".format,
    st.sampled_from(["<not counted>", "<not supported>", "0", "5", "1e30"]),
    st.sampled_from(["", "msec"]),
    st.sampled_from(_NAMES.split()),
    st.integers(0, 10**15),
)


@given(st.lists(_lines, max_size=8), st.sampled_from([{}, HYBRID, METEOR_LAKE, HOMOGENEOUS]))
def test_any_rows_give_each_field_a_value_or_a_reason(lines: list[str], kinds_of: Kinds) -> None:
    reading = read("\n".join(lines), kinds_of)
    assert set(FIELDS) <= set(reading.fields) | set(reading.unavailable)


L1D = ("L1-dcache-load-misses", "L1-dcache-loads")


def test_the_share_of_loads_that_missed_is_known_for_each_kind_that_counts_both_events() -> None:
    # The program spends 60 of 100 ms on P-cores; perf prints counts x 100 / 60 there, x 100 / 40 on
    # E-cores, where misses are not supported (hybrid-facts, 2.1).
    reading = read(
        """
100.00;msec;task-clock;100000000;100.00
5000000;;cpu_core/L1-dcache-load-misses/;60000000;60.00
100000000;;cpu_core/L1-dcache-loads/;60000000;60.00
<not supported>;;cpu_atom/L1-dcache-load-misses/;0;100.00
50000000;;cpu_atom/L1-dcache-loads/;40000000;40.00
""",
        HYBRID,
    )

    assert reading.fields["l1d_miss_rate"] == {"P": pytest.approx(0.05)}
    assert "not supported by cpu_atom" in reading.unavailable["l1d_miss_rate.E"]
    assert "l1d_miss_rate.P" not in reading.unavailable


def test_a_kind_without_a_single_load_has_no_share_of_them() -> None:
    reading = read(
        """
100.00;msec;task-clock;100000000;100.00
0;;L1-dcache-load-misses;100000000;100.00
0;;L1-dcache-loads;100000000;100.00
""",
        HOMOGENEOUS,
    )

    assert reading.fields["l1d_miss_rate"] == {}
    assert reading.unavailable["l1d_miss_rate.P"] == "L1-dcache-loads: none was counted"


def test_the_share_of_misses_is_spoken_of_only_where_it_was_asked_for() -> None:
    line = "100.00;msec;task-clock;100000000;100.00\n1000;;L1-dcache-loads;100000000;100.00"
    reading = read(line, HOMOGENEOUS)
    assert "l1d_miss_rate" not in reading.fields | reading.unavailable

    assert fields_of(["L1-dcache-loads"]) == FIELDS
    assert no_counters("no perf", fields_of(L1D)).unavailable["l1d_miss_rate"] == "no perf"
    unsupported = "\n".join(f"<not supported>;;{event};0;100.00" for event in L1D)
    refused = read(f"100.00;msec;task-clock;100000000;100.00\n{unsupported}", HOMOGENEOUS)
    assert "not supported by this node" in refused.unavailable["l1d_miss_rate"]
