"""Work of several processes, where there are CPUs for them."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

MOST_WORKERS = 8
# Where Linux keeps the semaphores by which a pool's processes wait for work (sem_overview(7)).
SHARED_MEMORY = "/dev/shm"


def how_many(jobs: int) -> int:
    """Return how many processes to use for so many jobs: one a CPU that this one may use.

    It is 1 where processes could not wait for each other, as in some containers.
    """
    if not os.access(SHARED_MEMORY, os.W_OK):
        return 1
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
