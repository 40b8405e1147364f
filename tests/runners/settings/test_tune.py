from __future__ import annotations

from pathlib import Path

import pytest

from base.errors import StudyError, UserError
from runners.host.lock import node_lock
from runners.host.tree import Tree
from runners.settings.journal import STUDY, TUNE, Journal, new_entry, state_folder
from runners.settings.recovery import restore
from runners.settings.tune import changes_of, tune
from tests.support.trees import CPU, build_tree, write

GOVERNOR = f"{CPU}/cpufreq/policy0/scaling_governor"
NMI = "proc/sys/kernel/nmi_watchdog"
NUMA = "proc/sys/kernel/numa_balancing"


@pytest.fixture(autouse=True)
def watchdog_and_balancing(root: Path) -> None:
    write(root, NMI, 1)
    write(root, NUMA, 0)


def files(root: Path) -> dict[str, str]:
    return {
        str(path): path.read_text()
        for folder in ("sys", "proc")
        for path in (root / folder).rglob("*")
        if path.is_file()
    }


def applied(root: Path, governor: str | None = None, turbo: str | None = None) -> None:
    changes = tune(root, changes_of(Tree(root), governor, turbo))
    assert [change.problem for change in changes if change.problem] == []


def test_tuning_is_undone_by_its_journal(root: Path) -> None:
    before = files(root)
    applied(root, turbo="off")
    assert (root / NMI).read_text() == "0\n"
    assert (root / GOVERNOR).read_text() == "performance\n"
    assert (root / CPU / "intel_pstate/no_turbo").read_text() == "1\n"
    done = restore(root, Journal(state_folder(root), TUNE))
    assert done is not None and done.problems == {}
    assert files(root) == before


def test_only_what_differs_is_changed(root: Path) -> None:
    names = {change.path for change in changes_of(Tree(root), "keep", None)}
    assert names == {f"/{NMI}"}
    applied(root)
    assert changes_of(Tree(root), None, None) == []


def test_tuning_twice_keeps_what_was_before_the_first(root: Path) -> None:
    before = files(root)
    applied(root, governor="keep")
    applied(root, governor="performance", turbo="off")
    restore(root, Journal(state_folder(root), TUNE))
    assert files(root) == before


def test_what_the_node_does_not_have_is_a_users_mistake_when_asked_for(tmp_path: Path) -> None:
    guest = Tree(build_tree(tmp_path, "kvm-guest"))
    assert changes_of(guest, None, None) == []
    with pytest.raises(UserError, match="no frequency scaling here"):
        changes_of(guest, "performance", None)
    with pytest.raises(UserError, match="turbo cannot be switched here"):
        changes_of(guest, None, "off")


def test_a_study_at_work_is_not_disturbed(root: Path) -> None:
    changes = changes_of(Tree(root), None, None)
    before = files(root)
    with node_lock(root), pytest.raises(StudyError, match="another pinstudy is at work"):
        tune(root, changes)
    assert files(root) == before


def test_what_a_killed_study_has_left_is_not_saved_as_the_nodes_own(root: Path) -> None:
    Journal(state_folder(root), STUDY).write(new_entry(Tree(root), []))
    with pytest.raises(StudyError, match="pinstudy restore"):
        tune(root, changes_of(Tree(root), None, None))


def test_a_setting_that_stays_as_it_is_has_its_reason(root: Path) -> None:
    (root / NUMA).unlink()
    (root / NUMA).mkdir()
    changes = changes_of(Tree(root), "keep", None)
    (numa,) = [change for change in tune(root, changes) if change.path == f"/{NUMA}"]
    assert "not a regular file" in numa.problem
