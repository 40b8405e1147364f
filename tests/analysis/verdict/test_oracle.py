"""Every number of `pinstudy verdict --json`, reckoned once more from the raw records.

Nothing of the project is used to reckon: Python's statistics, and scipy's tests and bootstrap.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import statistics
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.support.cli import pinstudy
from tests.support.results import Record, record, write

MARGIN = 0.02
FIELDS = {"time": "elapsed_s", "energy": "energy_pkg_j", "edp": "edp_js"}
BINDING = {"unpinned": "none", "pcores-set": "set", "pcores-pin": "pin", "ecores-pin": "pin"}
# app -> mapping -> time and energy as multiples of the baseline's, and the runs that were made.
APPS = {
    "lulesh": {
        "unpinned": (1.0, 1.0, 12),
        "pcores-set": (0.97, 0.99, 7),
        "pcores-pin": (0.969, 1.1, 12),
        "ecores-pin": (1.4, 0.8, 5),
    },
    "lu": {
        "unpinned": (1.0, 1.0, 9),
        "pcores-set": (1.001, 1.0, 9),
        "pcores-pin": (1.012, 1.03, 4),
        "ecores-pin": (1.06, 0.95, 9),
    },
}
GOVERNORS = ("performance", "powersave")


def made_records() -> list[Record]:
    """A study whose cases ended at different repetitions, in two attempts, with what goes wrong."""
    draw = random.Random(4)
    records: list[Record] = []
    for table, (app, mappings) in enumerate(APPS.items(), 1):
        cases = list(enumerate(itertools.product(GOVERNORS, mappings), 1))
        for block, (number, (governor, mapping)) in itertools.product(range(13), cases):
            time, energy, most = mappings[mapping]
            if block > most:
                continue
            # Pairs have no part in what changes from block to block.
            step = 0.02 * (block % 2) if app == "lulesh" else 0.0
            time_s = 20 * table * time * (1 + step) * draw.gauss(1, 0.008)
            energy_j = 900 * energy * draw.gauss(1, 0.006)
            run = record(
                number, block or 1, case_id=f"{app}{number}", table_number=table, block=block,
                warmup=block == 0, run_id=f"{app}{number}-{block}", app=app, build="libgomp",
                threads=4, mapping=mapping, binding=BINDING[mapping], governor=governor,
                selection="all" if mapping == "unpinned" else mapping.split("-")[0],
                elapsed_s=time_s, energy_pkg_j=energy_j, edp_js=time_s * energy_j,
            )  # fmt: skip
            place_in_attempts(run, len(records))
            records.append(run)
    return records + [again for run in records for again in spoilt(run)]


def place_in_attempts(run: Record, at: int) -> None:
    """A second attempt made lulesh's blocks from 6 on, and what could not be run before.

    Runs of lu are in turn, but its blocks overlap.
    """
    in_blocks, last = run["app"] == "lulesh", run["mapping"] == "ecores-pin"
    late = run["block"] >= 6 or last if in_blocks else run["case_number"] == 8
    run["attempt"] = 2 if late else 1
    run["order"] = at if in_blocks or run["mapping"] == "unpinned" else at + 20


def spoilt(run: Record) -> Iterator[Record]:
    """Spoil some runs; yield those that were made again."""
    place = run["app"], run["case_number"], run["block"]
    if place == ("lulesh", 1, 3):
        run.update(status="timeout", reason="took too long", elapsed_s=500.0)
    if place == ("lulesh", 2, 5):
        yield run | {"attempt": 2, "run_id": "again"}
        run.update(status="interrupted", elapsed_s=1.0)
    if place == ("lulesh", 5, 7):
        run["elapsed_s"] *= 1.5
    many = run["block"] % 4 == 1 and place[:2] in (("lulesh", 2), ("lu", 1), ("lu", 6))
    if many or place == ("lulesh", 3, 9):
        for name in ("energy_pkg_j", "edp_js"):
            del run[name]
        run["unavailable"] = {"energy_pkg_j": "the counter wrapped"}


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return made_records()


@pytest.fixture(scope="module")
def answer(records: list[Record], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("made-up")
    for attempt in (1, 2):
        write(folder, [run for run in records if run["attempt"] == attempt], attempt)
    options = ("--json", "--no-files", "--margin", f"{MARGIN:%}")
    done = pinstudy(folder, "verdict", str(folder), *options)
    (found,) = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def good_runs(records: list[Record], case_id: str) -> list[Record]:
    """A case's runs by repetition: good ones, no warm-ups, and of a repeated one the last."""
    by_repetition: dict[int, Record] = {}
    for run in records:
        if run["case_id"] == case_id and not run["warmup"] and run["status"] == "ok":
            by_repetition[run["repetition"]] = run
    return [by_repetition[number] for number in sorted(by_repetition)]


