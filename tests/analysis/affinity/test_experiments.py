"""What placements cost, by experiment: made-up results whose ratios and times are known."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pinstudy.analysis.affinity.experiments import (
    Contention,
    Sharing,
    contention,
    contention_sections,
    exchanges,
    pingpong_section,
    sharing,
    smt_section,
)
from pinstudy.analysis.affinity.team import MAX_CELLS, Team, binding_found, team_section, teams
from pinstudy.analysis.affinity.timed_cases import SMT, ExperimentRow, Section, lacking
from pinstudy.analysis.format.table import Table
from pinstudy.analysis.published import names, published_of
from pinstudy.analysis.results.sources import open_results
from pinstudy.base.errors import UserError
from tests.analysis.affinity.made_results import (
    LATENCIES,
    NO_L1D,
    ROUNDS,
    Affinity,
    opened,
    opened_records,
)
from tests.analysis.report.made_results import DIGEST
from tests.support.results import Record, cells_by_title, notes_of, record

CONTENTION, SMT_ONLY = Affinity(apps=("contention",)), Affinity(apps=("smt",))


def row_of(section: Section, mapping: str) -> str:
    """Return the last row of a mapping, with its titles' cells in one line."""
    (*_, row) = (cells for cells in section.table.cells if mapping in cells)
    return " | ".join(row)


def test_sections_have_what_was_measured_beside_what_was_published(tmp_path: Path) -> None:
    results, findings = opened(tmp_path)

    rounds, _ = contention_sections(contention(results, findings)[0], 0.01)
    (sines, _), (exchanged,) = sharing(results, findings), exchanges(results, findings)
    threads, transfers = smt_section(sines), pingpong_section(exchanged)
    of_team = team_section(teams(results, findings)).table

    policy = "wait policy runtime-default, governor performance"
    titles = [section.title for section in (rounds, threads, transfers)]
    assert titles == [
        f"contention (libgomp), size integer, 4 threads, {policy}",
        f"smt (libgomp), size sin, {policy}",
        f"pingpong (libgomp), size cas, 2 threads, {policy}",
    ]
    assert row_of(rounds, "unpinned").startswith("1 | unpinned | 0-15 | 10 | 10.00 | ")
    assert row_of(rounds, "unpinned").endswith("baseline | nothing | 8.00 | 10.7 | 7.84")
    assert row_of(rounds, "same-cpu-pin-program").endswith("better | program | 0.50 | 3.53 | 0.45")
    assert "| left out |" in row_of(rounds, "across-packages-pin")
    alone = "program | pcores-pin-program (1 thread)"
    siblings = row_of(threads, "siblings-pin-program")
    assert siblings.endswith(f"worse | {alone} | 1.75 (540 to 945 ms)")
    assert "better | program" in row_of(transfers, "siblings-pin-program")
    extremes = ("least time: #2 same-cpu-pin-program, ratio 0.250", "most time: #7 across-kinds")
    assert all(part in notes_of(rounds.table)[0] for part in extremes)
    for section in (rounds, threads, transfers):
        assert any(note.startswith("published") for note in notes_of(section.table))
    assert of_team.cells == (
        ("#1 unpinned", "free", "4", "0", "1", "0-15", "-", "6", "P 62 %, E 38 %", "6"),
        ("#2 pcores-pin-program", "bound", "4", "4", "4", "0,2,4,6", "-", "4", "P 100 %", "6"),
        ("#3 same-cpu-pin-program", "oversubscribed", *"442", "0,2", "-", "2", "P 100 %", "6"),
    )
    assert notes_of(of_team) == ["1 free, 1 bound, 1 oversubscribed"]


def test_times_are_published_for_arrays_of_the_published_length_only() -> None:
    short = published_of(SMT, "sin-quick", "siblings")
    assert short and (short.alone_ms, short.time_ms, short.slowdown) == (None, None, 1.75)
    # What was published is no results of their own.
    assert not [name for name in names() if "affinity" in name]
    with pytest.raises(UserError, match="not known"):
        open_results("published:affinity")


def integers(folder: Path, study: Affinity) -> Contention:
    return contention(*opened(folder, study))[0]


def tables(found: Contention) -> list[Table]:
    """Return the table of the cases, and that of who pins them."""
    return [section.table for section in contention_sections(found, 0.01)]


