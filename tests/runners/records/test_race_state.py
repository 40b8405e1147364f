"""From records to what a race sees of them."""

from __future__ import annotations

from typing import Any

import pytest

from configs.repetitions import Race
from runners.records.race_state import RaceRun, race_fields, race_run

# What is seen of a record without threads.
UNKNOWN = {"placement": None, "disturbed": False}
GOOD: dict[str, Any] = {
    "status": "ok",
    "repetition": 2,
    "warmup": False,
    "elapsed_s": 2.0,
    "energy_pkg_j": 30.0,
    "metrics": {"rate": 7.5, "wrong": -1.0, "huge": 1e300},
    "unavailable": {"metrics.other": "stdout has nothing that matches 'x'"},
}


@pytest.mark.parametrize(
    ("of", "value"), [("time", 2.0), ("energy", 30.0), ("edp", 60.0), ("rate", 7.5)]
)
def test_a_good_run_is_judged_by_what_is_raced_for(of: str, value: float) -> None:
    rule = Race(of)
    fields = race_fields(GOOD, rule)
    assert fields == {"race_value": value, "race_seen": UNKNOWN}
    assert race_run(GOOD | fields, rule) == RaceRun(value, 2.0)


@pytest.mark.parametrize(("of", "value"), [("time", 0.5), ("energy", 4.0), ("edp", 2.0)])
def test_a_race_for_a_region_judges_by_that_alone(of: str, value: float) -> None:
    solve = {"elapsed_s": 0.5, "energy_pkg_j": 4.0, "unavailable": {}}
    # Marks take much of the run, as of every other one: that disturbs none of them.
    marked = {"regions": {"solve": solve}, "region_marks": {"marks": 900, "cost_s": 1.4}}
    fields = race_fields(GOOD | marked, Race(of, region="solve"))
    assert (fields["race_value"], fields["race_seen"]) == (value, UNKNOWN)


def test_a_region_that_was_not_measured_is_the_cases_fault() -> None:
    absent = {"unavailable": {"regions.solve": "the program did not mark it"}}
    fields = race_fields(GOOD | absent, Race("time", region="solve"))
    why = "region solve: the program did not mark it"
    assert fields["unavailable"]["race_value"] == why
    without_energy = {"elapsed_s": 0.5, "unavailable": {"energy_pkg_j": "no RAPL"}}
    fields = race_fields(GOOD | {"regions": {"solve": without_energy}}, Race("edp", region="solve"))
    assert fields["unavailable"]["race_value"] == "no RAPL"


def test_a_run_that_takes_long_is_not_ended_for_a_regions_sake() -> None:
    late = GOOD | {"status": "timeout", "reason": "ended after its limit", "repetition": 1}
    assert race_run(late, Race("time")).cut
    assert not race_run(late, Race("time", region="solve")).cut


@pytest.mark.parametrize(
    ("of", "reason"),
    [
        ("other", "stdout has nothing that matches 'x'"),
        ("wrong", "-1 is no wrong to compare: more than 0 is needed"),
        ("huge", "1e+300 is no huge to compare: at most 1e+30 is needed"),
        ("energy", "no permission"),
        ("edp", "no permission"),
    ],
)
def test_what_is_not_known_has_its_reason_and_is_the_cases_fault(of: str, reason: str) -> None:
    record = GOOD | {"unavailable": GOOD["unavailable"] | {"energy_pkg_j": "no permission"}}
    del record["energy_pkg_j"]
    fields = race_fields(record, Race(of))
    assert fields["unavailable"] == record["unavailable"] | {"race_value": reason}
    assert race_run(record | fields, Race(of)) == RaceRun(None, 2.0, reason)


@pytest.mark.parametrize("status", ["failed", "check-failed"])
def test_a_case_is_to_blame_for_what_it_does(status: str) -> None:
    record = GOOD | {"status": status, "reason": "exit status 3"}
    assert race_fields(record, Race()) == {"race_seen": UNKNOWN}
    for repetition in (1, 2):
        for warmup in (True, False):
            made = record | {"repetition": repetition, "warmup": warmup}
            assert race_run(made, Race()) == RaceRun(None, 2.0, "exit status 3")


def test_a_first_run_elsewhere_is_the_cases_fault_and_of_later_ones_the_number_counts() -> None:
    record = GOOD | {"status": "placement-violated", "reason": "bound", "repetition": 1}
    assert race_run(record, Race()) == RaceRun(None, 2.0, "bound", placed="violated")
    assert race_run(record | {"repetition": 2}, Race()) == RaceRun(None, 2.0, placed="violated")
    # A busy node keeps a short team from being seen.
    hot = record | {"throttle": {"package_count": 1}}
    assert race_run(hot | race_fields(hot, Race()), Race()) == RaceRun(None, 2.0, placed="violated")


def test_what_was_seen_of_a_run_is_in_its_record() -> None:
    team = [{"process": 0}, {"process": 0}, {"process": 1}]
    record = GOOD | {
        "schema": 6,
        "threads": 4,
        "placement": {"verdict": "unproved", "threads": team},
        "foreign_cpu_s": 5.0,
    }
    record |= race_fields(record, Race())
    assert record["race_seen"] == {"placement": "unproved", "disturbed": True}
    assert race_run(record, Race()) == RaceRun(2.0, 2.0, placed="unproved")


@pytest.mark.parametrize("status", ["settings-changed", "suspended", "clock-drifted"])
def test_a_case_is_not_to_blame_for_what_others_do(status: str) -> None:
    assert race_run(GOOD | {"status": status, "reason": "x"}, Race()) == RaceRun(None, 2.0)


def test_a_first_run_that_reaches_its_limit_was_cut_when_time_is_raced_for() -> None:
    record = GOOD | {"status": "timeout", "reason": "ended after its limit of 2 s"}
    cut = RaceRun(None, 2.0, "ended after its limit of 2 s", cut=True)
    later = RaceRun(None, 2.0, "ended after its limit of 2 s")
    assert race_run(record | {"repetition": 1}, Race()) == cut
    assert race_run(record, Race()) == later
    assert race_run(record | {"repetition": 1}, Race("energy")) == later
    # It says nothing of a case that others disturbed: the case makes another run.
    disturbed = record | {"repetition": 1, "race_seen": {"disturbed": True}}
    assert race_run(disturbed, Race()) == RaceRun(None, 2.0)


def test_a_good_run_without_a_value_says_what_it_lacks() -> None:
    assert race_run(GOOD, Race()) == RaceRun(None, 2.0, "it has no time")
