"""What is kept of the first record of each case, for the command lines and versions in reports."""

from __future__ import annotations

from pathlib import Path

from analysis.records.first_records import MAX_KEPT, FirstRecords, command_lines
from analysis.records.runs import read_runs
from tests.support.results import record, write


def test_the_first_record_of_each_case_in_each_attempt_is_kept(tmp_path: Path) -> None:
    kernels = {(1, 1): "6.1", (1, 2): "6.2", (2, 1): "6.3", (2, 2): "6.4"}
    write(
        tmp_path,
        [
            record(case, repetition, attempt=attempt, kernel=kernels[case, attempt])
            for attempt in (1, 2)
            for repetition in (1, 2, 3)
            for case in (1, 2)
        ],
    )
    firsts = list(read_runs(tmp_path).firsts)
    assert [first["kernel"] for first in firsts] == ["6.1", "6.3", "6.2", "6.4"]
    assert all("elapsed_s" not in first for first in firsts)


def test_a_case_that_was_left_out_at_first_has_a_command_line(tmp_path: Path) -> None:
    left_out = record(1, 1, status="skipped", reason="CPU 5 is offline", command=None)
    environment = {"set": {"OMP_NUM_THREADS": "4"}}
    runs = [record(1, n, command=["lu", str(n)], environment=environment) for n in (1, 2)]
    write(tmp_path, [left_out, *runs])
    lines = command_lines(read_runs(tmp_path).firsts, {str(runs[0]["case_id"]), "of nobody"})
    assert lines == {runs[0]["case_id"]: "OMP_NUM_THREADS=4 lu 1"}


def test_records_of_others_are_kept_up_to_a_limit() -> None:
    firsts = FirstRecords()
    for number in (*range(MAX_KEPT), 0, MAX_KEPT):
        firsts.add({"case_id": str(number), "kernel": "6.1"})
    assert len(list(firsts)) == MAX_KEPT
