"""Which OpenMP runtime a program loads, and from which release it comes.

The runtime decides placement, spinning and loop schedules, and many versions share one file name.
So the loader resolves the file, and the package manager gives its version (distributions strip the
compiler's own mark from the library).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from base.command import output_of
from runners.host.program_files import loaded_libraries

RUNTIME_NAMES = {"libgomp": "libgomp", "libomp": "libomp", "libiomp5": "libomp"}


@dataclass(frozen=True)
class OpenMPRuntime:
    """The runtime as loaded: its family, its file, and the file's package and version.

    These are the fields of the record's `runtime`.
    """

    name: str
    path: str
    version: str


def find_runtime(program: Path, environment: Mapping[str, str]) -> OpenMPRuntime | str:
    """Return the OpenMP runtime that the loader would give the program, or why it is not known."""
    libraries = loaded_libraries(program, environment)
    return libraries if isinstance(libraries, str) else runtime_among(libraries)


def runtime_among(libraries: Mapping[str, Path]) -> OpenMPRuntime | str:
    """Return the runtime among a program's libraries, or why there is none."""
    for name, found in libraries.items():
        if family := RUNTIME_NAMES.get(name.partition(".so")[0]):
            path = found.resolve()
            return OpenMPRuntime(family, str(path), _version(path))
    return "the program loads no OpenMP runtime"


def _version(path: Path) -> str:
    owner = output_of(["dpkg-query", "-S", str(path)])
    if owner:
        package = owner.split(": ")[0]
        answer = output_of(["dpkg-query", "-W", "-f", "${Package} ${Version}", package])
    else:
        answer = output_of(["rpm", "-qf", "--qf", "%{NAME} %{VERSION}-%{RELEASE}", str(path)])
    return answer.strip() if answer else "not known: the file belongs to no package"
