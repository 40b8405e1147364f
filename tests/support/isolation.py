"""What lets tests run side by side: each process of pytest has a node lock and journals of its own.

A node measures one study at a time. A process with a lock of its own
(pinstudy/runners/host/lock.py) does not wait for the studies of others, nor end what those have
left. It still sees their processes, as on any busy node.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock


@contextmanager
def own_node(folder: Path | None = None) -> Iterator[None]:
    """Let this process and what it starts have a lock and journals in a folder, or in a new one."""
    with tempfile.TemporaryDirectory(prefix="tests-of-pinstudy-") as new:
        place = str(folder or new)
        with mock.patch.dict(os.environ, {"PINSTUDY_LOCK": place, "PINSTUDY_STATE": place}):
            yield
