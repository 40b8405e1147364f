"""Studies on nodes of a batch system: what they become, and what a user is told of a wrong one."""

from __future__ import annotations

import pytest

from configs.study import Spread
from tests.configs.shelves import STUDY, mistakes, study_of

# Lines 11 and 12.
ON_NODES = STUDY + "engine: batch\nbatch: {site: there}\n"


def spread_of(section: str) -> Spread | None:
    return study_of(ON_NODES.replace("{site: there}", section)).spread


def test_a_study_names_its_site_and_is_made_on_each_node() -> None:
    study = study_of(ON_NODES)
    assert study.engine == "batch"
    assert study.spread == Spread("there", "per-node")


def test_a_study_may_name_nodes_or_features_to_compare() -> None:
    assert spread_of("{site: there, nodes: [n1, n2]}") == Spread("there", nodes=("n1", "n2"))
    assert spread_of("{site: there, spread: per-node, features: [hybrid, homog]}") == Spread(
        "there", features=("hybrid", "homog")
    )


def test_a_study_may_be_split_over_nodes_with_a_feature() -> None:
    split = "{site: ./there.yaml, spread: split, features: hybrid, workers: 4}"
    assert spread_of(split) == Spread("./there.yaml", "split", features=("hybrid",), workers=4)
    assert spread_of("{site: there, spread: split}") == Spread("there", "split")


def test_how_a_study_is_spread_is_no_part_of_what_is_measured() -> None:
    split = ON_NODES.replace("{site: there}", "{site: here, spread: split, workers: 4}")
    assert study_of(ON_NODES).digest == study_of(STUDY).digest
    assert study_of(split).digest == study_of(STUDY).digest


def test_a_study_on_nodes_says_its_mappings() -> None:
    (problem,) = mistakes(ON_NODES.replace("mappings: [scheduler, pcores-pin]\n", ""))
    assert problem == "x.yaml:1:1: 'mappings' is missing; expected the names of mappings"


@pytest.mark.parametrize(
    ("section", "place", "said"),
    [
        (
            "{spread: split, workers: 4}",
            "{",
            "'site' is missing; expected the name or file of a site",
        ),
        (
            "{site: there, spread: splitt}",
            "splitt",
            (
                "way to spread a study 'splitt' is not known; did you mean 'split'? "
                "(known: per-node, split)"
            ),
        ),
        (
            "{site: there, workers: 4}",
            "workers",
            "per-node has one worker for each node; `spread: split` shares a study",
        ),
        (
            "{site: there, nodes: n1, features: hybrid}",
            "features",
            "nodes and features are both given; expected one of them",
        ),
        (
            "{site: there, spread: split, nodes: [n1, n2]}",
            "nodes",
            ("split takes any interchangeable nodes: name a feature that they share"),
        ),
        (
            "{site: there, spread: split, features: [a, b]}",
            "[a, b]",
            ("split takes nodes with one feature; `spread: per-node` compares nodes"),
        ),
        (
            "{site: there, spread: split, workers: 0}",
            "0",
            ("'0' is not how many nodes share the study: a whole number from 1 to 10000"),
        ),
        (
            "{site: there, nodes: [n1, n 2]}",
            "n 2",
            (
                "'n 2' is not the name of a node: letters, digits and . _ @ - only, "
                "at most 128, the first a letter or digit"
            ),
        ),
        ("there", "there", "'there' is not a table with the key site"),
    ],
)
def test_a_mistake_has_its_place_its_value_and_what_is_allowed(
    section: str, place: str, said: str
) -> None:
    column = len("batch: ") + section.index(place) + 1
    found = mistakes(ON_NODES.replace("{site: there}", section))
    assert found == [f"x.yaml:12:{column}: {said}"]


def test_an_engine_without_its_section_is_told_what_is_missing() -> None:
    assert mistakes(STUDY + "engine: batch\n") == [
        "x.yaml:11:9: engine batch needs the key 'batch', such as batch: {site: example-slurm}"
    ]


@pytest.mark.parametrize(
    ("engine", "instead"),
    [("", "beside it"), ("engine: local\n", "beside it")],
)
def test_the_section_without_its_engine_is_told_what_is_missing(engine: str, instead: str) -> None:
    (problem,) = mistakes(STUDY + engine + "batch: {site: there}\n")
    line = 12 if engine else 11
    assert problem == (
        f"x.yaml:{line}:8: 'batch' is for batch systems: write engine: batch {instead}"
    )


def test_guests_and_nodes_of_a_batch_system_do_not_go_together() -> None:
    in_a_guest = "engine: vm\nvm: {cpus: 2, memory: 1 GiB}\nvcpu_mapping: scheduler\n"
    assert mistakes(STUDY + in_a_guest + "batch: {site: there}\n") == [
        "x.yaml:14:8: 'batch' is for batch systems: write engine: batch instead of vm"
    ]
    assert mistakes(ON_NODES + "vm: {cpus: 2, memory: 1 GiB}\nvcpu_mapping: scheduler\n") == [
        "x.yaml:13:5: 'vm' is for guests: write engine: vm instead of batch",
        "x.yaml:14:15: 'vcpu_mapping' is for guests: write engine: vm instead of batch",
    ]
