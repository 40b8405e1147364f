"""The kept result of `pinstudy prove`: what was found on a node, when, and of which boot."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from base import PINSTUDY, VERSION
from base.files import read_object, structured
from base.text import first_of
from configs.results_folder import NODES

# The history of the file's schema; a reader refuses what is newer than itself.
# 1: the first.
SCHEMA = 1
FILE_NAME = "instruments.json"
_MAX_BYTES = 4 * 1024 * 1024
_MAX_NAMED = 4
STATES = ("ok", "off", "absent")


@dataclass(frozen=True)
class Finding:
    """One instrument, of one core kind, domain or setting (`of`; empty where there is one only).

    `truth` and `measured` are in words, with units. `why` says how far an instrument is off, or
    why it is absent and what grants it. `fields` are those of a record that it fills: they are
    wrong where it is off.
    """

    instrument: str
    of: str
    state: str
    truth: str
    measured: str = ""
    why: str = ""
    fields: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The instrument and what it is of."""
        return f"{self.instrument} {self.of}".rstrip()


def counted(findings: Collection[Finding]) -> dict[str, int]:
    """Return how many findings have each state."""
    return {state: sum(of.state == state for of in findings) for state in STATES}


@dataclass(frozen=True)
class Proof:
    """What was found of a node's instruments, and of which node and boot.

    `quick` where the shorter list was tried. `elapsed_s` is how long it took.
    """

    node_id: str
    node_digest: str
    boot_id: str
    proved_at: str
    elapsed_s: float
    quick: bool
    findings: tuple[Finding, ...]

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
        findings = [asdict(finding) for finding in self.findings]
        head = {"schema": SCHEMA, "kind": "instruments", "versions": {"pinstudy": VERSION}}
        return head | vars(self) | {"findings": findings}


def path_beside(folder: Path, node_digest: str) -> Path:
    """Return the path of a node's proof in a results folder, beside the node's facts."""
    return folder / NODES / f"{node_digest}.{FILE_NAME}"


def read_proof(path: Path) -> Proof | None:
    """Return the proof of a file, or None where there is none, or none that is understood."""
    try:
        data = read_object(path, _MAX_BYTES, links=False)
        return parse(data)
    except (OSError, ValueError):
        return None


def parse(data: Mapping[str, Any]) -> Proof:
    """Return the proof in a file's content; raises ValueError for anything else."""
    if data.get("kind") != "instruments" or data.get("schema") != SCHEMA:
        raise ValueError(f"no result of {PINSTUDY} prove of schema {SCHEMA}")
    proof = structured(Proof, dict(data))
    found = proof.findings
    texts = [text for of in found for text in (of.name, of.truth, of.measured, of.why)]
    if not all(of.state in STATES for of in found) or not all(map(str.isprintable, texts)):
        raise ValueError("a finding is not what it should be")
    return proof
