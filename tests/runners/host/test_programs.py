"""Where programs are looked for, what is advised, and which files a program is."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pinstudy.base.errors import ShortageError
from pinstudy.base.reading import Unavailable
from pinstudy.configs import library as configured
from pinstudy.runners.host import software
from pinstudy.runners.host.program_files import (
    OpenMPRuntime,
    ProgramFiles,
    ProgramReader,
    find_runtime,
    libraries_in,
    loaded_libraries,
    programs_in,
    runtime_among,
)
from pinstudy.runners.host.software import build_of, find_program, tool_versions
from tests.support.limits import no_more_files
from tests.support.programs import built
from tests.support.studies import write_program
from tests.support.tools import need_tool
from tests.support.wait import HANG_S

ENVIRONMENT = dict(os.environ)
MAIN = "int main(void) { return 0; }\n"
CALLS = "int f(void); int main(void) { return f(); }\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder that holds the package, and an interpreter in a folder of its own."""
    root = tmp_path / "lib/python3.12/site-packages"
    root.mkdir(parents=True)
    monkeypatch.setattr(software, "ROOT", root)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "view/bin/python3"))
    monkeypatch.setenv("PATH", str(tmp_path / "elsewhere"))
    monkeypatch.delenv("SPACK_ENV", raising=False)
    monkeypatch.delenv("PINSTUDY_NO_SPACK", raising=False)
    return root


def make(program: Path) -> Path:
    program.parent.mkdir(parents=True, exist_ok=True)
    return write_program(program, "#!/bin/sh\necho lu of somebody\n")


def test_a_checkout_finds_what_it_has_built_unless_in_a_spack_environment(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "CMakeLists.txt").touch()
    make(tmp_path / "bin/lu-serial")
    assert find_program("lu-serial") is None
    built = make(tree / "build/bin/lu-serial")
    make(tmp_path / "elsewhere/lu-serial")
    assert find_program("lu-serial") == built
    (tmp_path / "elsewhere/lu-serial").unlink()
    monkeypatch.setenv("SPACK_ENV", str(tmp_path))
    assert find_program("lu-serial") is None
    assert software.for_programs().sentence == "install it with `spack install`"
    in_view = make(tmp_path / "view/bin/lu-serial")
    assert find_program("lu-serial") == in_view
    monkeypatch.setenv("PINSTUDY_NO_SPACK", "1")
    assert find_program("lu-serial") == built


def test_an_installation_finds_its_own_programs_first(tree: Path, tmp_path: Path) -> None:
    make(tree / "build/bin/lu-serial")
    assert find_program("lu-serial") is None
    for folder in ("elsewhere", "view/bin", "bin"):
        better = make(tmp_path / folder / "lu-serial")
        assert find_program("lu-serial") == better


@pytest.mark.usefixtures("tree")
def test_only_our_own_programs_of_a_shared_prefix_are_asked_what_they_are(tmp_path: Path) -> None:
    assert build_of(make(tmp_path / "bin/lu-serial")) == "lu of somebody"
    for stranger in ("bin/lulesh2.0", "elsewhere/lu-serial"):
        assert "not one of pinstudy's own" in reason_of(build_of(make(tmp_path / stranger)))
    failing = make(tmp_path / "bin/lu-libomp")
    failing.write_text("#!/bin/sh\nexit 1\n")
    assert reason_of(build_of(failing)) == "`lu-libomp --version` printed nothing"


def reason_of(found: str | Unavailable) -> str:
    assert isinstance(found, Unavailable)
    return found.reason


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("lu-libgomp", True),
        ("pingpong-pthreads", True),
        ("mine-libgomp", False),
        ("lu", False),
        ("./lu-libgomp", False),
        ("/opt/stream_gcc", False),
    ],
)
def test_only_programs_that_the_build_makes_are_our_own(name: str, own: bool) -> None:
    assert software.is_own(name) is own


def test_a_program_that_is_not_there_was_looked_for_somewhere() -> None:
    end = software.not_found("mine")
    for folder in software.program_folders():
        assert configured.display_path(folder) in end
    assert end.endswith("nor on the PATH")
    assert software.not_found("/opt/x").endswith("no executable file of this path")
    assert software.not_found("./x").endswith("of this path below the working directory")


