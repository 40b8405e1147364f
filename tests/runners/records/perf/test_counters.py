"""A row of perf becomes a number of the program only where that is what it is."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinstudy.base.reading import Reading
from pinstudy.runners.records.perf.counters import (
    FIELDS,
    L1D_EVENTS,
    fields_of,
    no_counters,
    read_counters,
)
from pinstudy.runners.records.perf.output import parse_perf_output
from tests.support.tools import DATA

Kinds = Mapping[str, Sequence[str]]

HYBRID = {"cpu_atom": ("E",), "cpu_core": ("P",)}
METEOR_LAKE = {"cpu_atom": ("E", "LP-E"), "cpu_core": ("P",)}
LUNAR_LAKE = HYBRID | {"cpu_lowpower": ("LP-E",)}
ARM = {"armv8_cortex_a55": ("E",), "armv8_cortex_a76": ("P",)}
HOMOGENEOUS = {"cpu": ("P",)}
NO_PMU = "no hardware PMU in this virtual machine"


# A core's clock, and what perf prints for 40e6 cycles on E-cores and 180e6 on P-cores.
CYCLES = "cpu_atom/cycles/=100000000@40 cpu_core/cycles/=300000000@60"
ON_P_CORES = "cpu_atom/cycles/=-@0 cpu_core/cycles/=4e8"
MISSES, LOADS = L1D_EVENTS
CANNOT_BE = "which cannot be"


def rows(events: str, clock: str = "task-clock=100.00") -> str:
    """Return perf's rows of a program's 100 ms.

    An event is written `name=printed@percent`: what perf prints, and for how much of the time it
    was counting, by default all of it. `-` is printed for "not counted", `x` for "not supported".
    """
    made = []
    for event in f"{clock} {events}".split():
        name, _, text = event.rpartition("=")
        printed, _, percent = text.partition("@")
        printed = {"-": "<not counted>", "x": "<not supported>"}.get(printed, printed)
        share = float(percent or 100)
        made.append(f"{printed};;{name};{share * 1e6:.0f};{int(share)}.00")
    return "\n".join(made)


def read(kinds_of: Kinds, text: str, kernel_share: float | None = None) -> Reading:
    return read_counters(parse_perf_output(text), kinds_of, kernel_share=kernel_share)


def read_file(name: str, kinds_of: Kinds) -> Reading:
    output = parse_perf_output((DATA / "perf" / name).read_text())
    return read_counters(output, kinds_of, NO_PMU)


def count(reading: Reading, name: str) -> dict[str, Any]:
    """Return the count that a PMU has of an event."""
    counters = reading.fields["counters"]
    (found,) = (counted for counted in counters if f"{counted['pmu']}/{counted['event']}" == name)
    return dict(found)


def check(reading: Reading, expected: Mapping[str, object], absent: Collection[str] = ()) -> None:
    """Compare fields, and counts by `PMU/event`; a text is a part of an absent one's reason."""
    counted = {f"{c['pmu']}/{c['event']}": c["value"] for c in reading.fields.get("counters", ())}
    values = reading.fields | counted
    for name, value in expected.items():
        if not isinstance(value, str):
            assert values[name] == (value if isinstance(value, int) else pytest.approx(value)), name
            assert name not in reading.unavailable
            continue
        field, _, kind = name.partition(".")
        assert value in reading.unavailable[name]
        assert kind not in values.get(field, {}) if kind else field not in values
    assert not set(absent) & set(values)


