"""Results side by side: rows matched, ratios to each one's own baseline, agreement, differences."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.card import card_text
from pinstudy.analysis.compare.many import (
    CommonConfiguration,
    NodeOfMany,
    compare_many,
    many_tables,
)
from pinstudy.analysis.compare.matching import Unlike
from pinstudy.analysis.compare.side_by_side import PairRow, SideBySide, compare, compare_programs
from pinstudy.analysis.compare.tables import compare_data, compare_tables
from pinstudy.analysis.format.table import Table, render
from pinstudy.analysis.results.sources import Results, open_results
from pinstudy.analysis.tables.means import tables_of_cases
from tests.analysis.results.test_summaries import HEADER
from tests.analysis.verdict.test_printed import printing
from tests.support.cli import pinstudy
from tests.support.golden import GoldenFile
from tests.support.in_memory import results_of
from tests.support.results import MAPPINGS, Record, cells_by_title, notes_of, record, write

# Ten repetitions whose spread is 0.1 % of their mean.
NOISE = (-1.2, 0.8, -0.5, 1.4, 0.1, -0.9, 1.1, -1.3, 0.6, -0.1)
PUBLICATION = "published:galante-2025"
UNKNOWN = {"governor": "current", "governor_read": None}


def runs(number: int, mean: float, **fields: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """Return ten runs of row `number` around a mean."""
    # Each case has another order of the same noise, as nothing links their runs.
    turned = NOISE[number:] + NOISE[:number]
    spread = fields.pop("spread", 0.001)
    selection, binding = list(MAPPINGS.values())[(number - 1) % 5]
    return [
        record(
            number,
            at,
            elapsed_s=mean * (1 + spread * z),
            energy_pkg_j=100 * mean * (1 + z / 1000),
            **{"selection": selection, "binding": binding, **fields},
        )
        for at, z in enumerate(turned, 1)
    ]


def of_rows(means: Mapping[int, float], **fields: Any) -> list[Record]:  # noqa: ANN401
    """Return the runs of these rows."""
    return [run for number, mean in means.items() for run in runs(number, mean, **fields)]


def results(folder: Path, means: Mapping[int, float], **fields: Any) -> str:  # noqa: ANN401
    """Write the runs of these rows; return their folder."""
    write(folder, of_rows(means, **fields))
    return str(folder)


def made(means: Mapping[int, float], **fields: Any) -> Results:  # noqa: ANN401
    """Return the results of these rows."""
    return results_of(of_rows(means, **fields))


def rows(both: SideBySide, objective: str = "time") -> Sequence[PairRow]:
    (pair,) = (pair for pair in both.pairs if pair.objective == objective)
    return pair.rows


def agreements(both: SideBySide) -> list[str]:
    return [row.agreement for row in rows(both)]


def counts_of(both: SideBySide, objective: str = "time") -> tuple[int, int, int]:
    """Return how many rows agree, how many both results decide, and how many are open."""
    (found,) = (counts for counts in both.agreements if counts.objective == objective)
    return found.counts["agree"], found.decided, found.counts["open"]


def times_of(both: SideBySide) -> Table:
    """Return the first table of two results' times."""
    return next(table for table in compare_tables(both) if table.caption.endswith("side by side"))


@pytest.mark.parametrize(
    ("a", "b", "spread", "found", "expected", "notes"),
    [
        ({1: 10.0, 2: 10.01, 3: 12.0, 4: 8.0}, {1: 30.0, 2: 30.03, 3: 33.0, 4: 24.0}, 0.001,
         ["baseline", "agree", "agree", "agree"], (3, 3, 0),
         ["time: 3 of 3 rows that both decide agree"]),
        ({1: 10.0, 3: 12.0, 4: 8.0}, {1: 30.0, 3: 27.0, 4: 24.0}, 0.001,
         ["baseline", "disagree", "agree"], (1, 2, 0),
         ["time: 1 of 2 rows that both decide agree",
          "time, lulesh x1 #3 pcores-pin (performance): A worse, B better"]),
        ({1: 10.0, 3: 12.0}, {1: 30.0, 3: 30.9}, 0.05,
         ["baseline", "open"], (0, 0, 1), ["time: no row that both decide"]),
    ],
    ids=["the same on a slower node", "different", "undecided"],
)  # fmt: skip
def test_conclusions_are_compared_row_by_row(
    a: dict[int, float],
    b: dict[int, float],
    spread: float,
    found: list[str],
    expected: tuple[int, int, int],
    notes: list[str],
) -> None:
    both = compare(made(a), made(b, spread=spread))

    assert agreements(both) == found
    assert counts_of(both) == expected
    assert [note for note in notes_of(compare_tables(both)[0]) if note.startswith("time")] == notes
    if len(found) == 4:
        outcomes = [(row.a.outcome, row.b.outcome) for row in rows(both)[1:] if row.a and row.b]
        assert outcomes == [(outcome, outcome) for outcome in ("equivalent", "worse", "better")]
        assert counts_of(both, "energy") == (3, 3, 0)


