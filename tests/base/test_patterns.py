"""A pattern is matched in a child process where the text is long."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import NoReturn

import pytest

from base.patterns import matches

_DESCRIPTORS = Path("/proc/self/fd")


def _refuse() -> NoReturn:
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))


def test_a_child_that_cannot_be_started_leaves_no_pipe_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "line\n" * 100_000
    assert matches("^line$", text)
    monkeypatch.setattr(os, "fork", _refuse)
    before = sorted(_DESCRIPTORS.iterdir())
    with pytest.raises(BlockingIOError):
        matches("^line$", text)
    assert sorted(_DESCRIPTORS.iterdir()) == before