def test_the_recorded_unpinned_run_is_unscaled_to_what_each_kind_really_counted() -> None:
    reading = read_file("unpinned.csv", HYBRID)
    # 133119427 x 527314 / 173176999 and 812254473 x 172649685 / 173176999; 527314 + 172649685 is
    # the software event's 173176999 exactly, so nothing was multiplexed.
    assert count(reading, "cpu_atom/cycles") == {
        **{"pmu": "cpu_atom", "kinds": ["E"], "event": "cycles", "value": 405_341},
        **{"enabled_ns": 173_176_999, "running_ns": 527_314, "multiplexed": False},
    }
    expected = {
        "cpu_core/cycles": 809_781_205,
        "cycles": 405_341 + 809_781_205,
        "page_faults": 62,
        # value / enabled: 133119427 / 173176999 and 812254473 / 173176999 cycles a nanosecond.
        "freq_ghz": {"E": 133_119_427 / 173_176_999, "P": 812_254_473 / 173_176_999},
        "freq_mean_ghz": 810_186_546 / 173_176_999,
        "residency": {"P": 172_649_685 / 173_176_999, "E": 527_314 / 173_176_999},
    }
    check(reading, expected)


ONE_PMU = [
    "cycles=3e8 instructions=6e8",
    "cpu/cpu-cycles/=3e8 cpu/instructions/=6e8",
    "cpu/cpu-cycles/u=3e8 cpu/instructions:u/=6e8",
    # A node with one PMU prints rows without its name; none counts twice.
    "cycles=3e8 cpu/cycles/=3e8 instructions=6e8",
]
ONE_PMU_FIELDS = {"cpu/cycles": 3 * 10**8, "instructions": 6 * 10**8, "residency": {"P": 1.0}}
ON_ARM = "armv8_cortex_a55/{0}=2e8@25 armv8_cortex_a76/{0}=4e8@75 instructions=x@0"
# Counted is what is printed, times the share of the time.
ARM_FIELDS = {
    **{"cycles": 50_000_000 + 300_000_000, "residency": {"E": 0.25, "P": 0.75}},
    "instructions": "instructions: not supported by this node",
}
USER_CYCLES = "cpu_atom/cycles/u=9e7@40 cpu_core/cycles:u/=2.9e8@60"
FAULTS = "page-faults:u=3 page-faults=7 minor-faults=5"
TOGETHER = "cpu_atom counts E and LP-E cores together"


@pytest.mark.parametrize(
    ("kinds_of", "events", "expected"),
    [
        (HYBRID, ON_P_CORES, {"residency": {"E": 0.0, "P": 1.0}, "freq_ghz": {"P": 4.0}}),
        (HYBRID, ON_P_CORES, {"cycles": 4 * 10**8, "freq_ghz.E": "never ran on an E-core"}),
        (HYBRID, ON_P_CORES, {"counters.cpu_atom/cycles": "the program never ran on an E-core"}),
        (METEOR_LAKE, ON_P_CORES, {"residency": {"P": 1.0, "E": 0.0, "LP-E": 0.0}}),
        (METEOR_LAKE, CYCLES, {"residency_pmu": {"cpu_atom": 0.4, "cpu_core": 0.6}}),
        (METEOR_LAKE, CYCLES, {"residency": {"P": 0.6}, "freq_ghz": {"P": 3.0}}),
        (METEOR_LAKE, CYCLES, dict.fromkeys(("residency.LP-E", "freq_ghz.E"), TOGETHER)),
        *[(HOMOGENEOUS, events, ONE_PMU_FIELDS) for events in ONE_PMU],
        (ARM, ON_ARM.format("cycles/u"), ARM_FIELDS),
        (ARM, ON_ARM.format("cpu_cycles/"), ARM_FIELDS | {"freq_ghz": {"E": 2.0, "P": 4.0}}),
        # What has a field of its own is not listed; modes of one event are apart.
        (HYBRID, FAULTS, {"page_faults": 7, "software/minor-faults": 5, "cycles": "no row"}),
        (
            HYBRID,
            f"{USER_CYCLES} {CYCLES}",
            {"cycles": 220_000_000, "cpu_atom/cycles:u": 36 * 10**6},
        ),
        (HYBRID, f"{USER_CYCLES} {CYCLES}", {"cpu_core/cycles:u": 174_000_000}),
        # What only the kernel or a guest did, in the order of perf's command line.
        *[
            (
                HOMOGENEOUS,
                f"cycles:{modes}=3e6 cycles=3e8",
                {"cycles": 3 * 10**8, "freq_mean_ghz": 3.0},
            )
            for modes in ("k", "h", "kh", "G")
        ],
        (HOMOGENEOUS, "cycles:k=3e6", {"cpu/cycles:k": 3 * 10**6, "cycles": "perf printed no row"}),
        (HOMOGENEOUS, "cycles=-@0", {"cycles": "other events held the counters"}),
        # The kernel alone in a short visit, and the switch to it in a shorter one.
        (HYBRID, "cpu_core/cycles:u/=4e8@99 cpu_atom/cycles:u/=0@0.9", {"cycles": 396_000_000}),
        (HYBRID, "cpu_core/cycles/=4e8@99 cpu_atom/cycles/=0@0.009", {"cycles": 396_000_000}),
        (HYBRID, "cpu_core/cycles/=4e8@99 cpu_atom/cycles/=0@0.9", {"cycles": "stands still"}),
        # Eight instructions in a cycle, and requests that wait.
        (HOMOGENEOUS, "cycles=4e8 instructions=3.2e9", {"instructions": 3_200_000_000}),
        (HOMOGENEOUS, "offcore.all_data_rd=2e10", {"cpu/offcore.all_data_rd": 2 * 10**10}),
    ],
)
def test_rows_become_the_programs_numbers_or_their_reasons(
    kinds_of: Kinds, events: str, expected: dict[str, object]
) -> None:
    check(read(kinds_of, rows(events)), expected)


