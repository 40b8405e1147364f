"""`make install` and `make uninstall`: the files that they add and remove below a prefix."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.tools_setup.fake_machine import PYTHON, FakeMachine


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path).with_everything()


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    return tmp_path / "a pre fix"


def install(
    machine: FakeMachine, prefix: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    done = machine.set_up("install", PREFIX=str(prefix), **environment)
    assert done.returncode == 0, done.stderr
    return done


def test_programs_of_each_compiler_and_an_environment_go_to_the_prefix(
    machine: FakeMachine, prefix: Path
) -> None:
    done = install(machine, prefix)

    assert [call.split(" --prefix")[0] for call in machine.calls("cmake --install")] == [
        "cmake --install build/gcc",
        "cmake --install build/clang",
    ]
    assert (prefix / "lib/pinstudy/.venv/bin/python").exists()
    assert not (machine.root / ".venv").exists()
    assert f"installed: {prefix}/bin/pinstudy" in done.stdout
    assert (prefix / "lib/pinstudy/configs/schema.json").exists()
    [compiled] = machine.calls("python3 -m compileall")
    assert f"{prefix}/lib/pinstudy/runners" in compiled


def test_it_says_that_the_programs_are_for_this_cpu(machine: FakeMachine, prefix: Path) -> None:
    assert "may fail on others: MARCH=" in install(machine, prefix).stdout


def test_march_builds_apart_for_all_nodes_of_a_kind(machine: FakeMachine, prefix: Path) -> None:
    done = install(machine, prefix, MARCH="x86-64-v3")

    assert "MARCH=" not in done.stdout
    configured = machine.calls("cmake -B")
    assert [call.split()[2] for call in configured] == [
        "build/march-x86-64-v3/gcc",
        "build/march-x86-64-v3/clang",
    ]
    assert all("-DPINSTUDY_MARCH=x86-64-v3" in call for call in configured)
    folders = [call.split()[2] for call in machine.calls("cmake --install")]
    assert folders == ["build/march-x86-64-v3/gcc", "build/march-x86-64-v3/clang"]

    machine.forget_calls()
    install(machine, prefix, MARCH="x86-64-v3")
    assert machine.calls("cmake -B") == machine.calls("cmake --build") == []


def test_an_older_installation_leaves_nothing_but_what_others_have_put_there(
    machine: FakeMachine, prefix: Path
) -> None:
    install(machine, prefix, INSTALLED="bin/lu-serial lib/pinstudy/configs/studies/old.yaml")
    mine = prefix / "lib/pinstudy/configs/sites/ours.yaml"
    mine.parent.mkdir()
    mine.touch()

    install(machine, prefix, INSTALLED="bin/lu-serial")

    assert (prefix / "bin/lu-serial").exists() and mine.exists()
    assert not (prefix / "lib/pinstudy/configs/studies/old.yaml").exists()


def test_a_list_of_files_that_leads_out_of_the_prefix_is_not_followed(
    machine: FakeMachine, prefix: Path
) -> None:
    install(machine, prefix)
    outside = prefix.parent / "outside"
    outside.touch()
    with (prefix / "lib/pinstudy/installed.txt").open("a") as manifest:
        manifest.write("../outside\n")

    install(machine, prefix)

    assert outside.exists()


def test_a_given_interpreter_is_noted_in_the_place_of_an_environment(
    machine: FakeMachine, prefix: Path
) -> None:
    install(machine, prefix)
    python = machine.path / "python3"

    install(machine, prefix, PINSTUDY_PYTHON=str(python))

    assert (prefix / "lib/pinstudy/interpreter").read_text() == f"{python}\n"
    assert not (prefix / "lib/pinstudy/.venv").exists()


def test_uninstalling_removes_what_was_installed(machine: FakeMachine, prefix: Path) -> None:
    install(machine, prefix, INSTALLED="bin/lu-serial lib/pinstudy/runners/node/node.py")
    cache = prefix / "lib/pinstudy/runners/__pycache__/node.cpython-311.pyc"
    cache.parent.mkdir()
    cache.touch()
    other = prefix / "bin/other"
    other.touch()

    done = machine.set_up("uninstall", PREFIX=str(prefix))

    assert done.returncode == 0, done.stderr
    assert [path for path in prefix.rglob("*") if path.is_file()] == [other]
    assert not (prefix / "lib/pinstudy").exists()


def test_nothing_is_removed_where_nothing_was_installed(tmp_path: Path) -> None:
    machine = FakeMachine(tmp_path)
    done = machine.set_up("uninstall", PREFIX=str(tmp_path))

    assert done.returncode == 2
    assert done.stderr.startswith(f"set-up: finds no installation in {tmp_path} ")


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "says where with PREFIX=, as in `make install PREFIX=/opt/pinstudy`"),
        ({"PREFIX": "opt"}, "needs a PREFIX from the root on"),
        ({"PREFIX": "{root}/bin/.."}, "cannot have this checkout itself as PREFIX"),
        ({"PREFIX": "{root}/requirements.txt"}, "cannot write {root}/requirements.txt: install as"),
        (
            {"PREFIX": "/p", "DESTDIR": "/stage"},
            "knows no DESTDIR; packagers use `cmake --install`",
        ),
        ({"PREFIX": "/p", "MARCH": "../x"}, "needs a value of the compilers' -march as MARCH"),
        ({"PREFIX": "/p", "PINSTUDY_PYTHON": "python3"}, "needs PINSTUDY_PYTHON from the root on"),
        (
            {"PREFIX": "/p", "PINSTUDY_PYTHON": "/nowhere/python3"},
            "cannot use /nowhere/python3, which lacks a working python3",
        ),
    ],
)
def test_a_mistake_is_one_line(
    machine: FakeMachine, environment: dict[str, str], message: str
) -> None:
    given = {name: value.format(root=machine.root) for name, value in environment.items()}

    done = machine.set_up("install", **given)

    assert done.returncode == 2
    assert done.stderr.startswith(f"set-up: {message.format(root=machine.root)}")
    assert done.stderr.count("\n") == 1
    assert machine.calls("cmake --install") == []


def test_an_interpreter_without_the_packages_is_named_with_what_it_lacks(
    machine: FakeMachine, prefix: Path
) -> None:
    machine.put("python3.9", 'echo rich; echo "Python 3.10 or newer"' + PYTHON)
    python = machine.path / "python3.9"

    done = machine.set_up("install", PREFIX=str(prefix), PINSTUDY_PYTHON=str(python))

    message = f"set-up: cannot use {python}, which lacks rich, Python 3.10 or newer\n"
    assert (done.returncode, done.stderr) == (2, message)


def test_an_interpreter_that_others_may_not_start_is_reported(machine: FakeMachine) -> None:
    with tempfile.TemporaryDirectory() as public:
        Path(public).chmod(0o755)
        home = Path(public) / "home"
        python = home / "python3"
        machine.put("python3", f'case "$*" in *realpath*) echo "{python}"; exit ;; esac' + PYTHON)
        home.mkdir()
        shutil.copy(machine.path / "python3", home)
        message = f"others may not start {python}: give another one as PINSTUDY_PYTHON"

        assert message not in install(machine, Path(public), PINSTUDY_PYTHON=str(python)).stdout
        home.chmod(0o700)
        assert message in install(machine, Path(public), PINSTUDY_PYTHON=str(python)).stdout