def ratios(rows: Sequence[ExperimentRow]) -> dict[str, float]:
    return {
        row.measured.case.mapping: row.against.difference.ratio
        for row in rows
        if row.against is not None
    }


def test_each_placement_is_compared_with_the_unpinned_one_by_the_time_of_a_round(
    tmp_path: Path,
) -> None:
    found = contention(*opened(tmp_path, CONTENTION))
    for experiment, rounds in zip(found, ROUNDS.values(), strict=True):
        expected = {name: ms / rounds["unpinned"] for name, ms in rounds.items()}
        del expected["unpinned"]
        # Noise of 0.2 % a run, ten pairs: 0.09 % of error, four of them are beyond doubt.
        assert ratios(experiment.rows) == pytest.approx(expected, rel=0.004)
        assert all(row.against.difference.paired for row in experiment.rows if row.against)
    # Who pins is compared, too, and its placement proved.
    _, of_pinning = tables(found[0])
    row = cells_by_title(of_pinning)
    assert (row["by itself"], row["from outside"]) == ("#2 same-cpu-pin-program", "#3 same-cpu-pin")
    assert (row["pinned by"], row["CPUs"], row["outcome"]) == ("omp-places", "0,2", "equivalent")
    assert row["placement proved (by itself)"] == "10 of 10"
    conclusion = "who pins makes no difference (within 1 %) in 1 of 1 pair"
    assert notes_of(of_pinning) == [conclusion]


def test_few_runs_are_shown_and_not_compared(tmp_path: Path) -> None:
    few = Affinity(apps=("contention", "pingpong"), repetitions=1)
    results, findings = opened(tmp_path, few)
    found = contention(results, findings)[0]

    table, of_pinning = tables(found)

    assert ratios(found.rows) == {}
    assert found.same[0].why_not == "few"
    outcome = cells_by_title(of_pinning)["outcome"]
    assert outcome == "not compared: too few runs, or not in turn"
    assert table.cells[0][:4] == ("1", "unpinned", "0-15", "1")
    assert notes_of(table)[0] == "nothing is compared"
    exchanged = pingpong_section(exchanges(results, findings)[0]).table
    at = [column.name for column in exchanged.columns].index("its 95 % interval")
    assert {row[at] for row in exchanged.cells} == {"-"}


def test_without_an_unpinned_case_nothing_is_compared_with_it(tmp_path: Path) -> None:
    unproved = {"placement": {"verdict": "unproved"}, "unavailable": {"placement": "too short"}}
    study = Affinity(apps=("contention",), l1d=False, beside={"binding": "pin", **unproved})

    found = integers(tmp_path, study)

    assert ratios(found.rows) == {}
    # What was published of threads that were left alone is not beside pinned ones.
    assert found.rows[0].published is None
    row = cells_by_title(tables(found)[1])
    assert {row[f"placement proved ({by})"] for by in ("by itself", "from outside")} == {"0 of 10"}


def test_misses_that_were_not_counted_have_their_reason(tmp_path: Path) -> None:
    found = integers(tmp_path, Affinity(apps=("contention",), l1d=False))
    table, _ = tables(found)
    assert found.no_l1d == NO_L1D
    assert f"L1 load misses not counted: {NO_L1D}" in notes_of(table)
    assert not any("L1" in column.name for column in table.columns)


def losing(study: Affinity, case_id: str) -> list[Record]:
    """Return a study's records, and three more of a case that violated its placement."""
    records = list(study.records())
    case = [run for run in records if run["case_id"] == case_id][:3]
    lost = {"status": "placement-violated", "reason": "CPU 9"}
    return records + [run | lost | {"repetition": run["repetition"] + 20} for run in case]


def test_cases_that_lost_runs_to_placement_are_not_compared_for_that_reason(tmp_path: Path) -> None:
    records = losing(CONTENTION, "contention-integer-4-same-cpu-pin")
    found = contention(*opened_records(tmp_path / "contention", records))[0]
    assert found.same[0].why_not == "lost"
    assert cells_by_title(tables(found)[1])["outcome"] == "not compared: too many runs lost"

    records = losing(SMT_ONLY, "smt-sin-2-siblings-pin-program")
    results, findings = opened_records(tmp_path / "smt", records)
    (sines, _) = sharing(results, findings)
    assert "siblings-pin-program" not in ratios(pairs(sines))
    assert "no comparable run" not in " ".join(notes_of(smt_section(sines).table))
    (text,) = lacking(findings, "smt")
    assert text.startswith("not compared: 3 of 13 runs of #")
    assert "siblings-pin-program violated the placement" in text