def test_a_row_of_the_whole_time_is_exact_whatever_time_the_task_clock_shows() -> None:
    """Rows of a guest whose kernel was interrupted between its software and hardware events."""
    reading = read(
        HYBRID,
        "1018.38;msec;task-clock;1018379762;100.00\n"
        "4461000000;;cpu_atom/cycles/;1000000000;100.00\n"
        "8922000000;;cpu_atom/instructions/;999000000;100.00\n"
        "<not counted>;;cpu_core/cycles/;0;0.00",
    )
    check(reading, {"cycles": 4_461_000_000, "instructions": 8_922_000_000})
    expected = {"residency": {"E": 1.0, "P": 0.0}}
    check(reading, expected | {"freq_ghz": {"E": 4.461}, "task_clock_s": 1.018379762})


def test_real_multiplexing_is_told_from_residency() -> None:
    misses = "cpu_atom/cache-misses/=5000@20 cpu_core/cache-misses/=5000@60"
    reading = read(HYBRID, rows(f"{CYCLES} {misses}"))
    check(reading, {"residency": {"E": 0.4, "P": 0.6}, "cycles": 40_000_000 + 180_000_000})
    check(reading, {"cache_misses": "80% of the time"})
    names = ("cpu_atom/cycles", "cpu_atom/cache-misses", "cpu_core/cache-misses")
    assert [count(reading, name)["multiplexed"] for name in names] == [False, True, True]


def test_when_every_event_is_multiplexed_there_is_no_residency() -> None:
    reading = read(HYBRID, rows("cpu_atom/cycles/=1e8@20 cpu_core/cycles/=3e8@50"))
    # Still a mean over a sample of the time: 300e6 x 0.5 cycles in 50 ms.
    check(reading, {"freq_ghz": {"P": 3.0, "E": 1.0}, "residency": "multiplexed"})


def test_an_event_that_one_kind_lacks_has_no_total_and_is_not_called_multiplexed() -> None:
    misses = "cpu_atom/cache-misses/=x@0 cpu_core/cache-misses/=1000@60"
    reading = read(HYBRID, rows(f"{CYCLES} {misses}"))
    why = "cpu_atom/cache-misses/: not supported by cpu_atom"
    check(reading, {"cpu_core/cache-misses": 600, "cache_misses": why})
    assert count(reading, "cpu_core/cache-misses")["multiplexed"] is False


