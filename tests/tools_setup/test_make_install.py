"""`make install`: a virtual environment of its own below a prefix, with a wheel of the checkout."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.tools_setup.fake_machine import FakeMachine


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return FakeMachine(tmp_path).with_everything()


def test_packages_and_a_wheel_go_to_an_environment_there(
    machine: FakeMachine, tmp_path: Path
) -> None:
    prefix = tmp_path / "a pre fix"

    done = machine.set_up("install", PREFIX=str(prefix), MARCH="x86-64-v3")

    assert done.returncode == 0, done.stderr
    assert f"installed: {prefix}/bin/pinstudy" in done.stdout
    assert "MARCH=" not in done.stdout
    calls = [call for call in machine.calls() if " pip " in call]
    [built] = [call for call in calls if " wheel " in call]
    assert "cmake.define.PINSTUDY_MARCH=x86-64-v3" in built
    assert calls[-2].endswith("--require-hashes -r requirements.txt")
    assert calls[-1].endswith("build/wheel/pinstudy.whl")
    module = (prefix / "share/pinstudy/modulefiles/pinstudy/1.2").read_text()
    assert f'set prefix "{prefix}"' in module
    assert 'append-path MANPATH ""' in module.splitlines()
    assert (prefix / "share/pinstudy/bin/pinstudy").readlink() == Path("../../../bin/pinstudy")


def test_an_update_keeps_what_others_have_put_there(machine: FakeMachine, tmp_path: Path) -> None:
    machine.set_up("install", PREFIX=str(tmp_path / "p"))
    (tmp_path / "p/ours.yaml").touch()

    assert machine.set_up("install", PREFIX=str(tmp_path / "p")).returncode == 0
    assert (tmp_path / "p/ours.yaml").exists()


def test_it_says_that_the_programs_are_for_this_cpu(machine: FakeMachine, tmp_path: Path) -> None:
    assert "may fail on others: MARCH=" in machine.set_up("install", PREFIX=f"{tmp_path}/p").stdout


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({}, "needs a PREFIX from the root on, as in `make install PREFIX=/opt/pinstudy`"),
        ({"PREFIX": "opt"}, "needs a PREFIX from the root on"),
        ({"PREFIX": "{root}"}, "installs into a folder of its own, as in"),
        ({"PREFIX": "{root}/pyproject.toml"}, "installs into a folder of its own, as in"),
        ({"PREFIX": "/p", "MARCH": "../x"}, "needs a value of the compilers' -march as MARCH"),
    ],
)
def test_a_mistake_is_one_line(
    machine: FakeMachine, environment: dict[str, str], message: str
) -> None:
    given = {name: value.format(root=machine.root) for name, value in environment.items()}

    done = machine.set_up("install", **given)

    assert done.returncode == 2
    assert done.stderr.startswith(f"set-up: {message}")
    assert done.stderr.count("\n") == 1


def test_an_interpreter_that_others_may_not_start_is_reported(machine: FakeMachine) -> None:
    with tempfile.TemporaryDirectory() as public:
        Path(public).chmod(0o755)
        python = Path(public) / "home/python3"
        python.parent.mkdir()
        python.touch(mode=0o755)
        message = "others may not start the interpreter of"
        given = {"PREFIX": f"{public}/p", "REAL_PYTHON": str(python)}

        assert message not in machine.set_up("install", **given).stdout
        python.parent.chmod(0o700)
        assert message in machine.set_up("install", **given).stdout
