"""What this machine has already, as Spack's packages.yaml says it."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, NamedTuple

from base.command import output_of

Packages = dict[str, Any]


class Command(NamedTuple):
    """A package that is known by a command, which tells its version after these words."""

    package: str
    command: str
    words: str


COMMANDS = (
    Command("cmake", "cmake", r"cmake version"),
    Command("gmake", "make", r"GNU Make"),
    Command("hwloc", "hwloc-info", r"hwloc-info"),
    Command("likwid", "likwid-pin", r"Version"),
)
# The newest versions that Spack's own packages have at the tag of spack.yaml: spack-packages
# v2026.06.0 (commit d4f7c711a6), read on 2026-11-21.
NEWEST = {
    "py-click": "8.3.1",
    "py-jinja2": "3.1.6",
    "py-matplotlib": "3.11.0",
    "py-numpy": "2.4.6",
    "py-pandas": "3.0.3",
    "py-pyelftools": "0.29",
    "py-pyyaml": "6.0.3",
    "py-rich": "15.0.0",
    "py-scipy": "1.17.1",
    "py-tabulate": "0.9.0",
}
# What pip installs of a package is without its extras. An external whose spec does not say so is
# taken to have the default variants.
WITHOUT_EXTRAS = {"py-pandas": "~excel~parquet~performance"}
# Where Debian and Ubuntu put it, with its version in the path.
_LIBOMP = "usr/lib/llvm-*/lib/libomp.so.5"


def compilers() -> Packages:
    """Return GCC, with Fortran where that is installed, and Clang where that is.

    `gfortran` may be one that belongs to this GCC but is elsewhere on the PATH.
    """
    packages: Packages = {}
    found = {name: shutil.which(name) for name in ("gcc", "g++", "gfortran", "clang", "clang++")}
    version = output_of(["gcc", "-dumpfullversion"])
    if version and found["gcc"] and found["g++"]:
        paths = {"c": found["gcc"], "cxx": found["g++"], "fortran": found["gfortran"]}
        languages = "c,c++,fortran" if found["gfortran"] else "c,c++"
        spec = f"gcc@{version.strip()} languages:='{languages}'"
        packages["gcc"] = _compiler(spec, found["gcc"], paths)
    version = output_of(["clang", "-dumpversion"])
    if version and found["clang"] and found["clang++"]:
        paths = {"c": found["clang"], "cxx": found["clang++"]}
        spec = f"llvm@{version.strip()}+clang~flang~lld~lldb"
        packages["llvm"] = _compiler(spec, found["clang"], paths)
    return packages


def _compiler(spec: str, path: str, paths: dict[str, str | None]) -> Packages:
    known = {language: one for language, one in paths.items() if one}
    entry = {
        "spec": spec,
        "prefix": str(Path(path).parent.parent),
        "extra_attributes": {"compilers": known},
    }
    return {"externals": [entry]}


def distribution(but: Collection[str]) -> Packages:
    """Return what else of the environments' packages is installed, but for these names."""
    found = {name: entry for name, entry in (*_commands(), *_libraries()) if name not in but}
    return {name: {"externals": [entry], "buildable": False} for name, entry in found.items()}


def _commands() -> Iterator[tuple[str, Packages]]:
    for package, command, words in COMMANDS:
        path = shutil.which(command)
        said = output_of([path, "--version"]) if path else None
        version = re.search(rf"{words}\s+([0-9.]+)", said or "")
        if path and version:
            yield package, _entry(f"{package}@{version[1]}", Path(path).parent.parent)


def _libraries() -> Iterator[tuple[str, Packages]]:
    cli11 = Path("/usr/include/CLI/Version.hpp")
    if cli11.is_file():
        text = cli11.read_text(encoding="utf-8", errors="replace")
        version = re.search(r'CLI11_VERSION "([0-9.]+)"', text)
        if version:
            yield "cli11", _entry(f"cli11@{version[1]}", Path("/usr"))
    for package, module in (("nlohmann-json", "nlohmann_json"), ("googletest", "gtest")):
        said = output_of(["pkg-config", "--modversion", module])
        if said:
            yield package, _entry(f"{package}@{said.strip()}", Path("/usr"))
    newest = max(Path("/").glob(_LIBOMP), key=_llvm, default=None)
    if newest:
        yield "llvm-openmp", _entry(f"llvm-openmp@{_llvm(newest)}", newest.parent.parent)


def _llvm(libomp: Path) -> int:
    return int(libomp.parts[3].partition("-")[2].partition(".")[0])


def python_packages(prefix: Path, names: Collection[str]) -> Packages:
    """Return the interpreter of a virtual environment, and those of its packages with these names.

    The names are Spack's: `py-numpy`.
    """
    python = prefix / "bin" / "python3"
    version = output_of([str(python), "-c", "import platform; print(platform.python_version())"])
    site = next(prefix.glob("lib/python3*/site-packages"))
    installed = {
        re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower(): one.version
        for one in distributions(path=[str(site)])
    }
    interpreter = f"python@{(version or '').strip()}"
    packages = {"python": _entry(interpreter, prefix)}
    for name in names:
        version = installed[name.removeprefix("py-")]
        entry = _entry(f"{name}@{version}{WITHOUT_EXTRAS.get(name, '')}", prefix)
        # Spack 1.0 knows no such key, and finds the interpreter of the same prefix by itself.
        entry["dependencies"] = [{"spec": interpreter, "deptypes": ["build", "run"]}]
        packages[name] = entry
    return {name: {"externals": [entry], "buildable": False} for name, entry in packages.items()}


def _entry(spec: str, prefix: Path) -> Packages:
    return {"spec": spec, "prefix": str(prefix)}


def plain_environment() -> dict[str, str]:
    """Return the environment without another Spack's, and without a virtual environment's."""
    private = str(Path(__file__).resolve().parents[2] / ".venv" / "bin")
    taken = ("SPACK_ENV", "SPACK_LD", "PYTHON", "VIRTUAL_ENV", "PINSTUDY_", "MAKE", "CMAKE_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(taken)}
    path = kept.get("PATH", os.defpath).split(os.pathsep)
    kept["PATH"] = os.pathsep.join(folder for folder in path if folder != private)
    return kept
