"""Settings after a study was killed: as they were, once the next command has run."""

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
from runners.settings.journal import STUDY, Journal, state_folder
from runners.settings.recovery import restore_after_crash
from tests.support.tools import ROOT
from tests.support.trees import CPU, build_tree, write


def scaling(root: Path) -> dict[str, str]:
    """Return every file below cpufreq and intel_pstate with what it holds."""
    folders = (root / CPU / "cpufreq", root / CPU / "intel_pstate")
    return {
        str(path.relative_to(root)): path.read_text()
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file()
    }


def distinct_settings(root: Path) -> None:
    """Give policies values that differ, so that no default can pass for a restored value."""
    for cpu in range(24):
        policy = f"{CPU}/cpufreq/policy{cpu}"
        write(root, f"{policy}/scaling_governor", ("powersave", "performance")[cpu % 3 == 0])
        write(
            root,
            f"{policy}/energy_performance_preference",
            ("performance", "balance_power", "power")[cpu % 3],
        )
        write(root, f"{policy}/scaling_min_freq", 400000 + 1000 * cpu)
        write(
            root,
            f"{policy}/energy_performance_available_preferences",
            "default performance balance_performance balance_power power",
        )


@pytest.mark.parametrize("kills", [15, pytest.param(200, marks=pytest.mark.faults)])
def test_after_a_kill_at_any_moment_the_next_command_leaves_everything_as_it_was(
    tmp_path: Path, kills: int
) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    distinct_settings(root)
    before = scaling(root)
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
        changed += scaling(root) != before
        journals += journal.exists()
        lines = restore_after_crash(root)
        assert scaling(root) == before, lines
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
