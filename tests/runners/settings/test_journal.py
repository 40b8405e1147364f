"""The journal of what was changed: who may write it, who believes it, and what it puts back."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from pinstudy.base.errors import StudyError, UserError
from pinstudy.runners.host.lock import node_lock
from pinstudy.runners.host.tree import BOOT_ID, Tree
from pinstudy.runners.settings.journal import (
    STUDY,
    TUNE,
    Journal,
    new_entry,
    open_journal,
    state_folder,
)
from pinstudy.runners.settings.recovery import restore, restore_after_crash
from pinstudy.runners.settings.setting import SettingFile
from pinstudy.runners.settings.tune import changes_of, tune
from tests.runners.settings.factors import all_settings, distinct_settings, text
from tests.support.ordinary_user import NOBODY, open_folder, user_without_account
from tests.support.tools import ROOT
from tests.support.trees import CPU, Machine, build_tree, write

GOVERNOR = SettingFile(f"/{CPU}/cpufreq/policy0/scaling_governor", "powersave")


def node(folder: Path) -> Tree:
    write(folder, "proc/sys/kernel/random/boot_id", "boot")
    return Tree(folder)


def written(folder: Path) -> Journal:
    journal = Journal(folder / "state", STUDY)
    journal.write(new_entry(node(folder), [GOVERNOR], ("set", "{governor}")))
    return journal


def test_what_was_written_is_read_and_what_was_not_is_no_entry(tmp_path: Path) -> None:
    nothing = Journal(tmp_path, STUDY)
    assert not nothing.exists()
    assert nothing.read() is None
    journal = written(tmp_path)
    entry = journal.read()
    assert entry is not None
    assert (entry.settings, entry.boot_id, entry.pid) == ((GOVERNOR,), "boot", os.getpid())
    assert entry.restore_command == ("set", "{governor}")
    # One that names no user is its owner's.
    journal.path.write_text(json.dumps(content(journal) | {"user": os.geteuid()}))
    unnamed = {name: value for name, value in content(journal).items() if name != "user"}
    journal.path.write_text(json.dumps(unnamed))
    assert journal.read() == entry
    # Nothing is left of it, not even a torn one.
    (journal.path.parent / f".{journal.path.name}.4711").write_text("{")
    journal.remove()
    assert list(journal.path.parent.iterdir()) == []


def content(journal: Journal) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(journal.path.read_text())
    return found


def test_everybody_may_read_it_and_only_its_owner_write_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        journal = written(tmp_path)
        of_root = roots_journal(tmp_path)
        of_root.write(new_entry(node(tmp_path), [GOVERNOR]))
    finally:
        os.umask(before)
    assert journal.path.stat().st_mode & 0o777 == 0o644
    for folder in (journal.path.parent, of_root.path.parent, of_root.path.parents[1]):
        assert folder.stat().st_mode & 0o777 == 0o755
    assert of_root.read() is not None


def test_a_folder_that_cannot_be_written_changes_nothing_and_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    journal = Journal(tmp_path / "file" / "below", STUDY)
    assert journal.read() is None
    with pytest.raises(StudyError, match=r"cannot be saved.*none.*PINSTUDY_STATE"):
        journal.write(new_entry(Tree(tmp_path), [GOVERNOR]))


def to_others(journal: Journal) -> None:
    journal.path.chmod(0o666)


def to_somebody_else(journal: Journal) -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to give a file away")
    os.chown(journal.path, 12345, 12345)


def to_a_link(journal: Journal) -> None:
    real = journal.path.rename(journal.path.parent / "elsewhere")
    journal.path.symlink_to(real)


@pytest.mark.parametrize(
    ("give", "reason"),
    [
        (to_others, "others may write it"),
        (to_somebody_else, "not a file of this user"),
        (to_a_link, "not used"),
    ],
)
def test_what_others_may_have_made_is_not_believed(
    tmp_path: Path, give: Callable[[Journal], None], reason: str
) -> None:
    journal = written(tmp_path)
    give(journal)
    assert journal.exists()
    with pytest.raises(UserError, match=reason):
        journal.read()


def test_a_link_that_waits_under_the_temporary_name_is_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "state").mkdir()
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    trap = tmp_path / "state" / f".{STUDY}.json.guessed"
    for set_trap in (trap.hardlink_to, trap.symlink_to):
        set_trap(precious)
        with pytest.raises(StudyError, match="none is changed"):
            written(tmp_path)
        assert precious.read_text() == "precious"
    assert written(tmp_path).read() is not None


@pytest.mark.parametrize(
    "changes",
    [
        *({"schema": 2}, {"schema": True}, {"settings": {}}, {"settings": [[GOVERNOR.path]]}),
        {"settings": [[GOVERNOR.path, "performance", "x"]]},
        {"settings": [{"path": GOVERNOR.path, "value": "performance"}]},
        *({"settings": [[*pair]]} for pair in ((GOVERNOR.path, 3), (GOVERNOR.path, "a b"))),
        *({"settings": [["/etc/passwd", "x"]]}, {"user": 2**32}, {"user": None}),
        *({"pid": -1}, {"pid": True}, {"pid": "1"}, {"command": "pinstudy"}),
        *({"scheduler_command": "scx"}, {"boot_id": "\x1b[2J"}),
        *({"restore_command": [1]}, {"restore_command": ["set\0"]}),
    ],
)
def test_what_no_pinstudy_has_written_is_not_believed(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    journal = written(tmp_path)
    journal.path.write_text(json.dumps(content(journal) | changes))
    with pytest.raises(UserError, match="not used") as refused:
        journal.read()
    assert str(journal.path) in str(refused.value)
    assert "\n" not in str(refused.value) and "\x1b" not in str(refused.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_refused(tmp_path: Path, raw: bytes) -> None:
    journal = Journal(tmp_path, STUDY)
    journal.path.write_bytes(raw)
    journal.path.chmod(0o644)
    with pytest.raises(UserError, match="not used"):
        journal.read()


def test_a_users_journals_are_in_the_state_folder_by_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.delenv("PINSTUDY_STATE", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", "/home/a/state")
    folder = state_folder(Path("/"))
    assert folder.parent == Path("/home/a/state/pinstudy")
    monkeypatch.setenv("PINSTUDY_STATE", "/scratch")
    given = state_folder(Path("/"))
    assert (given.parent, given.name) == (Path("/scratch"), folder.name)
    # A recorded tree keeps its journals inside.
    assert state_folder(Path("/node")) == Path("/node/var/lib/pinstudy")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("PINSTUDY_STATE")
    assert state_folder(Path("/")) == Path("/var/lib/pinstudy")


def test_a_user_without_a_home_has_no_journal_and_is_told_how_to_have_one() -> None:
    with user_without_account():
        journal = open_journal(Path("/"), STUDY)
        assert not journal.exists()
        assert journal.read() is None
        with pytest.raises(StudyError, match=r"none is changed; name a .* in \$PINSTUDY_STATE"):
            journal.write(new_entry(Tree(Path("/")), [GOVERNOR]))


def roots_journal(folder: Path) -> Journal:
    """Return the journal of root, whom only root can be."""
    if os.geteuid() != 0:
        pytest.skip("needs root, whose journal it is")
    return Journal(folder / "a" / "state", STUDY, of_root=True)


@pytest.mark.parametrize("place", ["state", "a"])
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_roots_journal_is_neither_kept_nor_believed_where_others_can_change_it(
    tmp_path: Path, place: str, mode: int
) -> None:
    journal = roots_journal(tmp_path)
    journal.write(new_entry(node(tmp_path), [GOVERNOR]))
    folder = {path.name: path for path in journal.path.parents}[place]
    folder.chmod(mode)
    if mode & 0o1000 and place == "a":
        # As /tmp is: what is root's there nobody else can rename.
        assert journal.read() is not None
        return
    with pytest.raises(UserError, match=f"others may write {folder}"):
        journal.read()
    with pytest.raises(StudyError, match="none is changed; name a writable folder of your own"):
        journal.write(new_entry(node(tmp_path), [GOVERNOR]))


def test_roots_journal_is_not_kept_in_a_folder_of_somebody_elses(tmp_path: Path) -> None:
    journal = roots_journal(tmp_path)
    journal.write(new_entry(node(tmp_path), [GOVERNOR]))
    os.chown(journal.path.parents[1], 12345, 12345)
    with pytest.raises(UserError, match="is not root's"):
        journal.read()
    # A link to it is no way around.
    (tmp_path / "b").symlink_to(journal.path.parent)
    with pytest.raises(StudyError, match="is not root's"):
        Journal(tmp_path / "b", STUDY, of_root=True).write(new_entry(node(tmp_path), [GOVERNOR]))


def test_a_command_that_puts_back_is_run_as_the_user_who_gave_it() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to be somebody else")
    with open_folder() as folder:
        output = folder / "output"
        output.touch()
        output.chmod(0o666)
        command = ("sh", "-c", f"id -u >{output}", "{governor}")
        journal = Journal(folder / "state", STUDY)
        entry = new_entry(node(folder), [GOVERNOR], command)
        journal.write(structs.replace(entry, user=NOBODY))
        restore(folder, journal)
        assert output.read_text() == f"{NOBODY}\n"


def test_a_command_line_of_any_length_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["pinstudy", *["\x01" * 100_000] * 200])
    entry = new_entry(node(tmp_path), [GOVERNOR])
    assert len(json.dumps(entry.content)) < 1_000_000
    assert Journal(tmp_path / "state", STUDY).write(entry) == entry
    assert Journal(tmp_path / "state", STUDY).read() == entry


# What is put back after a crash, and after a reboot.
BOOT = BOOT_ID[1:]
FILE = GOVERNOR.path[1:]


@pytest.fixture
def first_boot(tmp_path: Path) -> Path:
    root = build_tree(tmp_path, Machine(cores=("0",)))
    write(root, FILE, "schedutil")
    write(root, f"{CPU}/cpufreq/policy0/affected_cpus", "0")
    write(root, f"{CPU}/cpufreq/policy0/scaling_available_governors", "performance powersave")
    write(root, BOOT, "first")
    return root


def left_by_a_study(root: Path) -> Journal:
    """Return the journal of a study that was killed when it had set another governor."""
    journal = Journal(state_folder(root), STUDY)
    journal.write(new_entry(Tree(root), [GOVERNOR]))
    return journal


@pytest.mark.parametrize(
    ("first", "second", "is_put_back"),
    [
        ("first", "first", True),
        ("first", "second", False),
        # A boot that is not known counts as the same.
        ("first", None, True),
        (None, "second", True),
    ],
)
def test_a_killed_study_s_settings_are_put_back_in_its_boot_alone(
    first_boot: Path, first: str | None, second: str | None, is_put_back: bool
) -> None:
    if first is None:
        (first_boot / BOOT).unlink()
    left = left_by_a_study(first_boot)
    if second is None:
        (first_boot / BOOT).unlink()
    else:
        write(first_boot, BOOT, second)
    (line,) = restore_after_crash(first_boot)
    assert text(first_boot, FILE) == ("powersave" if is_put_back else "schedutil")
    assert ("the node was rebooted" in line and "nothing was put back" in line) != is_put_back
    assert "\n" not in line
    assert not left.exists()
    assert restore_after_crash(first_boot) == []


def test_a_tuning_ends_with_its_boot(first_boot: Path) -> None:
    journal = Journal(state_folder(first_boot), TUNE)
    tune(first_boot, changes_of(Tree(first_boot), None, None))
    assert restore_after_crash(first_boot) == []
    assert journal.exists()
    write(first_boot, BOOT, "second")
    write(first_boot, FILE, "powersave")
    # A new tuning saves what is in force then.
    tune(first_boot, changes_of(Tree(first_boot), None, None))
    restore(first_boot, journal)
    assert text(first_boot, FILE) == "powersave"
    tune(first_boot, changes_of(Tree(first_boot), None, None))
    write(first_boot, BOOT, "third")
    (line,) = restore_after_crash(first_boot)
    assert "the node was rebooted" in line
    assert not journal.exists()


def fill_truncated(root: Path, before: dict[str, str]) -> None:
    """Give files their text back that a kill left between truncation and writing.

    The kernel's files cannot be truncated: only these of the test are ever empty then, which would
    mean a switch that the kernel hides.
    """
    for path, found in all_settings(root).items():
        if before[path] and not found:
            write(root, path, before[path].strip())


@pytest.mark.parametrize("kills", [5, pytest.param(200, marks=pytest.mark.faults)])
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
            [sys.executable, "-m", "tests.runners.settings.factors", str(root), str(kill)],
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


def test_what_a_living_study_has_changed_is_left_alone(first_boot: Path) -> None:
    journal = Journal(state_folder(first_boot), STUDY)
    journal.path.parent.mkdir(parents=True)
    journal.path.write_text("{}")
    with node_lock(first_boot):
        assert restore_after_crash(first_boot) == []
    (line,) = restore_after_crash(first_boot)
    assert str(journal.path) in line and "not used" in line
    assert journal.exists()


# Tuning, which lasts until it is undone.
NMI = "proc/sys/kernel/nmi_watchdog"
NUMA = "proc/sys/kernel/numa_balancing"


@pytest.fixture
def untuned(root: Path) -> Path:
    write(root, NMI, 1)
    write(root, NUMA, 0)
    return root


def files(root: Path) -> dict[str, str]:
    found = (path for folder in ("sys", "proc") for path in (root / folder).rglob("*"))
    return {str(path): path.read_text() for path in found if path.is_file()}


def tuned(root: Path, governor: str | None = None, turbo: str | None = None) -> None:
    changes = tune(root, changes_of(Tree(root), governor, turbo))
    assert [change.problem for change in changes if change.problem] == []


def test_tuning_is_undone_by_its_journal(untuned: Path) -> None:
    before = files(untuned)
    # What is tuned a second time goes back to what was before the first.
    tuned(untuned, governor="keep")
    tuned(untuned, turbo="off")
    assert text(untuned, NMI) == "0"
    assert text(untuned, FILE) == "performance"
    assert text(untuned, f"{CPU}/intel_pstate/no_turbo") == "1"
    done = restore(untuned, Journal(state_folder(untuned), TUNE))
    assert done is not None and done.problems == {}
    assert files(untuned) == before


def test_what_was_tuned_stays_so_until_what_a_study_has_changed_is_put_back(untuned: Path) -> None:
    before = files(untuned)
    tuned(untuned)
    study = Journal(state_folder(untuned), STUDY)
    governor = structs.replace(GOVERNOR, value="performance")
    gone = untuned / f"{CPU}/cpufreq/policy0/scaling_max_freq"
    limit = SettingFile(f"/{gone.relative_to(untuned)}", text(untuned, str(gone)))
    study.write(new_entry(Tree(untuned), [governor, limit]))
    write(untuned, FILE, "powersave")
    gone.rename(untuned / "away")
    tuning = Journal(state_folder(untuned), TUNE)
    told = [done.message for done in map(restore, [untuned] * 2, (study, tuning)) if done]
    assert len(told) == 2 and "\n" not in "".join(told)
    assert "pinstudy tune` has changed is put back after what a study has" in told[1]
    assert text(untuned, FILE) == "performance"
    (untuned / "away").rename(gone)
    for journal in (study, tuning):
        done = restore(untuned, journal)
        assert done is not None and done.problems == {}
    assert files(untuned) == before


def test_only_what_differs_is_tuned(untuned: Path) -> None:
    names = {change.path for change in changes_of(Tree(untuned), "keep", None)}
    assert names == {f"/{NMI}"}
    tuned(untuned)
    assert changes_of(Tree(untuned), None, None) == []


def test_what_the_node_does_not_have_is_a_users_mistake_when_asked_for(tmp_path: Path) -> None:
    guest = Tree(build_tree(tmp_path, "kvm-guest"))
    assert changes_of(guest, None, None) == []
    with pytest.raises(UserError, match="no frequency scaling here"):
        changes_of(guest, "performance", None)
    with pytest.raises(UserError, match="turbo cannot be switched here"):
        changes_of(guest, None, "off")


def test_nothing_is_tuned_beside_a_study_or_over_what_a_killed_one_has_left(untuned: Path) -> None:
    changes = changes_of(Tree(untuned), None, None)
    before = files(untuned)
    with node_lock(untuned), pytest.raises(StudyError, match="another pinstudy is at work"):
        tune(untuned, changes)
    Journal(state_folder(untuned), STUDY).write(new_entry(Tree(untuned), []))
    with pytest.raises(StudyError, match="pinstudy restore"):
        tune(untuned, changes)
    assert files(untuned) == before


def test_a_setting_that_stays_as_it_is_has_its_reason(untuned: Path) -> None:
    (untuned / NUMA).unlink()
    (untuned / NUMA).mkdir()
    changes = tune(untuned, changes_of(Tree(untuned), "keep", None))
    (numa,) = [change for change in changes if change.path == f"/{NUMA}"]
    assert "not a regular file" in numa.problem
