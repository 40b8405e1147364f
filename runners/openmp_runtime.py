"""Which OpenMP runtime a program loads, and from which release it comes.

The runtime decides placement, spinning and loop schedules, and one file name hides many
versions; so the loader is asked, and then the package manager whose file it is (distributions
strip the compiler's own mark from the library).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from runners.ask import ask

RUNTIME_NAMES = {"libgomp": "libgomp", "libomp": "libomp", "libiomp5": "libomp"}
_LOADED = re.compile(r"^\s*(lib(?:gomp|omp|iomp5))\.so\S* => (/.+) \(0x", re.MULTILINE)


@dataclass(frozen=True)
class OpenMPRuntime:
    """The runtime as loaded: its family, the file, and the package and version it is from."""

    name: str
    path: str
    version: str

    def fields(self) -> dict[str, str]:
        """Return the record's `runtime` entry."""
        return {"name": self.name, "path": self.path, "version": self.version}


def find_runtime(program: Path, environment: dict[str, str]) -> OpenMPRuntime | str:
    """Return the OpenMP runtime that the loader would give the program, or why it is not known."""
    # ldd ends with status 1 for a static program and says so on stdout.
    answer = ask(["ldd", str(program)], environment, statuses=(0, 1))
    if answer is None:
        return "ldd could not be asked"
    return runtime_from_ldd(answer)


def runtime_from_ldd(text: str) -> OpenMPRuntime | str:
    """Return the runtime named in ldd's output, or why there is none."""
    loaded = _LOADED.search(text)
    if loaded is None:
        return "the program loads no OpenMP runtime"
    path = Path(loaded[2]).resolve()
    return OpenMPRuntime(RUNTIME_NAMES[loaded[1]], str(path), _version(path))


def _version(path: Path) -> str:
    owner = ask(["dpkg-query", "-S", str(path)])
    if owner:
        package = owner.split(": ")[0]
        answer = ask(["dpkg-query", "-W", "-f", "${Package} ${Version}", package])
    else:
        answer = ask(["rpm", "-qf", "--qf", "%{NAME} %{VERSION}-%{RELEASE}", str(path)])
    return answer.strip() if answer else "not known: the file belongs to no package"
