"""Temporary limits of this process: CPUs, and resources (getrlimit(2))."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress

_SELECTABLE = 1024


@contextmanager
def only_cpus(cpus: Collection[int]) -> Iterator[None]:
    """Let this thread, and what it starts, use these CPUs alone in the context."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def before_all_others() -> Iterator[None]:
    """Let this thread, and what it starts, have the CPUs before other tests, where it may.

    Threads that spin while they wait for each other get nowhere while one of them waits for a CPU.
    """
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    try:
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, usual)


@contextmanager
def no_more_files(but: int = 0) -> Iterator[None]:
    """Let this process open only `but` more files in the context."""
    free = [os.dup(0) for _ in range(but + 1)]
    for descriptor in free:
        os.close(descriptor)
    try:
        with _limited(resource.RLIMIT_NOFILE, max(free)):
            yield
    finally:
        # Popen that may open no more files leaves its pipes open there (CPython's issue 87474).
        if sys.version_info < (3, 11, 4):
            for descriptor in free:
                with suppress(OSError):
                    os.close(descriptor)


@contextmanager
def many_open_files() -> Iterator[None]:
    """Open so many files that select(2) takes no later one (FD_SETSIZE)."""
    soft = max(2 * _SELECTABLE, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
    with _limited(resource.RLIMIT_NOFILE, soft):
        opened = [os.open(os.devnull, os.O_RDONLY)]
        while opened[-1] < _SELECTABLE:
            opened.append(os.dup(opened[0]))
        try:
            yield
        finally:
            for number in opened:
                os.close(number)


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
