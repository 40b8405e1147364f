"""Files that lie beside records, which may come from anybody: read whole, up to a size."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from base.files import read_given

# Larger files are none that pinstudy has written.
MAX_BYTES = 8_000_000
_DIGEST = re.compile(r"[0-9A-Za-z]{1,128}")


def read_node(folder: Path, digest: str) -> dict[str, Any] | None:
    """Return what the file of a node below a results folder holds; None where there is none.

    `digest` is what a record says, which may be anything.
    """
    if not _DIGEST.fullmatch(digest):
        return None
    node = read_json(folder / "nodes" / f"{digest}.json")
    return node if isinstance(node, dict) else None


def read_json(path: Path) -> object:
    """Return what a JSON file holds; None when it cannot be read, is too large or is no JSON."""
    data = read_limited(path)
    try:
        return None if data is None else json.loads(data)
    except (ValueError, RecursionError):
        return None


def read_limited(path: Path) -> bytes | None:
    """Return a file's bytes; None when it cannot be read, is too large, or is a link."""
    try:
        # What these files hold is shown in reports that are passed on: a link could lead to a
        # private file.
        data = read_given(path, MAX_BYTES, links=False)
    except (OSError, ValueError):
        return None
    return data if len(data) <= MAX_BYTES else None
