"""Settings that root's part changes for a user: what their journal holds, and who may change it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from base.text import safe_name
from runners.settings.registry import POLICY_FILES
from tests.pinstudy.hybrid_namespace import CPUFREQ, Namespace, hybrid_namespace
from tests.runners.root.conftest import Asker
from tests.support.ordinary_user import NOBODY, open_folder
from tests.support.wait import until

NO_COMMANDS: dict[str, Any] = {"governor_by": [], "scheduler_by": []}


class Node:
    """A node with settings, and a process of nobody's with root's part there."""

    def __init__(self, namespace: Namespace, asker: Asker) -> None:
        self.namespace, self.asker = namespace, asker
        first = sorted(path.name for path in namespace.cpufreq.glob("policy*"))[0]
        self.governor = f"{CPUFREQ}/{first}/scaling_governor"
        self.epp = f"{CPUFREQ}/{first}/energy_performance_preference"

    def save(self, *paths: str, purpose: str = "study") -> dict[str, Any]:
        return self.asker.ask("save", purpose=purpose, paths=list(paths), **NO_COMMANDS)

    def put(self, path: str, value: str) -> dict[str, Any]:
        return self.asker.ask("put", path=path, value=value)

    def value(self, path: str) -> str:
        return (self.namespace.cpufreq / Path(path).relative_to(CPUFREQ)).read_text().strip()

    @property
    def journal(self) -> Path:
        return self.namespace.state / "study.json"

    def saved(self) -> dict[str, str]:
        return dict(json.loads(self.journal.read_text())["settings"])


@pytest.fixture
def node(checkout: Path) -> Iterator[Node]:
    with open_folder() as folder, hybrid_namespace(folder) as namespace:
        states = str(namespace.states)
        asker = Asker(checkout, folder, namespace.enter, PINSTUDY_STATE=states)
        try:
            yield Node(namespace, asker)
        finally:
            asker.close()


def test_one_process_of_roots_at_a_time_changes_settings(node: Node, checkout: Path) -> None:
    node.save(node.governor)
    states = str(node.namespace.states)
    other = Asker(checkout, node.namespace.folder, node.namespace.enter, PINSTUDY_STATE=states)
    try:
        saves = {"paths": [node.epp]} | NO_COMMANDS
        for request, fields in (("save", saves), ("restore", {}), ("forget", {})):
            refused = other.refusal(request, purpose="study", **fields)
            assert "changes settings now" in refused
        assert node.put(node.governor, "performance") == {}
        # Root who logged in changes nothing either.
        root = node.namespace.run("restore")
        assert root.returncode == 1 and "changes settings now" in root.stderr
        assert node.saved()[node.governor] == "powersave"

        node.asker.kill()
        until(lambda: "error" not in other.ask("restore", purpose="study"))
        assert node.value(node.governor) == "powersave" and not node.journal.exists()
    finally:
        other.close()


def test_what_was_saved_stays_saved_whatever_is_saved_after_it(node: Node) -> None:
    assert dict(node.save(node.governor)["entry"]["settings"])[node.governor] == "powersave"
    assert node.put(node.governor, "performance") == {}
    epp = node.value(node.epp)
    for paths in ([node.epp], [], [node.governor]):
        node.save(*paths)
        assert node.saved()[node.governor] == "powersave", "not what it is now"
    assert node.saved()[node.epp] == epp


def test_all_that_changes_with_a_governor_is_saved_with_it(node: Node) -> None:
    node.save(node.governor)
    folder = node.governor.rpartition("/")[0]
    names = {Path(path).name for path in node.saved()}
    there = {path.name for path in (node.namespace.cpufreq / Path(folder).name).iterdir()}
    assert names == there & set(POLICY_FILES) and len(names) > 2


def test_nothing_is_tuned_while_a_study_has_changed_it(node: Node) -> None:
    node.save(node.governor)
    node.put(node.governor, "performance")
    assert "a study has settings changed" in node.save(node.governor, purpose="tune")["error"]


def test_what_a_study_has_changed_is_put_back_before_what_was_tuned(node: Node) -> None:
    node.save(node.governor, purpose="tune")
    node.put(node.governor, "performance")
    node.save(node.governor)
    for request in ("restore", "forget"):
        assert "first what a study has changed" in node.asker.refusal(request, purpose="tune")
    for purpose in ("study", "tune"):
        assert node.asker.ask("restore", purpose=purpose)["problems"] == {}
    assert node.value(node.governor) == "powersave"


def test_one_journal_that_is_done_leaves_the_other_locked(node: Node, checkout: Path) -> None:
    node.save(node.governor, purpose="tune")
    node.save(node.epp)
    node.asker.ask("restore", purpose="study")
    states = str(node.namespace.states)
    other = Asker(checkout, node.namespace.folder, node.namespace.enter, PINSTUDY_STATE=states)
    try:
        assert "changes settings now" in other.refusal("restore", purpose="tune")
        node.asker.ask("restore", purpose="tune")
        assert "error" not in other.ask("restore", purpose="tune")
        assert list(node.namespace.state.iterdir()) == []
    finally:
        other.close()


def test_users_cannot_have_the_lock_of_roots_journals(node: Node) -> None:
    node.save(node.governor)
    lock = node.namespace.state / ".lock"
    assert (lock.stat().st_uid, lock.stat().st_mode & 0o777) == (0, 0o600)


def test_what_is_given_up_is_put_back_first(node: Node) -> None:
    node.save(node.governor)
    node.put(node.governor, "performance")
    assert node.asker.ask("forget", purpose="study") == {}
    assert node.value(node.governor) == "powersave"
    assert not node.journal.exists()
    assert "is not saved" in node.put(node.governor, "performance")["error"]


def test_what_another_has_changed_is_put_back_and_not_given_up(node: Node) -> None:
    node.save(node.governor)
    node.put(node.governor, "performance")
    entry = json.loads(node.journal.read_text())
    node.journal.write_text(json.dumps(entry | {"user": 0}))
    assert "of user 0, who alone" in node.asker.refusal("forget", purpose="study")
    assert node.journal.exists()
    assert node.asker.ask("restore", purpose="study")["problems"] == {}
    assert node.value(node.governor) == "powersave"


def test_a_journal_that_vanished_is_written_again_before_the_next_change(node: Node) -> None:
    node.save(node.governor)
    node.journal.unlink()
    assert node.put(node.governor, "performance") == {}
    assert node.saved()[node.governor] == "powersave"


def test_nothing_is_changed_beside_the_journal_of_another_study(node: Node) -> None:
    node.save(node.governor)
    entry = json.loads(node.journal.read_text()) | {"pid": 1, "command": ["another"]}
    node.journal.write_text(json.dumps(entry))
    assert "another study" in node.put(node.governor, "performance")["error"]
    assert node.value(node.governor) == "powersave"


@pytest.mark.parametrize("size", [120_000, 3_000_000])
def test_no_command_makes_a_journal_that_nobody_can_read(node: Node, size: int) -> None:
    command = ["x" * 60_000] * (size // 60_000)
    answer = node.asker.ask(
        "save", purpose="study", paths=[node.governor], governor_by=command, scheduler_by=[]
    )
    assert "a command of more than" in answer["error"] or "without governor_by" in answer["error"]
    assert not node.journal.exists()


def test_a_sites_command_in_the_journal_runs_as_the_user(node: Node) -> None:
    told = node.asker.folder / "told"
    told.mkdir()
    os.chown(told, NOBODY, NOBODY)
    command = ["sh", "-c", f"id -u >>{told}/users; id -G >>{told}/groups", "{governor}"]
    node.asker.ask(
        "save", purpose="study", paths=[node.governor], governor_by=command, scheduler_by=[]
    )
    node.put(node.governor, "performance")
    node.asker.ask("restore", purpose="study")
    assert set((told / "users").read_text().split()) == {str(NOBODY)}
    assert set((told / "groups").read_text().split()) == {str(NOBODY)}


def test_a_command_that_does_nothing_leaves_no_setting_changed(node: Node) -> None:
    fields = {"paths": [node.governor], "governor_by": ["true"], "scheduler_by": []}
    node.asker.ask("save", purpose="study", **fields)
    node.put(node.governor, "performance")
    assert node.asker.ask("restore", purpose="study")["problems"] == {}
    assert node.value(node.governor) == "powersave"


def test_what_root_has_tuned_is_not_taken_over(node: Node) -> None:
    tuned = node.namespace.run("tune", status=0)
    assert "undo it with" in tuned.stdout
    assert "of user 0: restore it first" in node.save(node.epp, purpose="tune")["error"]
    assert json.loads((node.namespace.state / "tune.json").read_text())["user"] == 0


@pytest.mark.parametrize("owner", [NOBODY, 1])
def test_a_folder_of_state_that_is_not_roots_is_not_used(checkout: Path, owner: int) -> None:
    with open_folder() as folder, hybrid_namespace(folder) as namespace:
        state = folder / "others"
        journal = state / safe_name(os.uname().nodename) / "study.json"
        journal.parent.mkdir(parents=True)
        journal.write_text("precious")
        subprocess.run(["chown", "-R", str(owner), state], check=True)
        asker = Asker(checkout, folder, namespace.enter, PINSTUDY_STATE=str(state))
        try:
            for request in ("restore", "forget", "journal"):
                assert "is not root's" in asker.refusal(request, purpose="study")
            assert journal.read_text() == "precious"
        finally:
            asker.close()


def test_root_makes_no_folder_above_that_of_the_host(checkout: Path) -> None:
    with open_folder() as folder, hybrid_namespace(folder) as namespace:
        asker = Asker(checkout, folder, namespace.enter, PINSTUDY_STATE=str(folder / "a" / "b"))
        try:
            assert "No such file" in asker.refusal("forget", purpose="study")
            assert not (folder / "a").exists()
        finally:
            asker.close()
