"""A case is refused whose CPUs this process may not use, with what is wanted and found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from configs.errors import UserError
from runners.fitting import why_not_fitting
from runners.node import Node, open_node, whole_node
from tests.runners.cases import case


@pytest.fixture
def node() -> Iterator[Node]:
    """This machine, and at the end this process on all the CPUs that it had."""
    before = os.sched_getaffinity(0)
    yield open_node(Path("/"))
    os.sched_setaffinity(0, before)


def test_a_case_on_the_cpus_of_this_process_fits(node: Node) -> None:
    cpu = min(os.sched_getaffinity(0))
    assert why_not_fitting(case(cpus=(cpu,)), node) is None


def test_a_missing_cpu_is_named_with_node_wanted_and_found(node: Node) -> None:
    cpu = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpu})
    refused = why_not_fitting(case(cpus=(cpu, 4000)), node)
    assert refused is not None
    assert f"node {node.node_id}: this process may use CPUs {cpu}, the case needs" in refused
    assert "missing: 4000" in refused


def test_likwid_pin_is_refused_inside_a_restricted_set(node: Node) -> None:
    if len(node.topology.online) < 2:
        pytest.skip("needs 2 CPUs")
    cpu = min(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {cpu})
    refused = why_not_fitting(case(cpus=(cpu,), mechanism="likwid-pin"), node)
    assert refused is not None
    assert "takes CPU numbers as logical ones" in refused
    assert why_not_fitting(case(cpus=(cpu,), mechanism="omp-places"), node) is None


def test_a_whole_node_has_all_its_cpus_but_the_reserved_ones(node: Node) -> None:
    online = node.topology.online
    narrow = replace(node, topology=replace(node.topology, allowed=online[:1]))
    assert whole_node(narrow).topology.allowed == online
    assert whole_node(narrow, {online[-1]}).topology.allowed == online[:-1]
    with pytest.raises(UserError, match="reserved_cpus"):
        whole_node(narrow, online)
