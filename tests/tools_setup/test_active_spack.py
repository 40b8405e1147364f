"""A checkout in an active Spack environment uses only it, or reports what it lacks."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tools_setup.fake_machine import PYTHON, FakeMachine

SAID = "set-up: uses the active Spack environment {}\n"


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path).with_everything()


def environment(machine: FakeMachine, *commands: str) -> str:
    """Make a Spack environment whose view has these commands, and return its folder."""
    view = machine.path.parent / "env/.spack-env/view/bin"
    view.mkdir(parents=True)
    for name in commands:
        machine.put(name, PYTHON)
        shutil.copy(machine.path / name, view)
        if name != "python3":
            machine.remove(name)
    return str(machine.path.parent / "env")


@pytest.mark.parametrize("again", [False, True])
def test_it_is_used_in_the_place_of_an_environment_and_a_build(
    machine: FakeMachine, again: bool
) -> None:
    spack = environment(machine, "python3", "pinstudy-witness")
    if again:
        machine.set_up(SPACK_ENV=spack)

    done = machine.set_up(SPACK_ENV=spack)

    assert (done.returncode, done.stdout, done.stderr) == (0, SAID.format(spack), "")
    assert not (machine.root / ".venv").exists()
    assert machine.calls("cmake") == []


def test_neither_a_compiler_nor_a_python_of_the_system_is_needed(machine: FakeMachine) -> None:
    spack = environment(machine, "python3", "pinstudy-witness")
    machine.remove("g++", "clang++", "cmake", "make", "python3")

    assert machine.set_up(SPACK_ENV=spack).returncode == 0


def test_a_view_elsewhere_is_the_one_on_the_path(machine: FakeMachine, tmp_path: Path) -> None:
    machine.put("pinstudy-witness")

    done = machine.set_up(SPACK_ENV=str(tmp_path))

    assert done.stdout == SAID.format(tmp_path)


@pytest.mark.parametrize(
    ("commands", "lacks"),
    [
        (["python3"], "the programs of pinstudy"),
        (["python3-without-rich", "pinstudy-witness"], "rich"),
        (["python3-without-rich"], "rich, the programs of pinstudy"),
        (["python3-that-fails", "pinstudy-witness"], "a working python3"),
    ],
)
def test_what_it_lacks_is_not_taken_from_elsewhere(
    machine: FakeMachine, commands: list[str], lacks: str
) -> None:
    spack = environment(machine, *commands)
    for name, script in (("without-rich", "echo rich"), ("that-fails", "exit 1")):
        other = Path(spack) / f".spack-env/view/bin/python3-{name}"
        if other.exists():
            other.write_text(f"#!/bin/sh\n{script}\n")
            other.rename(other.with_name("python3"))

    done = machine.set_up(SPACK_ENV=spack)

    assert done.returncode == 2
    assert done.stderr == (
        f"set-up: the active Spack environment {spack} lacks {lacks}: run `spack install` in it, "
        "or go without it (PINSTUDY_NO_SPACK=1)\n"
    )
    assert not (machine.root / ".venv").exists()


def test_it_can_be_gone_without(machine: FakeMachine) -> None:
    spack = environment(machine, "python3", "pinstudy-witness")

    done = machine.set_up(SPACK_ENV=spack, PINSTUDY_NO_SPACK="1")

    assert "Spack" not in done.stdout
    assert (machine.root / ".venv/bin/python").exists()
