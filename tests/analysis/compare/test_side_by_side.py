"""Two results side by side: rows matched, ratios to each one's own baseline, agreement."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from analysis.answer import analyze
from analysis.card import card_text
from analysis.compare.matching import Unlike
from analysis.compare.side_by_side import Row, SideBySide, compare, compare_programs
from analysis.compare.tables import compare_data, compare_tables
from analysis.format.styles import render
from analysis.format.table import Table
from analysis.results.sources import Results, open_results
from analysis.tables.means import tables_of_cases
from tests.analysis.results.test_summaries import HEADER
from tests.support.golden import GoldenFile
from tests.support.results import MAPPINGS, notes_of, record, write

# Ten repetitions whose spread is 0.1 % of their mean.
NOISE = (-1.2, 0.8, -0.5, 1.4, 0.1, -0.9, 1.1, -1.3, 0.6, -0.1)


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


def results(folder: Path, means: Mapping[int, float], **fields: Any) -> str:  # noqa: ANN401
    """Write the runs of these rows; return their folder."""
    write(folder, [run for number, mean in means.items() for run in runs(number, mean, **fields)])
    return str(folder)


def side_by_side(a: str, b: str, **options: Any) -> SideBySide:  # noqa: ANN401
    return compare(open_results(a), open_results(b), **options)


def rows(both: SideBySide, objective: str = "time") -> Sequence[Row]:
    (pair,) = (pair for pair in both.pairs if pair.objective == objective)
    return pair.rows


def counts_of(both: SideBySide, objective: str = "time") -> tuple[int, int, int]:
    """Return how many rows agree, how many both results decide, and how many are open."""
    (found,) = (of for of in both.agreements if of.objective == objective)
    return found.counts["agree"], found.decided, found.counts["open"]


@pytest.mark.parametrize(
    ("a", "b", "spread", "agreements", "expected", "notes"),
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
    tmp_path: Path,
    a: dict[int, float],
    b: dict[int, float],
    spread: float,
    agreements: list[str],
    expected: tuple[int, int, int],
    notes: list[str],
) -> None:
    both = side_by_side(results(tmp_path / "a", a), results(tmp_path / "b", b, spread=spread))

    assert [row.agreement for row in rows(both)] == agreements
    assert counts_of(both) == expected
    assert [note for note in notes_of(compare_tables(both)[0]) if note.startswith("time")] == notes
    if len(agreements) == 4:
        outcomes = [(row.a.outcome, row.b.outcome) for row in rows(both)[1:] if row.a and row.b]
        assert outcomes == [(outcome, outcome) for outcome in ("equivalent", "worse", "better")]
        assert counts_of(both, "energy") == (3, 3, 0)


def test_tables_show_what_both_have_under_which_numbers_and_what_only_one_has(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0, 5: 11.0})
    pinned = {"mapping": "pcores-pin", "selection": "pcores", "binding": "pin"}
    other_numbers = [run | pinned for run in runs(2, 33.0)]
    alone = runs(1, 5.0, app="lu", case_id="lu")
    write(tmp_path / "b", [*runs(1, 30.0), *other_numbers, *runs(4, 50.0), *alone])

    both = side_by_side(a, str(tmp_path / "b"))

    text = render(compare_tables(both), "text")
    for name in "ab":
        text = text.replace(str(tmp_path / name), name.upper())
    assert text == snapshot(extension_class=GoldenFile)


def times_of(both: SideBySide) -> Table:
    """Return the first table of two results' times."""
    return next(table for table in compare_tables(both) if table.caption.endswith("side by side"))


def test_the_publication_agrees_with_itself() -> None:
    both = side_by_side("published:galante-2025", "published:galante-2025")

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


