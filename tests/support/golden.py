"""Texts that are kept whole beside their tests, and renewed by `pytest --snapshot-update`."""

from __future__ import annotations

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class GoldenFile(SingleFileSnapshotExtension):
    """Keeps each text as a file that can be read as it is: assert text == snapshot(…=GoldenFile)"""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"
