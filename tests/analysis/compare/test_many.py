"""Several results at once: in each configuration a line for each, with its best mapping."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from analysis.answer import analyze
from analysis.compare.many import CommonConfiguration, NodeOfMany, compare_many, many_tables
from analysis.results.sources import open_results
from tests.analysis.compare.test_side_by_side import results, runs
from tests.analysis.verdict.test_printed import printing
from tests.support.results import cells_by_title, notes_of, write

TIME = ("time", "s", False)
LULESH = "lulesh x1, schedule static, wait policy runtime-default"


def many(*folders: str, **options: Any) -> list[NodeOfMany]:  # noqa: ANN401
    return compare_many([open_results(folder) for folder in folders], **options)


def only_time(node: NodeOfMany) -> Mapping[CommonConfiguration, Any]:
    return {common: best for common, best in node.best.items() if common.objective == TIME}


def test_the_best_mapping_is_the_one_with_the_best_ratio_whether_it_gains_or_not(
    tmp_path: Path,
) -> None:
    gains = results(tmp_path / "gains", {1: 10.0, 2: 9.0, 3: 8.0, 4: 15.0})
    loses = results(tmp_path / "loses", {1: 10.0, 2: 12.0, 3: 11.0})
    same = results(tmp_path / "same", {1: 10.0, 2: 10.0})
    found = [next(iter(only_time(node).values())) for node in many(gains, loses, same)]
    assert [best.case.mapping for best in found] == ["pcores-pin", "pcores-pin", "pcores-set"]
    assert [best.comparison.outcome for best in found] == ["better", "worse", "equivalent"]
    assert [best.among for best in found] == [3, 2, 1]


def test_its_interval_is_widened_for_the_choice(tmp_path: Path) -> None:
    folder = results(tmp_path / "a", {1: 10.0, 2: 9.0, 3: 8.0, 4: 15.0})
    (best,) = only_time(many(folder)[0]).values()
    plain = best.comparison.difference.interval()
    # Of three mappings: 95 % becomes 98.33 %.
    assert best.interval.low < plain.low and plain.high < best.interval.high
    assert best.interval == best.comparison.difference.interval(1 - 0.05 / 3)


def test_with_one_mapping_there_is_no_choice(tmp_path: Path) -> None:
    folder = results(tmp_path / "a", {1: 10.0, 2: 9.0})
    (best,) = only_time(many(folder)[0]).values()
    assert best.interval == best.comparison.difference.interval()


def test_more_of_a_rate_is_better(tmp_path: Path) -> None:
    write(tmp_path, printing({"unpinned": 100.0, "pcores-pin": 158.0, "ecores-pin": 60.0}))
    (node,) = many(str(tmp_path))
    (rate,) = (best for of, best in node.best.items() if of.objective[0] == "metric_rate")
    assert rate.case.mapping == "pcores-pin"
    (table,) = (of for of in many_tables([node]) if of.caption.endswith("Gflop/s (rate)"))
    assert "more is better" in notes_of(table)


def test_who_lacks_a_setting_is_named_and_other_sizes_are(tmp_path: Path) -> None:
    folders = [
        results(tmp_path / "a", {1: 10.0, 2: 9.0}),
        results(tmp_path / "b", {1: 10.0, 2: 9.0}, size="50"),
        results(tmp_path / "c", {6: 10.0, 7: 9.0}),
    ]
    tables = {table.caption: table for table in many_tables(many(*folders))}
    table = tables[f"{LULESH}, performance: time"]
    assert [cells_by_title(table, row)[""] for row in (0, 1)] == ["A", "B"]
    assert notes_of(table) == ["size: A paper; B 50", "not compared in it: C"]
    assert notes_of(tables[f"{LULESH}, powersave: time"]) == ["not compared in it: A, B"]


def of_tables(folder: Path, *tables: tuple[dict[str, Any], dict[int, float]]) -> str:
    """Write a table of each pair of fields and means, in this order; return the folder."""
    write(
        folder,
        [
            run | {"table_number": at, "case_id": f"{run['case_id']}-{at}"}
            for at, (fields, means) in enumerate(tables, 1)
            for number, mean in means.items()
            for run in runs(number, mean, **fields)
        ],
    )
    return str(folder)


WORSE, BETTER = {1: 10.0, 3: 13.0}, {1: 10.0, 3: 8.0}


@pytest.mark.parametrize(
    ("field", "values"),
    [("schedule", ("static", "dynamic")), ("wait_policy", ("active", "passive"))],
)
def test_tables_of_other_conditions_are_configurations_of_their_own_in_any_order(
    tmp_path: Path, field: str, values: tuple[str, str]
) -> None:
    first, second = ({field: value} for value in values)
    a = of_tables(tmp_path / "a", (first, WORSE), (second, BETTER))
    b = of_tables(tmp_path / "b", (second, BETTER), (first, WORSE))
    c = of_tables(tmp_path / "c", (second, BETTER))

    nodes, *tables = many_tables(many(a, b, c))

    # Time and energy in two conditions, and in one.
    assert [cells_by_title(nodes, row)["configurations"] for row in range(3)] == ["4", "4", "2"]
    times = [table for table in tables if table.caption.endswith(": time")]
    assert [
        ([cells_by_title(table, row)["ratio"] for row in range(len(table.cells))], notes_of(table))
        for table in times
    ] == [
        (["1.300", "1.300"], ["not compared in it: C"]),
        (["0.800", "0.800", "0.800"], []),
    ]
    assert [row[field] for table in times for row in table.raw_values] == [
        *(values[0],) * 2,
        *(values[1],) * 3,
    ]
    assert values[0] in times[0].caption


def test_of_several_sizes_the_most_common_one_has_the_line_and_the_others_are_named(
    tmp_path: Path,
) -> None:
    a = of_tables(tmp_path / "a", ({"size": "30"}, WORSE), ({"size": "50"}, BETTER))
    b = of_tables(tmp_path / "b", ({"size": "50"}, BETTER), ({"size": "30"}, WORSE))
    c = of_tables(tmp_path / "c", ({"size": "50"}, BETTER))

    table = next(of for of in many_tables(many(a, b, c)) if of.caption.endswith(": time"))

    assert [cells_by_title(table, row)["ratio"] for row in range(3)] == ["0.800"] * 3
    assert notes_of(table) == [
        "left aside: A lulesh (serial) size 30",
        "left aside: B lulesh (serial) size 30",
    ]
    assert [(row["size"], row["left_aside"]) for row in table.raw_values] == [
        ("50", "lulesh (serial) size 30"),
        ("50", "lulesh (serial) size 30"),
        ("50", None),
    ]


def test_a_publication_without_its_schedule_stands_where_only_one_setting_can_be_meant(
    tmp_path: Path,
) -> None:
    a = results(tmp_path / "a", BETTER)
    static, dynamic = ({"schedule": of} for of in ("static", "dynamic"))
    two = of_tables(tmp_path / "two", (static, BETTER), (dynamic, WORSE))
    publication = "published:galante-2025"

    def captions(*names: str) -> dict[str, list[str]]:
        tables = many_tables(many(*names))
        return {
            of.caption: [cells[0] for cells in of.cells]
            for of in tables
            if of.caption.startswith("lulesh x1,") and of.caption.endswith("performance: time")
        }

    assert captions(a, a, publication) == {f"{LULESH}, performance: time": ["A", "B", "C"]}
    # Of two it may be either.
    unknown = "lulesh x1, schedule unknown, wait policy unknown, performance: time"
    assert captions(two, a, publication) == {
        f"{LULESH}, performance: time": ["A", "B"],
        f"{LULESH.replace('static', 'dynamic')}, performance: time": ["A"],
        unknown: ["C"],
    }


def test_a_program_without_loops_has_no_schedule_in_its_captions(tmp_path: Path) -> None:
    folder = results(tmp_path / "a", BETTER, no_schedule=True)
    captions = [table.caption for table in many_tables(many(folder))[1:]]
    assert captions[0] == "lulesh x1, wait policy runtime-default, performance: time"


def test_every_line_counts_its_configurations_by_their_words(tmp_path: Path) -> None:
    folder = results(tmp_path / "a", {1: 10.0, 2: 9.0, 6: 10.0, 7: 12.0})
    row = cells_by_title(many_tables(many(folder))[0])
    # Time and energy under two governors.
    assert (row["configurations"], row["better"], row["worse"]) == ("4", "2", "2")
    assert (row["CPU"], row["proved"]) == ("not known", "no")


def test_a_governor_that_is_not_known_can_be_assumed(tmp_path: Path) -> None:
    folder = results(tmp_path / "a", {1: 10.0, 2: 9.0}, governor="current", governor_read=None)
    (unknown,) = only_time(many(folder)[0])
    assert unknown.title() == f"{LULESH}, governor not known"
    (assumed,) = only_time(many(folder, as_governor="powersave")[0])
    assert assumed.title() == f"{LULESH}, powersave"


def test_small_ratios_have_digits_that_count(tmp_path: Path) -> None:
    folder = results(tmp_path / "a", {1: 1000.0, 2: 0.05})
    (table, *_) = (of for of in many_tables(many(folder)) if of.caption.endswith(": time"))
    row = cells_by_title(table)
    assert row["ratio"] == "0.0000500"
    low, high = map(float, row["95 % interval"].split(" to "))
    assert 0.0000499 <= low < high <= 0.0000501


def test_raw_values_are_unrounded(tmp_path: Path) -> None:
    folder = results(tmp_path / "a", {1: 10.0, 2: 9.0})
    tables = many_tables(many(folder))
    (row,) = (row for table in tables for row in table.raw_values if row["objective"] == "time")
    answer = analyze(open_results(folder))
    difference = answer.tables[0].cases[1].comparisons[answer.tables[0].objectives[0]].difference
    assert row["ratio"] == pytest.approx(math.exp(difference.log_ratio))
    assert (row["best_mapping"], row["outcome"], row["better"]) == ("pcores-set", "better", "lower")
