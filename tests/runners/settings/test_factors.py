"""Settings that a study asks for: put in force, read back, put back; or a reason before that."""

from __future__ import annotations

from pathlib import Path

import pytest

from configs.settings import AS_IT_IS, NAMES, settings_of
from configs.site import GovernorRule, SchedulerRule, Site
from runners.node.discovery import read_topology
from runners.node.node import state_changes
from runners.settings.node_settings import NodeSettings
from runners.settings.registry import FACTORS
from tests.runners.settings.factors import (
    CACHE_AWARE,
    MMIO,
    NO_TURBO,
    PACKAGE,
    PLATFORM,
    VALUES,
    all_settings,
    distinct_settings,
)
from tests.support.trees import CPU, build_tree, write

# The P-cores and the E-cores of an i9-14900K without SMT.
PCORES, ECORES, ALL = tuple(range(8)), tuple(range(8, 24)), tuple(range(24))
UPPER = "constraint_0_power_limit_uw"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = build_tree(tmp_path, "i9-14900k-noht")
    distinct_settings(root)
    return root


def node_settings(root: Path, site: Site | None = None) -> NodeSettings:
    return NodeSettings(root, read_topology(root), site, {})


def text(root: Path, path: str) -> str:
    return (root / path).read_text().strip()


def policy(root: Path, cpu: int, name: str) -> str:
    return text(root, f"{CPU}/cpufreq/policy{cpu}/{name}")


def test_every_setting_that_a_study_may_ask_for_has_its_file() -> None:
    assert set(FACTORS) == {*NAMES, "governor"}
    # A scheduler of sched_ext is a program, with tests of its own.
    assert set(VALUES) == set(NAMES) - {"sched_ext"}


@pytest.mark.parametrize("name", VALUES)
def test_each_value_is_in_force_read_back_and_put_back(root: Path, name: str) -> None:
    before = all_settings(root)
    settings = node_settings(root)
    for value in (*VALUES[name], VALUES[name][0]):
        wanted = settings_of(**{name: value})
        assert settings.problem("powersave", wanted, ECORES) is None
        assert settings.apply("powersave", wanted, ECORES) is None
        read = settings.read_back("powersave", wanted, ECORES).fields["settings_read"]
        assert set(read) == {name, "governor"}
        shown = {"highest": "4.4 GHz", "lowest": "0.8 GHz"}.get(value, value)
        assert read[name] == shown
    changed = {path for path, found in all_settings(root).items() if before[path] != found}
    assert changed
    assert settings.apply("current", AS_IT_IS, ALL) is None
    assert all_settings(root) == before, "a case that asks for nothing has what was before"
    done = settings.restore()
    assert done is not None and done.problems == {}
    assert all_settings(root) == before
    assert not settings.journal_path.exists()


def test_a_limit_is_that_of_the_case_s_cpus_alone(root: Path) -> None:
    before = all_settings(root)
    settings = node_settings(root)
    wanted = settings_of(max_frequency="2.4 GHz", min_frequency="1.2 GHz")
    assert settings.apply("current", wanted, ECORES) is None
    assert {policy(root, cpu, "scaling_max_freq") for cpu in ECORES} == {"2400000"}
    assert {policy(root, cpu, "scaling_min_freq") for cpu in ECORES} == {"1200000"}
    for cpu in PCORES:
        path = f"{CPU}/cpufreq/policy{cpu}/scaling_max_freq"
        assert text(root, path) == before[path].strip()
    # The next case has other CPUs: those of the last one are as before.
    assert settings.apply("current", wanted, PCORES) is None
    assert {policy(root, cpu, "scaling_max_freq") for cpu in PCORES} == {"2400000"}
    path = f"{CPU}/cpufreq/policy{ECORES[0]}/scaling_max_freq"
    assert text(root, path) == before[path].strip()
    settings.restore()
    assert all_settings(root) == before


def test_words_of_a_frequency_mean_each_cpu_s_own(root: Path) -> None:
    settings = node_settings(root)
    wanted = settings_of(max_frequency="highest")
    assert settings.apply("current", wanted, ALL) is None
    read = settings.read_back("current", wanted, ALL).fields["settings_read"]
    # Intel's data sheet: 5.6 GHz by two preferred cores alone 6 GHz, E-cores 4.4 GHz.
    assert read["max_frequency"].endswith("4.4 GHz on 8-23")
    settings.restore()


