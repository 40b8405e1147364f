"""A table whose rows were placed by different schedulers says so, also where a governor did it."""

from __future__ import annotations

from pathlib import Path

from tests.support.results import Record, notes_of, record, tables_from

ROWS = {"performance": 1, "schedutil": 6}


def notes(folder: Path, *records: Record) -> list[str]:
    (table,) = tables_from(folder, records)
    return [note for note in notes_of(table) if note != "one run has no standard deviation"]


def under(governor: str, energy_aware: str | None, repetition: int = 1) -> Record:
    """Return a good run under a governor, with that state of energy-aware scheduling."""
    return record(
        ROWS[governor],
        repetition,
        governor=governor,
        governor_read=governor,
        sched_energy_aware=energy_aware,
    )


def test_a_governor_that_switches_energy_aware_scheduling_is_no_factor_alone(
    tmp_path: Path,
) -> None:
    runs = [under("performance", "impossible"), under("schedutil", "on")]
    assert notes(tmp_path, *runs) == [
        "energy-aware scheduling (EAS) was impossible under performance, on under schedutil: "
        "these governors differ in how the kernel places threads, too"
    ]


def test_governors_of_one_state_are_named_together(tmp_path: Path) -> None:
    third = under("performance", "impossible") | {
        **{"case_id": "case7", "case_number": 7},
        **dict.fromkeys(("governor", "governor_read"), "powersave"),
    }
    runs = [under("performance", "impossible"), under("schedutil", "on"), third]
    (note,) = notes(tmp_path, *runs)
    assert "impossible under performance and powersave, on under schedutil" in note


def test_a_study_of_the_current_governor_names_the_one_in_force(tmp_path: Path) -> None:
    runs = [under("performance", "impossible"), under("schedutil", "on")]
    *_, note = notes(tmp_path, *(run | {"governor": "current"} for run in runs))
    assert "impossible under performance, on under schedutil" in note


def test_a_difference_that_no_governor_made_is_given_by_rows(tmp_path: Path) -> None:
    runs = [
        under("schedutil", "on"),
        under("schedutil", "off", repetition=2),
        under("performance", "off"),
    ]
    assert notes(tmp_path, *runs) == [
        "energy-aware scheduling (EAS) was off in #1, #6, on in #6: these rows differ in how "
        "the kernel places threads, too"
    ]


def test_equal_states_and_unknown_ones_need_no_note(tmp_path: Path) -> None:
    equal = [under("performance", "on"), under("schedutil", "on")]
    unknown = [under("performance", None), under("schedutil", "on")]
    assert notes(tmp_path / "equal", *equal) == []
    assert notes(tmp_path / "unknown", *unknown) == []


def test_runs_that_are_not_averaged_switch_nothing(tmp_path: Path) -> None:
    warmup = under("schedutil", "off", repetition=2) | {"warmup": True}
    assert notes(tmp_path, under("performance", "on"), under("schedutil", "on"), warmup) == []


def test_a_scheduler_of_sched_ext_is_named_with_its_rows(tmp_path: Path) -> None:
    loaded, none = {"sched_ext_scheduler": "lavd"}, {"sched_ext_scheduler": "none"}
    some = [record(1, 1, **none), record(1, 2, **loaded), record(2, 1, **loaded)]
    assert notes(tmp_path / "some", *some) == [
        "scheduled by lavd (sched_ext), not by the kernel's own: runs of #1, #2"
    ]
    every = [record(1, 1, **loaded), record(2, 1, **loaded)]
    assert notes(tmp_path / "all", *every) == [
        "scheduled by lavd (sched_ext), not by the kernel's own: all runs that are averaged"
    ]
    assert notes(tmp_path / "none", record(1, 1, **none)) == []
