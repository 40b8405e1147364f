"""The helpers for processes work also when a process ends in between."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import alive, children, command_line, descendants, ended, name_of
from tests.support.wait import until

STARTS_ANOTHER = "import subprocess; subprocess.run(['cat'])"


def test_a_process_has_a_command_line_and_descendants() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STARTS_ANOTHER], stdin=subprocess.PIPE, text=True
    ) as process:
        with ended(process):
            pids = until(lambda: list(descendants(process.pid)), process)
            assert pids == children(process.pid)
            assert command_line(process.pid)[1:] == ["-c", STARTS_ANOTHER]
            assert alive(process.pid)
        assert process.stdin is not None and process.stdin.closed
    assert not alive(process.pid)


def test_a_process_that_has_ended_has_nothing() -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    assert (alive(process.pid), name_of(process.pid)) == (False, "")
    assert (children(process.pid), command_line(process.pid)) == ([], [])


@pytest.mark.parametrize("error", [FileNotFoundError, ProcessLookupError])
@pytest.mark.parametrize("step", ["iterdir", "read_text"])
def test_a_process_that_ends_during_the_look_has_no_children(
    monkeypatch: pytest.MonkeyPatch, step: str, error: type[OSError]
) -> None:
    def gone(*_: object, **__: object) -> None:
        raise error

    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as process:
        monkeypatch.setattr(Path, step, gone)
        assert children(process.pid) == []
        monkeypatch.undo()
        process.kill()
