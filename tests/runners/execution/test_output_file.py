"""The beginning and the end of a program's output are kept, in a file of bounded size."""

from __future__ import annotations

import errno
import os

import pytest

from base.errors import ShortageError, StudyError
from runners.execution import output_file
from runners.execution.execute import Harness, execute
from runners.execution.output_file import KEPT_BYTES, SLACK_BYTES, OutputFile
from runners.plan.launch import Launch
from tests.support.limits import no_more_files
from tests.support.programs import witness

LINE = b"0123456789abcdef" * 4 + b"\n"


def on_disk(output: OutputFile) -> int:
    return os.fstat(output.file.fileno()).st_blocks * 512


def put(output: OutputFile, size: int) -> None:
    """Write lines as a program does, to a descriptor of its own."""
    os.write(output.file.fileno(), b"first\n")
    chunk = LINE * 16384
    for _ in range(size // len(chunk)):
        os.write(output.file.fileno(), chunk)
        output.trim()
    os.write(output.file.fileno(), b"last\n")


def test_a_short_output_is_kept_whole() -> None:
    with OutputFile() as output:
        os.write(output.file.fileno(), b"time = 1.5\n")
        output.trim()
        assert output.text() == "time = 1.5\n"


def test_the_middle_of_a_long_output_takes_no_space_on_disk() -> None:
    size = 8 * SLACK_BYTES
    with OutputFile() as output:
        put(output, size)
        assert on_disk(output) < 2 * SLACK_BYTES < size
        text = output.text()
    head, _, tail = text.partition("\n[...]\n")
    line = LINE.decode().strip()
    assert set(head.splitlines()) == {"first", line}
    assert set(tail.splitlines()) == {line, "last"}
    assert text.startswith("first\n")
    assert text.endswith("\nlast\n")
    assert 2 * KEPT_BYTES - 200 < len(text) < 2 * KEPT_BYTES + 200


def test_the_end_stays_whole_after_the_middle_was_deallocated() -> None:
    with OutputFile() as output:
        put(output, 2 * KEPT_BYTES + SLACK_BYTES + 16384 * len(LINE))
        assert on_disk(output) < SLACK_BYTES
        assert len(output.text()) > 2 * KEPT_BYTES - 200


@pytest.fixture
def no_holes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a file system that has no holes, as NFS 4.1."""

    def refuse(*_: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(output_file, "_punch_hole", refuse)


@pytest.mark.usefixtures("no_holes")
def test_without_holes_a_long_output_is_kept_up_to_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    with OutputFile() as output:
        put(output, 3 * SLACK_BYTES)
        assert output.text().endswith("\nlast\n")
        monkeypatch.setattr(output_file, "MAX_BYTES", 2 * SLACK_BYTES)
        with pytest.raises(StudyError, match=r"printed more than .* name a folder on a local"):
            put(output, 3 * SLACK_BYTES)


def test_a_lack_of_file_descriptors_is_a_shortage() -> None:
    with no_more_files(), pytest.raises(ShortageError, match="cannot be kept \\(Too many open"):
        OutputFile()


def test_the_middle_is_deallocated_while_the_program_runs() -> None:
    # It continues once its stdout takes less than a tenth of what it printed.
    script = (
        "head -c 30000000 /dev/zero | tr '\\0' '\\n'; "
        "until [ $(stat -L -c %b /proc/$$/fd/1) -lt 5000 ]; do sleep 0.05; done; "
        "echo 'time = 2.5'"
    )
    launch = Launch((), ("/bin/sh", "-c", script), {"PATH": "/usr/bin:/bin"}, {}, ())
    seen = execute(launch, 60.0, Harness(witness(), None))
    assert not seen.timed_out
    assert seen.stdout.endswith("\ntime = 2.5\n")
