from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.cpulist import format_cpulist
from base.errors import UserError
from configs.core_kinds import KIND_ORDER
from runners.node.core_kinds.declared import parse_kinds
from runners.node.node import open_node
from runners.node.topology import topology_json
from tests.support.trees import build_tree


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("P=0-7,E=8-23", {"P": "0-7", "E": "8-23"}),
        ("E=4-11,LP-E=12-13,P=0-3", {"P": "0-3", "E": "4-11", "LP-E": "12-13"}),
        ("P=0-3,12-15,E=4-11,16-23", {"P": "0-3,12-15", "E": "4-11,16-23"}),
        (" P = 0-1 , E = 2 ", {"P": "0-1", "E": "2"}),
        ("E=0-7", {"E": "0-7"}),
    ],
)
def test_kinds_are_parsed_best_first(text: str, expected: dict[str, str]) -> None:
    found = {name: format_cpulist(cpus) for name, cpus in parse_kinds(text).items()}
    assert found == expected
    assert list(found) == [name for name in KIND_ORDER if name in expected]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("p=0", "'p' is not known; did you mean 'P'?"),
        ("LPE=0", "did you mean 'LP-E'?"),
        ("X=0", "(known: P, E, LP-E)"),
        ("0-7", "does not start with a kind"),
        ("", "does not start with a kind"),
        ("P=", "P has no CPUs"),
        ("P=0,P=1", "P is named twice"),
        ("P=0-3,E=3-7", "CPUs 3 are given to both P and E"),
        ("P=a-b", "'a-b' is not a CPU number or a range"),
        ("P=7-0", "not an ascending range"),
    ],
)
def test_mistakes_say_what_is_wrong_and_how_to_write_it(text: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        parse_kinds(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("--kinds: ")
    assert "\n" not in str(caught.value)


def test_declared_kinds_replace_what_the_node_shows_and_are_marked(tmp_path: Path) -> None:
    topology = open_node(build_tree(tmp_path, "kvm-guest"), "P=0,E=1").topology
    assert [(kind.name, kind.cpus, kind.declared) for kind in topology.kinds] == [
        ("P", (0,), True),
        ("E", (1,), True),
    ]
    assert topology.kinds[0].evidence == "declared by --kinds P=0,E=1"
    assert [core.kind for core in topology.cores] == ["P", "E"]
    assert topology_json(topology)["kinds"][0]["declared"] is True


def test_declared_kinds_that_contradict_the_node_are_noted(tmp_path: Path) -> None:
    root = build_tree(tmp_path, "i9-14900k-noht")
    shown = "not those that the node shows: P 0-7, E 8-23"
    assert shown not in "; ".join(open_node(root, "P=0-7,E=8-23").topology.notes)
    assert shown in "; ".join(open_node(root, "P=0-15,E=16-23").topology.notes)


def test_cpus_that_are_not_named_are_in_no_kind(tmp_path: Path) -> None:
    topology = open_node(build_tree(tmp_path, "i9-14900k-noht"), "P=0-3,E=8-15").topology
    assert topology.kind_of(4) is None
    assert [core.kind for core in topology.cores if core.cpus in ((4,), (16,))] == ["", ""]
    assert topology.online == tuple(range(24))
    assert any("CPUs 4-7,16-23; they are in no kind" in note for note in topology.notes)


@pytest.mark.parametrize(
    ("kinds", "message"),
    [("P=0-8,E=9-11", "CPUs 9-11 are offline"), ("P=0,E=40", "40 are not there")],
)
def test_cpus_that_cannot_be_used_cannot_be_declared(
    tmp_path: Path, kinds: str, message: str
) -> None:
    root = build_tree(tmp_path, "synthetic-forest")
    with pytest.raises(UserError, match=message):
        open_node(root, kinds)


def test_siblings_declared_to_be_of_two_kinds_are_two_cores(tmp_path: Path) -> None:
    topology = open_node(build_tree(tmp_path, "adl0"), "P=0,2,4,6,E=1,3,5,7").topology
    assert [(core.cpus, core.kind) for core in topology.cores][:2] == [((0,), "P"), ((1,), "E")]


@given(st.text(alphabet="PELX-=,0123456789 \n\x00é", max_size=40))
def test_any_text_is_kinds_or_a_mistake_of_one_line(text: str) -> None:
    try:
        declared = parse_kinds(text)
    except UserError as error:
        assert "\n" not in str(error)
    else:
        assert declared and set(declared) <= set(KIND_ORDER)
        listed = [cpu for cpus in declared.values() for cpu in cpus]
        assert len(listed) == len(set(listed))
