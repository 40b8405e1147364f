"""What a program's files show without starting it: its OpenMP runtime, and which loops it has."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pinstudy.configs.variables import BY_AFFINITY
from pinstudy.runners.host.program_files import (
    RUNTIME_NAMES,
    OpenMPRuntime,
    UnreadableProgramError,
    known_libraries,
    read_elf,
    runtime_among,
    threads_told_by,
)

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

# Programs with more libraries than this are not read.
MAX_LIBRARIES = 200
# Programs have some 30 dynamic entries and 64 KiB of names, a few MiB with C++.
MAX_TAGS = 4096
MAX_NAMES_BYTES = 32 << 20

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
_NAME = re.compile(rb"[^\0]+")
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
    take their schedule from OMP_SCHEDULE: `yes`, `maybe` or `no`. `runtime_line` and `loops_line`
    are a line on each, with the evidence. `threads_by` is what tells a library the number of its
    threads, a variable or BY_AFFINITY; empty without such a library.
    """

    path: Path
    runtime: str
    loops: str
    runtime_line: str
    loops_line: str
    threads_by: str = ""


def inspect_program(path: Path, environment: Mapping[str, str]) -> Program:
    """Return what the files of the program and of the libraries that it would load show."""
    loaded = known_libraries(path, environment)
    runtime = loaded if isinstance(loaded, str) else runtime_among(loaded)
    # By the names in the program's own list: the files may have others.
    libraries = [] if isinstance(loaded, str) else [of.with_name(n) for n, of in loaded.items()]
    try:
        names = _names(path, libraries)
    except UnreadableProgramError as reason:
        loops = f"which loops it has is not known: {reason}"
        if isinstance(runtime, OpenMPRuntime):
            return Program(path, runtime.name, "no", f"OpenMP by {runtime.name}", loops)
        line = f"what its threads are is not known: {reason}"
        return Program(path, "other", "no", line, loops)
    if isinstance(runtime, OpenMPRuntime):
        loops, evidence = _loops(runtime.name, names)
        line = f"OpenMP by {runtime.name}, {Path(runtime.path).name} ({runtime.version})"
        return Program(path, runtime.name, loops, line, evidence)
    called = _any(_STARTS_OTHERS, names)
    if libraries and not called:
        line = "it has one thread: it calls nothing that starts threads or programs"
        return Program(path, "none", "no", line, "it has no loops of OpenMP")
    loops = "no loops of OpenMP were found in it"
    if found := threads_told_by(loaded if isinstance(loaded, dict) else ()):
        library, told_by = found
        line = f"threads by {library}, {takes_number(told_by)}"
        return Program(path, "other", "no", line, loops, told_by)
    line = f"{runtime}; what its threads are is not known (it calls {called or 'no library'})"
    return Program(path, "other", "no", line, loops)


def takes_number(told_by: str) -> str:
    """Return a clause on what tells a library the number of its threads."""
    source = "the CPUs that it may use" if told_by == BY_AFFINITY else told_by
    return f"which takes their number from {source}"


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
        raise UnreadableProgramError(f"it loads {len(libraries)} libraries")
    names = dynamic_names(path)
    for library in libraries:
        is_runtime = library.name.partition(".so")[0] in RUNTIME_NAMES
        if not (is_runtime or _PLAIN.fullmatch(library.name)):
            names |= dynamic_names(library)
    return names


def dynamic_names(path: Path) -> frozenset[bytes]:
    """Return the names in the dynamic string table of a program or shared library.

    These are the symbols that it imports and exports, and the libraries that it needs. The table is
    found as the loader finds it, through the program headers, so that it is there in stripped
    files, too. Raises UnreadableProgramError when the file cannot be read, is damaged or of another
    kind.
    """
    return read_elf(path, _names_in)


def _names_in(file: ELFFile, stream: BinaryIO) -> frozenset[bytes]:
    from elftools.elf.dynamic import DynamicSegment

    dynamic = next(file.iter_segments("PT_DYNAMIC"), None)
    if not isinstance(dynamic, DynamicSegment):
        raise UnreadableProgramError("it is statically linked")
    tags = {tag.entry.d_tag: tag.entry.d_val for tag in islice(dynamic.iter_tags(), MAX_TAGS)}
    size = tags.get("DT_STRSZ", 0)
    if "DT_STRTAB" not in tags or not 0 < size <= MAX_NAMES_BYTES:
        raise UnreadableProgramError("it has no table of dynamic names")
    offset = next(file.address_offsets(tags["DT_STRTAB"], 1), None)
    if offset is None:
        raise UnreadableProgramError("it is not a sound ELF file")
    stream.seek(offset)
    names = stream.read(size)
    if len(names) < size:
        raise UnreadableProgramError("it is cut short")
    # Not split at zeros: a table of zeros would become a list of millions.
    return frozenset(name[0] for name in _NAME.finditer(names))
