"""Golden files beside the tests; `pytest --snapshot-update` renews them."""

from __future__ import annotations

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode


class GoldenFile(SingleFileSnapshotExtension):
    """Keeps each text as a plain file: assert text == snapshot(…=GoldenFile)"""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"