def test_tables_show_what_both_have_and_what_only_one_has(snapshot: SnapshotAssertion) -> None:
    pinned = {"mapping": "pcores-pin", "selection": "pcores", "binding": "pin"}
    other_numbers = [run | pinned for run in runs(2, 33.0)]
    alone = runs(1, 5.0, app="lu", case_id="lu")
    a = replace(made({1: 10.0, 3: 12.0, 5: 11.0}), name="A")
    b = results_of([*runs(1, 30.0), *other_numbers, *runs(4, 50.0), *alone])
    text = render(compare_tables(compare(a, replace(b, name="B"))), "text")
    assert text == snapshot(extension_class=GoldenFile)


def test_the_publication_agrees_with_itself() -> None:
    published = open_results(PUBLICATION)
    both = compare(published, published)

    assert {row.agreement for pair in both.pairs for row in pair.rows} <= {
        "baseline", "agree", "open", "not compared",
    }  # fmt: skip
    assert (both.only_a, both.only_b) == ((), ())
    # 56.165 / 45.073 in table 3.
    third = both.pairs[0].rows[2]
    assert third.a and third.a.ratio and third.a.ratio.interval
    assert third.a.ratio.value == pytest.approx(1.246090, abs=1e-6)
    # Errors of 0.015 / 56.165 / sqrt(10) and 0.026 / 45.073 / sqrt(10) are 0.00020 together.
    assert third.a.ratio.interval.half_width == pytest.approx(0.0002014 * 1.246 * 2.15, rel=0.03)
    # Energies have no deviations: a ratio, 2021.04 / 2215.08, and no word.
    energy = next(pair for pair in both.pairs if pair.objective == "energy").rows[2]
    assert energy.a and energy.a.ratio
    assert energy.a.ratio.value == pytest.approx(0.912400, abs=1e-6)
    assert (energy.a.ratio.interval, energy.a.outcome) == (None, None)
    assert energy.agreement == "not compared"


def test_our_runs_stand_beside_the_publication_s_without_a_direct_ratio() -> None:
    mine = {1: 10.0, 2: 10.0, 3: 12.0, 4: 18.0, 5: 18.0}
    both = compare(made(mine), open_results(PUBLICATION))
    pair = both.pairs[0]
    assert (pair.a.key.threads, pair.differences) == (1, ())
    assert agreements(both)[:10] == ["baseline", *["agree"] * 4, *["only in B"] * 5]
    assert all(row.direct is None for row in pair.rows)
    assert len(both.only_b) == 7
    # An original program is compared with the publication's of the same algorithm.
    both = compare(made(mine, **ORIGINAL), open_results(PUBLICATION))
    assert agreements(both)[:3] == ["baseline", "agree", "agree"]
    assert Unlike("app", "lulesh-llnl", "lulesh") in both.pairs[0].differences


def test_a_start_that_differs_is_told_of_ratios_that_are_there() -> None:
    a = results_of([*runs(1, 10.0), *runs(3, 12.0, mechanism="likwid-pin")])
    loaded = "likwid-pin is loaded into one of both, and its start is in the numbers"
    direct, indirect = (
        [note for marker, note in times_of(compare(a, other)).notes if marker]
        for other in (made({1: 10.0, 3: 12.0}), open_results(PUBLICATION))
    )
    assert direct == [f"A: {loaded}", f"B against A: {loaded}"]
    assert [note for note in indirect if "likwid" in note] == [f"A: {loaded}"]


def of_both(mean: float, field: str, values: Sequence[str]) -> Results:
    """Return the same cases under conditions, the second with twice the time."""
    return results_of(
        run | {field: value, "table_number": table, "case_id": run["case_id"] + value}
        for table, value in enumerate(values, 1)
        for number in (1, 3)
        for run in runs(number, mean * table * number)
    )


@pytest.mark.parametrize("order", [("libgomp", "libomp"), ("libomp", "libgomp")])
def test_a_table_is_compared_with_one_other_only(order: Sequence[str]) -> None:
    whole, part = of_both(1, "build", order), of_both(3, "build", ["libgomp"])
    for both in (compare(whole, part), compare(part, whole)):
        assert [pair.a.key.build for pair in both.pairs] == ["libgomp"] * 2
        assert all(row.a and row.b for pair in both.pairs for row in pair.rows)
        (left,) = both.only_a + both.only_b
        assert "libomp" in left


@pytest.mark.parametrize(
    ("field", "values"), [("wait_policy", ["active", "passive"]), ("size", ["paper", "quick"])]
)
def test_of_two_conditions_the_same_one_is_taken(field: str, values: list[str]) -> None:
    both = compare(of_both(1, field, values), of_both(3, field, values))
    taken = [(getattr(pair.a.key, field), getattr(pair.b.key, field)) for pair in both.pairs]
    assert taken == [(value, value) for value in values for _ in ("time", "energy")]
    assert (both.only_a, both.only_b) == ((), ())
    assert {pair.differences for pair in both.pairs} == {()}
    raw_values = [row for table in compare_tables(both) for row in table.raw_values]
    named = {(row[f"a_{field}"], row[f"b_{field}"], row["a_schedule"]) for row in raw_values}
    assert named == {(value, value, "static") for value in values}


