"""What a test has started or opened and left behind: its processes, threads and open files.

Python complains of a forgotten file or process when it happens to collect it, which fails whatever
test is running then. So each test is asked at its end; what it has forgotten is ended and closed.
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
# Packages keep files of their own open on purpose: matplotlib its fonts.
_PACKAGES = os.path.realpath(sysconfig.get_path("platlib"))


@dataclass(frozen=True)
class Held:
    """What this process holds: numbers of its children, descriptors with their files, threads."""

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
    """Return what this process holds now."""
    # A process that Python keeps until its own end for whoever used multiprocessing.
    resource_tracker._resource_tracker._stop()  # type: ignore[attr-defined]
    threads = (one for one in threading.enumerate() if not one.name.startswith(_LOOPS))
    return Held(frozenset(children(os.getpid())), frozenset(_descriptors()), frozenset(threads))


def describe(left: Held) -> str:
    """Return one line for each thing that was left, or an empty text for none."""
    processes = (
        f"process {pid} is left: {' '.join(command_line(pid)) or 'ended, and not waited for'}"
        for pid in sorted(left.children)
    )
    files = (f"descriptor {number} is left open: {file}" for number, file in left.descriptors)
    threads = (f"thread {thread.name} is left" for thread in left.threads)
    return "\n".join((*processes, *sorted(files), *threads))


def close(left: Held) -> None:
    """End the processes that were left, and close the files, by the objects that hold them.

    Descriptors that are in no object stay open: whoever has their number may close it later, when
    it belongs to another file.
    """
    numbers = {number for number, _ in left.descriptors}
    gc.unfreeze()
    for thing in gc.get_objects():
        if isinstance(thing, subprocess.Popen) and thing.pid in left.children:
            thing.kill()
            thing.wait()
        if isinstance(thing, (io.IOBase, socket.socket)):
            # One that is closed already, or has no descriptor.
            with suppress(OSError, ValueError):
                if thing.fileno() in numbers:
                    thing.close()


def _descriptors() -> Iterable[tuple[int, str]]:
    for entry in Path("/proc/self/fd").iterdir():
        # That of the listing itself is gone.
        with suppress(OSError):
            file = str(entry.readlink())
            if not file.startswith(_PACKAGES):
                yield int(entry.name), file
