"""An advice that rests on runs which were disturbed, elsewhere or started otherwise says so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.advice.build import advice_of
from analysis.advice.data import as_data
from analysis.answer import analyze
from analysis.recommendation import answer_texts
from analysis.results.sources import open_results
from runners.records.disturbances import SHARED
from tests.analysis.advice.simulated_race import GAIN, NO_GAIN, SimulatedRace, advice, write_results
from tests.support.results import UNPROVED, VIOLATED, write

BUSY = {"foreign_cpu_s": 9.0}
HOT = {"throttle": {"package_count": 1}}
EITHER = pytest.mark.parametrize("lost", [VIOLATED, UNPROVED], ids=["violated", "unproved"])


def best_of(race: SimulatedRace, folder: Path) -> int:
    """Return the number of the entrant that a quiet race takes."""
    best = advice(folder, race).best
    assert best is not None
    return int(best.case_id.removeprefix("case")) - 1


@pytest.mark.parametrize("disturbed", [BUSY, HOT])
@pytest.mark.parametrize(("race", "decision"), [(GAIN, "gain"), (NO_GAIN, "no gain")])
def test_on_a_disturbed_node_the_answer_is_for_now(
    tmp_path: Path, disturbed: dict[str, Any], race: SimulatedRace, decision: str
) -> None:
    found = advice(tmp_path, replace(race, spoil=lambda _at, _repetition: disturbed))
    assert found.state.decision == decision
    mostly = found.caveat("mostly disturbed")
    assert mostly is not None
    assert mostly.numbers["count"] == mostly.numbers["runs"] == found.trial_runs
    told = answer_texts(found)
    assert told[0].endswith("; the node was not quiet")
    assert told[-1].startswith(f"for now: {found.trial_runs} of {found.trial_runs} runs were dist")
    assert told[-1].endswith("`pinstudy advise --fresh -- '/home/user/my app' -n 100`")
    assert as_data(found)["quiet"] == {
        "runs": found.trial_runs,
        "runs_disturbed": found.trial_runs,
    }


def test_half_of_the_runs_are_not_most_of_them(tmp_path: Path) -> None:
    spoiled = replace(GAIN, spoil=lambda _at, repetition: BUSY if repetition % 3 == 0 else {})
    found = advice(tmp_path, spoiled)
    assert found.caveat("mostly disturbed") is None
    assert 0 < 2 * found.disturbed_runs < found.trial_runs
    counts = f"{found.disturbed_runs} of {found.trial_runs} runs disturbed"
    assert answer_texts(found)[0].endswith(counts)
    cause = found.caveat("disturbed")
    assert cause is not None
    assert cause.names == (SHARED,)
    assert cause.numbers["count"] == found.disturbed_runs


@EITHER
def test_a_best_that_lost_many_runs_to_placement_is_not_recommended(
    tmp_path: Path, lost: dict[str, Any]
) -> None:
    best = best_of(GAIN, tmp_path / "quiet")

    def spoil(at: int, repetition: int) -> dict[str, Any]:
        return lost if at == best and repetition % 3 == 0 else {}

    folder = write_results(tmp_path / "lost", replace(GAIN, spoil=spoil))
    found = advice_of(open_results(str(folder)))
    assert found is not None
    assert found.recommended is None or found.recommended.case_id != f"case{best + 1:012d}"
    out = {case.candidate.case_id: case.eliminated.why for case in found.eliminations}
    lost_by = [caveat.names for caveat in found.caveats if caveat.code == "placement"]
    assert out.get(f"case{best + 1:012d}") == "not placed" or lost_by


@EITHER
def test_a_tenth_may_be_lost_and_is_reported(tmp_path: Path, lost: dict[str, Any]) -> None:
    best = best_of(GAIN, tmp_path / "quiet")
    race = replace(GAIN, spoil=lambda at, it: lost if (at, it) == (best, 2) else {})
    found = advice(tmp_path / "lost", replace(race, rule=replace(race.rule, runs=200)))
    assert found.state.decision == "gain"
    assert found.best is not None
    assert found.best.placed.lost == 1
    assert found.best.placed.usable
    caveat = found.caveat("placement")
    assert caveat is not None
    assert caveat.names == (found.best.name,)
    assert (caveat.numbers["lost"], caveat.numbers["unproved"]) == (1, int(lost is UNPROVED))


def test_energy_of_cases_that_are_not_compared_was_measured_all_the_same(tmp_path: Path) -> None:
    found = advice(tmp_path, replace(GAIN, spoil=lambda _at, _repetition: UNPROVED))
    assert found.points == ()
    assert found.no_energy == (
        "every case that has it lost more than a tenth of its runs to placement"
    )


def test_a_drift_is_in_no_difference_where_nothing_was_tried(tmp_path: Path) -> None:
    # Every run takes 1 % longer than the one before it, and the race ends before its trial.
    def later(number: int) -> dict[str, Any]:
        return {"elapsed_s": 40.0 * 1.01**number}

    race = replace(GAIN, rule=replace(GAIN.rule, runs=200), entrants=NO_GAIN.entrants)
    folder = write_results(tmp_path, replace(race, stop=21))
    (shard,) = folder.glob("records/*.jsonl")
    records = [json.loads(line) for line in shard.read_text().splitlines()]
    write(folder, [run | later(number) for number, run in enumerate(records)])
    found = analyze(open_results(str(folder))).advice
    assert found is not None
    assert found.confirmation is None
    caveat = found.caveat("drift")
    assert caveat is not None
    assert caveat.names == ("time",)
    assert 0 < caveat.numbers["low"] < caveat.numbers["change"] < caveat.numbers["high"]


def test_a_gain_of_what_likwid_pin_started_has_that_beside_it(tmp_path: Path) -> None:
    pinned = [
        replace(entrant, more_fields={"mechanism": "likwid-pin"})
        if entrant.mapping == "pcores-pin"
        else entrant
        for entrant in GAIN.entrants
    ]
    found = advice(tmp_path, replace(GAIN, entrants=pinned))
    loaded = found.caveat("loaded")
    assert loaded is not None
    assert loaded.names[0] == "likwid-pin"
    assert advice(tmp_path / "other", GAIN).caveat("loaded") is None
