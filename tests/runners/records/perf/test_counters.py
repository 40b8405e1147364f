"""A row of perf becomes a number of the program only where that is what it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.reading import Reading
from runners.records.perf.counters import FIELDS, fields_of, no_counters, read_counters
from runners.records.perf.output import parse_perf_output
from tests.support.tools import DATA

Kinds = Mapping[str, Sequence[str]]

HYBRID = {"cpu_atom": ("E",), "cpu_core": ("P",)}
METEOR_LAKE = {"cpu_atom": ("E", "LP-E"), "cpu_core": ("P",)}
HOMOGENEOUS = {"cpu": ("P",)}
NO_PMU = "no hardware PMU in this virtual machine"


def row(event: str, printed: object, percent: int = 100) -> str:
    """Return perf's row of an event that was counting for so much of a program's 100 ms."""
    return f"{printed};;{event};{percent}000000;{percent}.00"


CLOCK = "100.00;msec;task-clock;100000000;100.00"
# Hand: perf prints 100e6 for 40e6 on E-cores, and 300e6 for 180e6 on P-cores.
CYCLES = (row("cpu_atom/cycles/", 100_000_000, 40), row("cpu_core/cycles/", 300_000_000, 60))
NOT_ON_E_CORES = row("cpu_atom/cycles/", "<not counted>", 0), row("cpu_core/cycles/", 400_000_000)


def read(kinds_of: Kinds, *rows: str, kernel_share: float | None = None) -> Reading:
    output = parse_perf_output("\n".join(rows))
    return read_counters(output, kinds_of, kernel_share=kernel_share)


def read_file(name: str, kinds_of: Kinds) -> Reading:
    output = parse_perf_output((DATA / "perf" / name).read_text())
    return read_counters(output, kinds_of, NO_PMU)


def count(reading: Reading, pmu: str, event: str) -> dict[str, Any]:
    counters = reading.fields["counters"]
    (found,) = (one for one in counters if (one["pmu"], one["event"]) == (pmu, event))
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


@pytest.mark.parametrize(
    "names",
    [
        ("cycles", "instructions"),
        ("cpu/cpu-cycles/", "cpu/instructions/"),
        ("cpu/cpu-cycles/u", "cpu/instructions:u/"),
    ],
)
def test_events_of_the_one_pmu_are_the_usual_ones_with_and_without_its_name(
    names: tuple[str, str],
) -> None:
    reading = read(HOMOGENEOUS, CLOCK, row(names[0], 300_000_000), row(names[1], 600_000_000))
    assert count(reading, "cpu", "cycles")["value"] == 300_000_000
    assert (reading.fields["cycles"], reading.fields["instructions"]) == (300_000_000, 600_000_000)
    assert reading.fields["residency"] == {"P": 1.0}


def test_a_program_that_never_ran_on_a_kind_has_residency_zero_there_and_full_totals() -> None:
    reading = read(HYBRID, CLOCK, *NOT_ON_E_CORES)
    assert reading.fields["residency"] == {"E": 0.0, "P": 1.0}
    assert reading.fields["cycles"] == 400_000_000
    assert reading.fields["freq_ghz"] == {"P": 4.0}
    assert reading.unavailable["freq_ghz.E"] == "the program never ran on an E-core"
    assert reading.unavailable["counters.cpu_atom/cycles"] == (
        "cpu_atom/cycles/: not counted: the program never ran on an E-core"
    )
    of_two_kinds = read(METEOR_LAKE, CLOCK, *NOT_ON_E_CORES)
    assert of_two_kinds.fields["residency"] == {"P": 1.0, "E": 0.0, "LP-E": 0.0}


def test_a_row_of_the_whole_time_is_exact_whatever_time_the_task_clock_shows() -> None:
    """Rows of a guest whose kernel was interrupted between its software and hardware events."""
    reading = read(
        HYBRID,
        "1018.38;msec;task-clock;1018379762;100.00",
        "4461000000;;cpu_atom/cycles/;1000000000;100.00",
        "8922000000;;cpu_atom/instructions/;1000000000;100.00",
        row("cpu_core/cycles/", "<not counted>", 0),
        row("cpu_core/instructions/", "<not counted>", 0),
    )
    assert reading.fields["residency"] == {"E": 1.0, "P": 0.0}
    assert reading.fields["freq_ghz"] == {"E": 4.461}
    assert reading.fields["cycles"] == 4_461_000_000
    assert reading.fields["instructions"] == 8_922_000_000
    assert reading.fields["task_clock_s"] == 1.018379762


def test_real_multiplexing_is_told_from_residency() -> None:
    misses = row("cpu_atom/cache-misses/", 5000, 20), row("cpu_core/cache-misses/", 5000, 60)
    reading = read(HYBRID, CLOCK, *CYCLES, *misses)
    assert count(reading, "cpu_atom", "cycles")["multiplexed"] is False
    assert count(reading, "cpu_atom", "cache-misses")["multiplexed"] is True
    assert count(reading, "cpu_core", "cache-misses")["multiplexed"] is True
    assert reading.fields["residency"] == {"E": 0.4, "P": 0.6}
    assert reading.fields["cycles"] == 40_000_000 + 180_000_000
    assert "80% of the time" in reading.unavailable["cache_misses"]


def test_when_every_event_is_multiplexed_there_is_no_residency() -> None:
    p_cores = row("cpu_core/cycles/", 300_000_000, 50)
    reading = read(HYBRID, CLOCK, row("cpu_atom/cycles/", 100_000_000, 20), p_cores)
    assert "residency" not in reading.fields
    assert "multiplexed" in reading.unavailable["residency"]
    # Still a mean over a sample of the time: 300e6 x 0.5 cycles in 50 ms.
    assert reading.fields["freq_ghz"]["P"] == pytest.approx(3.0)


def test_an_event_that_one_kind_lacks_has_no_total_and_is_not_called_multiplexed() -> None:
    lacking = row("cpu_atom/cache-misses/", "<not supported>", 0)
    reading = read(HYBRID, CLOCK, *CYCLES, lacking, row("cpu_core/cache-misses/", 1000, 60))
    assert count(reading, "cpu_core", "cache-misses")["multiplexed"] is False
    assert count(reading, "cpu_core", "cache-misses")["value"] == 600
    assert reading.unavailable["cache_misses"] == (
        "cpu_atom/cache-misses/: not supported by cpu_atom"
    )


def test_an_event_that_has_a_field_of_its_own_is_not_listed_as_well() -> None:
    reading = read(HYBRID, CLOCK, row("page-faults", 7), row("minor-faults", 5), *CYCLES)
    assert reading.fields["page_faults"] == 7
    listed = [(one["pmu"], one["event"]) for one in reading.fields["counters"]]
    assert listed == [
        ("software", "minor-faults"), ("cpu_atom", "cycles"), ("cpu_core", "cycles"),
    ]  # fmt: skip


def test_without_a_software_event_nothing_is_unscaled() -> None:
    reading = read(HYBRID, *CYCLES)
    assert reading.fields["counters"] == []
    assert not {"cycles", "freq_mean_ghz", "freq_ghz", "residency"} & set(reading.fields)
    assert "task-clock" in reading.unavailable["cycles"]
    assert "task-clock" in reading.unavailable["residency"]


def test_one_pmu_over_two_kinds_has_residency_by_pmu_only() -> None:
    reading = read(METEOR_LAKE, CLOCK, *CYCLES)
    assert reading.fields["residency_pmu"] == {"cpu_atom": 0.4, "cpu_core": 0.6}
    assert reading.fields["residency"] == {"P": 0.6}
    assert reading.fields["freq_ghz"] == {"P": pytest.approx(3.0)}
    for field in ("residency.E", "residency.LP-E", "freq_ghz.E"):
        assert "cpu_atom counts E and LP-E cores together" in reading.unavailable[field]


@pytest.mark.parametrize("event", ["cycles/u", "cpu_cycles/"])
def test_arm_pmus_are_core_pmus_whatever_they_call_an_event(event: str) -> None:
    reading = read(
        {"armv8_cortex_a55": ("E",), "armv8_cortex_a76": ("P",)},
        CLOCK,
        row(f"armv8_cortex_a55/{event}", 200_000_000, 25),
        row(f"armv8_cortex_a76/{event}", 400_000_000, 75),
        row("instructions", "<not supported>", 0),
        kernel_share=0.002,
    )
    # Counted is what is printed, times the share of the time.
    assert reading.fields["cycles"] == 50_000_000 + 300_000_000
    assert reading.fields["residency"] == {"E": 0.25, "P": 0.75}
    assert reading.fields["freq_ghz"] == pytest.approx({"E": 2.0, "P": 4.0})
    assert "instructions" not in reading.fields
    assert reading.unavailable["instructions"] == "instructions: not supported by this node"


@pytest.mark.parametrize("again", [(), (row("cpu/cycles/", 300_000_000),)])
def test_a_homogeneous_node_prints_rows_without_a_pmu_and_counts_none_twice(
    again: tuple[str, ...],
) -> None:
    reading = read(HOMOGENEOUS, CLOCK, row("cycles", 300_000_000), *again)
    assert count(reading, "cpu", "cycles")["value"] == 300_000_000
    assert reading.fields["cycles"] == 300_000_000
    assert reading.fields["residency"] == {"P": 1.0}
    assert reading.fields["freq_ghz"] == {"P": 3.0}
    assert reading.fields["task_clock_s"] == 0.1


def test_a_perf_that_does_not_know_the_kinds_is_not_believed() -> None:
    reading = read(HYBRID, CLOCK, row("cycles", 300_000_000))
    assert "one core kind only" in reading.unavailable["cycles"]
    assert not {"cycles", "freq_mean_ghz", "residency"} & set(reading.fields)


def test_a_guest_without_a_pmu_gives_software_events_and_reasons() -> None:
    reading = read_file("guest.csv", {})
    fields = reading.fields
    assert fields["task_clock_s"] == pytest.approx(0.610313971)
    assert [fields[name] for name in ("context_switches", "migrations")] == [1871, 799]
    assert (fields["page_faults"], fields["counted_modes"]) == (82, "user+kernel")
    assert reading.unavailable["cycles"] == f"not supported by this node ({NO_PMU})"
    assert NO_PMU in reading.unavailable["freq_ghz"]
    assert NO_PMU in reading.unavailable["residency"]


def test_a_zero_that_only_means_no_permission_is_not_a_count() -> None:
    reading = read_file("guest-user.csv", {})
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
    rows = CLOCK.replace("task-clock", "task-clock:u"), row("cycles:u", 300_000_000)
    reading = read(HOMOGENEOUS, *rows, kernel_share=kernel_share)
    assert reading.fields["cycles"] == 300_000_000
    assert ("freq_mean_ghz" in reading.fields) is known
    assert ("freq_mean_ghz" in reading.unavailable) is not known


@pytest.mark.parametrize("of_kernel", ["cycles:k", "cycles:h", "cycles:kh", "cycles:G"])
def test_what_only_the_kernel_or_a_guest_did_is_not_taken_for_the_program(of_kernel: str) -> None:
    alone = read(HOMOGENEOUS, CLOCK, row(of_kernel, 3_000_000))
    assert alone.unavailable["cycles"] == "cycles: perf printed no row for it"
    assert "freq_mean_ghz" not in alone.fields
    assert count(alone, "cpu", of_kernel)["value"] == 3_000_000
    # perf prints events in the order of its command line.
    beside = read(HOMOGENEOUS, CLOCK, row(of_kernel, 3_000_000), row("cycles", 300_000_000))
    assert beside.fields["cycles"] == 300_000_000
    assert beside.fields["freq_mean_ghz"] == 3.0
    assert count(beside, "cpu", of_kernel)["value"] == 3_000_000


def test_one_event_counted_in_several_modes_has_a_count_of_each() -> None:
    of_user = row("cpu_atom/cycles/u", 90_000_000, 40), row("cpu_core/cycles:u/", 290_000_000, 60)
    reading = read(HYBRID, CLOCK, *of_user, *CYCLES, row("page-faults:u", 3), row("page-faults", 5))
    assert reading.fields["cycles"] == 40_000_000 + 180_000_000
    assert count(reading, "cpu_atom", "cycles:u")["value"] == 36_000_000
    assert count(reading, "cpu_core", "cycles:u")["value"] == 174_000_000
    assert (reading.fields["page_faults"], reading.fields["counted_modes"]) == (5, "mixed")


def test_an_event_that_never_got_a_counter_is_not_a_zero() -> None:
    reading = read(HOMOGENEOUS, CLOCK, row("cycles", "<not counted>", 0))
    assert "cycles" not in reading.fields
    assert "other events held the counters" in reading.unavailable["cycles"]


def test_a_program_that_never_ran_has_reasons_and_no_zeros() -> None:
    events = ("task-clock", "cpu-migrations", "cycles")
    reading = read(HOMOGENEOUS, *(row(event, "<not counted>", 0) for event in events))
    assert reading.fields == {"counters": []}
    assert set(FIELDS) <= set(reading.unavailable)


def test_energy_rows_are_not_the_programs() -> None:
    reading = read(HOMOGENEOUS, CLOCK, "475.42;Joules;power/energy-pkg/;20005659301;100.00")
    assert "whole machine" in reading.unavailable["counters.power/energy-pkg"]


def test_rows_of_single_cpus_are_not_taken_for_the_whole() -> None:
    of_cpus = (f"CPU{cpu};{row('cpu-migrations', 5)}" for cpu in range(2))
    assert "migrations" not in read({}, *of_cpus).fields


@pytest.mark.parametrize("text", ["", "# started on a day\n\n", "Killed\n", "perf: Segmentation"])
def test_an_output_without_rows_is_a_reason_for_every_field(text: str) -> None:
    reading = read(HYBRID, text)
    assert reading.fields == {}
    assert set(reading.unavailable) == set(FIELDS)


def test_lines_that_are_not_understood_are_reported_beside_the_others() -> None:
    reading = read({}, row("page-faults", 5), "Killed")
    assert reading.fields["page_faults"] == 5
    assert "'Killed'" in reading.unavailable["perf_output"]


# As much as a core can count in the shortest of these times.
@given(
    counts=st.tuples(st.integers(1, 10**11), st.integers(1, 10**11)),
    running=st.tuples(st.integers(10**8, 10**12), st.integers(10**8, 10**12)),
)
def test_what_perf_scaled_up_comes_back_as_it_was_counted(
    counts: tuple[int, int], running: tuple[int, int]
) -> None:
    enabled = sum(running)
    # perf_counts_values__scale: (u64)((double)val * ena / run)
    printed = [int(float(n) * enabled / run) for n, run in zip(counts, running, strict=True)]
    reading = read(
        HYBRID,
        f"1.00;msec;task-clock;{enabled};100.00",
        f"{printed[0]};;cpu_atom/branches/;{running[0]};1.00",
        f"{printed[1]};;cpu_core/branches/;{running[1]};1.00",
    )
    got = [count(reading, pmu, "branches")["value"] for pmu in ("cpu_atom", "cpu_core")]
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
    reading = read(kinds_of, *lines)
    assert set(FIELDS) <= set(reading.fields) | set(reading.unavailable)


L1D = ("L1-dcache-load-misses", "L1-dcache-loads")


def test_the_share_of_loads_that_missed_is_known_for_each_kind_that_counts_both_events() -> None:
    # E-cores do not support misses (hybrid-facts, 2.1).
    reading = read(
        HYBRID,
        CLOCK,
        row(f"cpu_core/{L1D[0]}/", 5_000_000, 60),
        row(f"cpu_core/{L1D[1]}/", 100_000_000, 60),
        row(f"cpu_atom/{L1D[0]}/", "<not supported>", 0),
        row(f"cpu_atom/{L1D[1]}/", 50_000_000, 40),
    )
    assert reading.fields["l1d_miss_rate"] == {"P": pytest.approx(0.05)}
    assert "not supported by cpu_atom" in reading.unavailable["l1d_miss_rate.E"]
    assert "l1d_miss_rate.P" not in reading.unavailable


def test_a_kind_without_a_single_load_has_no_share_of_them() -> None:
    reading = read(HOMOGENEOUS, CLOCK, *(row(event, 0) for event in L1D))
    assert reading.fields["l1d_miss_rate"] == {}
    assert reading.unavailable["l1d_miss_rate.P"] == "L1-dcache-loads: none was counted"


def test_the_share_of_misses_is_spoken_of_only_where_it_was_asked_for() -> None:
    reading = read(HOMOGENEOUS, CLOCK, row(L1D[1], 1000))
    assert "l1d_miss_rate" not in reading.fields | reading.unavailable
    assert fields_of(L1D[1:]) == FIELDS
    assert no_counters("no perf", fields_of(L1D)) == Reading(
        {}, dict.fromkeys((*FIELDS, "l1d_miss_rate"), "no perf")
    )
    refused = read(HOMOGENEOUS, CLOCK, *(row(event, "<not supported>", 0) for event in L1D))
    assert "not supported by this node" in refused.unavailable["l1d_miss_rate"]


@pytest.mark.parametrize(
    ("lost_percent", "cycles"),
    [
        # A tenth of 1 ms in 101 ms. By hand: 40e6 + 180e6 + 1.5e6.
        pytest.param(10, 221_500_000, id="of-a-short-part"),
        pytest.param(100, None, id="all-of-a-part"),
    ],
)
def test_an_event_of_several_parts_is_multiplexed_if_the_whole_lost_time(
    lost_percent: int, cycles: int | None
) -> None:
    """Counts of regions are sums of what was counted between their marks."""
    long = parse_perf_output("\n".join((CLOCK, *CYCLES)))
    part_ns = 1_000_000 if lost_percent < 100 else 10_000_000
    running_ns = part_ns * (100 - lost_percent) // 100
    # Hand: perf prints 1.6667e6 for 1.5e6 in nine tenths of the time.
    printed = 1_666_667 if running_ns else "<not counted>"
    short = parse_perf_output(
        f"{part_ns / 1e6:.2f};msec;task-clock;{part_ns};100.00\n"
        "<not counted>;;cpu_atom/cycles/;0;0.00\n"
        f"{printed};;cpu_core/cycles/;{running_ns};{100 - lost_percent}.00\n"
        f"1000;;cpu_core/instructions/;{part_ns};100.00\n"
    )

    reading = read_counters(long, HYBRID, more=[short])

    assert reading.fields.get("cycles") == cycles
    if cycles is None:
        assert "counted for 91% of the time only" in reading.unavailable["cycles"]


LUNAR_LAKE = HYBRID | {"cpu_lowpower": ("LP-E",)}


@pytest.mark.parametrize(
    ("kinds_of", "shares"),
    [
        (HYBRID, {"cpu_core": 90, "cpu_atom": 63}),
        (LUNAR_LAKE, {"cpu_core": 50, "cpu_atom": 40, "cpu_lowpower": 12}),
        # Each PMU's event was on during its own CPUs' time only, or all CPUs were counted.
        (HYBRID, {"cpu_core": 100, "cpu_atom": 100}),
    ],
)
def test_pmus_that_exclude_each_other_cannot_count_for_longer_than_the_program_ran(
    kinds_of: Kinds, shares: Mapping[str, int]
) -> None:
    rows = [row(f"{pmu}/{event}/", 100_000_000, share)
            for pmu, share in shares.items() for event in ("cycles", "instructions")]  # fmt: skip
    reading = read(kinds_of, CLOCK, row("page-faults", 7), *rows)

    assert (reading.fields["task_clock_s"], reading.fields["page_faults"]) == (0.1, 7)
    for field in ("residency", "cycles", "instructions", "freq_ghz", "freq_mean_ghz"):
        assert field not in reading.fields
        assert "of the program's time, which cannot be" in reading.unavailable[field]
    assert not [of for of in reading.fields["counters"] if of["pmu"] in shares]


def test_pmus_that_count_different_events_exclude_each_other_too() -> None:
    reading = read(
        HYBRID, CLOCK, row("cpu_core/cycles/", 300_000_000, 90), row("cpu_atom/branches/", 9, 70)
    )
    assert "were counting for 160%" in reading.unavailable["cycles"]


def test_what_counts_side_by_side_may_add_up_to_any_time() -> None:
    beside = (row(event, 5) for event in ("page-faults", "uncore_imc_0/reads/", "uncore_imc_1/x/"))
    reading = read(HYBRID, CLOCK, *beside, *CYCLES)
    assert reading.fields["residency"] == {"E": 0.4, "P": 0.6}
    assert reading.fields["cycles"] == 220_000_000


def test_clocks_that_differ_in_a_short_part_make_no_run_impossible() -> None:
    part = parse_perf_output("1.00;msec;task-clock;1000000;100.00\n"
                             "900000;;cpu_atom/cycles/;450000;45.00\n"
                             "1800000;;cpu_core/cycles/;600000;60.00")  # fmt: skip
    whole = parse_perf_output("\n".join((CLOCK, *CYCLES)))

    assert "cycles" not in read_counters(part, HYBRID).fields
    both = read_counters(whole, HYBRID, more=[part])

    # Hand: 900e3 x 45 % and 1800e3 x 60 %.
    assert both.fields["cycles"] == 220_000_000 + 405_000 + 1_080_000


def test_an_event_that_another_one_of_its_pmu_outlasts_was_multiplexed() -> None:
    # The times add up to 99.4 %.
    rows = [row("cpu_core/instructions/", 100_000_000, 99), row("cpu_core/cycles/", 4e8, 99)]
    atom = ["200000000;;cpu_atom/cycles/;1000000;1.00", "9;;cpu_atom/instructions/;400000;0.00"]
    reading = read(HYBRID, CLOCK, *rows, *atom)

    assert reading.fields["residency"] == {"P": 0.99, "E": 0.01}
    assert reading.fields["cycles"] == 396_000_000 + 2_000_000
    assert "instructions: counted for 99% of the time only" in reading.unavailable["instructions"]


@pytest.mark.parametrize("event", ["cycles", "instructions"])
def test_a_core_that_runs_has_cycles_and_instructions(event: str) -> None:
    reading = read(HOMOGENEOUS, CLOCK, row(event, 0), row("cache-misses", 0))
    assert event not in reading.fields
    assert reading.unavailable[event] == (
        f"cpu/{event}/: 0 in 0.1 s, which cannot be: its counter stands still"
    )
    assert reading.fields["cache_misses"] == 0


def test_a_short_visit_may_have_been_all_the_kernel_s() -> None:
    rows = row("cpu_core/cycles:u/", 4e8, 99), "0;;cpu_atom/cycles:u/;900000;0.00"
    assert read(HYBRID, CLOCK, *rows).fields["cycles"] == 396_000_000
    of_all = [line.replace(":u", "") for line in rows]
    moment = [line.replace(";900000;", ";9000;") for line in of_all]
    assert read(HYBRID, CLOCK, *moment).fields["cycles"] == 396_000_000
    assert "stands still" in read(HYBRID, CLOCK, *of_all).unavailable["cycles"]


def test_no_cpu_has_a_clock_of_eleven_gigahertz() -> None:
    fast, too_fast = (read(HOMOGENEOUS, CLOCK, row("cycles", ghz * 1e8)) for ghz in (9, 11))
    assert fast.fields["freq_mean_ghz"] == 9.0
    for field in ("cycles", "freq_ghz", "freq_mean_ghz"):
        assert field not in too_fast.fields
        assert "cpu/cycles/: 11 GHz, which cannot be" in too_fast.unavailable[field]


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        # 4e9 Hz for 0.1 s are 4e8 cycles.
        ((row("cycles", 4e8), row("instructions", 2e10)), "instructions/: 50 in a cycle"),
        ((row("instructions", 4e13),), "instructions/: 400,000 in a nanosecond"),
        ((row("cycles", 4e8), row("instructions", 2**64 - 1)), "in a nanosecond"),
        ((row("instructions", -5),), "instructions/: -5, which cannot be"),
        ((row("instructions", 9).replace(";100.00", ";150.00"),), "counting for 150 % of its time"),
    ],
)
def test_no_core_counts_so_much_or_so_little(printed: tuple[str, ...], why: str) -> None:
    reading = read(HOMOGENEOUS, CLOCK, *printed, row("cache-misses", 7))
    assert "instructions" not in reading.fields
    assert why in reading.unavailable["instructions"]
    assert "which cannot be" in reading.unavailable["instructions"]
    assert reading.fields["cache_misses"] == 7


def test_eight_instructions_in_a_cycle_and_waiting_requests_are_believed() -> None:
    waiting = "offcore_requests_outstanding.all_data_rd"
    reading = read(
        HOMOGENEOUS, CLOCK, row("cycles", 4e8), row("instructions", 3.2e9), row(waiting, 2e10)
    )
    assert reading.fields["instructions"] == 3_200_000_000
    assert count(reading, "cpu", waiting)["value"] == 20_000_000_000


@pytest.mark.parametrize(
    ("kinds_of", "rows"),
    [
        # The kernel enabled the events on the CPUs of their PMU only: 100 % of half of the time.
        (HYBRID, ("400000000;;cpu_core/cycles/;50000000;100.00",)),
        (
            HYBRID,
            (
                "400000000;;cpu_core/cycles/;50000000;100.00",
                "<not counted>;;cpu_atom/cycles/;0;100.00",
            ),
        ),
        (HOMOGENEOUS, ("400000000;;cycles;50000000;100.00",)),
        (HOMOGENEOUS, ("400000000;;cycles;150000000;100.00",)),
    ],
)
def test_events_that_were_enabled_for_another_time_than_the_program_s_are_not_its_counts(
    kinds_of: Kinds, rows: tuple[str, ...]
) -> None:
    reading = read(kinds_of, CLOCK, *rows)
    assert reading.fields["task_clock_s"] == 0.1
    for field in ("cycles", "residency", "freq_mean_ghz"):
        assert field not in reading.fields
        assert "s of the program's 0.1 s of CPU time, which cannot be" in reading.unavailable[field]