def test_a_row_with_a_known_governor_is_matched_first() -> None:
    a = made({1: 10.0})
    known = [run | {"case_number": 3, "case_id": "known"} for run in runs(1, 12.0)]
    b = results_of([*runs(2, 11.0, **UNKNOWN, mapping="unpinned"), *known])
    for both in (compare(a, b), compare(b, a)):
        matched = [(row.a, row.b) for row in rows(both) if row.a and row.b]
        assert [(a.case.governor, b.case.governor) for a, b in matched if a and b] == [
            ("performance", "performance")
        ]


FOUR = {1: 30.0, 3: 33.0, 6: 50.0, 8: 52.0}
NEITHER = {"only in A", "only in B"}


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        # A row without a known governor is the only one that it can be; of two it may be either.
        (({1: 10.0, 3: 12.0}, {}), ({1: 30.0, 3: 36.0}, UNKNOWN), ["baseline", "agree"]),
        (({1: 30.0, 3: 36.0}, UNKNOWN), ({1: 10.0, 3: 12.0}, {}), ["baseline", "agree"]),
        (({1: 10.0, 6: 12.0}, {}), ({1: 30.0}, UNKNOWN), NEITHER),
        (({1: 10.0, 3: 12.0}, UNKNOWN), (FOUR, {}), NEITHER),
        (({1: 10.0, 3: 12.0}, {"governor": "current", "governor_read": "performance"}), (FOUR, {}),
         ["baseline", "agree", "only in B", "only in B"]),
    ],
)  # fmt: skip
def test_rows_are_matched_where_it_is_known_which_governor_was_in_force(
    a: tuple[dict[int, float], Record],
    b: tuple[dict[int, float], Record],
    expected: Any,  # noqa: ANN401
) -> None:
    first, second = (made(means, **fields) for means, fields in (a, b))
    both = compare(first, second)
    assert type(expected)(agreements(both)) == expected


def test_an_unknown_governor_can_be_assumed() -> None:
    a, b = made({1: 10.0, 3: 12.0}, **UNKNOWN), made(FOUR)
    both = compare(a, b)
    assert both.pairs[0].unknown_governors == ("A",)
    assert any("--as-governor" in note for note in notes_of(times_of(both)))
    assumed = compare(a, b, as_governor="performance")
    assert agreements(assumed)[:2] == ["baseline", "agree"]
    assert "taken for performance" in assumed.footnotes[0]


@pytest.mark.parametrize(("margin", "outcome"), [(0.01, "worse"), (0.05, "equivalent")])
def test_the_margin_decides_what_is_equivalent(margin: float, outcome: str) -> None:
    both = compare(made({1: 10.0, 3: 10.3}), made({1: 30.0, 3: 30.9}), margin=margin)
    third = rows(both)[1].a
    assert third and third.outcome == outcome


def test_means_are_compared_and_those_of_unlike_spreads_doubted(tmp_path: Path) -> None:
    for name, factor, sd in (("a", 1, 0.1), ("b", 2, 0.1), ("c", 1, 2.0)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "summaries.csv").write_text(
            HEADER
            + f"lu,x,paper,1,unpinned,performance,10,{50 * factor},0.1\n"
            + f"lu,x,paper,1,pcores-pin,performance,10,{60 * factor},{sd}\n"
        )
    a, b, c = (open_results(str(tmp_path / name)) for name in "abc")

    first, second = rows(compare(a, b))
    assert second.agreement == "agree"
    assert first.direct and first.direct.value == pytest.approx(2)
    assert first.direct.interval and 2.0 in first.direct.interval
    doubt = "means alone, of runs that spread "
    assert any(note.startswith(f"B: {doubt}") for note in notes_of(times_of(compare(a, c))))
    notes = [note for table in many_tables(compare_many([a, b, c])) for note in notes_of(table)]
    assert any(f"C: {doubt}" in note for note in notes)


TRIMMED = "typical values (20 % trimmed)"
UNTRIMMED = "typical values (fewer than 7 runs: nothing is trimmed)"


def test_csv_has_every_number_unrounded() -> None:
    tables = compare_tables(compare(made({1: 10.0, 3: 12.0}), made({1: 30.0, 3: 33.0})))
    table = list(csv.DictReader(io.StringIO(render(tables, "csv"))))
    assert [(row["objective"], row["a_case_number"]) for row in table] == [
        ("time", "1"), ("time", "3"), ("energy", "1"), ("energy", "3"),
    ]  # fmt: skip
    assert float(table[1]["a_ratio"]) == pytest.approx(1.2, rel=1e-3)
    assert float(table[1]["a_ratio_low"]) < 1.2 < float(table[1]["a_ratio_high"])
    assert float(table[1]["b_ratio"]) == pytest.approx(1.1, rel=1e-3)
    assert float(table[0]["a_mean"]) == pytest.approx(10, rel=1e-3)
    assert float(table[1]["b_to_a"]) == pytest.approx(2.75, rel=1e-3)
    assert (table[1]["a_outcome"], table[1]["agreement"]) == ("worse", "agree")
    assert table[0]["a_outcome"] == ""
    assert [row["a_ratio_estimand"] for row in table[:2]] == ["", "typical"]


