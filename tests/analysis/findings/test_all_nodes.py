"""What a site sets as its default: the losses of mappings over the configurations of all nodes."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from analysis.findings.all_nodes import AllNodes, all_nodes, as_data
from analysis.findings.effects import Cases
from analysis.objectives import TIME
from tests.analysis.findings.studies import Grid, changed

TWO = {"performance": 1.0, "powersave": 1.4}
FIRST = Grid({"unpinned": 1.0, "pinned": 0.9}, TWO, n=30, shared=0.0)
# Another best mapping, which the first node has not.
SECOND = Grid({"unpinned": 1.0, "pinned": 1.3, "confined": 0.8}, n=30, shared=0.0)


def by_time(**nodes: Sequence[Cases]) -> AllNodes:
    (found,) = (of for of in all_nodes(nodes) if of.objective == TIME)
    return found


def test_losses_are_over_the_configurations_of_all_nodes_together() -> None:
    found = by_time(a=[FIRST.cases(1)], b=[SECOND.cases(2)])
    unpinned, pinned = found.defaults
    assert (unpinned.mapping, pinned.mapping) == ("unpinned", "pinned")
    assert (found.configurations, unpinned.compared, pinned.compared) == (3, 3, 3)
    # Behind pinned on the first node under both governors, behind confined on the second.
    assert unpinned.worst.ratio == pytest.approx(1 / 0.8, rel=0.02)
    assert unpinned.mean.ratio == pytest.approx((2 / 0.9 + 1 / 0.8) / 3, rel=0.02)
    assert pinned.worst.ratio == pytest.approx(1.3 / 0.8, rel=0.02)
    assert found.worst_on == {"unpinned": "b", "pinned": "b"}
    for loss in (unpinned.worst, unpinned.mean, pinned.worst, pinned.mean):
        assert loss.interval is not None
        assert loss.interval.low < loss.ratio < loss.interval.high


def test_a_mapping_that_a_node_lacks_is_no_default_and_is_told() -> None:
    found = by_time(a=[FIRST.cases(1)], b=[SECOND.cases(2)], c=[FIRST.cases(3)])
    assert "confined" not in [of.mapping for of in found.defaults]
    assert found.lacking == {"confined": ("a", "c")}


def test_a_mapping_that_lost_runs_on_a_node_is_told_there() -> None:
    lost = changed(SECOND.cases(2), "pinned", excluded={"timeout": 20})
    found = by_time(a=[FIRST.cases(1)], b=[lost])
    assert [of.mapping for of in found.defaults] == ["unpinned"]
    assert found.lacking == {"pinned": ("b",), "confined": ("a",)}


def test_without_a_mapping_that_all_nodes_have_there_is_no_default() -> None:
    other = Grid({"confined": 1.0, "spread": 1.1})
    found = by_time(a=[FIRST.cases(1)], b=[other.cases(2)])
    assert found.defaults == ()
    assert as_data([found])[0]["default"] is None


def test_results_of_one_node_are_taken_together() -> None:
    whole = by_time(a=[FIRST.cases(1), SECOND.cases(2)], b=[SECOND.cases(3)])
    # On node a `confined` was compared, by its second results.
    assert {of.mapping: of.compared for of in whole.defaults} == {
        "unpinned": 4,
        "pinned": 4,
        "confined": 2,
    }
    assert all_nodes({"a": [FIRST.cases(1), SECOND.cases(2)]}) == ()


def test_the_intervals_hold_what_is_true_for_all_mappings_together() -> None:
    mappings = {"unpinned": 1.0, "pinned": 0.99, "confined": 1.02}
    first, second = Grid(mappings, TWO), Grid(mappings | {"pinned": 1.02})
    # The best is pinned twice on the first node, and unpinned on the second.
    losses = {
        "unpinned": [1 / 0.99, 1 / 0.99, 1.0],
        "pinned": [1.0, 1.0, 1.02],
        "confined": [1.02 / 0.99, 1.02 / 0.99, 1.02],
    }
    held, drawn = 0, 0
    for seed in range(0, 120, 2):
        found = by_time(a=[first.cases(seed)], b=[second.cases(seed + 1)])
        claims = [
            (interval, true)
            for of in found.defaults
            for interval, true in (
                (of.worst.interval, max(losses[of.mapping])),
                (of.mean.interval, sum(losses[of.mapping]) / 3),
            )
        ]
        # By chance runs have two modes, which are not compared.
        if len(claims) < 6 or any(of.compared < 3 for of in found.defaults):
            continue
        drawn += 1
        held += all(
            of is not None and of.low * (1 - 1e-12) <= true <= of.high * (1 + 1e-12)
            for of, true in claims
        )
    assert drawn >= 50
    assert held >= 0.93 * drawn