def test_our_runs_stand_beside_the_publication_s_without_a_direct_ratio(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 2: 10.0, 3: 12.0, 4: 18.0, 5: 18.0})

    both = side_by_side(a, "published:galante-2025")

    pair = both.pairs[0]
    assert (pair.a.key.threads, pair.differences) == (1, ())
    assert [row.agreement for row in pair.rows] == [
        "baseline", *["agree"] * 4, *["only in B"] * 5,
    ]  # fmt: skip
    assert all(row.direct is None for row in pair.rows)
    assert len(both.only_b) == 7


def test_a_start_that_differs_is_told_of_ratios_that_are_there(tmp_path: Path) -> None:
    pinned = {"mechanism": "likwid-pin"}
    write(tmp_path / "a", [*runs(1, 10.0), *runs(3, 12.0, **pinned)])
    write(tmp_path / "b", [*runs(1, 10.0), *runs(3, 12.0)])
    a, b = str(tmp_path / "a"), str(tmp_path / "b")

    loaded = "likwid-pin is loaded into one of both, and its start is in the numbers"
    direct, indirect = (
        [note for marker, note in times_of(side_by_side(a, other)).notes if marker]
        for other in (b, "published:galante-2025")
    )
    assert direct == [f"A: {loaded}", f"B against A: {loaded}"]
    assert [note for note in indirect if "likwid" in note] == [f"A: {loaded}"]


def test_another_size_is_compared_with_a_footnote_but_not_directly(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0}, size="quick")
    b = results(tmp_path / "b", {1: 30.0, 3: 33.0})

    pair = side_by_side(a, b).pairs[0]

    assert pair.differences == (Unlike("size", "quick", "paper"),)
    assert [row.direct for row in pair.rows] == [None, None]


def of_both(folder: Path, mean: float, field: str, values: Sequence[str]) -> str:
    """Write the same cases under two conditions, the second with twice the time."""
    write(folder, [
        run | {field: value, "table_number": table, "case_id": run["case_id"] + value}
        for table, value in enumerate(values, 1)
        for number in (1, 3)
        for run in runs(number, mean * table * number)
    ])  # fmt: skip
    return str(folder)


@pytest.mark.parametrize("order", [("libgomp", "libomp"), ("libomp", "libgomp")])
def test_a_table_is_compared_with_one_other_only(tmp_path: Path, order: Sequence[str]) -> None:
    many = of_both(tmp_path / "many", 1, "build", order)
    one = of_both(tmp_path / "one", 3, "build", ["libgomp"])

    for a, b in ((many, one), (one, many)):
        both = side_by_side(a, b)

        assert [pair.a.key.build for pair in both.pairs] == ["libgomp"] * 2
        assert all(row.a and row.b for pair in both.pairs for row in pair.rows)
        (left,) = both.only_a + both.only_b
        assert "libomp" in left


@pytest.mark.parametrize(
    ("field", "values"),
    [("wait_policy", ["active", "passive"]), ("size", ["paper", "quick"])],
    ids=["wait policy", "size"],
)
def test_of_two_conditions_the_same_one_is_taken(
    tmp_path: Path, field: str, values: list[str]
) -> None:
    a, b = (of_both(tmp_path / name, mean, field, values) for name, mean in (("a", 1), ("b", 3)))

    both = side_by_side(a, b)

    taken = [(getattr(pair.a.key, field), getattr(pair.b.key, field)) for pair in both.pairs]
    assert taken == [(value, value) for value in values for _ in ("time", "energy")]
    assert (both.only_a, both.only_b) == ((), ())
    assert {pair.differences for pair in both.pairs} == {()}
    raw_values = [row for table in compare_tables(both) for row in table.raw_values]
    named = {(row[f"a_{field}"], row[f"b_{field}"], row["a_schedule"]) for row in raw_values}
    assert named == {(value, value, "static") for value in values}


def test_a_row_with_a_known_governor_is_matched_first(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0})
    unknown = runs(2, 11.0, governor="current", governor_read=None, mapping="unpinned")
    known = [run | {"case_number": 3, "case_id": "known"} for run in runs(1, 12.0)]
    write(tmp_path / "b", [*unknown, *known])

    for one, other in ((a, str(tmp_path / "b")), (str(tmp_path / "b"), a)):
        both = rows(side_by_side(one, other))
        matched = [row for row in both if row.a and row.b]
        assert [
            (row.a.case.governor, row.b.case.governor) for row in matched if row.a and row.b
        ] == [("performance", "performance")]


