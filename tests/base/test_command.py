"""The end of a child is noticed at once; the wait for it has a limit."""

from __future__ import annotations

import errno
import subprocess
import time
from collections.abc import Iterator

import pytest

from base.command import ask, run, wait_for
from base.errors import ShortageError
from tests.support.limits import many_open_files


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A child that ends when its standard input does."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        yield process


def let_go(child: subprocess.Popen[bytes]) -> None:
    assert child.stdin is not None
    child.stdin.close()


def test_the_end_is_waited_for_without_sleeping(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("slept instead of waiting"))
    let_go(child)
    wait_for(child, 30)
    assert child.returncode == 0
    # Its end is known: that is not waited for.
    wait_for(child, 0)


def test_a_child_that_does_not_end_is_given_up_and_stays(child: subprocess.Popen[bytes]) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        wait_for(child, 0.01)
    assert child.poll() is None


def test_a_command_is_run_and_waited_for_beside_many_open_files() -> None:
    with many_open_files():
        assert run(["echo", "here"]).stdout == "here\n"


def test_a_wait_polls_if_the_kernel_has_no_pidfd(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(_pid: int) -> int:
        raise OSError(errno.ENOSYS, "Function not implemented")

    monkeypatch.setattr("os.pidfd_open", unknown)
    let_go(child)
    wait_for(child, 30)
    assert child.returncode == 0


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (
            "echo 'a: fork: retry: Resource temporarily unavailable' >&2; echo b >&2; exit 3",
            "a: fork",
        ),
        ("echo 'a: fork: retry: Resource temporarily unavailable' >&2; exec sleep 600", "a: fork"),
        ("kill -9 $$", "it was killed twice"),
    ],
    ids=["said more", "waits", "killed"],
)
def test_an_answer_that_a_shortage_kept_from_us_is_a_shortage(script: str, why: str) -> None:
    with pytest.raises(ShortageError, match=f"sh could not be asked: {why}"):
        ask(["sh", "-c", script], limit_s=1)


def test_what_a_command_complains_of_and_survives_is_no_shortage() -> None:
    assert ask(["sh", "-c", "echo Cannot fork >&2; echo yes"]).stdout == "yes\n"
    assert ask(["sh", "-c", "echo no >&2; exit 1"]).status == 1
