"""Work of several processes, where there are CPUs for them."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

MOST_WORKERS = 8


def how_many(jobs: int) -> int:
    """Return how many processes to use for so many jobs: one a CPU that this one may use."""
    return min(len(os.sched_getaffinity(0)), MOST_WORKERS, jobs)


def pool(workers: int) -> ProcessPoolExecutor:
    """Return a pool of processes that leave Ctrl-C to the one that asked for them.

    They are spawned: a forked one would have the threads of numerical libraries half.
    """
    return ProcessPoolExecutor(
        workers,
        mp_context=get_context("spawn"),
        initializer=signal.signal,
        initargs=(signal.SIGINT, signal.SIG_IGN),
    )
