"""What a program's files show without starting it: its OpenMP runtime, and which loops it has."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from runners.advise.elf import NotLookedIntoError, dynamic_names
from runners.host.program_files import (
    RUNTIME_NAMES,
    OpenMPRuntime,
    loaded_libraries,
    runtime_among,
)

# A program with more libraries than this is not looked into further.
MAX_LIBRARIES = 200

# Libraries that start threads or programs only if a program calls a function of _STARTS_OTHERS.
_PLAIN = re.compile(
    r"(?:ld-linux\S*|lib(?:c|m|dl|rt|util|pthread|gcc_s|stdc\+\+|c\+\+|c\+\+abi|atomic|gfortran"
    r"|quadmath))\.so\S*"
)
# GOMP_loop_runtime_start, GOMP_parallel_loop_maybe_nonmonotonic_runtime, GOMP_loop_ull_runtime_next
# and so on: GCC calls them for schedule(runtime) only (GCC libgomp/libgomp.map).
_LIBGOMP_RUNTIME = re.compile(rb"GOMP_\w*loop_\w*runtime\w*")
# Clang calls these for every schedule but static (LLVM openmp/runtime/src/kmp.h).
_LIBOMP_DISPATCH = re.compile(rb"__kmpc_dispatch_init_\w+")
_STARTS_OTHERS = re.compile(
    rb"pthread_create|thrd_create|_ZNSt6thread\w*|_ZNSt3__16thread\w*|clone3?"
    rb"|v?fork|posix_spawnp?|exec[lv]\w*|fexecve|system|popen|dlm?open"
    rb"|_gfortran_execute_command_line\w*"
)


@dataclass(frozen=True)
class Program:
    """A program as its files show it.

    `runtime` is a word of configs.app.RUNTIMES: `none` when it surely starts neither threads nor
    programs, `other` when it is not known what runs its threads. `loops` says whether loops
    take their schedule from OMP_SCHEDULE: `yes`, `maybe` or `no`. `runtime_said` and `loops_said`
    are a line on each, with the evidence.
    """

    path: Path
    runtime: str
    loops: str
    runtime_said: str
    loops_said: str


def look_at(path: Path, environment: Mapping[str, str]) -> Program:
    """Return what the files of the program and of the libraries that it would load show."""
    loaded = loaded_libraries(path, environment)
    found = loaded if isinstance(loaded, str) else runtime_among(loaded)
    # By the names that the program asks for: the files may have others.
    libraries = [] if isinstance(loaded, str) else [of.with_name(n) for n, of in loaded.items()]
    try:
        names = _names(path, libraries)
    except NotLookedIntoError as reason:
        return _not_looked_into(path, found, str(reason))
    if isinstance(found, OpenMPRuntime):
        loops, why = _loops(found.name, names)
        said = f"OpenMP by {found.name}, {Path(found.path).name} ({found.version})"
        return Program(path, found.name, loops, said, why)
    called = _any(_STARTS_OTHERS, names)
    if libraries and not called:
        said = "it has one thread: it calls nothing that starts threads or programs"
        return Program(path, "none", "no", said, "it has no loops of OpenMP")
    said = f"{found}; what its threads are is not known (it calls {called or 'no library'})"
    return Program(path, "other", "no", said, "no loops of OpenMP were found in it")


def _not_looked_into(path: Path, found: OpenMPRuntime | str, reason: str) -> Program:
    runtime = found.name if isinstance(found, OpenMPRuntime) else "other"
    said = f"what its threads are is not known: {reason}"
    if runtime != "other":
        said = f"OpenMP by {runtime}"
    return Program(path, runtime, "no", said, f"which loops it has is not known: {reason}")


def _loops(runtime: str, names: Collection[bytes]) -> tuple[str, str]:
    """Return whether loops take their schedule from OMP_SCHEDULE, and the evidence."""
    called = _any(_LIBGOMP_RUNTIME, names)
    if called:
        return "yes", f"it has loops with schedule(runtime): it calls {called}"
    called = _any(_LIBOMP_DISPATCH, names)
    if called and runtime == "libomp":
        return "maybe", (
            f"it may have loops with schedule(runtime): it calls {called}, as all loops do that "
            "are not static"
        )
    return "no", "it has no loops with schedule(runtime): it calls nothing that these need"


def _any(pattern: re.Pattern[bytes], names: Collection[bytes]) -> str:
    """Return the alphabetically first name that matches; empty when none does."""
    return min((name.decode("ascii") for name in names if pattern.fullmatch(name)), default="")


def _names(path: Path, libraries: Collection[Path]) -> frozenset[bytes]:
    """Return the names of the program and its libraries, without runtimes and system libraries."""
    if len(libraries) > MAX_LIBRARIES:
        raise NotLookedIntoError(f"it loads {len(libraries)} libraries")
    names = dynamic_names(path)
    for library in libraries:
        if not (_PLAIN.fullmatch(library.name) or _is_runtime(library.name)):
            names |= dynamic_names(library)
    return names


def _is_runtime(name: str) -> bool:
    return name.partition(".so")[0] in RUNTIME_NAMES