def values(records: list[Record], case_id: str, objective: str) -> list[float]:
    field = FIELDS[objective]
    return [run[field] for run in good_runs(records, case_id) if field in run]


def case_ids() -> Iterator[tuple[str, str]]:
    """Yield each case with its baseline."""
    for app in APPS:
        for number in range(1, 9):
            yield f"{app}{number}", f"{app}{1 if number <= 4 else 5}"


def expected_statistics(sample: list[float]) -> dict[str, Any]:
    n, mean, median = len(sample), statistics.fmean(sample), statistics.median(sample)
    sd = statistics.stdev(sample)
    found: dict[str, Any] = {"n": n, "mean": mean, "median": median, "sd": sd, "cv": sd / mean}
    level = 1 - 2 * stats.norm.cdf(-math.sqrt(n / (n - 1)) * stats.t.ppf(0.975, n - 1))
    for name, statistic in (("mean", np.mean), ("median", np.median)):
        low = high = None
        if n >= 5:
            interval = stats.bootstrap(
                (sample,), statistic, n_resamples=9999, confidence_level=level, vectorized=True,
                random_state=np.random.default_rng(1),
            ).confidence_interval  # fmt: skip
            low, high = float(interval.low), float(interval.high)
        found |= {f"{name}_low": low, f"{name}_high": high}
    mad = statistics.median(abs(value - median) for value in sample)
    scores = [0.6745 * abs(value - median) / mad for value in sample]
    found["outliers"] = [
        (value, score) for value, score in zip(sample, scores, strict=True) if score > 3.5 and n > 4
    ]
    return found


def in_turn(records: list[Record], case_id: str, baseline: str) -> bool:
    """Whether the order of two cases' runs changes between them for two thirds of the runs."""
    mine, theirs = good_runs(records, case_id), good_runs(records, baseline)
    runs = sorted([*mine, *theirs], key=lambda run: (run["attempt"], run["order"]))
    changes: int = sum(a["case_id"] != b["case_id"] for a, b in itertools.pairwise(runs))
    return 3 * changes >= 2 * min(len(mine), len(theirs))


def has_values(records: list[Record], case_id: str, objective: str) -> bool:
    """Whether a tenth at most of a case's runs were lost, or lack the objective's value."""
    runs = [run for run in records if run["case_id"] == case_id and not run["warmup"]]
    made = [run for run in runs if run["status"] != "interrupted"]
    lost = [run for run in made if run["status"] != "ok" or FIELDS[objective] not in run]
    return 10 * len(lost) <= len(made)


def expected_difference(
    records: list[Record], case_id: str, baseline: str, objective: str
) -> dict[str, Any]:
    field = FIELDS[objective]
    mine, theirs = (
        {run["block"]: run for run in good_runs(records, case) if field in run}
        for case in (case_id, baseline)
    )
    a, b = ([math.log(run[field]) for run in runs.values()] for runs in (mine, theirs))
    blocks = [k for k in sorted(mine) if k in theirs and mine[k]["attempt"] == theirs[k]["attempt"]]
    orders = [sorted([mine[block]["order"], theirs[block]["order"]]) for block in blocks]
    apart = all(first[1] < second[0] for first, second in itertools.pairwise(orders))
    paired = len(blocks) >= 2 and apart and 3 * len(blocks) >= 2 * min(len(a), len(b))
    if paired:
        a, b = ([math.log(runs[k][field]) for k in blocks] for runs in (mine, theirs))
    if paired:
        log_ratio, error, df = trimmed([x - y for x, y in zip(a, b, strict=True)], len(a))
    else:
        least = min(len(a), len(b))
        (mean_a, error_a, df_a), (mean_b, error_b, df_b) = trimmed(a, least), trimmed(b, least)
        log_ratio, error = mean_a - mean_b, math.hypot(error_a, error_b)
        df = error**4 / (error_a**4 / df_a + error_b**4 / df_b)
    reach = float(stats.t.ppf(0.975, df)) * error
    beyond = [(math.log1p(MARGIN) + sign * log_ratio) / error for sign in (1, -1)]
    attempts = [
        {run["attempt"] for run in good_runs(records, case)} for case in (case_id, baseline)
    ]
    return {
        "ratio": math.exp(log_ratio),
        "ratio_low": math.exp(log_ratio - reach),
        "ratio_high": math.exp(log_ratio + reach),
        "estimand": "typical",
        "cut_from_each_end": min(len(a), len(b)) // 5 if min(len(a), len(b)) > 6 else 0,
        "boots_or_days": 1,
        "paired": paired,
        "n": min(len(a), len(b)),
        "df": df,
        "p_different": 2 * float(stats.t.sf(abs(log_ratio) / error, df)),
        "p_outside_margin": max(float(stats.t.sf(t, df)) for t in beyond),
        "in_other_attempts": not attempts[0] & attempts[1],
        "error": error,
        "mean_ratio": mean(records, case_id, objective) / mean(records, baseline, objective),
    }


