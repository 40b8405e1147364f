"""Commands for tests: shell scripts that answer as the real ones do."""

from __future__ import annotations

import stat
from pathlib import Path


def install(folder: Path, name: str, script: str) -> None:
    """Put a command into a folder of the PATH; the script itself sees the system's commands."""
    path = folder / name
    path.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
