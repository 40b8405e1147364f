"""What a first look at a node shows at its end: short, whatever came out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from analysis.answer import analyze
from analysis.findings.answers import answers_of
from analysis.format.lines import length
from analysis.overview.configurations import overviews_of
from analysis.overview.lines import entries, next_entry
from analysis.overview.terminal import overview_lines
from analysis.results.sources import Results, open_results
from tests.analysis.report.made_results import DIGEST, node
from tests.support.golden import GoldenFile
from tests.support.results import Record, Study, in_table, left_out, plain, write

TIMES_S = {"lulesh": 0.28, "mandelbrot": 0.66, "lu": 0.51}
NO_PMU = "not supported by this node (no hardware PMU in this virtual machine)"
LACKING = {
    "freq_mean_ghz": f"cycles: {NO_PMU}",
    "cache_misses": f"cache-misses: {NO_PMU}",
    "energy_pkg_j": "powercap: /sys/class/powercap is missing: no energy counters (usual in "
    "virtual machines); perf: no power PMU here",
}
EQUAL = {"unpinned": 1.0, "pcores-set": 1.01, "pcores-pin": 0.99}
PINNED = {"unpinned": 1.0, "pcores-set": 0.95, "pcores-pin": 0.9}
BUSY = {"foreign_cpu_s": 0.9, "foreign_tasks": [{"command": "python3", "cpu_s": 0.8}]}


def quick(times: Mapping[str, float], noise: float, repetitions: int = 5) -> list[Record]:
    """Return the runs of three programs with one and two threads on a virtual machine."""
    runs = []
    for number, (app, threads) in enumerate(product(TIMES_S, (1, 2)), 1):
        of_table = {
            "app": app, "size": "quick", "threads": threads, "build": "libgomp",
            "schedule": "static,1" if app == "lu" else "static", "study_file": "quick",
            "governor": "current", "governor_read": None,
        } | {"study": "quick"}  # fmt: skip
        made = Study(times, repetitions=repetitions, noise=noise, seed=number + 20).records()
        gone = [
            left_out(row, "the node has no E-cores") | {"mapping": mapping, "run_id": mapping}
            for row, mapping in ((4, "ecores-set"), (5, "ecores-pin"))
        ]
        for run in in_table(number, [*made, *gone]):
            elapsed_s = run.get("elapsed_s", 0.0) / 40 * TIMES_S[app] / threads**0.9
            measured = {**dict.fromkeys(LACKING), "unavailable": LACKING}
            measured |= {"elapsed_s": elapsed_s, "user_s": elapsed_s}
            runs.append(run | of_table | (measured if run["status"] == "ok" else {}))
    return runs


def disturbed() -> list[Record]:
    return [
        run | BUSY if run["status"] == "ok" and run["repetition"] <= 2 else run
        for run in quick(EQUAL, 0.03)
    ]


def with_lost_runs() -> list[Record]:
    """One run in ten of a mapping timed out, and all of another failed."""
    timed_out = {"status": "timeout", "reason": "ended after its limit of 60 s"}
    failed = {"status": "failed", "reason": "exit status 134: mesh volume is negative"}

    def end(run: Record) -> Record:
        if (run["mapping"], run.get("repetition")) == ("pcores-set", 7):
            return run | timed_out
        is_bad = run["mapping"] == "pcores-pin" and run["app"] == "lulesh"
        return run | failed if is_bad and run["threads"] == 2 else run

    return [end(run) for run in quick(PINNED, 0.003, repetitions=10)]


def of_two_nodes() -> list[Record]:
    return [
        run | {"pool": "thin", "node_id": f"node{run['repetition'] % 2 + 1}"}
        if run["status"] == "ok"
        else run | {"pool": "thin"}
        for run in quick(PINNED, 0.003)
    ]


MADE: Mapping[str, Callable[[], list[Record]]] = {
    "undecided": lambda: quick(EQUAL, 0.03),
    "decided": lambda: quick(PINNED, 0.003),
    "disturbed": disturbed,
    "lost": with_lost_runs,
    "nodes": of_two_nodes,
}


@pytest.fixture(params=MADE)
def results(tmp_path: Path, request: pytest.FixtureRequest) -> Results:
    return results_of(tmp_path, MADE[request.param]())


def results_of(folder: Path, records: Iterable[Record]) -> Results:
    """Return results of a node that says what it is, in a folder as `run` names it."""
    place = folder / "quick" / "node1"
    write(place, [run | {"node_digest": DIGEST} for run in records])
    (place / "nodes").mkdir()
    (place / "nodes" / f"{DIGEST}.json").write_text(json.dumps(node()))
    return open_results(str(place))


def shown(results: Results, width: int) -> str:
    findings = analyze(results)
    text = plain(overview_lines(results, findings, answers_of(results, findings), width))
    return text.replace(str(results.folder.parents[1] if results.folder else ""), "RESULTS")


def test_it_is_as_before(results: Results, snapshot: SnapshotAssertion) -> None:
    assert shown(results, 100) == snapshot(extension_class=GoldenFile)


@pytest.mark.parametrize(("width", "most"), [(100, 24), (80, 28)])
def test_it_fits_on_a_screen(results: Results, width: int, most: int) -> None:
    text = shown(results, width)
    # What was lost takes two lines more.
    assert len(text.splitlines()) <= most + 2 * ("\nLost " in text)
    assert max(len(line) for line in text.splitlines()) <= width


def test_no_part_of_it_has_more_than_25_words(results: Results) -> None:
    findings = analyze(results)
    below = entries(results, findings, answers_of(results, findings), overviews_of(findings))
    for entry in (*below, next_entry(results, findings)):
        for part in entry.parts:
            assert part.startswith("`") or len(part.split()) <= 25, part


def test_an_entry_takes_two_lines_at_most(results: Results) -> None:
    findings = analyze(results)
    lines = overview_lines(results, findings, answers_of(results, findings), 100)
    below = plain(lines).split("\n\n")[-1].splitlines()
    starts = [at for at, line in enumerate(below) if not line.startswith(" ")]
    heights = [
        after - at for at, after in zip(starts, [*starts[1:], len(below)], strict=True)
        if not below[at].startswith(("Levers", "Decision"))
    ]  # fmt: skip
    assert max(heights) <= 2
    # A command line is not cut in two.
    assert max(length(line) for line in lines if "--undecided" not in plain([line])) <= 100


def test_a_disturbed_machine_gets_no_more_repetitions(tmp_path: Path) -> None:
    text = shown(results_of(tmp_path, disturbed()), 100)
    *_, last = text.splitlines()
    assert last == "Next       pinstudy tune   12 cannot be decided here: 36 of 90 runs disturbed"
    below = text.split("\n\n")[-1]
    assert below.startswith(
        "Disturbed  36 of 90 runs shared their CPUs (most often with: python3 36)"
    )
    assert "--undecided" not in text
