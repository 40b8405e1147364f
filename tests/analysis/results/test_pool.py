"""Interchangeable nodes that divide a study: one result, with what tells them apart."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.answer import analyze
from analysis.records.runs import MADE_ON
from analysis.results.caveats import pool_footnote
from analysis.results.node_files import node_sheets
from analysis.results.sources import Results, open_results
from tests.support.results import Study, compared, write

CASES = ("a", "b", "c")


def frame_of(nodes: dict[str, float], blocks: int, noise: float, seed: int) -> pd.DataFrame:
    """Return the runs of nodes that take so many times as long, blocks dealt out in turn.

    Each block has a disturbance of its own that all of its runs share.
    """
    random = np.random.default_rng(seed)
    names = list(nodes)
    rows = []
    for block in range(1, blocks + 1):
        node = names[block % len(names)]
        of_all = random.normal(0, noise)
        for number, case in enumerate(CASES, 1):
            of_run = random.normal(0, noise / 3)
            elapsed_s = number * nodes[node] * float(np.exp(of_all + of_run))
            rows.append(
                {
                    "case_id": case,
                    "block": float(block),
                    MADE_ON: node,
                    "status": "ok",
                    "warmup": False,
                    "elapsed_s": elapsed_s,
                }
            )
    return pd.DataFrame(rows)


def test_runs_of_one_node_have_no_footnote() -> None:
    assert pool_footnote(frame_of({"n1": 1.0}, 4, 0.01, 1).drop(columns=MADE_ON)) == ""


def test_many_nodes_are_tested_for_a_difference() -> None:
    names = {f"compute-node-{number:03d}": 1.0 for number in range(40)}

    text = pool_footnote(frame_of(names, 80, 0.01, 1))

    assert "compute-node-039 (2 blocks); " in text
    assert "Alexander-Govern" in text


def test_nodes_that_are_alike_are_told_apart_in_about_five_of_a_hundred_studies() -> None:
    differences = [
        "longer than" in pool_footnote(frame_of({"n1": 1.0, "n2": 1.0, "n3": 1.0}, 24, 0.02, seed))
        for seed in range(400)
    ]
    # Binomial, 400 studies at 5 %: 99.9 % of such simulations have 5 to 37.
    assert 5 <= sum(differences) <= 37


def test_a_slow_node_is_named_with_how_slow_it_is() -> None:
    for seed in range(20):
        footnote = pool_footnote(frame_of({"n1": 1.0, "n2": 1.05}, 20, 0.005, seed))
        found = re.search(r"n2 took ([\d.]+) % longer than n1", footnote)
        assert found, footnote
        assert float(found[1]) == pytest.approx(5.0, abs=1.0)


def test_one_block_of_a_node_is_not_compared() -> None:
    footnote = pool_footnote(frame_of({"n1": 1.0, "n2": 1.0}, 3, 0.01, 1))
    assert "n1 (1 block), n2 (2 blocks); whether they differ needs 2 blocks on each" in footnote


def divided(tmp_path: Path, crossed: bool = False) -> Results:
    """Open a study of two mappings, divided over two nodes, the second of which is slow.

    When it is `crossed`, every block's two runs are of different nodes: attempts that continued.
    """
    study = Study({"unpinned": 1.0, "pcores-pin": 1.1}, repetitions=12, noise=0.001)
    runs = []
    for run in study.records():
        second = (run["repetition"] + (crossed and run["mapping"] == "pcores-pin")) % 2
        of_node = {"node_id": f"n{second + 1}", "attempt": second + 1, "pool": "split-there"}
        of_node |= {"boot_id": str(second)} if crossed else {}
        runs.append(run | of_node | {"elapsed_s": run["elapsed_s"] * (1 + second)})
    write(tmp_path, runs)
    return open_results(str(tmp_path))


def test_a_pool_stands_for_its_nodes_in_title_tables_and_verdict(tmp_path: Path) -> None:
    results = divided(tmp_path)
    assert results.runs is not None
    assert set(results.runs.frame["node_id"]) == {"split-there"}
    assert set(results.runs.frame[MADE_ON]) == {"n1", "n2"}
    assert any("took 100 % longer" in footnote for footnote in results.footnotes), results.footnotes
    findings = analyze(results)
    # Each pair is of one node: a node of half the speed changes no ratio, and is no drift.
    interval = compared(findings).difference.interval()
    assert 1.1 in interval
    assert interval.half_width < 0.002
    assert findings.drift is not None
    assert findings.drift.steps == ()


def test_interchangeable_nodes_with_one_file_have_all_their_names(tmp_path: Path) -> None:
    results = divided(tmp_path)
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "n1.json").write_text('{"node_id": "n2"}')
    (sheet,) = node_sheets(results)
    assert sheet.name == "n1, n2"


def test_runs_of_a_block_that_different_nodes_made_are_no_pair(tmp_path: Path) -> None:
    interval = compared(analyze(divided(tmp_path, crossed=True))).difference.interval()
    assert interval.half_width > 0.15