def test_a_row_without_a_known_governor_is_the_only_one_that_it_can_be(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0})
    unknown = {"governor": "current", "governor_read": None}
    b = results(tmp_path / "b", {1: 30.0, 3: 36.0}, **unknown)
    for one, other in ((a, b), (b, a)):
        both = rows(side_by_side(one, other))
        assert [row.agreement for row in both] == ["baseline", "agree"]

    # Under two governors it may be either.
    twice = results(tmp_path / "twice", {1: 10.0, 6: 12.0})
    both = rows(side_by_side(twice, results(tmp_path / "once", {1: 30.0}, **unknown)))
    assert {row.agreement for row in both} == {"only in A", "only in B"}


def test_rows_of_current_governors_are_matched_where_it_is_known_which_was_in_force(
    tmp_path: Path,
) -> None:
    known = {"governor": "current", "governor_read": "performance"}
    in_force = results(tmp_path / "known", {1: 10.0, 3: 12.0}, **known)
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0}, governor="current", governor_read=None)
    b = results(tmp_path / "b", {1: 30.0, 3: 33.0, 6: 50.0, 8: 52.0})

    assert [row.agreement for row in rows(side_by_side(in_force, b))] == [
        "baseline", "agree", "only in B", "only in B",
    ]  # fmt: skip
    both = side_by_side(a, b)
    assert {row.agreement for row in rows(both)} == {"only in A", "only in B"}
    assert both.pairs[0].unknown_governors == ("A",)
    assert any("--as-governor" in note for note in notes_of(times_of(both)))

    assumed = side_by_side(a, b, as_governor="performance")
    assert [row.agreement for row in rows(assumed)][:2] == ["baseline", "agree"]
    assert "taken for performance" in assumed.footnotes[0]


def test_the_margin_decides_what_is_equivalent(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 10.3})
    b = results(tmp_path / "b", {1: 30.0, 3: 30.9})

    for margin, outcome in ((0.01, "worse"), (0.05, "equivalent")):
        _, third = rows(side_by_side(a, b, margin=margin))
        assert third.a and third.a.outcome == outcome


def test_means_without_runs_are_compared_too(tmp_path: Path) -> None:
    for name, factor in (("a", 1), ("b", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "summaries.csv").write_text(
            HEADER
            + f"lu,x,paper,1,unpinned,performance,10,{50 * factor},0.1\n"
            + f"lu,x,paper,1,pcores-pin,performance,10,{60 * factor},0.1\n"
        )

    first, second = rows(side_by_side(str(tmp_path / "a"), str(tmp_path / "b")))

    assert second.agreement == "agree"
    assert first.direct and first.direct.value == pytest.approx(2)
    assert first.direct.interval and 2.0 in first.direct.interval


def test_csv_has_every_number_unrounded(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0})
    b = results(tmp_path / "b", {1: 30.0, 3: 33.0})

    tables = compare_tables(side_by_side(a, b))
    text = render(tables, "csv")

    kinds = f"ratios are of A: {TRIMMED}; B: {TRIMMED}; B / A: {TRIMMED}"
    assert kinds in notes_of(tables[1])
    table = list(csv.DictReader(io.StringIO(text)))
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


def test_ratios_of_runs_without_spread_have_no_intervals(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0}, spread=0.0)
    b = results(tmp_path / "b", {1: 10.0, 3: 15.0}, spread=0.0)

    table = times_of(side_by_side(a, b))

    assert table.cells[1] == (
        *("3", "pcores-pin", "performance"),
        *("12.000", "1.200", "-"),
        *("15.000", "1.500", "-"),
        *("1.250", "-", "undecided"),
        *("undecided", "undecided", "open"),
    )
    third = table.raw_values[1]
    ends = [third[f"{name}_{end}"] for name in ("a_ratio", "b_ratio", "b_to_a")
            for end in ("low", "high")]  # fmt: skip
    assert ends == [None] * 6
    assert third["b_to_a"] == pytest.approx(1.25)


