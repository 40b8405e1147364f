"""After a reboot nothing is put back that an earlier boot's journal names, and one line says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from runners.host.tree import BOOT_ID, Tree
from runners.settings.journal import STUDY, TUNE, Journal, new_entry, state_folder
from runners.settings.recovery import restore, restore_after_crash
from runners.settings.setting import Setting
from runners.settings.tune import changes_of, tune
from tests.support.trees import CPU, Machine, build_tree, write

POLICY = f"{CPU}/cpufreq/policy0"
GOVERNOR = f"{POLICY}/scaling_governor"
BOOT = BOOT_ID[1:]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = build_tree(tmp_path, Machine(cores=("0",)))
    write(made, GOVERNOR, "schedutil")
    write(made, f"{POLICY}/affected_cpus", "0")
    write(made, f"{POLICY}/scaling_available_governors", "performance powersave schedutil")
    write(made, BOOT, "first")
    return made


def journal(root: Path, purpose: str) -> Journal:
    return Journal(state_folder(root), purpose)


def left_by_a_study(root: Path) -> Journal:
    """Return the journal of a study that was killed when it had set another governor."""
    written = journal(root, STUDY)
    written.write(new_entry(Tree(root), [Setting(f"/{GOVERNOR}", "powersave")]))
    return written


def test_in_the_same_boot_a_study_s_settings_are_put_back(root: Path) -> None:
    left = left_by_a_study(root)
    (line,) = restore_after_crash(root)
    assert (root / GOVERNOR).read_text().strip() == "powersave"
    assert "put back" in line
    assert not left.exists()


def test_after_a_reboot_no_setting_is_changed_and_the_journal_is_dropped(root: Path) -> None:
    left = left_by_a_study(root)
    write(root, BOOT, "second")
    (line,) = restore_after_crash(root)
    assert (root / GOVERNOR).read_text().strip() == "schedutil"
    assert "the node was rebooted" in line
    assert "nothing was put back" in line
    assert "\n" not in line
    assert not left.exists()
    assert restore_after_crash(root) == []


@pytest.mark.parametrize("told", ["", "first"])
def test_a_boot_that_is_not_told_is_taken_for_the_same(root: Path, told: str) -> None:
    if told:
        left_by_a_study(root)
        (root / BOOT).unlink()
    else:
        (root / BOOT).unlink()
        left_by_a_study(root)
        write(root, BOOT, "second")
    restore_after_crash(root)
    assert (root / GOVERNOR).read_text().strip() == "powersave"


def test_a_tuning_ends_with_its_boot_and_one_line_says_so(root: Path) -> None:
    tune(root, changes_of(Tree(root), None, None))
    assert restore_after_crash(root) == []
    assert journal(root, TUNE).exists()
    write(root, BOOT, "second")
    write(root, GOVERNOR, "powersave")
    (line,) = restore_after_crash(root)
    assert "the node was rebooted" in line
    assert (root / GOVERNOR).read_text().strip() == "powersave"
    assert not journal(root, TUNE).exists()


def test_tuning_after_a_reboot_saves_what_is_in_force_then(root: Path) -> None:
    tune(root, changes_of(Tree(root), None, None))
    write(root, BOOT, "second")
    write(root, GOVERNOR, "powersave")
    tune(root, changes_of(Tree(root), None, None))
    restore(root, journal(root, TUNE))
    assert (root / GOVERNOR).read_text().strip() == "powersave"