def test_ratios_of_runs_without_spread_have_no_intervals() -> None:
    a, b = (made({1: 10.0, 3: mean}, spread=0.0) for mean in (12.0, 15.0))
    table = times_of(compare(a, b))
    assert table.cells[1] == (
        *("3", "pcores-pin", "performance"),
        *("12.000", "1.200", "-"),
        *("15.000", "1.500", "-"),
        *("1.250", "-", "undecided"),
        *("undecided", "undecided", "open"),
    )
    assert table.raw_values[1]["b_to_a_low"] is None


@pytest.mark.parametrize(
    ("counts_a", "counts_b", "expected"),
    [
        ((10, 10, 10), (10, 10, 10), f"A: {TRIMMED}; B: {TRIMMED}; B / A: {TRIMMED}"),
        ((5, 5, 5), (10, 10, 10), f"A: {UNTRIMMED}; B: {TRIMMED}; B / A: {UNTRIMMED}"),
        ((1, 1, 1), (2, 2, 2), f"A: means; B: {UNTRIMMED}; B / A: means"),
        ((10, 10, 1), (10, 10, 10),
         f"A: {TRIMMED} in #2 and means in #3; B: {TRIMMED}; B / A: {TRIMMED} in #1, #2 and "
         "means in #3"),
        ((0, 0, 1), (0, 0, 1), "B / A: means"),
    ],
    ids=["ten runs", "five runs", "one run", "one run of one row", "no baseline"],
)  # fmt: skip
def test_each_column_says_what_its_ratios_are_of(
    counts_a: tuple[int, ...], counts_b: tuple[int, ...], expected: str
) -> None:
    a, b = (
        results_of(
            run for row, count in enumerate(counts, 1) for run in runs(row, 10.0 + row)[:count]
        )
        for counts in (counts_a, counts_b)
    )
    notes = notes_of(times_of(compare(a, b)))
    assert f"ratios are of {expected}" in notes
    assert ("no baseline is in both: no ratios to it" in notes) == (counts_a[0] == 0)


def test_b_to_a_of_two_cards_is_said_to_be_of_means(tmp_path: Path) -> None:
    cards = []
    for name, mean in (("a", 12.0), ("b", 15.0)):
        found = open_results(results(tmp_path / name, {1: 10.0, 3: mean}))
        path = tmp_path / f"{name}.json"
        path.write_bytes(card_text(found, analyze(found))[1])
        cards.append(open_results(str(path)))
    table = times_of(compare(cards[0], cards[1]))
    assert f"ratios are of A: {TRIMMED}; B: {TRIMMED}; B / A: means" in notes_of(table)
    assert table.raw_values[1]["b_to_a_estimand"] == "mean"


@pytest.mark.parametrize("in_modes", [1, 3])
def test_a_case_in_modes_has_no_outcome_against_its_own_card(tmp_path: Path, in_modes: int) -> None:
    modes = [
        run | {"elapsed_s": run["elapsed_s"] * (1.2 if at % 2 else 1)}
        for at, run in enumerate(runs(in_modes, 10.0))
    ]
    write(tmp_path / "a", [*modes, *runs(4 - in_modes, 11.0)])
    found = open_results(str(tmp_path / "a"))
    (tmp_path / "a.json").write_bytes(card_text(found, analyze(found))[1])
    card = open_results(str(tmp_path / "a.json"))
    for a, b in ((found, found), (found, card), (card, found)):
        outcomes = {row.case.number: row.outcome for row in rows(compare(a, b))}
        assert outcomes[in_modes] is None
    # Of two cards only what they say of a case is known.
    assert {row.case.number: row.outcome for row in rows(compare(card, card))}[3] is None


def test_intervals_over_more_than_a_factor_of_a_thousand_are_none() -> None:
    wild = [record(1, at, elapsed_s=time_s) for at, time_s in enumerate((1.0, 4e5), 1)]
    found = results_of([*wild, *(record(3, at, elapsed_s=1.0 + at / 100) for at in (1, 2))])
    assert times_of(compare(found, found)).cells[1][5] == "too wide to tell"


def test_small_ratios_have_digits_that_count() -> None:
    # Ratios of 0.0005 to the baseline, and of 0.00004 to the other results.
    a, b = made({1: 1000.0, 3: 0.5}), made({1: 0.04, 3: 0.00002})
    first, third = times_of(compare(a, b)).cells
    assert third[4] == "0.000500"
    low, high = map(float, third[5].split(" to "))
    assert 0.000499 < low < high < 0.000502
    assert [cells[9] for cells in (first, third)] == ["0.0000400", "0.0000400"]
    row = cells_by_title(many_time_tables(many(a))[0])
    assert row["ratio"] == "0.000500"
    assert tuple(map(float, row["95 % interval"].split(" to "))) == (low, high)


