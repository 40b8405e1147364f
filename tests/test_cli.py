"""A command that ran in the process of the tests leaves that process as it was."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from pinstudy.cli import main as cli
from tests.support.cli import pinstudy


def the_process() -> tuple[object, ...]:
    mask = os.umask(0)
    os.umask(mask)
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    return mask, handlers, Path.cwd(), dict(os.environ), sys.argv, sys.stdout, sys.unraisablehook


def test_what_a_command_sets_is_put_back(tmp_path: Path) -> None:
    before = the_process()
    done = pinstudy(tmp_path, "apps", PINSTUDY_RESULTS="elsewhere")
    assert (done.returncode, done.stderr) == (0, "")
    assert "lulesh" in done.stdout
    assert the_process() == before


def test_what_nobody_expected_reaches_the_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defective() -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "_run", defective)
    before = the_process()
    with pytest.raises(ZeroDivisionError):
        pinstudy(tmp_path, "apps")
    assert the_process() == before
