"""Proofs of a node's instruments, kept for a user's next studies, and the findings in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import structs

from pinstudy.base.errors import StudyError
from pinstudy.base.files import write_json
from pinstudy.base.units import utc_now
from pinstudy.runners.node.node import Node
from pinstudy.runners.records.instruments import FILE_NAME, Finding, Proof, State, read_proof
from pinstudy.runners.records.perf.scaling import CANNOT_BE
from pinstudy.runners.settings.journal import STATE_VARIABLE, SYSTEM_FOLDER, own_state_folder

TRIES = 3


@dataclass(frozen=True)
class Instrument:
    """An instrument that is being judged; makes its findings."""

    instrument: str
    of: str
    truth: str
    fields: tuple[str, ...] = ()

    def found(self, measured: str, off: str = "") -> Finding:
        """Return what it measured; it is off where `off` says how far."""
        state: State = "off" if off else "ok"
        return Finding(self.instrument, self.of, state, self.truth, measured, off, self.fields)

    def absent(self, why: str) -> Finding:
        """Return that it measures nothing here, and why; off where it shows what cannot be."""
        if CANNOT_BE in why:
            return self.found("no number", why)
        return Finding(self.instrument, self.of, "absent", self.truth, "", why, self.fields)


def confirmed(attempt: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """Yield what an attempt finds; what is off must be off in each of TRIES attempts.

    On a busy node a single run may be disturbed. What is wrong with an instrument is so each time.
    """
    found = list(attempt())
    for tries in range(2, TRIES + 1):
        if not any(finding.state == "off" for finding in found):
            break
        again = {finding.name: finding for finding in attempt()}
        found = [_later(finding, again.get(finding.name, finding), tries) for finding in found]
    yield from found


def _later(before: Finding, now: Finding, tries: int) -> Finding:
    if before.state != "off":
        return before
    if now.state == "off":
        return structs.replace(now, why=f"{now.why} (in each of {tries} tries)")
    measured = f"{now.measured} (in try {tries}; before, {before.measured})"
    return structs.replace(now, measured=measured)


def deviation(measured: float, truth: float) -> float:
    """Return by which share of the truth a measured value differs from it, with its sign."""
    return measured / truth - 1 if truth else float("inf")


def beyond(measured: float, truth: float, tolerance: float) -> str:
    """Return how far a value is off where that is more than a share `tolerance`, else nothing."""
    off = deviation(measured, truth)
    # NaN, too, is off.
    return "" if abs(off) <= tolerance else f"{off:+.2%} off, at most {tolerance:.2%} is allowed"


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
    system = (SYSTEM_FOLDER,) if node.root == Path("/") else ()
    folders = dict.fromkeys((own_state_folder(node.root), *system))
    found = [proof for folder in folders if (proof := read_proof(folder / FILE_NAME))]
    mine = [proof for proof in found if proof.node_digest == node.digest]
    return max(mine, key=lambda proof: proof.proved_at, default=None)
