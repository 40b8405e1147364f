"""What the kernel refuses this process for a while, by its resource limits (getrlimit(2))."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_more_files(but: int = 0) -> Iterator[None]:
    """Let this process open so many files in the block and no more."""
    free = [os.dup(0) for _ in range(but + 1)]
    for descriptor in free:
        os.close(descriptor)
    with _limited(resource.RLIMIT_NOFILE, max(free)):
        yield


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let no file that this process writes to become larger in the block (EFBIG)."""
    with _limited(resource.RLIMIT_FSIZE, size):
        yield


@contextmanager
def _limited(what: int, most: int) -> Iterator[None]:
    before = resource.getrlimit(what)
    resource.setrlimit(what, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(what, before)
