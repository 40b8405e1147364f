"""tests/test_spack.sh: its messages without a Spack, or with one that fails."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.support.studies import write_program
from tests.support.tools import ROOT
from tests.support.wait import HANG_S


def trial(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "temporary").mkdir()
    return subprocess.run(
        ["tests/test_spack.sh"],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary"), **environment},
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
    )


def fake_spack(tmp_path: Path, script: str) -> str:
    """Return the folder of a Spack that is this shell script."""
    command = tmp_path / "spack" / "bin" / "spack"
    command.parent.mkdir(parents=True)
    write_program(command, f"#!/bin/sh\n{script}\n")
    return str(tmp_path / "spack")


def test_without_a_spack_one_line_says_what_to_give(tmp_path: Path) -> None:
    for folder in ("", str(tmp_path / "nowhere")):
        done = trial(tmp_path, SPACK_ROOT=folder)
        (tmp_path / "temporary").rmdir()

        assert done.returncode == 2
        assert done.stderr == (
            "test-spack: give the folder of a Spack: make test-spack SPACK_ROOT=DIR\n"
        )


def test_an_older_spack_is_refused(tmp_path: Path) -> None:
    done = trial(tmp_path, SPACK_ROOT=fake_spack(tmp_path, "echo 0.23.1"))

    assert done.returncode == 1
    assert "Spack 1.0 or newer is needed" in done.stderr


def test_a_failed_step_is_shown_with_its_command_and_the_end_of_its_output(tmp_path: Path) -> None:
    script = """
case "$*" in
    *--version*) echo 1.3.0 ;;
    *compiler*) ;;
    *) seq 1000 && echo no such recipe && exit 4 ;;
esac"""

    done = trial(tmp_path, SPACK_ROOT=fake_spack(tmp_path, script))

    assert done.returncode == 1
    assert "audit of the recipes: exit status 4" in done.stderr
    assert "audit packages pinstudy pinstudy-apps" in done.stderr
    assert done.stderr.endswith("  | 1000\n  | no such recipe\n")
    assert "  | 900\n" not in done.stderr
    assert list((tmp_path / "temporary").iterdir()) == []
