"""What is known of Spack's own packages: kept by hand, from the tag of spack.yaml.

Read from spack-packages v2026.06.0 (commit d4f7c711a6) on 2026-11-21. With a new tag every line is
looked up anew, in the `package.py` of that name.
"""

from __future__ import annotations

from dataclasses import dataclass

TAG = "v2026.06.0"


@dataclass(frozen=True)
class Package:
    """One package: its newest version, none for a virtual one, and the variants that we may ask."""

    newest: str | None
    variants: frozenset[str] = frozenset()


def _package(newest: str | None, *variants: str) -> Package:
    return Package(newest, frozenset(variants))


PACKAGES = {
    "benchmark": _package("1.9.5", "performance_counters", "shared"),
    "c": _package(None),
    "cli11": _package("2.6.1", "pic", "precompiled"),
    "cmake": _package("4.3.3"),
    "cxx": _package(None),
    "fortran": _package(None),
    "gcc": _package("16.1.0"),
    "gmake": _package("4.4.1"),
    "googletest": _package("1.17.0", "gmock", "shared"),
    "hwloc": _package("2.13.0", "libxml2", "pci"),
    "likwid": _package("5.5.1", "fortran"),
    "llvm": _package("22.1.5", "clang", "flang"),
    "llvm-openmp": _package("20.1.8", "fortran", "multicompat"),
    "lulesh": _package("2.0.3", "mpi", "openmp", "visual"),
    "ompscr": _package("2.0"),
    "py-click": _package("8.3.1"),
    "py-jinja2": _package("3.1.6"),
    "py-matplotlib": _package("3.11.0", "fonts", "latex", "movies"),
    "py-numpy": _package("2.4.6"),
    "py-pandas": _package("3.0.3", "excel", "parquet", "performance"),
    "py-pyelftools": _package("0.29"),
    "py-pyyaml": _package("6.0.3", "libyaml"),
    "py-rich": _package("15.0.0"),
    "py-scipy": _package("1.17.1"),
    "py-tabulate": _package("0.9.0"),
    "python": _package("3.14.5"),
}

# What a recipe must depend on when CMake looks for a package; the compiler brings the others.
OF_CMAKE = {"CLI11": "cli11", "GTest": "googletest", "benchmark": "benchmark"}
OF_COMPILERS = frozenset({"OpenMP", "Threads"})
