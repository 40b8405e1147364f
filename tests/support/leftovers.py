"""Leftovers of a test: processes, threads and open files.

Python warns of a forgotten file or process when it collects it, which fails the test that runs
then. So each test is checked at its end; its leftovers are ended and closed.
"""

from __future__ import annotations

import gc
import io
import os
import socket
import subprocess
import sysconfig
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from pathlib import Path

from tests.support.processes import children, command_line

# Threads of an event loop's pool end with the loop, which a browser has for a module's tests.
_LOOPS = "asyncio_"
# Packages keep files open on purpose, such as the fonts of matplotlib.
_PACKAGES = os.path.realpath(sysconfig.get_path("platlib"))


@dataclass(frozen=True)
class Held:
    """This process's children, descriptors with their files, and threads."""

    children: frozenset[int]
    descriptors: frozenset[tuple[int, str]]
    threads: frozenset[threading.Thread]

    def __sub__(self, other: Held) -> Held:
        return Held(
            self.children - other.children,
            self.descriptors - other.descriptors,
            self.threads - other.threads,
        )


def held() -> Held:
    """Return the current children, descriptors and threads."""
    # multiprocessing keeps this process until the end of Python.
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]
    threads = (one for one in threading.enumerate() if not one.name.startswith(_LOOPS))
    return Held(frozenset(children(os.getpid())), frozenset(_descriptors()), frozenset(threads))


def describe(left: Held) -> str:
    """Return one line for each leftover, or an empty text for none."""
    processes = (
        f"process {pid} is left: {' '.join(command_line(pid)) or 'ended, and not waited for'}"
        for pid in sorted(left.children)
    )
    files = (f"descriptor {number} is left open: {file}" for number, file in left.descriptors)
    threads = (f"thread {thread.name} is left" for thread in left.threads)
    return "\n".join((*processes, *sorted(files), *threads))


def close(left: Held) -> None:
    """End the leftover processes and close the files, through the objects that own them.

    Descriptors without an object stay open: code that has their number may close it later, when it
    belongs to another file.
    """
    numbers = {number for number, _ in left.descriptors}
    gc.unfreeze()
    for item in gc.get_objects():
        if isinstance(item, subprocess.Popen) and item.pid in left.children:
            item.kill()
            item.wait()
        if isinstance(item, (io.IOBase, socket.socket)):
            # It may be closed already, or have no descriptor.
            with suppress(OSError, ValueError):
                if item.fileno() in numbers:
                    item.close()


def _descriptors() -> Iterable[tuple[int, str]]:
    for entry in Path("/proc/self/fd").iterdir():
        # The descriptor of the listing itself is gone.
        with suppress(OSError):
            file = str(entry.readlink())
            if not file.startswith(_PACKAGES):
                yield int(entry.name), file