def test_a_checkout_advises_to_set_up_and_an_installation_sends_nobody_to_a_makefile(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert software.prefix() == tmp_path
    for remedy in (software.for_tools(), software.for_programs()):
        assert "make" not in remedy.grant and "make" not in remedy.sentence
    assert str(tmp_path) in software.for_programs().sentence
    assert "in a checkout" in software.for_guests().sentence
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "install Clang" in software.for_programs(["lu-serial", "lu-libomp"]).grant
    assert "Clang" not in software.for_programs(["lu-serial"]).grant
    (tmp_path / ".spack").mkdir()
    grant = software.for_programs().grant
    assert "pinstudy-apps" in grant and str(tmp_path) not in grant
    (tree / "CMakeLists.txt").touch()
    assert software.for_tools().grant == "make setup"
    assert software.for_programs().sentence == "build it with `make setup`"
    assert software.for_guests().grant == "make vm"


def test_a_version_is_what_a_tool_prints_without_its_own_name(tmp_path: Path) -> None:
    printed = {
        "perf": ("perf version 6.1.187", "6.1.187"),
        "taskset": ("taskset from util-linux 2.38.1", "util-linux 2.38.1"),
        "mpirun": ("mpirun (Open MPI) 4.1.4", "(Open MPI) 4.1.4"),
        "likwid-pin": ("Version 5.3", "Version 5.3"),
        "silent": ("", "not known"),
    }
    tools = {
        name: str(write_program(tmp_path / name, f"#!/bin/sh\necho '{text}'\n"))
        for name, (text, _) in printed.items()
    }
    assert tool_versions(tools) == {name: version for name, (_, version) in printed.items()}


def compiled(path: Path, text: str, *options: str) -> Path:
    source = path.with_suffix(".c")
    source.write_text(text)
    command = [need_tool("gcc"), "-o", str(path), str(source), *options]
    subprocess.run(command, check=True, timeout=HANG_S)
    return path


def script(path: Path, first_line: str, text: str = "true\n") -> Path:
    return write_program(path, f"{first_line}\n{text}")


def read(program: Path, *arguments: str, reader: ProgramReader | None = None) -> ProgramFiles:
    reader = reader or ProgramReader(ENVIRONMENT)
    return reader.read(programs_in(program, arguments))


def library(path: Path, value: int) -> Path:
    path.parent.mkdir(exist_ok=True)
    return compiled(path, f"int f(void) {{ return {value}; }}\n", "-shared", "-fPIC")


def test_a_library_of_the_programs_own_belongs_to_it(tmp_path: Path) -> None:
    own = library(tmp_path / "lib" / "libown.so", 1)
    program = compiled(
        tmp_path / "program", "int f(void); int main(void) { return f(); }\n", str(own)
    )
    reader = ProgramReader(ENVIRONMENT)
    before = read(program, reader=reader)
    assert before.paths["libown.so"] == own
    assert {"program", "libc.so.6"} < set(before.digests)
    assert not before.unavailable
    library(own, 2)
    after = read(program, reader=reader)
    assert after.digest != before.digest
    changed = [part for part in after.digests if after.digests[part] != before.digests[part]]
    assert changed == ["libown.so"]
    # So does one that is preloaded.
    preloading = ProgramReader(ENVIRONMENT | {"LD_PRELOAD": str(own)})
    alone = compiled(tmp_path / "alone", MAIN)
    assert read(alone, reader=preloading).paths["libown.so"] == own


# Seconds by which the clock is ahead of the files: what was read is kept, or read again.
@pytest.mark.parametrize("ahead_s", [0, 10])
def test_a_library_that_is_found_earlier_than_before_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead_s: int
) -> None:
    monkeypatch.setattr("time.time_ns", lambda now=time.time_ns: now() + ahead_s * 10**9)
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    own = library(folders[1] / "libown.so", 1)
    text = "int f(void); int main(void) { return f(); }\n"
    program = compiled(tmp_path / "program", text, f"-L{own.parent}", "-lown")
    reader = ProgramReader(ENVIRONMENT | {"LD_LIBRARY_PATH": ":".join(map(str, folders))})
    before = read(program, reader=reader)
    library(folders[0] / "libown.so", 2)
    assert read(program, reader=reader).paths["libown.so"] == folders[0] / "libown.so"
    assert read(program, reader=reader).digest != before.digest


