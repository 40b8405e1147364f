"""A study whose right answer is known: the E-CPUs are truly slower than the P-CPUs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.tools import missing
from tests.vnode.conftest import Guests
from vnode.commands import packed_results, pinstudy, read_on_host, records, study, without_pandas
from vnode.node import VirtualNode
from vnode.shape import Shape

pytestmark = pytest.mark.vnode

TWO_OF_EACH = Shape(p=2, e=2, smt=False)
E_SHARE = 0.2
# So many more repetitions each time, until the verdict is sure, and the fastest runs are those that
# the host's other load left alone.
STEP, MOST_REPETITIONS = 5, 60

# A mapping and a schedule.
Case = tuple[str, str]
SLOWER: tuple[Case, ...] = (
    ("ecores-set", "static"),
    ("ecores-set", "dynamic"),
    ("one-of-each", "static"),
)


def test_tables_and_verdict_tell_which_kind_is_faster_and_what_a_mixed_team_costs(
    guests: Guests, tmp_path: Path
) -> None:
    node = guests.get(TWO_OF_EACH, E_SHARE)
    if node.slow:
        missing(f"the E-CPUs are not slower: {node.slow}")

    for repetitions in range(STEP, MOST_REPETITIONS + 1, STEP):
        packed = _measured(node, repetitions)
        compared = _compared(packed, tmp_path / str(repetitions))
        outcomes = {slower: compared.get(slower, {}).get("time_outcome") for slower in SLOWER}
        unproved = _unproved(node)
        # A case that lost more runs is not compared.
        usable = max(unproved.values(), default=0) <= repetitions / 10
        rows = json.loads(read_on_host(packed, tmp_path / str(repetitions), "tables", "--json"))
        # The host's other load makes a run slower, never faster: the fastest had the least of it.
        time_s = {(row["mapping"], row["schedule"]): row["elapsed_min_s"] for row in rows}
        mean_s = (time_s["pcores-set", "static"] + time_s["ecores-set", "static"]) / 2
        decided = usable and "undecided" not in outcomes.values()
        if decided and time_s["one-of-each", "static"] > 1.1 * mean_s:
            break
    assert usable, unproved
    for schedule in ("static", "dynamic"):
        # Five times by the quota alone; load that never pauses slows the P-CPUs down in all runs.
        assert time_s["ecores-set", schedule] > 1.5 * time_s["pcores-set", schedule]
    # The thread on the E-core has half of the work, as both have on E-cores: all wait for it. What
    # is left to the P-core is short, so that the time is above the mean of both kinds.
    assert time_s["one-of-each", "static"] > 1.1 * mean_s
    # In turns the thread on the P-core takes most of the work.
    assert time_s["one-of-each", "dynamic"] < 0.75 * time_s["one-of-each", "static"]
    imbalance = {(row["mapping"], row["schedule"]): row["imbalance_mean"] for row in rows}
    # Equal parts of the work take 2.5 to 5 times as long on the E-core: 1 - mean / largest of 1 and
    # 2.5 is 0.3. In turns both work until the end.
    assert imbalance["one-of-each", "static"] > imbalance["one-of-each", "dynamic"] + 0.1

    assert set(outcomes.values()) == {"worse"}, json.dumps([compared[case] for case in SLOWER])
    gated = compared["one-of-each", "static"]["time_ratio"]
    assert compared["one-of-each", "dynamic"]["time_ratio"] < 0.75 * gated


def _measured(node: VirtualNode, repetitions: int) -> bytes:
    """Run the study, or continue it until it has so many repetitions; return its results."""
    # An emulated CPU takes long to make tables: they are made on the host.
    with without_pandas(node):
        ended = pinstudy(node, *study("kinds"), "--repetitions", str(repetitions))
    assert ended.status == 0, ended
    return packed_results(node, "kinds")


def _compared(packed: bytes, folder: Path) -> dict[Case, dict[str, Any]]:
    """Return the comparisons of a verdict with the P-cores by mapping and schedule."""
    folder.mkdir()
    asked = ("verdict", "--baseline", "pcores-set", "--json")
    (verdict,) = json.loads(read_on_host(packed, folder, *asked))
    return {
        (row["mapping"], table["title"].split("schedule ")[1].split(",")[0]): row
        for table in verdict["tables"]
        for row in table["comparisons"]
    }


def _unproved(node: VirtualNode) -> Counter[Case]:
    """Return the number of runs of each case whose placement is not proved."""
    return Counter(
        (run["mapping"], run["schedule"])
        for run in records(node, "kinds")
        if run["placement"]["verdict"] != "proved"
    )
