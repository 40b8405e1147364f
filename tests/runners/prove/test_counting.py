"""Counters are judged by work of a known amount: honest ones are ok, each lie is off."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pinstudy.base.reading import Unavailable
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.topology import Cache
from pinstudy.runners.prove.bench import Seen
from pinstudy.runners.prove.counting import (
    EVENTS_AT_ONCE,
    KindRuns,
    far_bytes,
    judge_cycles,
    judge_frequency,
    judge_instructions,
    judge_migrations,
    judge_misses,
    judge_multiplexing,
    judge_residency,
    judge_sum,
    judge_switches,
)
from pinstudy.runners.records.instruments import Finding
from pinstudy.runners.records.perf.counters import read_counters
from pinstudy.runners.records.perf.output import parse_perf_output
from pinstudy.runners.records.perf.scaling import CANNOT_BE
from tests.runners.prove.seen import KINDS, chain, of_kind, rows, seen, started
from tests.runners.topologies import topology

BOTH = (of_kind("cpu_core"), of_kind("cpu_atom"))


def state(finding: Finding) -> tuple[str, str]:
    return finding.state, finding.why


def multiplied(run: Seen, event: str, factor: float) -> Seen:
    counters = [
        row | ({"value": row["value"] * factor} if row["event"] == event else {})
        for row in run.fields["counters"]
    ]
    fields = {**run.fields, "counters": counters, event: run.fields[event] * factor}
    if event == "cycles":
        freq = {kind: ghz * factor for kind, ghz in run.fields["freq_ghz"].items()}
        fields |= {"freq_ghz": freq, "freq_mean_ghz": run.fields["freq_mean_ghz"] * factor}
    return replace(run, fields=fields)


@pytest.mark.parametrize("honest", BOTH, ids=lambda honest: honest.kind.name)
def test_honest_counters_of_each_kind_are_ok(honest: KindRuns) -> None:
    assert state(judge_instructions(honest)) == ("ok", "")
    assert state(judge_cycles(honest)) == ("ok", "")
    frequency, kernel = judge_frequency(honest)
    assert state(frequency) == ("ok", "")
    assert kernel.state == "absent"


def test_a_hundredth_too_many_instructions_are_told_and_name_the_fields() -> None:
    honest = of_kind("cpu_core")
    finding = judge_instructions(
        replace(honest, chain=multiplied(honest.chain, "instructions", 1.01))
    )

    assert state(finding) == ("off", "+1.00% off, at most 0.10% is allowed")
    assert finding.fields == ("instructions", "instructions.P")
    assert finding.truth == "4,080,000,000 in the loop"


def test_a_tenth_too_many_cycles_are_told_by_the_addition_and_by_the_frequency() -> None:
    honest = of_kind("cpu_atom")
    lying = replace(honest, chain=multiplied(honest.chain, "cycles", 1.1))

    assert judge_cycles(lying).state == "off"
    assert judge_frequency(lying)[0].state == "off"


def test_cycles_that_differ_between_cpus_or_frequencies_are_told() -> None:
    honest = of_kind("cpu_core")
    other = started(chain("cpu_core", 0.4, 3.0), honest.empty)

    assert judge_cycles(honest, [other]).state == "ok"
    finding = judge_cycles(honest, [multiplied(other, "cycles", 1.015)])
    assert finding.state == "off"
    assert "varies by 1.5" in finding.why


def test_counts_of_the_other_kinds_pmu_are_told() -> None:
    """A program on a P-core, whose counts are those of the E-cores' PMU."""
    honest = of_kind("cpu_core")
    swapped = replace(honest, chain=chain("cpu_atom"))

    assert state(judge_instructions(swapped)) == (
        "off",
        "counted by cpu_atom, not by that of the P-cores",
    )
    assert judge_cycles(swapped).state == "off"


