"""`pinstudy verdict` as it is typed: its answer, its JSON, and `--fail-if` as a CI job uses it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import pinstudy
from tests.support.results import Study, in_table, left_out, record, spoilt, write

OLD = {"unpinned": 1.0, "pcores-pin": 0.9, "ecores-pin": 1.4}
NEW = {"unpinned": 1.0, "pcores-pin": 0.93, "ecores-pin": 1.4}
NEAR = {"unpinned": 1.0, "pcores-pin": 0.98, "ecores-pin": 1.02}
# The table of a Study's runs.
OF_RUNS = {"build": "libgomp", "threads": 8}


def study(folder: Path, times: dict[str, float], **options: Any) -> str:  # noqa: ANN401
    """Write a study with these times, and energies that are like them; return its folder."""
    write(folder, Study(times, energy=times, **options).records())
    return str(folder)


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Results in which pinning to P-cores gains, and to E-cores loses."""
    return study(tmp_path_factory.mktemp("verdict") / "mine", OLD)


def test_the_answer_comes_first_its_numbers_after_it_and_in_a_file(tmp_path: Path) -> None:
    write(tmp_path / "mine", Study(OLD).records())
    done = pinstudy(tmp_path, "verdict", "mine", status=0)
    overview, detail = done.stdout.split("In detail")
    assert overview.startswith("To pin or not to pin?")
    assert detail.lstrip().startswith("Decision, time: pin each thread on the P-cores (pcores-pin)")
    assert (tmp_path / "mine/verdict.md").read_text().startswith("# To pin or not to pin?")
    assert "written: mine/verdict.md" in done.stderr


def test_a_program_reads_it_as_json(tmp_path: Path) -> None:
    write(tmp_path / "mine", Study(OLD).records())
    done = pinstudy(tmp_path, "verdict", "mine", "--json", "--no-files", status=0)
    (data,) = json.loads(done.stdout)
    (table,) = data["tables"]
    rows = {row["case_number"]: row for row in table["comparisons"]}
    assert rows[1]["is_baseline"]
    assert (rows[2]["time_outcome"], rows[3]["time_outcome"]) == ("better", "worse")
    assert rows[2]["time_ratio"] == pytest.approx(0.9, rel=0.01)
    assert rows[2]["time_ratio_low"] < rows[2]["time_ratio"] < 0.91
    assert [row["n"] for row in table["statistics"] if row["objective"] == "time"] == [10] * 3
    decision = next(row for row in table["decisions"] if row["objective"] == "time")
    assert (decision["decision"], decision["best"]["mapping"]) == ("pin", "pcores-pin")
    assert decision["gain"]["ratio_low"] < rows[2]["time_ratio"] < 0.91
    # What holds across configurations.
    levers = {lever["level"]: lever for lever in data["levers"]}
    assert {lever["reference"] for lever in data["levers"]} == {"unpinned"}
    time = levers["ecores-pin"]["ranges"]["time"]
    assert time["interval_low"] < time["low"] == time["high"] < time["interval_high"]
    assert time["low"] == pytest.approx(1.4, rel=0.01)
    assert levers["ecores-pin"]["pairs"][0]["missing"]["energy"] == "not measured"
    (losses,) = data["one_for_all"]
    worst = {row["mapping"]: row["worst"]["ratio"] for row in losses["defaults"]}
    assert list(worst) == ["pcores-pin", "unpinned", "ecores-pin"]
    assert worst["ecores-pin"] == pytest.approx(1.4 / 0.9, rel=0.01)
    (best,) = data["best_cases"]
    assert best["ratio"] == pytest.approx(0.9, rel=0.01)
    assert best["not_shown_worse"] == best["unknown"] == []


def test_the_published_results_have_a_verdict_and_no_files(tmp_path: Path) -> None:
    done = pinstudy(tmp_path, "verdict", "published:galante-2025", status=0)
    assert "of 56 words change" in " ".join(done.stdout.split())
    _, governor = done.stdout.split("\ngovernor: powersave against performance\n")
    (row,) = re.findall("^lulesh serial, 1 thread, unpinned +(.*)", governor, re.MULTILINE)
    # 65.419 of 45.073 s, 760.07 of 2215.08 J.
    assert re.fullmatch(r"\+45 +\+45.1 to \+45.2 +-66 +-50", row)
    assert done.stderr == ""
    assert not list(tmp_path.iterdir())


