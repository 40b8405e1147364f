"""The file of what was found of a node's instruments: what is understood, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs, to_builtins

from runners.records.instruments import FILE_NAME, Finding, Proof, parse, read_proof

FINDINGS = (
    Finding("instructions", "P", "ok", "1,000 in the loop", "1,000"),
    Finding("energy", "core", "off", "grows", "nothing", "stands still", ("energy_core_j",)),
)
PROOF = Proof("node", 64 * "a", "boot", "2026-11-28T12:00:00Z", 1.0, True, FINDINGS)
FIRST = to_builtins(FINDINGS[0])


@pytest.mark.parametrize(
    "spoil",
    [
        {"schema": 2},
        {"kind": "latency"},
        {"findings": {}},
        {"findings": [{"instrument": "x"}]},
        {"findings": [FIRST | {"state": "fine"}]},
        {"findings": [FIRST | {"why": "a\x1b[2Jb"}]},
        {"findings": [FIRST | {"fields": [1]}]},
        {"proved_at": 5},
        {"proved_at": "2026-13-01T12:00:00Z"},
        {"proved_at": ""},
        {"elapsed_s": -1},
    ],
)
def test_what_is_no_proof_is_refused(tmp_path: Path, spoil: dict[str, Any]) -> None:
    content = json.loads(json.dumps(PROOF.content()))
    assert parse(json.dumps(content).encode()) == PROOF
    with pytest.raises(ValueError):
        parse(json.dumps(content | spoil).encode())
    path = tmp_path / FILE_NAME
    path.write_text(json.dumps(content | spoil))
    assert read_proof(path) is None


def test_no_more_than_some_instruments_are_named() -> None:
    many = tuple(structs.replace(FINDINGS[1], of=str(number)) for number in range(6))
    proof = structs.replace(PROOF, findings=many)
    assert proof.names_off == "energy 0, energy 1, energy 2, energy 3 and 2 more"
