"""Studies of these tests take the node's only lock."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.host.lock import lock_folders


@pytest.fixture(autouse=True)
def without_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare each study the seconds that a report takes; tests that want one say --report."""
    monkeypatch.setenv("PINSTUDY_REPORT", "0")


@pytest.fixture(autouse=True)
def alone_on_the_node() -> Iterator[None]:
    """Wait for the tests of another checkout that run here at the same time.

    Tests in their own mount and network namespaces do not wait for each other: there the folders
    of runners.host.lock are different ones.
    """
    folder = next(iter(lock_folders(Path("/"))), Path(tempfile.gettempdir()))
    path = folder / f"pinstudy-tests-{os.getuid()}.lock"
    # The folder is writable for all users, and the name is known: follow no link.
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
