"""A child's end is learnt at once, and waited for only so long."""

from __future__ import annotations

import errno
import subprocess
import time
from collections.abc import Iterator

import pytest

from base.command import wait_for


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A child that ends when its standard input does."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        yield process


def let_go(child: subprocess.Popen[bytes]) -> None:
    assert child.stdin is not None
    child.stdin.close()


def forbid_sleeping(monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(_seconds: float) -> None:
        pytest.fail("slept instead of waiting")

    monkeypatch.setattr(time, "sleep", sleep)


def test_the_end_is_waited_for_without_sleeping(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid_sleeping(monkeypatch)
    let_go(child)
    wait_for(child, 30)
    assert child.returncode == 0


def test_a_child_that_does_not_end_is_given_up_and_stays(child: subprocess.Popen[bytes]) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        wait_for(child, 0.01)
    assert child.poll() is None


def test_a_child_whose_end_is_known_is_not_waited_for(child: subprocess.Popen[bytes]) -> None:
    let_go(child)
    child.wait()
    wait_for(child, 0)


def test_a_kernel_that_cannot_tell_is_asked_again_and_again(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(_pid: int) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("os.pidfd_open", unknown)
    let_go(child)
    wait_for(child, 30)
    assert child.returncode == 0
