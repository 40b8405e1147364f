"""Settings and the frequency: which are tried, what is off, and that all is put back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pinstudy.base.errors import StudyError
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.cpufreq import read_cpufreq
from pinstudy.runners.node.node import open_node
from pinstudy.runners.prove.bench import Seen
from pinstudy.runners.prove.clocks import Setup, Tried, journaled, judge_setups, setups
from pinstudy.runners.settings.journal import STUDY, Journal, state_folder
from pinstudy.runners.settings.setting import SettingFile
from tests.runners.prove.seen import of_kind
from tests.support.trees import CPU, build_tree

GOVERNOR = f"{CPU}/cpufreq/policy0/scaling_governor"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = build_tree(tmp_path, "i9-14900k")
    for policy in (root / CPU / "cpufreq").glob("policy*"):
        offered = "default performance balance_performance balance_power power"
        (policy / "energy_performance_available_preferences").write_text(f"{offered} \n")
    return root


def names(root: Path, quick: bool = False) -> list[str]:
    tried = setups(Tree(root), read_cpufreq(root), quick)
    return [setup.name for setup in tried]


def test_all_that_can_be_set_is_tried_and_a_limit_that_all_kinds_have(root: Path) -> None:
    quick = ["governor performance", "governor powersave", "limit 2.4 GHz"]
    preferences = ("performance", "balance_performance", "balance_power", "power")
    assert names(root, quick=True) == quick
    more = [f"preference {preference}" for preference in preferences]
    assert names(root) == [*quick, *more, "turbo off"]


def test_after_tuning_the_preferences_are_tried_that_amd_pstate_hides(root: Path) -> None:
    usual = names(root)
    for policy in (root / CPU / "cpufreq").glob("policy*"):
        (policy / "scaling_governor").write_text("performance\n")
        (policy / "energy_performance_available_preferences").write_text("performance \n")
    assert names(root) == usual


def test_a_setting_lasts_until_the_next_one_and_is_put_back_also_by_ctrl_c(root: Path) -> None:
    limit, governor = root / CPU / "cpufreq/policy0/scaling_max_freq", root / GOVERNOR
    before = (limit.read_text(), governor.read_text())
    with pytest.raises(KeyboardInterrupt), journaled(open_node(root)) as put:
        put([SettingFile(f"/{CPU}/cpufreq/policy0/scaling_max_freq", "2000000")])
        assert limit.read_text() == "2000000\n"
        assert put([SettingFile(f"/{GOVERNOR}", "performance")]) == ""
        assert (limit.read_text(), governor.read_text()) == (before[0], "performance\n")
        assert Journal(state_folder(root), STUDY).exists()
        raise KeyboardInterrupt
    assert (limit.read_text(), governor.read_text()) == before
    assert not Journal(state_folder(root), STUDY).exists()


def test_what_cannot_be_put_back_is_an_error_that_names_the_journal(root: Path) -> None:
    said = r"could not be put back.*study\.json"
    with pytest.raises(StudyError, match=said), journaled(open_node(root)) as put:
        put([SettingFile(f"/{GOVERNOR}", "performance")])
        (root / GOVERNOR).unlink()
        (root / GOVERNOR).mkdir()


PERFORMANCE, POWERSAVE, LIMIT = "governor performance", "governor powersave", "limit 2.4 GHz"
POWER = "preference power"


@pytest.mark.parametrize(
    ("ghz", "mode", "off"),
    [
        ({PERFORMANCE: 5.5, POWERSAVE: 5.45, LIMIT: 2.41}, "active", set()),
        # A limit that is not kept.
        ({PERFORMANCE: 5.5, POWERSAVE: 5.45, LIMIT: 5.5}, "active", {LIMIT}),
        # No setting is faster than performance.
        ({PERFORMANCE: 3.0, POWERSAVE: 5.5, POWER: 2.9}, "active", {POWERSAVE}),
        # Powersave of a driver that does not scale by itself is the lowest frequency.
        ({PERFORMANCE: 5.5, POWERSAVE: 5.4}, None, {POWERSAVE}),
        ({PERFORMANCE: 5.5, POWERSAVE: 0.4}, None, set()),
    ],
)
def test_a_setting_that_is_not_in_force_is_off(
    root: Path, ghz: dict[str, float], mode: str | None, off: set[str]
) -> None:
    limit_khz = {LIMIT: 2_400_000}
    runs = [
        Tried(Setup(name, (), limit_khz.get(name)), value, Seen()) for name, value in ghz.items()
    ]
    cpufreq = replace(read_cpufreq(root), mode=mode)
    found = judge_setups(of_kind("cpu_core"), runs, cpufreq)
    states = {finding.of.removesuffix(" P"): finding.state for finding in found}
    assert states == {name: "off" if name in off else "ok" for name in ghz}


def test_what_was_not_in_force_is_absent_with_its_reason(root: Path) -> None:
    refused = Tried(Setup("turbo off", ()), None, Seen(problem="no permission"), "no permission")
    (found,) = judge_setups(of_kind("cpu_core"), [refused], read_cpufreq(root))
    assert (found.state, found.why) == ("absent", "no permission")
