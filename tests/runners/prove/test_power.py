"""Energy is judged by loads: honest counters are ok, each lie is off."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pinstudy.runners.measure.energy.sampled import FoundMeter
from pinstudy.runners.prove.bench import Seen
from pinstudy.runners.prove.power import (
    LOADS,
    TIMES_S,
    Joules,
    Loads,
    judge_cores,
    judge_energy,
    judge_heat,
    judge_kinds,
)
from pinstudy.runners.records.instruments import Finding
from tests.runners.prove.seen import of_kind

# Watts of each load.
PACKAGE = dict(zip(LOADS, (10.0, 30.0, 120.0), strict=True))
CORE = dict(zip(LOADS, (1.0, 20.0, 105.0), strict=True))
OTHERS = {"uncore": "no uncore", "dram": "no dram", "psys": "no psys"}
ABSENT = {"powercap": OTHERS, "perf": OTHERS}
Power = Callable[[str, str, float], float]


def honest(_source: str, _load: str, _seconds: float) -> float:
    return 1.0


def share_of(shares: dict[str, float], _source: str, load: str, _seconds: float) -> float:
    return shares.get(load, 1.0)


def loads(factor: Power = honest, sources: tuple[str, ...] = ("powercap", "perf")) -> Loads:
    """Return joules by load; `factor` multiplies those of a source, load and time."""
    return {
        (load, seconds): Joules(
            {
                source: {
                    "package": PACKAGE[load] * seconds * factor(source, load, seconds),
                    "core": CORE[load] * seconds * factor(source, load, seconds),
                }
                for source in sources
            },
            dict.fromkeys(sources, seconds),
            {source: {} for source in sources},
        )
        for load in LOADS
        for seconds in TIMES_S
    }


def states(found: list[Finding]) -> dict[str, str]:
    return {finding.name.removeprefix("energy "): finding.state for finding in found}


HONEST = {
    f"{domain} {by}": "ok"
    for domain in ("package", "core")
    for by in ("by powercap", "by perf", "twice")
}


def judged(joules: Loads) -> dict[str, str]:
    found = judge_energy(joules, ABSENT, several_cores=True)
    return {name: state for name, state in states(found).items() if state != "absent"}


def test_energy_that_grows_with_load_and_time_is_ok_by_both_sources() -> None:
    assert judged(loads()) == HONEST
    (package, *_) = judge_energy(loads(), ABSENT, several_cores=True)
    assert package.measured == "10.00, 30.00, 120.00 W (idle, one core busy, all cores busy)"
    assert "energy_pkg_j" in package.fields
    assert "edp_js" in package.fields


def test_another_unit_of_one_source_is_told_by_the_other() -> None:
    four_times = loads(lambda source, *_: 4.0 if source == "powercap" else 1.0)
    assert judged(four_times) == HONEST | {"package twice": "off", "core twice": "off"}


def test_energy_that_does_not_grow_with_time_or_with_the_load_is_told() -> None:
    fading = loads(lambda _source, _load, seconds: 1.0 if seconds < 4 else 0.8)
    (found, *_) = judge_energy(fading, ABSENT, several_cores=True)
    assert (found.name, found.state) == ("energy package by powercap", "off")
    assert found.why == "one core busy: 30.0 W from 1 s to 2 s, 18.0 W from then to 4 s"
    for shares in ({LOADS[1]: 0.1}, {LOADS[2]: 0.1}):
        less = loads(partial(share_of, shares))
        assert judged(less)["package by powercap"] == "off"
    # Of one core no second load is expected.
    single = loads(lambda _source, load, _: 0.25 if load == LOADS[2] else 1.0)
    found_of_one = judge_energy(single, ABSENT, several_cores=False)
    assert states(found_of_one)["package by powercap"] == "ok"


def test_a_counter_that_stands_still_is_off_for_cores_and_absent_for_graphics() -> None:
    none = {
        key: Joules({"powercap": {}}, {"powercap": key[1]}, {"powercap": {"core": "did not move"}})
        for key in loads()
    }
    found = judge_energy(none, {"powercap": {"uncore": "none"}}, several_cores=True)
    by_name = {finding.name: finding for finding in found}

    assert by_name["energy core by powercap"].state == "off"
    assert by_name["energy core by powercap"].why == "stands still: did not move"
    assert by_name["energy dram by powercap"].state == "absent"


def test_a_source_that_is_not_there_is_absent_with_its_reason() -> None:
    found = judge_energy({}, {"powercap": {"package": "no /sys/class/powercap"}}, True)
    assert [(finding.name, finding.state, finding.why) for finding in found] == [
        ("energy package by powercap", "absent", "no /sys/class/powercap")
    ]


BOARD = FoundMeter("hwmon:ina226/power1", "board", lambda: 0.0, update_s=0.035)
# Watts of a board whose converters lose a tenth: 5 W beside the package.
BOARD_W = {load: 5.0 + 1.1 * watts for load, watts in PACKAGE.items()}


@pytest.mark.parametrize(
    ("board_w", "by_itself", "against"),
    [
        (BOARD_W, "ok", "ok"),
        # In another unit, of a part of it, and of something else.
        ({load: 1000 * watts for load, watts in BOARD_W.items()}, "ok", "off"),
        ({load: 0.25 * watts for load, watts in BOARD_W.items()}, "ok", "off"),
        (dict.fromkeys(LOADS, 30.0), "off", "off"),
    ],
)
def test_a_board_s_meter_is_judged_by_the_loads_and_by_the_packages(
    board_w: dict[str, float], by_itself: str, against: str
) -> None:
    packages = loads(sources=("powercap",))
    both = {
        (load, seconds): Joules(
            # A run of 0.7 s is needed.
            {**seen.joules, BOARD.name: {"board": board_w[load] * seconds}},
            {**seen.window_s, BOARD.name: seconds},
            {**seen.problems, BOARD.name: {}},
        )
        for (load, seconds), seen in packages.items()
    }
    absent = {"powercap": OTHERS, BOARD.name: {}}

    found = judge_energy(both, absent, True, {BOARD.name: BOARD})

    by_name = states(found)
    assert by_name[f"board by {BOARD.name}"] == by_itself
    assert by_name[f"board by {BOARD.name} against powercap"] == against
    fields = [f for finding in found if finding.state == "off" for f in finding.fields]
    assert "energy_pkg_j" not in fields
    assert ("energy_board_j" in fields) == ("off" in (by_itself, against))


def test_a_meter_that_cannot_be_used_is_absent_with_its_reason() -> None:
    battery = FoundMeter("battery:BAT0", "system", lambda: 0.0)
    why = {"battery:BAT0": {"system": "the adapter feeds the node"}}
    (found,) = judge_energy({}, why, True, {"battery:BAT0": battery})
    assert (found.name, found.state, found.why) == (
        "energy system by battery:BAT0", "absent", "the adapter feeds the node",
    )  # fmt: skip


def of_cores(p_w: float, e_w: float, package_w: float = 40.0) -> Seen:
    """Return a run of 2 s in which the cores of each kind took so many watts."""
    by_kind = {"P": 2 * p_w, "E": 2 * e_w}
    fields = {"energy_by_kind_j": by_kind, "energy_by_kind_window_s": 2.0, "power_pkg_w": package_w}
    return Seen(fields, {})


IDLE_CORES = of_cores(0.2, 0.1, 10.0)


def test_the_energy_of_cores_is_more_where_the_work_is() -> None:
    work = {"P": of_cores(20.0, 0.1), "E": of_cores(0.3, 5.0)}
    p, e = judge_cores(work, IDLE_CORES, counted=True)

    assert (p.name, p.state, e.state) == ("energy of cores P", "ok", "ok")
    assert p.measured == "20.00 W with work on P, 0.30 W (work on E), 0.20 W (an idle node)"
    assert p.fields == ("energy_by_kind_j",)


@pytest.mark.parametrize(
    ("p", "e", "why"),
    [
        # Watts of P and of E with work on P, and with work on E.
        ((0.1, 20.0), (5.0, 0.3), "not more with work on P than with work on E"),
        ((0.2, 0.1), (0.0, 5.0), "not more with work on P than with an idle node"),
        ((0.0, 0.1), (0.0, 5.0), "not more with work on P than with work on E"),
        ((80.0, 0.4), (1.2, 20.0), "all cores 80.40 W, the package 40.00 W"),
    ],
    ids=["swapped", "blind", "still", "unit"],
)
def test_each_lie_of_the_counters_of_cores_is_told(
    p: tuple[float, float], e: tuple[float, float], why: str
) -> None:
    found, _ = judge_cores({"P": of_cores(*p), "E": of_cores(*e)}, IDLE_CORES, counted=True)
    assert (found.state, found.why) == ("off", why)


@pytest.mark.parametrize(
    ("reasons", "counted", "state", "why"),
    [
        ({"energy_by_kind_j": "none moved"}, False, "absent", "none moved"),
        ({"energy_by_kind_j": "none moved"}, True, "off", "stands still: none moved"),
        (
            {"energy_by_kind_j.P": "a core is offline", "energy_by_kind_j": "none"},
            *(True, "absent", "a core is offline"),
        ),
    ],
)
def test_counters_of_cores_that_are_not_there_are_absent_and_stuck_ones_are_off(
    reasons: dict[str, str], counted: bool, state: str, why: str
) -> None:
    (found,) = judge_cores({"P": Seen({}, reasons)}, None, counted=counted)
    assert (found.state, found.why) == (state, why)


@pytest.mark.parametrize(
    ("cores", "measured"),
    [
        ({}, "5.000 nJ above idle"),
        (
            {"energy_by_kind_j": {"P": 24.0}, "energy_by_kind_window_s": 2.0},
            "5.000 nJ above idle; 3.000 nJ by the kind's cores",
        ),
    ],
)
def test_the_energy_of_an_addition_is_that_above_idle(cores: dict[str, Any], measured: str) -> None:
    """4e9 additions in a second: 20 W above idle are 5 nJ each, and 12 W of the cores 3 nJ."""
    kind = of_kind("cpu_core")
    run = Seen({**kind.chain.fields, "power_pkg_w": 30.0, **cores}, {}, kind.chain.printed)
    (found,) = judge_kinds([of_kind("cpu_core", run)], 10.0)
    assert (found.state, found.measured) == ("ok", measured)


@pytest.mark.parametrize(
    ("after_c", "state"),
    [({"package 0": 52.0}, "ok"), ({"package 0": 45.0}, "off"), ({}, "absent")],
)
def test_a_package_that_stays_cold_under_load_is_told(
    after_c: dict[str, float], state: str
) -> None:
    fields = {"temperature_before_c": {"package 0": 45.0}, "temperature_after_c": after_c}
    temperature, throttling = judge_heat(Seen({**fields, "throttle": {"core_count": 0}}, {}))
    assert (temperature.state, throttling.state) == (state, "ok")
    if state == "absent":
        assert temperature.why == "no package was read both before and after"
    assert [finding.state for finding in judge_heat(Seen({}, {}))] == ["absent", "absent"]
