"""An ordinary user, whom file modes stop, also if the tests run as root."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

NOBODY = 65534


@contextlib.contextmanager
def ordinary_user() -> Iterator[None]:
    """Be nobody in the context: root may read files that their mode forbids."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """Give a folder that an ordinary user can enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
