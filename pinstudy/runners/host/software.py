"""Where programs and tools are, what they are, and how to get missing ones.

They are in the build of a checkout, in an installation, or on the PATH.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pinstudy.base import ROOT
from pinstudy.base.command import output_of
from pinstudy.base.files import read_regular
from pinstudy.base.reading import Unavailable
from pinstudy.base.text import one_line
from pinstudy.configs.library import display_path, own_apps

EMULATED = ROOT / "build" / "emulated" / "bin"
# Where `make originals` puts what it builds.
ORIGINALS = ROOT / "build" / "originals" / "bin"
WITNESS = "pinstudy-witness"
LAUNCHERS = ("taskset", "numactl", "likwid-pin")
# Launchers of MPI ranks: the names of each, best first, and what its `--version` must contain.
# An `mpirun` that comes first on the PATH is that of a loaded module, to which the program belongs.
_OF_MPI = {
    "openmpi": (("mpirun", "mpiexec", "mpirun.openmpi"), re.compile("Open MPI|OpenRTE")),
    "mpich": (("mpiexec", "mpirun", "mpiexec.hydra", "mpiexec.mpich"), re.compile("HYDRA")),
    "srun": (("srun",), re.compile("slurm")),
}
# What a launcher is called where one does not look for it.
MPI_NAMES = {name: names[0] for name, (names, _) in _OF_MPI.items()}
MAX_CHARACTERS = 500
MAX_BYTES = 4096
# PREFIX/bin may hold other programs too.
_OWN = re.compile(r"[a-z]+-(serial|pthreads|libgomp|libomp)")


def program_folders() -> tuple[Path, ...]:
    """Return where our own programs and the originals are: the checkout's build, or PREFIX/bin.

    In a Spack view they are beside the interpreter: an installation's packages may have prefixes of
    their own, and a checkout then ignores its own build of our programs, so that builds do not mix.
    """
    beside = Path(sys.executable).parent
    installed = prefix()
    if installed is not None:
        return (installed / "bin", beside)
    return (beside if spack_environment() else ROOT / "build" / "bin", ORIGINALS)


def find_program(name: str, folders: Iterable[Path] | None = None) -> Path | None:
    """Return the absolute path of an executable, or None.

    A name with a slash is a path, relative to the working directory; a bare name is looked for in
    `folders`, by default our own, then on the PATH.
    """
    places = [name]
    if "/" not in name:
        own = program_folders() if folders is None else folders
        places = [*(str(folder / name) for folder in own), name]
    found = next(filter(None, map(shutil.which, places)), None)
    return Path(found).absolute() if found else None


def is_own(name: str) -> bool:
    """Return whether a program has the name of one of ours, which the build makes."""
    return bool(_OWN.fullmatch(name)) and name.rpartition("-")[0] in own_apps()


def not_found(name: str) -> str:
    """Return where a program was looked for in vain, as the end of a sentence."""
    if "/" in name:
        from_here = "" if name.startswith("/") else " below the working directory"
        return f"was not found: there is no executable file of this path{from_here}"
    folders = ", ".join(map(display_path, program_folders()))
    return f"was not found: it is neither in {folders} nor on the PATH"


def find_emulated_program(name: str) -> Path | None:
    """Return the path of a program for a CPU that QEMU emulates, or None.

    Our own are built for this machine's CPU, whose instructions QEMU may not emulate; `make vm`
    builds them once more. Other programs are used as they are.
    """
    found = find_program(name, [EMULATED])
    return None if found and found.parent in program_folders() else found


def find_tools() -> dict[str, str]:
    """Return the paths of the launchers that this machine has, by name."""
    return {name: path for name in LAUNCHERS if (path := shutil.which(name))}


def find_mpi() -> dict[str, str]:
    """Return the paths of the launchers of MPI ranks that this machine has, by name."""
    return {name: path for name, of in _OF_MPI.items() if (path := _mpi_launcher(*of))}


def _mpi_launcher(names: Iterable[str], version: re.Pattern[str]) -> str | None:
    """Return the first program of these names whose version shows whose it is, or None."""
    paths = filter(None, map(shutil.which, names))
    return next((path for path in paths if version.search(ask_version(path) or "")), None)


@dataclass(frozen=True)
class Remedy:
    """How to get something missing: a command that does what `verb` says, or advice without one."""

    grant: str
    verb: str = ""

    @property
    def sentence(self) -> str:
        """The end of a sentence."""
        return f"{self.verb} with `{self.grant}`" if self.verb else self.grant


def prefix() -> Path | None:
    """Return the PREFIX of an installation, whose bin has the programs; None in a checkout."""
    if (ROOT / "CMakeLists.txt").is_file():
        return None
    # From PREFIX/lib/python3.12/site-packages.
    return ROOT.parents[2] if len(ROOT.parents) > 2 else ROOT


def spack_environment() -> str | None:
    """Return the folder of the Spack environment that provides all of a checkout, or None.

    bin/pinstudy and set-up have the same rule: an active one, unless $PINSTUDY_NO_SPACK forbids it.
    """
    if prefix() is not None or os.environ.get("PINSTUDY_NO_SPACK"):
        return None
    return os.environ.get("SPACK_ENV") or None


def for_tools() -> Remedy:
    """Return how to get a tool of the system, such as perf."""
    if prefix() is None:
        return Remedy("make setup", "install it")
    return Remedy("install this system's package of it, or load its module")


def for_mpi() -> Remedy:
    """Return how to get a launcher of MPI ranks, which must be that of the program's MPI."""
    return Remedy("load its module, or install this system's package of it")


