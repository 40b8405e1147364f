"""Studies, and published means, with a known outcome get the decision that they deserve."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from pinstudy.analysis.answer import analyze, command_for_more
from pinstudy.analysis.measures import Stats
from pinstudy.analysis.objectives import TIME
from pinstudy.analysis.results.sources import Results, open_results
from pinstudy.analysis.statistics.decision import interval_of_selected
from pinstudy.analysis.verdict.comparisons import false_rates
from pinstudy.analysis.verdict.data import as_data
from pinstudy.analysis.verdict.decisions import accompanying
from pinstudy.analysis.verdict.model import Findings, MeasureChange
from pinstudy.analysis.verdict.values import difference_of_summaries
from pinstudy.analysis.verdict_text.document import (
    as_markdown,
    as_text,
    outcome_notes,
    reading_notes,
)
from pinstudy.analysis.verdict_text.tables import configuration_tables
from pinstudy.analysis.words.verdict import decision_lines
from pinstudy.base.errors import UserError
from tests.support.golden import GoldenFile
from tests.support.in_memory import judged
from tests.support.results import (
    Record,
    Study,
    caveats,
    cells_by_title,
    compared,
    decision,
    finding,
    findings_of,
    in_table,
    left_out,
    only_table,
    record,
    spoilt,
    summary,
    words,
    write,
)

FASTER_ON_P = {"unpinned": 1.0, "pcores-set": 0.95, "pcores-pin": 0.90, "ecores-pin": 1.5}
PINNED = {"unpinned": 1.0, "pcores-pin": 0.9}
SET = {"unpinned": 1.0, "pcores-set": 0.9, "pcores-pin": 0.95}
E_CORES = {"unpinned": 1.0, "ecores-pin": 0.9}
OPEN = {"unpinned": 1.0, "pcores-pin": 0.9999}
ALONE = {"pcores-set": 1.0, "pcores-pin": 0.9}


def test_a_gain_in_time_stands_beside_what_it_costs_in_energy(snapshot: SnapshotAssertion) -> None:
    study = Study(
        FASTER_ON_P,
        {"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 1.2, "ecores-pin": 0.7},
        governors=("performance", "powersave"),
        beside={
            "unpinned": {"migrations": 2886, "residency": {"P": 0.969, "E": 0.031}},
            "pcores-pin": {"migrations": 8, "residency": {"P": 1.0, "E": 0.0}},
        },
    )
    findings = judged(study)
    assert as_markdown(findings) == snapshot(extension_class=GoldenFile)


@pytest.mark.parametrize(
    ("times", "choice", "best", "as_good", "lacking"),
    [
        (FASTER_ON_P, "pin", "pcores-pin", [], []),
        (SET, "confine", "pcores-set", [], []),
        ({"unpinned": 1.0, "pcores-set": 1.1, "ecores-pin": 1.4}, "leave", "unpinned", [], []),
        # No mapping gains: some are as good.
        ({"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 1.001, "ecores-pin": 1.4},
         "leave", "unpinned", ["pcores-set", "pcores-pin"], []),
        (ALONE, "not compared", None, [], ["no baseline"]),
        ({"unpinned": 1.0}, "not compared", None, [], ["only case"]),
    ],
)  # fmt: skip
def test_the_decision_is_what_the_times_call_for(
    times: dict[str, float], choice: str, best: str | None, as_good: list[str], lacking: list[str]
) -> None:
    missing = left_out(2, "no E-cores here") | {"threads": 8, "build": "libgomp"}
    alone = [missing] if len(times) == 1 else []
    time = decision(judged([*Study(times).records(), *alone]))
    assert (time.choice, time.best and time.best.mapping) == (choice, best)
    assert [rival.case.mapping for rival in time.as_good] == as_good
    assert [caveat.code for caveat in time.lacking] == lacking


def test_the_gain_has_the_interval_of_the_best_of_those_compared() -> None:
    findings = judged(Study(FASTER_ON_P))
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
    data = as_data(findings)["tables"][0]["decisions"][0]["gain"]
    assert (data["ratio_low"], data["ratio_high"]) == (interval.low, interval.high)
    (times, *_) = configuration_tables(only_table(findings), 0.01)
    row = cells_by_title(times, 2)
    low, high = map(float, row["95 % interval (%)"].split(" to "))
    assert low < float(row["change (%)"]) < high < 0
    assert (row["outcome"], row["n"], row["lost"], row["p"]) == ("better", "10", "0", "<0.001")


def test_the_largest_gain_is_widened_for_all_it_was_chosen_among() -> None:
    findings = judged(Study(SET, SET, governors=("performance", "powersave")))
    largest = next(found for found in findings.largest_gains if found.objective == "time")
    comparison = largest.case.comparisons["time"]
    interval = interval_of_selected(comparison.difference, comparison.p_different, 4)
    assert interval.high > comparison.difference.interval(1 - 0.05 / 4).high
    assert (largest.gain.interval, largest.gain.among) == (interval, 4)
    (data, *_) = as_data(findings)["largest_gains"]
    assert (data["ratio_low"], data["ratio_high"], data["among"]) == (
        interval.low, interval.high, 4,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("repetitions", "noise", "before"),
    [
        (9, 0.04, "Undecided: from 10 repetitions on pinstudy says how many more would"),
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
    found = caveats(findings)
    assert ("two runs decide nothing" in found) == (repetitions == 2)
    assert ("more repetitions" in found) == (repetitions == 10)
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


def test_results_are_continued_and_copies_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "paper-serial" / "node1"
    results = to_continue(folder)
    monkeypatch.chdir(folder)
    for place in (str(folder), ".", "../node1"):
        assert command_for_more(replace(results, folder=Path(place)), 25) == (
            f"pinstudy run quick --undecided --results {tmp_path}"
        )
    note = f"# Run with --only lulesh --meter perf --repetitions 5 --site {folder / 'it.yaml'}.\n"
    (folder / "study.yaml").write_text(note)
    kept = "--only lulesh --meter perf --site it.yaml"
    assert f"quick {kept} --undecided" in command_for_more(replace(results, folder=folder), 25)
    # `pinstudy run` would begin anew, beside a folder of another name.
    assert command_for_more(to_continue(tmp_path / "copy"), 25) == ""
    for place in ("/", "/mnt"):
        assert command_for_more(replace(results, folder=Path(place)), 25) == ""


def test_another_baseline_can_be_named_and_may_be_the_one_to_take() -> None:
    findings = judged(Study(FASTER_ON_P), baseline="pcores-pin")
    assert words(findings) == dict.fromkeys(["unpinned", "pcores-set", "ecores-pin"], "worse")
    found = decision(findings)
    assert (found.choice, found.best and found.best.mapping) == ("pin", "pcores-pin")
    assert found.gain is None
    with pytest.raises(UserError, match="did you mean 'pcores-pin'"):
        judged(Study(FASTER_ON_P), baseline="pcores-pn")


def test_a_table_without_the_named_baseline_is_told_that_it_lacks_it() -> None:
    other = in_table(2, Study({"unpinned": 1.0, "pcores-set": 0.9}), threads=2)
    records = [*Study(PINNED).records(), *other]
    lacks, has = judged(records, baseline="pcores-set").tables
    assert has.decisions[0].choice == "confine"
    (why,) = lacks.decisions[0].lacking
    assert (why.code, why.facts) == ("no such baseline", {"mapping": "pcores-set"})
    failed = spoilt(records, "pcores-set", status="failed")
    (_, lost) = judged(failed, baseline="pcores-set").tables
    (why,) = lost.decisions[0].lacking
    assert (why.code, why.facts) == ("no usable run", {"excluded": {"failed": 10}})


@pytest.mark.parametrize(
    ("changed", "objective", "code", "facts"),
    [
        # As perf's logs of all CPUs (-x) are imported, which have no time.
        (lambda run: {"elapsed_s": None, "energy_pkg_j": 5.0 + run["order"]},
         "edp", "factor not measured", {"measure": "time"}),
        (lambda _: {}, "edp", "factor not measured", {"measure": "package energy"}),
        (lambda _: {}, "energy", "not measured", {"reasons": ("no RAPL here",)}),
    ],
    ids=["no time", "no energy", "energy"],
)  # fmt: skip
def test_what_was_not_measured_has_its_reason(
    changed: Callable[[Record], Record], objective: str, code: str, facts: dict[str, object]
) -> None:
    findings = judged([run | changed(run) for run in Study(FASTER_ON_P).records()])
    (why,) = decision(findings, objective).lacking
    assert (why.code, dict(why.facts)) == (code, facts)


def test_a_baseline_without_a_table_of_the_study_is_none_of_other_tables() -> None:
    # As a record that was damaged, or written by others, may be: it has neither table nor time.
    stray = record(2, 1, table_number=None, elapsed_s=None)
    findings = judged([*(record(n, r) for n in (1, 3) for r in (1, 2)), stray])
    rows = [[case.number for case in table.cases] for table in findings.tables]
    assert sorted(rows) == [[1, 3], [2]]
    assert findings.tables[rows.index([1, 3])].decisions[0].choice == "undecided"


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


def test_comparisons_that_can_have_no_outcome_have_no_rate_of_false_ones() -> None:
    two, ten = (Study({"unpinned": 1.0, "pcores-pin": 0.9}, repetitions=n) for n in (2, 10))
    assert list(false_rates(judged(two))) == []
    assert not any("false outcomes" in text for text in outcome_notes(judged(two)))
    both = judged([*in_table(1, two), *in_table(2, ten, size="s30")])
    (rate,) = false_rates(both)
    assert (rate.estimand, rate.n) == ("typical", 10)


def test_the_largest_gain_names_its_configuration() -> None:
    gains = {"paper": 0.99, "s30": 0.8}
    runs = [
        run
        for at, (size, times) in enumerate(gains.items(), 1)
        for run in in_table(at, Study({"unpinned": 1.0, "pcores-pin": times}), size=size)
    ]
    (line,) = [text for text in decision_lines(judged(runs)) if text.startswith("Largest gain, ti")]
    assert line.startswith("Largest gain, time: lulesh s30, 8 threads, performance: pcores-pin -")


def test_all_configurations_that_are_not_compared_are_counted_and_reasons_apart(
    tmp_path: Path,
) -> None:
    # Of means without deviations rows say why; a configuration of one case says it of itself.
    rows = [f"lu,{threads},{name},10,45.0," for threads in (2, 4) for name in ("unpinned", "mine")]
    (line, *_) = decision_lines(imported(tmp_path, *rows, "lu,8,unpinned,10,45.0,"))
    only = "no other case was measured (in 1)"
    assert line == f"Decision, time: not compared in 3 configurations: {only}"


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
def test_a_deviation_is_as_written_and_what_rounding_hides(
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


def test_emulated_guests_are_no_answer_for_those_on_kvm() -> None:
    on_kvm = Study({"unpinned": 1.0, "pcores-pin": 0.9})
    emulated = Study({"unpinned": 20.0, "pcores-pin": 25.0})
    kvm, tcg = in_guests(on_kvm, "kvm"), in_guests(emulated, "tcg")

    (alone,) = judged(tcg).tables
    both = judged(kvm + tcg)

    assert alone.title.endswith(", in an emulated guest with 8 vCPUs and 1024 MiB")
    assert alone.decisions[0].choice == "leave"
    answers = {
        table.title: [found.choice for found in table.decisions][:1] for table in both.tables
    }
    in_kvm = alone.title.replace("an emulated guest", "a guest")
    assert answers == {in_kvm: ["pin"], alone.title: []}
    assert decision_lines(both)[0] == (
        "Decision, time: pin each virtual CPU on the P-cores (pcores-pin/unpinned)"
    )
    told = "not compared where there are runs under KVM"
    assert [note.endswith(told) for note in both.footnotes if "emulated" in note] == [True]


def test_guests_of_different_boots_are_not_compared() -> None:
    # All runs of a guest come before those of the next: a drift would look like a mapping.
    time = decision(judged(in_guests(Study(PINNED, sequential=True), "kvm")))
    assert (time.choice, time.best) == ("not compared", None)
    assert [caveat.code for caveat in time.lacking] == ["out of turn"]


def test_a_set_of_cpus_in_a_guest_with_pinned_virtual_cpus_is_no_confining() -> None:
    study = Study({"unpinned": 1.0, "pcores-pin": 0.9, "pcores-set": 0.902})
    pinned = {"vcpu_mapping": "pcores-pin", "vcpu_selection": "pcores", "vcpu_binding": "pin"}
    names = ("mapping", "selection", "binding")
    runs = [
        run | (pinned | {name: threads[name] for name in names} if at else {})
        for run, threads in zip(in_guests(study, "kvm"), study.records(), strict=True)
        for at in (threads["mapping"] != "unpinned",)
    ]
    found = decision(judged(runs))
    assert (found.choice, found.best and found.best.full_mapping) == (
        "pin", "pcores-pin/pcores-pin",
    )  # fmt: skip


def test_names_from_records_cannot_reach_a_terminal_raw() -> None:
    hostile = "a\x1b]0;x\x1b[31m\nin"
    study = Study(PINNED, PINNED, governors=("a", "b"))
    records = [
        run | {"app": hostile, "governor": f"{run['governor']}{hostile}"}
        for run in spoilt(study, "pcores-pin", mapping=hostile)
    ]
    findings = judged(records)
    assert "\x1b" not in as_text(findings)
    tables = configuration_tables(only_table(findings), 0.01)
    texts = [text for table in tables for text in (*sum(table.cells, ()), *dict(table.notes))]
    assert not any("\n" in text for text in [*texts, *decision_lines(findings)])


@pytest.fixture(scope="module")
def published() -> Findings:
    return analyze(open_results("published:galante-2025"))


def test_every_published_time_is_compared_with_its_own_baseline(published: Findings) -> None:
    # Seven tables of ten rows, two baselines each. Table 10 does not say how often it was run.
    assert published.comparisons == 7 * 8
    (reading,) = [note for note in published.footnotes if "read as standard errors" in note]
    assert "of 56 words change" in reading
    notes = " ".join(reading_notes(published))
    assert "95 % interval: of that comparison alone, on this node and for these builds" in notes


def test_words_follow_from_welchs_test_of_the_published_numbers(published: Findings) -> None:
    # Table 7, powersave: 26.043 +- 0.090 under the scheduler, 22.975 +- 0.028 in a set of P-cores.
    table = published.tables[4]
    assert (table.key.app, table.key.threads) == ("lulesh", 8)
    found = next(v for v in table.decisions if (v.objective, v.governor) == ("time", "powersave"))
    assert (found.choice, found.best and found.best.number) == ("confine", 7)
    assert found.best is not None
    difference = found.best.comparisons["time"].difference
    expected = stats.ttest_ind_from_stats(22.975, 0.028, 10, 26.043, 0.090, 10, equal_var=False)
    assert difference.p_different == pytest.approx(expected.pvalue, rel=0.5)
    assert difference.ratio == pytest.approx(22.975 / 26.043)
    assert MeasureChange("migrations", None, 20904, 8) in found.goes_with
    # Table 9, row 4: 10.054 +- 0.000, which was rounded and is no certainty.
    case = next(case for case in published.tables[6].cases if case.number == 4)
    assert case.comparisons["time"].outcome == "worse"
    assert case.comparisons["time"].difference.standard_error > 0


def test_energies_without_a_spread_are_compared_by_their_means(published: Findings) -> None:
    energy = next(v for v in published.tables[0].decisions if v.objective == "energy")
    assert energy.choice == "not compared"
    assert {caveat.code for caveat in energy.lacking} == {"no spread known"}
    tables = configuration_tables(published.tables[0], published.margin)
    means = next(table for table in tables if table.caption.endswith("mean package energy"))
    # 2215.08 J and 2021.04 J: 8.8 % less.
    assert cells_by_title(means, 2)["change (%)"] == "-8.8"
    row = as_data(published)["tables"][0]["comparisons"][2]
    assert row["energy_mean_ratio"] == pytest.approx(2021.04 / 2215.08)


def test_read_as_standard_errors_deviations_are_larger_by_the_root_of_n() -> None:
    case = summary(elapsed_s=Stats(16, 20.0, 0.1))
    base = summary(elapsed_s=Stats(9, 21.0, 0.2))
    as_given = difference_of_summaries(case, base, TIME)
    as_errors = difference_of_summaries(case, base, TIME, sd_is_error=True)
    assert as_given is not None
    assert as_errors is not None
    assert as_given.standard_error**2 == pytest.approx((0.1 / 20) ** 2 / 16 + (0.2 / 21) ** 2 / 9)
    assert as_errors.standard_error**2 == pytest.approx((0.1 / 20) ** 2 + (0.2 / 21) ** 2)


@pytest.mark.parametrize("sd", [0.0, -1.0, 1e200, float("nan")])
def test_a_deviation_that_is_none_makes_no_comparison(sd: float) -> None:
    case = summary(elapsed_s=Stats(10, 20.0, sd))
    assert difference_of_summaries(case, case, TIME) is None


def goes_with(measure: str, baseline: object, other: object) -> list[tuple[object, ...]]:
    """Return what differs between two cases that have these means of a measure."""
    found = list(accompanying(finding(3, **{measure: other}), finding(1, **{measure: baseline})))
    assert all(change.measure == measure for change in found)
    return [(change.kind, change.baseline, change.mean) for change in found]


@pytest.mark.parametrize(
    ("measure", "baseline", "other", "differs"),
    [
        ("migrations", 2886, 8, True),
        ("migrations", 0, 1, True),
        ("migrations", 0, 0, False),
        ("migrations", 1000, 1040, False),
        ("migrations", None, 8, False),
        ("vcpu_migrations", 90.0, 2.5, True),
        ("freq_mean_ghz", 4.9, 5.1, True),
        ("freq_mean_ghz", 5.0, 5.01, False),
        ("freq_mean_ghz", 0.8, 0.8045, True),
        ("cache_misses", 1000, 880, True),
        ("cache_misses", 1000, 0, True),
        ("cache_misses", 0, 1000, False),
        ("cache_misses", 1000, 1030, False),
    ],
)
def test_what_goes_with_a_gain(
    measure: str, baseline: float | None, other: float, differs: bool
) -> None:
    expected = [(None, baseline, other)] if differs else []
    assert goes_with(measure, baseline, other) == expected


@pytest.mark.parametrize(
    ("baseline", "other", "expected"),
    [
        ({"P": 0.969, "E": 0.031}, {"P": 1.0, "E": 0.0}, [("E", 0.031, 0.0)]),
        ({"P": 1.0, "E": 0.0}, {"P": 0.5, "E": 0.5}, [("E", 0.0, 0.5)]),
        ({"P": 0.9, "E": 0.07, "LP-E": 0.03}, {"P": 0.4, "E": 0.5, "LP-E": 0.1},
         [("LP-E", 0.03, 0.1), ("E", 0.07, 0.5)]),
        ({"P": 0.9, "E": 0.1}, {"P": 0.9, "E": 0.1}, []),
        # Where a PMU covers two kinds, only the other kind's share is known: not 0 for the rest.
        ({"P": 0.9}, {"P": 0.5}, [("P", 0.9, 0.5)]),
        ({"P": 0.9, "E": 0.1}, {"P": 0.5}, [("P", 0.9, 0.5)]),
        ({"P": 0.9, "E": 0.1}, {}, []),
        ({"P": 1.0}, {"E": 1.0}, []),
    ],
)  # fmt: skip
def test_shares_of_core_kinds(
    baseline: dict[str, float], other: dict[str, float], expected: list[tuple[object, ...]]
) -> None:
    assert goes_with("residency", baseline, other) == expected
