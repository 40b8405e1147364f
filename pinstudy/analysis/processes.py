"""Work of several processes, where there are CPUs for them, started outside hostile folders."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import active_children, get_context
from typing import Any, ParamSpec, TypeVar

from pinstudy.base import ROOT

MAX_WORKERS = 8
# Where Linux keeps the semaphores by which a pool's processes wait for work (sem_overview(7)).
SHARED_MEMORY = "/dev/shm"

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def how_many(jobs: int) -> int:
    """Return how many processes to use for so many jobs: one a CPU that this one may use.

    It is 1 where processes could not wait for each other, as in some containers.
    """
    if not os.access(SHARED_MEMORY, os.W_OK):
        return 1
    return min(len(os.sched_getaffinity(0)), MAX_WORKERS, jobs)


class _Pool(ProcessPoolExecutor):
    """A pool that starts its processes, when work comes, outside the working directory."""

    def submit(
        self,
        fn: Callable[_Arguments, _Result],
        /,
        *args: _Arguments.args,
        **kwargs: _Arguments.kwargs,
    ) -> Future[_Result]:
        with elsewhere():
            return super().submit(fn, *args, **kwargs)

    def __exit__(self, kind: type[BaseException] | None, *raised: Any) -> bool | None:  # noqa: ANN401
        # Who stops for a signal waits for no work, and a second signal must find none to wait for.
        if kind is not None and not issubclass(kind, Exception):
            for process in active_children():
                process.kill()
        return super().__exit__(kind, *raised)


def pool(workers: int) -> ProcessPoolExecutor:
    """Return a pool of processes that leave Ctrl-C to the process that started them.

    They are spawned: a forked process would have the locks of numerical libraries without the
    threads that hold them.
    """
    here = os.getcwd()  # noqa: PTH109 - what os.chdir takes
    with elsewhere():
        return _Pool(
            workers,
            mp_context=get_context("spawn"),
            initializer=_begin,
            initargs=(here, gc.get_threshold()),
        )


def in_another(
    function: Callable[_Arguments, _Result], *args: _Arguments.args, **kwargs: _Arguments.kwargs
) -> _Result:
    """Return what a function returns in a process of its own.

    In this one, numerical libraries would leave threads that wake up while something is measured.
    Raises OSError or BrokenProcessPool where there can be no other process.
    """
    with pool(1) as processes:
        return processes.submit(function, *args, **kwargs).result()


def _begin(folder: str, collections: tuple[int, int, int]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(*collections)
    with suppress(OSError):
        os.chdir(folder)


@contextmanager
def elsewhere() -> Iterator[None]:
    """Have pinstudy's own folder as working directory until the end of the block.

    For what looks into the working directory first: a new interpreter for modules (python -c),
    matplotlib for its settings (matplotlib.matplotlib_fname).
    """
    try:
        here = os.open(".", os.O_PATH | os.O_CLOEXEC)
    except OSError:
        # Not even its user may look into it.
        yield
        return
    try:
        os.chdir(ROOT)
        yield
    finally:
        os.fchdir(here)
        os.close(here)
