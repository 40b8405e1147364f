"""The kept result of a test of the instruments: written, read back, and of which node it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from base.errors import StudyError
from runners.node.node import Node, open_node
from runners.prove.proof import keep, keep_for_node, latest_proof, new_proof
from runners.records.instruments import FILE_NAME, Finding, read_proof
from tests.support.ordinary_user import user_without_account
from tests.support.trees import CPU, build_tree

FINDINGS = (
    Finding("instructions", "P", "ok", "1,000 in the loop", "1,000"),
    Finding("energy", "core", "off", "grows", "nothing", "stands still", ("energy_core_j",)),
    Finding("temperature", "", "absent", "rises", why="no sensor"),
)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return open_node(build_tree(tmp_path, "i9-14900k"))


def test_a_proof_is_read_as_it_was_kept(node: Node, tmp_path: Path) -> None:
    proof = new_proof(node, FINDINGS, 61.27, quick=False)
    assert read_proof(keep(proof, tmp_path / "x" / FILE_NAME)) == proof
    assert proof.summary == "1 ok, 1 off, 1 absent"
    assert proof.names_off == "energy core"
    assert proof.elapsed_s == 61.3


def test_the_latest_proof_of_a_node_is_that_of_its_configuration(node: Node) -> None:
    assert latest_proof(node) is None
    proof = new_proof(node, FINDINGS, 1.0, quick=True)
    keep_for_node(proof, node.root)
    assert latest_proof(open_node(node.root)) == proof

    (node.root / CPU / "intel_pstate/status").write_text("passive\n")
    assert latest_proof(open_node(node.root)) is None


def test_a_user_without_a_home_has_no_proof_and_is_told_how_to_keep_one(node: Node) -> None:
    with user_without_account():
        assert latest_proof(replace(node, root=Path("/"))) is None
        with pytest.raises(StudyError, match=r"; or name another folder in \$PINSTUDY_STATE"):
            keep_for_node(new_proof(node, FINDINGS, 1.0, quick=True), Path("/"))
