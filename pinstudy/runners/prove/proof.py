"""Proofs of a node's instruments: made, kept for a user's next studies, and found again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from pinstudy.base.errors import StudyError
from pinstudy.base.files import write_json
from pinstudy.base.units import utc_now
from pinstudy.runners.node.node import Node
from pinstudy.runners.records.instruments import FILE_NAME, Finding, Proof, read_proof
from pinstudy.runners.settings.journal import STATE_VARIABLE, SYSTEM_FOLDER, own_state_folder


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


def latest_proof(node: Node) -> Proof | None:
    """Return the newest proof of this node as it is now configured, by this user or by root."""
    folders = dict.fromkeys((own_state_folder(node.root), *_system_folder(node.root)))
    found = [proof for of in folders if (proof := read_proof(of / FILE_NAME))]
    mine = [proof for proof in found if proof.node_digest == node.digest]
    return max(mine, key=lambda proof: proof.proved_at, default=None)


def _system_folder(root: Path) -> Sequence[Path]:
    return (SYSTEM_FOLDER,) if root == Path("/") else ()
