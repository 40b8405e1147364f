"""Needs of tests: without them a test is skipped on a user's node, and fails in CI."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDS = ROOT / "tools" / "needs.txt"
# Recordings from other machines.
DATA = ROOT / "tests" / "data"


def need_tool(name: str) -> str:
    """Return the path of an executable, looked up on the PATH, or of a built program.

    Args:
        name: a command (``perf``), or the path of a program of the build (``ROOT / "build/bin/lu"``
            as a string).

    Skips the calling test with what is missing and how to get it. Where the environment variable
    ``CI`` is ``true`` the test fails instead: there every tool is expected, and a skipped test
    would hide that it never ran.
    """
    path = shutil.which(name)
    if path is None:
        missing(f"{name} is missing: {_how_to_get(name)}")
    return path


def missing(reason: str) -> NoReturn:
    """Skip the calling test for this reason, or fail it in CI."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _how_to_get(name: str) -> str:
    if os.sep in name:
        return "`make test` builds it"
    for line in NEEDS.read_text(encoding="utf-8").splitlines():
        fields = line.split(maxsplit=8)
        if len(fields) == 9 and not line.startswith("#") and fields[3].endswith(f":{name}"):
            debian, fedora = (fields[column].replace(",", " ") for column in (4, 6))
            return f"install {debian} (Debian, Ubuntu) or {fedora} (Fedora, RHEL)"
    return "install the package of this distribution that has it"
