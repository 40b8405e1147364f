"""What follows from energy: power, energy-delay products, net energy; or why it does not."""

from __future__ import annotations

import pytest

from base.reading import Reading, Unavailable
from runners.records.energy import domain_fields, powers, run_figures

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
    ids=["no idle power", "not started", "no energy", "no window"],
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


@pytest.mark.parametrize("joules", [-5.0, 1e10])
@pytest.mark.parametrize("domain", ["package", "uncore"])
def test_no_node_takes_ten_gigawatts_or_gives_energy(domain: str, joules: float) -> None:
    found = domain_fields({domain: joules}, {}, 1.0, "perf")
    assert found.fields == {}
    name = "energy_pkg_j" if domain == "package" else "energy_uncore_j"
    assert f"{joules:.3g} J in 1 s, which cannot be" in found.unavailable[name]


@pytest.mark.parametrize("domain", ["package", "core", "dram", "psys"])
def test_only_an_idle_graphics_unit_may_use_nothing(domain: str) -> None:
    found = domain_fields({domain: 0.0}, {}, 0.001, "powercap")
    assert found.fields == {}
    name = f"energy_{domain}_j".replace("package", "pkg")
    assert "did not move in 0.001 s" in found.unavailable[name]
