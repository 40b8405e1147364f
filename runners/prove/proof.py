"""The kept result of `pinstudy prove`: what was found on a node, when, and of which boot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from base import PINSTUDY, VERSION
from base.errors import StudyError
from base.files import read_object, structured, write_json
from base.text import first_of
from base.units import utc_now
from runners.node.node import Node
from runners.prove.finding import STATES, Finding, counted
from runners.settings.journal import STATE_VARIABLE, SYSTEM_FOLDER, own_state_folder

# The history of the file's schema; a reader refuses what is newer than itself.
# 1: the first.
SCHEMA = 1
FILE_NAME = "instruments.json"
_MAX_BYTES = 4 * 1024 * 1024
_MAX_NAMED = 4


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


def new_proof(node: Node, findings: Iterable[Finding], elapsed_s: float, quick: bool) -> Proof:
    """Return the proof of this node and boot."""
    return Proof(
        node.node_id,
        node.digest,
        node.boot_id or "",
        utc_now(),
        round(elapsed_s, 1),
        quick,
        tuple(findings),
    )


def path_beside(folder: Path, node_digest: str) -> Path:
    """Return the path of a node's proof in a results folder, beside the node's facts."""
    return folder / "nodes" / f"{node_digest}.{FILE_NAME}"


def keep_for_node(proof: Proof, root: Path) -> Path:
    """Keep a proof as the node's latest one of this user; raises StudyError."""
    try:
        return keep(proof, own_state_folder(root) / FILE_NAME)
    except StudyError as error:
        raise StudyError(f"{error}; or name another folder in ${STATE_VARIABLE}") from None


def keep(proof: Proof, path: Path) -> Path:
    """Write a proof into a file and return its path; raises StudyError."""
    write_json(path, proof.content(), indent=1)
    return path


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


def latest_proof(node: Node) -> Proof | None:
    """Return the newest proof of this node as it is now configured, by this user or by root."""
    folders = dict.fromkeys((own_state_folder(node.root), *_system_folder(node.root)))
    found = [proof for of in folders if (proof := read_proof(of / FILE_NAME))]
    mine = [proof for proof in found if proof.node_digest == node.digest]
    return max(mine, key=lambda proof: proof.proved_at, default=None)


def _system_folder(root: Path) -> Sequence[Path]:
    return (SYSTEM_FOLDER,) if root == Path("/") else ()
