from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs

from base.errors import StudyError, UserError
from runners.host.tree import Tree
from runners.settings.journal import STUDY, Journal, new_entry, open_journal, state_folder
from runners.settings.recovery import restore
from runners.settings.setting import SettingFile
from tests.support.ordinary_user import NOBODY, open_folder, user_without_account
from tests.support.trees import CPU, write

GOVERNOR = SettingFile(f"/{CPU}/cpufreq/policy0/scaling_governor", "powersave")


def node(folder: Path) -> Tree:
    write(folder, "proc/sys/kernel/random/boot_id", "boot")
    return Tree(folder)


def written(folder: Path) -> Journal:
    journal = Journal(folder / "state", STUDY)
    journal.write(new_entry(node(folder), [GOVERNOR], ("set", "{governor}")))
    return journal


def spoil(journal: Journal, **changes: object) -> None:
    data = json.loads(journal.path.read_text()) | changes
    journal.path.write_text(json.dumps(data))


def test_what_was_written_is_read_and_what_was_not_is_no_entry(tmp_path: Path) -> None:
    nothing = Journal(tmp_path, STUDY)
    assert not nothing.exists()
    assert nothing.read() is None
    entry = written(tmp_path).read()
    assert entry is not None
    assert entry.settings == (GOVERNOR,)
    assert entry.boot_id == "boot"
    assert entry.pid == os.getpid()
    assert entry.restore_command == ("set", "{governor}")


def test_a_removed_journal_leaves_nothing_not_even_a_torn_one(tmp_path: Path) -> None:
    journal = written(tmp_path)
    (journal.path.parent / f".{journal.path.name}.4711").write_text("{")
    journal.remove()
    assert list(journal.path.parent.iterdir()) == []


def test_everybody_may_read_it_and_only_its_owner_write_whatever_the_umask(
    tmp_path: Path,
) -> None:
    before = os.umask(0)
    try:
        journal = written(tmp_path)
        of_root = roots(tmp_path)
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
        {"schema": 2},
        {"schema": True},
        {"settings": {}},
        {"settings": [[GOVERNOR.path]]},
        {"settings": [[GOVERNOR.path, "performance", "x"]]},
        {"settings": [{"path": GOVERNOR.path, "value": "performance"}]},
        {"pid": -1},
        {"pid": True},
        {"user": 2**32},
        {"user": None},
        {"scheduler_command": "scx"},
        {"settings": [["/etc/passwd", "x"]]},
        {"settings": [[GOVERNOR.path, 3]]},
        {"settings": [[GOVERNOR.path, "a b"]]},
        {"pid": "1"},
        {"command": "pinstudy"},
        {"boot_id": "\x1b[2J"},
        {"restore_command": [1]},
        {"restore_command": ["set\0"]},
    ],
)
def test_what_no_pinstudy_has_written_is_not_believed(
    tmp_path: Path, changes: dict[str, object]
) -> None:
    journal = written(tmp_path)
    spoil(journal, **changes)
    with pytest.raises(UserError, match="not used") as refused:
        journal.read()
    assert str(journal.path) in str(refused.value)
    assert "\n" not in str(refused.value) and "\x1b" not in str(refused.value)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(raw=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_are_refused_in_one_line(tmp_path: Path, raw: bytes) -> None:
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


def roots(folder: Path) -> Journal:
    """Return the journal of root, whom only root can be."""
    if os.geteuid() != 0:
        pytest.skip("needs root, whose journal it is")
    return Journal(folder / "a" / "state", STUDY, of_root=True)


@pytest.mark.parametrize("place", ["state", "a"])
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o1777])
def test_roots_journal_is_neither_kept_nor_believed_where_others_can_change_it(
    tmp_path: Path, place: str, mode: int
) -> None:
    journal = roots(tmp_path)
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
    journal = roots(tmp_path)
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


def test_a_journal_that_names_no_user_is_its_owners(tmp_path: Path) -> None:
    journal = written(tmp_path)
    data = json.loads(journal.path.read_text())
    del data["user"]
    journal.path.write_text(json.dumps(data))
    entry = journal.read()
    assert entry is not None and entry.user == os.geteuid()


def test_a_command_line_of_any_length_is_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["pinstudy", *["\x01" * 100_000] * 200])
    entry = new_entry(node(tmp_path), [GOVERNOR])
    assert len(json.dumps(entry.content)) < 1_000_000
    assert Journal(tmp_path / "state", STUDY).write(entry) == entry
    assert Journal(tmp_path / "state", STUDY).read() == entry
