from __future__ import annotations

from pathlib import Path

import pytest

from base.reading import Unavailable
from runners.host.tree import Tree
from runners.settings.files import put_in_force, read_scaling
from runners.settings.registry import is_valid
from runners.settings.setting import SettingFile
from tests.support.trees import CPU, build_tree, write

POLICY = f"/{CPU}/cpufreq/policy3"
GOVERNOR = f"{POLICY}/scaling_governor"


def test_scaling_is_saved_with_governors_first_then_epp_then_limits_then_turbo(
    root: Path,
) -> None:
    found = read_scaling(Tree(root))
    assert not isinstance(found, Unavailable)
    names = [setting.path.rpartition("/")[2] for setting in found]
    assert list(dict.fromkeys(names)) == [
        "scaling_governor",
        "energy_performance_preference",
        "scaling_max_freq",
        "scaling_min_freq",
        "no_turbo",
    ]
    # Four policies with four files each, and one switch of turbo.
    assert len(found) == 4 * 4 + 1
    assert SettingFile(GOVERNOR, "powersave") in found


def test_a_node_without_frequency_scaling_has_nothing_to_save(tmp_path: Path) -> None:
    assert read_scaling(Tree(build_tree(tmp_path, "kvm-guest"))) == ()


@pytest.mark.parametrize("content", ["", "two words", "x" * 65, "../../etc"])
def test_what_cannot_be_put_back_is_not_saved(root: Path, content: str) -> None:
    write(root, GOVERNOR[1:], content)
    found = read_scaling(Tree(root))
    assert isinstance(found, Unavailable)
    assert GOVERNOR in found.reason


class Offline(Tree):
    """A tree in which the kernel answers for policy 3 as it does when its CPUs are offline."""

    def text(self, path: str) -> str | Unavailable:
        if path.startswith(POLICY):
            return Unavailable(f"cannot read {path}: Device or resource busy", busy=True)
        return super().text(path)


def test_settings_of_cpus_that_are_offline_have_one_reason_and_stop_no_others(
    root: Path,
) -> None:
    other = GOVERNOR.replace("policy3", "policy2")
    epp = f"{POLICY}/energy_performance_preference"
    wanted = [SettingFile(path, "performance") for path in (GOVERNOR, epp, other)]
    problems = put_in_force(Offline(root), wanted)
    assert set(problems) == {GOVERNOR, epp}
    (reason,) = set(problems.values())
    assert reason == f"the CPUs of policy3 are offline (`echo 1 > /{CPU}/cpu3/online`)"
    assert (root / other[1:]).read_text() == "performance\n"


def test_what_differs_is_written_and_what_is_in_force_is_not(root: Path) -> None:
    file = root / GOVERNOR[1:]
    before = file.stat().st_mtime_ns
    assert put_in_force(Tree(root), [SettingFile(GOVERNOR, "powersave")]) == {}
    assert file.stat().st_mtime_ns == before
    assert put_in_force(Tree(root), [SettingFile(GOVERNOR, "performance")]) == {}
    assert file.read_text() == "performance\n"


def test_a_setting_that_does_not_take_its_value_is_a_problem_with_its_path(root: Path) -> None:
    (root / GOVERNOR[1:]).unlink()
    problems = put_in_force(Tree(root), [SettingFile(GOVERNOR, "performance")])
    assert problems == {GOVERNOR: f"{GOVERNOR} is missing (wanted: performance)"}
    # What is written into a pipe that nobody reads, or a directory, is not there afterwards.
    (root / GOVERNOR[1:]).mkdir()
    (why,) = put_in_force(Tree(root), [SettingFile(GOVERNOR, "performance")]).values()
    assert GOVERNOR in why and "wanted: performance" in why


def test_a_link_out_of_a_recorded_tree_is_not_followed(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("powersave\n")
    (root / GOVERNOR[1:]).unlink()
    (root / GOVERNOR[1:]).symlink_to(outside)
    assert put_in_force(Tree(root), [SettingFile(GOVERNOR, "performance")])
    assert outside.read_text() == "powersave\n"


def test_a_command_takes_the_place_of_writing_governors(root: Path, tmp_path: Path) -> None:
    limit = SettingFile(f"{POLICY}/scaling_max_freq", "1000000")
    wanted = [SettingFile(GOVERNOR, "performance"), limit]
    sets = f'echo "$0" >{root}{GOVERNOR}; echo "$0 $1" >>{tmp_path}/calls'
    assert put_in_force(Tree(root), wanted, ("sh", "-c", sets, "{governor}", "{cpus}")) == {}
    assert (tmp_path / "calls").read_text() == "performance 3\n"


@pytest.mark.parametrize(
    "path",
    [
        f"{POLICY}/../../../../../../etc/passwd",
        f"{POLICY}/scaling_governor\n",
        "/proc/sys/kernel/core_pattern",
        f"{POLICY}/scaling_setspeed",
        "sys/devices/system/cpu/cpufreq/policy3/scaling_governor",
    ],
)
def test_paths_that_are_no_settings(path: str) -> None:
    assert not is_valid(SettingFile(path, "performance"))


@pytest.mark.parametrize("value", ["", "a b", "performance\n", "a/b", "ä", "x" * 65])
def test_values_that_no_setting_has(value: str) -> None:
    assert is_valid(SettingFile(GOVERNOR, "performance"))
    assert not is_valid(SettingFile(GOVERNOR, value))