def test_a_script_is_itself_and_its_interpreter_with_libraries(tmp_path: Path) -> None:
    found = read(script(tmp_path / "run", "#!/bin/sh"))
    assert found.paths["program"] == tmp_path / "run"
    assert found.paths["interpreter sh"] == Path("/bin/sh")
    assert "libc.so.6" in found.digests
    # One that env finds is the one on the path.
    inner = script(tmp_path / "mine", "#!/bin/sh -e")
    reader = ProgramReader(ENVIRONMENT | {"PATH": f"{tmp_path}:{os.environ['PATH']}"})
    found = read(script(tmp_path / "run", "#!/usr/bin/env -S A=1 mine -x"), reader=reader)
    assert found.paths["interpreter mine"] == inner
    assert found.paths["interpreter sh"] == Path("/bin/sh")
    # Two that interpret each other come to an end.
    other = script(tmp_path / "other", f"#!{inner}")
    script(inner, f"#!{other}")
    assert set(read(inner).digests) == {"program", "interpreter other", "interpreter mine"}


def test_what_a_launcher_is_told_to_start_belongs_to_it(tmp_path: Path) -> None:
    program = compiled(tmp_path / "program", MAIN)
    run, data, plain = (tmp_path / name for name in ("run", "data", "plain.py"))
    script(run, "#!/bin/sh")
    data.write_text("7\n")
    plain.write_text("print(1)\n")
    words = ["-n", "2", *map(str, (program, run, plain, data)), "missing.py", "a\0b.py"]
    found = read(Path("/usr/bin/env"), *words)
    arguments = {part for part in found.digests if part.startswith("argument")}
    assert arguments == {"argument program", "argument run", "argument plain.py"}


@pytest.mark.parametrize("first_line", ["#!", "#! ", "#!/no/such/thing", "#!\0", "#!" + "x" * 999])
def test_an_interpreter_that_is_not_there_has_a_reason_or_is_none(
    tmp_path: Path, first_line: str
) -> None:
    found = read(script(tmp_path / "run", first_line))
    assert "program" in found.digests
    assert set(found.paths) - set(found.digests) == set(found.unavailable)


def test_a_file_that_is_written_in_place_with_its_old_times_is_noticed(tmp_path: Path) -> None:
    run = script(tmp_path / "run", "#!/bin/sh", "true 1\n")
    os.utime(run, ns=(10**18, 10**18))
    reader = ProgramReader(ENVIRONMENT)
    before = read(run, reader=reader)
    run.write_text("#!/bin/sh\ntrue 2\n")
    os.utime(run, ns=(10**18, 10**18))
    assert read(run, reader=reader).digest != before.digest


def test_what_has_not_changed_for_seconds_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = compiled(tmp_path / "program", MAIN, "-static")
    reader = ProgramReader(ENVIRONMENT)
    monkeypatch.setattr("time.time_ns", lambda now=time.time_ns: now() + 10 * 10**9)
    before = read(program, reader=reader)
    assert set(before.digests) == {"program"}, "a static program is one file"
    with monkeypatch.context() as patch:
        patch.setattr("os.read", lambda *_: pytest.fail("it was read again"))
        assert read(program, reader=reader) is before


def test_what_has_just_changed_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another change within the clock's resolution would leave the same times.
    run = script(tmp_path / "run", "#!/no/such/thing")
    reader = ProgramReader(ENVIRONMENT)
    # Both are read within the second after the change, however busy the machine is.
    monkeypatch.setattr("time.time_ns", lambda: run.stat().st_mtime_ns + 10**9)
    assert read(run, reader=reader) is not read(run, reader=reader)


# An ldd that is killed so many times before it answers.
LDD = """#!/bin/sh
kills=$(cat "$0.kills")
[ "$kills" -gt 0 ] || { echo "	libomp.so.5 => /lib/libomp.so.5 (0x00007f1c)"; exit 0; }
echo $((kills - 1)) >"$0.kills"
kill -9 $$
"""


@pytest.mark.parametrize(
    ("kills", "answer"),
    [
        (0, {"libomp.so.5": Path("/lib/libomp.so.5")}),
        (1, {"libomp.so.5": Path("/lib/libomp.so.5")}),
        (2, "ldd could not be asked"),
    ],
)
def test_an_ldd_that_was_killed_is_asked_once_more(
    tmp_path: Path, kills: int, answer: dict[str, Path] | str
) -> None:
    write_program(tmp_path / "ldd", LDD)
    (tmp_path / "ldd.kills").write_text(str(kills))
    path = f"{tmp_path}:{Path(need_tool('cat')).parent}"
    assert loaded_libraries(Path("/bin/true"), {"PATH": path}) == answer


