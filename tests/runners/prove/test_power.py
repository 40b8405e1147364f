"""Energy is judged by loads: honest counters are ok, each lie is off."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runners.prove.bench import Seen
from runners.prove.finding import Finding
from runners.prove.heat import judge_heat
from runners.prove.power import LOADS, TIMES_S, Joules, Loads, judge_energy, judge_kinds
from tests.runners.prove.seen import of_kind

# Watts of each load.
PACKAGE = dict(zip(LOADS, (10.0, 30.0, 120.0), strict=True))
CORE = dict(zip(LOADS, (1.0, 20.0, 105.0), strict=True))
OTHERS = {"uncore": "no uncore", "dram": "no dram", "psys": "no psys"}
ABSENT = {"powercap": OTHERS, "perf": OTHERS}
Power = Callable[[str, str, float], float]


def honest(_source: str, _load: str, _seconds: float) -> float:
    return 1.0


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
    return {of.name.removeprefix("energy "): of.state for of in found}


HONEST = {
    "package by powercap": "ok",
    "core by powercap": "ok",
    "package by perf": "ok",
    "core by perf": "ok",
    "package twice": "ok",
    "core twice": "ok",
}


def judged(of: Loads) -> dict[str, str]:
    found = judge_energy(of, ABSENT, several_cores=True)
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


def test_energy_that_does_not_grow_with_time_is_told() -> None:
    fading = loads(lambda _source, _load, seconds: 1.0 if seconds < 4 else 0.8)
    assert judged(fading)["package by powercap"] == "off"
    (found, *_) = judge_energy(fading, ABSENT, several_cores=True)
    assert found.why == "one core busy: 30.0 W from 1 s to 2 s, 18.0 W from then to 4 s"


@pytest.mark.parametrize("stuck", LOADS[1:])
def test_energy_that_does_not_grow_with_the_load_is_told(stuck: str) -> None:
    less = loads(lambda _source, load, _: 0.1 if load == stuck else 1.0)
    assert judged(less)["package by powercap"] == "off"


def test_a_counter_that_stands_still_is_off_for_cores_and_absent_for_graphics() -> None:
    none = {
        of: Joules({"powercap": {}}, {"powercap": of[1]}, {"powercap": {"core": "did not move"}})
        for of in loads()
    }
    found = judge_energy(none, {"powercap": {"uncore": "none"}}, several_cores=True)
    by_name = {of.name: of for of in found}

    assert by_name["energy core by powercap"].state == "off"
    assert by_name["energy core by powercap"].why == "stands still: did not move"
    assert by_name["energy dram by powercap"].state == "absent"


def test_of_one_core_no_second_load_is_expected() -> None:
    single = loads(lambda _source, load, _: 0.25 if load == LOADS[2] else 1.0)
    found = judge_energy(single, ABSENT, several_cores=False)
    assert states(found)["package by powercap"] == "ok"


def test_a_source_that_is_not_there_is_absent_with_its_reason() -> None:
    found = judge_energy({}, {"powercap": {"package": "no /sys/class/powercap"}}, True)
    assert [(of.name, of.state, of.why) for of in found] == [
        ("energy package by powercap", "absent", "no /sys/class/powercap")
    ]


def test_the_energy_of_an_addition_is_that_above_idle() -> None:
    """4e9 additions in a second, 20 W above idle: 5 nJ each."""
    kind = of_kind("cpu_core")
    fields = {**kind.chain.fields, "power_pkg_w": 30.0}
    run = Seen(fields, {}, kind.chain.printed)
    (found,) = judge_kinds([of_kind("cpu_core", run)], 10.0)
    assert (found.state, found.measured) == ("ok", "5.000 nJ above idle")


def test_a_package_that_stays_cold_under_load_is_told() -> None:
    def run(after_c: float) -> Seen:
        before = {"package 0": 45.0}
        after = {"package 0": after_c}
        fields = {"temperature_before_c": before, "temperature_after_c": after}
        return Seen({**fields, "throttle": {"core_count": 0}}, {})

    assert [of.state for of in judge_heat(run(52.0))] == ["ok", "ok"]
    assert [of.state for of in judge_heat(run(45.0))] == ["off", "ok"]
    assert [of.state for of in judge_heat(Seen({}, {}))] == ["absent", "absent"]
