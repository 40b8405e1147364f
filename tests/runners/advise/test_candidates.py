"""Candidates: what a topology suggests, each placement once, nothing that the node cannot run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from configs.library import list_mappings
from runners.advise.candidates import MAX_CANDIDATES, Field, NodeContext, make_field
from runners.node.discovery import read_topology
from runners.node.topology import Topology
from tests.runners.topologies import (
    core_ultra_7_164u,
    i9_14900k_without_smt,
    topology,
    two_packages_with_smt,
)
from tests.support.trees import build_tree

KNOWN = {mapping.name: mapping for mapping in list_mappings()}
TOOLS = ("taskset",)


# Only the reference's wait policy.
DEFAULT = ("runtime-default",)


def context(
    node: Topology, runtime: str = "libgomp", tools: tuple[str, ...] = TOOLS
) -> NodeContext:
    return NodeContext(node, tools, KNOWN, runtime)


def field(node: Topology, schedules: tuple[str, ...] = ("static",)) -> Field:
    return make_field(context(node), len(node.allowed), None, schedules, DEFAULT)


def names(made: Field, threads: int, schedule: str = "static") -> list[str]:
    groups = [g for g in made.groups if (g.threads, g.schedule) == (threads, schedule)]
    return [placed.mapping.name for group in groups for placed in group.placed]


def placements(made: Field) -> list[tuple[object, ...]]:
    return [
        (group.threads, group.schedule, placed.mapping.binding, placed.cpus)
        for group in made.groups
        for placed in group.placed
    ]


def test_a_hybrid_of_24_cores_gets_what_its_kinds_suggest() -> None:
    made = field(i9_14900k_without_smt())
    assert [group.threads for group in made.groups] == [24, 8, 16, 12, 6]
    assert names(made, 24) == ["unpinned", "cores-pin"]
    assert {"unpinned", "pcores-set", "pcores-pin"} <= set(names(made, 8))
    assert {"unpinned", "ecores-set", "ecores-pin", "half-clusters-set"} <= set(names(made, 16))
    assert {"cores-pin", "mixed-pin"} <= set(names(made, 12))
    assert 10 <= made.size <= 40


def test_low_power_cores_are_used_with_others_and_never_alone() -> None:
    made = field(core_ultra_7_164u())
    assert names(made, 10)[:3] == ["unpinned", "mixed-pin", "mixed-set"]
    assert not [p for p in placements(made) if set(p[3]) <= {12, 13}]  # type: ignore[call-overload]
    assert any("LP-E-cores alone (CPUs 12-13)" in line for line in made.left_out)


def test_low_power_cores_are_tried_alone_where_there_are_no_others_beside_p_cores(
    tmp_path: Path,
) -> None:
    node = read_topology(build_tree(tmp_path, "lnl0"))
    made = field(node)
    assert {"pcores-set", "lpecores-set", "lpecores-pin"} <= set(names(made, 4))
    assert "lpecores-set" in names(made, 1)
    assert not any("LP-E-cores alone" in line for line in made.left_out)
    asked = make_field(context(node), 8, [3], ("static",), DEFAULT)
    assert {"pcores-set", "lpecores-set", "lpecores-pin"} <= set(names(asked, 3))


def test_a_node_of_equal_cores_gets_no_kinds() -> None:
    made = field(two_packages_with_smt())
    assert [group.threads for group in made.groups] == [8, 4, 2, 1]
    assert "spread-pin" in names(made, 4)
    assert not any("ecores" in name or "pcores" in name for name in names(made, 8))
    assert any("one core kind" in line for line in made.left_out)


def test_two_cpus_have_few_ways_to_be_used() -> None:
    made = field(topology([("0", "P", 0), ("1", "P", 0)]))
    assert placements(made) == [
        (2, "static", "none", (0, 1)),
        (2, "static", "pin", (0, 1)),
        (1, "static", "none", (0, 1)),
        (1, "static", "pin", (0,)),
    ]


def test_schedules_race_where_threads_are_on_unlike_cpus_or_on_all() -> None:
    made = field(i9_14900k_without_smt(), ("dynamic", "guided", "static"))
    assert names(made, 24, "guided") == names(made, 24, "static") == ["unpinned", "cores-pin"]
    assert {group.threads for group in made.groups if group.schedule != "dynamic"} == {24}


def test_waiting_races_on_the_same_placements_under_the_reference_s_schedule() -> None:
    node = i9_14900k_without_smt()
    policies = ("passive", "active")
    made = make_field(context(node), 24, None, ("dynamic", "static"), policies)
    others = [group for group in made.groups if group.wait_policy == "active"]
    assert [(group.threads, group.schedule) for group in others] == [(24, "dynamic")]
    assert [placed.mapping.name for placed in others[0].placed] == ["unpinned", "cores-pin"]
    # One thread waits for no other.
    alone = make_field(context(node), 1, (1,), ("static",), policies)
    assert {group.wait_policy for group in alone.groups} == {"passive"}


def test_of_the_thread_counts_asked_for_the_widest_races_schedules() -> None:
    node = i9_14900k_without_smt()
    made = make_field(context(node), 24, (4, 8), ("static", "dynamic"), DEFAULT)
    assert names(made, 8, "dynamic") == ["unpinned", "mixed-pin"]
    # Four threads on both kinds have unlike CPUs, too.
    assert names(made, 4, "dynamic") == ["mixed-pin"]
    assert not names(made, 24, "dynamic")


def test_the_reference_comes_first_whatever_is_asked_for() -> None:
    node = i9_14900k_without_smt()
    for threads, asked in ((24, None), (4, None), (24, (2, 8)), (100, None), (100, (2,))):
        first = make_field(context(node), threads, asked, ("static",), DEFAULT).groups[0]
        assert first.threads == threads
        assert first.placed[0].mapping.name == "unpinned"
        assert first.placed[0].cpus == node.allowed
        assert first.oversubscribe is (threads > 24)
    assert [
        g.threads for g in make_field(context(node), 24, (2, 8), ("static",), DEFAULT).groups
    ] == [*(24, 2, 8)]


def test_more_threads_than_cpus_are_told_and_not_tried() -> None:
    made = make_field(context(i9_14900k_without_smt()), 24, (8, 32), ("static",), DEFAULT)
    assert [group.threads for group in made.groups] == [24, 8]
    assert "32 threads: more than the 24 CPUs" in made.left_out


def test_a_program_of_one_thread_tries_one_cpu_of_each_kind() -> None:
    made = make_field(context(i9_14900k_without_smt(), "none"), 1, (4,), ("static",), DEFAULT)
    assert {group.threads for group in made.groups} == {1}
    assert {"unpinned", "pcores-pin", "ecores-pin", "pcores-set"} <= set(names(made, 1))
    assert "other thread counts: the program has one thread" in made.left_out


def test_a_program_that_counts_its_cpus_races_where_they_are_as_many_as_its_threads() -> None:
    node = i9_14900k_without_smt()
    counts = replace(context(node, "other"), threads_by=("affinity",))
    made = make_field(counts, 24, None, ("static",), DEFAULT)
    assert [(group.threads, len(group.placed)) for group in made.groups][:2] == [(24, 1), (8, 1)]
    for group in made.groups:
        assert {len(set(placed.cpus)) for placed in group.placed} == {group.threads}
    assert names(made, 8) == ["pcores-set"]
    assert names(made, 16) == ["half-clusters-set", "ecores-set"]


def test_without_taskset_only_the_unpinned_mapping_is_left() -> None:
    made = make_field(context(i9_14900k_without_smt(), tools=()), 24, None, ("static",), DEFAULT)
    assert {placed.mapping.name for group in made.groups for placed in group.placed} == {"unpinned"}
    assert any("taskset is not installed" in line for line in made.left_out)


def test_of_what_is_too_much_each_thread_count_keeps_what_promises_most() -> None:
    node = i9_14900k_without_smt()
    every = field(node)
    some = make_field(context(node), 24, None, ("static",), DEFAULT, 10)
    assert some.size == 10
    assert [group.threads for group in some.groups] == [24, 8, 16, 12, 6]
    assert [names(some, threads) for threads in (24, 8, 16, 12, 6)] == [
        names(every, threads)[:2] for threads in (24, 8, 16, 12, 6)
    ]
    assert any(line.startswith(f"{every.size - 10} placements") for line in some.left_out)


def test_a_hybrid_with_schedules_and_two_governors_still_tries_every_kind() -> None:
    node = core_ultra_7_164u()
    made = make_field(
        context(node), 14, None, ("dynamic", "guided", "static"), DEFAULT, MAX_CANDIDATES // 2
    )
    tried = {placed.mapping.name for group in made.groups for placed in group.placed}
    assert {"pcores-pin", "pcpus-pin", "ecores-pin", "half-clusters-pin", "cores-pin"} <= tried


KINDS = st.lists(
    st.tuples(st.sampled_from(["P", "E", "LP-E"]), st.integers(1, 2), st.integers(0, 1)),
    min_size=1,
    max_size=12,
)


@given(KINDS, st.data())
def test_any_node_gets_candidates_that_it_can_run_each_once(
    cores: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    made, cpu = [], 0
    for kind, smt, package in cores:
        made.append((",".join(str(cpu + i) for i in range(smt)), kind, package))
        cpu += smt
    allowed = data.draw(st.sets(st.integers(0, cpu - 1), min_size=1))
    node = topology(made, allowed=",".join(map(str, allowed)))
    threads = data.draw(st.integers(1, 40))
    asked = data.draw(st.none() | st.lists(st.integers(1, 40), unique=True, min_size=1))
    check(node, make_field(context(node), threads, asked, ("static", "dynamic"), DEFAULT))


def check(node: Topology, made: Field) -> None:
    found = placements(made)
    assert len(found) == len(set(found)) == made.size <= MAX_CANDIDATES
    assert found[0][2] == "none"
    for group in made.groups:
        for placed in group.placed:
            assert set(placed.cpus) <= set(node.allowed)
            if placed.mapping.binding == "pin":
                assert len(placed.cpus) == group.threads
            assert placed.mapping.binding == "none" or len(placed.cpus) >= group.threads
            if placed.mapping.binding == "set":
                assert set(placed.cpus) != set(node.allowed)