def test_what_raced_has_ratios_of_means_and_no_outcomes(tmp_path: Path) -> None:
    a, b = ({1: 50.0, 2: 45.0}, {1: 50.0, 2: 30.0})
    raced = results(tmp_path, a, repetition_rule={"race": {"of": "time"}})
    both = compare(open_results(raced), made(b))
    for row in rows(both):
        assert row.direct is not None and row.outcome is None
        assert (row.direct.estimand, row.direct.interval) == ("mean", None)
    of_a, of_b = rows(both)[1].a, rows(both)[1].b
    assert of_a and of_a.ratio and of_a.ratio.interval is None
    assert of_b and of_b.ratio and of_b.ratio.interval is not None


def test_each_row_has_an_outcome_for_b_against_a() -> None:
    both = compare(made({1: 10.0, 2: 10.0, 3: 12.0}), made({1: 10.0, 2: 9.0, 3: 15.0}))
    outcomes = {row.case.number: row.outcome for row in rows(both)}
    assert outcomes == {1: "equivalent", 2: "better", 3: "worse"}
    assert any("tested together (Holm)" in note for note in notes_of(times_of(both)))


EVIL = "\x1b[2J|<b>\\x"
HOSTILE = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5),
    st.sampled_from(["unknown", "current", "powersave", "vm", "all", -1.0, 0, 1e308, 1e-308, EVIL]),
)  # fmt: skip
SPOILT = ["app", "size", "threads", "mapping", "governor", "governor_read", "selection",
          "binding", "elapsed_s", "energy_pkg_j", "vcpu_mapping", "case_number", "block",
          "order", "case_id", "table_number"]  # fmt: skip


