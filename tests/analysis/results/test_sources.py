"""What can be opened as one result: which runs belong together, and what is said where none do."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.records.runs import MADE_ON
from pinstudy.analysis.results.caveats import pool_footnote
from pinstudy.analysis.results.node_files import node_sheets
from pinstudy.analysis.results.sources import Results, folders_for, open_results, sources_below
from pinstudy.analysis.words.overview import note_texts
from pinstudy.base.errors import UserError
from pinstudy.runners.node.node import open_node
from tests.analysis.results.test_summaries import HEADER, ROW
from tests.support.cli import pinstudy
from tests.support.results import Record, Study, compared, record, write
from tests.support.trees import Machine, build_tree
from tests.support.trees import write as write_file


def test_a_folder_has_runs_and_cases_or_means_without_runs(tmp_path: Path) -> None:
    write(tmp_path / "runs", [record(1, 1, kinds_declared=True), record(1, 2)])
    (tmp_path / "means").mkdir()
    (tmp_path / "means" / "summaries.csv").write_text(HEADER + ROW)

    of_runs, of_means = (open_results(str(tmp_path / name)) for name in ("runs", "means"))

    assert of_runs.runs is not None
    assert (len(of_runs.runs.frame), [case.n for case in of_runs.cases]) == (2, [2])
    assert (of_runs.folder, of_runs.name) == (tmp_path / "runs", str(tmp_path / "runs"))
    assert of_runs.footnotes == ("core kinds declared by hand",)
    assert of_means.runs is None
    assert [case.time.mean for case in of_means.cases] == [45.073]
    assert any("without their runs" in footnote for footnote in of_means.footnotes)
    (tmp_path / "runs" / "summaries.csv").write_text(HEADER + ROW)
    with pytest.raises(UserError, match=r"holds runs .* and means without runs"):
        open_results(str(tmp_path / "runs"))


def test_a_publication_has_cases_and_says_who_published_them() -> None:
    results = open_results("published:galante-2025")
    assert (results.runs, results.folder, len(results.cases)) == (None, None, 75)
    assert "Galante and Oyamada" in results.footnotes[0]


@pytest.mark.parametrize("name", ["galante2025", "", "../galante-2025", "galante-2025\0"])
def test_an_unknown_publication_is_answered_with_those_there_are(name: str) -> None:
    with pytest.raises(UserError, match=r"is not known.*\(known: .*galante-2025, .*isopov-2024"):
        open_results(f"published:{name}")


@pytest.mark.parametrize("name", ["nothing", "empty", "nothing\0"])
def test_a_folder_without_results_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no results here"):
        open_results(str(tmp_path / name))


def test_of_several_nodes_one_has_to_be_named(tmp_path: Path) -> None:
    for node in ("b", "a"):
        write(tmp_path / "study" / node, [record(1, 1)])
    assert sources_below(str(tmp_path)) == [str(tmp_path / "study" / node) for node in "ab"]
    with pytest.raises(UserError, match=r"several nodes or studies; .*study/a, .*study/b"):
        open_results(str(tmp_path))


def test_files_about_one_node_in_two_studies_do_not_meet(tmp_path: Path) -> None:
    for study in ("a", "b"):
        write(tmp_path / study / "node1", [record()])
    into = Path("elsewhere")
    assert folders_for(str(tmp_path), into) == [
        (str(tmp_path / study / "node1"), into / study / "node1") for study in ("a", "b")
    ]
    assert folders_for(str(tmp_path / "a"), into) == [(str(tmp_path / "a" / "node1"), into)]
    assert folders_for(str(tmp_path / "a"), None) == [(str(tmp_path / "a" / "node1"), None)]
    # A study's folder stands for its only node.
    assert open_results(str(tmp_path / "a")).folder == tmp_path / "a" / "node1"


def test_runs_of_two_kernels_are_refused_by_what_differs(tmp_path: Path) -> None:
    root = build_tree(tmp_path, Machine(cores=("0",)))
    nodes = tmp_path / "results" / "nodes"
    nodes.mkdir(parents=True)
    runs = []
    for number, release in enumerate(("6.1.0-55-amd64", "6.1.0-56-amd64"), 1):
        write_file(root, "proc/sys/kernel/osrelease", release)
        node = open_node(root)
        (nodes / f"{node.digest}.json").write_text(json.dumps(node.facts))
        runs.append(record(1, number, node_digest=node.digest))
    write(tmp_path / "results", runs)

    with pytest.raises(UserError) as refused:
        open_results(str(tmp_path / "results"))

    assert "before and after node 'node1' changed" in str(refused.value)
    assert "kernel was '6.1.0-55-amd64', now '6.1.0-56-amd64'" in str(refused.value)
    for file in nodes.iterdir():
        file.unlink()
    with pytest.raises(UserError, match="compare the files in"):
        open_results(str(tmp_path / "results"))


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"node_id": "b"}, r"holds runs of several nodes \('b', 'node1'\)"),
        ({"study": "b"}, r"holds runs of several studies \('b', 'paper-serial'\)"),
        ({"node_digest": "b"}, "before and after node 'node1' changed"),
        ({"program_digest": "b"}, "two programs"),
        ({"study_digest": "e" * 64}, r"both in records/node1-0001\.jsonl"),
    ],
)
def test_runs_made_elsewhere_are_refused_and_no_second_records(
    tmp_path: Path, fields: Record, problem: str
) -> None:
    first = [record(1, number, program_digest="a") for number in (1, 2)]
    write(tmp_path, [*first, *(run | fields for run in first)])
    with pytest.raises(UserError, match=problem):
        open_results(str(tmp_path))


@pytest.mark.parametrize("command", ["tables --format csv", "verdict --json", "report", "figures"])
def test_a_command_refuses_runs_of_several_studies_and_writes_nothing(
    tmp_path: Path, command: str
) -> None:
    write(tmp_path, [record(1, n, study=name) for n, name in enumerate("ab", 1)])
    done = pinstudy(tmp_path, *command.split(), str(tmp_path), status=2)
    assert done.stdout == "" and "holds runs of several studies ('a', 'b')" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["records"]


def test_runs_of_two_studies_of_one_name_are_refused_by_their_files(tmp_path: Path) -> None:
    write(tmp_path, [record(1, n) for n in (1, 2)])
    write(tmp_path, [record(1, n, study_digest="e" * 64) for n in (3, 4)], attempt=2)
    with pytest.raises(UserError) as refused:
        open_results(str(tmp_path))
    line = str(refused.value)
    assert "holds runs of two studies named 'paper-serial', or of before and" in line
    assert "(records/node1-0001.jsonl of the one, records/node1-0002.jsonl of the " in line
    assert "move the files of one of the two out of records/" in line


FIRST, SECOND = "a" * 64, "b" * 64


def test_runs_of_two_builds_are_never_averaged(tmp_path: Path) -> None:
    write(tmp_path, [record(1, 1, program_digest=FIRST), record(2, 1, program_digest=SECOND)])
    (tmp_path / "programs").mkdir()
    for digest, content in ((FIRST, "1" * 64), (SECOND, "2" * 64)):
        files = {"program": {"path": "/opt/lulesh", "sha256": content}}
        (tmp_path / "programs" / f"{digest}.json").write_text(json.dumps({"files": files}))

    with pytest.raises(UserError) as refused:
        open_results(str(tmp_path))

    assert "two programs for lulesh-serial, size paper, threads 1: " in str(refused.value)
    assert "'program' was 111111111111, now 222222222222: /opt/lulesh" in str(refused.value)


@pytest.mark.parametrize("file", ["", "[]", "{}", '{"files": 1}', '{"files": {"program": 1}}'])
def test_runs_of_two_builds_are_refused_whatever_is_known_of_them(
    tmp_path: Path, file: str
) -> None:
    digests = FIRST, "../" + "b" * 61
    write(tmp_path, [record(1, n, program_digest=digest) for n, digest in enumerate(digests, 1)])
    (tmp_path / "programs").mkdir()
    (tmp_path / "programs" / f"{FIRST}.json").write_text(file)
    with pytest.raises(UserError, match="which files differ is not known"):
        open_results(str(tmp_path))


def test_builds_sizes_and_thread_counts_are_programs_of_their_own(tmp_path: Path) -> None:
    fields: list[Record] = [{}, {"build": "libgomp"}, {"size": "s2"}, {"threads": 2}]
    runs = [
        record(1, 1, case_id=f"c{at}", program_digest=f"{at}" * 64, **unlike)
        for at, unlike in enumerate(fields)
    ]
    write(tmp_path, [*runs, record(1, 2, case_id="c0")])
    assert open_results(str(tmp_path)).runs is not None


ATTEMPTS = {1: {"epp": "power"}, 2: {"epp": "performance"}}


def test_settings_that_were_not_the_same_in_all_runs_of_a_row_are_told(tmp_path: Path) -> None:
    limits = {n: {"power_limits": {"package-0": {"pl1_w": 45.0 + n}}} for n in (1, 2)}
    same = {"min_khz": {"400000": "0-7"}}
    write(tmp_path / "row", [record(1, n, attempt=n, **same, **ATTEMPTS[n], **limits[n])
                             for n in (1, 2)])  # fmt: skip
    write(tmp_path / "rows", [record(n, 1, **ATTEMPTS[n]) for n in (1, 2)])

    notes = [note for note in open_results(str(tmp_path / "row")).footnotes if "settings" in note]

    assert "EPP power (attempt 1); performance (attempt 2)" in notes[0]
    assert "PL1 of package-0 (W) 46 (attempt 1); 47 (attempt 2)" in notes[0]
    assert len(notes) == 1 and "lowest" not in notes[0]
    # Rows with settings of their own are no difference.
    assert "settings" not in " ".join(open_results(str(tmp_path / "rows")).footnotes)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        # By row: its attempt and what was recorded of it.
        (
            [(1, {"preemption": "lazy"}), (1, {"preemption": "lazy"}), (2, {"preemption": "full"})],
            "preemption lazy (attempt 1); full (attempt 2)",
        ),
        (
            [(1, {"driver_mode": "active", "floor_khz": {"400000": "0-7"}}),
             (3, {"driver_mode": "active, dynamic EPP", "floor_khz": {"800000": "0-7"}})],
            "floor of frequency (kHz) 400000 on 0-7 (attempt 1); 800000 on 0-7 (attempt 3); "
            "mode of the frequency driver active (attempt 1); active, dynamic EPP (attempt 3)",
        ),
        # The study switched it itself, or it is not known of all.
        ([(1, {"sched_cache_aware": "on"}), (1, {"sched_cache_aware": "off"})], ""),
        ([(1, {"preemption": "lazy"}), (2, {})], ""),
    ],
)  # fmt: skip
def test_rows_that_were_made_after_somebody_switched_the_node_are_told(
    tmp_path: Path, rows: list[tuple[int, dict[str, Any]]], told: str
) -> None:
    write(tmp_path, [record(number, 1, attempt=attempt, **settings)
                     for number, (attempt, settings) in enumerate(rows, 1)])  # fmt: skip
    notes = [note for note in open_results(str(tmp_path)).footnotes if "for all rows" in note]
    assert notes == [f"settings that were not the same for all rows: {told}"] * bool(told)


def test_runs_in_two_environments_are_told_with_what_differs(tmp_path: Path) -> None:
    (tmp_path / "environments").mkdir()
    for value, digest in enumerate((FIRST, SECOND)):
        file = tmp_path / "environments" / f"{digest}.json"
        file.write_text(json.dumps({"variables": {"OMP_STACKSIZE": f"{value}M"}}))
    write(tmp_path, [record(1, n, environment_digest=digest)
                     for n, digest in enumerate((FIRST, SECOND), 1)])  # fmt: skip
    footnote = "runs of a row inherited unlike variables: OMP_STACKSIZE was '0M', now '1M'"
    assert footnote in open_results(str(tmp_path)).footnotes


# Interchangeable nodes that divide a study are one result, with what tells them apart.
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
        for number, case in enumerate("abc", 1):
            of_run = random.normal(0, noise / 3)
            elapsed_s = number * nodes[node] * float(np.exp(of_all + of_run))
            rows.append((case, float(block), node, "ok", False, elapsed_s))
    columns = ["case_id", "block", MADE_ON, "status", "warmup", "elapsed_s"]
    return pd.DataFrame(rows, columns=columns)


def test_many_nodes_are_tested_for_a_difference_and_one_is_not() -> None:
    names = {f"compute-node-{number:03d}": 1.0 for number in range(40)}
    text = pool_footnote(frame_of(names, 80, 0.01, 1))
    assert "compute-node-039 (2 blocks); " in text
    assert "Alexander-Govern" in text
    assert pool_footnote(frame_of({"n1": 1.0}, 4, 0.01, 1).drop(columns=MADE_ON)) == ""
    few = pool_footnote(frame_of({"n1": 1.0, "n2": 1.0}, 3, 0.01, 1))
    assert "n1 (1 block), n2 (2 blocks); whether they differ needs 2 blocks on each" in few


def test_like_nodes_are_told_apart_in_about_five_of_a_hundred_studies() -> None:
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
        if run["repetition"] <= 2 and not crossed:
            runs.append(run | of_node | {"warmup": True, "block": 0, "repetition": 1})
        runs.append(run | of_node | {"elapsed_s": run["elapsed_s"] * (1 + second)})
    write(tmp_path, runs)
    return open_results(str(tmp_path))


def test_a_pool_stands_for_its_nodes_in_title_tables_and_verdict(tmp_path: Path) -> None:
    results = divided(tmp_path)
    assert results.runs is not None
    assert set(results.runs.frame["node_id"]) == {"split-there"}
    assert set(results.runs.frame[MADE_ON]) == {"n1", "n2"}
    assert any("took 100 % longer" in footnote for footnote in results.footnotes), results.footnotes
    # The overview has first clauses, and names no node alone.
    assert "divided over interchangeable nodes" in note_texts(results.footnotes, ())
    # Each node makes the warm-up runs.
    assert results.runs.frame["warmup"].sum() == 4
    assert not any("more than one record" in footnote for footnote in results.footnotes)
    findings = analyze(results)
    # Each pair is of one node: a node of half the speed changes no ratio, and is no drift.
    interval = compared(findings).difference.interval()
    assert 1.1 in interval
    assert interval.half_width < 0.002
    assert findings.drift is not None
    assert findings.drift.steps == ()
    # Their one file has all their names.
    (tmp_path / "nodes").mkdir()
    (tmp_path / "nodes" / "n1.json").write_text('{"node_id": "n2"}')
    assert [sheet.name for sheet in node_sheets(results)] == ["n1, n2"]


def test_runs_of_a_block_that_different_nodes_made_are_no_pair(tmp_path: Path) -> None:
    interval = compared(analyze(divided(tmp_path, crossed=True))).difference.interval()
    assert interval.half_width > 0.15
