"""A case is refused whose CPUs this process may not use, with what is wanted and found."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from pinstudy.base.errors import UserError
from pinstudy.configs.site import GovernorRule, Site
from pinstudy.runners.node.node import Node, open_node, whole_node
from pinstudy.runners.settings.node_settings import NodeSettings
from pinstudy.runners.study.continuity import Preflight
from pinstudy.runners.study.runner import NodeControl
from tests.runners.cases import case
from tests.support.machines import INTEL, PSTATE, policy
from tests.support.studies import two_cpus
from tests.support.trees import CPU, Machine, build_tree, write

FIRST = min(os.sched_getaffinity(0))
ON_THE_FIRST = case(cpus=(FIRST,))
THP = "sys/kernel/mm/transparent_hugepage/enabled"
needs_cpu_0 = pytest.mark.skipif(FIRST != 0, reason="the tree's first CPU is CPU 0")


@pytest.fixture
def node() -> Iterator[Node]:
    """This machine, and at the end this process on all the CPUs that it had."""
    before = os.sched_getaffinity(0)
    yield open_node(Path("/"))
    os.sched_setaffinity(0, before)


def test_a_missing_cpu_is_named_with_node_wanted_and_found(node: Node) -> None:
    assert Preflight(node).problem(ON_THE_FIRST) is None
    _, other = two_cpus()
    os.sched_setaffinity(0, {FIRST})
    preflight = Preflight(node)
    refused = preflight.problem(case(cpus=(FIRST, other)))
    assert refused is not None
    assert f"node {node.node_id}: this process may use CPUs {FIRST}, the case needs" in refused
    assert f"missing: {other}" in refused
    # likwid-pin does not run inside a restricted set.
    refused = preflight.problem(case(cpus=(FIRST,), mechanism="likwid-pin"))
    assert refused is not None and "takes CPU numbers as logical ones" in refused
    assert preflight.problem(case(cpus=(FIRST,), mechanism="omp-places")) is None


def test_a_cpu_that_was_lost_while_it_was_offline_is_taken_back(node: Node) -> None:
    two_cpus()
    own, preflight = os.sched_getaffinity(0), Preflight(node)
    # As the kernel leaves a mask that was set while the others were offline.
    os.sched_setaffinity(0, {FIRST})
    assert preflight.problem(case(cpus=tuple(own))) is None
    assert os.sched_getaffinity(0) == own


def test_a_whole_node_has_all_its_cpus_but_the_reserved_ones(node: Node) -> None:
    online = node.topology.online
    narrow = replace(node, topology=replace(node.topology, allowed=online[:1]))
    assert whole_node(narrow).topology.allowed == online
    assert whole_node(narrow, {online[-1]}).topology.allowed == online[:-1]
    with pytest.raises(UserError, match="reserved_cpus"):
        whole_node(narrow, online)


@pytest.fixture
def recorded(tmp_path: Path) -> Node:
    """A node of two cores, one with SMT, whose first CPUs are this machine's."""
    root = build_tree(tmp_path, Machine(cores=("0-1", "2")))
    write(root, f"{CPU}/smt/control", "on")
    write(root, f"{CPU}/intel_pstate/no_turbo", 0)
    write(root, f"{CPU}/intel_pstate/status", "active")
    write(root, THP, "always [madvise] never")
    return open_node(root)


def test_a_cpu_that_went_offline_stops_its_cases_and_no_others(recorded: Node) -> None:
    preflight = Preflight(recorded)
    write(recorded.root, f"{CPU}/online", "0-1")
    told = preflight.problem(case(cpus=(2,)))
    assert told is not None and "CPU 2 is offline" in told and "batch" not in told
    assert "`echo 1 > /sys/devices/system/cpu/cpu2/online`" in told
    assert preflight.problem(ON_THE_FIRST) is None
    write(recorded.root, f"{CPU}/online", "0-2")
    assert "offline" not in (preflight.problem(case(cpus=(2,))) or "")


@needs_cpu_0
def test_a_case_does_not_run_without_the_sibling_that_it_began_with(recorded: Node) -> None:
    preflight = Preflight(recorded)
    assert preflight.problem(ON_THE_FIRST) is None
    write(recorded.root, f"{CPU}/online", "0,2")
    write(recorded.root, f"{CPU}/smt/control", "off")
    told = preflight.problem(ON_THE_FIRST)
    assert told is not None and "CPU 1 is offline" in told
    assert "`echo on > /sys/devices/system/cpu/smt/control`" in told


@needs_cpu_0
def test_a_cpu_that_goes_offline_while_settings_are_made_is_the_reason(tmp_path: Path) -> None:
    shape = Machine(("0-1", "2"), policies={"0-2": policy(3000000)}, block=INTEL, files=PSTATE)
    root = build_tree(tmp_path, shape)
    node = open_node(root)
    # A site's command that fails, because SMT was switched off since the check.
    switched_off = f"echo 0,2 >{root}/{CPU}/online; exit 1"
    site = Site("here", "Here", governor=GovernorRule("command", ("sh", "-c", switched_off)))
    settings = NodeSettings(root, node.topology, site, {})
    # Neither plan nor machine concerns settings.
    unused = cast("Any", None)
    control = NodeControl(unused, unused, settings, Preflight(node))
    told = control.settle(replace(ON_THE_FIRST, governor="performance"))
    settings.restore()
    assert told is not None and "CPU 1 is offline" in told and "SMT siblings" in told


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        (f"{CPU}/intel_pstate/no_turbo", "1", "turbo was on, now off"),
        (f"{CPU}/intel_pstate/status", "passive", "the driver's mode was 'active', now 'passive'"),
        (THP, "[always] madvise never", "transparent hugepages were 'madvise', now 'always'"),
    ],
)
def test_no_case_runs_on_a_switched_node(recorded: Node, path: str, text: str, told: str) -> None:
    preflight, switching = Preflight(recorded), Preflight(recorded, {"turbo"})
    before = (recorded.root / path).read_text()
    write(recorded.root, path, text)
    assert told in (preflight.problem(ON_THE_FIRST) or "")
    # What the study itself switches is no change of the node.
    assert (switching.problem(ON_THE_FIRST) is None) == ("turbo" in told)
    write(recorded.root, path, before)
    assert preflight.problem(ON_THE_FIRST) is None
