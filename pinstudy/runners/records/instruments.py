"""The kept result of `pinstudy prove`: what was found on a node, when, and of which boot."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import Struct, to_builtins

from pinstudy.base import VERSION
from pinstudy.base.decoding import Amount, decoded, line
from pinstudy.base.files import read_regular
from pinstudy.base.text import first_of
from pinstudy.configs.results_folder import NODES

FILE_NAME = "instruments.json"
_MAX_BYTES = 4 * 1024 * 1024
_MAX_NAMED = 4
STATES = ("ok", "off", "absent")
State = Literal["ok", "off", "absent"]
_Shown = Annotated[str, line(2000, least=0)]


class Finding(Struct, frozen=True):
    """One instrument, of one core kind, domain or setting (`of`; empty where there is one only).

    `truth` and `measured` are in words, with units. `why` says how far an instrument is off, or
    why it is absent and what grants it. `fields` are those of a record that it fills: they are
    wrong where it is off.
    """

    instrument: _Shown
    of: _Shown
    state: State
    truth: _Shown
    measured: _Shown = ""
    why: _Shown = ""
    fields: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The instrument and what it is of."""
        return f"{self.instrument} {self.of}".rstrip()


def counted(findings: Collection[Finding]) -> dict[str, int]:
    """Return how many findings have each state."""
    return {state: sum(finding.state == state for finding in findings) for state in STATES}


class Proof(Struct, frozen=True):
    """What was found of a node's instruments, and of which node and boot.

    `quick` where the shorter list was tried. `elapsed_s` is how long it took.
    """

    node_id: str
    node_digest: str
    boot_id: str
    proved_at: str
    elapsed_s: Amount
    quick: bool
    findings: tuple[Finding, ...]

    def __post_init__(self) -> None:
        """Raise ValueError where `proved_at` does not begin with a day."""
        date.fromisoformat(self.proved_at[:10])

    @property
    def off(self) -> tuple[Finding, ...]:
        """The instruments that are off."""
        return tuple(finding for finding in self.findings if finding.state == "off")

    @property
    def summary(self) -> str:
        """How many instruments are ok, off and absent, in words."""
        counts = counted(self.findings)
        return ", ".join(f"{counts[state]} {state}" for state in STATES)

    @property
    def names_off(self) -> str:
        """The names of the first instruments that are off."""
        return first_of([finding.name for finding in self.off], _MAX_NAMED, ", ")

    def content(self) -> dict[str, Any]:
        """Return the file's content."""
        content: dict[str, Any] = to_builtins(self)
        return {"schema": 1, "kind": "instruments", "versions": {"pinstudy": VERSION}} | content


def path_beside(folder: Path, node_digest: str) -> Path:
    """Return the path of a node's proof in a results folder, beside the node's facts."""
    return folder / NODES / f"{node_digest}.{FILE_NAME}"


def read_proof(path: Path) -> Proof | None:
    """Return the proof of a file, or None where there is none, or none that is understood."""
    try:
        data = read_regular(path, _MAX_BYTES, links=False)
        return parse(data) if len(data) <= _MAX_BYTES else None
    except (OSError, ValueError):
        return None


class _Head(Struct):
    schema: Literal[1]
    kind: Literal["instruments"]


def parse(data: bytes) -> Proof:
    """Return the proof in a file's content; raises ValueError for anything else."""
    decoded(data, _Head)
    return decoded(data, Proof)