def verdict(
    tmp_path: Path, results: str, *conditions: str, against: str = "", status: int
) -> list[str]:
    """Return the lines about conditions that a verdict ends with."""
    options = [word for condition in conditions for word in ("--fail-if", condition)]
    options += ["--against", against] if against else []
    done = pinstudy(tmp_path, "verdict", results, "--no-files", *options, status=status)
    before, at, after = done.stdout.partition("--fail-if")
    assert before.startswith("To pin or not to pin?")
    return f"{at}{after}".splitlines()


def test_a_case_that_is_worse_than_the_baseline_fails_in_one_line(
    tmp_path: Path, mine: str
) -> None:
    done = pinstudy(
        *(tmp_path, "verdict", mine, "--no-files", "--json", "--fail-if", "worse 2%"), status=3
    )
    head, case = verdict(tmp_path, mine, "worse 2%", status=3)
    assert head == "--fail-if 'worse 2%': failed, 1 of 2 cases against the baseline"
    assert head in done.stderr
    assert case.split("  ")[1:4] == ["lulesh x8 #3 ecores-pin (performance)", "time", "worse"]
    change, ends = case.split("  ")[4:]
    low, _, high, _ = ends.split()
    assert 39 < float(low) < float(change.removesuffix(" %")) < float(high) < 41
    (failed,) = json.loads(done.stdout)[0]["failed"]
    assert (failed["fail_if"], failed["case_id"]) == ("worse 2%", "case000000000003")
    assert failed["change_low"] < failed["change"] < failed["change_high"]
    assert failed["change"] == pytest.approx(0.4, abs=0.01)


@pytest.mark.parametrize(
    ("condition", "failed"),
    [
        ("worse", True),
        ("worse 30%", True),
        ("worse 50 %", False),
        ("worse 2% energy", True),
        ("worse 90% edp", True),
        ("worse 99% edp", False),
        ("better 5%", True),
        ("better 15%", False),
        ("equivalent", False),
        ("equivalent 45%", True),
        ("undecided", False),
        (" not  compared ", False),
    ],
)
def test_an_outcome_counts_from_its_margin_on_in_its_objective(
    tmp_path: Path, mine: str, condition: str, failed: bool
) -> None:
    head, *_ = verdict(tmp_path, mine, condition, status=3 if failed else 0)
    word = "failed" if failed else "passed"
    assert head.startswith(f"--fail-if {' '.join(condition.split())!r}: {word}, ")


def test_a_smaller_change_passes_even_where_it_may_be_larger(tmp_path: Path) -> None:
    mine = study(tmp_path / "mine", {"unpinned": 1.0, "pcores-pin": 1.015}, noise=0.006)
    _, case = verdict(tmp_path, mine, "worse", status=3)
    low, _, high, _ = case.split("  ")[5].split()
    assert 0 < float(low) < 2 < float(high)
    verdict(tmp_path, mine, "worse 2%", status=0)


def test_undecided_cases_fail_only_where_that_is_asked(tmp_path: Path) -> None:
    mine = study(tmp_path / "mine", NEAR, noise=0.2, repetitions=4)
    (passed,) = verdict(tmp_path, mine, "worse 2%", status=0)
    expected = "--fail-if 'worse 2%': passed, 0 of 2 cases against the baseline (2 undecided)"
    assert passed == expected
    failed = verdict(tmp_path, mine, "worse 2%", "undecided", status=3)
    assert failed[0] == expected
    assert failed[1].startswith("--fail-if 'undecided': failed, 2 of 2 cases")
    assert len(failed) == 4


def test_a_lost_case_fails_only_where_that_is_asked_and_one_left_out_never(tmp_path: Path) -> None:
    runs = spoilt(Study(OLD), "ecores-pin", status="failed", reason="crash")
    write(tmp_path / "mine", [*runs, left_out(4, "no E-cores here") | OF_RUNS])
    (passed,) = verdict(tmp_path, "mine", "worse 2%", status=0)
    assert passed.endswith("passed, 0 of 2 cases against the baseline (1 not compared)")
    failed = verdict(tmp_path, "mine", "not compared", status=3)
    assert failed[1:] == ["  lulesh x8 #3 ecores-pin (performance)  time  not compared"]


def test_the_same_cases_of_other_results_are_compared(tmp_path: Path) -> None:
    old, new = study(tmp_path / "old", OLD), study(tmp_path / "new", NEW, seed=2)
    head, case = verdict(tmp_path, new, "worse 2%", against="old", status=3)
    assert head == "--fail-if 'worse 2%': failed, 1 of 3 cases against old"
    assert case.startswith("  lulesh x8 #2 pcores-pin (performance)  time  worse  +3.")
    verdict(tmp_path, new, "worse 5%", against=old, status=0)
    verdict(tmp_path, new, "worse 5% edp", against=old, status=3)
    verdict(tmp_path, old, "better 2%", against=new, status=3)


