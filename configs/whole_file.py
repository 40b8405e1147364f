"""Files that are there whole or not at all, whatever ends the process that writes them."""

from __future__ import annotations

import secrets
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file under a temporary name beside it, then rename it; its folder is made.

    Raises OSError when the folder cannot be written; nothing is left behind then.
    """
    # Not the process number: on a shared file system two nodes may have the same.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError:
        with suppress(OSError):
            temporary.unlink()
        raise