def test_an_event_that_another_one_of_its_pmu_outlasts_was_multiplexed() -> None:
    # The times of instructions add up to 99.4 %.
    core = "cpu_core/instructions/=1e8@99 cpu_core/cycles/=4e8@99"
    atom = "cpu_atom/cycles/=2e8@1 cpu_atom/instructions/=9@0.4"
    reading = read(HYBRID, rows(f"{core} {atom}"))
    check(reading, {"residency": {"P": 0.99, "E": 0.01}, "cycles": 396_000_000 + 2_000_000})
    check(reading, {"instructions": "instructions: counted for 99% of the time only"})


def test_without_a_software_event_nothing_is_unscaled() -> None:
    reading = read(HYBRID, rows(CYCLES, clock=""))
    names = ("cycles", "freq_mean_ghz", "freq_ghz", "residency")
    check(reading, {"counters": [], **dict.fromkeys(names, "task-clock")})


def test_a_perf_that_does_not_know_the_kinds_is_not_believed() -> None:
    reading = read(HYBRID, rows("cycles=3e8"))
    check(reading, {"cycles": "one core kind only"}, absent=("freq_mean_ghz", "residency"))


def test_a_guest_without_a_pmu_gives_software_events_and_reasons() -> None:
    software = {"context_switches": 1871, "migrations": 799, "page_faults": 82}
    reading = read_file("guest.csv", {})
    check(reading, {"task_clock_s": 0.610313971, **software})
    check(reading, dict.fromkeys(("cycles", "freq_ghz", "residency"), NO_PMU))
    assert reading.fields["counted_modes"] == "user+kernel"


def test_a_zero_that_only_means_no_permission_is_not_a_count() -> None:
    reading = read_file("guest-user.csv", {})
    hidden = dict.fromkeys(("migrations", "context_switches"), "kernel.perf_event_paranoid")
    check(reading, {"page_faults": 119, **hidden})
    assert reading.fields["counted_modes"] == "user"
    assert read(HYBRID, rows(FAULTS)).fields["counted_modes"] == "mixed"


@pytest.mark.parametrize(
    ("kernel_share", "known"), [(None, False), (0.3, False), (0.011, False), (0.009, True)]
)
def test_user_cycles_give_a_frequency_only_when_the_kernel_had_little_of_the_time(
    kernel_share: float | None, known: bool
) -> None:
    text = rows("cycles:u=3e8", clock="task-clock:u=100.00")
    reading = read(HOMOGENEOUS, text, kernel_share)
    check(reading, {"cycles": 300_000_000, "freq_mean_ghz": 3.0 if known else "user mode only"})


def test_energy_rows_are_not_the_programs() -> None:
    reading = read(HOMOGENEOUS, rows("power/energy-pkg/=475.42"))
    check(reading, {"counters.power/energy-pkg": "whole machine"})


def test_rows_of_single_cpus_are_not_taken_for_the_whole() -> None:
    text = "\n".join(f"CPU{cpu};5;;cpu-migrations;100000000;100.00" for cpu in range(2))
    assert "migrations" not in read({}, text).fields


def test_without_rows_or_counts_every_field_has_a_reason_and_none_is_zero() -> None:
    for text in ("", "# started on a day\n\n", "Killed\n"):
        assert read(HYBRID, text).fields == {}
        assert set(read(HYBRID, text).unavailable) == set(FIELDS)
    never_ran = read(HOMOGENEOUS, rows("cpu-migrations=-@0 cycles=-@0", clock="task-clock=-@0"))
    assert never_ran.fields == {"counters": []}
    assert set(FIELDS) <= set(never_ran.unavailable)


