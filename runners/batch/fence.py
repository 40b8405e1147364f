"""Generations of workers: in each slot only the newest writes.

When a node is lost, a batch system requeues its job under the same id, while the old copy may still
be at work there. Each attempt therefore claims the next generation of its slot by creating a file
that must not exist (O_EXCL is atomic on local and network file systems; open(2)); no clock is
involved. Older generations find that file and stop.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from base.errors import StudyError
from base.files import not_written

_CLAIM = re.compile(r"(?P<slot>.+)\.g(?P<generation>\d{4,9})", re.ASCII)
# A network file system may list the newest claims late: so many later generations are tried.
_MAX_TRIES = 1000


class Fence:
    """The claims in a folder; a slot is a name that is safe in file names."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def claim_next(self, slot: str, who: dict[str, Any]) -> int:
        """Claim and return the next generation of a slot, from 1; the claim's file holds `who`.

        Raises StudyError when the folder cannot be read or written.
        """
        first = self.newest_of_all().get(slot, 0) + 1
        for generation in range(first, first + _MAX_TRIES):
            if self._create(slot, generation, who):
                return generation
        raise StudyError(f"{self._folder}: no generation of {slot} can be claimed")

    def claim(self, slot: str, generation: int, who: dict[str, Any]) -> None:
        """Claim a generation of a slot that other workers may share."""
        self._create(slot, generation, who)

    def newest_of_all(self) -> dict[str, int]:
        """Return the newest generation of each claimed slot.

        Raises StudyError when the folder cannot be read.
        """
        try:
            names = [path.name for path in self._folder.iterdir()]
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise StudyError(
                f"{self._folder}: cannot be read ({error.strerror}): whether a newer worker is at "
                "work is not known"
            ) from None
        newest: dict[str, int] = {}
        for claim in filter(None, map(_CLAIM.fullmatch, names)):
            newest[claim["slot"]] = max(int(claim["generation"]), newest.get(claim["slot"], 0))
        return newest

    def _create(self, slot: str, generation: int, who: dict[str, Any]) -> bool:
        path = self._folder / f"{slot}.g{generation:04d}"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            descriptor = os.open(path, flags, 0o644)
        except FileExistsError:
            return False
        except OSError as error:
            raise not_written(path, error) from None
        # Only the file's existence counts, also on a full disk; its content is for people.
        with suppress(OSError), os.fdopen(descriptor, "wb") as stream:
            stream.write(json.dumps(who).encode())
        return True
