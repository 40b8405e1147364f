"""An overview says what was found, once, and as wide as the terminal is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from analysis.answer import analyze
from analysis.figures.gallery import all_figures
from analysis.findings.answers import answers_of
from analysis.format.lines import Line, length
from analysis.objectives import TIME
from analysis.overview.configurations import overviews_of
from analysis.overview.grid import program_names
from analysis.overview.lines import entries, next_entry
from analysis.overview.terminal import overview_lines
from analysis.overview.text import grid_lines
from analysis.records.keys import TableKey
from analysis.results.sources import Results, open_results
from analysis.verdict_text.levers import best_tables
from tests.analysis.report.made_results import make_results
from tests.analysis.verdict.test_printed import RATES, printing
from tests.support.golden import GoldenFile
from tests.support.results import (
    TABLE,
    UNPROVED,
    Record,
    Study,
    in_table,
    left_out,
    plain,
    record,
    spoilt,
    write,
)

PUBLISHED = "published:galante-2025"
GRANTS = "what grants it: pinstudy doctor"


def shown(source: Path | str, width: int = 80) -> str:
    results = open_results(str(source))
    return plain(lines_of(results, width))


def lines_of(results: Results, width: int) -> list[Line]:
    findings = analyze(results)
    return overview_lines(results, findings, answers_of(results, findings), width)


def study(folder: Path, made: Study | list[Record], width: int = 80) -> str:
    write(folder, made.records() if isinstance(made, Study) else made)
    return shown(folder, width)


def said(folder: Path | str, baseline: str | None = None) -> dict[str, str]:
    """Return what stands below the grid by label, several entries of one label joined."""
    results = open_results(str(folder))
    findings = analyze(results, baseline=baseline)
    texts: dict[str, str] = {}
    answers = answers_of(results, findings)
    below = entries(results, findings, answers, overviews_of(findings))
    for entry in (*below, next_entry(results, findings)):
        texts[entry.label] = " | ".join(filter(None, (texts.get(entry.label), entry.text)))
    return texts


@pytest.mark.parametrize("width", [80, 120])
def test_a_hybrid_with_energy(tmp_path: Path, width: int, snapshot: SnapshotAssertion) -> None:
    assert shown(make_results(tmp_path), width) == snapshot(extension_class=GoldenFile)


def test_the_published_results(snapshot: SnapshotAssertion) -> None:
    assert shown(PUBLISHED) == snapshot(extension_class=GoldenFile)


@pytest.mark.parametrize("width", [60, 80, 100, 132])
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, width: int) -> None:
    for source in (make_results(tmp_path), PUBLISHED):
        results = open_results(str(source))
        lines = lines_of(results, width)
        # A command is on a line of its own, however long.
        widths = [length(line) for line in lines if "taskset" not in plain([line])]
        assert max(widths) <= width


def test_a_cell_has_a_mark_a_change_and_its_uncertainty(tmp_path: Path) -> None:
    times = {"unpinned": 1.0, "pcores-set": 0.9, "pcores-pin": 1.0, "ecores-pin": 1.5}
    text = study(tmp_path, Study(times, noise=0.002))
    (row,) = [line for line in text.splitlines() if line.startswith("lulesh x8")]
    baseline, better, alike, worse = re.split(r"  +", row.removeprefix("lulesh x8").strip())
    assert baseline == "40.0 s"
    assert re.fullmatch(r"-\d+(\.\d)? ±0\.\d\*", better)
    assert float(better.split()[0]) == pytest.approx(-10, abs=0.4)
    assert re.fullmatch(r"= ±0\.\d", alike)
    assert re.fullmatch(r"\+\d+(\.\d)? ±(1|0\.\d)", worse)


def test_a_case_that_lost_runs_to_placement_is_marked_and_not_compared(tmp_path: Path) -> None:
    records = Study({"unpinned": 1.0, "pcores-set": 0.9, "pcores-pin": 0.9}).records()
    for run in records:
        if run["mapping"] == "pcores-pin" and run["repetition"] <= 3:
            run.update(UNPROVED)
    text = study(tmp_path, records)
    (row,) = [line for line in text.splitlines() if line.startswith("lulesh x8")]
    assert re.search(r"\*  +x 36\.\d s$", row)
    assert "x not compared" in text


def test_without_a_baseline_no_mean_is_marked(tmp_path: Path) -> None:
    text = study(tmp_path, Study({"pcores-set": 0.9, "pcores-pin": 0.9}))
    (row,) = [line for line in text.splitlines() if line.startswith("lulesh x8")]
    assert re.fullmatch(r"lulesh x8 +36\.\d s +36\.\d s", row)
    assert "not compared" not in text.split("Decision")[0]


def test_a_narrow_terminal_gets_a_line_for_each_mapping(tmp_path: Path) -> None:
    times = dict.fromkeys(("unpinned", "pcores-set", "pcores-pin", "ecores-pin"), 1.0)
    text = study(tmp_path, Study(times), 36)
    at = text.splitlines().index("lulesh x8")
    names = [line.split()[0] for line in text.splitlines()[at + 1 : at + 5]]
    assert names == list(times)


def test_columns_of_mappings_that_never_ran_are_one_remark(tmp_path: Path) -> None:
    reason = "the node has no E-cores"
    records = Study({"unpinned": 1.0, "pcores-pin": 0.9}).records()
    gone = [left_out(n, reason) | {"mapping": m, "threads": 8, "build": "libgomp"}
            for n, m in ((4, "ecores-set"), (5, "ecores-pin"))]  # fmt: skip
    text = study(tmp_path, [*gone, *records])
    grid = text.split("Decision")[0]
    assert "ecores" not in grid
    assert said(tmp_path)["Missing"].startswith(f"ecores-set, ecores-pin: {reason}; ")


def test_each_reason_stands_once_with_all_that_lacks_for_it(tmp_path: Path) -> None:
    why = "not supported by this node (no hardware PMU in this virtual machine)"
    absent = {"freq_mean_ghz": f"cycles: {why}", "cache_misses": f"cache-misses: {why}"}
    gone = dict.fromkeys(absent)
    records = [
        record(number, run, **gone, unavailable=absent, elapsed_s=40 + run / 10)
        for number in (1, 2)
        for run in range(1, 6)
    ]
    write(tmp_path, records)
    missing = said(tmp_path)["Missing"]
    assert missing.count("not supported") == 1
    assert "frequency, cache misses: not supported by this node; " in missing
    assert missing.endswith("pinstudy doctor")


def test_what_is_as_good_is_advised_in_as_few_words_as_can_be(tmp_path: Path) -> None:
    """Of two equal mappings now one and now the other is best; one piece of advice will do."""
    make_results(tmp_path)
    of_time, of_energy = said(tmp_path)["Decision"].split(" | ")
    assert re.match(
        r"(pin|confine) \(pcores-(pin|set)\) in 12 of 12 configurations, time -", of_time
    )
    assert of_energy.startswith("for package energy: ")


@pytest.mark.parametrize("other", [1.1, 1.0])
def test_where_nothing_beats_a_named_baseline_its_own_mapping_is_advised(
    tmp_path: Path, other: float
) -> None:
    write(tmp_path, Study({"unpinned": other, "pcores-pin": 1.0}, noise=0.002).records())
    assert said(tmp_path, baseline="pcores-pin")["Decision"] == "pin (pcores-pin)"


def test_exceptions_are_named_with_their_gain() -> None:
    decision = said(PUBLISHED)["Decision"]
    assert decision.startswith("leave unpinned in 9 of 14 configurations; ")
    gain = "time -12 %, energy -19 % by means"
    assert f"lulesh x8 powersave: confine (pcores-set), {gain}" in decision
    assert decision.endswith("; undecided in 2")
    assert said(PUBLISHED)["Note"].startswith("5 of 14 decisions on time by unlike means; ")


def prices(**of_mappings: tuple[float, float]) -> list[Record]:
    """Return runs of the baseline and of mappings with these times and energies.

    Times of pcores-pin are noisy.
    """
    times = {mapping: time for mapping, (time, _) in of_mappings.items()}
    energies = {mapping: energy for mapping, (_, energy) in of_mappings.items()}
    runs = Study({"unpinned": 1.0} | times, {"unpinned": 1.0} | energies).records()
    return [
        run | {"elapsed_s": run["elapsed_s"] * (1 + 0.05 * (run["repetition"] * 7 % 11 - 5))}
        if run["mapping"] == "pcores-pin"
        else run
        for run in runs
    ]


def test_a_change_that_is_undecided_is_not_said_to_be_one(tmp_path: Path) -> None:
    write(tmp_path, prices(**{"pcores-pin": (1.04, 0.75), "pcores-set": (0.999, 1.001)}))
    *_, decision = said(tmp_path)["Decision"].split(" | ")
    advised = r"for package energy: pin \(pcores-pin\), energy -2\d %, time undecided"
    assert re.fullmatch(advised, decision)


def test_what_is_undecided_first_is_said_first_and_whatever_else_is_decided(
    tmp_path: Path,
) -> None:
    runs = prices(**{"pcores-pin": (1.04, 0.75)})
    printed = {"unpinned": 100.0, "pcores-pin": 150.0}
    units, better = {"a": "MB/s", "b": "MB/s"}, {"a": "higher", "b": "higher"}
    more = {"metric_units": units, "metric_better": better}
    noise = [1 + 0.0001 * (run["order"] * 7919 % 13 - 6) for run in runs]
    write(tmp_path, [
        run | more | {"metrics": dict.fromkeys(units, printed[run["mapping"]] * of)}
        for run, of in zip(runs, noise, strict=True)
    ])  # fmt: skip
    decisions = said(tmp_path)["Decision"].split(" | ")
    assert decisions[0] == "undecided"
    assert decisions[1].startswith("for package energy: pin (pcores-pin), energy -2")
    assert decisions[2].startswith("for MB/s (a): pin (pcores-pin), a +50 %")


def test_what_some_runs_lack_is_not_missing_and_no_command_grants_it(tmp_path: Path) -> None:
    runs = Study({"unpinned": 1.0, "pcores-pin": 0.9}, {"unpinned": 1.0, "pcores-pin": 0.8})
    wrapped = {"energy_pkg_j": None, "unavailable": {"energy_pkg_j": "the counter wrapped"}}
    in_one = spoilt(runs, "unpinned", [4], **wrapped)
    write(tmp_path, in_one)
    assert said(tmp_path)["Missing"] == "energy in some runs of 1 of 2 cases: the counter wrapped"
    write(tmp_path, spoilt(in_one, "pcores-pin", [2, 5], **wrapped))
    assert said(tmp_path)["Missing"] == "energy in some runs: the counter wrapped"
    write(tmp_path, spoilt(in_one, "pcores-pin", **wrapped))
    missing = said(tmp_path)["Missing"].split(" | ")
    in_cases = "energy in some runs of 1 of 2 cases: the counter wrapped"
    assert missing[0] == f"{in_cases}; energy in 1 of 2 cases: the counter wrapped; {GRANTS}"


def test_what_some_imported_runs_lack_is_missing_in_some_runs(tmp_path: Path) -> None:
    (tmp_path / "summaries.csv").write_text(
        "app,threads,mapping,n,elapsed_mean_s,energy_pkg_mean_j,energy_pkg_n,reasons\n"
        "lu,1,unpinned,5,4.5,9,4,energy_pkg_j: it wrapped\n"
        "lu,1,pcores-pin,5,4.5,9,,energy_pkg_j: it wrapped\n"
    )
    assert "energy in some runs: it wrapped" in said(tmp_path)["Missing"].split("; ")


def test_placement_that_means_do_not_explain_is_lost_without_a_reason(tmp_path: Path) -> None:
    (tmp_path / "summaries.csv").write_text(
        "app,threads,mapping,n,unproved,elapsed_mean_s,elapsed_sd_s\n"
        "lu,1,unpinned,30,1,45.1,0.1\nlu,1,pcores-pin,30,0,40.1,0.1\n"
    )
    assert said(tmp_path)["Lost"] == "1 of 60 runs without proof of placement: unpinned"


def test_cases_without_a_good_run_count_among_those_that_are_not_compared(tmp_path: Path) -> None:
    violated = {"status": "placement-violated", "reason": "thread 2 was on CPU 9"}
    runs = Study({"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 0.9})
    write(tmp_path, spoilt(spoilt(runs, "pcores-set", **violated), "pcores-pin", **violated))
    lost = "20 of 30 runs placed elsewhere: pcores-set, pcores-pin"
    assert said(tmp_path)["Lost"] == f"{lost}; 2 cases not compared for it"


def test_the_command_that_would_decide_says_how_much_and_how_long(tmp_path: Path) -> None:
    folder = tmp_path / "paper-serial" / "node1"
    runs = Study({"unpinned": 1.0, "pcores-pin": 0.99}, repetitions=5, noise=0.05).records()
    text = study(folder, [run | {"study_file": "quick"} for run in runs], 200)
    (line,) = [line for line in text.splitlines() if line.startswith("Next ")]
    assert line.split(maxsplit=1)[1].startswith("pinstudy run quick --undecided --results ")
    # Five more runs of 40 s of each of two cases.
    assert re.search(r"   1 of 1 comparison; about 6 min [34]\d s$", line)


def test_the_time_to_decide_is_that_of_undecided_cases_and_of_no_region(tmp_path: Path) -> None:
    folder = tmp_path / "paper-serial" / "node1"
    solve = {"executions": 2, "elapsed_s": 30.0, "mark_s": 0.0001, "unavailable": {}}
    times = {"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 0.99}
    ended = {"status": "timeout", "elapsed_s": 600.0, "reason": "ended after its limit of 600 s"}
    runs = spoilt(Study(times, repetitions=5, noise=0.05), "pcores-set", **ended)
    more = {"study_file": "quick", "regions": {"solve": solve}}
    write(folder, [run | more for run in runs])
    # Five more runs of 40 s of each of two cases; the third is not compared.
    assert re.search(r"1 of 1 comparison; about 6 min [34]\d s$", said(folder)["Next"])


def test_a_study_without_a_comparison_says_so(tmp_path: Path) -> None:
    text = study(tmp_path, [record(3, run) for run in range(1, 4)])
    assert "Decision   none: no mapping could be compared with another" in text


def test_texts_of_records_control_no_terminal(tmp_path: Path) -> None:
    runs = Study({"unpinned": 1.0, "pcores-pin": 0.9}).records()
    evil = {"app": "a\x1b[2Jb\n", "governor": "\x9b1mbold"}
    text = study(tmp_path, [run | evil for run in runs])
    assert not set("\x1b\x9b") & set(text)
    assert "Decision   pin (pcores-pin), time -" in text


def test_the_fastest_of_all_thread_counts_has_its_gain_and_its_line(tmp_path: Path) -> None:
    # 4 threads take 40 / 4^0.9 of the time that one takes, pinned 3 % less than scheduled.
    make_results(tmp_path, apps=(("lulesh", 40.0),))
    name, line = said(tmp_path)["Fastest"].split("; `")
    found = re.fullmatch(
        r"4 threads, pcores-(?:set|pin), governor performance: 11.6 s, -(\d+)(?: to -(\d+))? % "
        r"against 1 thread, unpinned; not shown to be worse: 1 case",
        name,
    )
    assert found
    gain = 100 * (1 - 1 / (1.03 * 4**0.9))
    assert int(found[2] or found[1]) - 1 <= gain <= int(found[1]) + 1
    assert line.startswith("env OMP_NUM_THREADS=4 OMP_PLACES=")
    assert line.endswith(" bin/lulesh-libgomp -s 30`")
    shown_line = [text for text in shown(tmp_path, 80).splitlines() if "OMP_PLACES" in text]
    assert f"           {line[:-1]}" in shown_line


def two_teams(times: dict[str, dict[int, float]], slow: dict[str, float]) -> list[Record]:
    """Return runs of mappings with one and two threads, of which some have slow runs."""
    return [
        run | {"elapsed_s": run["elapsed_s"] * (slow.get(run["mapping"], 1.0) if is_slow else 1.0)}
        for threads in (1, 2)
        for run in in_table(
            threads,
            Study({name: of[threads] for name, of in times.items()}, repetitions=20, noise=0.0005),
            threads=threads,
        )
        for is_slow in (threads == 2 and run["repetition"] in (4, 13),)
    ]


def test_the_fastest_is_so_by_what_is_shown_and_compared(tmp_path: Path) -> None:
    """Two slow runs of 20 make the larger mean, and the grid shows typical times."""
    times = {"unpinned": {1: 2.0, 2: 1.0}, "pcores-set": {1: 2.0, 2: 0.95}}
    write(tmp_path, two_teams(times, {"pcores-set": 2.0}))
    results = open_results(str(tmp_path))
    means = {case.key.case_id: case.time.mean for case in results.cases}
    assert min(means, key=means.__getitem__) == "2-case000000000001"
    best = said(tmp_path)["Fastest"]
    assert best.startswith("2 threads, pcores-set: 38 s, -53 to -52 % against 1 thread, unpinned")
    assert "not shown to be worse" not in best


def test_those_that_may_be_as_fast_are_counted(tmp_path: Path) -> None:
    times = {
        "unpinned": {1: 2.0, 2: 1.1}, "pcores-set": {1: 2.0, 2: 1.0},
        "pcores-pin": {1: 2.0, 2: 0.9999},
    }  # fmt: skip
    write(tmp_path, two_teams(times, {}))
    best = said(tmp_path)["Fastest"]
    assert re.match(
        r"2 threads, pcores-(pin|set): 40 s, -50 % against 1 thread, unpinned; "
        r"not shown to be worse: 1 case",
        best,
    )


def test_gains_of_means_without_deviations_have_no_interval() -> None:
    results = open_results(PUBLISHED)
    _, table = best_tables(answers_of(results, analyze(results)), results.cases, 0.01)
    (row,) = [row for row in table.cells if row[0].startswith("lulesh")]
    assert row[1:4] == ("758 J", "-66", "-")


def test_where_more_threads_are_not_surely_faster_none_is_called_so(tmp_path: Path) -> None:
    runs = [
        record(1, run, threads=threads, table_number=threads, case_id=f"c{threads}",
               selection="all", binding="none", mapping="unpinned",
               elapsed_s=40 + 3 * ((run * (4 + threads)) % 7))
        for threads in (1, 2) for run in range(1, 8)
    ]  # fmt: skip
    write(tmp_path, runs)
    assert "Fastest" not in said(tmp_path)


def test_a_mapping_without_a_good_run_keeps_its_place(tmp_path: Path) -> None:
    times = {"unpinned": 1.0, "pcores-set": 0.9, "pcores-pin": 1.0}
    failed = {"status": "failed", "reason": "exit status 3", "elapsed_s": None}
    text = study(tmp_path, spoilt(Study(times), "pcores-pin", **failed))
    (row,) = [line for line in text.splitlines() if line.startswith("lulesh x8")]
    assert row.endswith("n/a")
    assert "n/a no good run or not measured" in text


@pytest.mark.parametrize("outcome", ["failed", "skipped"])
def test_a_study_without_any_good_run_has_an_overview(tmp_path: Path, outcome: str) -> None:
    gone = {"status": outcome, "reason": "it was not to be", "elapsed_s": None}
    text = study(tmp_path, [record(number, 1, **gone) for number in (1, 2)])
    assert "Decision   none: no mapping could be compared with another" in text
    assert ("n/a" in text) == (outcome == "failed")
    results = open_results(str(tmp_path))
    findings = analyze(results)
    assert list(all_figures(results, findings))
    overviews = overviews_of(findings)
    assert [overview.columns for overview in overviews] == [
        ("unpinned", "pcores-set") if outcome == "failed" else ()
    ]


def test_runs_are_counted_once_however_many_regions_they_have(tmp_path: Path) -> None:
    region = {"executions": 2, "elapsed_s": 30.0, "mark_s": 0.0001, "unavailable": {}}
    runs = [
        run | UNPROVED | {"regions": {"solve": region, "io": region}}
        for run in Study({"unpinned": 1.0, "pcores-pin": 0.9}, repetitions=5).records()
    ]
    write(tmp_path, spoilt(runs, "unpinned", [3], status="failed", reason="exit status 3"))
    remarked = said(tmp_path)
    assert remarked["Lost"].startswith("10 of 10 runs; 1 failed (exit status 3): unpinned; ")
    assert "; 9 without proof of placement (too short to look at): unpinned, " in remarked["Lost"]


def scheduled(alike: Sequence[int] = ()) -> list[Record]:
    """Return the runs of two thread counts under two schedulers: the second's pinned one wins.

    With the numbers of threads in `alike` all take as long.
    """
    return [
        run
        | {
            "case_id": f"{under}-{threads}-{run['mapping']}",
            "run_id": f"{under}-{threads}-{run['run_id']}",
            "case_number": run["case_number"] + first,
            "table_number": threads,
            "threads": threads,
            "settings": {"sched_ext": under},
            "elapsed_s": run["elapsed_s"] / threads,
        }
        for threads in (1, 2)
        for first, under, pinned in ((0, "kernel", 0.9), (2, "scx_rusty", 0.7))
        for run in Study(
            {"unpinned": 1.0, "pcores-pin": 1.0 if threads in alike else pinned},
            seed=threads + first,
            noise=0.002,
        ).records()
    ]


def test_a_case_is_named_with_the_scheduler_that_it_ran_under(tmp_path: Path) -> None:
    runs = [
        run | {"elapsed_s": run["elapsed_s"] * 1.4}
        if run["case_id"] == "scx_rusty-2-unpinned" and run["repetition"] in (3, 7)
        else run
        for run in scheduled()
    ]
    write(tmp_path, runs)
    remarked = said(tmp_path)
    assert remarked["Fastest"].startswith("2 threads, pcores-pin, scx_rusty: 14 s, ")


def test_an_exception_under_a_scheduler_does_not_name_another(tmp_path: Path) -> None:
    write(tmp_path, scheduled(alike=[1]))
    assert "lulesh x2: pin (pcores-pin under scx_rusty), time -" in said(tmp_path)["Decision"]


def test_more_of_a_rate_is_better_and_the_legend_says_so(tmp_path: Path) -> None:
    text = study(tmp_path, printing(RATES, fixed_time=True))
    assert "change of typical Gflop/s (rate) in %" in " ".join(text.split())
    assert "more is better" in text
    assert "+ better, - worse" in text


def test_what_time_does_not_compare_has_a_grid_of_what_its_program_prints(tmp_path: Path) -> None:
    """Of two programs of a given time one prints its rate in Gflop/s, the other in GB/s."""
    stream = {"app": "stream", "metric_units": {"rate": "GB/s"}}
    rated = printing(RATES, fixed_time=True)
    timed = Study({"unpinned": 1.0, "pcores-pin": 0.8, "ecores-pin": 1.1})
    write(
        tmp_path,
        in_table(0, timed, app="lu") + in_table(1, rated) + in_table(2, rated, **stream),
    )
    time, gflops, gbytes = shown(tmp_path).split("\n\n")[1:6:2]
    named = [re.findall(r"^(\w+) +x8", grid, re.M) for grid in (time, gflops, gbytes)]
    assert named == [["lu", "lulesh", "stream"], ["lulesh"], ["stream"]]
    assert ("100 Gflop/s" in gflops, "100 GB/s" in gbytes) == (True, True)
    marks = "- better, + worse, the other way round where more is better, * best"
    assert gbytes.splitlines()[-1] == marks


def test_the_directions_stand_behind_the_marks_that_they_are_of(tmp_path: Path) -> None:
    timed = Study({"unpinned": 1.0, "pcores-pin": 0.8, "ecores-pin": 1.0})
    rated = printing(RATES | {"ecores-pin": 100.0}, fixed_time=True)
    write(tmp_path, in_table(0, timed, app="lu") + in_table(1, rated))
    marks = " ".join(shown(tmp_path, 160).split())
    better = "- better, the other way round where more is better, "
    assert f"{better}= alike: surely within 1 %" in marks


def test_a_legend_has_the_marks_that_are_shown(tmp_path: Path) -> None:
    """Times are alike; the rate, which is not shown here, is better and worse."""
    text = study(tmp_path, printing(RATES))
    assert "\n= alike: surely within 1 %\n" in text


def test_a_caption_names_energy_where_it_is_shown(tmp_path: Path) -> None:
    make_results(tmp_path)
    for width in (80, 160):
        text = shown(tmp_path, width).replace("\n  ", " ")
        assert ("(package energy)" in text) == (" J)" in text)


def test_an_exception_is_not_said_of_what_is_undecided(tmp_path: Path) -> None:
    """For energy two settings are decided, one each way; of the others nothing is known."""
    rng = np.random.default_rng(5)
    energies = {1: (0.8, 0.003), 2: (1.2, 0.003)} | dict.fromkeys(range(3, 7), (1.0, 0.1))
    times = {"unpinned": 1.0, "pcores-pin": 0.9}
    runs = [
        run
        for threads, (energy, noise) in energies.items()
        for study in [Study(times, {"unpinned": 1.0, "pcores-pin": energy}, seed=threads,
                            noise=noise / 10)]
        for run in in_table(threads, study, threads=threads)
    ]  # fmt: skip
    write(tmp_path, [
        run | {"energy_pkg_j": 2000 * (1 + 0.1 * float(rng.normal()))}
        if run["threads"] > 2 else run
        for run in runs
    ])  # fmt: skip
    assert said(tmp_path)["Decision"].endswith("; undecided in 4")


def test_guests_are_named_by_what_tells_them_apart_and_the_node_is_no_guest() -> None:
    node = TABLE._replace(threads=4)
    kvm = node._replace(vm_cpus=8, vm_memory_mib=1024, vm_accelerator="kvm")
    tcg, smaller = kvm._replace(vm_accelerator="tcg"), kvm._replace(vm_cpus=4)

    def names(*keys: TableKey) -> list[str]:
        return list(map(program_names(keys), keys))

    assert names(node, kvm) == ["lu", "lu"]
    assert names(node, kvm, tcg) == ["lu", "lu on KVM", "lu emulated"]
    assert names(node, kvm, smaller) == ["lu", "lu 8 vCPUs", "lu 4 vCPUs"]


def test_a_long_name_of_a_setting_is_wrapped(tmp_path: Path) -> None:
    runs = Study({"unpinned": 1.0, "pcores-pin": 0.9}).records()
    write(tmp_path, [run | {"app": "a long name " * 8} for run in runs])
    results = open_results(str(tmp_path))
    (overview,) = overviews_of(analyze(results))
    assert max(map(length, grid_lines(overview, TIME, 60))) <= 60


def test_what_a_program_prints_is_in_the_answer_beside_time(tmp_path: Path) -> None:
    """Printed with a direction, it is an objective of its own."""
    write(tmp_path, printing({"unpinned": 100.0, "pcores-pin": 158.0}))
    of_time, of_rate = said(tmp_path)["Decision"].split(" | ")
    assert of_time == "leave unpinned"
    assert of_rate == "for Gflop/s (rate): pin (pcores-pin), rate +58 %"
