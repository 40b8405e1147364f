"""After a reboot nothing is put back that an earlier boot's journal names, and one line says so."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from itertools import count
from pathlib import Path

import pytest

from runners.host.lock import node_lock
from runners.host.tree import BOOT_ID, Tree
from runners.settings.journal import STUDY, TUNE, Journal, new_entry, state_folder
from runners.settings.recovery import restore, restore_after_crash
from runners.settings.setting import SettingFile
from runners.settings.tune import changes_of, tune
from tests.runners.settings.factors import all_settings, distinct_settings
from tests.support.tools import ROOT
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
    written.write(new_entry(Tree(root), [SettingFile(f"/{GOVERNOR}", "powersave")]))
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


@pytest.mark.parametrize("boot_id", ["", "first"])
def test_an_unknown_boot_counts_as_the_same(root: Path, boot_id: str) -> None:
    if boot_id:
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


def fill_truncated(root: Path, before: dict[str, str]) -> None:
    """Give files their text back that a kill left between truncation and writing.

    The kernel's files cannot be truncated: only these of the test are ever empty then, which would
    mean a switch that the kernel hides.
    """
    for path, text in all_settings(root).items():
        if before[path] and not text:
            write(root, path, before[path].strip())


@pytest.mark.parametrize("kills", [15, pytest.param(200, marks=pytest.mark.faults)])
def test_after_a_kill_at_any_moment_the_next_command_leaves_everything_as_it_was(
    tmp_path: Path, kills: int
) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    distinct_settings(root)
    before = all_settings(root)
    journal = Journal(state_folder(root), STUDY)
    moments = random.Random(7)
    changed = journals = 0
    # A kill that comes when there is nothing to put back shows nothing.
    for kill in count():
        if changed == kills:
            break
        switcher = subprocess.Popen(
            [sys.executable, "-m", "tests.runners.settings.switcher", str(root), str(kill)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
        )
        assert switcher.stdout is not None
        assert switcher.stdout.readline(), "the switcher has ended by itself"
        time.sleep(moments.uniform(0, 0.05))
        switcher.send_signal(signal.SIGKILL)
        switcher.communicate()
        assert switcher.returncode == -signal.SIGKILL
        fill_truncated(root, before)
        changed += all_settings(root) != before
        journals += journal.exists()
        lines = restore_after_crash(root)
        assert all_settings(root) == before, lines
        assert not journal.exists()
    assert journals >= changed


def test_what_a_living_study_has_changed_is_left_alone(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "adl0")
    journal = Journal(state_folder(root), STUDY)
    journal.path.parent.mkdir(parents=True)
    journal.path.write_text("{}")
    with node_lock(root):
        assert restore_after_crash(root) == []
    (line,) = restore_after_crash(root)
    assert str(journal.path) in line and "not used" in line
    assert journal.exists()