def test_a_power_limit_is_written_to_each_interface_of_a_package_and_to_nothing_else(
    root: Path,
) -> None:
    settings = node_settings(root)
    assert settings.apply("current", settings_of(power_limit="65 W"), ALL) is None
    assert text(root, f"{PACKAGE}/{UPPER}") == text(root, f"{MMIO}/{UPPER}") == "65000000"
    assert text(root, f"{PLATFORM}/{UPPER}") == "300000000"
    assert text(root, f"{PACKAGE}/constraint_1_power_limit_uw") == "250000000"
    settings.restore()
    assert text(root, f"{MMIO}/{UPPER}") == "253000000"


@pytest.mark.parametrize(("shown", "is_in_force"), [("65062500", True), ("64875000", False)])
def test_a_power_limit_is_in_force_within_an_eighth_of_a_watt(
    root: Path, shown: str, is_in_force: bool
) -> None:
    write(root, f"{PACKAGE}/{UPPER}", shown)
    write(root, f"{MMIO}/{UPPER}", "65000000")
    settings = node_settings(root)
    assert settings.apply("current", settings_of(power_limit="65 W"), ALL) is None
    assert (settings.restore() is None) == is_in_force


def test_turbo_is_off_where_a_file_says_so_in_its_own_sense(root: Path) -> None:
    settings = node_settings(root)
    assert settings.apply("current", settings_of(turbo="off"), ALL) is None
    assert text(root, NO_TURBO) == "1"
    settings.restore()
    (root / NO_TURBO).unlink()
    write(root, f"{CPU}/cpufreq/boost", 1)
    settings = node_settings(root)
    assert settings.apply("current", settings_of(turbo="off"), ALL) is None
    assert text(root, f"{CPU}/cpufreq/boost") == "0"
    settings.restore()
    assert text(root, f"{CPU}/cpufreq/boost") == "1"


def test_turbo_of_each_policy_is_switched_where_the_node_has_no_file(root: Path) -> None:
    (root / NO_TURBO).unlink()
    for cpu in ALL:
        write(root, f"{CPU}/cpufreq/policy{cpu}/boost", 1)
    before = all_settings(root)
    settings = node_settings(root)
    assert settings.apply("current", settings_of(turbo="off"), (0,)) is None
    assert {policy(root, cpu, "boost") for cpu in ALL} == {"0"}
    settings.restore()
    assert all_settings(root) == before


def test_without_turbo_a_lower_limit_than_the_highest_is_no_failure(root: Path) -> None:
    for cpu in ALL:
        write(root, f"{CPU}/cpufreq/policy{cpu}/base_frequency", 3_200_000)
    settings = node_settings(root)
    wanted = settings_of(turbo="off", max_frequency="highest")
    assert settings.apply("current", wanted, PCORES) is None
    # What intel_pstate does is done by hand: the limit falls to what is possible without turbo.
    for cpu in PCORES:
        write(root, f"{CPU}/cpufreq/policy{cpu}/scaling_max_freq", 3_200_000)
    assert settings.problem("current", wanted, PCORES) is None
    write(root, NO_TURBO, 0)
    settings.restore()


@pytest.mark.parametrize(
    ("governor", "asked", "cpus", "expected"),
    [
        ("performance", {"epp": "power"}, ALL, "always performance under the governor performance"),
        ("powersave", {"max_frequency": "4.5 GHz"}, ECORES, "which run at 0.8 GHz to 4.4 GHz"),
        ("powersave", {"max_frequency": "500 MHz"}, PCORES, "which run at 0.8 GHz to"),
        (
            "current",
            {"max_frequency": "2 GHz", "min_frequency": "2.4 GHz"},
            ALL,
            "the lowest frequency (2.4 GHz) would be above the highest one (2 GHz)",
        ),
    ],
)
def test_what_the_node_cannot_have_is_a_reason_before_anything_is_changed(
    root: Path, governor: str, asked: dict[str, str], cpus: tuple[int, ...], expected: str
) -> None:
    before = all_settings(root)
    settings = node_settings(root)
    wanted = settings_of(**asked)
    for reason in (
        settings.problem(governor, wanted, cpus),
        settings.apply(governor, wanted, cpus),
    ):
        assert reason is not None and expected in reason
    assert settings.restore() is None
    assert all_settings(root) == before


