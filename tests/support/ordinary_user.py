"""An ordinary user, whom file modes stop also if the tests run as root, and pinstudy for him."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.support.tools import ROOT, missing, need_tool

NOBODY = 65534
_UNKNOWN = 54321
# What a study without tables needs; msgspec is compiled for the Python that runs the tests.
_TREE = ("bin", "pinstudy")
_PACKAGES = ("click", "msgspec", "rich", "yaml")
# Arguments of subprocess that run a command as nobody.
AS_NOBODY: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": ()}


@contextlib.contextmanager
def ordinary_user() -> Iterator[None]:
    """Be nobody in the context: root may read files that their mode forbids."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextlib.contextmanager
def open_folder() -> Iterator[Path]:
    """Give a folder that an ordinary user can enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextlib.contextmanager
def user_without_account() -> Iterator[None]:
    """Be an ordinary user with a number of which nobody knows the home, as in some containers."""
    names = ("HOME", "XDG_STATE_HOME", "PINSTUDY_STATE")
    known = {name: value for name, value in os.environ.items() if name not in names}
    # The home is that of the real user; tests stay root as such, to become root again.
    real = mock.patch.object(os, "getuid", lambda: _UNKNOWN)
    with ordinary_user(), mock.patch.dict(os.environ, known, clear=True), real:
        yield


def users_pinstudy(folder: Path) -> Path:
    """Make a checkout of the user nobody in a folder; return its `bin/pinstudy`."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to work for somebody else")
    root = folder / "checkout"
    for name in _TREE:
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in _PACKAGES:
        package = find_spec(name)
        if package is not None and package.origin is not None:
            shutil.copytree(Path(package.origin).parent, root / name)
    (root / "CMakeLists.txt").touch()
    (root / "build" / "bin").mkdir(parents=True)
    witness = need_tool(str(ROOT / "build" / "bin" / "pinstudy-witness"))
    shutil.copy(witness, root / "build" / "bin")
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").symlink_to(_users_python())
    (root / ".venv" / "requirements.stamp").touch()
    subprocess.run(["chown", "-hR", f"{NOBODY}:{NOBODY}", root], check=True)
    return root / "bin" / "pinstudy"


def _users_python() -> str:
    """Return an interpreter that the user nobody may start: root's may be in /root."""
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3"):
        same = f"import sys; sys.exit(sys.version_info[:2] != {tuple(sys.version_info[:2])})"
        command = [python, "-c", same]
        with contextlib.suppress(OSError):
            if subprocess.run(command, check=False, **AS_NOBODY).returncode == 0:
                return python
    version = ".".join(map(str, sys.version_info[:2]))
    return missing(f"there is no Python {version} that an ordinary user may start")
