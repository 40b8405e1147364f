"""What root trusts: folders and programs that nobody but root can change."""

from __future__ import annotations

import errno
import shutil
import stat
from pathlib import Path

from pinstudy.base.folders import BY_OTHERS, root_ids


def check_roots_folder(folder: Path) -> None:
    """Raise OSError when anybody but root could rename a folder or the files in it.

    `folder` has no link in it: one that somebody puts there meanwhile is not root's. Raises it also
    when the folder, or one above it, cannot be read.
    """
    trusted = root_ids()
    for path in (folder, *folder.parents):
        status = path.lstat()
        if status.st_uid not in trusted:
            raise PermissionError(errno.EPERM, f"{path} is not root's")
        # In a sticky folder such as /tmp nobody else can rename root's files.
        sticky = status.st_mode & stat.S_ISVTX and path != folder
        if status.st_mode & BY_OTHERS and not sticky:
            raise PermissionError(errno.EPERM, f"others may write {path}")


def program_for_root(name: str) -> Path | str:
    """Return the program of this name on the PATH that root starts, its links resolved.

    A text says why root starts none: nobody but root may be able to change the program, or to put
    another one in its place.
    """
    found = shutil.which(name)
    if found is None:
        return f"there is no {name} on the PATH"
    try:
        program = Path(found).resolve(strict=True)
        status = program.stat()
        if status.st_uid not in root_ids() or status.st_mode & BY_OTHERS:
            return f"{found} is not root's alone, who would start it"
        check_roots_folder(program.parent)
    except OSError as error:
        return f"{found}, which root would start, is not safe: {error.strerror}"
    return program