@settings(max_examples=10)
@example([dict.fromkeys(["app", "size", "mapping", "governor"], EVIL)])
@given(st.lists(st.dictionaries(st.sampled_from(SPOILT), HOSTILE, max_size=4), max_size=3))
def test_whatever_records_say_there_is_a_comparison(spoilt: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as name:
        good = [record(number, at) for number in (1, 3) for at in (1, 2)]
        write(Path(name), [*good, *(record(2, at) | bad for at, bad in enumerate(spoilt, 1))])
        mine, published = open_results(name), open_results(PUBLICATION)
        for a, b in ((mine, published), (published, mine), (mine, mine)):
            tables = compare_tables(compare(a, b))
            for style in ("text", "markdown", "csv", "latex"):
                text = render(tables, style)
                assert text and "\x1b" not in text
                assert style in ("text", "csv") or "|<b>" not in text


ORIGINAL = {"app": "lulesh-llnl", "algorithm": "lulesh", "implementation": "LULESH 2.0.3 (LLNL)"}
OWN = {"implementation": "pinstudy's own Lulesh"}


def both_programs(folder: Path, original: Mapping[int, float], own: Mapping[int, float]) -> Results:
    """Write runs of the original and of our own program into one folder; return its results."""
    runs_of_both = [
        run | {"case_id": f"{run['case_id']}-{len(fields)}", "table_number": len(fields)}
        for fields, means in ((ORIGINAL, original), (OWN, own))
        for number, mean in means.items()
        for run in runs(number, mean, **fields)
    ]
    write(folder, runs_of_both)
    return open_results(str(folder))


def test_the_programs_of_one_algorithm_are_compared_within_results(tmp_path: Path) -> None:
    found = both_programs(tmp_path, {1: 10.0, 3: 12.0, 4: 8.0}, {1: 11.0, 3: 13.3, 4: 12.0})
    both = compare_programs(found, analyze(found))
    assert both is not None
    assert (both.name_a, both.name_b) == ("lulesh-llnl", "lulesh")
    assert agreements(both) == ["baseline", "agree", "disagree"]
    _, third, _ = rows(both)
    assert third.direct and third.direct.value == pytest.approx(13.3 / 12, rel=1e-3)
    assert counts_of(both) == (1, 2, 0)
    row = "time, lulesh-llnl x1 #4 ecores-set (performance): A better, B worse"
    assert row in notes_of(compare_tables(both)[0])


@pytest.mark.parametrize("other", [{"size": "s20"}, {"threads": 2}, {"wait_policy": "active"}])
def test_programs_in_other_conditions_are_not_taken_for_each_other(other: dict[str, Any]) -> None:
    found = results_of([*runs(1, 10.0, **ORIGINAL), *runs(1, 11.0, **OWN, **other, case_id="own")])
    assert compare_programs(found, analyze(found)) is None


def test_the_caption_says_whose_program_it_is(tmp_path: Path) -> None:
    found = both_programs(tmp_path, {1: 10.0}, {1: 11.0})
    captions = [table.caption for table in tables_of_cases(found.cases)]
    assert [text.partition(",")[0] for text in sorted(captions)] == [
        "LULESH 2.0.3 (LLNL): lulesh-llnl (serial)",
        "pinstudy's own Lulesh: lulesh (serial)",
    ]
    both = results_of([*runs(1, 10.0, implementation="one"), *runs(2, 10.0, implementation="two")])
    (table,) = tables_of_cases(both.cases)
    assert table.caption.startswith("one; two: lulesh (serial), size paper")
    assert [row["implementation"] for row in table.raw_values] == ["one", "two"]


def test_tables_are_of_the_same_number_of_ranks_or_not_put_side_by_side() -> None:
    two, single, unlike = (
        made({1: 10.0, 3: 9.0 if by == "order" else 12.0}, ranks=n, threads=2, mpi=mpi, ranks_by=by)
        for n, mpi, by in ((2, "openmpi", "order"), (1, "openmpi", "order"), (2, "mpich", "kind"))
    )
    assert compare(two, single).pairs == ()
    assert compare(single, made({1: 10.0, 3: 9.0}, threads=2)).pairs == ()
    both = compare(two, unlike)
    assert both.pairs[0].differences == (
        Unlike("launcher of ranks", "openmpi", "mpich"),
        Unlike("CPUs divided among ranks by", "order", "kind"),
    )
    named = csv.DictReader(io.StringIO(render(compare_tables(both), "csv")))
    assert {(row["ranks"], row["threads"]) for row in named} == {("2", "2")}
    note = "time, lulesh 2x2 #3 pcores-pin (performance): A better, B worse"
    assert note in notes_of(compare_tables(both)[0])


def test_a_case_in_several_modes_or_that_lost_runs_has_a_note() -> None:
    modes = [
        record(1, at, elapsed_s=mean * (1 + NOISE[at % 10] / 1000))
        for at, mean in enumerate([10.0] * 6 + [12.0] * 6, 1)
    ]
    lost = [record(3, at, status="failed", reason="no") for at in (11, 12, 13)]
    a = results_of([*modes, *runs(3, 12.0), *lost])
    both = compare(a, made({1: 10.0, 3: 12.0}))
    third = rows(both)[1]
    assert (third.agreement, third.direct) == ("not compared", None)
    notes = notes_of(times_of(both))
    assert [note for note in notes if note.startswith("A: several modes: 6 of 12 about ")]
    assert "A: lost: 3 failed" in notes
    assert "A: not compared: 3 of 13 runs lost, more than a tenth" in notes


def test_json_has_agreements_as_numbers() -> None:
    a = made({1: 10.0, 3: 12.0, 4: 8.0, 5: 9.0}, size="quick")
    both = compare(a, made({1: 30.0, 3: 27.0, 4: 24.0}))
    # Another size is compared, and not directly.
    assert both.pairs[0].differences == (Unlike("size", "quick", "paper"),)
    assert all(row.direct is None for row in both.pairs[0].rows)
    data = compare_data(both)
    assert data["agreements"][0] == {
        "objective": "time", "agree": 1, "disagree": 1, "open": 0, "not_compared": 0,
        "only_in_a": 1, "only_in_b": 0,
    }  # fmt: skip
    size = {"fact": "size", "a": "quick", "b": "paper", "changes": "", "apps": ["lulesh"]}
    assert data["differences"] == [size]


FIRST: dict[str, Any] = {
    "kernel": "6.1.0-55-amd64",
    "microcode": "0x2c",
    "versions": {"pinstudy": "0.1.0", "perf": "6.1.55"},
    "runtime": {"name": "libgomp", "version": "libgomp1 12.2.0", "path": "/lib/libgomp.so.1"},
    "built_with": "g++ 12.2.0 -O3",
    "program_digest": "a" * 64,
    "epp": "balance_performance",
    "power_limits": {"package-0": {"pl1_w": 125.0}},
    "node_digest": "1" * 64,
}


def with_facts(folder: Path, **changes: Any) -> str:  # noqa: ANN401
    """Write runs of two rows with these fields; return their folder."""
    return results(folder, {1: 10.0, 3: 10.0}, **FIRST | changes)


def differences(a: str, b: str) -> list[Unlike]:
    return list(compare(open_results(a), open_results(b)).all_differences)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"kernel": "6.12.1"}, ("kernel", "6.1.0-55-amd64", "6.12.1")),
        ({"microcode": "0x2d"}, ("microcode", "0x2c", "0x2d")),
        ({"versions": {"pinstudy": "0.2.0"}}, ("pinstudy", "0.1.0", "0.2.0")),
        ({"runtime": {"name": "libomp", "version": "libomp5 14"}},
         ("OpenMP runtime", "libgomp libgomp1 12.2.0", "libomp libomp5 14")),
        ({"built_with": "g++ 12.2.0 -O2"}, ("built with", "g++ 12.2.0 -O3", "g++ 12.2.0 -O2")),
        ({"epp": "performance"}, ("EPP", "balance_performance", "performance")),
        ({"power_limits": {"package-0": {"pl1_w": 65.0}}}, ("PL1 of package-0 (W)", "125", "65")),
        ({}, None),
        # What one of two does not tell is no difference.
        (dict.fromkeys(FIRST), None),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)  # fmt: skip