def test_lines_that_are_not_understood_are_reported_beside_the_others() -> None:
    text = rows("page-faults=5") + "\nKilled"
    check(read({}, text), {"page_faults": 5, "perf_output": "'Killed'"})


def test_the_share_of_loads_that_missed_is_of_each_kind_that_counts_both_events() -> None:
    # E-cores do not support misses (hybrid-facts, 2.1).
    core = f"cpu_core/{MISSES}/=5e6@60 cpu_core/{LOADS}/=1e8@60"
    reading = read(HYBRID, rows(f"{core} cpu_atom/{MISSES}/=x@0 cpu_atom/{LOADS}/=5e7@40"))
    check(reading, {"l1d_miss_rate": {"P": 0.05}, "l1d_miss_rate.E": "not supported by cpu_atom"})
    none = read(HOMOGENEOUS, rows(f"{MISSES}=0 {LOADS}=0"))
    check(none, {"l1d_miss_rate": {}, "l1d_miss_rate.P": "L1-dcache-loads: none was counted"})
    refused = read(HOMOGENEOUS, rows(f"{MISSES}=x@0 {LOADS}=x@0"))
    check(refused, {"l1d_miss_rate": "not supported by this node"})


def test_the_share_of_misses_is_spoken_of_only_where_it_was_asked_for() -> None:
    reading = read(HOMOGENEOUS, rows(f"{LOADS}=1000"))
    assert "l1d_miss_rate" not in reading.fields | reading.unavailable
    assert fields_of([LOADS]) == FIELDS
    assert no_counters("no perf", fields_of(L1D_EVENTS)) == Reading(
        {}, dict.fromkeys((*FIELDS, "l1d_miss_rate"), "no perf")
    )


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
        f"1.00;msec;task-clock;{enabled};100.00\n"
        f"{printed[0]};;cpu_atom/branches/;{running[0]};1.00\n"
        f"{printed[1]};;cpu_core/branches/;{running[1]};1.00",
    )
    got = [count(reading, f"{pmu}/branches")["value"] for pmu in HYBRID]
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
    reading = read(kinds_of, "\n".join(lines))
    assert set(FIELDS) <= set(reading.fields) | set(reading.unavailable)


# What perf printed of a part of the run, beside 100 ms; and the cycles of both.
PARTS = {
    # A tenth of 1 ms lost in 101 ms: perf prints 1.6667e6 for 1.5e6. 40e6 + 180e6 + 1.5e6.
    "a tenth of a short part": (1_000_000, {"core": (1_666_667, 900_000)}, 221_500_000),
    "all of a part": (10_000_000, {"core": ("<not counted>", 0)}, None),
    # Clocks that differ, which alone would be impossible: 900e3 x 45 % and 1800e3 x 60 %.
    "clocks that differ": (
        *(1_000_000, {"atom": (900_000, 450_000), "core": (1_800_000, 600_000)}),
        220_000_000 + 405_000 + 1_080_000,
    ),
}


@pytest.mark.parametrize(("part_ns", "counted", "cycles"), PARTS.values(), ids=PARTS)
def test_parts_of_a_run_are_judged_as_a_whole(
    part_ns: int, counted: dict[str, tuple[object, int]], cycles: int | None
) -> None:
    """Counts of regions are sums of what was counted between their marks."""
    text = f"1.00;msec;task-clock;{part_ns};100.00\n"
    for core in ("atom", "core"):
        printed, run_ns = counted.get(core, ("<not counted>", 0))
        text += f"{printed};;cpu_{core}/cycles/;{run_ns};{100 * run_ns // part_ns}.00\n"
    if len(counted) == 1:
        text += f"1000;;cpu_core/instructions/;{part_ns};100.00\n"
    part = parse_perf_output(text)

    reading = read_counters(parse_perf_output(rows(CYCLES)), HYBRID, more=[part])

    check(reading, {"cycles": cycles or "counted for 91% of the time only"})
    assert "cycles" not in read_counters(part, HYBRID).fields


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
    events = [f"{pmu}/cycles/=1e8@{share}" for pmu, share in shares.items()]
    events += [event.replace("cycles", "instructions") for event in events]
    reading = read(kinds_of, rows(" ".join(["page-faults=7", *events])))
    check(reading, {"task_clock_s": 0.1, "page_faults": 7, "counters": []})
    names = ("residency", "cycles", "instructions", "freq_ghz", "freq_mean_ghz")
    check(reading, dict.fromkeys(names, f"of the program's time, {CANNOT_BE}"))


