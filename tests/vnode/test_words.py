"""Threads bound in a runtime's own words, on a node that has SMT and two core kinds."""

from __future__ import annotations

import pytest

from tests.support.tools import ROOT
from vnode.commands import decided_runs
from vnode.node import VirtualNode

pytestmark = [pytest.mark.vnode, pytest.mark.usefixtures("records_only")]

# QEMU translates a program when it is first run, which takes longer than a run may be unbound.
TRANSLATE = f"cd {ROOT}/build/emulated/bin && ./threadmap-libomp --team-only --duration 0.1"


def test_places_by_name_are_proved_and_core_types_that_no_guest_sees_are_left_out(
    node: VirtualNode,
) -> None:
    node.shell(TRANSLATE)

    runs = {mapping: run for (_, _, mapping), run in decided_runs(node, "words").items()}

    # CPUs 0-3 are two P-cores with SMT, 4-7 E-cores.
    for mapping, masks in (
        ("cores-pin-named", ["0-1", "2-3", "4", "5"]),
        ("ecores-pin-kmp", ["4", "5", "6", "7"]),
    ):
        run = runs[mapping]
        assert run["placement"]["verdict"] == "proved", (run.get("reason"), run["unavailable"])
        assert sorted(thread["allowed"] for thread in run["placement"]["threads"]) == masks
    # The guest's runtime sees no core types.
    assert "pcores-pin-subset" not in runs
