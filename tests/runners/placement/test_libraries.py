"""Libraries with threads of their own are found in what a process has mapped, while it runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from runners.execution.execute import Harness, execute
from runners.placement.libraries import MAX_PROCESSES, LoadedLibraries
from runners.plan.launch import Launch
from tests.support.held import looks_counted
from tests.support.programs import witness
from tests.support.wait import HANG_S

MAPS = """\
55e4c0a00000-55e4c0a21000 r--p 00000000 fe:01 131 /usr/bin/python3.11
7f1c2a000000-7f1c2a021000 rw-p 00000000 00:00 0 [heap]
7f1c2b000000-7f1c2b100000 r-xp 00001000 fe:01 77 /opt/my env/lib/libscipy_openblas64_-99b71e71.so
7f1c2c000000-7f1c2c100000 r-xp 00001000 fe:01 78 /usr/lib/libgomp.so.1.0.0
7f1c2d000000-7f1c2d100000 r-xp 00001000 fe:01 79 /usr/lib/libm.so.6
"""


def mapped(proc: Path, pid: int, maps: str) -> None:
    (proc / str(pid)).mkdir(parents=True)
    (proc / str(pid) / "maps").write_text(maps)


def test_of_all_mapped_files_those_with_threads_are_named(tmp_path: Path) -> None:
    mapped(tmp_path, 7, MAPS)
    mapped(tmp_path, 8, "0-1 r--p 0 0:0 0 /lib/libtbb.so.12\n")
    libraries = LoadedLibraries(tmp_path)

    libraries.look([6, 7, 8])

    assert libraries.names == (
        "libgomp.so.1.0.0", "libscipy_openblas64_-99b71e71.so", "libtbb.so.12",
    )  # fmt: skip


def test_it_looks_ever_more_rarely_and_at_no_more_than_some_processes(tmp_path: Path) -> None:
    libraries = LoadedLibraries(tmp_path)
    looked = []
    for call in range(1, 101):
        mapped(tmp_path, call, f"0-1 r--p 0 0:0 0 /lib/libopenblas.so.{call}\n")
        libraries.look([call])
        if any(name.endswith(f".{call}") for name in libraries.names):
            looked.append(call)

    assert looked == [1, 2, 4, 8, 16, 32, 64]
    many = LoadedLibraries(tmp_path)
    many.look(range(1, 101))
    assert len(many.names) == MAX_PROCESSES


def test_what_an_interpreter_opens_is_found_while_it_runs(tmp_path: Path) -> None:
    # A copy of some library, whose name alone counts, opened after the start.
    script = (
        "import ctypes, os, shutil, time\n"
        "path = os.environ['HERE'] + '/libopenblas.so.0'\n"
        "maps = open('/proc/self/maps').read().split()\n"
        "shutil.copy(next(word for word in maps if 'libc.so' in word), path)\n"
        "ctypes.CDLL(path)\n"
        "looks = lambda: int(open(os.environ['LOOKS'], 'rb').read().split(b'\\0')[0] or 0)\n"
        # The next power of two is a look at the libraries, too.
        "enough = 2 * looks() + 2\n"
        "while looks() < enough: time.sleep(0.001)\n"
    )
    libraries = LoadedLibraries()
    with looks_counted(tmp_path / "looks") as looks:
        environment = {"PATH": os.environ["PATH"], "HERE": str(tmp_path), "LOOKS": str(looks)}
        launch = Launch((), (sys.executable, "-c", script), environment, {}, ())
        run = execute(launch, HANG_S, Harness(witness(), None), libraries=libraries)

    assert run.ending.exit_code == 0, run.stderr
    assert run.thread_libraries == ("libopenblas.so.0",)
