"""share/Containerfile names what there is, and its image answers where one can be built."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from tests.support.tools import NEEDS, ROOT

TEXT = (ROOT / "share/Containerfile").read_text(encoding="utf-8")
# For pip, man pages and the user's own commands; everything else is a need of set-up.
FURTHER = {"libgomp1", "libomp5", "util-linux"}
MINUTES = 60
BUILD_LIMIT_S = 20 * MINUTES


def instructions() -> list[tuple[str, str]]:
    """Return the instructions, each with its joined lines."""
    joined = re.sub(r"\\\n\s*", "", re.sub(r"(?m)^#.*\n", "", TEXT))
    return [(line.split()[0], line) for line in joined.splitlines() if line]


def test_its_packages_are_needs_of_set_up_or_libraries_of_the_programs() -> None:
    known = {
        package
        for line in NEEDS.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
        for package in line.split()[4].split(",")
    }
    for name, line in instructions():
        if name == "RUN" and "apt-get install" in line:
            command = line.split("apt-get install", 1)[1].split("&&")[0]
            packages = {word for word in command.split() if not word.startswith("-")}
            assert packages <= known | FURTHER, packages - known - FURTHER


def test_its_instructions_are_those_of_an_image_that_starts_a_demo() -> None:
    assert {name for name, _ in instructions()} == {
        *("FROM", "RUN", "COPY", "ARG", "ENV"),
        *("WORKDIR", "CMD"),
    }
    for lock in re.findall(r"/src/(\S+\.txt)", TEXT):
        assert (ROOT / lock).exists()
    assert "--require-hashes" in TEXT


def builder() -> str | None:
    """Return a program that builds images here, or None."""
    for name in ("podman", "docker"):
        found = shutil.which(name)
        if (
            found
            and subprocess.run([found, "info"], capture_output=True, check=False).returncode == 0
        ):
            return found
    return None


@pytest.mark.clean_root
def test_an_image_of_it_shows_its_version() -> None:
    found = builder()
    if found is None:
        pytest.skip("neither podman nor docker builds images here")
    command = [found, "build", "-q", "-f", "share/Containerfile", "."]
    built = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=BUILD_LIMIT_S
    )
    assert built.returncode == 0, built.stderr
    started = [found, "run", "--rm", built.stdout.strip(), "pinstudy", "--version"]
    done = subprocess.run(started, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("pinstudy, version ")