TRIMMED = "typical values (20 % trimmed)"
UNTRIMMED = "typical values (fewer than 7 runs: nothing is trimmed)"


@pytest.mark.parametrize(
    ("counts_a", "counts_b", "expected"),
    [
        ((10, 10, 10), (10, 10, 10), f"A: {TRIMMED}; B: {TRIMMED}; B / A: {TRIMMED}"),
        ((5, 5, 5), (10, 10, 10), f"A: {UNTRIMMED}; B: {TRIMMED}; B / A: {UNTRIMMED}"),
        ((1, 1, 1), (2, 2, 2), f"A: means; B: {UNTRIMMED}; B / A: means"),
        ((10, 10, 1), (10, 10, 10),
         f"A: {TRIMMED} in #2 and means in #3; B: {TRIMMED}; B / A: {TRIMMED} in #1, #2 and "
         "means in #3"),
    ],
    ids=["ten runs", "five runs", "one run", "one run of one row"],
)  # fmt: skip
def test_each_column_says_what_its_ratios_are_of(
    tmp_path: Path, counts_a: tuple[int, ...], counts_b: tuple[int, ...], expected: str
) -> None:
    for name, counts in (("a", counts_a), ("b", counts_b)):
        some = [runs(row, 10.0 + row)[:count] for row, count in enumerate(counts, 1)]
        write(tmp_path / name, [run for of in some for run in of])

    table = times_of(side_by_side(str(tmp_path / "a"), str(tmp_path / "b")))

    assert f"ratios are of {expected}" in notes_of(table)


def test_b_to_a_of_two_cards_is_said_to_be_of_means(tmp_path: Path) -> None:
    cards = []
    for name, mean in (("a", 12.0), ("b", 15.0)):
        found = open_results(results(tmp_path / name, {1: 10.0, 3: mean}))
        cards.append(tmp_path / f"{name}.json")
        cards[-1].write_bytes(card_text(found, analyze(found))[1])

    table = times_of(side_by_side(*map(str, cards)))

    assert f"ratios are of A: {TRIMMED}; B: {TRIMMED}; B / A: means" in notes_of(table)
    third = table.raw_values[1]
    assert (third["a_ratio_estimand"], third["b_to_a_estimand"]) == ("typical", "mean")


def test_ratios_of_means_without_intervals_are_said_to_be_so_without_a_common_baseline(
    tmp_path: Path,
) -> None:
    for name in "ab":
        write(tmp_path / name, [runs(3, 12.0)[0]])

    table = times_of(side_by_side(str(tmp_path / "a"), str(tmp_path / "b")))

    assert table.cells[0][9] == "1.000"
    assert notes_of(table) == [
        "no baseline is in both: no ratios to it",
        "ratios are of B / A: means",
    ]


def test_small_ratios_have_digits_that_count(tmp_path: Path) -> None:
    # Ratios of 0.0005 to the baseline, and of 0.00004 to the other results.
    a = results(tmp_path / "a", {1: 1000.0, 3: 0.5})
    b = results(tmp_path / "b", {1: 0.04, 3: 0.00002})

    first, third = times_of(side_by_side(a, b)).cells

    assert third[4] == "0.000500"
    low, high = map(float, third[5].split(" to "))
    assert 0.000499 < low < high < 0.000502
    assert [cells[9] for cells in (first, third)] == ["0.0000400", "0.0000400"]
    low, high = map(float, first[10].split(" to "))
    assert 0.0000399 <= low < high <= 0.0000401


