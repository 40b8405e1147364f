"""Means and deviations of cases, and what stays out of them."""

from __future__ import annotations

import math
from pathlib import Path

from pinstudy.analysis.records.runs import read_runs
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.summarise import summarise
from tests.support.results import left_out, record, without, write


def summary_of(tmp_path: Path, *records: dict[str, object]) -> list[Case]:
    write(tmp_path, records)
    return summarise(read_runs(tmp_path))


def test_lost_runs_are_counted_with_their_reasons_and_warm_ups_are_not(tmp_path: Path) -> None:
    first, second = summary_of(
        tmp_path,
        record(1, 1, warmup=True, elapsed_s=1000.0),
        *(record(1, r, elapsed_s=t) for r, t in enumerate((3.0, 9.0, 4.0, 5.0), 1)),
        record(1, 5, status="placement-violated", reason="CPU 5 seen", elapsed_s=99.0),
        *(record(1, r, status="timeout", reason="limit", elapsed_s=600.0) for r in (6, 7)),
        record(2, 1, warmup=True),
    )

    time = first.time
    assert (first.n, time.mean, time.median, time.min, time.max) == (4, 5.25, 4.5, 3.0, 9.0)
    assert first.circumstances.excluded == {"placement-violated": 1, "timeout": 2}
    assert first.circumstances.reasons["timeout"] == ["limit"]
    assert (second.n, second.time.n, second.circumstances.excluded) == (0, 0, {})
    assert math.isnan(second.time.mean) and math.isnan(second.time.median)


def test_tables_are_in_the_order_of_the_study_and_rows_in_that_of_numbers(tmp_path: Path) -> None:
    table = summary_of(
        tmp_path,
        record(10, 1),
        record(2, 1),
        record(1, 1, threads=8, case_id="eight"),
        record(1, 1, threads=2, case_id="two"),
        left_out(9, "no E-cores"),
        record(1, 1, app="a", table_number=2, case_id="second table"),
    )

    assert [(case.key.table.app, case.key.table.threads, case.key.number) for case in table] == [
        ("lulesh", 1, 2),
        ("lulesh", 1, 9),
        ("lulesh", 1, 10),
        ("lulesh", 2, 1),
        ("lulesh", 8, 1),
        ("a", 1, 1),
    ]


def test_residency_and_frequency_are_means_by_kind_of_the_runs_that_have_them(
    tmp_path: Path,
) -> None:
    case, without_kinds = summary_of(
        tmp_path,
        record(1, 1, residency={"P": 0.5, "E": 0.5}, freq_ghz={"P": 5.0}),
        record(1, 2, residency={"P": 1.0}, freq_ghz={"P": 5.5, "E": 4.0}),
        record(1, 3, residency={"P": None, "E": True, "LP-E": 10**400}, freq_ghz={}),
        record(1, 4, residency={}, freq_ghz=[5.0]),
        record(1, 5, residency={"P": 9.0}, freq_ghz={"P": 9.0}, warmup=True),
        record(1, 6, residency={"P": 9.0}, freq_ghz={"P": 9.0}, status="failed"),
        without(["residency", "freq_ghz"], "no hardware counters", number=2),
    )

    assert case.means_by_kind("residency") == {"P": 0.75, "E": 0.5}
    assert case.means_by_kind("freq_ghz") == {"P": 5.25, "E": 4.0}
    assert without_kinds.by_kind("residency") == without_kinds.by_kind("freq_ghz") == {}


def test_each_case_has_its_own_reasons_once_in_the_order_of_its_runs(tmp_path: Path) -> None:
    table = summary_of(
        tmp_path,
        without(["energy_pkg_j"], "wrapped", number=1, repetition=1),
        without(["energy_pkg_j", "cache_misses"], "no permission", number=2, repetition=1),
        without(["energy_pkg_j"], "did not move", number=1, repetition=2),
        without(["energy_pkg_j"], "wrapped", number=1, repetition=3),
        without(["energy_pkg_j"], "of a warm-up", number=1, repetition=1) | {"warmup": True},
        record(1, 4, status="failed", reason="b", unavailable={"energy_pkg_j": "of a failed run"}),
        record(1, 5, status="timeout", reason="a"),
        record(1, 6, status="failed", reason="b"),
        record(1, 7, status="failed", reason="a"),
    )

    first, second = (case.circumstances.reasons for case in table)
    assert first == {"failed": ["b", "a"], "timeout": ["a"],
                     "energy_pkg_j": ["wrapped", "did not move"]}  # fmt: skip
    assert second == {"cache_misses": ["no permission"], "energy_pkg_j": ["no permission"]}


def test_what_is_told_of_a_case_is_that_of_its_good_runs(tmp_path: Path) -> None:
    unproved = {"placement": {"verdict": "unproved"}}
    (case,) = summary_of(
        tmp_path,
        record(1, 1, **unproved, driver="intel_cpufreq", governor_read="b"),
        record(1, 2, **unproved, vcpu_placement={"verdict": "unproved"}, driver="acpi-cpufreq",
               governor_read=""),
        record(1, 3, **unproved, warmup=True),
        record(1, 4, **unproved, status="failed", driver="of a failed run"),
        record(1, 5, placement={"verdict": ["unproved"]}, driver="intel_cpufreq",
               governor_read="a"),
        record(1, 6, placement="unproved", driver="acpi-cpufreq", governor_read="a"),
    )  # fmt: skip

    told = case.circumstances
    assert (told.unproved["placement"], told.unproved["vcpu_placement"]) == (2, 1)
    assert told.drivers == ["intel_cpufreq", "acpi-cpufreq"]
    assert told.governors_read == ["b", "a"]


def test_what_a_row_does_not_say_is_none_and_counts_are_whole_numbers(tmp_path: Path) -> None:
    table = summary_of(
        tmp_path, record(1, 1, vm_cpus=8, engine="vm"), record(2, 1, table_number=None)
    )
    # The row whose table has no number stands first.
    assert [case.key.number for case in table] == [2, 1]
    assert [case.key.table.number for case in table] == [None, 1]
    assert [case.key.table.vm_cpus for case in table] == [None, 8]
    assert isinstance(table[1].key.table.vm_cpus, int)
    assert [case.key.mechanism for case in table] == [None, None]
    assert [case.key.engine for case in table] == [None, "vm"]
