"""Work in a process of its own, started outside hostile folders."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import active_children, get_context
from typing import ParamSpec, TypeVar

from pinstudy.base import ROOT

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def in_another(
    function: Callable[_Arguments, _Result], *args: _Arguments.args, **kwargs: _Arguments.kwargs
) -> _Result:
    """Return what a function returns in a process of its own, which leaves Ctrl-C to this one.

    In this one, numerical libraries would leave threads that wake up while something is measured.
    It is spawned: a forked process would have the locks of these libraries without the threads that
    hold them. Raises OSError or BrokenProcessPool where there can be no other process.
    """
    here = os.getcwd()  # noqa: PTH109 - what os.chdir takes
    with elsewhere():
        processes = ProcessPoolExecutor(
            1,
            mp_context=get_context("spawn"),
            initializer=_begin,
            initargs=(here, gc.get_threshold()),
        )
    with processes:
        try:
            with elsewhere():
                work = processes.submit(function, *args, **kwargs)
            return work.result()
        except (KeyboardInterrupt, SystemExit):
            # Who stops for a signal waits for no work, and a second signal must find none to wait
            # for.
            for process in active_children():
                process.kill()
            raise


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
