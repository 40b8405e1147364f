"""The file of what was found of a node's instruments: what is understood, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners.records.instruments import FILE_NAME, Finding, Proof, parse, read_proof

FINDINGS = (
    Finding("instructions", "P", "ok", "1,000 in the loop", "1,000"),
    Finding("energy", "core", "off", "grows", "nothing", "stands still", ("energy_core_j",)),
)
PROOF = Proof("node", 64 * "a", "boot", "2026-11-28T12:00:00Z", 1.0, True, FINDINGS)


@pytest.mark.parametrize(
    "spoil",
    [
        {"schema": 2},
        {"kind": "latency"},
        {"findings": {}},
        {"findings": [{"instrument": "x"}]},
        {"findings": [FINDINGS[0].__dict__ | {"state": "fine"}]},
        {"findings": [FINDINGS[0].__dict__ | {"why": "a\x1b[2Jb"}]},
        {"findings": [FINDINGS[0].__dict__ | {"fields": [1]}]},
        {"proved_at": 5},
    ],
)
def test_what_is_no_proof_is_refused(tmp_path: Path, spoil: dict[str, Any]) -> None:
    content = json.loads(json.dumps(PROOF.content()))
    assert isinstance(parse(content), Proof)
    with pytest.raises(ValueError):
        parse(content | spoil)
    path = tmp_path / FILE_NAME
    path.write_text(json.dumps(content | spoil))
    assert read_proof(path) is None


def test_no_more_than_some_instruments_are_named() -> None:
    many = tuple(replace(FINDINGS[1], of=str(number)) for number in range(6))
    proof = replace(PROOF, findings=many)
    assert proof.names_off == "energy 0, energy 1, energy 2, energy 3 and 2 more"
