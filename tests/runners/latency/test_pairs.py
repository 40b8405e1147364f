"""Which pairs of CPUs are measured: all, some of every class, or those named."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.errors import UserError
from base.units import duration
from runners.latency.pairs import (
    PAIRS_OF_A_CLASS,
    PAIRS_OF_A_CPU,
    classes,
    parse_pairs,
    plan_lines,
    plan_pairs,
)
from runners.node.discovery import read_topology
from runners.node.topology import (
    ACROSS_PACKAGES,
    SHARED_L2,
    SHARED_L3,
    Topology,
)
from tests.runners.topologies import topology
from tests.support.machines import NUMA_BIG
from tests.support.trees import Machine, build_tree


def node(tmp_path: Path, machine: str | Machine) -> Topology:
    return read_topology(build_tree(tmp_path, machine))


@st.composite
def nodes(draw: st.DrawFn) -> Topology:
    """Draw nodes of cores in L2 groups in L3 groups in packages, with or without SMT and kinds."""
    threads = draw(st.integers(1, 2))
    sizes = st.lists(st.integers(1, 3), min_size=1, max_size=3)
    packages = st.lists(st.lists(sizes, min_size=1, max_size=3), min_size=1, max_size=2)
    cores: list[tuple[str, str, int]] = []
    caches: list[tuple[int, str]] = []
    cpu = 0
    for package, l3_groups in enumerate(draw(packages)):
        for l2_groups in l3_groups:
            first_of_l3 = cpu
            for size in l2_groups:
                first_of_l2 = cpu
                for _ in range(size):
                    kind = draw(st.sampled_from(("P", "E")))
                    cores.append((f"{cpu}-{cpu + threads - 1}", kind, package))
                    cpu += threads
                caches.append((2, f"{first_of_l2}-{cpu - 1}"))
            caches.append((3, f"{first_of_l3}-{cpu - 1}"))
    return topology(cores, caches)


def test_all_pairs_are_each_once() -> None:
    plan = plan_pairs(topology([(str(cpu), "P", 0) for cpu in (0, 2, 5)]))
    assert plan.pairs == ((0, 2), (0, 5), (2, 5))
    assert (plan.name, plan.pairs_of_node) == ("all", 3)


def test_only_allowed_cpus_are_paired() -> None:
    four = topology([(str(cpu), "P", 0) for cpu in range(4)], allowed="1,3")
    for which in ("all", "representative", "3:1"):
        plan = plan_pairs(four, which)
        assert plan.pairs == ((1, 3),)
        assert plan.pairs_of_node == 1


@pytest.mark.parametrize("which", ["all", "representative", "0:1"])
def test_one_cpu_makes_no_pair(which: str) -> None:
    two = topology([("0", "P", 0), ("1", "P", 0)], allowed="1")
    with pytest.raises(UserError, match="needs two of them, and this process may use only CPU 1;"):
        plan_pairs(two, which)


def test_classes_tell_kinds_apart(tmp_path: Path) -> None:
    found = classes(node(tmp_path, "i9-14900k-noht"))
    # 8 P-cores, 16 E-cores in modules of four: 28 + 24 + 96 + 128 = 276 pairs.
    assert {name: len(pairs) for name, pairs in found.items()} == {
        (SHARED_L2, "E"): 4 * 6,
        (SHARED_L3, "P"): 28,
        (SHARED_L3, "P and E"): 8 * 16,
        (SHARED_L3, "E"): 120 - 24,
    }


def test_a_cpu_that_was_declared_of_no_kind_is_in_classes_of_its_own() -> None:
    l3 = [(3, "0-3")]
    left_out = topology([("0", "P", 0), ("1", "E", 0), ("2", "", 0), ("3", "", 0)], l3)
    assert plan_pairs(left_out, "representative").why == (
        "one L3 (P and E): 1 of 1, one L3 (P and no kind): 2 of 2, one L3 (E and no kind): 2 of 2, "
        "one L3 (no kind): 1 of 1"
    )


def expect_representative(of: Topology, seed: int) -> None:
    plan = plan_pairs(of, "representative", seed=seed)
    assert plan.name == "representative"
    assert len(set(plan.pairs)) == len(plan.pairs)
    assert all(a < b and {a, b} <= set(of.allowed) for a, b in plan.pairs)
    assert plan_pairs(of, "representative", seed=seed) == plan
    for pairs in classes(of).values():
        drawn = set(pairs).intersection(plan.pairs)
        assert len(drawn) >= min(PAIRS_OF_A_CLASS, len(pairs))
    met = Counter(cpu for pair in plan.pairs for cpu in pair)
    assert all(met[cpu] >= min(PAIRS_OF_A_CPU, len(of.allowed) - 1) for cpu in of.allowed)
    assert ("nearest partner" in plan.why) == (len(plan.pairs) < plan.pairs_of_node)


@given(nodes().filter(lambda of: len(of.allowed) > 1), st.integers(0, 3))
def test_representative_pairs_are_of_every_class_and_every_cpu(of: Topology, seed: int) -> None:
    expect_representative(of, seed)


def test_a_large_node_needs_few_representative_pairs(tmp_path: Path) -> None:
    of = node(tmp_path, NUMA_BIG)
    plan = plan_pairs(of, "representative")
    assert plan.pairs_of_node == 256 * 255 // 2
    assert len(plan.pairs) < 2 * 256
    expect_representative(of, seed=2)
    assert plan.why.startswith("SMT siblings: ")
    assert f"{ACROSS_PACKAGES}: {PAIRS_OF_A_CLASS} of {128 * 128}" in plan.why


def test_the_shorter_plan_that_is_suggested_is_of_the_chosen_cpus(tmp_path: Path) -> None:
    of = node(tmp_path, NUMA_BIG)
    chosen = plan_pairs(of, "all", "0-60", seed=3)
    shorter = plan_pairs(of, "representative", "0-60", seed=3)
    assert plan_lines(of, chosen, 1830.0, seed=3) == [
        "1830 pairs of 32640, about 30 min 30 s",
        f"--pairs representative is shorter: {len(shorter.pairs)} pairs, about "
        f"{duration(len(shorter.pairs))}",
    ]


def test_named_pairs_are_put_in_order() -> None:
    four = topology([(str(cpu), "P", 0) for cpu in range(4)])
    plan = plan_pairs(four, "3:0,1:2")
    assert plan.pairs == ((0, 3), (1, 2))
    assert (plan.name, plan.pairs_of_node) == ("given", 6)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ("0:0", "pair 0:0: is one CPU"),
        ("0:1,1:0", "pair 1:0: stands twice"),
        ("0:4", r"pair 0:4: CPU 4 is none of those that this process may use \(0-3\)"),
    ],
)
def test_named_pairs_that_cannot_be_are_refused(pairs: str, message: str) -> None:
    four = topology([(str(cpu), "P", 0) for cpu in range(4)])
    with pytest.raises(UserError, match=message):
        plan_pairs(four, pairs)


def test_an_unknown_word_is_refused() -> None:
    four = topology([(str(cpu), "P", 0) for cpu in range(4)])
    with pytest.raises(
        UserError, match="'some' is no pair of CPUs; expected all, representative, or"
    ):
        plan_pairs(four, "some")


@pytest.mark.parametrize(
    "text", ["", "0", "0:1:2", "a:b", "0:-1", "0:1,", "0-1:2", "0:²", "0000001:2"]
)
def test_what_is_no_pair_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r"is no pair of CPUs; expected .* such as 0:1,0:2"):
        parse_pairs(text)


@given(st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300)), min_size=1))
def test_pairs_survive_being_written_and_read(pairs: list[tuple[int, int]]) -> None:
    assert parse_pairs(",".join(f"{a}:{b}" for a, b in pairs)) == pairs


@given(st.text(max_size=40))
def test_any_text_is_pairs_or_refused(text: str) -> None:
    try:
        pairs = parse_pairs(text)
    except UserError:
        return
    assert pairs
