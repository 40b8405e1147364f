"""Energies of several meters and scopes: what is averaged, compared, and called by which name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pinstudy.analysis.card import write_card
from pinstudy.analysis.compare.matching import unlike_meters
from pinstudy.analysis.compare.side_by_side import compare
from pinstudy.analysis.findings.glance import not_measured
from pinstudy.analysis.objectives import ENERGY, TIME, named_in
from pinstudy.analysis.results.case import Case, energy_measure
from pinstudy.analysis.results.sources import open_results
from tests.support.results import Record, findings_of, record, without, write

INA, RAPL = "hwmon:ina226/power1", "powercap"
Run = Callable[[int, int, float], Record]


def by_board(number: int, repetition: int, joules: float, meter: str = INA) -> Record:
    """Return a run whose energy is the board's."""
    why = "powercap: no energy counters"
    run = without(["energy_pkg_j"], why, number=number, repetition=repetition)
    edp_js = joules * run["elapsed_s"]
    return run | {"energy_board_j": joules, "energy_source": meter, "edp_js": edp_js}


def by_package(number: int, repetition: int, joules: float, meter: str = RAPL) -> Record:
    """Return a run whose energy is that of the packages."""
    return record(number, repetition, energy_pkg_j=joules, energy_source=meter)


def by_perf(number: int, repetition: int, joules: float) -> Record:
    return by_package(number, repetition, joules, "perf")


def first_case(folder: Path) -> Case:
    return open_results(str(folder)).cases[0]


def test_a_boards_energy_is_compared_under_its_own_name(tmp_path: Path) -> None:
    made = [by_board(n, at, 100.0 * n + at / 10) for n in (1, 3) for at in range(1, 11)]
    (table,) = findings_of(tmp_path, made).tables

    energy = named_in(ENERGY, table.objectives)
    assert (energy.noun, energy.unit) == ("board energy", "J")
    unpinned, pinned = table.cases
    # Means of 100 and 300 J, and of 0.1 to 1 J.
    assert unpinned.samples[ENERGY].mean == pytest.approx(100.55)
    assert pinned.samples[ENERGY].mean == pytest.approx(300.55)
    assert pinned.comparisons[ENERGY].outcome == "worse"
    assert pinned.has_time_and_energy
    assert pinned.summary.stats["energy_pkg_j"].n == 0


@pytest.mark.parametrize("other", [by_package(1, 11, 9999.0), by_board(1, 11, 9999.0, "dcmi")])
def test_energies_of_another_meter_are_in_no_mean_and_have_the_reason(
    tmp_path: Path, other: Record
) -> None:
    write(tmp_path, [*(by_board(1, at, 100.0) for at in range(1, 11)), other])

    case = first_case(tmp_path)

    energy = case.stat(ENERGY.field)
    assert (case.n, energy.n, energy.mean) == (11, 10, 100.0)
    assert case.stats["edp_js"].n == 10
    assert case.stats["energy_pkg_j"].n == 0
    (reason,) = [why for why in case.reasons_of(ENERGY.field) if "not mixed" in why]
    assert reason.endswith(f"most runs here by {INA}, board: energies of two meters are not mixed")


@pytest.mark.parametrize(
    ("ours", "theirs", "compared"),
    [(by_board, by_board, True), (by_board, by_package, False), (by_package, by_perf, False)],
    ids=["one meter", "two scopes", "two sources"],
)
def test_two_results_are_compared_in_the_energy_of_one_meter_alone(
    tmp_path: Path, ours: Run, theirs: Run, compared: bool
) -> None:
    for name, make in (("a", ours), ("b", theirs)):
        write(tmp_path / name, [make(n, at, 50.0 + at) for n in (1, 3) for at in range(1, 11)])

    both = compare(open_results(str(tmp_path / "a")), open_results(str(tmp_path / "b")))

    # A card tells its meter, too.
    cards = [open_results(str(write_card(str(tmp_path / name))[0])) for name in "ab"]
    assert unlike_meters(*cards) != compared
    rows = {pair.objective: pair.rows for pair in both.pairs}
    assert all((row.direct is not None) == compared for row in rows[ENERGY])
    assert ("energy meter" in {unlike.fact for unlike in both.differences}) != compared
    # Their times are compared all the same.
    assert all(row.direct for row in rows[TIME])


def test_runs_too_short_for_the_meter_that_was_named_say_so_under_its_scope(tmp_path: Path) -> None:
    short, other = (
        f"{INA}: 0.3 s are 8.6 of its update periods",
        f"the energy of {INA} is asked for",
    )
    made = [
        without(["energy_pkg_j"], other, number=n, repetition=at)
        for n in (1, 3)
        for at in range(1, 7)
    ]
    for run in made:
        run["unavailable"] |= {"energy_board_j": short}
    findings = findings_of(tmp_path, made)

    lacks = {name: lack.reason for lack in not_measured(findings) for name in lack.names}
    assert (lacks["board energy"], "energy" in lacks) == (short, False)
    assert energy_measure([case.summary for case in findings.cases]).field == "energy_board_j"
