"""A disk of a few pages, to be filled."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.tools import missing

PAGE = os.sysconf("SC_PAGE_SIZE")
FILLER = "filler"


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[Callable[[str], None]]:
    """Mount a tmpfs (tmpfs(5)) with these options; yield a function that remounts it."""
    if os.geteuid() != 0:
        missing("mounting a small disk needs root")

    def mount(more: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", more, "tmpfs", str(folder)]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            missing("mounting a small disk is not permitted here")

    mount(options)
    try:
        yield mount
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill_but(folder: Path, pages: int) -> None:
    """Fill the disk except for `pages`; the name of a file or a folder takes pages, too."""
    room = os.statvfs(folder)
    free = room.f_bavail * room.f_frsize // PAGE
    with (folder / FILLER).open("wb") as stream:
        stream.write(bytes(max(0, free - pages) * PAGE))
