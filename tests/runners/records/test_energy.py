"""What follows from a record: of energy, or why it does not; of placement, for the whole case."""

from __future__ import annotations

from typing import Any

import pytest

from pinstudy.base.reading import Reading, Unavailable
from pinstudy.runners.records.energy import FIELDS, domain_fields, powers, run_figures
from pinstudy.runners.records.placed_runs import ObservedTeam, PlacedRuns, observed_team, verdict_of

ENERGY = Reading({"energy_pkg_j": 300.0, "energy_window_s": 2.5, "energy_source": "powercap"})
NO_ENERGY = Reading({}, {"energy_pkg_j": "no permission"})
NO_WINDOW = Reading({"energy_pkg_j": 1.0, "energy_window_s": 0.0})
DERIVED = {"power_pkg_w", "edp_js", "ed2p_js2", "energy_net_j"}
NO_IDLE_POWER = Unavailable("no idle power")


def test_figures_follow_from_gross_energy_and_the_program_s_time() -> None:
    found = run_figures(ENERGY, 2.0, 20.0)
    assert found.fields == {
        "power_pkg_w": 120.0,  # 300 J / 2.5 s
        "edp_js": 600.0,  # 300 J x 2 s
        "ed2p_js2": 1200.0,  # 300 J x (2 s)^2
        "idle_power_w": 20.0,
        "energy_net_j": 250.0,  # 300 J - 20 W x 2.5 s
    }
    assert found.unavailable == {}
    assert run_figures(ENERGY, 2.0, 130.0).fields["energy_net_j"] == -25.0


@pytest.mark.parametrize(
    ("energy", "elapsed_s", "idle_w", "absent", "reason"),
    [
        (ENERGY, 2.0, NO_IDLE_POWER, {"idle_power_w", "energy_net_j"}, "no idle power"),
        (ENERGY, 0.0, 20.0, {"edp_js", "ed2p_js2"}, "the program did not start"),
        (NO_ENERGY, 2.0, 20.0, DERIVED, "no permission"),
        (NO_WINDOW, 2.0, 20.0, DERIVED, "the energy's window has no length"),
    ],
)
def test_what_does_not_follow_is_absent_with_the_reason(
    energy: Reading, elapsed_s: float, idle_w: float | Unavailable, absent: set[str], reason: str
) -> None:
    found = run_figures(energy, elapsed_s, idle_w)
    assert found.unavailable == dict.fromkeys(absent, reason)
    assert set(found.fields) == (DERIVED | {"idle_power_w"}) - absent


def test_every_domain_has_its_power_or_its_reason() -> None:
    joules = {"package": 30.0, "uncore": 0.0, "dram": 5.0}
    found = powers(domain_fields(joules, {"dram": "denied"}, 3.0, "perf"))
    assert found.fields == {"power_pkg_w": 10.0, "power_uncore_w": 0.0}
    absent = dict.fromkeys(("power_core_w", "power_psys_w"), "not measured")
    assert found.unavailable == absent | {"power_dram_w": "denied"}


@pytest.mark.parametrize("domain", ["package", "core", "uncore", "dram", "psys"])
def test_no_node_takes_ten_gigawatts_and_only_idle_graphics_use_nothing(domain: str) -> None:
    name = FIELDS[domain]
    for joules in (-5.0, 1e10):
        found = domain_fields({domain: joules}, {}, 1.0, "perf")
        assert found.fields == {}
        assert f"{joules:.3g} J in 1 s, which cannot be" in found.unavailable[name]
    found = domain_fields({domain: 0.0}, {}, 0.001, "powercap")
    if domain == "uncore":
        assert found.fields[name] == 0
    else:
        assert found.fields == {}
        assert "did not move in 0.001 s" in found.unavailable[name]


@pytest.mark.parametrize(
    ("placed", "usable", "summary"),
    [
        # Up to a tenth; those that were caught, and those too short to be, together.
        (PlacedRuns(9, 1), True, "placement proved in 9 of 10 runs, 1 not provable"),
        (PlacedRuns(8, 1), False, "placement proved in 8 of 9 runs, 1 not provable"),
        (PlacedRuns(90, 0, 10), True, "placement proved in 90 of 100 runs, violated in 10"),
        (PlacedRuns(89, 0, 10), False, "placement proved in 89 of 99 runs, violated in 10"),
        (PlacedRuns(18, 1, 1), True, "proved in 18 of 20 runs, 1 not provable, violated in 1"),
        (PlacedRuns(17, 1, 1), False, "proved in 17 of 19 runs, 1 not provable, violated in 1"),
        (PlacedRuns(0, 1), False, "placement proved in 0 of 1 run, 1 not provable"),
        (PlacedRuns(violated=1), False, "placement proved in 0 of 1 run, violated in 1"),
        (PlacedRuns(unseen=30), True, "placement not looked at in 30 runs"),
        (PlacedRuns(), True, "placement proved in 0 of 0 runs"),
    ],
)
def test_more_than_a_tenth_that_is_not_proved_is_too_much_and_the_counts_are_told(
    placed: PlacedRuns, usable: bool, summary: str
) -> None:
    assert placed.usable is usable
    assert placed.summary.endswith(summary)


def test_of_an_imported_log_nobody_looked() -> None:
    record = {"placement": {"verdict": "unproved"}}
    assert verdict_of(record) == "unproved"
    assert verdict_of(record | {"imported": {}}) == "unseen"
    assert verdict_of({"placement": {"verdict": "proved"}, "imported": {}}) == "proved"
    assert verdict_of({}) is None


Threads = list[tuple[int, float, float]]


@pytest.mark.parametrize(
    ("threads", "counts", "several", "started"),
    [
        # Of each thread its process, and the seconds runnable and on a CPU, of a second.
        ([(0, 1.0, 1.0), (0, 1.0, 1.0)], (2, 2, 1), False, 2),
        ([(0, 1.0, 1.0), (0, 0.0, 0.0)], (2, 1, 1), False, 2),
        # A script that waits for its program of two threads.
        ([(0, 0.1, 0.0), (1, 1.0, 1.0), (1, 1.0, 1.0)], (2, 2, 1), False, 2),
        ([(0, 0.0, 0.0), (1, 1.0, 0.7), (2, 0.9, 0.6)], (1, 1, 2), True, 1),
        # A pool: the parent's threads wait for two workers, and are no team.
        ([(0, 0.1, 0.1), *[(0, 0, 0)] * 3, (1, 0.6, 0.5), (2, 0.6, 0.4)], (4, 1, 3), True, 1),
        # The two threads of a program beside the other end of its pipe.
        ([(0, 0.4, 0.4), (1, 0.9, 0.8), (1, 0.8, 0.8)], (2, 2, 2), True, 2),
        # One after the other.
        ([(0, 0.0, 0.0), (1, 0.5, 0.5), (2, 0.5, 0.5)], (1, 1, 2), False, 1),
        # A script that waits for a CPU, on a busy node, before it can wait for its child.
        ([(0, 0.9, 0.0), (1, 0.9, 0.4)], (1, 1, 1), False, 1),
        ([], (0, 0, 0), False, 0),
    ],
)
def test_threads_and_processes_are_counted(
    threads: Threads, counts: tuple[int, int, int], several: bool, started: int
) -> None:
    names = ("process", "runnable_s", "cpu_s")
    named = [dict(zip(names, thread, strict=True)) for thread in threads]
    record: dict[str, Any] = {"threads": 2, "elapsed_s": 1.0, "placement": {"threads": named}}
    seen = observed_team(record)
    assert seen == ObservedTeam(2, *counts, several=several)
    assert seen.started == started
