"""Versions of what takes part in a run: perf, launchers, and how the programs were built."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from base.command import ask
from base.files import read_given
from runners.host.software import EMULATED, program_folders

MAX_CHARACTERS = 500
MAX_BYTES = 4096
# PREFIX/bin may be everybody's.
_OWN = re.compile(r"[a-z]+-(serial|pthreads|libgomp|libomp)")


def tool_versions(tools: Mapping[str, str]) -> dict[str, str]:
    """Return what `--version` prints for each tool, by name; `not known` where it fails."""
    return {name: ask_version(path) or "not known" for name, path in tools.items()}


def build_of(program: Path) -> str | None:
    """Return compiler and flags of one of our own programs, or of an original; else None.

    Another program is not asked: it may take `--version` for something to compute.
    """
    told = description_of(program)
    if told:
        return _one_line(told)
    ours = (*program_folders(), EMULATED)
    own = program.parent in ours and _OWN.fullmatch(program.name)
    return ask_version(str(program)) if own else None


def description_of(program: Path) -> list[str]:
    """Return what `make originals` wrote of a program, first what it is; nothing of others."""
    if program.parent not in (*program_folders(), EMULATED):
        return []
    try:
        told = read_given(f"{program}.build", MAX_BYTES)
    except OSError:
        return []
    return told.decode("utf-8", "replace").strip().splitlines()


def ask_version(path: str) -> str | None:
    """Return what `path --version` prints, its lines joined, or None when it fails."""
    return _one_line((ask([path, "--version"]) or "").strip().splitlines())


def _one_line(lines: list[str]) -> str | None:
    text = "; ".join(lines)
    return "".join(c for c in text if c.isprintable())[:MAX_CHARACTERS] or None