def test_intervals_over_more_than_a_factor_of_a_thousand_are_none(tmp_path: Path) -> None:
    wild = [record(1, at, elapsed_s=of) for at, of in enumerate((1.0, 4e5), 1)]
    tame = [record(3, at, elapsed_s=1.0 + at / 100) for at in (1, 2)]
    for name in "ab":
        write(tmp_path / name, [*wild, *tame])

    _, third = times_of(side_by_side(str(tmp_path / "a"), str(tmp_path / "b"))).cells

    assert third[5] == "too wide to tell"


def test_each_row_has_an_outcome_for_b_against_a(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 2: 10.0, 3: 12.0})
    b = results(tmp_path / "b", {1: 10.0, 2: 9.0, 3: 15.0})

    times = next(pair for pair in side_by_side(a, b).pairs if pair.objective == "time")

    assert {row.case.number: row.outcome for row in times.rows} == {
        1: "equivalent",
        2: "better",
        3: "worse",
    }
    assert any("tested together (Holm)" in note for note in notes_of(times_of(side_by_side(a, b))))


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
        bad = [record(2, at) | fields for at, fields in enumerate(spoilt, 1)]
        write(Path(name), [*good, *bad])
        publication = "published:galante-2025"
        for a, b in ((name, publication), (publication, name), (name, name)):
            tables = compare_tables(side_by_side(a, b))
            for style in ("text", "markdown", "csv", "latex"):
                shown = render(tables, style)
                assert shown and "\x1b" not in shown
                assert style in ("text", "csv") or "|<b>" not in shown


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


def test_a_program_is_compared_with_the_publication_s_of_the_same_algorithm(
    tmp_path: Path,
) -> None:
    mine = results(tmp_path / "mine", {1: 10.0, 3: 12.0}, **ORIGINAL)

    both = side_by_side(mine, "published:galante-2025")

    assert [row.agreement for row in rows(both)][:2] == ["baseline", "agree"]
    (pair, *_) = both.pairs
    assert Unlike("app", "lulesh-llnl", "lulesh") in pair.differences


def test_the_programs_of_one_algorithm_are_compared_within_results(tmp_path: Path) -> None:
    found = both_programs(tmp_path, {1: 10.0, 3: 12.0, 4: 8.0}, {1: 11.0, 3: 13.3, 4: 12.0})

    both = compare_programs(found, analyze(found))

    assert both is not None
    assert (both.name_a, both.name_b) == ("lulesh-llnl", "lulesh")
    assert [row.agreement for row in rows(both)] == ["baseline", "agree", "disagree"]
    _, third, _ = rows(both)
    assert third.direct and third.direct.value == pytest.approx(13.3 / 12, rel=1e-3)
    assert counts_of(both) == (1, 2, 0)
    row = "time, lulesh-llnl x1 #4 ecores-set (performance): A better, B worse"
    assert row in notes_of(compare_tables(both)[0])


def test_programs_of_other_sizes_threads_and_policies_are_not_taken_for_each_other(
    tmp_path: Path,
) -> None:
    others: list[dict[str, object]] = [{"size": "s20"}, {"threads": 2}, {"wait_policy": "active"}]
    for number, other in enumerate(others):
        folder = tmp_path / str(number)
        write(folder, [*runs(1, 10.0, **ORIGINAL), *runs(1, 11.0, **OWN, **other, case_id="own")])
        found = open_results(str(folder))
        assert compare_programs(found, analyze(found)) is None


def test_the_caption_says_whose_program_it_is(tmp_path: Path) -> None:
    found = both_programs(tmp_path, {1: 10.0}, {1: 11.0})

    captions = [table.caption for table in tables_of_cases(found.cases)]

    assert [text.partition(",")[0] for text in sorted(captions)] == [
        "LULESH 2.0.3 (LLNL): lulesh-llnl (serial)",
        "pinstudy's own Lulesh: lulesh (serial)",
    ]


