"""Settings that root's part changes for a user: what their journal holds, and who may change it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def asking(checkout: Path, namespace: Namespace, states: Path) -> Iterator[Asker]:
    """Give a process of nobody's with root's part in a namespace."""
    asker = Asker(checkout, namespace.folder, namespace.enter, PINSTUDY_STATE=str(states))
    try:
        yield asker
    finally:
        asker.close()


@pytest.fixture
def node(checkout: Path) -> Iterator[Node]:
    with (
        open_folder() as folder,
        hybrid_namespace(folder) as namespace,
        asking(checkout, namespace, namespace.states) as asker,
    ):
        yield Node(namespace, asker)


def test_one_process_of_roots_at_a_time_changes_settings(node: Node, checkout: Path) -> None:
    node.save(node.governor, purpose="tune")
    node.save(node.governor)
    with asking(checkout, node.namespace, node.namespace.states) as other:
        saves = {"paths": [node.epp]} | NO_COMMANDS
        for request, fields in (("save", saves), ("restore", {}), ("forget", {})):
            refused = other.refusal(request, purpose="study", **fields)
            assert "changes settings now" in refused
        assert node.put(node.governor, "performance") == {}
        # Root who logged in changes nothing either.
        root = node.namespace.run("restore")
        assert root.returncode == 1 and "changes settings now" in root.stderr
        assert node.saved()[node.governor] == "powersave"
        # Nor can users have the lock of root's journals.
        lock = node.namespace.state / ".lock"
        assert (lock.stat().st_uid, lock.stat().st_mode & 0o777) == (0, 0o600)
        # One journal that is done leaves the other locked.
        node.asker.ask("restore", purpose="study")
        assert "changes settings now" in other.refusal("restore", purpose="tune")

        node.asker.kill()
        until(lambda: "error" not in other.ask("restore", purpose="tune"))
        assert node.value(node.governor) == "powersave"
        assert list(node.namespace.state.iterdir()) == []


def test_what_was_saved_stays_saved_whatever_is_saved_after_it(node: Node) -> None:
    assert dict(node.save(node.governor)["entry"]["settings"])[node.governor] == "powersave"
    # All that changes with a governor is saved with it.
    names = {Path(path).name for path in node.saved()}
    policy = node.namespace.cpufreq / Path(node.governor).parent.name
    assert names == {path.name for path in policy.iterdir()} & set(POLICY_FILES)
    assert len(names) > 2
    assert node.put(node.governor, "performance") == {}
    assert "a study has settings changed" in node.save(node.governor, purpose="tune")["error"]
    epp = node.value(node.epp)
    for paths in ([node.epp], [], [node.governor]):
        node.save(*paths)
        assert node.saved()[node.governor] == "powersave", "not what it is now"
    assert node.saved()[node.epp] == epp


def test_what_a_study_has_changed_is_put_back_before_what_was_tuned(node: Node) -> None:
    node.save(node.governor, purpose="tune")
    node.put(node.governor, "performance")
    node.save(node.governor)
    for request in ("restore", "forget"):
        assert "first what a study has changed" in node.asker.refusal(request, purpose="tune")
    for purpose in ("study", "tune"):
        assert node.asker.ask("restore", purpose=purpose)["problems"] == {}
    assert node.value(node.governor) == "powersave"


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
    # Nothing is changed beside the journal of another study.
    entry = json.loads(node.journal.read_text()) | {"pid": 1, "command": ["another"]}
    node.journal.write_text(json.dumps(entry))
    assert "another study" in node.put(node.governor, "schedutil")["error"]
    assert node.value(node.governor) == "performance"


@pytest.mark.parametrize("size", [120_000, 3_000_000])
def test_no_command_makes_a_journal_that_nobody_can_read(node: Node, size: int) -> None:
    command = ["x" * 60_000] * (size // 60_000)
    answer = node.asker.ask(
        "save", purpose="study", paths=[node.governor], governor_by=command, scheduler_by=[]
    )
    assert "a command of more than" in answer["error"] or "without governor_by" in answer["error"]
    assert not node.journal.exists()


@pytest.mark.parametrize("works", [True, False])
def test_a_sites_command_in_the_journal_runs_as_the_user(node: Node, works: bool) -> None:
    told = node.asker.folder / "told"
    told.mkdir()
    os.chown(told, NOBODY, NOBODY)
    command = ["sh", "-c", f"id -u >>{told}/users; id -G >>{told}/groups", "{governor}"]
    fields = {"paths": [node.governor], "governor_by": command if works else ["true"]}
    node.asker.ask("save", purpose="study", **fields, scheduler_by=[])
    node.put(node.governor, "performance")
    # A command that does nothing leaves no setting changed either.
    assert node.asker.ask("restore", purpose="study")["problems"] == {}
    assert node.value(node.governor) == "powersave"
    if works:
        for name in ("users", "groups"):
            assert set((told / name).read_text().split()) == {str(NOBODY)}


def test_what_root_has_tuned_is_not_taken_over(node: Node) -> None:
    tuned = node.namespace.run("tune", status=0)
    assert "undo it with" in tuned.stdout
    assert "of user 0: restore it first" in node.save(node.epp, purpose="tune")["error"]
    assert json.loads((node.namespace.state / "tune.json").read_text())["user"] == 0


def test_a_folder_of_state_that_is_not_roots_is_not_used(checkout: Path) -> None:
    with open_folder() as folder, hybrid_namespace(folder) as namespace:
        state = folder / "others"
        journal = state / safe_name(os.uname().nodename) / "study.json"
        journal.parent.mkdir(parents=True)
        journal.write_text("precious")
        for owner in (NOBODY, 1):
            subprocess.run(["chown", "-R", str(owner), state], check=True)
            with asking(checkout, namespace, state) as asker:
                for request in ("restore", "forget", "journal"):
                    assert "is not root's" in asker.refusal(request, purpose="study")
        assert journal.read_text() == "precious"
        # Root makes no folder above that of the host.
        with asking(checkout, namespace, folder / "a" / "b") as asker:
            assert "No such file" in asker.refusal("forget", purpose="study")
        assert not (folder / "a").exists()