def test_the_kernels_frequency_is_judged_by_additions() -> None:
    assert judge_frequency(of_kind("cpu_core", kernel_ghz=4.05))[1].state == "ok"
    finding = judge_frequency(of_kind("cpu_core", kernel_ghz=4.4))[1]
    assert state(finding) == ("off", "+10.00% off, at most 2.00% is allowed")
    assert finding.fields == ()


def test_of_an_emulated_cpu_the_kernels_frequency_is_the_truth() -> None:
    honest = of_kind("cpu_core", kernel_ghz=4.0)
    emulated = replace(honest, chain=replace(honest.chain, emulated=True))

    assert judge_cycles(emulated).state == "absent"
    assert [finding.state for finding in judge_frequency(emulated)] == ["ok", "ok"]
    lying = replace(emulated, chain=multiplied(emulated.chain, "cycles", 1.1))
    assert judge_frequency(lying)[0].state == "off"


def split(first_s: float, last_s: float, *, lost: float = 1.0) -> Seen:
    """Return a run on a P-core, then on an E-core, which counts a share of its cycles there."""
    on_ns = {"cpu_core": round(first_s * 1e9), "cpu_atom": round(last_s * 1e9)}
    counts = {("cpu_core", "cycles"): 4e9 * first_s, ("cpu_atom", "cycles"): 2e9 * last_s * lost}
    printed = {
        "first_s": first_s,
        "last_s": last_s,
        "first_additions": 4e9 * first_s,
        "last_additions": 2e9 * last_s,
    }
    return seen(on_ns, counts, printed)


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_a_thread_that_changes_its_kind_is_counted_on_both(share: float) -> None:
    run = split(share, 1 - share)
    residency = judge_residency(run, *BOTH)
    assert state(residency) == ("ok", "")
    assert residency.measured == f"{share:.1%}"
    assert state(judge_sum(run, *BOTH)) == ("ok", "")
    # Cycles that are lost after a migration, and perf's extrapolation that is not undone.
    lost = split(share, 1 - share, lost=0.0)
    assert (judge_residency(lost, *BOTH).state, judge_sum(lost, *BOTH).state) == ("ok", "off")
    extrapolated = replace(run, fields={**run.fields, "cycles": 4e9 + 2e9})
    assert judge_sum(extrapolated, *BOTH).state == "off"
    moved = {"P": share + 0.02, "E": 0.98 - share}
    finding = judge_residency(replace(run, fields={**run.fields, "residency": moved}), *BOTH)
    assert state(finding) == ("off", "2.0 points off, at most 1 allowed")


def test_a_program_is_on_its_first_cpu_while_it_starts() -> None:
    """A start of 0.02 s on the P-core: 0.1 and 0.9 s of work are 11.8 % there."""
    run = split(0.12, 0.9)
    run = replace(run, printed={**run.printed, "first_s": 0.1})
    found = judge_residency(run, *BOTH)

    assert (found.truth, found.measured, found.state) == ("11.8% on P", "11.8%", "ok")


def test_cycles_of_an_emulated_cpu_are_those_of_its_clock_and_its_time() -> None:
    emulated = [replace(kind, chain=replace(kind.chain, emulated=True)) for kind in BOTH]
    run = split(0.5, 0.5)
    assert judge_sum(run, *emulated).state == "ok"
    assert judge_sum(split(0.5, 0.5, lost=0.8), *emulated).state == "off"


def test_what_two_cpus_of_a_kind_count_is_what_each_counts() -> None:
    on_ns = {"cpu_core": 10**9}
    printed = {"first_additions": 2e9, "last_additions": 2e9}
    whole = seen(on_ns, {("cpu_core", "cycles"): 4e9}, printed)
    half = seen(on_ns, {("cpu_core", "cycles"): 2e9}, printed)
    p = replace(BOTH[0], elsewhere=(BOTH[0].chain,))

    assert judge_sum(whole, p, p).state == "ok"
    assert judge_sum(half, p, p).state == "off"


