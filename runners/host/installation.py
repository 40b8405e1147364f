"""How this pinstudy came here, as a checkout or as an installation, and what helps in each."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

# The folder of the packages: a checkout, or PREFIX/lib/pinstudy.
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Remedy:
    """What gets something that is missing: as a grant of `doctor`, and as the end of a sentence."""

    grant: str
    sentence: str


def prefix() -> Path | None:
    """Return the PREFIX of an installation, which has the programs in its bin; None: a checkout."""
    return None if (ROOT / "CMakeLists.txt").is_file() else ROOT.parent.parent


def spack_environment() -> str | None:
    """Return the folder of the Spack environment that a checkout takes all from, or None.

    As bin/pinstudy and set-up decide it: an active one, unless $PINSTUDY_NO_SPACK forbids that.
    """
    if prefix() is not None or os.environ.get("PINSTUDY_NO_SPACK"):
        return None
    return os.environ.get("SPACK_ENV") or None


def for_tools() -> Remedy:
    """Return what gets a tool of the system, such as perf."""
    if prefix() is None:
        return Remedy("make setup", "install it with `make setup`")
    words = "install this system's package of it, or load its module"
    return Remedy(words, words)


def for_programs(obtain: str = "") -> Remedy:
    """Return what gets a program of our own, or one of which an app says how it is obtained."""
    if obtain:
        return Remedy(obtain, f"get it with `{obtain}`")
    where = prefix()
    if where is not None:
        words = f"install pinstudy in {where} once more"
        # Spack keeps its notes there, and installs nothing into it again.
        if (where / ".spack").is_dir():
            words = "add pinstudy-apps of another compiler to the Spack environment: docs/spack.md"
        return Remedy(words, words)
    if spack_environment():
        return Remedy("spack install", "install it with `spack install`")
    return Remedy("make setup", "build it with `make setup`")


def for_guests(obtain: str = "") -> Remedy:
    """Return what gets all that guests need, with the programs for an emulated CPU.

    `obtain` is how an app says that its programs are obtained, which is to be done before.
    """
    if obtain:
        return Remedy(f"{obtain}, make vm", f"get it with `{obtain}`, then `make vm`")
    if prefix() is None:
        return Remedy("make vm", "set it up with `make vm`")
    words = "run `make vm` in a checkout of pinstudy, and the study from there"
    return Remedy(words, words)
