"""What a reader sees of findings: instructions, templates, and what stands in an overview."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.findings.answers import Answers, answers_of, best_cases
from pinstudy.analysis.findings.effects import Cases
from pinstudy.analysis.findings.glance import Disturbed, Undecided
from pinstudy.analysis.findings.levers import levers_of
from pinstudy.analysis.findings.one_for_all import one_for_all
from pinstudy.analysis.format.table import render
from pinstudy.analysis.objectives import TIME
from pinstudy.analysis.results.sources import Results, open_results
from pinstudy.analysis.verdict.model import Caveat
from pinstudy.analysis.verdict_text.tables import best_tables, levers_tables
from pinstudy.analysis.words.mappings import instruction
from pinstudy.analysis.words.overview import best_texts, lever_texts, one_for_all_texts, open_texts
from pinstudy.analysis.words.verdict import TEMPLATES, note
from pinstudy.base import ROOT
from pinstudy.configs.mapping import SELECTIONS
from pinstudy.runners.records.disturbances import MORE_THREADS, SHARED
from tests.analysis.findings.studies import Grid, changed
from tests.support.results import TABLE, cells_by_title, summary

LEFT = {"selection": "all", "binding": "none"}
PINNED = {"selection": "pcores", "binding": "pin"}


@pytest.mark.parametrize(
    ("threads", "facts", "expected"),
    [
        (8, PINNED, "pin each thread on the P-cores"),
        (1, PINNED, "pin the thread to a CPU of the P-cores"),
        (8, {"selection": "lpecpus", "binding": "set"},
         "confine the threads to all CPUs of the LP-E-cores"),
        (1, {"selection": "lpecores", "binding": "set"}, "confine the thread to the LP-E-cores"),
        (8, LEFT, "leave the threads to the OS scheduler"),
        (1, LEFT, "leave the thread to the OS scheduler"),
        (8, LEFT | {"selection": "pcores"}, "leave the threads to the OS scheduler on the P-cores"),
        (8, PINNED | {"selection": "mine", "mapping": "my\x1b[1mmapping"},
         "use my\ufffd[1mmapping"),
        (8, {"selection": None, "binding": None, "mapping": "unknown"}, "use unknown"),
        (8, {"vcpu_mapping": "v", "vcpu_selection": "pcores", "vcpu_binding": "pin"} | LEFT,
         "pin each virtual CPU on the P-cores"),
        (8, {"vcpu_mapping": "v", "vcpu_selection": "all", "vcpu_binding": "none", "vm_cpus": 1,
             "selection": "pcpus", "binding": "set"},
         "leave the virtual CPU to the OS scheduler and, in the guest, confine the threads to all "
         "CPUs of the P-cores"),
        *((4, {"selection": name, "binding": "pin"}, "pin each thread on ") for name in SELECTIONS),
        (1, LEFT | {"ranks": 1}, "leave the rank to the OS scheduler"),
        (4, LEFT | {"ranks": 1}, "leave the threads of the rank to the OS scheduler"),
        (1, LEFT | {"ranks": 2, "ranks_by": "order"}, "leave each rank to the OS scheduler"),
        (4, LEFT | {"ranks": 2}, "leave the threads of each rank to the OS scheduler"),
        (4, {"ranks": 1, "selection": "pcores", "binding": "set", "ranks_by": "kind"},
         "confine the threads of the rank to the P-cores"),
        (4, {"ranks": 2, "selection": "mixed", "binding": "set", "ranks_by": "kind"},
         "confine the threads of each rank to its part of P- and E-cores together, divided among "
         "the ranks by core kind"),
        (4, PINNED | {"ranks": 2, "ranks_by": "cluster"},
         "pin each thread of each rank on the P-cores, divided among the ranks by cluster"),
        (1, PINNED | {"ranks": 2}, "pin each rank to a CPU of the P-cores"),
        (1, PINNED | {"ranks": 2, "ranks_by": "spread"},
         "pin each rank to a CPU of the P-cores, divided among the ranks spread out"),
        (1, PINNED | {"ranks": 2, "ranks_by": "my\x1bway"},
         "pin each rank to a CPU of the P-cores, divided among the ranks by my\ufffdway"),
        (1, {"ranks": 2, "selection": "mine", "binding": "pin", "ranks_by": "order"},
         "use m, divided among the ranks in order"),
    ],
)  # fmt: skip
def test_what_a_mapping_does(threads: int, facts: dict[str, Any], expected: str) -> None:
    of_table = {name: facts[name] for name in ("vm_cpus", "ranks") if name in facts}
    of_case = {name: value for name, value in facts.items() if name not in of_table}
    table = TABLE._replace(threads=threads, **of_table)
    said = instruction(summary(**{"table": table, "mapping": "m"} | of_case))
    assert said.startswith(expected) if expected.endswith(" ") else said == expected


TWO = {"performance": 1.0, "powersave": 1.4}
NO_RUNS = Results("none", None, None, (), ())


def lines(cases: Cases) -> dict[str, list[str]]:
    answers = Answers(levers_of(cases), one_for_all(cases), best_cases(NO_RUNS, cases))
    return {
        "Levers": list(lever_texts(answers.levers)),
        "One for all": list(one_for_all_texts(answers.one_for_all)),
        "Fastest": best_texts(answers, cases.cases, TIME, margin=0.01),
    }


HALF = Grid({"unpinned": 1.0, "pinned": 0.5}, TWO, n=200)


@pytest.mark.parametrize(
    ("cases", "label", "expected"),
    [
        # A line has the range and the number of pairs; those that are not compared are counted.
        (Grid({"unpinned": 1.0}, TWO, {"lu": 40.0, "ft": 3.0}, n=200).cases(1), "Levers",
         ["governor powersave against performance: time +40 to +41 %; 2 pairs"]),
        (changed(Grid({"unpinned": 1.0, "pinned": 0.5, "confined": 0.5}, n=200).cases(2), "pinned",
                 excluded={"timeout": 50}), "Levers",
         ["mapping against unpinned: time -50 %; 1 of 2 pairs compared"]),
        (HALF.cases(3), "One for all",
         ["pinned: up to 0 % behind the best mapping (95 %: 0), 0 % on average"]),
        # A gain within the margin is none.
        (Grid({"unpinned": 1.0, "pinned": 0.995}, TWO, n=200).cases(5), "Fastest", []),
        (Grid({"unpinned": 1.0, "pinned": 0.5}, programs={"lu": 40.0, "ft": 3.0}, n=200).cases(6),
         "Fastest", ["lu, 1 thread, pinned: 20 s", "ft, 1 thread, pinned: 1.5 s"]),
    ],
)  # fmt: skip
def test_what_an_overview_says_of_levers_defaults_and_best_cases(
    cases: Cases, label: str, expected: list[str]
) -> None:
    assert lines(cases)[label] == expected


def test_the_levels_of_a_factor_are_one_line() -> None:
    governors = {"performance": 1.0, "powersave": 1.5, "ondemand": 1.2, "schedutil": 1.3}
    (line,) = lines(Grid({"unpinned": 1.0}, governors, n=200).cases(1))["Levers"]
    assert line.startswith("governor powersave, ondemand, schedutil against performance: time +")
    assert line.endswith("; 3 pairs")


def test_a_mapping_that_some_configurations_lack_says_in_how_many_it_was_compared() -> None:
    whole = Grid({"unpinned": 1.0, "pinned": 0.5}, {**TWO, "ondemand": 1.2}, n=200).cases(4)
    rows = [
        case for case in whole.cases
        if (case.key.governor, case.key.mapping) != ("ondemand", "unpinned")
    ]  # fmt: skip
    (line,) = lines(Cases(rows, whole.values, whole.baselines))["One for all"]
    assert line.endswith("0 % on average; compared in 2 of 3 (alone 1)")


def test_powersave_takes_45_percent_more_time_for_serial_lulesh() -> None:
    results = open_results("published:galante-2025")
    text = render(levers_tables(answers_of(results, analyze(results)).levers), "text")
    _, governor = text.split("governor: powersave against performance")
    (row,) = [line for line in governor.splitlines() if line.startswith("lulesh serial, 1 thread")]
    assert row.split("unpinned")[1].split() == ["+45", "+45.1", "to", "+45.2", "-66", "-50"]


@pytest.mark.parametrize(
    ("also", "unknown", "cell", "text"),
    [
        (0, 0, "0", ""),
        (1, 0, "1", " (1 other not distinguishable)"),
        (2, 1, "2 (1 unknown)", " (2 others not distinguishable, 1 unknown)"),
        (0, 2, "0 (2 unknown)", " (2 others unknown)"),
        # Of none is it known.
        (0, 3, "-", ""),
    ],
)
def test_others_that_could_not_be_tested_are_not_told_to_be_worse(
    also: int, unknown: int, cell: str, text: str
) -> None:
    two_programs = Grid({"unpinned": 1.0, "pinned": 0.5}, programs={"lu": 40.0, "ft": 3.0}, n=200)
    cases = two_programs.cases(6)
    first, other = (
        replace(best, also=best.also + (best.case,) * also, compared=4)
        for best in best_cases(NO_RUNS, cases)
        if best.objective == TIME
    )
    first = replace(first, unknown=(first.case,) * unknown)
    answers = Answers((), (), (first, other))
    (table,) = best_tables(answers, cases.cases, 0.01)
    assert cells_by_title(table)["not distinguishable"] == cell
    told = best_texts(answers, cases.cases, TIME, margin=0.01)[0]
    assert told == f"lu, 1 thread, pinned: 20 s{text}"


def test_a_lever_s_table_says_how_many_pairs_were_compared() -> None:
    cases = Grid({"unpinned": 1.0, "pinned": 0.5, "confined": 0.8}, TWO, n=200).cases(1)
    lost = changed(cases, "pinned", excluded={"timeout": 50})
    text = render(levers_tables(levers_of(lost)), "text")
    assert "other mappings: 1 of 2 pairs compared" in text


OPEN = Undecided(40, by_repetitions=2, by_boots=3, hardly=2, more={"a": 5}, look=2)


@pytest.mark.parametrize(
    ("disturbed", "expected"),
    [
        (Disturbed(378, {SHARED: 12, MORE_THREADS: 300}, {}),
         ["2 of 40 comparisons", "about 6 min 00 s", "3 undecided without other boots or days",
          "2 undecided even by 1000 repetitions"]),
        (Disturbed(378, {SHARED: 110}, {"python3": 41}),
         ["7 cannot be decided here: 110 of 378 runs disturbed"]),
    ],
    ids=["quiet", "disturbed"],
)  # fmt: skip
def test_the_next_command_counts_only_what_repetitions_decide_here(
    disturbed: Disturbed, expected: list[str]
) -> None:
    assert open_texts(OPEN, disturbed, 360.0) == expected


# Facts of every kind, for whichever template needs them.

# Facts of every kind, for whichever template needs them.
FACTS = {
    "reason": "the node has no E-cores", "reasons": ("no RAPL here",), "by_cause": {"timeout": 12},
    "excluded": {"failed": 10}, "disturbance": SHARED, "tool": "likwid-pin", "unit": "s",
    "tasks": [{"command": "python3", "runs": 41, "most_s": 1.9}] * 3, "said": "2 of 10 about 38 s",
    "supplies": ["battery"], "baseline_supplies": ["mains"],
    "modes": [{"runs": 2, "pairs": 2, "about": 38.0, "ratio": 0.95},
              {"runs": 8, "pairs": 8, "about": 42.0, "ratio": 1.05}],
    "names": ("paper/node1", "paper/node2"), "compared_by": ("Gflop/s (rate)",),
    "mapping": "pcores-set", "measure": "package energy", "runs": 18, "n": 10, "lost": 12,
    "least": 0.05, "most": 0.31, "half": 14, "repetitions": (3, 6, 9), "value": 3.3,
    "baseline_value": 1.1,
    "ratio": 1.05, "ratio_low": 1.01, "ratio_high": 1.09, "mean_ratio": 0.985, "times": 5.5,
    "p": 0.03, "count": 2, "comparisons": 30, "label": "lu x8 pcores-set performance",
    "change": 0.021, "shift": -0.004, "boots": 4, "cost_s": 900.0, "margin": 0.01,
}  # fmt: skip


@pytest.mark.parametrize("code", sorted(TEMPLATES))
def test_a_template_is_one_short_clause_and_its_code_is_documented(code: str) -> None:
    text = note(Caveat(code, (), FACTS))
    assert len(text.split()) <= 25
    assert "{" not in text
    assert f"`{code}`" in (ROOT / "docs" / "verdict-json.md").read_text()
