"""`pinstudy demo` in a guest with SMT and two core kinds: all five rows, page and pictures."""

from __future__ import annotations

import json

import pytest

from vnode.commands import pinstudy
from vnode.node import KEPT, VirtualNode

pytestmark = pytest.mark.vnode

FOLDER = f"{KEPT}/demo"


def test_a_demo_in_a_guest_writes_its_page_and_says_of_each_row_what_it_is(
    node: VirtualNode,
) -> None:
    # An emulated processor takes long for each run: the time is up before all are made.
    ended = pinstudy(node, "demo", "-o", FOLDER, "--time-budget", "30 s", "--json")

    assert ended.status == 0, ended
    rows = json.loads(node.shell(f"cat {FOLDER}/demo.json"))["rows"]
    assert [row["effect"] for row in rows] == [
        *("contention", "false sharing", "one core", "latency", "who ran where"),
    ]
    for row in rows:
        assert row["sentence"].endswith(".")
        assert row["why_not"] or row["pictures"], row
    # Two P-cores with two CPUs each, and four E-cores: 28 pairs of 8 CPUs. They take turns, so
    # that the time for the pairs is up before all are measured.
    assert 1 <= rows[3]["pairs"] <= rows[3]["pairs_of_node"] == 28
    assert "latency.svg" in rows[3]["pictures"]
    # No core lacks a second CPU.
    assert "no core has two" not in (rows[2]["why_not"] or "")
    page = node.shell(f"cat {FOLDER}/demo.html")
    assert page.count("<section ") == 5
