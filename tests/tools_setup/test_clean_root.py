"""Set-up on a root that lacks packages, by the real apt: `make test-setup`, as root, on Debian."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support.tools import ROOT, missing, need_tool

ANSWER = """\
forbidden:
set-up: goes on without lz4-test: not available is the tests of kernels compressed by lz4
set-up: cannot go on without make
status 2
allowed:
set-up: installs system packages, for a minute or a few: make lz4
again:
of others than somebody:
commands:
/usr/bin/make
/usr/bin/lz4
"""


@pytest.mark.clean_root
def test_root_installs_what_is_missing_and_leaves_nothing_in_the_checkout_of_who_called_sudo() -> (
    None
):
    if os.geteuid() != 0:
        missing("a root of its own needs root")
    command = [need_tool("unshare"), "--mount", str(ROOT / "tests/tools_setup/clean_root.sh")]

    done = subprocess.run([*command, str(ROOT)], capture_output=True, text=True, check=False)

    assert done.stdout == ANSWER, done.stderr
