"""Two results side by side: rows matched, ratios to each one's own baseline, agreement."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.answer import find
from analysis.compare.side_by_side import Row, SideBySide, compare, compare_programs
from analysis.compare.tables import compare_tables, conclusions
from analysis.format.render import render
from analysis.results.sources import Results, open_results
from analysis.tables.means import tables_of_cases
from tests.analysis.results.test_summaries import HEADER
from tests.support.results import record, write

# Ten repetitions whose spread is 0.1 % of their mean.
NOISE = (-1.2, 0.8, -0.5, 1.4, 0.1, -0.9, 1.1, -1.3, 0.6, -0.1)
# Of the rows #1 to #5, and of #6 to #10 again.
MEANINGS = (
    ("all", "none"), ("pcores", "set"), ("pcores", "pin"), ("ecores", "set"), ("ecores", "pin"),
)  # fmt: skip


def runs(number: int, mean: float, **fields: Any) -> list[dict[str, Any]]:  # noqa: ANN401
    """Return ten runs of row `number` around a mean."""
    # Each case has another order of the same noise, as nothing links their runs.
    turned = NOISE[number:] + NOISE[:number]
    spread = fields.pop("spread", 0.001)
    selection, binding = MEANINGS[(number - 1) % 5]
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


def test_the_same_conclusions_on_a_slower_node_agree(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 2: 10.01, 3: 12.0, 4: 8.0})
    b = results(tmp_path / "b", {1: 30.0, 2: 30.03, 3: 33.0, 4: 24.0})

    both = side_by_side(a, b)

    assert [row.agreement for row in rows(both)] == ["baseline", "agree", "agree", "agree"]
    words = [(row.a.word, row.b.word) for row in rows(both) if row.a and row.b]
    assert words == [
        (None, None), ("equivalent", "equivalent"), ("worse", "worse"), ("better", "better"),
    ]  # fmt: skip
    assert conclusions(both) == [
        "time: conclusions agree in 3 of 3 rows that both decide",
        "package energy: conclusions agree in 3 of 3 rows that both decide",
    ]


def test_ratios_are_to_each_one_s_own_baseline_and_b_to_a(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0})
    b = results(tmp_path / "b", {1: 30.0, 3: 33.0})

    first, third = rows(side_by_side(a, b))

    assert first.a and first.b and third.a and third.b and third.direct
    assert first.a.mean == pytest.approx(10, rel=1e-3)
    assert first.b.mean == pytest.approx(30, rel=1e-3)
    assert first.a.ratio and first.a.ratio.value == 1
    for side, ratio in ((third.a, 1.2), (third.b, 1.1)):
        assert side.ratio and side.ratio.interval
        assert side.ratio.value == pytest.approx(ratio, rel=1e-3)
        assert side.ratio.interval.low < side.ratio.value < side.ratio.interval.high
    assert third.direct.value == pytest.approx(33 / 12, rel=1e-3)
    assert third.direct.interval and 2.75 in third.direct.interval


def test_different_conclusions_are_named_row_by_row(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0, 4: 8.0})
    b = results(tmp_path / "b", {1: 30.0, 3: 27.0, 4: 24.0})

    both = side_by_side(a, b)

    assert [row.agreement for row in rows(both)] == ["baseline", "disagree", "agree"]
    assert conclusions(both)[0] == (
        "time: conclusions agree in 1 of 2 rows that both decide; they differ in "
        "lulesh x1 #3 pcores-pin (performance) (A worse, B better)"
    )


def test_a_row_that_one_of_them_cannot_decide_is_open(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0})
    b = results(tmp_path / "b", {1: 30.0, 3: 30.9}, spread=0.05)

    both = side_by_side(a, b)

    assert [row.agreement for row in rows(both)] == ["baseline", "open"]
    assert conclusions(both)[0] == (
        "time: there is no row that both decide (1 more: at least one is undecided)"
    )


def test_what_only_one_of_them_has_is_listed(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0})
    b = results(tmp_path / "b", {1: 30.0, 4: 33.0})
    write(tmp_path / "b", [*runs(1, 5.0, app="lu", case_id="lu")], attempt=2)

    both = side_by_side(a, b)

    assert [(row.case.number, row.agreement) for row in rows(both)] == [
        (1, "baseline"), (3, "only in A"), (4, "only in B"),
    ]  # fmt: skip
    assert both.only_a == ()
    assert [title.split(",")[0] for title in both.only_b] == ["lu (serial)"]
    text = render(compare_tables(both), "text")
    assert "only in B: lu (serial)" in text
    assert "ecores-set" in text


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


def test_energy_without_deviations_has_ratios_and_no_words() -> None:
    both = side_by_side("published:galante-2025", "published:galante-2025")

    third = next(pair for pair in both.pairs if pair.objective == "energy").rows[2]
    assert third.a and third.a.ratio
    # 2021.04 / 2215.08
    assert third.a.ratio.value == pytest.approx(0.912400, abs=1e-6)
    assert (third.a.ratio.interval, third.a.word, third.agreement) == (None, None, "not compared")


def test_our_runs_stand_beside_the_publication_s_without_a_direct_ratio(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 2: 10.0, 3: 12.0, 4: 18.0, 5: 18.0})

    both = side_by_side(a, "published:galante-2025")

    pair = both.pairs[0]
    assert (pair.a.key.threads, pair.remarks) == (1, ())
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

    direct, indirect = (side_by_side(a, other).pairs[0] for other in (b, "published:galante-2025"))

    assert [said[:22] for said in direct.remarks] == [
        "A: Between #1 schedule",
        "#3 pcores-pin, B again",
    ]
    assert [said[:22] for said in indirect.remarks] == ["A: Between #1 schedule"]


def test_another_size_is_compared_and_said_but_not_directly(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0}, size="quick")
    b = results(tmp_path / "b", {1: 30.0, 3: 33.0})

    pair = side_by_side(a, b).pairs[0]

    assert pair.remarks == ("size: A quick, B paper",)
    assert [row.direct for row in pair.rows] == [None, None]


def test_of_two_sizes_the_same_one_is_taken(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0})
    small = [run | {"size": "quick", "case_id": f"q{run['case_id']}"} for run in runs(1, 1.0)]
    b = results(tmp_path / "b", {1: 30.0, 3: 33.0})
    write(tmp_path / "b", small, attempt=2)

    both = side_by_side(a, b)

    assert both.pairs[0].b.key.size == "paper"
    assert [title.split(", ")[1] for title in both.only_b] == ["size quick"]


def of_both_policies(folder: Path, mean: float) -> str:
    """Write the same cases under two wait policies, the second with twice the time."""
    write(folder, [
        run | {"wait_policy": policy, "table_number": table, "case_id": run["case_id"] + policy}
        for table, policy in ((1, "active"), (2, "passive"))
        for number in (1, 3)
        for run in runs(number, mean * table * number)
    ])  # fmt: skip
    return str(folder)


def test_of_two_wait_policies_the_same_one_is_taken(tmp_path: Path) -> None:
    a, b = (of_both_policies(tmp_path / name, mean) for name, mean in (("a", 1.0), ("b", 3.0)))

    both = side_by_side(a, b)

    policies = [(pair.a.key.wait_policy, pair.b.key.wait_policy) for pair in both.pairs]
    assert policies == [("active", "active")] * 2 + [("passive", "passive")] * 2
    assert (both.only_a, both.only_b) == ((), ())
    assert {pair.remarks for pair in both.pairs} == {()}


def test_rows_of_csv_say_which_schedule_and_wait_policy_they_are_of(tmp_path: Path) -> None:
    a, b = (of_both_policies(tmp_path / name, mean) for name, mean in (("a", 1.0), ("b", 3.0)))

    rows_of = [row for table in compare_tables(side_by_side(a, b)) for row in table.exact]

    named = {(row["a_wait_policy"], row["b_wait_policy"], row["a_schedule"]) for row in rows_of}
    assert named == {("active", "active", "static"), ("passive", "passive", "static")}


def test_a_row_whose_governor_is_told_goes_before_one_whose_is_not(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0})
    unknown = runs(2, 11.0, governor="current", governor_read=None, mapping="scheduler")
    known = [run | {"case_number": 3, "case_id": "known"} for run in runs(1, 12.0)]
    write(tmp_path / "b", [*unknown, *known])

    for one, other in ((a, str(tmp_path / "b")), (str(tmp_path / "b"), a)):
        both = rows(side_by_side(one, other))
        matched = [row for row in both if row.a and row.b]
        assert [
            (row.a.case.governor, row.b.case.governor) for row in matched if row.a and row.b
        ] == [("performance", "performance")]


def test_the_governor_in_force_is_what_current_means(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0}, governor="current", governor_read="performance")
    b = results(tmp_path / "b", {1: 30.0, 3: 33.0, 6: 50.0})

    assert [row.agreement for row in rows(side_by_side(a, b))] == ["baseline", "agree", "only in B"]


def test_rows_that_do_not_tell_their_governor_are_no_other_s_rows(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0}, governor="current", governor_read=None)
    b = results(tmp_path / "b", {1: 30.0, 3: 33.0, 6: 50.0, 8: 52.0})

    both = side_by_side(a, b)
    assert {row.agreement for row in rows(both)} == {"only in A", "only in B"}
    assert any("--as-governor" in remark for remark in both.pairs[0].remarks)

    told = side_by_side(a, b, as_governor="performance")
    assert [row.agreement for row in rows(told)][:2] == ["baseline", "agree"]
    assert "taken for performance" in told.remarks[0]


def test_the_margin_decides_what_is_equivalent(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 10.3})
    b = results(tmp_path / "b", {1: 30.0, 3: 30.9})

    for margin, word in ((0.01, "worse"), (0.05, "equivalent")):
        _, third = rows(side_by_side(a, b, margin=margin))
        assert third.a and third.a.word == word


def test_means_without_runs_are_compared_too(tmp_path: Path) -> None:
    for name, factor in (("a", 1), ("b", 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "summaries.csv").write_text(
            HEADER
            + f"lu,x,paper,1,scheduler,performance,10,{50 * factor},0.1\n"
            + f"lu,x,paper,1,pcores-pin,performance,10,{60 * factor},0.1\n"
        )

    first, second = rows(side_by_side(str(tmp_path / "a"), str(tmp_path / "b")))

    assert second.agreement == "agree"
    assert first.direct and first.direct.value == pytest.approx(2)
    assert first.direct.interval and 2.0 in first.direct.interval


def test_rows_that_have_other_numbers_elsewhere_show_both(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0})
    write(tmp_path / "b", [
        *runs(1, 30.0),
        *(run | {"mapping": "pcores-pin", "selection": "pcores", "binding": "pin"}
          for run in runs(2, 33.0)),
        *runs(4, 50.0),
    ])  # fmt: skip

    table = compare_tables(side_by_side(a, str(tmp_path / "b")))[1]

    assert table.columns[0].title == "# A / B"
    assert [row[0] for row in table.cells] == ["1 / 1", "3 / 2", "- / 4"]


def test_csv_has_every_number_unrounded(tmp_path: Path) -> None:
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0})
    b = results(tmp_path / "b", {1: 30.0, 3: 33.0})

    text = render(compare_tables(side_by_side(a, b)), "csv")

    table = list(csv.DictReader(io.StringIO(text)))
    assert [(row["objective"], row["a_case_number"]) for row in table] == [
        ("time", "1"), ("time", "3"), ("energy", "1"), ("energy", "3"),
    ]  # fmt: skip
    assert float(table[1]["a_ratio"]) == pytest.approx(1.2, rel=1e-3)
    assert float(table[1]["a_ratio_low"]) < 1.2 < float(table[1]["a_ratio_high"])
    assert float(table[1]["b_to_a"]) == pytest.approx(2.75, rel=1e-3)
    assert (table[1]["a_word"], table[1]["conclusions"]) == ("worse", "agree")
    assert table[0]["a_word"] == ""


@pytest.mark.parametrize("style", ["text", "markdown", "latex", "csv"])
def test_names_from_records_cannot_spoil_a_terminal_or_a_document(
    tmp_path: Path, style: str
) -> None:
    evil = "\x1b[2J|<b>\\x"
    a = results(tmp_path / "a", {1: 10.0, 3: 12.0}, app=evil, governor=evil, variant=evil)
    b = results(tmp_path / "b", {1: 30.0, 3: 33.0}, app=evil, governor=evil)

    text = render(compare_tables(side_by_side(a, b)), style)

    assert "\x1b" not in text
    if style == "markdown":
        assert "|<b>" not in text
    if style == "latex":
        assert "|<b>" not in text


HOSTILE = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5),
    st.sampled_from(["unknown", "current", "powersave", "vm", "all", -1.0, 0, 1e308, 1e-308]),
)  # fmt: skip
SPOILT = ["app", "size", "threads", "mapping", "governor", "governor_read", "selection",
          "binding", "elapsed_s", "energy_pkg_j", "vcpu_mapping", "case_number", "block",
          "order", "case_id", "table_number"]  # fmt: skip


@settings(max_examples=25)
@given(st.lists(st.dictionaries(st.sampled_from(SPOILT), HOSTILE, max_size=4), max_size=3))
def test_whatever_records_say_there_is_a_comparison(spoilt: list[dict[str, Any]]) -> None:
    with TemporaryDirectory() as name:
        good = [record(number, at) for number in (1, 3) for at in (1, 2)]
        bad = [record(2, at) | fields for at, fields in enumerate(spoilt, 1)]
        write(Path(name), [*good, *bad])
        for a, b in ((name, "published:galante-2025"), ("published:galante-2025", name)):
            tables = compare_tables(side_by_side(a, b))
            for style in ("text", "markdown", "csv", "latex"):
                assert render(tables, style)


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
    assert "app: A lulesh-llnl, B lulesh" in pair.remarks


def test_the_programs_of_one_algorithm_are_compared_within_results(tmp_path: Path) -> None:
    found = both_programs(tmp_path, {1: 10.0, 3: 12.0, 4: 8.0}, {1: 11.0, 3: 13.3, 4: 12.0})

    both = compare_programs(found, find(found))

    assert both is not None
    assert (both.name_a, both.name_b) == ("lulesh-llnl", "lulesh")
    assert [row.agreement for row in rows(both)] == ["baseline", "agree", "disagree"]
    _, third, _ = rows(both)
    assert third.direct and third.direct.value == pytest.approx(13.3 / 12, rel=1e-3)
    assert conclusions(both)[0] == (
        "time: conclusions agree in 1 of 2 rows that both decide; they differ in "
        "lulesh-llnl x1 #4 ecores-set (performance) (A better, B worse)"
    )


def test_programs_of_other_sizes_threads_and_policies_are_not_taken_for_each_other(
    tmp_path: Path,
) -> None:
    others: list[dict[str, object]] = [{"size": "s20"}, {"threads": 2}, {"wait_policy": "active"}]
    for number, other in enumerate(others):
        folder = tmp_path / str(number)
        write(folder, [*runs(1, 10.0, **ORIGINAL), *runs(1, 11.0, **OWN, **other, case_id="own")])
        found = open_results(str(folder))
        assert compare_programs(found, find(found)) is None


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
    assert [row["implementation"] for row in table.exact] == ["one", "other"]


def test_it_is_said_of_what_ratios_are(tmp_path: Path) -> None:
    measured = results(tmp_path / "a", {1: 10.0, 3: 12.0})
    both = side_by_side(measured, measured)
    (_, time, *_) = compare_tables(both)
    said = "ratios are of A: typical values (20 % trimmed); B: typical values (20 % trimmed)"
    assert said in [note for _, note in time.notes]
    assert {row["a_ratio_estimand"] for row in time.exact} == {"typical", None}
