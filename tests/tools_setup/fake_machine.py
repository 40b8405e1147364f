"""A machine for the set-up scripts: chosen commands on the PATH, and a record of their calls."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.support.studies import write_program
from tests.support.tools import ROOT
from tests.support.wait import HANG_S

# Commands of every system that the scripts use.
BASE = [
    *("awk", "bash", "cat", "cp", "cut", "env", "find", "flock", "grep", "head", "id", "ln", "ls"),
    *(
        "mkdir",
        "mktemp",
        "mv",
        "nproc",
        "realpath",
        "rm",
        "sed",
        "sha256sum",
        "sort",
        "stat",
        "tail",
        "touch",
    ),
    *("tr", "uname", "xargs"),
]

# Stands for every interpreter: it makes environments with a copy of itself. PIP_SCRIPT in the
# environment runs instead of an installation of packages, BUILD_SCRIPT instead of a build.
PYTHON = """
case "$1 $2" in
    "-m venv") mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && touch "$3/pyvenv.cfg" ;;
    "-m pip")
        case $* in
            *" --editable "*)
                mkdir -p build/gcc
                for option; do echo "${option#cmake.define.}" | sed 's/=/:STRING=/'; done \\
                    >build/gcc/CMakeCache.txt
                eval "${BUILD_SCRIPT-}" ;;
            *" wheel "*)
                mkdir -p build/wheel && touch build/wheel/pinstudy.whl
                eval "${BUILD_SCRIPT-}" ;;
            *) eval "${PIP_SCRIPT-}" ;;
        esac ;;
    "-m share.schemas") touch pinstudy/configs/schema.json ;;
    "-I -S") echo "3.11 x86_64" ;;
    "-c import os, sys; print(os.path.realpath"*) echo "${REAL_PYTHON-$0}" ;;
esac
"""

DEBIAN = 'ID=debian\nVERSION_ID="12"\n'


class FakeMachine:
    """A checkout with the real scripts, and a PATH with chosen commands only.

    The scripts under test are the real ones; only the machine around them is made up.
    """

    def __init__(self, directory: Path, os_release: str = DEBIAN) -> None:
        self.root = directory / "a check out"
        self.path = directory / "bin"
        self._calls = directory / "calls"
        self._os_release = directory / "os-release"
        self.path.mkdir(parents=True)
        self._os_release.write_text(os_release, encoding="utf-8")
        self.forget_calls()
        shutil.copytree(ROOT / "tools", self.root / "tools")
        copied = ("apps/originals/obtain.sh", "vnode/images.sh", "share/modulefile.tcl")
        for name in (*copied, "share/schemas.py"):
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.root / name)
        self.write("requirements.txt", "click==8 --hash=sha256:00\n")
        self.write("requirements-dev.txt", "pytest==9 --hash=sha256:00\n")
        self.write("requirements-build.txt", "scikit-build-core==1 --hash=sha256:00\n")
        self.write("requirements-docs.txt", "mkdocs==1 --hash=sha256:00\n")
        self.write("pyproject.toml", 'version = "1.2"\n')
        self.write("apps/lu/main.cpp", "int main() {}\n")
        empty = (
            "CMakeLists.txt",
            "CMakePresets.json",
            "bin/pinstudy",
            "pinstudy/runners/witness/a",
            "tests/apps/a",
        )
        for name in (*empty, "pinstudy/base/a.py", "pinstudy/configs/a.py"):
            self.write(name, "")
        for name in BASE:
            found = shutil.which(name)
            assert found is not None, name
            (self.path / name).symlink_to(found)
        self.put("id", "echo 1000")

    def with_everything(self) -> FakeMachine:
        """Put the needs of a study on the machine, and return it."""
        self.put("python3", PYTHON)
        build, run = ("cmake", "g++", "make", "clang++"), ("perf", "likwid-pin", "numactl")
        for name in (*build, *run, "hwloc-info"):
            self.put(name)
        return self

    def put(self, name: str, script: str = "") -> None:
        """Put a command on the PATH that logs its call and then runs this shell script."""
        command = self.path / name
        command.unlink(missing_ok=True)
        note = f'printf "%s\\n" "{name} $*" >>"{self._calls}"'
        write_program(command, f"#!{shutil.which('bash')}\n{note}\n{script}\n")

    def remove(self, *names: str) -> None:
        """Take commands away."""
        for name in names:
            (self.path / name).unlink()

    def write(self, name: str, text: str) -> None:
        """Write a file of the checkout."""
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def calls(self, beginning: str = "") -> list[str]:
        """Return the calls so far whose text begins like this, in order."""
        lines = self._calls.read_text(encoding="utf-8").splitlines()
        return [line for line in lines if line.startswith(beginning)]

    def forget_calls(self) -> None:
        """Forget the calls so far."""
        self._calls.write_text("", encoding="utf-8")

    def run(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the checkout, with these environment variables in addition."""
        return subprocess.run(
            command,
            cwd=self.root,
            env={
                "PATH": str(self.path),
                "PINSTUDY_OS_RELEASE": str(self._os_release),
                **environment,
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )

    def set_up(self, target: str = "setup", **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the set-up for a target of the Makefile."""
        return self.run(str(self.path / "bash"), "tools/setup.sh", target, **environment)