@pytest.mark.parametrize(
    ("name", "value", "gone"),
    [
        ("epp", "power", f"{CPU}/cpufreq/policy3/energy_performance_available_preferences"),
        ("turbo", "off", NO_TURBO),
        ("power_limit", "65 W", f"{PACKAGE}/name"),
        ("cache_aware", "off", CACHE_AWARE),
    ],
)
def test_a_node_without_the_setting_has_a_reason(
    root: Path, name: str, value: str, gone: str
) -> None:
    (root / gone).unlink()
    if name == "power_limit":
        (root / MMIO / "name").unlink()
    settings = node_settings(root)
    reason = settings.problem("powersave", settings_of(**{name: value}), ALL)
    assert reason is not None and ("missing" in reason or "no package" in reason)
    assert settings.apply("powersave", settings_of(**{name: value}), ALL) == reason
    settings.restore()


@pytest.mark.parametrize("name", ["epp", "max_frequency", "min_frequency", "turbo", "power_limit"])
def test_a_virtual_machine_has_none_of_them(tmp_path: Path, name: str) -> None:
    root = build_tree(tmp_path, "kvm-guest")
    settings = node_settings(root)
    for value in VALUES[name]:
        wanted = settings_of(**{name: value})
        assert settings.problem("current", wanted, (0,))
        assert settings.apply("current", wanted, (0,))
    assert settings.restore() is None


def test_an_epp_that_amd_pstate_moves_itself_cannot_be_held(root: Path) -> None:
    write(root, f"{CPU}/amd_pstate/dynamic_epp", "enabled")
    settings = node_settings(root)
    reason = settings.problem("current", settings_of(epp="power"), (1, 4, 7))
    assert reason is not None and "amd-pstate's dynamic EPP moves it" in reason


def test_an_epp_that_amd_pstate_moves_is_put_back_by_the_word_for_it(root: Path) -> None:
    # Linux 7.3 shows the profile that it follows, and takes the word alone.
    for cpu in ALL:
        epp = f"{CPU}/cpufreq/policy{cpu}/energy_performance_preference"
        write(root, epp, "dynamic(profile:balanced)")
        write(root, f"{CPU}/cpufreq/policy{cpu}/scaling_governor", "powersave")
    settings = node_settings(root)
    assert settings.apply("current", settings_of(epp="power"), ALL) is None
    assert policy(root, 3, "energy_performance_preference") == "power"
    done = settings.restore()
    assert done is not None and done.problems == {}
    assert {policy(root, cpu, "energy_performance_preference") for cpu in ALL} == {"dynamic"}


@pytest.mark.parametrize("name", VALUES)
def test_where_nobody_sets_settings_only_those_in_force_run(root: Path, name: str) -> None:
    before = all_settings(root)
    site = Site("site", "A site", GovernorRule("nobody"), SchedulerRule("nobody"))
    settings = node_settings(root, site)
    # They have one EPP, and the governor powersave.
    cpus = (1, 4, 7)
    reasons = [
        settings.apply("current", settings_of(**{name: value}), cpus) for value in VALUES[name]
    ]
    found = [reason for reason in reasons if reason is not None]
    assert found and all(reason.endswith("at this site nobody sets it") for reason in found)
    assert settings.restore() is None
    assert all_settings(root) == before


def test_a_change_during_a_run_that_no_other_field_tells_is_told_by_what_was_asked_for() -> None:
    before = {"epp": "power", "settings_read": {"epp": "power", "power_limit": "65 W"}}
    after = before | {"settings_read": {"epp": "power", "power_limit": "45 W"}}
    assert state_changes(before, after) == ("power_limit was 65 W before the run and 45 W after it")
    assert state_changes(before, before) == ""
    changed = {"epp": "performance", "settings_read": {"epp": "performance"}}
    assert state_changes({"epp": "power", "settings_read": {"epp": "power"}}, changed) == (
        "epp was power before the run and performance after it"
    )
