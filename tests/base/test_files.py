"""Files of unknown origin are read whole or refused; no read blocks."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from base.files import NotAFileError, read_regular, write_whole


def test_a_file_is_read_up_to_a_byte_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    (tmp_path / "link").symlink_to(path)
    assert read_regular(path, 5) == b"12345"
    assert read_regular(tmp_path / "link", 3) == b"1234"
    assert read_regular(path, 4) == b"12345"


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(Path.mkdir, id="folder"),
        pytest.param(os.mkfifo, id="pipe without a writer"),
        pytest.param(lambda path: path.symlink_to("/dev/zero"), id="device without an end"),
        pytest.param(lambda path: path.symlink_to("/dev/tty"), id="terminal"),
    ],
)
def test_what_is_no_file_is_refused_without_being_opened(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "it")
    with pytest.raises(NotAFileError):
        read_regular(tmp_path / "it", 10)


def test_a_file_of_the_kernel_that_waits_for_news_is_not_waited_for(tmp_path: Path) -> None:
    # By its mode a regular file; a read blocks until the kernel's next message.
    (tmp_path / "it").symlink_to("/proc/kmsg")
    with suppress(OSError):
        read_regular(tmp_path / "it", 1 << 24)


def test_a_link_to_itself_and_a_name_with_a_nul_are_errors_that_callers_expect(
    tmp_path: Path,
) -> None:
    (tmp_path / "it").symlink_to("it")
    with pytest.raises(OSError, match="symbolic links"):
        read_regular(tmp_path / "it", 10)
    with pytest.raises(ValueError, match="null"):
        read_regular("a\0b", 10)


def test_the_content_is_on_the_disk_before_the_name_and_the_name_before_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new" / "file.json"
    synced: list[tuple[str, bytes, bool]] = []
    fsync = os.fsync

    def noted(descriptor: int) -> None:
        fsync(descriptor)
        file = Path(f"/proc/self/fd/{descriptor}").readlink()
        content = b"" if file.is_dir() else file.read_bytes()
        synced.append((file.name.partition(".json")[0], content, path.exists()))

    monkeypatch.setattr(os, "fsync", noted)
    write_whole(path, b"content")
    assert synced == [(".file", b"content", False), ("new", b"", True)]
    assert [file.name for file in path.parent.iterdir()] == ["file.json"]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(OSError(5, "Input/output error"), id="disk fails"),
        pytest.param(KeyboardInterrupt(), id="user stops pinstudy"),
    ],
)
def test_a_write_that_ends_early_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = tmp_path / "file.json"
    write_whole(path, b"old")

    def failing(_descriptor: int) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(type(error)):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file.json"]
