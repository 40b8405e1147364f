"""Where programs are looked for, and what is advised, in a checkout and in an installation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from base.reading import Unavailable
from configs import library
from runners.host import software
from runners.host.software import build_of, tool_versions
from tests.support.studies import write_program


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder that holds the packages, and an interpreter in a folder of its own."""
    root = tmp_path / "lib/pinstudy"
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


def check_out(tree: Path) -> None:
    (tree / "CMakeLists.txt").touch()


def test_a_checkout_finds_what_it_has_built(tree: Path, tmp_path: Path) -> None:
    check_out(tree)
    make(tmp_path / "bin/lu-serial")
    assert software.find_program("lu-serial") is None
    built = make(tree / "build/bin/lu-serial")
    make(tmp_path / "elsewhere/lu-serial")
    assert software.find_program("lu-serial") == built


def test_an_installation_finds_its_own_programs_first(tree: Path, tmp_path: Path) -> None:
    make(tree / "build/bin/lu-serial")
    assert software.find_program("lu-serial") is None
    on_path = make(tmp_path / "elsewhere/lu-serial")
    assert software.find_program("lu-serial") == on_path
    beside = make(tmp_path / "view/bin/lu-serial")
    assert software.find_program("lu-serial") == beside
    installed = make(tmp_path / "bin/lu-serial")
    assert software.find_program("lu-serial") == installed


def test_a_checkout_in_a_spack_environment_takes_no_program_of_its_build(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_out(tree)
    built = make(tree / "build/bin/lu-serial")
    monkeypatch.setenv("SPACK_ENV", str(tmp_path))
    assert software.find_program("lu-serial") is None
    assert software.for_programs().sentence == "install it with `spack install`"
    in_view = make(tmp_path / "view/bin/lu-serial")
    assert software.find_program("lu-serial") == in_view
    monkeypatch.setenv("PINSTUDY_NO_SPACK", "1")
    assert software.find_program("lu-serial") == built


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
    assert all(
        str(folder) in end for folder in map(library.display_path, software.program_folders())
    )
    assert end.endswith("nor on the PATH")
    assert software.not_found("/opt/x").endswith("no executable file of this path")
    assert software.not_found("./x").endswith("of this path below the working directory")


def test_a_checkout_advises_to_set_up_and_an_installation_sends_nobody_to_a_makefile(
    tree: Path, tmp_path: Path
) -> None:
    assert software.prefix() == tmp_path
    for remedy in (software.for_tools(), software.for_programs()):
        assert "make" not in remedy.grant and "make" not in remedy.sentence
    assert str(tmp_path) in software.for_programs().sentence
    assert "in a checkout" in software.for_guests().sentence
    (tmp_path / ".spack").mkdir()
    assert "pinstudy-apps" in software.for_programs().grant
    assert str(tmp_path) not in software.for_programs().grant
    check_out(tree)
    assert software.for_tools().grant == "make setup"
    assert software.for_programs().sentence == "build it with `make setup`"
    assert software.for_guests().grant == "make vm"


@pytest.mark.parametrize(
    ("name", "printed", "version"),
    [
        ("perf", "perf version 6.1.187", "6.1.187"),
        ("taskset", "taskset from util-linux 2.38.1", "util-linux 2.38.1"),
        ("mpirun", "mpirun (Open MPI) 4.1.4", "(Open MPI) 4.1.4"),
        ("likwid-pin", "Version 5.3", "Version 5.3"),
        ("perf", "", "not known"),
    ],
)
def test_a_version_is_what_a_tool_prints_without_its_own_name(
    tmp_path: Path, name: str, printed: str, version: str
) -> None:
    tool = write_program(tmp_path / name, f"#!/bin/sh\necho '{printed}'\n")
    assert tool_versions({name: str(tool)}) == {name: version}
