"""While a program runs, pinstudy itself runs on CPUs that the program's case does not use.

Masks are inherited by children: whoever starts a process meanwhile gives it these CPUs.
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
    """Keep all threads of this process off `cpus` while the context lasts; give the CPUs taken.

    `cores` are the CPUs of each core: siblings of `cpus` are avoided too where other CPUs are left.
    The process stays where it is when it may use no CPU beside `cpus`. Every thread gets its own
    mask back, whatever happens.
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
    """Return the allowed CPUs that are not used, of untouched cores only where there are any."""
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
    # A thread may have ended; a CPU may have gone offline, then the kernel keeps its own choice.
    with contextlib.suppress(OSError):
        os.sched_setaffinity(thread, cpus)
