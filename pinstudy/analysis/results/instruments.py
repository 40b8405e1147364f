"""Whether the instruments of the nodes of a results folder were tested, and which were off.

A node's file comes from `pinstudy prove` and lies beside the node's facts; like all files beside
records it may come from anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pinstudy.analysis.format.table import Column, Table, joined
from pinstudy.analysis.records.files import is_digest
from pinstudy.base.text import one_line, plural
from pinstudy.runners.records.instruments import Proof, path_beside, read_proof

_COLUMNS = (
    Column("state", right=False),
    Column("instrument", right=False),
    Column("known truth", right=False),
    Column("measured", right=False),
    Column("why", right=False),
)


def read_proofs(folder: Path, digests: Iterable[str]) -> dict[str, Proof]:
    """Return what was found of the instruments of each node, by its digest; not all have a file."""
    paths = {digest: path_beside(folder, digest) for digest in digests if is_digest(digest)}
    found = {digest: proof for digest, path in paths.items() if (proof := read_proof(path))}
    return {digest: proof for digest, proof in found.items() if proof.node_digest == digest}


def off_fields(proofs: Iterable[Proof]) -> dict[str, str]:
    """Return why the values of a record's fields are wrong, by field, as far as was found."""
    reasons: dict[str, list[str]] = {}
    for proof in proofs:
        for finding in proof.off:
            why = f"{finding.name}: off on {proof.node_id}, by `pinstudy prove`: {finding.why}"
            for field in finding.fields:
                reasons.setdefault(field, []).append(one_line(why))
    return {field: joined(dict.fromkeys(of)) for field, of in reasons.items()}


def proof_footnotes(proofs: Iterable[Proof]) -> list[str]:
    """Return a footnote for each node whose instruments were off."""
    return [
        one_line(
            f"{plural(len(proof.off), 'instrument')} of {proof.node_id} off when it was tested "
            f"({proof.proved_at}): {proof.names_off}"
        )
        for proof in proofs
        if proof.off
    ]


def instrument_tables(proofs: Mapping[str, Proof]) -> list[Table]:
    """Return a table of all findings of each node, the instruments that are off first."""
    tables = []
    for proof in proofs.values():
        rows = sorted(proof.findings, key=lambda of: of.state != "off")
        cells = tuple(
            tuple(map(one_line, (of.state, of.name, of.truth, of.measured, of.why))) for of in rows
        )
        tables.append(Table(one_line(f"{proof.node_id}: {proof.summary}"), _COLUMNS, cells))
    return tables


def proof_sentence(proof: Proof) -> str:
    """Return when a node's instruments were tested, and what was off."""
    off = f"; off: {proof.names_off}" if proof.off else "; none was off"
    return one_line(f"The instruments of {proof.node_id} were tested on {proof.proved_at}{off}.")