def test_an_event_that_lost_time_to_others_shows_it() -> None:
    counts = {(pmu, event): 2e9 for pmu in KINDS for event in ("instructions", "cycles")}
    task_clock, *events = rows({"cpu_core": 10**9}, counts).splitlines()
    cut = [row.replace(";1000000000;100.00;;", ";600000000;60.00;;") for row in events]
    reading = read_counters(parse_perf_output("\n".join([task_clock, *cut]) + "\n"), KINDS)
    found = judge_multiplexing(Seen(reading.fields, reading.unavailable))

    assert state(found) == ("ok", "")
    assert found.measured == "seen: an event was counted for 60% of the time"
    assert found.truth == f"{EVENTS_AT_ONCE} events at once"
    assert judge_multiplexing(chain("cpu_core")).state == "absent"


@pytest.mark.parametrize(
    ("counted", "expected"),
    [(200, "ok"), (201, "ok"), (205, "ok"), (206, "off"), (199, "off"), (0, "off")],
)
def test_migrations_are_the_moves_and_a_few_of_the_kernels(counted: int, expected: str) -> None:
    finding = judge_migrations(Seen({"migrations": counted}, {}, {"moves": 200}))
    assert finding.state == expected
    assert ("the kernel's" in finding.measured) is (counted in (201, 205))


@pytest.mark.parametrize(
    ("counted", "left", "expected"),
    [
        *((1000, 1000, "ok"), (1050, 1003, "ok"), (1051, 1003, "off"), (999, 1000, "off")),
        # Some sleeps were over before the thread had left its CPU.
        *((970, 970, "ok"), (969, 970, "off")),
    ],
)
def test_context_switches_are_the_sleeps_and_few_more(
    counted: int, left: int, expected: str
) -> None:
    run = Seen({"context_switches": counted}, {}, {"sleeps": 1000, "left": left})
    assert judge_switches(run).state == expected


def test_without_counters_the_reason_is_told_and_a_count_that_cannot_be_is_off() -> None:
    blind = of_kind("cpu_core", Seen({}, {"instructions": "no PMU", "cycles": "no PMU"}))
    assert state(judge_instructions(blind)) == state(judge_cycles(blind)) == ("absent", "no PMU")
    wrong = of_kind("cpu_core", Seen({}, {"cycles": f"0 in 2 s, {CANNOT_BE}: it stands still"}))
    assert judge_cycles(wrong).state == "off"


def reads(misses: int) -> list[Seen]:
    start = Seen({"cache_misses": 5000}, {}, {"reads": 0})
    return [start, Seen({"cache_misses": 5000 + misses}, {}, {"reads": 1_000_000})]


def test_reads_miss_beyond_the_last_cache_and_not_within_the_first() -> None:
    honest = judge_misses("P", reads(20), reads(990_000))
    assert [finding.state for finding in honest] == ["ok", "ok"]
    assert [finding.measured for finding in honest] == ["0.000 a read", "0.990 a read"]

    none = judge_misses("P", reads(20), reads(1000))
    assert [finding.state for finding in none] == ["ok", "off"]
    too_many = judge_misses("P", reads(400_000), reads(990_000))
    assert [finding.state for finding in too_many] == ["off", "ok"]


def test_memory_far_beyond_the_last_cache_must_be_free(tmp_path: Path) -> None:
    node = topology([("0", "P", 0)])
    caches = (Cache(2, "Unified", 2 * 1024**2, (0,)), Cache(3, "Unified", 32 * 1024**2, (0,)))
    node = replace(node, caches=caches)
    (tmp_path / "proc").mkdir()
    info = tmp_path / "proc" / "meminfo"

    info.write_text("MemTotal: 8000000 kB\nMemAvailable: 4000000 kB\n")
    assert far_bytes(node, Tree(tmp_path)) == 128 * 1024**2
    info.write_text("MemAvailable: 400000 kB\n")
    found = far_bytes(node, Tree(tmp_path))
    assert isinstance(found, Unavailable)
    assert "128 MiB" in found.reason
