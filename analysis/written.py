"""Files that are there whole or not at all."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from configs.errors import UserError


def write_file(path: Path, content: str | bytes, again: str) -> Path:
    """Write a file of results under a temporary name, then rename it; return its path.

    `again` is the command that makes it. Raises UserError when the folder cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    data = content.encode() if isinstance(content, str) else content
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise UserError(
            f"{path}: cannot be written ({error.strerror or error}); the records are safe, make "
            f"room or a writable folder and run `{again}`"
        ) from error
    return path
