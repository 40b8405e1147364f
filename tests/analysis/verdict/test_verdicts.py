"""Studies with a known outcome get the verdict that they deserve, in words that say no more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from analysis.answer import analyze, command_for_more
from analysis.results.sources import Results, open_results
from analysis.statistics.decision import interval_of_selected
from analysis.verdict.data import as_data
from analysis.verdict.model import Findings
from analysis.verdict_text.configurations import configuration_tables
from analysis.verdict_text.document import as_markdown, as_text
from analysis.words.verdict import decision_lines
from base.errors import UserError
from tests.support.golden import GoldenFile
from tests.support.results import (
    Record,
    Study,
    caveats,
    compared,
    decision,
    findings_of,
    in_table,
    lacking,
    left_out,
    only_table,
    record,
    spoilt,
    words,
    write,
)

FASTER_ON_P = {"unpinned": 1.0, "pcores-set": 0.95, "pcores-pin": 0.90, "ecores-pin": 1.5}
PINNED = {"unpinned": 1.0, "pcores-pin": 0.9}
ALIKE = {"unpinned": 1.0, "pcores-pin": 1.0}


def test_a_gain_in_time_stands_beside_what_it_costs_in_energy(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    study = Study(
        FASTER_ON_P,
        {"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 1.2, "ecores-pin": 0.7},
        governors=("performance", "powersave"),
        beside={
            "unpinned": {"migrations": 2886, "residency": {"P": 0.969, "E": 0.031}},
            "pcores-pin": {"migrations": 8, "residency": {"P": 1.0, "E": 0.0}},
        },
    )
    findings = findings_of(tmp_path, study)
    assert as_markdown(findings) == snapshot(extension_class=GoldenFile)


@pytest.mark.parametrize(
    ("times", "choice", "best", "as_good", "lacking"),
    [
        (FASTER_ON_P, "pin", "pcores-pin", [], []),
        ({"unpinned": 1.0, "pcores-set": 0.9, "pcores-pin": 1.0}, "confine", "pcores-set", [], []),
        ({"unpinned": 1.0, "pcores-set": 1.1, "ecores-pin": 1.4}, "leave", "unpinned", [], []),
        # No mapping gains: some are as good.
        ({"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 1.001, "ecores-pin": 1.4},
         "leave", "unpinned", ["pcores-set", "pcores-pin"], []),
        ({"pcores-set": 1.0, "pcores-pin": 0.9}, "not compared", None, [], ["no baseline"]),
    ],
)  # fmt: skip
def test_the_decision_is_what_the_times_call_for(
    tmp_path: Path,
    times: dict[str, float],
    choice: str,
    best: str | None,
    as_good: list[str],
    lacking: list[str],
) -> None:
    time = decision(findings_of(tmp_path, Study(times)))
    assert (time.choice, time.best and time.best.mapping) == (choice, best)
    assert [rival.case.mapping for rival in time.as_good] == as_good
    assert [caveat.code for caveat in time.lacking] == lacking


def test_the_gain_stands_with_its_interval(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, Study(FASTER_ON_P))
    assert words(findings) == {
        "pcores-set": "better",
        "pcores-pin": "better",
        "ecores-pin": "worse",
    }
    difference = compared(findings).difference
    assert 0.90 in difference.interval()
    # The best of three has the interval of a level of a third, and was told because it is large.
    interval = interval_of_selected(difference, compared(findings).p_different, 3)
    assert interval.low == pytest.approx(difference.interval(1 - 0.05 / 3).low)
    gain = decision(findings).gain
    assert gain and (gain.ratio, gain.interval, gain.among) == (difference.ratio, interval, 3)
    (times, *_) = configuration_tables(only_table(findings), 0.01)
    low, high = ((end - 1) * 100 for end in (interval.low, interval.high))
    (shown,) = [text for _, text in times.notes if text.startswith("gain: ")]
    assert f"(95 %: {low:.2f} to {high:.2f}, widened for the choice among 3)" in shown
    data = as_data(findings)["tables"][0]["decisions"][0]["gain"]
    assert (data["ratio_low"], data["ratio_high"]) == (interval.low, interval.high)


def test_mappings_that_do_as_well_as_the_best_are_named(tmp_path: Path) -> None:
    study = Study({"unpinned": 1.0, "pcores-set": 0.9001, "pcores-pin": 0.9})
    found = decision(findings_of(tmp_path, study))
    (rival,) = found.as_good
    # Which of both is ahead is chance.
    assert found.best
    assert {found.best.mapping, rival.case.mapping} == {"pcores-set", "pcores-pin"}
    assert rival.outcome == "equivalent"


def test_noisy_runs_are_undecided_and_say_about_how_many_are_missing(tmp_path: Path) -> None:
    study = Study({"unpinned": 1.0, "pcores-pin": 0.98}, noise=0.04)
    ten, nine = (
        findings_of(tmp_path / f"{repetitions}", replace(study, repetitions=repetitions))
        for repetitions in (10, 9)
    )
    assert (decision(ten).choice, decision(nine).choice) == ("undecided", "undecided")
    more = caveats(ten)["more repetitions"]
    assert 0 < more["half"] <= more["most"]
    assert "more repetitions" not in caveats(nine)


@pytest.mark.parametrize(
    ("repetitions", "noise", "before"),
    [
        (5, 0.04, "Undecided: from 10 repetitions on pinstudy says how many more would"),
        (2, 0.00001, "Undecided: from 10 repetitions on pinstudy says how many more would"),
        (10, 0.04, "To decide what is undecided, continue the study:"),
    ],
)
def test_what_is_undecided_ends_with_the_command_that_helps(
    tmp_path: Path, repetitions: int, noise: float, before: str
) -> None:
    study = Study({"unpinned": 1.0, "pcores-pin": 0.98}, repetitions=repetitions, noise=noise)
    records = [run | {"study_file": "quick"} for run in study.records()]
    findings = findings_of(tmp_path / "paper-serial" / "node1", records)
    assert decision(findings).choice == "undecided"
    assert ("two runs decide nothing" in caveats(findings)) == (repetitions == 2)
    assert decision_lines(findings)[0] == "Decision, time: undecided"
    assert findings.largest_gains == ()
    why, command = as_text(findings).splitlines()[-2:]
    assert why.startswith(before)
    assert command.startswith("  pinstudy run quick --undecided ")
    assert as_data(findings)["next_command"] == command.strip()


def test_what_is_decided_asks_for_no_more(tmp_path: Path) -> None:
    records = [run | {"study_file": "quick"} for run in Study(FASTER_ON_P, repetitions=5).records()]
    findings = findings_of(tmp_path / "paper-serial" / "node1", records)
    assert "undecided" not in words(findings).values()
    assert not findings.next_command


def to_continue(folder: Path) -> Results:
    write(folder, [record(number, 1, study_file="quick") for number in (1, 3)])
    return open_results(str(folder))


def test_results_are_continued_where_they_are_and_copies_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "paper-serial" / "node1"
    results = to_continue(folder)
    monkeypatch.chdir(folder)
    for place in (str(folder), ".", "../node1"):
        assert command_for_more(replace(results, folder=Path(place)), 25) == (
            f"pinstudy run quick --undecided --results {tmp_path}"
        )
    # `pinstudy run` would begin anew, beside a folder of another name.
    assert command_for_more(to_continue(tmp_path / "copy"), 25) == ""
    for place in ("/", "/mnt"):
        assert command_for_more(replace(results, folder=Path(place)), 25) == ""


def test_another_baseline_can_be_named(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, Study(FASTER_ON_P), baseline="pcores-pin")
    assert words(findings) == dict.fromkeys(["unpinned", "pcores-set", "ecores-pin"], "worse")
    with pytest.raises(UserError, match="did you mean 'pcores-pin'"):
        findings_of(tmp_path, Study(FASTER_ON_P), baseline="pcores-pn")


def test_a_table_without_the_named_baseline_is_told_that_it_lacks_it(tmp_path: Path) -> None:
    other = in_table(2, Study({"unpinned": 1.0, "pcores-set": 0.9}), threads=2)
    records = [*Study(PINNED).records(), *other]
    lacks, has = findings_of(tmp_path / "a", records, baseline="pcores-set").tables
    assert has.decisions[0].choice == "confine"
    (why,) = lacks.decisions[0].lacking
    assert (why.code, why.facts) == ("no such baseline", {"mapping": "pcores-set"})
    failed = spoilt(records, "pcores-set", status="failed")
    (_, lost) = findings_of(tmp_path / "b", failed, baseline="pcores-set").tables
    (why,) = lost.decisions[0].lacking
    assert (why.code, why.facts) == ("no usable run", {"excluded": {"failed": 10}})


def test_what_was_not_measured_has_its_reason(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, Study(FASTER_ON_P))
    (why,) = decision(findings, "energy").lacking
    assert (why.code, why.facts) == ("not measured", {"reasons": ("no RAPL here",)})
    assert "Decision, package energy: not compared: not measured: " in (
        " ".join(decision_lines(findings))
    )


def test_an_energy_delay_product_lacks_the_factor_that_was_not_measured(tmp_path: Path) -> None:
    no_energy = Study(FASTER_ON_P).records()
    # As perf's logs of all CPUs (-x) are imported, which have no time.
    no_time = [run | {"elapsed_s": None, "energy_pkg_j": 5.0 + run["order"]} for run in no_energy]

    needs = [
        decision(findings_of(tmp_path / name, records), "edp").lacking
        for name, records in (("energy", no_energy), ("time", no_time))
    ]

    assert [[(of.code, dict(of.facts)) for of in found] for found in needs] == [
        [("factor not measured", {"measure": "package energy"})],
        [("factor not measured", {"measure": "time"})],
    ]


def test_a_baseline_without_a_table_of_the_study_is_none_of_other_tables(tmp_path: Path) -> None:
    # As a record that was damaged, or written by others, may be: it has neither table nor time.
    stray = record(2, 1, table_number=None, elapsed_s=None)
    findings = findings_of(tmp_path, [*(record(n, r) for n in (1, 3) for r in (1, 2)), stray])
    rows = [[case.number for case in table.cases] for table in findings.tables]
    assert sorted(rows) == [[1, 3], [2]]
    assert findings.tables[rows.index([1, 3])].decisions[0].choice == "undecided"


def test_the_only_case_that_ran_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    missing = left_out(2, "no E-cores here") | {"threads": 8, "build": "libgomp"}
    records = [*Study({"unpinned": 1.0}).records(), missing]
    assert lacking(findings_of(tmp_path, records)) == ["only case"]


def test_programs_that_run_as_long_as_they_are_told_are_not_compared(tmp_path: Path) -> None:
    fixed = [
        run | {"fixed_time": True, "app": "threadmap", "case_id": f"map{run['case_id']}"}
        for run in Study(PINNED, PINNED).records()
    ]
    findings = findings_of(tmp_path, [*Study(PINNED).records(), *fixed])
    others, threadmap = findings.tables
    assert others.decisions[0].choice == "pin"
    assert {verdict.choice for verdict in threadmap.decisions} == {"not compared"}
    assert threadmap.decisions[0].lacking[0].code == "fixed time"
    assert not any(case.comparisons or case.on_front for case in threadmap.cases)
    # Two of one comparison each would have been corrected for each other.
    assert findings.comparisons == 1
    text = as_text(findings)
    assert "runs as long as it is told" in text
    assert "Pareto front" not in text


HEADER = "app,threads,mapping,n,elapsed_mean_s,elapsed_sd_s"


def imported(folder: Path, *rows: str, baseline: str | None = None) -> Findings:
    (folder / "summaries.csv").write_text("\n".join([HEADER, *rows, ""]))
    return analyze(open_results(str(folder)), baseline=baseline)


def test_an_unknown_mapping_does_not_count_as_confining(tmp_path: Path) -> None:
    rows = ("lu,8,unpinned,10,45.0,0.1", "lu,8,mine,10,40.0,0.1")
    findings = imported(tmp_path, *rows)
    (time, *_) = findings.tables[0].decisions
    assert time.choice == "use"
    assert time.gain and time.gain.ratio == pytest.approx(40 / 45)
    text = "Decision, time: use mine (mine)"
    assert decision_lines(findings)[0] == text
    # A baseline that is named may be the one to take.
    assert decision_lines(imported(tmp_path, *rows, baseline="mine"))[0] == text


@pytest.mark.parametrize(
    ("sd", "error"),
    [
        ("0.15", 0.15),
        ("1.5e-01", 0.15),
        ("15E-2", 0.15),
        # What was rounded away is as likely as not.
        ("0.000", 0.0005),
        ("0.0", 0.05),
        ("0e-3", 0.0005),
    ],
)
def test_a_deviation_is_what_was_written_and_what_rounding_hides(
    tmp_path: Path, sd: str, error: float
) -> None:
    rows = (f"lu,8,unpinned,10,45.0,{sd}", f"lu,8,pcores-pin,10,40.0,{sd}")
    difference = compared(imported(tmp_path, *rows)).difference
    relative = error * (1 / 45**2 + 1 / 40**2) ** 0.5
    assert difference.standard_error == pytest.approx(relative / 10**0.5)


def in_guests(study: Study, accelerator: str) -> list[Record]:
    return [
        run | {
            "engine": "vm", "vm_cpus": 8, "vm_memory_mib": 1024, "vm_accelerator": accelerator,
            "vcpu_mapping": run["mapping"], "mapping": "unpinned",
            "vcpu_selection": run["selection"], "selection": "all",
            "vcpu_binding": run["binding"], "binding": "none",
            "case_id": run["case_id"] + accelerator,
        }
        for run in study.records()
    ]  # fmt: skip


def test_emulated_guests_are_no_answer_for_those_on_kvm(tmp_path: Path) -> None:
    on_kvm = Study({"unpinned": 1.0, "pcores-pin": 0.9})
    emulated = Study({"unpinned": 20.0, "pcores-pin": 25.0})
    kvm, tcg = in_guests(on_kvm, "kvm"), in_guests(emulated, "tcg")

    (alone,) = findings_of(tmp_path / "tcg", tcg).tables
    both = findings_of(tmp_path / "both", kvm + tcg)

    assert alone.title.endswith(", in an emulated guest with 8 vCPUs and 1024 MiB")
    assert alone.decisions[0].choice == "leave"
    answers = {table.title: [of.choice for of in table.decisions][:1] for table in both.tables}
    in_kvm = alone.title.replace("an emulated guest", "a guest")
    assert answers == {in_kvm: ["pin"], alone.title: []}
    assert decision_lines(both)[0] == (
        "Decision, time: pin each virtual CPU on the P-cores (pcores-pin/unpinned)"
    )
    told = "not compared where there are runs under KVM"
    assert [note.endswith(told) for note in both.footnotes if "emulated" in note] == [True]


def test_guests_of_different_boots_are_not_compared(tmp_path: Path) -> None:
    """All runs of a guest come before those of the next one: a drift would look like a mapping."""
    records = in_guests(Study(PINNED, sequential=True), "kvm")
    time = decision(findings_of(tmp_path / "a", records))
    assert (time.choice, time.best) == ("not compared", None)
    assert [caveat.code for caveat in time.lacking] == ["out of turn"]
    in_turn = decision(findings_of(tmp_path / "b", in_guests(Study(PINNED), "kvm")))
    assert (in_turn.choice, in_turn.best and in_turn.best.full_mapping) == (
        "pin", "pcores-pin/unpinned",
    )  # fmt: skip


def test_names_from_records_cannot_reach_a_terminal_raw(tmp_path: Path) -> None:
    hostile = "a\x1b]0;x\x1b[31m\nin"
    study = Study(PINNED, PINNED, governors=("a", "b"))
    records = [
        run | {"app": hostile, "governor": f"{run['governor']}{hostile}"}
        for run in spoilt(study, "pcores-pin", mapping=hostile)
    ]
    findings = findings_of(tmp_path, records)
    assert "\x1b" not in as_text(findings)
    tables = configuration_tables(only_table(findings), 0.01)
    texts = [text for table in tables for text in (*sum(table.cells, ()), *dict(table.notes))]
    assert not any("\n" in text for text in [*texts, *decision_lines(findings)])
