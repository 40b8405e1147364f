"""What programs print is kept at its beginning and its end, in bounded room."""

from __future__ import annotations

import errno
import os

import pytest

from base.errors import ShortageError, StudyError
from runners.execution import printed
from runners.execution.execute import Harness, execute
from runners.execution.printed import KEPT_BYTES, SLACK_BYTES, Printed
from runners.plan.command_line import Launch
from tests.support.limits import no_more_files
from tests.support.programs import witness

LINE = b"0123456789abcdef" * 4 + b"\n"


def on_disk(kept: Printed) -> int:
    return os.fstat(kept.file.fileno()).st_blocks * 512


def put(kept: Printed, size: int) -> None:
    """Write lines as a program does, to a descriptor of its own."""
    os.write(kept.file.fileno(), b"first\n")
    chunk = LINE * 16384
    for _ in range(size // len(chunk)):
        os.write(kept.file.fileno(), chunk)
        kept.trim()
    os.write(kept.file.fileno(), b"last\n")


def test_what_is_short_is_kept_whole() -> None:
    with Printed() as kept:
        os.write(kept.file.fileno(), b"time = 1.5\n")
        kept.trim()
        assert kept.kept() == "time = 1.5\n"


def test_the_middle_of_a_long_output_is_on_no_disk() -> None:
    size = 8 * SLACK_BYTES
    with Printed() as kept:
        put(kept, size)
        assert on_disk(kept) < 2 * SLACK_BYTES < size
        text = kept.kept()
    head, _, tail = text.partition("\n[...]\n")
    line = LINE.decode().strip()
    assert set(head.splitlines()) == {"first", line}
    assert set(tail.splitlines()) == {line, "last"}
    assert text.startswith("first\n")
    assert text.endswith("\nlast\n")
    assert 2 * KEPT_BYTES - 200 < len(text) < 2 * KEPT_BYTES + 200


def test_the_end_stays_whole_where_the_middle_before_it_was_just_given_back() -> None:
    with Printed() as kept:
        put(kept, 2 * KEPT_BYTES + SLACK_BYTES + 16384 * len(LINE))
        assert on_disk(kept) < SLACK_BYTES
        assert len(kept.kept()) > 2 * KEPT_BYTES - 200


@pytest.fixture
def takes_nothing_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a file system that has no holes, as NFS 4.1."""

    def refuse(*_: int) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(printed, "_punch_hole", refuse)


@pytest.mark.usefixtures("takes_nothing_back")
def test_where_nothing_can_be_given_back_a_long_output_is_kept_up_to_a_size(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Printed() as kept:
        put(kept, 3 * SLACK_BYTES)
        assert kept.kept().endswith("\nlast\n")
        monkeypatch.setattr(printed, "MAX_BYTES", 2 * SLACK_BYTES)
        with pytest.raises(StudyError, match=r"printed more than .* name a folder on a local"):
            put(kept, 3 * SLACK_BYTES)


def test_a_file_that_cannot_be_made_for_want_of_descriptors_is_a_shortage() -> None:
    with no_more_files(), pytest.raises(ShortageError, match="cannot be kept \\(Too many open"):
        Printed()


def test_the_room_of_what_a_program_has_printed_is_free_again_while_it_runs() -> None:
    # It goes on once its own stdout takes less than a tenth of what it has printed to it.
    script = (
        "head -c 30000000 /dev/zero | tr '\\0' '\\n'; "
        "until [ $(stat -L -c %b /proc/$$/fd/1) -lt 5000 ]; do sleep 0.05; done; "
        "echo 'time = 2.5'"
    )
    launch = Launch((), ("/bin/sh", "-c", script), {"PATH": "/usr/bin:/bin"}, {}, ())
    seen = execute(launch, 60.0, Harness(witness(), None))
    assert not seen.timed_out
    assert seen.stdout.endswith("\ntime = 2.5\n")
