"""Where programs and tools are: the build, an installation, or the PATH."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from runners.host.installation import ROOT, prefix, spack_environment

EMULATED = ROOT / "build" / "emulated" / "bin"
# Where `make originals` puts what it builds.
ORIGINALS = ROOT / "build" / "originals" / "bin"
WITNESS = "pinstudy-witness"
LAUNCHERS = ("taskset", "numactl", "likwid-pin")


def program_folders() -> tuple[Path, ...]:
    """Return where our own programs may be, and the originals: the checkout's build, or PREFIX/bin.

    They are beside the interpreter, where that is a Spack view's: a checkout takes none of our own
    from its build then, so that nothing is mixed, and the packages of an installation may have
    prefixes of their own.
    """
    beside = Path(sys.executable).parent
    where = prefix()
    if where is not None:
        return (where / "bin", beside)
    return (beside if spack_environment() else ROOT / "build" / "bin", ORIGINALS)


def find_program(name: str, folders: Iterable[Path] | None = None) -> Path | None:
    """Return the absolute path of an executable, or None.

    A name with a slash is a path, relative to the working directory; a bare name is looked for in
    our own folders, or in those that are named, then on the PATH.
    """
    if "/" in name:
        path = Path(name).absolute()
        return path if os.access(path, os.X_OK) and path.is_file() else None
    for folder in program_folders() if folders is None else folders:
        candidate = folder / name
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    found = shutil.which(name)
    return Path(found).absolute() if found else None


def find_emulated_program(name: str) -> Path | None:
    """Return the path of a program for a CPU that QEMU emulates, or None.

    Our own are built for this machine's CPU, whose instructions QEMU need not know; `make vm`
    builds them once more. Others are taken as they are.
    """
    found = find_program(name, [EMULATED])
    return None if found and found.parent in program_folders() else found


def find_tools(names: Iterable[str] = LAUNCHERS) -> dict[str, str]:
    """Return the paths of those launchers that this machine has, by name."""
    found = ((name, shutil.which(name)) for name in names)
    return {name: path for name, path in found if path}
