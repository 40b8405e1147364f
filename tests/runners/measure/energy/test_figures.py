"""What follows from energy: power, energy-delay products, net energy, words; or why it does not."""

from __future__ import annotations

from typing import Any

import pytest

from base.reading import Reading
from runners.host.tree import Unavailable
from runners.measure.energy.figures import domain_fields, power_limit_note, powers, run_figures

ENERGY = Reading({"energy_pkg_j": 300.0, "energy_window_s": 2.5, "energy_source": "powercap"})
NO_ENERGY = Reading({}, {"energy_pkg_j": "no permission"})
NO_WINDOW = Reading({"energy_pkg_j": 1.0, "energy_window_s": 0.0})
DERIVED = {"power_pkg_w", "edp_js", "ed2p_js2", "energy_net_j"}
NO_BASELINE = Unavailable("no baseline")


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
        (ENERGY, 2.0, NO_BASELINE, {"idle_power_w", "energy_net_j"}, "no baseline"),
        (ENERGY, 0.0, 20.0, {"edp_js", "ed2p_js2"}, "the program did not start"),
        (NO_ENERGY, 2.0, 20.0, DERIVED, "no permission"),
        (NO_WINDOW, 2.0, 20.0, DERIVED, "the energy's window has no length"),
    ],
    ids=["no baseline", "not started", "no energy", "no window"],
)
def test_what_does_not_follow_is_absent_with_the_reason(
    energy: Reading, elapsed_s: float, idle_w: float | Unavailable, absent: set[str], reason: str
) -> None:
    found = run_figures(energy, elapsed_s, idle_w)
    assert found.unavailable == dict.fromkeys(absent, reason)
    assert set(found.fields) == (DERIVED | {"idle_power_w"}) - absent


def test_every_domain_has_its_power_or_its_reason() -> None:
    energy = domain_fields(
        {"package": 30.0, "uncore": 0.0, "dram": 5.0}, {"dram": "denied"}, 3.0, "perf"
    )
    assert powers(energy).fields == {"power_pkg_w": 10.0, "power_uncore_w": 0.0}
    assert powers(energy).unavailable == {
        "power_core_w": "not measured",
        "power_dram_w": "denied",
        "power_psys_w": "not measured",
    }


@pytest.mark.parametrize("domain", ["package", "core", "dram", "psys"])
def test_only_an_idle_graphics_unit_may_use_nothing(domain: str) -> None:
    found = domain_fields({domain: 0.0}, {}, 0.001, "powercap")
    assert found.fields == {}
    name = f"energy_{domain}_j".replace("package", "pkg")
    assert "did not move in 0.001 s" in found.unavailable[name]


def pl1(zone: str, domain: str, power_w: float | None) -> dict[str, Any]:
    limit = {"zone": zone, "domain": domain, "name": "long_term"}
    return limit | {"power_w": power_w, "window_s": 28.0}


# An i5-13500: PL1 65 W, PL2 117 W.
CLIENT = [
    pl1("intel-rapl:0", "package-0", 65.0),
    pl1("intel-rapl:0", "package-0", 117.0) | {"name": "short_term"},
    pl1("intel-rapl:1", "psys", 10.0),
]
MMIO = pl1("intel-rapl-mmio:0", "package-0", 45.0)
OTHER = pl1("intel-rapl:2", "package-1", 65.0)


@pytest.mark.parametrize(
    ("power_w", "limits", "words"),
    [
        # 97% of 65 W are 63.05 W.
        (63.0, CLIENT, ""),
        (63.1, CLIENT, "at PL1"),
        (65.0, CLIENT, "at PL1"),
        (65.1, CLIENT, "burst above PL1"),
        # The lowest limit of a package holds, and packages add up.
        (50.0, [*CLIENT, MMIO], "burst above PL1"),
        (100.0, [*CLIENT, OTHER], ""),
    ],
)
def test_power_near_or_above_the_long_term_limit_is_said_in_words(
    power_w: float, limits: list[dict[str, Any]], words: str
) -> None:
    note = power_limit_note(power_w, limits).fields["power_limit_note"]
    assert note.partition(":")[0] == words


@pytest.mark.parametrize(
    ("power_w", "limits", "reason"),
    [
        (None, CLIENT, "power was not measured"),
        (60.0, [], "PL1) is not known"),
        (60.0, [pl1("intel-rapl:0", "package-0", None)], "PL1) is not known"),
        (60.0, [pl1("intel-rapl:0", "package-0", 0.0)], "PL1) is not known"),
        (60.0, [*CLIENT, OTHER | {"power_w": None}], "PL1) is not known"),
        (60.0, [pl1("intel-rapl:0", "psys", 65.0)], "PL1) is not known"),
    ],
)
def test_what_is_not_known_is_not_judged(
    power_w: float | None, limits: list[dict[str, Any]], reason: str
) -> None:
    note = power_limit_note(power_w, limits)
    assert note.fields == {}
    assert reason in note.unavailable["power_limit_note"]
