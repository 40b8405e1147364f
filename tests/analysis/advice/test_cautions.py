"""An advice that rests on runs which were disturbed, elsewhere or started otherwise says so."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.advice.build import advice_of
from analysis.advice.sentences import eliminations_in_short, headline
from analysis.advice.text import as_data
from analysis.answer import analyze
from analysis.results.sources import open_results
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
    sentences = headline(found)
    assert found.state.decision == decision
    start = "Recommended, for now: " if decision == "gain" else "Recommended: do nothing, for now."
    assert sentences[0].startswith(start)
    text = " ".join(sentences)
    assert "This is for now, because most of the trial's runs (" in text
    assert "--fresh` tells more." in text
    assert str(as_data(found)["for_now"]).startswith("most of the trial's runs (")


def test_half_of_the_runs_are_not_most_of_them(tmp_path: Path) -> None:
    spoiled = replace(GAIN, spoil=lambda _at, repetition: BUSY if repetition % 3 == 0 else {})
    found = advice(tmp_path, spoiled)
    assert "for now" not in " ".join(headline(found))
    assert as_data(found)["for_now"] is None
    assert any("with other tasks on their CPUs" in warning for warning in found.warnings)


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
    text = " ".join([*headline(found), *eliminations_in_short(found)])
    assert ("lost to placement" in text) or ("Lost more than a tenth of their runs to" in text)


@EITHER
def test_a_tenth_may_be_lost_and_is_reported(tmp_path: Path, lost: dict[str, Any]) -> None:
    best = best_of(GAIN, tmp_path / "quiet")
    race = replace(GAIN, spoil=lambda at, it: lost if (at, it) == (best, 2) else {})
    found = advice(tmp_path / "lost", replace(race, rule=replace(race.rule, runs=200)))
    assert found.state.decision == "gain"
    assert found.best is not None
    assert found.best.placed.lost == 1
    assert found.best.placed.usable
    text = headline(found)[-1]
    assert text.startswith(f"What is known of where threads ran: {found.best.name}: placement pr")
    assert ("are averaged" in text) == (lost is UNPROVED)


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
    (warning,) = (text for text in found.warnings if "Runs became slower" in text)
    assert "difference" not in warning


def test_an_ignored_number_of_threads_is_reported_once(tmp_path: Path) -> None:
    started = {"placement": {"verdict": "proved", "threads": [{"process": 0}] * 16}}
    found = advice(tmp_path, replace(GAIN, spoil=lambda _at, _repetition: started))
    lines = [line for line in eliminations_in_short(found) if "whatever it is told" in line]
    assert len(lines) == 1
    assert lines[0].startswith(
        "It starts 16 threads whatever it is told; write {threads} where it takes the "
        "number. Cases that were told another one (5): "
    )
    assert found.compared == 0


def test_a_gain_of_what_likwid_pin_started_has_that_in_its_sentence(tmp_path: Path) -> None:
    pinned = [
        replace(entrant, more_fields={"mechanism": "likwid-pin"})
        if entrant.mapping == "pcores-pin"
        else entrant
        for entrant in GAIN.entrants
    ]
    found = advice(tmp_path, replace(GAIN, entrants=pinned))
    (gain,) = (text for text in headline(found) if text.startswith("The gain: "))
    assert "likwid-pin is loaded into it, and what that does at start and for each thread" in gain
    assert "likwid" not in " ".join(headline(advice(tmp_path / "other", GAIN)))
