"""What is told of a program without starting it: runtime, threads, loops with schedule(runtime)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from runners.advise.program import inspect_program
from runners.host.software import find_program
from tests.runners.advise.programs import write_elf
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


def build(folder: Path, compiler: str, pragma: str, *options: str) -> Path:
    source = folder / "loop.c"
    source.write_text(LOOP.replace("PRAGMA", pragma))
    command = [need_tool(compiler), "-O1", "-fopenmp", "-o", str(folder / "loop"), str(source)]
    subprocess.run([*command, *options], check=True, timeout=HANG_S)
    return folder / "loop"


@pytest.mark.parametrize(
    ("compiler", "options", "schedule", "runtime", "loops"),
    [
        # gcc calls something of its own for loops with a runtime schedule.
        ("gcc", ("-s",), "runtime", "libgomp", "yes"),
        ("gcc", ("-s",), "dynamic", "libgomp", "no"),
        # clang calls the same for all loops that are not static.
        ("clang", (), "runtime", "libomp", "maybe"),
        ("clang", (), "static", "libomp", "no"),
    ],
)
def test_the_runtime_of_a_program_and_loops_with_a_runtime_schedule_are_found(
    tmp_path: Path, compiler: str, options: tuple[str, ...], schedule: str, runtime: str, loops: str
) -> None:
    program = build(tmp_path, compiler, f"parallel for schedule({schedule})", *options)
    found = inspect_program(program, ENVIRONMENT)
    assert (found.runtime, found.loops) == (runtime, loops)


def test_a_loop_in_a_library_of_the_programs_own_is_found(tmp_path: Path) -> None:
    library = tmp_path / "libloop.so"
    source = tmp_path / "library.c"
    source.write_text(LOOP.replace("PRAGMA", "parallel for schedule(runtime)").replace("main", "f"))
    compiler = need_tool("gcc")
    subprocess.run(
        [compiler, "-fopenmp", "-shared", "-fPIC", "-o", str(library), str(source)],
        check=True,
        timeout=HANG_S,
    )
    main = tmp_path / "main.c"
    main.write_text("int f(void); int main(void) { return f(); }\n")
    program = tmp_path / "main"
    links = [f"-L{tmp_path}", "-lloop", f"-Wl,-rpath,{tmp_path}"]
    subprocess.run([compiler, "-o", str(program), str(main), *links], check=True, timeout=HANG_S)
    found = inspect_program(program, ENVIRONMENT)
    assert (found.runtime, found.loops) == ("libgomp", "yes")


def test_a_program_that_starts_nothing_has_one_thread() -> None:
    program = find_program("lu-serial")
    assert program, "run `make setup`"
    found = inspect_program(program, ENVIRONMENT)
    assert (found.runtime, found.loops) == ("none", "no")
    assert "one thread" in found.runtime_line


@pytest.mark.parametrize("name", ["contention-pthreads", "sh"])
def test_what_starts_threads_or_programs_without_openmp_is_not_known(name: str) -> None:
    program = find_program(name)
    assert program, "run `make setup`"
    assert inspect_program(program, ENVIRONMENT).runtime == "other"


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
    (tmp_path / "main.c").write_text("int f(void); int main(void) { return f(); }\n")
    for command in (
        ("-shared", "-fPIC", "-o", library, "f.c"),
        ("-o", "main", "main.c", library, "-Wl,-rpath,$ORIGIN"),
    ):
        subprocess.run([need_tool("gcc"), *command], cwd=tmp_path, check=True, timeout=HANG_S)
    found = inspect_program(tmp_path / "main", ENVIRONMENT | {"LD_LIBRARY_PATH": str(tmp_path)})
    assert (found.runtime, found.threads_by) == ("other", variable)
    told = "the CPUs that it may use" if variable == "affinity" else variable
    assert told in found.runtime_line


def test_a_script_is_told_as_what_it_is(tmp_path: Path) -> None:
    script = write_program(tmp_path / "run.sh", "#!/bin/sh\nexec ./my_app\n")
    found = inspect_program(script, ENVIRONMENT)
    assert (found.runtime, found.loops) == ("other", "no")
    assert "a script" in found.runtime_line
    assert "not known" in found.loops_line


def test_a_file_that_no_loader_takes_is_not_known_either(tmp_path: Path) -> None:
    found = inspect_program(write_elf(tmp_path / "odd", ["GOMP_loop_runtime_start"]), ENVIRONMENT)
    assert (found.runtime, found.loops) == ("other", "no")
