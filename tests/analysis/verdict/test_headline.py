"""The headline claims no more than the verdicts that it is drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from analysis.statistics.decision import interval_of_selected
from tests.support.results import Record, Study, findings_of, in_table

PIN = {"scheduler": 1.0, "pcores-pin": 0.9}
SET = {"scheduler": 1.0, "pcores-set": 0.9, "pcores-pin": 0.95}
LEAVE = {"scheduler": 1.0, "pcores-pin": 1.1}
SAME = {"scheduler": 1.0, "pcores-set": 1.0, "pcores-pin": 1.1}
E_CORES = {"scheduler": 1.0, "ecores-pin": 0.9}
OPEN = {"scheduler": 1.0, "pcores-pin": 0.9999}
ALONE = {"pcores-set": 1.0, "pcores-pin": 0.9}
BOTH = {"scheduler": 1.0, "pcores-pin": 0.897, "pcores-set": 0.9}

ONE = "in the one setting (table and governor) that was compared"


def headline(folder: Path, *tables: Mapping[str, float], **options: Any) -> str:  # noqa: ANN401
    """Return the headline's first sentence for tables of apps a, b, c and so on."""
    records = []
    for number, (app, mappings) in enumerate(zip("abc", tables, strict=False), 1):
        study = Study(mappings, noise=0.02 if mappings is OPEN else 0.001, seed=number - 1)
        records += in_table(number, study, app=app)
    return findings_of(folder, records, **options).headline[0].removeprefix("For time: ")


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ([PIN], f"to pin threads on the P-cores, {ONE}."),
        ([SET], f"to confine threads to the P-cores, {ONE}."),
        ([LEAVE], f"to leave threads to the OS scheduler, {ONE}."),
        # Pinning is worse there: the answer is about what gains, not about pinning.
        ([SAME], f"no mapping gains over scheduler, {ONE}."),
        ([OPEN], f"undecided, {ONE}."),
        ([PIN, PIN], "to pin threads on the P-cores, in both settings (table and governor)."),
        ([PIN, PIN, E_CORES], "to pin threads, in all 3 settings (table and governor)."),
        ([PIN, OPEN, PIN],
         "to pin threads on the P-cores in 2, undecided in 1 of 3 settings (table and governor)."),
        ([PIN, LEAVE],
         "it depends: to pin threads on the P-cores in 1, to leave threads to the OS scheduler in 1"
         " of 2 settings (table and governor)."),
        ([PIN, ALONE, ALONE],
         f"to pin threads on the P-cores, {ONE}; 2 more could not be compared."),
        ([BOTH],
         f"to pin threads on the P-cores, {ONE}; confining does as well, or cannot be told from "
         "it, in 1 setting."),
    ],
)  # fmt: skip
def test_the_headline_summarizes_the_verdicts(
    tmp_path: Path, tables: list[Mapping[str, float]], expected: str
) -> None:
    assert headline(tmp_path, *tables) == expected


def test_a_set_of_cpus_in_a_guest_with_pinned_virtual_cpus_is_no_confining(
    tmp_path: Path,
) -> None:
    def guest(run: Record) -> Record:
        left = run["mapping"] == "scheduler"
        of_vcpus = ("scheduler", "all", "none") if left else ("pcores-pin", "pcores", "pin")
        names = ("vcpu_mapping", "vcpu_selection", "vcpu_binding")
        sized = {"engine": "vm", "vm_cpus": 8, "vm_memory_mib": 1024, "vm_accelerator": "kvm"}
        return sized | dict(zip(names, of_vcpus, strict=True))

    study = Study({"scheduler": 1.0, "pcores-pin": 0.9, "pcores-set": 0.902})
    assert findings_of(tmp_path, [run | guest(run) for run in study.records()]).headline[0] == (
        f"For time: to pin threads and virtual CPUs on the P-cores, {ONE}."
    )


def test_only_what_is_pinned_is_in_the_headline(tmp_path: Path) -> None:
    left = {"mapping": "scheduler", "selection": "all", "binding": "none"}

    def in_guest(run: Record) -> Record:
        of_vcpus = {f"vcpu_{name}": run[name] for name in left}
        return run | of_vcpus | left | {"engine": "vm", "vm_cpus": 8, "vm_accelerator": "kvm"}

    runs = [in_guest(run) for run in Study(PIN).records()]
    on_node = in_table(2, Study(PIN))
    assert findings_of(tmp_path / "a", runs).headline[0] == (
        f"For time: to pin virtual CPUs on the P-cores, {ONE}."
    )
    assert findings_of(tmp_path / "b", [*runs, *on_node]).headline[0] == (
        "For time: to pin threads or virtual CPUs on the P-cores, in both settings "
        "(table and governor)."
    )


def test_a_named_baseline_that_is_best_is_the_answer(tmp_path: Path) -> None:
    text = headline(tmp_path, PIN, baseline="pcores-pin")
    assert text == f"to pin threads on the P-cores, {ONE}."


def test_the_largest_gain_is_widened_for_all_it_was_chosen_among(tmp_path: Path) -> None:
    findings = findings_of(tmp_path, Study(SET, SET, governors=("performance", "powersave")))
    (gain,) = (text for text in findings.headline if text.startswith("The largest gain in time"))
    best = next(
        verdict.best
        for verdict in findings.tables[0].verdicts
        if verdict.objective == "time" and verdict.governor in gain
    )
    assert best is not None
    comparison = best.comparisons["time"]
    interval = interval_of_selected(comparison.difference, comparison.p_different, 4)
    assert interval.high > comparison.difference.interval(1 - 0.05 / 4).high
    low, high = ((1 - end) * 100 for end in (interval.high, interval.low))
    assert f"(95 % interval {low:.2f} to {high:.2f} %, widened for the choice among 4)" in gain


def test_tables_of_one_app_are_told_apart(tmp_path: Path) -> None:
    records = Study(PIN).records()
    larger = in_table(2, Study(PIN, seed=2), size="large")
    assert ", size " in findings_of(tmp_path / "a", records + larger).headline[1]
    assert ": lulesh with 8 threads, governor" in findings_of(tmp_path / "b", records).headline[1]