def test_another_kernel_is_told_once(tmp_path: Path) -> None:
    for name, kernel in (("old", "6.1"), ("new", "6.12")):
        write(tmp_path / name, [run | {"kernel": kernel} for run in Study(OLD).records()])
    lines = verdict(tmp_path, "new", "worse 2%", "undecided", against="old", status=0)
    assert lines[2:] == ["not alike: kernel: A 6.1, B 6.12 (A: old)"]


def test_a_case_of_one_of_the_results_is_not_compared(tmp_path: Path) -> None:
    old = study(tmp_path / "old", OLD)
    other = in_table(2, Study({"unpinned": 1.0}), app="lu")
    write(tmp_path / "new", [*Study({"unpinned": 1.0, "pcores-pin": 0.9}).records(), *other])
    lines = verdict(tmp_path, "new", "worse 2%", "not compared", against=old, status=3)
    assert lines[0].endswith(
        "passed, 0 of 4 cases against old (2 not compared)".replace("old", old)
    )
    assert [line.split("  ")[1] for line in lines[2:]] == [
        "lulesh x8 #3 ecores-pin (performance)",
        "lu (libgomp), size paper, 8 threads, schedule static, wait policy runtime-default",
    ]


def test_more_of_a_printed_number_may_be_better(tmp_path: Path) -> None:
    units = {"metric_units": {"rate": "Gflop/s"}, "metric_better": {"rate": "higher"}}
    rates = {"unpinned": 10.0, "pcores-pin": 9.0, "ecores-pin": 12.0}
    runs = [
        run | units | {"metrics": {"rate": rates[run["mapping"]] * run["elapsed_s"] / 40}}
        for run in Study(dict.fromkeys(rates, 1.0)).records()
    ]
    write(tmp_path / "mine", runs)
    lines = verdict(tmp_path, "mine", "worse 5% rate", "better 5% rate", status=3)
    found = [line.split("  ")[1:4] for line in (lines[1], lines[3])]
    assert found == [
        ["lulesh x8 #2 pcores-pin (performance)", "rate", "worse"],
        ["lulesh x8 #3 ecores-pin (performance)", "rate", "better"],
    ]


def test_a_condition_that_was_put_to_no_case_has_not_passed(tmp_path: Path) -> None:
    write(tmp_path / "mine", [record(1, at) for at in range(1, 11)])
    done = pinstudy(tmp_path, "verdict", "mine", "--no-files", "--fail-if", "worse 2%", status=1)
    assert done.stdout.endswith(
        "--fail-if 'worse 2%': not compared, 0 of 0 cases against the baseline\n"
    )
    assert done.stderr == "pinstudy: --fail-if 'worse 2%': no case was compared\n"


NOT_KNOWN = "is not known; did you mean"
EXPECTED = "expected OUTCOME [MARGIN%] [OBJECTIVE], such as 'worse 2% energy'"


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("", f"character 1: {EXPECTED}"),
        (
            " worst 2%",
            f"character 2: outcome 'worst' {NOT_KNOWN} 'worse'? (known: better, worse, "
            "equivalent, undecided, not compared)",
        ),
        ("worse 2", "character 7: '2' is not a percentage, such as 1%"),
        ("worse  -2%", "character 8: '-2%' is not a percentage, such as 1%"),
        ("worse 0%", "character 7: '0%' is not more than 0% and less than 100%"),
        ("not compared 2%", "character 14: 'not compared' has no margin"),
        (
            "worse 2% tiem",
            f"character 10: objective 'tiem' {NOT_KNOWN} 'time'? (known: time, energy, edp)",
        ),
        ("worse time 2%", f"character 12: nothing may follow the objective; {EXPECTED}"),
    ],
)
def test_what_is_no_condition_is_an_error_with_its_place(
    tmp_path: Path, mine: str, condition: str, message: str
) -> None:
    done = pinstudy(tmp_path, "verdict", mine, "--fail-if", condition, status=2)
    assert (done.stdout, done.stderr) == ("", f"pinstudy: --fail-if, {message}\n")


def test_other_results_without_a_condition_are_a_mistake(tmp_path: Path, mine: str) -> None:
    done = pinstudy(tmp_path, "verdict", mine, "--against", mine, status=2)
    assert done.stderr == (
        "pinstudy: --against: needs --fail-if; `pinstudy compare` shows two results side by side\n"
    )
