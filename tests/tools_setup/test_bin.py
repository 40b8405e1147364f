"""bin/pinstudy finds its checkout or installation, and the interpreter that belongs to it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.support.ordinary_user import AS_NOBODY, open_folder
from tests.support.studies import write_program
from tests.support.tools import ROOT, missing
from tests.support.wait import HANG_S

# Says where it was found, with what it was called, and what it was told of other places.
PACKAGES = sysconfig.get_path("purelib")
MAIN = "import os, sys; print(sys.argv, sys.flags.ignore_environment, sys.executable)"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "a check out"
    (root / "pinstudy").mkdir(parents=True)
    (root / "bin").mkdir()
    shutil.copy(ROOT / "bin/pinstudy", root / "bin/pinstudy")
    (root / "pinstudy/__main__.py").write_text(MAIN)
    return root


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """Give an installation without its own interpreter."""
    prefix = tmp_path / "a pre fix"
    (prefix / "packages/pinstudy").mkdir(parents=True)
    (prefix / "bin").mkdir()
    shutil.copy(ROOT / "bin/pinstudy", prefix / "bin/pinstudy")
    (prefix / "packages/pinstudy/__init__.py").touch()
    (prefix / "packages/pinstudy/__main__.py").write_text(MAIN)
    return prefix


def python_in(folder: Path) -> Path:
    """Put an interpreter there; with PYTHONPATH=PACKAGES it has the packages."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "python3").symlink_to(sys.executable)
    return folder / "python3"


def set_up(root: Path) -> None:
    (root / ".venv/bin").mkdir(parents=True)
    (root / ".venv/bin/python").symlink_to(sys.executable)
    (root / ".venv/requirements.stamp").touch()


