"""What CMake's files say that recipes must agree with: options, packages, versions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
_OPTION = re.compile(r"\boption\(\s*(\w+)|\bset\(\s*(\w+)[^()]*?\sCACHE\s")
_PACKAGE = re.compile(r"\bfind_package\(\s*(\w+)|\bpinstudy_optional\(\s*\w+\s+(\w+)")
_NEEDS = re.compile(r"\bcmake_minimum_required\(\s*VERSION\s+([0-9.]+)")
_VERSION = re.compile(r"\bproject\([^)]*?\bVERSION\s+([0-9.]+)")


@dataclass(frozen=True)
class CMake:
    """The options of the whole build, the packages it looks for, and two versions."""

    options: frozenset[str]
    packages: frozenset[str]
    needs: str
    version: str


def read_cmake(root: Path) -> CMake:
    """Return what the top file and the modules in apps/cmake say."""
    top = root / "CMakeLists.txt"
    texts = [file.read_text(encoding="utf-8") for file in (top, *root.glob("apps/cmake/*.cmake"))]
    everything = _COMMENT.sub("", "\n".join(texts))
    needs, version = _NEEDS.search(texts[0]), _VERSION.search(texts[0])
    return CMake(
        frozenset(_names(_OPTION, everything)),
        frozenset(_names(_PACKAGE, everything)),
        needs[1] if needs else "",
        version[1] if version else "",
    )


def _names(pattern: re.Pattern[str], text: str) -> set[str]:
    return {first or second for first, second in pattern.findall(text)}
