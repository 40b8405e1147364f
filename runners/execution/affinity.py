"""Moves pinstudy to CPUs that the case does not use, while a program runs.

Children inherit affinity masks: a process that is started meanwhile gets these CPUs.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator

_THREADS = "/proc/self/task"


@contextlib.contextmanager
def move_to_housekeeping_cpus(
    cpus: Collection[int], cores: Iterable[Collection[int]] = ()
) -> Iterator[tuple[int, ...]]:
    """Keep all threads of this process off `cpus` within the context; yield the CPUs they use.

    `cores` holds the CPUs of each core: SMT siblings of `cpus` are avoided too, if other CPUs are
    left. A process that may use no CPU besides `cpus` stays where it is. Every thread gets its own
    mask back, also after an exception.
    """
    masks = _masks()
    allowed = os.sched_getaffinity(0)
    free = free_cpus(allowed, cpus, cores)
    if not free:
        yield tuple(sorted(allowed))
        return
    try:
        for thread in masks:
            _set_mask(thread, free)
        yield tuple(sorted(free))
    finally:
        for thread, mask in masks.items():
            _set_mask(thread, mask)


def free_cpus(
    allowed: Iterable[int], used: Collection[int], cores: Iterable[Collection[int]]
) -> set[int]:
    """Return the allowed CPUs that are not used: only those of unused cores, if there are any."""
    touched = set(used).union(*(core for core in cores if not set(core).isdisjoint(used)))
    allowed = set(allowed)
    return (allowed - touched) or (allowed - set(used))


def _masks() -> dict[int, set[int]]:
    masks = {}
    for name in os.listdir(_THREADS):  # noqa: PTH208 - per run
        with contextlib.suppress(OSError):  # a thread that ends meanwhile
            masks[int(name)] = os.sched_getaffinity(int(name))
    return masks


def _set_mask(thread: int, cpus: set[int]) -> None:
    # The thread may have ended, or the CPUs may be offline: the kernel then keeps the mask.
    with contextlib.suppress(OSError):
        os.sched_setaffinity(thread, cpus)
