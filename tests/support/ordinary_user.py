"""An ordinary user, whom file modes stop, also if the tests run as root."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

NOBODY = 65534
_UNKNOWN = 54321


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


@contextlib.contextmanager
def user_without_account() -> Iterator[None]:
    """Be an ordinary user with a number of which nobody knows the home, as in some containers."""
    names = ("HOME", "XDG_STATE_HOME", "PINSTUDY_STATE")
    known = {name: value for name, value in os.environ.items() if name not in names}
    # The home is that of the real user; tests stay root as such, to become root again.
    real = mock.patch.object(os, "getuid", lambda: _UNKNOWN)
    with ordinary_user(), mock.patch.dict(os.environ, known, clear=True), real:
        yield