def call(
    *command: str | Path, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", **environment},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def test_it_runs_from_any_directory(checkout: Path, tmp_path: Path) -> None:
    set_up(checkout)

    for cwd in (tmp_path, checkout, checkout / "bin"):
        done = call(checkout / "bin/pinstudy", "plan", "a study", cwd=cwd)
        assert f"['{checkout}/pinstudy', 'plan', 'a study']" in done.stdout


def test_it_runs_by_a_relative_name(checkout: Path) -> None:
    set_up(checkout)

    assert f"['{checkout}/pinstudy']" in call("./pinstudy", cwd=checkout / "bin").stdout
    assert f"['{checkout}/pinstudy']" in call("sh", "pinstudy", cwd=checkout / "bin").stdout


def test_it_runs_through_links_and_from_the_path(checkout: Path, tmp_path: Path) -> None:
    set_up(checkout)
    (tmp_path / "commands").mkdir()
    (tmp_path / "commands/other").symlink_to("../a check out/bin/pinstudy")
    (tmp_path / "commands/pinstudy").symlink_to("other")

    done = call("pinstudy", "apps", PATH=f"{tmp_path}/commands:/usr/bin:/bin")

    assert f"['{checkout}/pinstudy', 'apps']" in done.stdout


def test_messages_can_name_it_as_it_was_called(checkout: Path, tmp_path: Path) -> None:
    set_up(checkout)
    (checkout / "pinstudy/base").symlink_to(ROOT / "pinstudy/base")
    (checkout / "pinstudy/__main__.py").write_text(
        "import os, sys; sys.path[0] += '/..'; from pinstudy.base import PINSTUDY\n"
        "print(PINSTUDY, 'PINSTUDY_CALLED' in os.environ)"
    )
    (tmp_path / "pinstudy").symlink_to(checkout / "bin/pinstudy")

    assert call("bin/pinstudy", cwd=checkout).stdout == "bin/pinstudy False\n"
    by_path = call(checkout / "bin/pinstudy")
    assert by_path.stdout == f"'{checkout}/bin/pinstudy' False\n"
    on_path = call("pinstudy", PATH=f"{tmp_path}:/usr/bin:/bin")
    assert on_path.stdout == "pinstudy False\n"


def test_it_hands_on_the_exit_status(checkout: Path) -> None:
    set_up(checkout)
    (checkout / "pinstudy/__main__.py").write_text("raise SystemExit(3)")

    assert call(checkout / "bin/pinstudy").returncode == 3


def test_the_private_environment_is_not_disturbed_by_a_loaded_module(checkout: Path) -> None:
    set_up(checkout)

    done = call(checkout / "bin/pinstudy", PYTHONPATH="/module", PYTHONHOME="/module")

    assert f" 1 {checkout}/.venv/bin/python" in done.stdout


def test_without_a_private_environment_the_active_one_is_used(
    checkout: Path, tmp_path: Path
) -> None:
    (tmp_path / "active").mkdir()
    (tmp_path / "active/python3").symlink_to(sys.executable)
    packages = sysconfig.get_path("purelib")

    done = call(
        checkout / "bin/pinstudy", PATH=f"{tmp_path}/active:/usr/bin:/bin", PYTHONPATH=packages
    )

    assert f" 0 {tmp_path}/active/python3" in done.stdout


@pytest.mark.parametrize("python", ["exit 1", None])
def test_without_any_usable_interpreter_one_line_says_what_to_do(
    checkout: Path, tmp_path: Path, python: str | None
) -> None:
    commands = tmp_path / "commands"
    commands.mkdir()
    if python is not None:
        write_program(commands / "python3", f"#!/bin/sh\n{python}\n")

    done = call(checkout / "bin/pinstudy", PATH=str(commands))

    assert done.returncode == 2
    assert done.stderr == f"pinstudy: not set up: run `make setup` in {checkout}\n"


def test_an_environment_whose_set_up_did_not_finish_is_not_used(checkout: Path) -> None:
    set_up(checkout)
    (checkout / ".venv/requirements.stamp").unlink()

    assert "not set up" in call(checkout / "bin/pinstudy", PATH="/nowhere").stderr


@pytest.mark.parametrize("barred", [".venv", "home"])
def test_an_interpreter_that_a_user_may_not_start_is_not_reported_as_missing(barred: str) -> None:
    if os.geteuid() != 0:
        missing("being refused by file modes as another user needs root")
    with open_folder() as folder:
        root, home = folder / "checkout", folder / "home"
        (root / "pinstudy").mkdir(parents=True)
        (root / "bin").mkdir()
        shutil.copy(ROOT / "bin/pinstudy", root / "bin/pinstudy")
        (root / "pinstudy/__main__.py").write_text(MAIN)
        home.mkdir()
        shutil.copy("/bin/true", home / "python")
        (root / ".venv/bin").mkdir(parents=True)
        (root / ".venv/bin/python").symlink_to(home / "python")
        (root / ".venv/requirements.stamp").touch()
        {".venv": root / ".venv", "home": home}[barred].chmod(0o700)

        done = subprocess.run(
            [root / "bin/pinstudy"],
            env={"PATH": "/nowhere"},
            capture_output=True,
            text=True,
            check=False,
            **AS_NOBODY,
        )

    assert done.returncode == 2
    assert "not set up" not in done.stderr
    assert done.stderr.startswith(f"pinstudy: {root}/.venv/bin/python may not be started by this ")
    assert done.stderr.count("\n") == 1


def test_an_active_spack_environment_comes_first_in_a_checkout(
    checkout: Path, tmp_path: Path
) -> None:
    set_up(checkout)
    python = python_in(tmp_path / "env/.spack-env/view/bin")
    command = checkout / "bin/pinstudy"

    active = call(command, SPACK_ENV=f"{tmp_path}/env", PYTHONPATH=PACKAGES)
    assert f" 0 {python}\n" in active.stdout
    ignored = call(command, SPACK_ENV=f"{tmp_path}/env", PINSTUDY_NO_SPACK="1")
    assert f"{checkout}/.venv/bin/python" in ignored.stdout


def test_a_spack_environment_that_lacks_the_packages_is_not_made_up_for(
    checkout: Path, tmp_path: Path
) -> None:
    set_up(checkout)
    (tmp_path / "env/.spack-env/view/bin").mkdir(parents=True)
    (tmp_path / "env/.spack-env/view/bin/python3").symlink_to("/bin/false")

    done = call(checkout / "bin/pinstudy", SPACK_ENV=f"{tmp_path}/env")

    assert done.returncode == 2
    assert done.stderr.startswith(f"pinstudy: the active Spack environment {tmp_path}/env lacks ")
    assert done.stderr.endswith("run `spack install` in it, or set PINSTUDY_NO_SPACK=1\n")


def test_an_installation_uses_the_interpreter_beside_it_whatever_is_active(
    prefix: Path, tmp_path: Path
) -> None:
    python = python_in(prefix / "bin")
    paths = f"{prefix}/packages:{PACKAGES}"

    done = call(
        prefix / "bin/pinstudy", "apps", SPACK_ENV="/nowhere", cwd=tmp_path, PYTHONPATH=paths
    )

    assert f"['{prefix}/packages/pinstudy', 'apps'] 0 {python}\n" in done.stdout


def test_a_virtual_environment_is_not_disturbed_by_a_loaded_module(prefix: Path) -> None:
    python = python_in(prefix / "bin")
    (prefix / "pyvenv.cfg").write_text(f"home = {Path(sys.executable).resolve().parent}\n")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    packages = prefix / f"lib/python{version}/site-packages"
    packages.mkdir(parents=True)
    (packages / "all.pth").write_text(f"{prefix}/packages\n{PACKAGES}\n")

    done = call(prefix / "bin/pinstudy", PYTHONPATH="/module", PYTHONHOME="/module")

    assert f"['{prefix}/packages/pinstudy'] 1 {python}\n" in done.stdout


def test_in_a_view_that_joins_packages_the_interpreter_beside_the_command_is_used(
    prefix: Path, tmp_path: Path
) -> None:
    python = python_in(tmp_path / "view/bin")
    (tmp_path / "view/bin/pinstudy").symlink_to(prefix / "bin/pinstudy")

    done = call(tmp_path / "view/bin/pinstudy", PYTHONPATH=f"{prefix}/packages:{PACKAGES}")

    assert f"['{prefix}/packages/pinstudy'] 0 {python}\n" in done.stdout


def test_a_users_own_installation_is_found_by_the_active_interpreter(
    prefix: Path, tmp_path: Path
) -> None:
    python = python_in(tmp_path / "active")
    path = f"{tmp_path}/active:/usr/bin:/bin"

    done = call(prefix / "bin/pinstudy", PATH=path, PYTHONPATH=f"{prefix}/packages:{PACKAGES}")

    assert f"['{prefix}/packages/pinstudy'] 0 {python}\n" in done.stdout


def test_an_installation_without_any_usable_interpreter_says_so_in_one_line(prefix: Path) -> None:
    done = call(prefix / "bin/pinstudy", PATH="/nowhere")

    assert done.returncode == 2
    assert done.stderr.startswith("pinstudy: there is no Python 3.10 or newer with click")
    assert str(prefix) in done.stderr and done.stderr.count("\n") == 1
