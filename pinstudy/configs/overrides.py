"""What options of `pinstudy run` and `plan` change of a study, and how its kept copy says so."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

_NOTE = re.compile(r"# Run with (?P<words>[^\n]+)\.\n")
_OF_CASES = ("--governors", "--threads", "--mappings", "--only", "--exclude")
# What makes another version of a study, what more its next attempt needs, and all that is noted.
OF_VERSION = (*_OF_CASES, "--meter")
OF_ATTEMPTS = (*OF_VERSION, "--site")
NOTED = (*OF_ATTEMPTS, "--repetitions")
# The first line of a kept study; longer ones are none.
_NOTE_BYTES = 16 << 10


@dataclass(frozen=True)
class Overrides:
    """What replaces a study's keys, and words of the cases to keep (`only`) or not (`exclude`).

    Threads are digits. `site` is the name or the file of the site where the study runs; it changes
    no key. Empty tuples and None change nothing.
    """

    repetitions: int | None = None
    governors: tuple[str, ...] = ()
    threads: tuple[str, ...] = ()
    mappings: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    meter: str | None = None
    site: str | None = None

    @property
    def of_cases(self) -> tuple[str, ...]:
        """The options that change which cases a study has, as they are typed."""
        words = self.governors, self.threads, self.mappings, self.only, self.exclude
        options = zip(_OF_CASES, map(",".join, words), strict=True)
        return tuple(chain.from_iterable(pair for pair in options if pair[1]))

    @property
    def of_version(self) -> tuple[str, ...]:
        """The options that make another version of the study, as they are typed."""
        return (*self.of_cases, *(() if self.meter is None else ("--meter", self.meter)))

    @property
    def options(self) -> tuple[str, ...]:
        """All of them, as they are typed."""
        repetitions = () if self.repetitions is None else ("--repetitions", str(self.repetitions))
        site = () if self.site is None else ("--site", self.site)
        return (*self.of_version, *repetitions, *site)

    @property
    def note(self) -> str:
        """The first line of the study's copy beside its results; empty without overrides."""
        return f"# Run with {shlex.join(self.options)}.\n" if self.options else ""


AS_WRITTEN = Overrides()


def kept_options(study_file: Path, known: Collection[str] = OF_VERSION) -> tuple[str, ...]:
    """Return those of the `known` options with which the study was run whose copy this is."""
    # Imported here: the start must not wait for it.
    from pinstudy.base.files import read_regular

    try:
        text = read_regular(study_file, _NOTE_BYTES).decode(errors="replace")
        note = _NOTE.match(text)
        words = shlex.split(note["words"]) if note else []
    except (OSError, ValueError):
        # It serves messages and commands only.
        return ()
    pairs = zip(words[::2], words[1::2], strict=False)
    return tuple(chain.from_iterable(pair for pair in pairs if pair[0] in known))
