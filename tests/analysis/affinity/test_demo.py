"""What a demo finds in made-up results whose effects are known, and its words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pinstudy.analysis.affinity.demo import Demo, demo_findings
from pinstudy.analysis.answer import analyze
from pinstudy.analysis.results.sources import open_results
from pinstudy.analysis.words import demo as words
from tests.analysis.affinity.made_demo import NO_SIBLINGS, MadeDemo, make_demo


def found(folder: Path, made: MadeDemo | None = None) -> Demo:
    results = open_results(str(make_demo(folder, made)))
    return demo_findings(results, analyze(results))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return found(tmp_path_factory.mktemp("demo"))


@pytest.mark.parametrize(
    ("effect", "name", "truth"),
    [
        ("contention", "ratio", 4.0),
        ("contention", "unpinned_ms", 5.0),
        ("contention", "one_cpu_ms", 1.25),
        ("false sharing", "ratio", 6.4),
        ("false sharing", "one_line_ms", 8.0),
        ("one core", "sum_one_core_ratio", 1.0),
        ("one core", "sine_one_core_ratio", 1.75),
        ("one core", "sine_one_cpu_ratio", 2.0),
        # Planted: 28 ns within an E-cluster is the nearest group, 45 ns the farthest pairs.
        ("who ran where", "unpinned_moves_per_s", 37.0),
        ("who ran where", "unpinned_cpus", 6),
        ("who ran where", "pinned_cpus", 2),
    ],
)
def test_each_effect_has_the_number_that_was_planted(
    demo: Demo, effect: str, name: str, truth: float
) -> None:
    row = next(row for row in demo.rows if row.effect == effect)
    assert row.why_not == ""
    # Noise of 1 % a run, five pairs: 0.6 % of error.
    assert row.values[name] == pytest.approx(truth, rel=0.03)


def test_a_ratio_the_other_way_round_has_the_ends_of_its_interval_in_order(demo: Demo) -> None:
    for row in demo.rows[:2]:
        low, ratio, high = (row.values[f"ratio{end}"] for end in ("_low", "", "_high"))
        assert isinstance(low, float)
        assert isinstance(ratio, float)
        assert isinstance(high, float)
        assert low < ratio < high
        assert high / ratio == pytest.approx(ratio / low)
    # Groups of CPUs are the nearest and the farthest.
    near, far = (float(str(demo.rows[3].values[name])) for name in ("near_ns", "far_ns"))
    assert near < far


@pytest.mark.parametrize(
    ("made", "effect", "why"),
    [
        (MadeDemo(left_out=["siblings-pin"]), "one core", NO_SIBLINGS),
        (MadeDemo(cpus="0"), "contention", words.ONE_CPU),
        (MadeDemo(cpus="0"), "false sharing", words.ONE_CPU),
        (MadeDemo(repetitions=1), "contention", "too few runs, or not in turn"),
        (MadeDemo(repetitions=9, in_modes=["unpinned"]), "contention", "runs in several modes"),
        (MadeDemo(apps=["smt"], latency=False), "contention", words.NOT_YET),
        (MadeDemo(apps=["smt"], latency=False), "who ran where", words.NOT_YET),
        (MadeDemo(apps=["smt"], latency=False), "latency", words.NOT_YET),
    ],
)
def test_what_could_not_be_shown_has_its_reason(
    tmp_path: Path, made: MadeDemo, effect: str, why: str
) -> None:
    row = next(row for row in found(tmp_path, made).rows if row.effect == effect)
    assert row.why_not == why
    assert why in words.sentence(row.effect, row.values, row.why_not)
    assert not any(key.endswith("ratio") and value == 0 for key, value in row.values.items())


def test_why_latencies_could_not_be_measured_is_read_from_beside_the_records(
    tmp_path: Path,
) -> None:
    make_demo(tmp_path, MadeDemo(latency=False))
    reason = {"unavailable": {"latency": "pingpong-pthreads is not built"}}
    (tmp_path / "latency-unavailable.json").write_text(json.dumps(reason))
    results = open_results(str(tmp_path))
    row = demo_findings(results, analyze(results)).rows[3]
    assert row.why_not == "pingpong-pthreads is not built"


RATIO: words.Values = {"ratio": 4.06, "ratio_low": 3.52, "ratio_high": 4.31, "outcome": "worse"}
PAIRS: words.Values = {"near": "L3", "far": "L3"}


@pytest.mark.parametrize(
    ("effect", "values", "expected"),
    [
        ("contention", RATIO,
         "Four threads on two lines: 4.1 times as long unpinned (3.5 to 4.3)."),
        ("contention", {**RATIO, "ratio": 1.06, "ratio_low": 0.7, "outcome": "undecided"},
         "Four threads on two lines: not distinguishable, 1.06 times as long unpinned (0.70 to "
         "4.31)."),
        ("false sharing", {"ratio": 2.5, "ratio_low": None, "ratio_high": None},
         "The same two counters in one line: 2.50 times as long."),
        ("one core", {"sum_one_core_ratio": 1.0, "sine_one_core_ratio": 1.75},
         "Two threads on one core: a sum takes 1.00 times, a sine takes 1.75 times the time "
         "alone."),
        ("latency", {"near": "L2", "near_ns": 21.04, "far": "all measured", "far_ns": 64.4,
                     "pairs_of_node": 28},
         "A cache line takes 21.0 ns within a cluster (L2), 64.4 ns across the node."),
        ("latency", {**PAIRS, "near_ns": 76.7, "far_ns": 76.7, "pairs_of_node": 1},
         "A cache line takes 76.7 ns from one CPU to the other."),
        ("latency", {**PAIRS, "near_ns": 3.99e6, "far_ns": 3.99e6, "pairs_of_node": 6},
         "A cache line takes 3.99 ms below one L3 cache."),
        ("who ran where", {"threads": 4, "unpinned_cpus": 6, "unpinned_moves_per_s": 37.0,
                           "pinned_cpus": 2, "pinned_moves_per_s": 0.0},
         "4 unpinned threads were seen on 6 CPUs and moved 37 times a second; pinned, 0 times."),
    ],
)  # fmt: skip
def test_an_effect_is_one_sentence_with_its_number(
    effect: str, values: words.Values, expected: str
) -> None:
    said = words.sentence(effect, values, "")
    assert said == expected
    assert len(said.split()) <= 25


def test_a_line_of_the_terminal_says_what_is_not_distinguishable() -> None:
    values = {**RATIO, "ratio": 1.06, "ratio_low": 0.7, "outcome": "undecided"}
    for effect in ("contention", "false sharing"):
        cell = words.cells(effect, values, "")[-1]
        assert cell == "not distinguishable, 1.06 times (0.70 to 4.31)"
        assert words.cells(effect, RATIO, "")[-1] == "4.1 times (3.5 to 4.3)"


def test_times_that_are_shown_but_not_compared_are_not_called_missing() -> None:
    values = {"unpinned_ms": 4.38, "one_cpu_ms": 2.39}
    assert words.sentence("contention", values, "too many runs lost") == (
        "Not compared: too many runs lost."
    )
    assert words.sentence("contention", {}, "too many runs lost") == (
        "Not shown: too many runs lost."
    )