def test_placements_of_another_attempt_are_noted(tmp_path: Path) -> None:
    apart = ("same-cpu-pin", "unpinned")
    records = [
        run | {"attempt": 1 + (run["mapping"] not in apart), "order": None}
        for run in Affinity(apps=("contention", "pingpong")).records()
    ]
    results, findings = opened_records(tmp_path, records)

    of_pinning = tables(contention(results, findings)[0])[1]
    exchanged = pingpong_section(exchanges(results, findings)[0]).table

    (note,), (of_pingpong,) = (
        [text for text in notes_of(table) if "no attempt" in text]
        for table in (of_pinning, exchanged)
    )
    assert "#2 same-cpu-pin-program, #3 same-cpu-pin" in note
    assert "#2 " in of_pingpong


def pairs(found: Sharing) -> list[ExperimentRow]:
    return [row for row in found if row.measured.threads > 1]


def test_slowdowns_beside_another_thread_are_those_that_were_made(tmp_path: Path) -> None:
    results, findings = opened(tmp_path, SMT_ONLY)

    (sines, _) = sharing(results, findings)

    assert ratios(pairs(sines)) == pytest.approx(
        {
            "unpinned": 1.0,
            "pcores-pin-program": 1.0,
            "siblings-pin-program": 1.8,
            "same-cluster-pin-program": 1.05,
            # 750 ms against the mean of 500 and 1000 ms.
            "across-kinds-pin-program": 1.0,
            "same-cpu-pin-program": 2.0,
        },
        rel=0.004,
    )
    # Without the node's file only the same selection is surely of one kind.
    (tmp_path / "nodes" / f"{DIGEST}.json").unlink()
    (sines, _) = sharing(results, findings)
    assert set(ratios(pairs(sines))) == {"unpinned", "pcores-pin-program"}
    assert "no comparable run of one thread" in " ".join(notes_of(smt_section(sines).table))


def test_rates_of_exchanges_are_one_way_transfers_a_second(tmp_path: Path) -> None:
    (found,) = exchanges(*opened(tmp_path, Affinity(apps=("pingpong",), noise=0.0)))

    rates = {row.measured.case.mapping: row.rate.mean for row in found if row.rate}
    # 50 ns are 20 million a second.
    assert rates["unpinned"] == pytest.approx(20e6)
    assert rates == pytest.approx({name: 1e9 / ns for name, ns in LATENCIES.items()})


# Who ran where: what the kernel's looks at a team's threads say.
Thread = tuple[str, dict[str, int]]


def a_run(threads: Any, repetition: int = 1, **fields: Any) -> Record:  # noqa: ANN401
    placement = {"verdict": "proved", "looks": 10, "threads": threads}
    return record(1, repetition, app="threadmap", node_digest=DIGEST, placement=placement, **fields)


def as_recorded(*threads: Thread) -> list[Record]:
    return [{"process": 0, "allowed": allowed, "seen": seen} for allowed, seen in threads]


def team_of(folder: Path, *runs: Sequence[Thread]) -> Team:
    records = [a_run(as_recorded(*threads), at) for at, threads in enumerate(runs, 1)]
    (found,) = teams(*opened_records(folder, records))
    return found


SPLIT, OVER = "split across kinds", "oversubscribed"


