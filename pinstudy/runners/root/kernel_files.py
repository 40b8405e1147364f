"""The kernel's files that root's part opens for its user: those in a list, to read only."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pinstudy.runners.host.processes import read_stats
from pinstudy.runners.host.tree import Tree
from pinstudy.runners.node.core_kinds.identification import DEVICE
from pinstudy.runners.node.power import HWMON, POWERCAP
from pinstudy.runners.node.scheduler import CACHE_AWARE, ITMT, PREEMPTION
from pinstudy.runners.root.request import Answer, Handler, text_in

_ZONE = r"intel-rapl(?:-mmio)?(?::[0-9]{1,4}){1,2}"
# Energy counters (RAPL's 0400 since Linux 5.10), identification by CPUID, switches of the
# scheduler in debugfs, and which capabilities root has here.
_READABLE = re.compile(
    "|".join(
        (
            rf"{POWERCAP}/{_ZONE}(?:/{_ZONE})?/energy_uj",
            rf"{HWMON}/hwmon[0-9]{{1,4}}/(?:energy|power)[0-9]{{1,3}}_(?:input|average)",
            DEVICE.format("[0-9]{1,5}"),
            *map(re.escape, (*ITMT, CACHE_AWARE, PREEMPTION, "/proc/self/status")),
        )
    ),
    re.ASCII,
)
_SECRET_FIELDS = (*range(26, 31), 35, *range(45, 53))
_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW


class KernelFiles:
    """Opens files of the list, and looks at all processes where /proc hides those of others."""

    @property
    def handlers(self) -> dict[str, Handler]:
        """The requests, by name."""
        return {"open": self._open, "processes": self._processes}

    @staticmethod
    def _open(request: Mapping[str, Any]) -> Answer:
        path = text_in(request, "path")
        if _READABLE.fullmatch(path) is None:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        descriptor = os.open(path, _FLAGS)
        mode = os.fstat(descriptor).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISCHR(mode)):
            os.close(descriptor)
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return {}, descriptor

    @staticmethod
    def _processes(_request: Mapping[str, Any]) -> Answer:
        """Answer with the stat file of each process (proc_pid_stat(5)), a NUL behind each."""
        found = read_stats(Tree(Path("/")))
        texts = map(_without_addresses, found.values() if isinstance(found, dict) else ())
        descriptor = os.memfd_create("processes")
        with os.fdopen(os.dup(descriptor), "wb") as stream:
            stream.write("".join(f"{text}\0" for text in texts).encode())
        return {}, descriptor


def _without_addresses(text: str) -> str:
    """Return a stat file with 0 for what the kernel tells only who may trace the process.

    Addresses of code, stack, data and arguments, and the exit code (proc_pid_stat(5)).
    """
    head, closing, rest = text.rpartition(") ")
    fields = rest.split()
    for field in _SECRET_FIELDS:
        # The third field is the first one after the name.
        if field - 3 < len(fields):
            fields[field - 3] = "0"
    return f"{head}{closing}{' '.join(fields)}"
