"""Studies with a known outcome get the verdict that they deserve, in words that say no more."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from analysis.answer import find
from analysis.results.sources import open_results
from analysis.verdict.text import as_data, as_text, headline_text
from base.errors import UserError
from tests.support.results import Study, found, left_out, only_table, record, verdict, words, write

FASTER_ON_P = {"scheduler": 1.0, "pcores-set": 0.95, "pcores-pin": 0.90, "ecores-pin": 1.5}


def test_the_fastest_mapping_is_recommended_with_its_gain(tmp_path: Path) -> None:
    findings = found(tmp_path, Study(FASTER_ON_P))
    assert words(findings) == {
        "pcores-set": "better",
        "pcores-pin": "better",
        "ecores-pin": "worse",
    }
    time = verdict(findings)
    assert (time.answer, time.best and time.best.mapping) == ("pin", "pcores-pin")
    assert time.sentences[0].startswith("Pin each thread on the P-cores (#3 pcores-pin): ")
    assert "less typical time than under #1 scheduler (95 % interval" in time.sentences[0]
    assert "widened for the choice among 3; 10 pairs of runs" in time.sentences[0]
    comparison = next(c for c in only_table(findings).cases if c.number == 3).comparisons["time"]
    assert 0.90 in comparison.difference.interval()


def test_a_set_of_cpus_is_no_pinning(tmp_path: Path) -> None:
    study = Study({"scheduler": 1.0, "pcores-set": 0.9, "pcores-pin": 1.0})
    time = verdict(found(tmp_path, study))
    assert time.answer == "confine"
    assert time.sentences[0].startswith("Confine the threads to the P-cores (#2 pcores-set)")


def test_mappings_that_do_as_well_as_the_best_are_named(tmp_path: Path) -> None:
    study = Study({"scheduler": 1.0, "pcores-set": 0.9001, "pcores-pin": 0.9})
    said = verdict(found(tmp_path, study)).sentences
    # Which of both is ahead is chance.
    assert re.match(r"#. pcores-... would do as well as #. pcores-... \(within 1 %\)\.", said[1])


def test_what_it_costs_in_energy_stands_beside_the_gain(tmp_path: Path) -> None:
    energy = {"scheduler": 1.0, "pcores-set": 1.0, "pcores-pin": 1.2, "ecores-pin": 0.7}
    findings = found(tmp_path, Study(FASTER_ON_P, energy))
    # 20 % more of both, within the noise of 0.3 %.
    assert re.match(
        r"Beside that, #3 pcores-pin against #1 scheduler: package energy (19|20)\.\d+ % more \(",
        verdict(findings).sentences[1],
    )
    assert verdict(findings, "energy").answer == "pin"
    assert verdict(findings, "energy").sentences[0].startswith("Pin each thread on the E-cores")
    front = [case.mapping for case in only_table(findings).cases if case.on_front]
    assert front == ["pcores-set", "pcores-pin", "ecores-pin"]


def test_migrations_and_core_kinds_stand_beside_it(tmp_path: Path) -> None:
    beside = {
        "scheduler": {"migrations": 2886, "residency": {"P": 0.969, "E": 0.031}},
        "pcores-pin": {"migrations": 8, "residency": {"P": 1.0, "E": 0.0}},
    }
    study = Study({"scheduler": 1.0, "pcores-pin": 0.9}, beside=beside)
    said = " ".join(verdict(found(tmp_path, study)).sentences)
    assert "threads were moved 2886 times a run under #1 and 8 times under #2" in said
    assert "3.1 % of CPU time was on E-cores under #1 and 0.0 % under #2" in said


def test_equal_mappings_make_no_difference(tmp_path: Path) -> None:
    study = Study({"scheduler": 1.0, "pcores-set": 1.0, "pcores-pin": 1.001, "ecores-pin": 1.4})
    time = verdict(found(tmp_path, study))
    assert (time.answer, time.best) == ("no difference", None)
    assert (
        "#2 pcores-set and #3 pcores-pin take the same typical time as #1 scheduler"
        in (time.sentences[0])
    )
    assert time.sentences[1].startswith("Worse than #1 scheduler, with 95 % intervals: #4 ecores-")


def test_threads_are_left_to_the_scheduler_when_all_else_is_worse(tmp_path: Path) -> None:
    time = verdict(found(tmp_path, Study({"scheduler": 1.0, "pcores-set": 1.1, "ecores-pin": 1.4})))
    assert (time.answer, time.best and time.best.mapping) == ("leave", "scheduler")
    assert time.sentences[0].startswith("Leave the threads to the OS scheduler (#1 scheduler)")


def test_noisy_runs_are_undecided_and_say_about_how_many_are_missing(tmp_path: Path) -> None:
    study = Study({"scheduler": 1.0, "pcores-pin": 0.98}, repetitions=10, noise=0.04)
    time = verdict(found(tmp_path, study))
    assert time.answer == "undecided"
    assert re.search(r"; \d+ to \d+ more repetitions would decide", time.sentences[0])


def test_fewer_than_ten_runs_do_not_say_how_many_are_missing(tmp_path: Path) -> None:
    study = Study({"scheduler": 1.0, "pcores-pin": 0.97}, repetitions=9, noise=0.04)
    time = verdict(found(tmp_path, study))
    assert time.answer == "undecided"
    assert "repetition" not in time.sentences[0]


@pytest.mark.parametrize(
    ("ratio", "repetitions", "noise", "before"),
    [
        (0.98, 5, 0.04, "Undecided: from 10 repetitions on pinstudy says how many more would"),
        (0.98, 2, 0.00001, "Undecided: from 10 repetitions on pinstudy says how many more would"),
        (0.98, 10, 0.04, "To decide what is undecided, continue the study:"),
    ],
)
def test_what_is_undecided_ends_with_the_command_that_helps(
    tmp_path: Path, ratio: float, repetitions: int, noise: float, before: str
) -> None:
    study = Study({"scheduler": 1.0, "pcores-pin": ratio}, repetitions=repetitions, noise=noise)
    records = [run | {"study_file": "quick"} for run in study.records()]
    folder = tmp_path / "paper-serial" / "node1"
    findings = found(folder, records)
    assert verdict(findings).answer == "undecided"
    for text in (headline_text(findings), as_text(findings)):
        why, command = text.splitlines()[-2:]
        assert why.startswith(before)
        (asked,) = re.findall(r"^  pinstudy run quick --repetitions (\d+) ", command)
        assert int(asked) == 10 if repetitions < 10 else int(asked) > 10
    assert as_data(findings)["next_command"] == command.strip()


def test_what_is_decided_asks_for_no_more(tmp_path: Path) -> None:
    records = [run | {"study_file": "quick"} for run in Study(FASTER_ON_P, repetitions=5).records()]
    findings = found(tmp_path / "paper-serial" / "node1", records)
    assert "undecided" not in words(findings).values()
    assert not findings.next_command


def test_two_runs_decide_nothing_and_carry_no_headline(tmp_path: Path) -> None:
    findings = found(tmp_path, Study(FASTER_ON_P, repetitions=2, noise=0.00001))
    assert set(words(findings).values()) == {"undecided"}
    assert "two runs decide nothing" in verdict(findings).sentences[0]
    assert findings.headline[0].startswith("For time: undecided")
    assert "gain" not in " ".join(findings.headline)


def test_the_margin_is_the_users(tmp_path: Path) -> None:
    study = Study({"scheduler": 1.0, "pcores-pin": 0.97})
    assert words(found(tmp_path / "a", study)) == {"pcores-pin": "better"}
    assert words(found(tmp_path / "b", study, margin=0.05)) == {"pcores-pin": "equivalent"}


def test_another_baseline_can_be_named(tmp_path: Path) -> None:
    findings = found(tmp_path, Study(FASTER_ON_P), baseline="pcores-pin")
    assert words(findings) == dict.fromkeys(["scheduler", "pcores-set", "ecores-pin"], "worse")
    with pytest.raises(UserError, match="did you mean 'pcores-pin'"):
        found(tmp_path, Study(FASTER_ON_P), baseline="pcores-pn")


def test_a_table_without_the_named_baseline_is_told_that_it_lacks_it(tmp_path: Path) -> None:
    records = Study({"scheduler": 1.0, "pcores-pin": 0.9}).records()
    for run in Study({"scheduler": 1.0, "pcores-set": 0.9}).records():
        records.append(run | {"table_number": 2, "threads": 2, "case_id": f"b{run['case_id']}"})
    lacks, has = found(tmp_path / "a", records, baseline="pcores-set").tables
    assert has.verdicts[0].answer == "confine"
    assert lacks.verdicts[0].sentences == (
        "Not compared: no case under these conditions has the mapping pcores-set, which "
        "--baseline names.",
    )
    failed = [run | ({"status": "failed"} if run["mapping"] == "pcores-set" else {}) for run in
              records]  # fmt: skip
    (_, lost) = found(tmp_path / "b", failed, baseline="pcores-set").tables
    assert lost.verdicts[0].sentences == (
        "Not compared: no run of #2 pcores-set could be used (10 failed).",
    )


def test_without_a_baseline_nothing_is_compared(tmp_path: Path) -> None:
    time = verdict(found(tmp_path, Study({"pcores-set": 1.0, "pcores-pin": 0.9})))
    assert time.answer == "not compared"
    assert "put the mapping scheduler into the study" in time.sentences[0]


def test_what_was_not_measured_is_said_with_its_reason(tmp_path: Path) -> None:
    findings = found(tmp_path, Study(FASTER_ON_P))
    assert verdict(findings, "energy").sentences == (
        "Not compared: package energy was not measured, because no RAPL here.",
    )
    assert "package energy not measured" in " ".join(verdict(findings).sentences)
    assert findings.headline[-1].startswith("No answer for package energy")


def test_each_governor_has_its_own_baseline(tmp_path: Path) -> None:
    study = Study(FASTER_ON_P, governors=("performance", "powersave"))
    findings = found(tmp_path, study)
    assert findings.comparisons == 6
    assert (
        verdict(findings, governor="powersave")
        .sentences[0]
        .startswith("Pin each thread on the P-cores (#7 pcores-pin)")
    )
    assert findings.headline[0].startswith("For time: to pin threads on the P-cores, in both set")


def test_a_baseline_without_a_table_of_the_study_is_none_of_other_tables(tmp_path: Path) -> None:
    # As a record that was damaged, or written by others, may be: it has neither table nor time.
    stray = record(2, 1, table_number=None, elapsed_s=None)
    write(tmp_path, [*(record(n, r) for n in (1, 3) for r in (1, 2)), stray])

    found = find(open_results(str(tmp_path)))

    rows = [[case.number for case in table.cases] for table in found.tables]
    assert sorted(rows) == [[1, 3], [2]]
    said = " ".join(found.tables[rows.index([1, 3])].verdicts[0].sentences)
    assert "Undecided against #1 scheduler" in said


def test_runs_of_blocks_are_paired_and_others_are_not(tmp_path: Path) -> None:
    in_blocks = found(tmp_path / "a", Study(FASTER_ON_P))
    together = found(tmp_path / "b", Study(FASTER_ON_P, sequential=True))
    paired = [
        case.comparisons["time"].difference.paired
        for findings in (in_blocks, together)
        for case in only_table(findings).cases
        if case.comparisons
    ]
    assert paired == [True] * 3 + [False] * 3
    assert "10 runs of each" in verdict(together).sentences[0]


def test_a_slow_block_hides_nothing_from_pairs(tmp_path: Path) -> None:
    records = Study({"scheduler": 1.0, "pcores-pin": 0.98}, noise=0.002).records()
    for run in records:
        run["elapsed_s"] *= 1 + 0.1 * (run["block"] % 3)
    assert words(found(tmp_path, records)) == {"pcores-pin": "better"}


def test_only_good_runs_that_are_no_warm_ups_are_compared(tmp_path: Path) -> None:
    records = Study({"scheduler": 1.0, "pcores-pin": 1.0}).records()
    bad = [
        records[1] | {"elapsed_s": 1.0, "repetition": 99, "status": "timeout"},
        records[1] | {"elapsed_s": 1.0, "warmup": True, "block": 0},
    ]
    findings = found(tmp_path, records + bad)
    assert words(findings) == {"pcores-pin": "equivalent"}
    assert [case.samples["time"].n for case in only_table(findings).cases] == [10, 10]


def test_the_only_case_that_ran_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    runs = Study({"scheduler": 1.0}).records()
    missing = left_out(2, "no E-cores here") | {"threads": 8, "variant": "libgomp"}
    time = verdict(found(tmp_path, [*runs, missing]))
    assert time.sentences == (
        "Not compared: #1 scheduler is the only case whose time was measured.",
    )


def test_a_run_far_away_is_named_and_stays_in_the_mean(tmp_path: Path) -> None:
    records = Study({"scheduler": 1.0, "pcores-pin": 1.0}).records()
    records[6]["elapsed_s"] = 80.0
    case = only_table(found(tmp_path, records)).cases[0]
    ((outlier),) = case.outliers
    assert (outlier.objective, outlier.repetition, outlier.value) == ("time", 4, 80.0)
    assert case.samples["time"].mean > 43


def test_guests_of_different_boots_are_not_paired(tmp_path: Path) -> None:
    records = []
    for run in Study({"scheduler": 1.0, "pcores-pin": 0.9}, sequential=True).records():
        pinned = run["mapping"] == "pcores-pin"
        guest = {
            "engine": "vm",
            "vm_cpus": 8,
            "vm_memory_mib": 1024,
            "vm_accelerator": "kvm",
            "vcpu_mapping": run["mapping"],
            "vcpu_selection": "pcores" if pinned else "all",
            "vcpu_binding": "pin" if pinned else "none",
            "mapping": "scheduler",
            "selection": "all",
            "binding": "none",
        }
        records.append(run | guest)
    time = verdict(found(tmp_path, records))
    assert time.answer == "pin"
    assert time.sentences[0].startswith(
        "Pin each virtual CPU on the P-cores (#2 pcores-pin/scheduler): "
    )
    assert "10 runs of each" in time.sentences[0]


def test_names_from_records_cannot_reach_a_terminal_raw(tmp_path: Path) -> None:
    hostile = "p\x1b[31m\nin"
    records = [
        run | ({"mapping": hostile} if run["mapping"] == "pcores-pin" else {})
        for run in Study({"scheduler": 1.0, "pcores-pin": 0.9}).records()
    ]
    said = "".join(s for v in only_table(found(tmp_path, records)).verdicts for s in v.sentences)
    assert "\x1b" not in said
    assert "\n" not in said
