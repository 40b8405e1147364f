"""One pinstudy measures a node at a time, whoever holds the lock, from wherever."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pinstudy.base.errors import ShortageError, StudyError
from pinstudy.runners.host.lock import is_locked, lock_folders, node_lock
from tests.support.processes import ended
from tests.support.tools import ROOT, missing, need_tool

HOLD = """
import sys, time
from pathlib import Path
from pinstudy.runners.host.lock import node_lock
with node_lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""
# As a runner that is killed while it starts a program: the child has its files and has not yet
# started the program. It ends when it is asked who holds the lock.
HOLD_AND_FORK = """
import os, socket, sys
from pathlib import Path
from pinstudy.runners.host.lock import node_lock
with node_lock(Path(sys.argv[1])):
    if os.fork() == 0:
        for number in range(3, 100):
            try:
                listener = socket.socket(fileno=number)
            except OSError:
                continue
            print("held", flush=True)
            listener.settimeout(600)
            listener.accept()
        os._exit(0)
    os.wait()
"""


@contextmanager
def held_by_another(
    root: Path, before: tuple[str, ...] = (), after: tuple[str, ...] = (), script: str = HOLD
) -> Iterator[subprocess.Popen[str]]:
    """Have another process hold the lock; the words around its command say how it is run."""
    command = [*before, sys.executable, "-c", script, str(root), *after]
    with ended(subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        yield holder


def refusal(root: Path) -> str:
    with pytest.raises(StudyError) as busy, node_lock(root):
        pass
    return str(busy.value)


def everybodys(folder: Path) -> Path:
    folder.mkdir(parents=True)
    folder.chmod(0o1777)
    return folder


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """Give the folder of a node in which everybody may write."""
    return everybodys(tmp_path / "run" / "lock")


def test_a_lock_is_held_until_it_is_released_and_no_other_node_s(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert not is_locked(tmp_path)
    with node_lock(tmp_path):
        assert is_locked(tmp_path)
        assert not is_locked(tmp_path / "other")
        # Many who ask do not exhaust the holder.
        for _ in range(20):
            assert f"process {os.getpid()}" in refusal(tmp_path)
    assert not is_locked(tmp_path)


@pytest.mark.parametrize(
    "arguments", [(), ("x" * 100_000,) * 10], ids=["no arguments", "endless arguments"]
)
def test_the_second_is_told_who_the_first_is_and_gets_the_lock_once_that_was_killed(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    with held_by_another(tmp_path, after=arguments) as holder:
        message = refusal(tmp_path)
        assert f"process {holder.pid} of user" in message
        assert "since 20" in message and f": {sys.executable} -c" in message
        assert "\n" not in message and len(message) < 500
    with node_lock(tmp_path):
        pass


def test_a_process_that_a_killed_holder_was_starting_is_waited_for(tmp_path: Path) -> None:
    with held_by_another(tmp_path, script=HOLD_AND_FORK) as holder:
        holder.kill()
        holder.wait()
        assert not is_locked(tmp_path)


def test_a_program_started_meanwhile_does_not_inherit_the_lock(tmp_path: Path) -> None:
    with node_lock(tmp_path):
        program = subprocess.Popen(["sleep", "30"], close_fds=False)
    try:
        assert not is_locked(tmp_path)
    finally:
        program.kill()
        program.wait()


def test_a_holder_who_listens_to_nobody_is_told_as_far_as_possible(tmp_path: Path) -> None:
    found = tmp_path.stat()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as taken:
        taken.bind(b"\0pinstudy-node-%d-%d" % (found.st_dev, found.st_ino))
        assert "the kernel does not tell which process" in refusal(tmp_path)


def test_a_node_that_cannot_be_locked_is_not_said_to_be_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refused(socket.socket):
        """A socket where a security module permits no abstract names."""

        def bind(self, _address: object) -> None:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(socket, "socket", Refused)
    with pytest.raises(StudyError, match=r"another pinstudy \(Permission denied\)"):
        is_locked(tmp_path)
    assert refusal(tmp_path).startswith("this node cannot be locked against")


def test_who_holds_it_in_another_network_namespace_is_seen_and_named(
    tmp_path: Path, shared: Path
) -> None:
    if os.geteuid() != 0:
        missing("a network namespace of its own needs root")
    with held_by_another(tmp_path, (need_tool("unshare"), "--net")) as holder:
        assert is_locked(tmp_path)
        assert re.search(rf"process {holder.pid} of user .* -c", refusal(tmp_path))
    with node_lock(tmp_path):
        assert not list(shared.iterdir())


@pytest.mark.parametrize("mode", [0o755, 0o777, 0o1775])
def test_a_folder_that_is_not_everybodys_is_not_used(
    tmp_path: Path, shared: Path, mode: int
) -> None:
    shared.chmod(mode)
    assert lock_folders(tmp_path) == []
    with node_lock(tmp_path):
        assert not list(shared.iterdir())
    other = everybodys(tmp_path / "dev" / "shm")
    assert lock_folders(tmp_path) == [other]


@pytest.mark.usefixtures("shared")
def test_a_released_lock_leaves_no_descriptor_open(tmp_path: Path) -> None:
    before = len([*Path("/proc/self/fd").iterdir()])
    with held_by_another(tmp_path):
        assert is_locked(tmp_path)
    with node_lock(tmp_path):
        pass
    assert len([*Path("/proc/self/fd").iterdir()]) == before


def test_a_folder_with_two_names_is_locked_once(tmp_path: Path, shared: Path) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "shm").symlink_to(shared)
    with node_lock(tmp_path):
        assert is_locked(tmp_path)


def refuse(monkeypatch: pytest.MonkeyPatch, call: str, error: int, folder: Path) -> None:
    """Make flock(2) or open(2) of a folder fail."""
    module: object = {"flock": fcntl, "open": os}[call]
    real: Callable[..., object] = getattr(module, call)

    def refused(target: int | str | Path, *words: object, **named: object) -> object:
        path = f"/proc/self/fd/{target}" if isinstance(target, int) else target
        if Path(path).resolve() == folder:
            raise OSError(error, os.strerror(error))
        return real(target, *words, **named)

    monkeypatch.setattr(module, call, refused)


CANNOT = "this node cannot be locked against another pinstudy: {}: "
SHORT = "this node could not be locked: "


@pytest.mark.parametrize("call", ["flock", "open"])
@pytest.mark.parametrize(
    ("error", "kind", "start"),
    [
        *(
            (error, StudyError, CANNOT)
            for error in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EIO, errno.EACCES)
        ),
        *((error, ShortageError, SHORT) for error in (errno.EMFILE, errno.ENFILE, errno.ENOMEM)),
    ],
)
def test_a_node_whose_folders_cannot_be_locked_is_refused_in_one_line(
    shared: Path,
    monkeypatch: pytest.MonkeyPatch,
    call: str,
    error: int,
    kind: type[Exception],
    start: str,
) -> None:
    root = shared.parents[1]
    with monkeypatch.context() as patch:
        refuse(patch, call, error, shared)
        with pytest.raises(kind) as refused, node_lock(root):
            pass
    assert str(refused.value).startswith(start.format(shared) + os.strerror(error))
    assert "\n" not in str(refused.value)
    assert not is_locked(root)


def test_where_one_folder_cannot_be_locked_another_excludes(
    tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        missing("a network namespace of its own needs root")
    everybodys(tmp_path / "dev" / "shm")
    refuse(monkeypatch, "flock", errno.ENOLCK, shared)
    assert not is_locked(tmp_path)
    with held_by_another(tmp_path, (need_tool("unshare"), "--net")) as holder:
        said = refusal(tmp_path)
        assert "another pinstudy is at work" in said
        assert f"process {holder.pid} of user" in said
