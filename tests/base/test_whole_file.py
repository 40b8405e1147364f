"""Files that are written whole: on the disk before they have their name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from base.files import write_whole


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
