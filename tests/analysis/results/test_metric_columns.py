"""What the programs printed, and what only some core kinds counted, as columns of the frame."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.records.metrics import MAX_METRICS
from analysis.records.runs import read_runs
from analysis.results.caveats import folder_footnotes
from tests.support.results import record, write


def names_of(frame: pd.DataFrame, part: str = "metric_") -> list[str]:
    return [str(name) for name in frame if part in str(name)]


def test_rates_of_l1_misses_are_columns_of_the_kinds_that_have_any(tmp_path: Path) -> None:
    rates = {"P": 0.0784, "X": 0.5, "LP-E": "none"}
    write(tmp_path, [record(1, 1, l1d_miss_rate=rates), record(1, 2, l1d_miss_rate=0.1)])

    frame = read_runs(tmp_path).frame

    assert names_of(frame, "l1d") == ["l1d_miss_rate_P"]
    assert frame["l1d_miss_rate_P"].fillna(-1).tolist() == [0.0784, -1]


def test_of_too_many_names_the_first_in_the_alphabet_are_kept_with_a_footnote(
    tmp_path: Path,
) -> None:
    numbers = range(MAX_METRICS, -1, -1)
    many = {f"m{number:02d}": float(number) for number in numbers}
    write(tmp_path / "many", [record(1, 1, metrics=many)])
    write(tmp_path / "few", [record(1, 1, metrics=dict(list(many.items())[1:]))])

    runs = {name: read_runs(tmp_path / name) for name in ("many", "few")}

    kept = names_of(runs["many"].frame)
    assert kept == [f"metric_m{number:02d}" for number in range(MAX_METRICS)]
    sentences = [folder_footnotes(runs[name], tmp_path / name) for name in ("many", "few")]
    assert "the first 32 names in the alphabet are used" in sentences[0][0]
    assert sentences[1] == []


def test_only_numbers_with_names_of_runs_that_name_a_case_are_metrics(tmp_path: Path) -> None:
    odd = {"text": "3.5", "truth": True, "list": [1], "endless": math.inf, "huge": 10**400}
    nameless = record(1, 1, app=None, metrics={"round_ms": 9.0})
    named = record(1, 2, metrics={"round_ms": 2.0, "a\x1b[31m": 1.0} | odd)
    write(tmp_path, [nameless, named, nameless, record(1, 3, metrics=[3.5])])

    runs = read_runs(tmp_path)

    assert runs.unusable == 2
    assert names_of(runs.frame) == ["metric_round_ms"]
    assert runs.frame["metric_round_ms"].fillna(-1).tolist() == [2.0, -1]
    # Of the name that cannot be printed.
    assert runs.more_metrics


metrics_of_runs = st.lists(
    st.dictionaries(
        st.sampled_from([f"m{n:02d}" for n in range(MAX_METRICS + 8)]), st.floats(0, 9)
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=25, deadline=None)
@given(first=metrics_of_runs, second=metrics_of_runs)
def test_parts_that_are_read_apart_make_the_same_columns(
    tmp_path_factory: Any,  # noqa: ANN401
    first: list[dict[str, float]],
    second: list[dict[str, float]],
) -> None:
    folder = tmp_path_factory.mktemp("parts")
    records = [
        record(1, n, attempt=attempt, metrics=metrics)
        for attempt, of_attempt in ((1, first), (2, second))
        for n, metrics in enumerate(of_attempt, 100 * attempt)
    ]
    for attempt in (1, 2):
        write(folder, [r for r in records if r["attempt"] == attempt], attempt)

    frame = read_runs(folder).frame
    names = sorted({name for r in records for name in r["metrics"]})[:MAX_METRICS]
    assert names_of(frame) == [f"metric_{name}" for name in names]
    for name in names:
        expected = [r["metrics"].get(name, -1) for r in records]
        assert frame[f"metric_{name}"].fillna(-1).tolist() == expected