def test_each_difference_is_one_row(
    tmp_path: Path, changes: dict[str, Any], told: tuple[str, str, str] | None
) -> None:
    a, b = with_facts(tmp_path / "a"), with_facts(tmp_path / "b", **changes)
    assert differences(a, b) == ([Unlike(*told)] if told else [])


def test_the_command_line_compares_two_and_three_nodes(tmp_path: Path) -> None:
    kernels = {"a": {}, "b": {"kernel": "6.12.1"}, "c": {}}
    a, b, c = (
        results(tmp_path / name, {1: 10.0, 3: 9.0}, **FIRST | kernel, node_id=name)
        for name, kernel in kernels.items()
    )
    two = pinstudy(tmp_path, "compare", a, b, status=0).stdout.splitlines()
    (line,) = [line for line in two if line.startswith("kernel")]
    assert "6.1.0-55-amd64" in line and "6.12.1" in line
    three = pinstudy(tmp_path, "compare", a, b, c, status=0).stdout
    assert "default of the site: pcores-pin" in three


def test_other_programs_are_told_by_their_files_and_nodes_by_their_facts(tmp_path: Path) -> None:
    a = with_facts(tmp_path / "a")
    b = with_facts(tmp_path / "b", program_digest="b" * 64, node_digest="2" * 64)
    for folder, digest, at in ((a, "a" * 64, "1"), (b, "b" * 64, "2")):
        files = {"libgomp.so.1": {"path": "/lib/libgomp.so.1", "sha256": digest}}
        facts = {"cpu_model": f"CPU {at}", "cpufreq": {"turbo": at == "1"}, "smt": "on"}
        for kind, name, kept in (("programs", digest, {"files": files}), ("nodes", at * 64, facts)):
            (Path(folder) / kind).mkdir()
            (Path(folder) / kind / f"{name}.json").write_text(json.dumps(kept))
    changes = "'libgomp.so.1' was aaaaaaaaaaaa, now bbbbbbbbbbbb: /lib/libgomp.so.1"
    assert sorted(differences(a, b), key=astuple) == [
        Unlike("processor", "CPU 1", "CPU 2"),
        Unlike("program", "aaaaaaaaaaaa", "bbbbbbbbbbbb", changes),
        Unlike("turbo", "on", "off"),
    ]


def test_files_and_records_from_anybody_are_told_on_one_line(tmp_path: Path) -> None:
    hostile = {"kernel": "a\nb", "versions": {"x\ny": "1"}, "runtime": 7, "built_with": ["x"]}
    told = differences(
        with_facts(tmp_path / "a", versions={"x\ny": "2"}), with_facts(tmp_path / "b", **hostile)
    )
    assert len(told) == 2
    assert not any("\n" in text for unlike in told for text in astuple(unlike))


TIME = ("time", "s", False)
LULESH = "lulesh x1, schedule static, wait policy runtime-default"
WORSE, BETTER = {1: 10.0, 3: 13.0}, {1: 10.0, 3: 8.0}


def many(*found: Results, **options: Any) -> list[NodeOfMany]:  # noqa: ANN401
    return compare_many(list(found), **options)


def only_time(node: NodeOfMany) -> Mapping[CommonConfiguration, Any]:
    return {common: best for common, best in node.best.items() if common.objective == TIME}


def many_time_tables(nodes: list[NodeOfMany]) -> list[Table]:
    return [table for table in many_tables(nodes) if table.caption.endswith(": time")]


@pytest.mark.parametrize(
    ("means", "best", "outcome", "among"),
    [
        ({1: 10.0, 2: 9.0, 3: 8.0, 4: 15.0}, "pcores-pin", "better", 3),
        ({1: 10.0, 2: 12.0, 3: 11.0}, "pcores-pin", "worse", 2),
        ({1: 10.0, 2: 10.0}, "pcores-set", "equivalent", 1),
    ],
)
def test_of_many_the_best_ratio_is_shown_widened_for_the_choice(
    means: dict[int, float], best: str, outcome: str, among: int
) -> None:
    (found,) = only_time(many(made(means))[0]).values()
    assert (found.case.mapping, found.comparison.outcome, found.among) == (best, outcome, among)
    # Of three mappings 95 % becomes 98.33 %.
    assert found.interval == found.comparison.difference.interval(1 - 0.05 / among)


def test_more_of_a_rate_is_better() -> None:
    rates = {"unpinned": 100.0, "pcores-pin": 158.0, "ecores-pin": 60.0}
    (node,) = many(results_of(printing(rates)))
    (rate,) = (best for common, best in node.best.items() if common.objective[0] == "metric_rate")
    assert rate.case.mapping == "pcores-pin"
    *_, table = many_tables([node])
    assert table.caption.endswith("Gflop/s (rate)")
    assert "more is better" in notes_of(table)


def test_who_lacks_a_setting_is_named_and_other_sizes_are() -> None:
    a, b = made({1: 10.0, 2: 9.0}), made({1: 10.0, 2: 9.0}, size="50")
    first, second = many_time_tables(many(a, b, made({6: 10.0, 7: 9.0})))
    assert first.caption == f"{LULESH}, performance: time"
    assert [cells_by_title(first, row)[""] for row in (0, 1)] == ["A", "B"]
    assert notes_of(first) == ["size: A paper; B 50", "not compared in it: C"]
    assert second.caption == f"{LULESH}, powersave: time"
    assert notes_of(second) == ["not compared in it: A, B"]