def test_times_of_pmus_are_added_up_whatever_events_they_count() -> None:
    unlike = read(HYBRID, rows("cpu_core/cycles/=3e8@90 cpu_atom/branches/=9@70"))
    check(unlike, {"cycles": "were counting for 160%"})
    # What counts side by side may add up to any time.
    beside = "page-faults=5 uncore_imc_0/reads/=5 uncore_imc_1/x/=5"
    reading = read(HYBRID, rows(f"{beside} {CYCLES}"))
    check(reading, {"residency": {"E": 0.4, "P": 0.6}, "cycles": 220_000_000})


@pytest.mark.parametrize("event", ["cycles", "instructions"])
def test_a_core_that_runs_has_cycles_and_instructions(event: str) -> None:
    reading = read(HOMOGENEOUS, rows(f"{event}=0 cache-misses=0"))
    why = f"cpu/{event}/: 0 in 0.1 s, {CANNOT_BE}: its counter stands still"
    check(reading, {"cache_misses": 0, event: why})


def test_no_cpu_has_a_clock_of_eleven_gigahertz() -> None:
    check(read(HOMOGENEOUS, rows("cycles=9e8")), {"freq_mean_ghz": 9.0})
    names = ("cycles", "freq_ghz", "freq_mean_ghz")
    too_fast = dict.fromkeys(names, f"cpu/cycles/: 11 GHz, {CANNOT_BE}")
    check(read(HOMOGENEOUS, rows("cycles=1.1e9")), too_fast)


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        # 4e9 Hz for 0.1 s are 4e8 cycles.
        ("cycles=4e8 instructions=2e10", f"instructions/: 50 in a cycle, {CANNOT_BE}"),
        ("instructions=4e13", f"instructions/: 400,000 in a nanosecond, {CANNOT_BE}"),
        (f"cycles=4e8 instructions={2**64 - 1}", f"in a nanosecond, {CANNOT_BE}"),
        ("instructions=-5", f"instructions/: -5, {CANNOT_BE}"),
    ],
)
def test_no_core_counts_so_much_or_so_little(printed: str, why: str) -> None:
    reading = read(HOMOGENEOUS, rows(f"{printed} cache-misses=7"))
    check(reading, {"cache_misses": 7, "instructions": why})
    text = f"{rows('')}\n9;;instructions;100000000;150.00"
    too_long = {"instructions": f"counting for 150 % of its time, {CANNOT_BE}"}
    check(read(HOMOGENEOUS, text), too_long)


@pytest.mark.parametrize(
    ("kinds_of", "counted"),
    [
        # The kernel enabled the events on the CPUs of their PMU only: 100 % of half of the time.
        (HYBRID, "400000000;;cpu_core/cycles/;50000000;100.00"),
        (HOMOGENEOUS, "400000000;;cycles;50000000;100.00"),
        (HOMOGENEOUS, "400000000;;cycles;150000000;100.00"),
    ],
)
def test_events_enabled_at_other_times_are_not_the_programs(kinds_of: Kinds, counted: str) -> None:
    reading = read(kinds_of, f"{rows('')}\n{counted}")
    why = f"s of the program's 0.1 s of CPU time, {CANNOT_BE}"
    check(reading, {"task_clock_s": 0.1, **dict.fromkeys(("cycles", "residency"), why)})
