"""The cards of a made-up class: each student's changes, by CPU model."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.findings.many_cards import ManyCards, many_cards
from pinstudy.analysis.results.sources import open_results, sources_below
from tests.analysis.affinity.made_demo import MadeDemo, make_demo
from tests.analysis.findings.made_class import MODELS, make_class


def found(*sources: Path) -> ManyCards | None:
    opened = [open_results(name) for source in sources for name in sources_below(str(source))]
    return many_cards([(results, analyze(results)) for results in opened])


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_class(tmp_path_factory.mktemp("class"), 30)


def test_each_student_stands_with_his_cpu_and_the_change_of_each_mapping(cards: Path) -> None:
    plot = found(cards)
    assert plot is not None
    assert plot.count == 30
    assert plot.baselines == ("unpinned",)
    assert plot.mappings == ("same-cpu-pin", "siblings-pin")
    truths = {model.name: model for model in MODELS}
    for name, nodes in plot.groups.items():
        for node in nodes:
            assert node.changes.keys() == truths[name].factors.keys()
            for mapping, change in node.changes.items():
                truth = truths[name].factors[mapping]
                # Laptops of a model differ by 5 or 10 %: five deviations are beyond doubt.
                assert change.ratio == pytest.approx(truth, rel=5 * truths[name].spread + 0.05)
                assert change.interval is not None
                assert change.interval.low < change.ratio < change.interval.high


def test_the_commonest_cpu_stands_first_and_the_fastest_first_in_it(cards: Path) -> None:
    plot = found(cards)
    assert plot is not None
    sizes = [len(nodes) for nodes in plot.groups.values()]
    assert sizes == sorted(sizes, reverse=True)
    for nodes in plot.groups.values():
        ratios = [node.changes["same-cpu-pin"].ratio for node in nodes]
        assert ratios == sorted(ratios)


def test_results_without_the_configuration_are_not_drawn(tmp_path: Path, cards: Path) -> None:
    smt = make_demo(tmp_path / "smt", MadeDemo(latency=False, apps=["smt"]))
    plot = found(cards, smt)
    assert plot is not None
    assert plot.lacking == ("smt",)


def test_nothing_is_drawn_where_nothing_is_compared(tmp_path: Path) -> None:
    threads = make_demo(tmp_path / "threads", MadeDemo(latency=False, apps=["threadmap"]))
    assert found(threads) is None


def test_two_of_one_name_are_told_apart_by_the_folder_above(tmp_path: Path, cards: Path) -> None:
    card = sorted(cards.rglob("*.json"))[0].read_bytes()
    for group in ("monday", "tuesday"):
        (tmp_path / group).mkdir()
        (tmp_path / group / "ada.json").write_bytes(card)
    (tmp_path / "monday" / "eva.json").write_bytes(card)
    plot = found(tmp_path / "monday", tmp_path / "tuesday")
    assert plot is not None
    names = {node.name for nodes in plot.groups.values() for node in nodes}
    assert names == {"monday/ada", "tuesday/ada", "eva"}