def test_a_caption_names_every_build_of_which_there_are_runs(tmp_path: Path) -> None:
    both = [*runs(1, 10.0, implementation="one"), *runs(2, 10.0, implementation="other")]
    write(tmp_path, both)

    (table,) = tables_of_cases(open_results(str(tmp_path)).cases)

    assert table.caption.startswith("one; other: lulesh (serial), size paper")
    assert [row["implementation"] for row in table.raw_values] == ["one", "other"]


def test_tables_are_of_the_same_number_of_ranks_or_not_put_side_by_side(tmp_path: Path) -> None:
    means = {1: 10.0, 3: 9.0}
    folders = [
        results(tmp_path / f"{ranks}", means, ranks=ranks, threads=2, mpi=mpi, ranks_by="order")
        for ranks, mpi in ((2, "openmpi"), (1, "openmpi"))
    ]
    other = results(tmp_path / "other", means, ranks=2, threads=2, mpi="mpich", ranks_by="kind")
    none = results(tmp_path / "none", means, threads=2)

    assert side_by_side(folders[0], folders[1]).pairs == ()
    assert side_by_side(folders[1], none).pairs == ()
    pair, *_ = side_by_side(folders[0], other).pairs
    assert pair.differences == (
        Unlike("launcher of ranks", "openmpi", "mpich"),
        Unlike("CPUs divided among ranks by", "order", "kind"),
    )
    text = render(compare_tables(side_by_side(folders[0], other)), "csv")
    assert {(row["ranks"], row["threads"]) for row in csv.DictReader(io.StringIO(text))} == {
        ("2", "2")
    }


def test_a_row_in_which_ranks_differ_is_named_by_ranks_and_threads(tmp_path: Path) -> None:
    of_ranks = {"ranks": 2, "threads": 4}
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0}, **of_ranks)
    b = results(tmp_path / "b", {1: 10.0, 3: 9.0}, **of_ranks)

    notes = notes_of(compare_tables(side_by_side(a, b))[0])

    assert "time, lulesh 2x4 #3 pcores-pin (performance): A worse, B better" in notes


def test_a_case_in_several_modes_has_a_note_with_each_of_them(tmp_path: Path) -> None:
    turns = [10.0] * 6 + [12.0] * 6
    two = [
        record(1, at, elapsed_s=mean * (1 + NOISE[at % 10] / 1000))
        for at, mean in enumerate(turns, 1)
    ]
    for name in "ab":
        write(tmp_path / name, [*two, *runs(3, 12.0)])

    notes = notes_of(times_of(side_by_side(str(tmp_path / "a"), str(tmp_path / "b"))))

    of_modes = [note for note in notes if "several modes" in note]
    assert [note.partition(" of ")[0] for note in of_modes] == [
        f"{side}: several modes: 6" for side in "AB"
    ]
    assert all(
        "6 about 12 s" in note or "6 about 12.0" in note or "6 about 11.9" in note
        for note in of_modes
    )


def test_a_case_that_lost_runs_has_a_note_with_their_causes(tmp_path: Path) -> None:
    lost = [record(3, at, status="failed", reason="no") for at in (11, 12, 13)]
    write(tmp_path / "a", [*runs(1, 10.0), *runs(3, 12.0), *lost])
    b = results(tmp_path / "b", {1: 10.0, 3: 12.0})

    notes = notes_of(times_of(side_by_side(str(tmp_path / "a"), b)))

    assert "A: lost: 3 failed" in notes
    assert "A: not compared: 3 of 13 runs lost, more than a tenth" in notes


def test_json_has_agreements_as_numbers(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0, 4: 8.0, 5: 9.0}, size="quick")
    b = results(tmp_path / "b", {1: 30.0, 3: 27.0, 4: 24.0})

    data = compare_data(side_by_side(a, b))

    assert data["agreements"][0] == {
        "objective": "time", "agree": 1, "disagree": 1, "open": 0, "not_compared": 0,
        "only_in_a": 1, "only_in_b": 0,
    }  # fmt: skip
    size = {"fact": "size", "a": "quick", "b": "paper", "changes": "", "apps": ["lulesh"]}
    assert data["differences"] == [size]
