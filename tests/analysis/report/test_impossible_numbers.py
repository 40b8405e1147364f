"""A report is written whatever numbers stand in its records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.report.page import write_report
from runners.records.shard import line_of
from tests.analysis.report.made_results import make_results

HUGE = 1e308


@pytest.mark.parametrize(
    "values",
    [
        [{"elapsed_s": 1.0}, {"elapsed_s": -HUGE}, {"elapsed_s": HUGE}],
        [{"temperature_before_c": {"package 0": degrees}} for degrees in (40.0, -HUGE, HUGE)],
    ],
    ids=["times", "temperatures"],
)
def test_numbers_that_cannot_be_are_on_no_axis(
    tmp_path: Path, values: list[dict[str, Any]]
) -> None:
    folder = make_results(tmp_path, apps=(("lulesh", 40.0),), threads=(4,), repetitions=3)
    (shard,) = (folder / "records").glob("*.jsonl")
    lines = []
    for number, text in enumerate(shard.read_text().splitlines()):
        record = json.loads(text)
        record.pop("crc32", None)
        run = record["status"] != "skipped"
        lines.append(line_of(record | (values[number % len(values)] if run else {})))
    shard.write_bytes(b"".join(lines))

    page = write_report(str(folder)).read_text()

    assert "lulesh" in page
    assert "e+308" not in page