def of_tables(*tables: tuple[dict[str, Any], dict[int, float]]) -> Results:
    """Return results with a table of each pair of fields and means, in this order."""
    return results_of(
        run | {"table_number": at, "case_id": f"{run['case_id']}-{at}"}
        for at, (fields, means) in enumerate(tables, 1)
        for run in of_rows(means, **fields)
    )


@pytest.mark.parametrize(
    ("field", "values"),
    [("schedule", ("static", "dynamic")), ("wait_policy", ("active", "passive"))],
)
def test_tables_of_other_conditions_are_configurations_of_their_own_in_any_order(
    field: str, values: tuple[str, str]
) -> None:
    first, second = ({field: value} for value in values)
    found = many(
        of_tables((first, WORSE), (second, BETTER)),
        of_tables((second, BETTER), (first, WORSE)),
        of_tables((second, BETTER)),
    )
    # Time and energy in two conditions, and in one.
    nodes = many_tables(found)[0]
    assert [cells_by_title(nodes, row)["configurations"] for row in range(3)] == ["4", "4", "2"]
    tables = many_time_tables(found)
    assert [
        ([cells_by_title(table, row)["ratio"] for row in range(len(table.cells))], notes_of(table))
        for table in tables
    ] == [(["1.300", "1.300"], ["not compared in it: C"]), (["0.800", "0.800", "0.800"], [])]
    assert [row[field] for table in tables for row in table.raw_values] == [
        *(values[0],) * 2,
        *(values[1],) * 3,
    ]
    assert values[0] in tables[0].caption


def test_of_several_sizes_the_most_common_one_has_the_line_and_the_others_are_named() -> None:
    small, large = ({"size": "30"}, WORSE), ({"size": "50"}, BETTER)
    found = many(of_tables(small, large), of_tables(large, small), of_tables(large))
    (table,) = many_time_tables(found)
    assert [cells_by_title(table, row)["ratio"] for row in range(3)] == ["0.800"] * 3
    aside = "lulesh (serial) size 30"
    assert notes_of(table) == [f"left aside: A {aside}", f"left aside: B {aside}"]
    assert [(row["size"], row["left_aside"]) for row in table.raw_values] == [
        ("50", aside), ("50", aside), ("50", None),
    ]  # fmt: skip


def test_a_publication_without_its_schedule_stands_where_one_can_be_meant() -> None:
    a, publication = made(BETTER), open_results(PUBLICATION)
    two = of_tables(({"schedule": "static"}, BETTER), ({"schedule": "dynamic"}, WORSE))

    def captions(*found: Results) -> dict[str, list[str]]:
        return {
            table.caption: [cells[0] for cells in table.cells]
            for table in many_time_tables(many(*found))
            if table.caption.startswith("lulesh x1,") and "performance" in table.caption
        }

    assert captions(a, a, publication) == {f"{LULESH}, performance: time": ["A", "B", "C"]}
    # Of two it may be either.
    assert captions(two, a, publication) == {
        f"{LULESH}, performance: time": ["A", "B"],
        f"{LULESH.replace('static', 'dynamic')}, performance: time": ["A"],
        "lulesh x1, schedule unknown, wait policy unknown, performance: time": ["C"],
    }


@pytest.mark.parametrize(
    ("fields", "options", "title"),
    [
        (UNKNOWN, {}, f"{LULESH}, governor not known"),
        (UNKNOWN, {"as_governor": "powersave"}, f"{LULESH}, powersave"),
        # A program without loops has no schedule.
        ({"no_schedule": True}, {}, "lulesh x1, wait policy runtime-default, performance"),
    ],
    ids=["unknown", "assumed", "no schedule"],
)
def test_a_configuration_is_named_by_its_conditions(
    fields: dict[str, Any], options: dict[str, str], title: str
) -> None:
    (table,) = many_time_tables(many(made({1: 10.0, 2: 9.0}, **fields), **options))
    assert table.caption == f"{title}: time"


def test_every_line_counts_its_configurations_and_raw_values_are_unrounded() -> None:
    found = made({1: 10.0, 2: 9.0, 6: 10.0, 7: 12.0})
    tables = many_tables(many(found))
    row = cells_by_title(tables[0])
    # Time and energy under two governors.
    assert (row["configurations"], row["better"], row["worse"]) == ("4", "2", "2")
    assert (row["CPU"], row["proved"]) == ("not known", "no")
    raw = next(raw for table in tables for raw in table.raw_values if raw["objective"] == "time")
    table = analyze(found).tables[0]
    difference = table.cases[1].comparisons[table.objectives[0]].difference
    assert raw["ratio"] == pytest.approx(math.exp(difference.log_ratio))
    assert (raw["best_mapping"], raw["outcome"], raw["better"]) == ("pcores-set", "better", "lower")