def trimmed(sample: list[float], least: int) -> tuple[float, float, float]:
    """A fifth is cut from each end of seven or more; Yuen's error and degrees of freedom."""
    ordered, n = sorted(sample), len(sample)
    cut = n // 5 if least > 6 else 0
    kept = ordered[cut : n - cut]
    winsorised = [kept[0]] * cut + kept + [kept[-1]] * cut
    squares = statistics.variance(winsorised) * (n - 1)
    error = math.sqrt(squares / (len(kept) * (len(kept) - 1)))
    return statistics.fmean(kept), error, len(kept) - 1 - cut / 2


def mean(records: list[Record], case_id: str, objective: str) -> float:
    return statistics.fmean(values(records, case_id, objective))


def holm(p_values: list[float]) -> list[float]:
    adjusted = []
    for p in p_values:
        smaller = sorted(q for q in p_values if q <= p)
        steps = [(len(p_values) - at) * q for at, q in enumerate(smaller)]
        adjusted.append(min(1.0, max(steps)))
    return adjusted


@pytest.fixture(scope="module")
def expected(records: list[Record]) -> dict[tuple[str, str], dict[str, Any]]:
    """The comparisons by case and objective."""
    keys = [
        (case, base) for case, base in case_ids() if case != base and in_turn(records, case, base)
    ]
    found = {
        (case, objective): expected_difference(records, case, base, objective)
        for case, base in keys
        for objective in FIELDS
        if has_values(records, case, objective) and has_values(records, base, objective)
    }
    # Each baseline and objective is a question; a first look is at four fifths of the level.
    bases = dict(case_ids())
    for question in {(bases[case], objective) for case, objective in found}:
        asked = [row for key, row in found.items() if (bases[key[0]], key[1]) == question]
        for name in ("p_different", "p_outside_margin"):
            for row, p in zip(asked, holm([row[name] for row in asked]), strict=True):
                row[name] = min(1.0, p / 0.8)
    for row in found.values():
        row["outcome"] = "undecided"
        if row["p_different"] <= 0.05:
            row["outcome"] = "better" if row["ratio"] < 1 else "worse"
        if row["p_outside_margin"] <= 0.05:
            row["outcome"] = "equivalent"
    return found


def test_the_study_has_what_can_go_wrong(expected: dict[tuple[str, str], dict[str, Any]]) -> None:
    for name, wanted in (
        ("outcome", {"better", "worse", "equivalent", "undecided"}),
        ("paired", {True, False}),
    ):
        assert {row[name] for row in expected.values()} == wanted
    assert len({row["n"] for row in expected.values()}) > 4
    # Whole attempts after the others: what could not be run before, and the last case of lu.
    compared = {case for case, _ in expected}
    late = {case for case, base in case_ids() if case != base} - compared
    assert late == {"lulesh4", "lulesh8", "lu8"}


