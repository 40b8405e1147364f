"""The decisions in a line for each objective claim no more than the decisions themselves."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from analysis.statistics.decision import interval_of_selected
from analysis.verdict.data import as_data
from analysis.verdict.model import Findings
from analysis.words.verdict import decision_lines
from tests.support.results import Record, Study, decision, findings_of, in_table

PIN = {"unpinned": 1.0, "pcores-pin": 0.9}
SET = {"unpinned": 1.0, "pcores-set": 0.9, "pcores-pin": 0.95}
LEAVE = {"unpinned": 1.0, "pcores-pin": 1.1}
SAME = {"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 1.1}
E_CORES = {"unpinned": 1.0, "ecores-pin": 0.9}
OPEN = {"unpinned": 1.0, "pcores-pin": 0.9999}
ALONE = {"pcores-set": 1.0, "pcores-pin": 0.9}


def findings_on(folder: Path, *tables: Mapping[str, float], **options: Any) -> Findings:  # noqa: ANN401
    """Return the findings on tables of apps a, b, c and so on."""
    records = []
    for number, (app, mappings) in enumerate(zip("abc", tables, strict=False), 1):
        study = Study(mappings, noise=0.02 if mappings is OPEN else 0.001, seed=number - 1)
        records += in_table(number, study, app=app)
    return findings_of(folder, records, **options)


def first_line(findings: Findings) -> str:
    return decision_lines(findings)[0].removeprefix("Decision, time: ")


@pytest.mark.parametrize(
    ("tables", "choices", "expected"),
    [
        ([PIN], ["pin"], "pin each thread on the P-cores (pcores-pin)"),
        ([SET], ["confine"], "confine the threads to the P-cores (pcores-set)"),
        ([LEAVE], ["leave"], "leave the threads to the OS scheduler (unpinned)"),
        # Pinning is worse there, and a set no better.
        ([SAME], ["leave"], "leave the threads to the OS scheduler (unpinned)"),
        ([OPEN], ["undecided"], "undecided"),
        ([PIN, PIN], ["pin", "pin"], "pin (pcores-pin) in 2 of 2 configurations"),
        ([PIN, PIN, E_CORES], ["pin"] * 3,
         "pin (pcores-pin) in 2, pin (ecores-pin) in 1 of 3 configurations"),
        ([PIN, OPEN, PIN], ["pin", "undecided", "pin"],
         "pin (pcores-pin) in 2, undecided in 1 of 3 configurations"),
        ([PIN, LEAVE], ["pin", "leave"],
         "pin (pcores-pin) in 1, leave (unpinned) in 1 of 2 configurations"),
        ([PIN, ALONE, ALONE], ["pin", "not compared", "not compared"],
         "pin (pcores-pin) in 1, not compared in 2 of 3 configurations"),
    ],
)  # fmt: skip
def test_the_headline_counts_the_decisions(
    tmp_path: Path, tables: list[Mapping[str, float]], choices: list[str], expected: str
) -> None:
    findings = findings_on(tmp_path, *tables)
    of_time = [
        found.choice
        for table in findings.tables
        for found in table.decisions
        if found.objective == "time"
    ]
    assert of_time == choices
    assert first_line(findings) == expected


def guest(run: Record, **of_threads: Any) -> Record:  # noqa: ANN401
    """Return a run in a guest whose virtual CPUs are pinned, or left as the node's threads are."""
    left = run["mapping"] == "unpinned"
    of_vcpus = ("unpinned", "all", "none") if left else ("pcores-pin", "pcores", "pin")
    names = ("vcpu_mapping", "vcpu_selection", "vcpu_binding")
    sized = {"engine": "vm", "vm_cpus": 8, "vm_memory_mib": 1024, "vm_accelerator": "kvm"}
    return run | sized | dict(zip(names, of_vcpus, strict=True)) | of_threads


def test_a_set_of_cpus_in_a_guest_with_pinned_virtual_cpus_is_no_confining(tmp_path: Path) -> None:
    study = Study({"unpinned": 1.0, "pcores-pin": 0.9, "pcores-set": 0.902})
    findings = findings_of(tmp_path, [guest(run) for run in study.records()])
    found = decision(findings)
    assert (found.choice, found.best and found.best.full_mapping) == (
        "pin",
        "pcores-pin/pcores-pin",
    )


def test_only_virtual_cpus_that_are_pinned_make_a_decision_to_pin(tmp_path: Path) -> None:
    left = {"mapping": "unpinned", "selection": "all", "binding": "none"}
    findings = findings_of(tmp_path, [guest(run, **left) for run in Study(PIN).records()])
    assert decision(findings).choice == "pin"
    assert first_line(findings) == "pin each virtual CPU on the P-cores (pcores-pin/unpinned)"


def test_a_named_baseline_that_is_best_is_the_decision(tmp_path: Path) -> None:
    findings = findings_on(tmp_path, PIN, baseline="pcores-pin")
    found = decision(findings)
    assert (found.choice, found.best and found.best.mapping) == ("pin", "pcores-pin")
    assert found.gain is None


def test_the_largest_gain_is_widened_for_all_it_was_chosen_among(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, Study(SET, SET, governors=("performance", "powersave")))
    largest = next(of for of in findings.largest_gains if of.objective == "time")
    comparison = largest.case.comparisons["time"]
    interval = interval_of_selected(comparison.difference, comparison.p_different, 4)
    assert interval.high > comparison.difference.interval(1 - 0.05 / 4).high
    assert (largest.gain.interval, largest.gain.among) == (interval, 4)
    (line,) = (text for text in decision_lines(findings) if text.startswith("Largest gain, time"))
    low, high = ((end - 1) * 100 for end in (interval.low, interval.high))
    assert f"(95 %: {low:.2f} to {high:.2f}, widened for the choice among 4)" in line
    (data, *_) = as_data(findings)["largest_gains"]
    assert (data["ratio_low"], data["ratio_high"], data["among"]) == (
        interval.low, interval.high, 4,
    )  # fmt: skip


def test_the_largest_gain_names_app_threads_and_governor(tmp_path: Path) -> None:
    findings = findings_on(tmp_path, PIN, PIN)
    assert decision_lines(findings)[-1].startswith(
        "Largest gain, time: a, 8 threads, performance: pcores-pin -"
    )


def test_what_nothing_is_compared_in_says_why_once_with_its_count(tmp_path: Path) -> None:
    line = decision_lines(findings_on(tmp_path, PIN, PIN))[1].removeprefix(
        "Decision, package energy: "
    )
    assert line == "not compared in 2 of 2 configurations: not measured: no RAPL here"
