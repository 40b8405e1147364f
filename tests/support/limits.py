"""Temporary resource limits of this process (getrlimit(2))."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_more_files(but: int = 0) -> Iterator[None]:
    """Let this process open only `but` more files in the context."""
    free = [os.dup(0) for _ in range(but + 1)]
    for descriptor in free:
        os.close(descriptor)
    with _limited(resource.RLIMIT_NOFILE, max(free)):
        yield


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """Let no file that this process writes become larger in the context (EFBIG)."""
    with _limited(resource.RLIMIT_FSIZE, size):
        yield


@contextmanager
def _limited(limit: int, soft: int) -> Iterator[None]:
    before = resource.getrlimit(limit)
    resource.setrlimit(limit, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(limit, before)