def test_each_case_is_as_reckoned_by_hand(answer: dict[str, Any], records: list[Record]) -> None:
    answers = [row for table in answer["tables"] for row in table["statistics"]]
    assert len(answers) == 16 * 3
    for row in answers:
        wanted = expected_statistics(values(records, row["case_id"], row["objective"]))
        outliers = [(outlier["value"], outlier["score"]) for outlier in row["outliers"]]
        assert len(outliers) == len(wanted["outliers"])
        for mine, theirs in zip(outliers, wanted.pop("outliers"), strict=True):
            assert mine == pytest.approx(theirs, rel=1e-3)
        ends = {name: wanted.pop(name) for name in list(wanted) if name.endswith(("low", "high"))}
        assert {name: row[name] for name in wanted} == pytest.approx(wanted, rel=1e-9)
        # Resamples that tie with the sample fall on either side of it by the last digit of a sum.
        assert [row[name] is None for name in ends] == [row["n"] < 5] * 4
        known = {name: value for name, value in ends.items() if value is not None}
        assert {name: row[name] for name in known} == pytest.approx(known, rel=1e-4)
        for outlier in row["outliers"]:
            (run,) = (
                run
                for run in good_runs(records, row["case_id"])
                if run["repetition"] == outlier["repetition"]
            )
            assert run[FIELDS[row["objective"]]] == outlier["value"]


def test_each_comparison_is_as_reckoned_by_hand(
    answer: dict[str, Any], expected: dict[tuple[str, str], dict[str, Any]]
) -> None:
    assert answer["comparisons"] == len(expected) == 17
    assert (answer["questions"], answer["look"]) == (10, 1)
    data = {row["case_id"]: row for table in answer["tables"] for row in table["comparisons"]}
    assert [case for case, row in data.items() if row["is_baseline"]] == [
        "lulesh1", "lulesh5", "lu1", "lu5",
    ]  # fmt: skip
    compared = {case for case, _ in expected}
    for case_id, row in data.items():
        assert row["is_baseline"] or row["in_turn"] == (case_id in compared)
        assert any(name.endswith("_outcome") for name in row) == (case_id in compared)
    for (case_id, objective), wanted in expected.items():
        row = {
            name.removeprefix(f"{objective}_"): value
            for name, value in data[case_id].items()
            if name.startswith(f"{objective}_")
        }
        numbers = {name: value for name, value in wanted.items() if name != "error"}
        texts = ("outcome", "estimand")
        assert [row.pop(name) for name in texts] == [numbers.pop(name) for name in texts]
        forecast = row.pop("more_repetitions_half"), row.pop("more_repetitions")
        assert (None in forecast) or forecast[0] <= forecast[1]
        for name in ("spread_times", "p_slow"):
            row.pop(name, None)
        assert row == pytest.approx(numbers, rel=1e-6, abs=1e-12)


def test_the_front_is_as_reckoned_by_hand(
    answer: dict[str, Any], records: list[Record], expected: dict[tuple[str, str], dict[str, Any]]
) -> None:
    known = {case for case, _ in expected} | {base for _, base in case_ids()}
    for app, table in zip(APPS, answer["tables"], strict=True):
        means = {
            case: (mean(records, case, "time"), mean(records, case, "energy"))
            for case in (f"{app}{number}" for number in range(1, 9))
            if case in known and has_values(records, case, "energy")
        }
        front = {
            case
            for case, mine in means.items()
            if not any(
                other != mine and other[0] <= mine[0] and other[1] <= mine[1]
                for other in means.values()
            )
        }
        assert {row["case_id"] for row in table["comparisons"] if row["on_front"]} == front


def test_each_decision_follows_from_the_outcomes(
    answer: dict[str, Any], expected: dict[tuple[str, str], dict[str, Any]]
) -> None:
    answers = {
        (app, found["governor"], found["objective"]): (
            found["decision"],
            found["best"] and found["best"]["case_number"],
        )
        for app, table in zip(APPS, answer["tables"], strict=True)
        for found in table["decisions"]
    }
    assert len(answers) == 12
    for (app, governor, objective), answered in answers.items():
        first = 1 if governor == "performance" else 5
        # By number the outcomes and ratios of the three cases beside the baseline.
        found = {
            number: expected[f"{app}{number}", objective]
            for number in range(first + 1, first + 4)
            if (f"{app}{number}", objective) in expected
        }
        outcomes = {row["outcome"] for row in found.values()}
        gains = {n: row["ratio"] for n, row in found.items() if row["outcome"] == "better"}
        if not found:
            assert answered == ("not compared", None)
        elif gains:
            best = min(gains, key=gains.__getitem__)
            binding = list(BINDING.values())[best - first]
            assert answered == ({"pin": "pin", "set": "confine"}[binding], best)
        else:
            assert answered == (
                ("undecided", None) if "undecided" in outcomes else ("leave", first)
            )
