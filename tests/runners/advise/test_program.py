"""What is told of a program without starting it: runtime, threads, loops with schedule(runtime)."""

from __future__ import annotations

import os
import struct
import subprocess
from pathlib import Path

import pytest

from pinstudy.runners.advise.program import dynamic_names, inspect_program
from pinstudy.runners.host.program_files import UnreadableProgramError
from pinstudy.runners.host.software import find_program
from tests.runners.advise.programs import elf, write_elf
from tests.support.studies import write_program
from tests.support.tools import need_tool
from tests.support.wait import HANG_S

ENVIRONMENT = dict(os.environ)


LOOP = """\
#include <stdio.h>
int main(void) {
  double sum = 0;
#pragma omp PRAGMA
  for (int i = 0; i < 1000; i++) {
#pragma omp atomic
    sum += i;
  }
  printf("%g\\n", sum);
}
"""
MAIN = "int f(void); int main(void) { return f(); }\n"
NAMES = ("libm.so.6", "sin", "GOMP_parallel")


def build(folder: Path, *command: str) -> Path:
    """Compile a file `main` in a folder."""
    subprocess.run([need_tool(command[0]), *command[1:]], cwd=folder, check=True, timeout=HANG_S)
    return folder / "main"


@pytest.mark.parametrize(
    ("compiler", "schedule", "in_library", "runtime", "loops"),
    [
        # gcc calls something of its own for loops with a runtime schedule.
        ("gcc", "runtime", False, "libgomp", "yes"),
        ("gcc", "dynamic", False, "libgomp", "no"),
        ("gcc", "runtime", True, "libgomp", "yes"),
        # clang calls the same for all loops that are not static.
        ("clang", "runtime", False, "libomp", "maybe"),
        ("clang", "static", False, "libomp", "no"),
    ],
)
def test_the_runtime_of_a_program_and_loops_with_a_runtime_schedule_are_found(
    tmp_path: Path, compiler: str, schedule: str, in_library: bool, runtime: str, loops: str
) -> None:
    loop = LOOP.replace("PRAGMA", f"parallel for schedule({schedule})")
    (tmp_path / "loop.c").write_text(loop.replace("main", "f") if in_library else loop)
    command = ["-O1", "-fopenmp", "-o", "main", "loop.c"]
    if in_library:
        build(tmp_path, compiler, "-fopenmp", "-shared", "-fPIC", "-o", "libloop.so", "loop.c")
        (tmp_path / "main.c").write_text(MAIN)
        command = ["-o", "main", "main.c", "libloop.so", "-Wl,-rpath,$ORIGIN"]
    program = build(tmp_path, compiler, *command)
    found = inspect_program(program, ENVIRONMENT)
    assert (found.runtime, found.loops) == (runtime, loops)


def test_a_program_that_starts_nothing_has_one_thread() -> None:
    program = find_program("lu-serial")
    assert program, "run `make setup`"
    found = inspect_program(program, ENVIRONMENT)
    assert (found.runtime, found.loops) == ("none", "no")
    assert "one thread" in found.runtime_line


def test_what_starts_threads_or_programs_without_openmp_is_not_known(tmp_path: Path) -> None:
    script = write_program(tmp_path / "run.sh", "#!/bin/sh\nexec ./my_app\n")
    # A file that no loader takes.
    odd = write_elf(tmp_path / "odd", ["GOMP_loop_runtime_start"])
    for program in (find_program("contention-pthreads"), find_program("sh"), script, odd):
        assert program, "run `make setup`"
        found = inspect_program(program, ENVIRONMENT)
        assert (found.runtime, found.loops) == ("other", "no")
    found = inspect_program(script, ENVIRONMENT)
    assert "a script" in found.runtime_line and "not known" in found.loops_line


@pytest.mark.parametrize(
    ("library", "variable"),
    [
        ("libopenblas.so.0", "OPENBLAS_NUM_THREADS"),
        ("libscipy_openblas64_.so", "OPENBLAS_NUM_THREADS"),
        ("libmkl_rt.so.2", "MKL_NUM_THREADS"),
        ("libblis-mt.so.4", "BLIS_NUM_THREADS"),
        ("libtbb.so.12", "affinity"),
        ("libtbbmalloc.so.2", ""),
        ("libopen.so", ""),
    ],
)
def test_a_library_that_has_threads_of_its_own_tells_which_variable_counts_them(
    tmp_path: Path, library: str, variable: str
) -> None:
    (tmp_path / "f.c").write_text(
        "#include <pthread.h>\nint f(void) { pthread_t t; return pthread_create(&t, 0, 0, 0); }\n"
    )
    (tmp_path / "main.c").write_text(MAIN)
    build(tmp_path, "gcc", "-shared", "-fPIC", "-o", library, "f.c")
    program = build(tmp_path, "gcc", "-o", "main", "main.c", library, "-Wl,-rpath,$ORIGIN")
    found = inspect_program(program, ENVIRONMENT | {"LD_LIBRARY_PATH": str(tmp_path)})
    assert (found.runtime, found.threads_by) == ("other", variable)
    told = "the CPUs that it may use" if variable == "affinity" else variable
    assert told in found.runtime_line


def test_the_names_that_a_program_asks_for_are_read(tmp_path: Path) -> None:
    names = {name.encode() for name in NAMES}
    assert dynamic_names(write_elf(tmp_path / "program", NAMES)) == names


def statically_linked() -> bytes:
    data = bytearray(elf(NAMES))
    data[64 + 56 : 64 + 60] = struct.pack("<I", 4)  # PT_NOTE instead of PT_DYNAMIC
    return bytes(data)


def any_number_of_sections() -> bytes:
    data = bytearray(elf(NAMES))
    # No number of sections in the header, so that the first section has it (gABI, e_shnum).
    data[40:48] = struct.pack("<Q", len(data))
    data[58:62] = struct.pack("<HH", 64, 0)
    section = bytearray(64)
    section[32:40] = struct.pack("<Q", 1 << 40)
    return bytes(data + section)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        *((data, "a script, or no program") for data in (b"", b"#!/bin/sh\n")),
        (b"\x7fELF", "not a sound ELF file"),
        (b"\x7fELF\x02\x01\x01" + bytes(9), "not a sound ELF file"),
        (elf(NAMES)[:100], "not a sound ELF file"),
        (elf(NAMES)[:-40], "not a sound ELF file|cut short"),
        (statically_linked(), "statically linked"),
        (any_number_of_sections(), "not a sound ELF file"),
    ],
)
def test_what_is_no_sound_program_has_its_reason(tmp_path: Path, data: bytes, reason: str) -> None:
    file = tmp_path / "program"
    file.write_bytes(data)
    with pytest.raises(UnreadableProgramError, match=reason):
        dynamic_names(file)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, tmp_path / "none", Path("/dev/zero")):
        with pytest.raises(UnreadableProgramError):
            dynamic_names(path)