# What an ldd does for the program that it is asked about first; $1 is the program.
SILENT = "exit 1"
NOTHING_SAID = "exit 0"
CUT = "printf '\\tlibc.so.6 => /lib/libc.so.6 (0x0'"
NO_FORK = "echo 'ldd: fork: retry: Resource temporarily unavailable' >&2; exit 1"
NO_LOADER = "echo '\tnot a dynamic executable' >&2; exit 1"
FORK_THEN_STATIC = f"{NO_FORK.partition(';')[0]}; {NO_LOADER}"
KILLED = "kill -9 $$"
SHORT = (SILENT, NOTHING_SAID, CUT, NO_FORK, NO_LOADER, FORK_THEN_STATIC, KILLED)
WHOLE = "echo '\tlibc.so.6 => /lib/libc.so.6 (0x0)'"


def with_ldd(folder: Path, does: str, otherwise: str, program: Path) -> dict[str, str]:
    """Write an ldd that does so for a program, and otherwise for all others; return where it is."""
    text = f'#!/bin/sh\nif [ "$1" = {program} ]; then {does}; else {otherwise}; fi\n'
    write_program(folder / "ldd", text)
    return {"PATH": str(folder)}


@pytest.fixture(scope="module")
def dynamic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a program that the loader starts."""
    return compiled(tmp_path_factory.mktemp("dynamic") / "program", MAIN)


@pytest.mark.parametrize("does", SHORT)
def test_a_shortage_of_ldd_is_not_a_static_program(
    tmp_path: Path, dynamic: Path, does: str
) -> None:
    environment = with_ldd(tmp_path, does, does, dynamic)
    reader = ProgramReader(environment)
    for ask in (
        lambda: loaded_libraries(dynamic, environment),
        lambda: reader.read((dynamic,)),
        lambda: find_runtime(dynamic, environment),
    ):
        with pytest.raises(ShortageError, match=r"ldd .*; the host was short of it"):
            ask()
    if does in (SILENT, NOTHING_SAID, CUT, KILLED):
        # It answers again by now.
        environment = with_ldd(tmp_path, does, WHOLE, dynamic)
        with pytest.raises(ShortageError, match=f"for the libraries of {dynamic}"):
            ProgramReader(environment).read((dynamic,))


@pytest.mark.parametrize("but", [0, 1, 2, 3, 4])
def test_a_program_that_cannot_be_read_for_want_of_files_is_not_unknown(
    dynamic: Path, but: int
) -> None:
    with no_more_files(but=but), pytest.raises(ShortageError, match="Too many open files"):
        ProgramReader(ENVIRONMENT).read((dynamic,))


def test_a_program_whose_loader_is_not_ldds_has_a_reason(tmp_path: Path, dynamic: Path) -> None:
    environment = with_ldd(tmp_path, NO_LOADER, WHOLE, dynamic)
    assert loaded_libraries(dynamic, environment) == "ldd cannot tell its libraries"
    files = ProgramReader(environment).read((dynamic,))
    assert files.unavailable == {"libraries of program": "ldd cannot tell its libraries"}


@pytest.mark.parametrize("option", ["-static", "-static-pie"])
def test_a_static_program_has_no_libraries_whatever_ldd_says(tmp_path: Path, option: str) -> None:
    program = compiled(tmp_path / "program", MAIN, option)
    assert loaded_libraries(program, ENVIRONMENT) == {}
    for does in (SILENT, NO_LOADER, KILLED):
        assert loaded_libraries(program, with_ldd(tmp_path, does, does, program)) == {}


def test_the_family_is_read_from_the_loaders_answer() -> None:
    text = (
        "\tlinux-vdso.so.1 (0x00007ffd)\n"
        "\tlibiomp5.so => /no/such/libiomp5.so (0x00007f1c)\n"
        "\tlibc.so.6 => /lib/libc.so.6 (0x00007f1b)\n"
    )
    found = runtime_among(libraries_in(text))
    assert isinstance(found, OpenMPRuntime)
    assert (found.name, found.path) == ("libomp", "/no/such/libiomp5.so")
    assert "no package" in found.version
    none = runtime_among(libraries_in("\tnot a dynamic executable\n"))
    assert none == "the program loads no OpenMP runtime"


@pytest.mark.parametrize("family", ["libgomp", "libomp"])
def test_our_builds_load_the_runtime_they_are_named_after(family: str) -> None:
    found = find_runtime(built(f"mandelbrot-{family}"), ENVIRONMENT)
    assert isinstance(found, OpenMPRuntime)
    assert found.name == family
    assert any(character.isdigit() for character in found.version)


def test_a_file_whose_package_has_another_name_is_found_too() -> None:
    need_tool("dpkg-query")
    found = runtime_among({"libgomp.so.1": Path("/usr/bin/env")})
    assert isinstance(found, OpenMPRuntime)
    assert found.version.startswith("coreutils ")
