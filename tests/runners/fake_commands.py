"""Commands for tests: shell scripts that answer as the real ones do."""

from __future__ import annotations

from pathlib import Path

from tests.support.studies import write_program


def install(folder: Path, name: str, script: str) -> None:
    """Put a command into a folder of the PATH; the script itself sees the system's commands."""
    write_program(folder / name, f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")
