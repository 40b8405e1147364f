"""Which libraries the loader would give a program, as ldd(1) tells: it has the loader resolve them.

What a program opens while it runs (dlopen) is not among them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from base.command import ask

# `libm.so.6 => /lib/libm.so.6 (0x…)`; without an arrow the loader itself, and what is preloaded.
_LOADED = re.compile(r"^\s*(?:(\S+) => )?(/.+) \(0x", re.MULTILINE)


def loaded_libraries(program: Path, environment: Mapping[str, str]) -> dict[str, Path] | str:
    """Return the libraries by the names under which they are asked for, or why they are not known.

    A program that is linked statically has none.
    """
    # ldd ends with status 1 for what is not dynamic and says so on stdout.
    # Once more where it was killed, as on a node that is short of memory.
    for _ in range(2):
        answer = ask(["ldd", str(program)], environment, statuses=(0, 1))
        if answer is not None:
            break
    return "ldd could not be asked" if answer is None else libraries_in(answer)


def libraries_in(answer: str) -> dict[str, Path]:
    """Return the libraries in what ldd prints."""
    return {Path(name or path).name: Path(path) for name, path in _LOADED.findall(answer)}
