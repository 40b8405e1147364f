"""Settings and the frequency: which are tried, what is off, and that all is put back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from base.errors import StudyError
from runners.host.tree import Tree
from runners.node.cpufreq import read_cpufreq
from runners.node.node import open_node
from runners.prove.bench import Seen
from runners.prove.clocks import Setup, Tried, journaled, judge_setups, setups
from runners.settings.journal import STUDY, Journal, state_folder
from runners.settings.setting import SettingFile
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
    assert names(root, quick=True) == [
        "governor performance",
        "governor powersave",
        "limit 2.4 GHz",
    ]
    assert names(root) == [
        *names(root, quick=True),
        "preference performance",
        "preference balance_performance",
        "preference balance_power",
        "preference power",
        "turbo off",
    ]


def test_settings_are_in_force_within_and_as_before_afterwards(root: Path) -> None:
    before = (root / GOVERNOR).read_text()
    with journaled(open_node(root)) as put:
        assert put([SettingFile(f"/{GOVERNOR}", "performance")]) == ""
        assert (root / GOVERNOR).read_text() == "performance\n"
        assert Journal(state_folder(root), STUDY).exists()

    assert (root / GOVERNOR).read_text() == before
    assert not Journal(state_folder(root), STUDY).exists()


def test_a_setting_lasts_until_the_next_one_only(root: Path) -> None:
    limit = root / CPU / "cpufreq/policy0/scaling_max_freq"
    before = limit.read_text()
    with journaled(open_node(root)) as put:
        put([SettingFile(f"/{CPU}/cpufreq/policy0/scaling_max_freq", "2000000")])
        assert limit.read_text() == "2000000\n"
        put([SettingFile(f"/{GOVERNOR}", "performance")])
        assert limit.read_text() == before


def test_ctrl_c_puts_everything_back(root: Path) -> None:
    before = (root / GOVERNOR).read_text()
    with pytest.raises(KeyboardInterrupt), journaled(open_node(root)) as put:
        put([SettingFile(f"/{GOVERNOR}", "performance")])
        raise KeyboardInterrupt

    assert (root / GOVERNOR).read_text() == before


def test_what_cannot_be_put_back_is_an_error_that_names_the_journal(root: Path) -> None:
    said = r"could not be put back.*study\.json"
    with pytest.raises(StudyError, match=said), journaled(open_node(root)) as put:
        put([SettingFile(f"/{GOVERNOR}", "performance")])
        (root / GOVERNOR).unlink()
        (root / GOVERNOR).mkdir()


def tried(ghz: dict[str, float]) -> list[Tried]:
    limit_khz = {"limit 2.4 GHz": 2_400_000}
    return [
        Tried(Setup(name, (), limit_khz.get(name)), value, Seen()) for name, value in ghz.items()
    ]


def states(root: Path, ghz: dict[str, float], mode: str | None = "active") -> dict[str, str]:
    cpufreq = replace(read_cpufreq(root), mode=mode)
    found = judge_setups(of_kind("cpu_core"), tried(ghz), cpufreq)
    return {finding.of.removesuffix(" P"): finding.state for finding in found}


def test_a_limit_that_is_not_kept_is_told(root: Path) -> None:
    kept = {"governor performance": 5.5, "governor powersave": 5.45, "limit 2.4 GHz": 2.41}
    assert set(states(root, kept).values()) == {"ok"}
    assert states(root, kept | {"limit 2.4 GHz": 5.5})["limit 2.4 GHz"] == "off"


def test_no_setting_is_faster_than_performance(root: Path) -> None:
    slow = {"governor performance": 3.0, "governor powersave": 5.5, "preference power": 2.9}
    assert states(root, slow) == {
        "governor performance": "ok",
        "governor powersave": "off",
        "preference power": "ok",
    }


def test_powersave_of_a_driver_that_does_not_scale_itself_is_the_lowest_frequency(
    root: Path,
) -> None:
    """The same frequencies are right where the driver scales by itself."""
    ghz = {"governor performance": 5.5, "governor powersave": 5.4}
    assert states(root, ghz)["governor powersave"] == "ok"
    assert states(root, ghz, mode=None)["governor powersave"] == "off"
    lowest = ghz | {"governor powersave": 0.4}
    assert states(root, lowest, mode=None)["governor powersave"] == "ok"


def test_what_was_not_in_force_is_absent_with_its_reason(root: Path) -> None:
    refused = Tried(Setup("turbo off", ()), None, Seen(problem="no permission"), "no permission")
    (found,) = judge_setups(of_kind("cpu_core"), [refused], read_cpufreq(root))
    assert (found.state, found.why) == ("absent", "no permission")