@pytest.mark.parametrize(
    ("threads", "binding", "single", "masks", "allowed", "kinds"),
    [
        ([("0", {"0": 9}), ("0-15", {"4": 9})], "free", "1", "2", "0-15", "-"),
        ([("0-3", {"0": 9}), ("0-3", {"1": 9})], "bound", "0", "1", "0-3", "-"),
        ([("3", {"3": 9})], "bound", "1", "1", "3", "-"),
        ([("0", {"0": 9}), ("12", {"12": 9})], SPLIT, "2", "2", "0,12", "P 1, E 1"),
        ([("0-3", {"0": 9}), ("12-15", {"12": 9})], SPLIT, "0", "2", "0-3,12-15", "P 1, E 1"),
        ([("0-13", {"0": 9}), ("12-15", {"12": 9})], "bound", "0", "2", "0-15", "-"),
        ([("0-1", {"0": 9})] * 3, OVER, "0", "1", "0-1", "-"),
        # Three CPUs for three threads, of which two have only one of these between them.
        ([("0", {}), ("0", {}), ("1-2", {})], OVER, "2", "2", "0-2", "-"),
        # The same where no thread has one CPU only.
        ([("0-1", {})] * 3 + [("2-5", {})], OVER, "0", "2", "0-5", "-"),
    ],
)
def test_each_way_of_binding_has_its_row(
    tmp_path: Path,
    threads: list[Thread],
    binding: str,
    single: str,
    masks: str,
    allowed: str,
    kinds: str,
) -> None:
    found = team_of(tmp_path, threads)

    assert binding_found(found) == binding
    assert (
        cells_by_title(team_section([found]).table).items()
        >= {
            "binding": binding,
            "threads": str(len(threads)),
            "with one CPU (threads)": single,
            "sets of CPUs": masks,
            "CPUs allowed": allowed,
            "threads by kind": kinds,
        }.items()
    )


def test_free_means_the_cpus_that_the_study_s_process_had(tmp_path: Path) -> None:
    results, findings = opened_records(tmp_path, [a_run(as_recorded(("0-3", {"0": 9})))])
    path = tmp_path / "nodes" / f"{DIGEST}.json"
    path.write_text(path.read_text().replace('"allowed": "0-15"', '"allowed": "0-3"'))
    (found,) = teams(results, findings)
    assert binding_found(found) == "free"


def test_a_record_with_more_masks_than_any_node_has_takes_no_time(tmp_path: Path) -> None:
    found = team_of(tmp_path, [(f"0-{65000 + thread % 500}", {"0": 1}) for thread in range(200)])
    assert sum(len(mask) for mask in found.masks) < 2 * MAX_CELLS
    assert team_section([found]).table.cells


def test_looks_of_good_runs_of_a_usual_team_are_added_up_thread_by_thread(tmp_path: Path) -> None:
    two = as_recorded(("0-15", {"0": 5}), ("0-15", {"1": 5}))
    elsewhere = as_recorded(("0-15", {"9": 5}), ("0-15", {"9": 5}))
    records = [
        a_run(two, 1),
        a_run(as_recorded(("0-15", {"0": 3, "2": 2}), ("0-15", {"1": 5})), 2),
        a_run(elsewhere, 3, status="placement-violated", reason="no"),
        a_run(elsewhere, 4, warmup=True),
        # Of an unusual number of threads.
        a_run(elsewhere[:1], 5),
    ]

    (found,) = teams(*opened_records(tmp_path, records))

    assert found.runs == 2
    assert [dict(thread.seen) for thread in found.threads] == [{0: 8, 2: 2}, {1: 10}]


@pytest.mark.parametrize(
    "threads",
    [None, "0-15", [], [3, None, "thread"], [{"process": 1, "allowed": "0", "seen": {"0": 5}}]],
)
def test_a_record_without_threads_makes_no_team(tmp_path: Path, threads: object) -> None:
    assert teams(*opened_records(tmp_path, [a_run(threads)])) == []


@pytest.mark.parametrize(
    ("allowed", "seen"),
    [
        ("0-99999999", {"0": 5}),
        ("0;", {"0": 5, "-1": 5, "99999999999": 5, "\u0663": 5, "x": 5}),
        ("<script>", {"0": 5}),
        (None, {"0": 5}),
    ],
)
def test_what_cannot_be_of_a_team_is_not_believed(
    tmp_path: Path, allowed: object, seen: object
) -> None:
    run = a_run([{"process": 0, "allowed": allowed, "seen": seen}])
    (found,) = teams(*opened_records(tmp_path, [run]))
    assert found.allowed == ()
    assert dict(found.seen) == {0: 5}
    assert team_section([found]).table.cells


def test_without_kinds_there_are_no_shares_of_them(tmp_path: Path) -> None:
    results, findings = opened(tmp_path, Affinity(apps=("threadmap",), repetitions=2))
    path = tmp_path / "nodes" / f"{DIGEST}.json"
    path.write_text(json.dumps({"topology": {"kinds": [{"name": 3}, "P"], "cores": "none"}}))
    table = team_section(teams(results, findings)).table
    rows = [cells_by_title(table, at) for at in range(len(table.cells))]
    assert {row[name] for row in rows for name in ("threads by kind", "looks by kind")} == {"-"}
