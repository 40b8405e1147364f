"""Versions of what takes part in a run: perf, launchers, and our own builds of the programs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from runners.ask import ask
from runners.programs import EMULATED, program_folders

MAX_CHARACTERS = 300
# PREFIX/bin may be everybody's.
_OWN = re.compile(r"[a-z]+-(serial|pthreads|libgomp|libomp)")


def tool_versions(tools: Mapping[str, str]) -> dict[str, str]:
    """Return what `--version` prints for each tool, by name; `not known` where it fails."""
    return {name: ask_version(path) or "not known" for name, path in tools.items()}


def build_of(program: Path) -> str | None:
    """Return compiler and flags of one of our own programs; None for anybody else's.

    Another program is not asked: it may take `--version` for something to compute.
    """
    ours = (*program_folders(), EMULATED)
    own = program.parent in ours and _OWN.fullmatch(program.name)
    return ask_version(str(program)) if own else None


def ask_version(path: str) -> str | None:
    """Return what `path --version` prints, its lines joined, or None when it fails."""
    answer = ask([path, "--version"])
    text = "; ".join((answer or "").strip().splitlines())
    return "".join(c for c in text if c.isprintable())[:MAX_CHARACTERS] or None