def for_programs(names: Iterable[str] = ()) -> Remedy:
    """Return how to get programs of our own, all together if no names are given."""
    where = prefix()
    if where is None:
        if spack_environment():
            return Remedy("spack install", "install it")
        return Remedy("make setup", "build it")
    # Spack keeps its metadata there, and never installs into the same prefix again.
    if (where / ".spack").is_dir():
        return Remedy(
            "add pinstudy-apps of another compiler to the Spack environment: docs/spack.md"
        )
    # Clang alone builds these, and an installation leaves out what no compiler builds.
    clang = any(name.endswith("-libomp") for name in names) and shutil.which("clang++") is None
    first = "install Clang with its OpenMP (Debian: clang libomp-dev), then " if clang else ""
    return Remedy(f"{first}install pinstudy in {where} once more")


def for_guests() -> Remedy:
    """Return how to get all that guests need, with the programs for an emulated CPU."""
    if prefix() is None:
        return Remedy("make vm", "set it up")
    return Remedy("run `make vm` in a checkout of pinstudy, and the study from there")


def tool_versions(tools: Mapping[str, str]) -> dict[str, str]:
    """Return what `--version` prints for each tool, by name; `not known` where it fails.

    Without the name, which `perf version 6.1` and `taskset from util-linux 2.38` begin with.
    """
    return {
        name: re.sub(rf"^{re.escape(name)} (?:version |from )?", "", ask_version(path) or "")
        or "not known"
        for name, path in tools.items()
    }


def build_of(program: Path) -> str | Unavailable:
    """Return compiler and flags of one of our own programs, or of an original.

    Other programs are not run with `--version`: they may take it for something to compute.
    """
    description = description_of(program)
    if description and (line := _one_line(description)):
        return line
    ours = (*program_folders(), EMULATED)
    if program.parent not in ours or not _OWN.fullmatch(program.name):
        return Unavailable("the program is not one of pinstudy's own; it was not asked")
    return ask_version(str(program)) or Unavailable(f"`{program.name} --version` printed nothing")


def description_of(program: Path) -> list[str]:
    """Return the lines that `make originals` wrote about a program, its name first, or none."""
    if program.parent not in (*program_folders(), EMULATED):
        return []
    try:
        description = read_regular(f"{program}.build", MAX_BYTES)
    except OSError:
        return []
    return description.decode("utf-8", "replace").strip().splitlines()


def ask_version(path: str) -> str | None:
    """Return what `path --version` prints, its lines joined, or None when it fails."""
    return _one_line((output_of([path, "--version"]) or "").strip().splitlines())


def _one_line(lines: list[str]) -> str | None:
    return one_line("; ".join(lines), MAX_CHARACTERS) or None
