"""A leftover fails the test that left it, and no other one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.tools import ROOT

FORGETS = """\
import os, socket, subprocess, threading

def started(lines):
    # A child that has printed is past exec: its command line is its own.
    child = subprocess.Popen(["tail", "-n", lines, "-f", __file__], stdout=subprocess.PIPE)
    child.stdout.readline()
    return child

def test_forgets_a_process():
    test_forgets_a_process.child = started("3")

def test_after_a_process():
    assert test_forgets_a_process.child.returncode == -9

def test_forgets_a_file(tmp_path):
    test_forgets_a_file.left = (tmp_path / "forgotten").open("w")

def test_forgets_a_socket():
    test_forgets_a_socket.left = socket.socket()

def test_forgets_a_descriptor():
    os.open("/dev/null", os.O_RDONLY)

def test_forgets_a_thread():
    test_forgets_a_thread.over = threading.Event()
    threading.Thread(target=test_forgets_a_thread.over.wait, name="forgotten").start()

def test_after_a_thread():
    test_forgets_a_thread.over.set()

def test_fails_with_a_process():
    child = started("4")
    assert child.poll() == 0

def test_drops_a_process_in_a_ring():
    ring = [subprocess.Popen(["true"])]
    ring.append(ring)
    ring[0].wait()
    ring[0].returncode = None

def test_is_innocent():
    pass
"""


def test_a_leftover_fails_its_own_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Failures of these made-up tests are none of the suite (tests/conftest.py).
    monkeypatch.delenv("PINSTUDY_FAILED_TESTS", raising=False)
    file = tmp_path / "test_made.py"
    file.write_text(FORGETS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "--rootdir", str(tmp_path)]
    done = subprocess.run(
        [*command, "-c", str(ROOT / "pyproject.toml"), "-p", "no:cacheprovider", str(file)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    output = done.stdout
    lines = [line for line in output.splitlines() if line.startswith(("ERROR ", "FAILED "))]
    assert {line.partition("::")[2].split()[0] for line in lines} == {
        "test_forgets_a_process",
        "test_forgets_a_file",
        "test_forgets_a_socket",
        "test_forgets_a_descriptor",
        "test_forgets_a_thread",
        "test_fails_with_a_process",
        "test_drops_a_process_in_a_ring",
    }, output
    for left in (
        ": tail -n 3 -f",
        ": tail -n 4 -f",
        "/forgotten",
        "open: socket:",
        "open: /dev/null",
    ):
        assert left in output
    assert "thread forgotten is left" in output
