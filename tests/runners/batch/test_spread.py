"""How a study is spread: what is wanted on the command line, in the study, at the site."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import UserError
from configs.library import load_study
from configs.overrides import Overrides
from configs.repetitions import Decide
from configs.site import Queue, Site
from configs.study import Spread, Study
from runners.batch.submit import (
    SubmitOptions,
    blocks_left,
    per_node_workers,
    pool_of,
    split_workers,
    spread_of,
)

QUEUE = Queue("slurm", 3600.0, nodes=("n1", "n2"))
SITE = Site("there", "A site", queue=QUEUE)
STUDY = load_study("quick", Overrides(repetitions=5))


def spread(study: Study = STUDY, queue: Queue = QUEUE, **wanted: Any) -> Spread:  # noqa: ANN401
    return spread_of(study, SITE, queue, SubmitOptions(**wanted))


@pytest.mark.parametrize(
    ("queue", "wanted", "targets"),
    [
        # Without a word the study is made whole on each node of the site, or with each feature.
        (QUEUE, {}, ["node n1", "node n2"]),
        (
            replace(QUEUE, nodes=(), features=("hybrid", "homog")),
            {},
            ["feature hybrid", "feature homog"],
        ),
        (replace(QUEUE, nodes=()), {}, ["any node"]),
        # A node that is named twice gets one worker.
        (QUEUE, {"nodes": ("n1", "n2", "n1")}, ["node n1", "node n2"]),
    ],
    ids=["nodes", "features", "neither", "a node twice"],
)
def test_there_is_a_worker_for_each_node_or_feature(
    queue: Queue, wanted: dict[str, Any], targets: list[str]
) -> None:
    workers = per_node_workers(spread(queue=queue, **wanted))
    assert [worker.target for worker in workers] == targets
    assert [worker.number for worker in workers] == list(range(len(targets)))
    assert not any(worker.blocks for worker in workers)


def test_the_command_line_comes_before_the_study_and_that_before_the_site() -> None:
    study = replace(STUDY, spread=Spread("elsewhere", "per-node", features=("fast",)))
    assert spread(study) == Spread("there", "per-node", features=("fast",))
    assert spread(study, nodes=("n9",)) == Spread("there", "per-node", nodes=("n9",))
    assert spread(study, how="split", workers=3) == Spread("there", "split", (), ("fast",), 3)


@pytest.mark.parametrize(
    ("study", "wanted", "message"),
    [
        (STUDY, {"nodes": ("n1",), "features": ("hybrid",)}, "nodes and features are both given"),
        (STUDY, {"workers": 2}, "per-node has one worker for each node"),
        (STUDY, {"how": "split"}, "--workers N"),
        (STUDY, {"how": "split", "workers": 2, "nodes": ("n1",)}, "any interchangeable nodes"),
        (STUDY, {"how": "split", "workers": 2, "features": ("a", "b")}, "nodes with one feature"),
        (
            replace(STUDY, decide=Decide(5, 50)),
            {"how": "split", "workers": 2},
            "one node alone can tell",
        ),
        (replace(STUDY, latency="all"), {"how": "split", "workers": 2}, "a node's own"),
    ],
)
def test_what_does_not_fit_together_is_refused(
    study: Study, wanted: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        spread(study, **wanted)


@given(st.lists(st.integers(1, 500), unique=True, min_size=1), st.integers(1, 60))
def test_workers_that_split_a_study_have_each_block_once_and_about_as_many(
    blocks: list[int], many: int
) -> None:
    workers = split_workers(Spread("there", "split", workers=many), blocks)
    shares = [len(worker.blocks) for worker in workers]
    assert sorted(block for worker in workers for block in worker.blocks) == sorted(blocks)
    assert max(shares) - min(shares) <= 1
    assert len(workers) == min(many, len(blocks))
    assert [worker.number for worker in workers] == list(range(len(workers)))


def test_nothing_that_is_missing_needs_no_worker() -> None:
    assert split_workers(Spread("there", "split", workers=4), []) == ()


def test_a_block_is_left_while_one_of_its_cases_lacks_it() -> None:
    study = replace(STUDY, repetitions=3)
    done = {("a", False, 1), ("b", False, 1), ("a", False, 2), ("a", False, 3), ("b", True, 2)}
    assert blocks_left(study, ("a", "b"), done) == [2, 3]
    assert blocks_left(study, ("a",), done) == []


def test_a_pool_is_named_so_that_no_node_is() -> None:
    assert pool_of(Site("there", "t")) == "split-there"
    assert pool_of(Site("../x y", "t")) == "split-x-y"
