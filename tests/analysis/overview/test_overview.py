"""An overview says what was found, once, and as wide as the terminal is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.figures.gallery import all_figures
from pinstudy.analysis.findings.answers import answers_of
from pinstudy.analysis.format.lines import Line, length
from pinstudy.analysis.objectives import TIME
from pinstudy.analysis.overview.terminal import (
    OverviewEntry,
    entries,
    next_entry,
    overview_lines,
    overviews_of,
)
from pinstudy.analysis.overview.text import grid_lines
from pinstudy.analysis.records.keys import TableKey
from pinstudy.analysis.results.sources import Results, open_results
from pinstudy.analysis.verdict_text.tables import best_tables
from pinstudy.analysis.words.programs import program_names
from tests.analysis.report.made_results import DIGEST, make_results, node
from tests.analysis.verdict.test_printed import RATES, printing
from tests.support.golden import GoldenFile
from tests.support.in_memory import results_of
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
PINNED = {"unpinned": 1.0, "pcores-pin": 0.9}
FAILED = {"status": "failed", "reason": "exit status 3", "elapsed_s": None}
REGION = {"executions": 2, "elapsed_s": 30.0, "mark_s": 0.0001, "unavailable": {}}
Made = Results | Study | list[Record]


def opened(made: Made) -> Results:
    return made if isinstance(made, Results) else results_of(made)


def lines_of(made: Made, width: int) -> list[Line]:
    results = opened(made)
    findings = analyze(results)
    return overview_lines(results, findings, answers_of(results, findings), width)


def shown(made: Made, width: int = 80) -> str:
    return plain(lines_of(made, width))


def row_of(made: Made) -> str:
    (row,) = [line for line in shown(made).splitlines() if line.startswith("lulesh x8")]
    return row


def entries_of(results: Results, baseline: str | None = None) -> list[OverviewEntry]:
    findings = analyze(results, baseline=baseline)
    below = entries(results, findings, answers_of(results, findings), overviews_of(findings))
    return [*below, next_entry(results, findings)]


def said(made: Made, baseline: str | None = None) -> dict[str, str]:
    """Return what stands below the grid by label, several entries of one label joined."""
    texts: dict[str, str] = {}
    for entry in entries_of(opened(made), baseline):
        texts[entry.label] = " | ".join(filter(None, (texts.get(entry.label), entry.text)))
    return texts


@pytest.mark.parametrize("width", [80, 120])
def test_a_hybrid_with_energy(tmp_path: Path, width: int, snapshot: SnapshotAssertion) -> None:
    results = open_results(str(make_results(tmp_path)))
    assert shown(results, width) == snapshot(extension_class=GoldenFile)
    # A command is on a line of its own, however long.
    lines = lines_of(results, width - 20)
    assert max(length(line) for line in lines if "taskset" not in plain([line])) <= width - 20
    # Of two equal mappings now one and now the other is best; one piece of advice will do.
    of_time, of_energy = said(results)["Decision"].split(" | ")
    advised = r"(pin|confine) \(pcores-(pin|set)\) in 12 of 12 configurations, time -"
    assert re.match(advised, of_time)
    assert of_energy.startswith("for package energy: ")


def test_the_published_results(snapshot: SnapshotAssertion) -> None:
    results = open_results(PUBLISHED)
    assert shown(results) == snapshot(extension_class=GoldenFile)
    # Gains of means without deviations have no interval.
    _, table = best_tables(answers_of(results, analyze(results)), results.cases, 0.01)
    (row,) = [row for row in table.cells if row[0].startswith("lulesh")]
    assert row[1:4] == ("758 J", "-66", "-")
    # Without deviations nobody knows which others are as good.
    assert row[5] == "-"


def test_a_cell_has_a_mark_a_change_and_its_uncertainty() -> None:
    times = {"unpinned": 1.0, "pcores-set": 0.9, "pcores-pin": 1.0, "ecores-pin": 1.5}
    row = row_of(Study(times, noise=0.002)).removeprefix("lulesh x8").strip()
    baseline, better, alike, worse = re.split(r"  +", row)
    assert baseline == "40.0 s"
    assert re.fullmatch(r"-\d+(\.\d)? ±0\.\d\*", better)
    assert float(better.split()[0]) == pytest.approx(-10, abs=0.4)
    assert re.fullmatch(r"= ±0\.\d", alike)
    assert re.fullmatch(r"\+\d+(\.\d)? ±(1|0\.\d)", worse)


SET_AND_PINNED = Study({"unpinned": 1.0, "pcores-set": 0.9, "pcores-pin": 0.9})


@pytest.mark.parametrize(
    ("made", "row", "legend"),
    [
        (spoilt(SET_AND_PINNED, "pcores-pin", (1, 2, 3), **UNPROVED), r".*\*  +x 36\.\d s",
         "x not compared"),
        (spoilt(SET_AND_PINNED, "pcores-pin", **FAILED), r".* n/a", "n/a no good run or not meas"),
        # Without a baseline no mean is marked.
        (Study({"pcores-set": 0.9, "pcores-pin": 0.9}), r"lulesh x8 +36\.\d s +36\.\d s", ""),
    ],
    ids=["lost", "failed", "no baseline"],
)  # fmt: skip
def test_a_case_that_is_not_compared_keeps_its_place(made: Made, row: str, legend: str) -> None:
    assert re.fullmatch(row, row_of(made))
    assert legend in shown(made).split("Decision")[0]


def test_a_narrow_terminal_gets_a_line_for_each_mapping_and_long_names_are_wrapped() -> None:
    times = dict.fromkeys(("unpinned", "pcores-set", "pcores-pin", "ecores-pin"), 1.0)
    lines = shown(Study(times), 36).splitlines()
    at = lines.index("lulesh x8")
    assert [line.split()[0] for line in lines[at + 1 : at + 5]] == list(times)
    (overview,) = overviews_of(
        analyze(results_of(run | {"app": "a long name " * 8} for run in Study(PINNED).records()))
    )
    assert max(map(length, grid_lines(overview, TIME, 60))) <= 60


def test_each_reason_stands_once_with_all_that_lacks_for_it() -> None:
    why = "not supported by this node (no hardware PMU in this virtual machine)"
    absent = {"freq_mean_ghz": f"cycles: {why}", "cache_misses": f"cache-misses: {why}"}
    lacking = dict.fromkeys(absent) | {"unavailable": absent}
    made = [record(n, at, **lacking, elapsed_s=40 + at / 10) for n in (1, 2) for at in range(1, 6)]
    missing = said(made)["Missing"]
    assert missing.count("not supported") == 1
    assert "frequency, cache misses: not supported by this node; " in missing


@pytest.mark.parametrize("other", [1.1, 1.0])
def test_where_nothing_beats_a_named_baseline_its_own_mapping_is_advised(other: float) -> None:
    made = Study({"unpinned": other, "pcores-pin": 1.0}, noise=0.002)
    assert said(made, baseline="pcores-pin")["Decision"] == "pin (pcores-pin)"


def prices(**mappings: tuple[float, float]) -> list[Record]:
    """Return runs of the baseline and of mappings with these times and energies.

    Times of pcores-pin are noisy.
    """
    times = {mapping: time for mapping, (time, _) in mappings.items()}
    energies = {mapping: energy for mapping, (_, energy) in mappings.items()}
    runs = Study({"unpinned": 1.0} | times, {"unpinned": 1.0} | energies).records()
    return [
        run | {"elapsed_s": run["elapsed_s"] * (1 + 0.05 * (run["repetition"] * 7 % 11 - 5))}
        if run["mapping"] == "pcores-pin"
        else run
        for run in runs
    ]


def test_a_change_that_is_undecided_is_not_said_to_be_one() -> None:
    made = prices(**{"pcores-pin": (1.04, 0.75), "pcores-set": (0.999, 1.001)})
    *_, decision = said(made)["Decision"].split(" | ")
    advised = r"for package energy: pin \(pcores-pin\), energy -2\d %, time undecided"
    assert re.fullmatch(advised, decision)


def test_what_is_undecided_first_is_said_first_and_whatever_else_is_decided() -> None:
    printed = {"unpinned": 100.0, "pcores-pin": 150.0}
    units = {"a": "MB/s", "b": "MB/s"}
    more = {"metric_units": units, "metric_better": dict.fromkeys(units, "higher")}
    decisions = said([
        run | more
        | {"metrics": dict.fromkeys(units, printed[run["mapping"]] * (1 + noise / 10_000))}
        for run in prices(**{"pcores-pin": (1.04, 0.75)})
        for noise in (run["order"] * 7919 % 13 - 6,)
    ])["Decision"].split(" | ")  # fmt: skip
    assert decisions[0] == "undecided"
    assert decisions[1].startswith("for package energy: pin (pcores-pin), energy -2")
    assert decisions[2].startswith("for MB/s (a): pin (pcores-pin), a +50 %")


def test_what_some_runs_lack_is_not_missing_and_no_command_grants_it(tmp_path: Path) -> None:
    wrapped = {"energy_pkg_j": None, "unavailable": {"energy_pkg_j": "the counter wrapped"}}
    in_one = spoilt(Study(PINNED, PINNED), "unpinned", [4], **wrapped)
    in_cases = "energy in some runs of 1 of 2 cases: the counter wrapped"
    assert said(in_one)["Missing"] == in_cases
    in_both = spoilt(in_one, "pcores-pin", [2, 5], **wrapped)
    assert said(in_both)["Missing"] == "energy in some runs: the counter wrapped"
    missing = said(spoilt(in_one, "pcores-pin", **wrapped))["Missing"].split(" | ")
    assert missing[0] == f"{in_cases}; energy in 1 of 2 cases: the counter wrapped; {GRANTS}"
    (tmp_path / "summaries.csv").write_text(
        "app,threads,mapping,n,unproved,elapsed_mean_s,elapsed_sd_s,energy_pkg_mean_j,energy_pkg_n,reasons\n"
        "lu,1,unpinned,30,1,45.1,0.1,9,4,energy_pkg_j: it wrapped\n"
        "lu,1,pcores-pin,30,0,40.1,0.1,9,,energy_pkg_j: it wrapped\n"
    )
    imported = said(open_results(str(tmp_path)))
    assert "energy in some runs: it wrapped" in imported["Missing"].split("; ")
    # Placement that means do not explain is lost without a reason.
    assert imported["Lost"] == "1 of 60 runs without proof of placement: unpinned"


def test_what_was_lost_is_counted_once_with_its_reasons() -> None:
    violated = {"status": "placement-violated", "reason": "thread 2 was on CPU 9"}
    runs = Study({"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 0.9})
    lost = said(spoilt(spoilt(runs, "pcores-set", **violated), "pcores-pin", **violated))["Lost"]
    all_of_two = "20 of 30 runs placed elsewhere: pcores-set, pcores-pin"
    assert lost == f"{all_of_two}; 2 cases not compared for it"
    # However many regions the runs have.
    regions = UNPROVED | {"regions": {"solve": REGION, "io": REGION}}
    made = [run | regions for run in Study(PINNED, repetitions=5).records()]
    lost = said(spoilt(made, "unpinned", [3], status="failed", reason="exit status 3"))["Lost"]
    assert lost.startswith("10 of 10 runs; 1 failed (exit status 3): unpinned; ")
    assert "; 9 without proof of placement (too short to look at): unpinned, " in lost


def test_the_command_that_would_decide_says_how_much_and_how_long(tmp_path: Path) -> None:
    folder = tmp_path / "paper-serial" / "node1"
    times = {"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 0.99}
    ended = {"status": "timeout", "elapsed_s": 600.0, "reason": "ended after its limit of 600 s"}
    runs = spoilt(Study(times, repetitions=5, noise=0.05), "pcores-set", **ended)
    write(folder, [run | {"study_file": "quick", "regions": {"solve": REGION}} for run in runs])
    (line,) = [
        line
        for line in shown(open_results(str(folder)), 200).splitlines()
        if line.startswith("Next ")
    ]
    assert line.split(maxsplit=1)[1].startswith("pinstudy run quick --undecided --results ")
    # Five more runs of 40 s of each of two cases; the third is not compared, a region is no run.
    assert re.search(r"   1 of 1 comparison; about 6 min [34]\d s$", line)


@pytest.mark.parametrize("outcome", ["ok", "failed", "skipped"])
def test_a_study_without_a_comparison_says_so(tmp_path: Path, outcome: str) -> None:
    gone = {} if outcome == "ok" else FAILED | {"status": outcome}
    write(tmp_path, [record(number, 1, **gone) for number in ((3,) if not gone else (1, 2))])
    results = open_results(str(tmp_path))
    text = shown(results)
    assert "Decision   none: no mapping could be compared with another" in text
    assert ("n/a" in text) == (outcome == "failed")
    findings = analyze(results)
    assert list(all_figures(results, findings))
    columns = {"ok": ("pcores-pin",), "failed": ("unpinned", "pcores-set"), "skipped": ()}[outcome]
    assert [overview.columns for overview in overviews_of(findings)] == [columns]


def test_texts_of_records_control_no_terminal() -> None:
    evil = {"app": "a\x1b[2Jb\n", "governor": "\x9b1mbold"}
    text = shown([run | evil for run in Study(PINNED).records()])
    assert not set("\x1b\x9b") & set(text)
    assert "Decision   pin (pcores-pin), time -" in text


def test_the_fastest_of_all_thread_counts_has_its_gain_and_its_line(tmp_path: Path) -> None:
    # 4 threads take 40 / 4^0.9 of the time that one takes, pinned 3 % less than scheduled.
    results = open_results(str(make_results(tmp_path, apps=(("lulesh", 40.0),))))
    name, line = said(results)["Fastest"].split("; `")
    found = re.fullmatch(
        r"4 threads, pcores-(?:set|pin), governor performance: 11.6 s, -(\d+)(?: to -(\d+))? % "
        r"against 1 thread, unpinned; not shown to be worse: 1 case",
        name,
    )
    assert found
    gain = 100 * (1 - 1 / (1.03 * 4**0.9))
    assert int(found[2] or found[1]) - 1 <= gain <= int(found[1]) + 1
    assert line.startswith("env OMP_NUM_THREADS=4 OMP_SCHEDULE=static OMP_PLACES=")
    assert f"           {line[:-1]}" in shown(results).splitlines()


@pytest.mark.parametrize(
    ("fields", "schedule"),
    [({}, "OMP_SCHEDULE=monotonic:static,4 "), ({"no_schedule": True}, "")],
    ids=["takes one", "takes none"],
)
def test_the_line_of_the_fastest_has_the_schedule_of_its_runs(
    fields: Record, schedule: str
) -> None:
    variables = {"OMP_NUM_THREADS": "8", "OMP_SCHEDULE": "monotonic:static,4"}
    started = {"command": ["bin/lu"], "environment": {"set": variables, "removed": []}}
    runs = [
        run | started | {"schedule": "static,4"} | fields
        for run in Study({"unpinned": 1.0, "pcores-set": 0.9}).records()
    ]
    results = results_of(runs)
    (best,) = answers_of(results, analyze(results)).best
    assert best.line == f"env OMP_NUM_THREADS=8 {schedule}taskset -c 0-23 bin/lu"


def two_teams(times: dict[str, tuple[float, float]], slow: str = "") -> list[Record]:
    """Return runs of mappings with one and two threads; two of a slow one's last 20 are twice."""
    return [
        run | {"elapsed_s": run["elapsed_s"] * (2.0 if is_slow else 1.0)}
        for threads in (1, 2)
        for run in in_table(
            threads,
            Study({m: by[threads - 1] for m, by in times.items()}, repetitions=20, noise=0.0005),
            threads=threads,
        )
        for is_slow in (threads == 2 and run["mapping"] == slow and run["repetition"] in (4, 13),)
    ]


def test_the_fastest_is_so_by_what_is_shown_and_compared() -> None:
    # Two slow runs of 20 make the larger mean, and the grid shows typical times.
    made = two_teams({"unpinned": (2.0, 1.0), "pcores-set": (2.0, 0.95)}, slow="pcores-set")
    means = {case.key.case_id: case.time.mean for case in results_of(made).cases}
    assert min(means, key=means.__getitem__) == "2-case000000000001"
    fastest = said(made)["Fastest"]
    assert fastest.startswith("2 threads, pcores-set: 38 s, -53 to -52 % against 1 thread, unpinn")
    assert "not shown to be worse" not in fastest
    # Those that may be as fast are counted.
    alike = {"unpinned": (2.0, 1.1), "pcores-set": (2.0, 1.0), "pcores-pin": (2.0, 0.9999)}
    assert re.match(
        r"2 threads, pcores-(pin|set): 40 s, -50 % against 1 thread, unpinned; "
        r"not shown to be worse: 1 case",
        said(two_teams(alike))["Fastest"],
    )
    # Where more threads are not surely faster, none is called so.
    unsure = [
        record(1, at, threads=threads, table_number=threads, case_id=f"c{threads}",
               elapsed_s=40 + 3 * ((at * (4 + threads)) % 7))
        for threads in (1, 2) for at in range(1, 8)
    ]  # fmt: skip
    assert "Fastest" not in said(unsure)


def scheduled(alike: Sequence[int] = ()) -> list[Record]:
    """Return the runs of two thread counts under two schedulers: the second's pinned one wins.

    With the numbers of threads in `alike` all take as long.
    """
    return [
        run
        | {
            "case_id": f"{under}-{threads}-{run['mapping']}",
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


def test_a_case_is_named_with_the_scheduler_that_it_ran_under() -> None:
    assert said(scheduled())["Fastest"].startswith("2 threads, pcores-pin, scx_rusty: 14 s, ")
    decision = said(scheduled(alike=[1]))["Decision"]
    assert "lulesh x2: pin (pcores-pin under scx_rusty), time -" in decision


def test_what_time_does_not_compare_has_a_grid_of_what_its_program_prints() -> None:
    # Of two programs of a given time one prints its rate in Gflop/s, the other in GB/s.
    stream = {"app": "stream", "metric_units": {"rate": "GB/s"}}
    rated = printing(RATES, fixed_time=True)
    timed = in_table(0, Study({"unpinned": 1.0, "pcores-pin": 0.8, "ecores-pin": 1.1}), app="lu")
    text = shown(timed + in_table(1, rated) + in_table(2, rated, **stream))
    time, gflops, gbytes = text.split("\n\n")[1:6:2]
    named = [re.findall(r"^(\w+) +x8", grid, re.M) for grid in (time, gflops, gbytes)]
    assert named == [["lu", "lulesh", "stream"], ["lulesh"], ["stream"]]
    assert ("100 Gflop/s" in gflops, "100 GB/s" in gbytes) == (True, True)
    marks = "- better, + worse, the other way round where more is better, * best"
    assert gbytes.splitlines()[-1] == marks


def test_an_exception_is_not_said_of_what_is_undecided() -> None:
    # For energy two settings are decided, one each way; of the others nothing is known.
    rng = np.random.default_rng(5)
    made: list[Record] = []
    for threads, energy in {1: 0.8, 2: 1.2, 3: 1.0, 4: 1.0, 5: 1.0, 6: 1.0}.items():
        energies = {"unpinned": 1.0, "pcores-pin": energy}
        for run in Study(PINNED, energies, seed=threads, noise=0.0003).records():
            noisy = {"energy_pkg_j": 2000 * (1 + 0.1 * float(rng.normal()))}
            made += in_table(threads, [run | (noisy if threads > 2 else {})], threads=threads)
    assert said(made)["Decision"].endswith("; undecided in 4")


def test_guests_are_named_by_what_tells_them_apart_and_the_node_is_no_guest() -> None:
    node = TABLE._replace(threads=4)
    kvm = node._replace(vm_cpus=8, vm_memory_mib=1024, vm_accelerator="kvm")
    tcg, smaller = kvm._replace(vm_accelerator="tcg"), kvm._replace(vm_cpus=4)

    def names(*keys: TableKey) -> list[str]:
        return list(map(program_names(keys), keys))

    assert names(node, kvm) == ["lu", "lu"]
    assert names(node, kvm, tcg) == ["lu", "lu on KVM", "lu emulated"]
    assert names(node, kvm, smaller) == ["lu", "lu 8 vCPUs", "lu 4 vCPUs"]


TIMES_S = {"lulesh": 0.28, "mandelbrot": 0.66, "lu": 0.51}
NO_PMU = "not supported by this node (no hardware PMU in this virtual machine)"
LACKING = {
    "freq_mean_ghz": f"cycles: {NO_PMU}",
    "cache_misses": f"cache-misses: {NO_PMU}",
    "energy_pkg_j": "powercap: /sys/class/powercap is missing: no energy counters (usual in "
    "virtual machines); perf: no power PMU here",
}


BUSY = {"foreign_cpu_s": 0.9, "foreign_tasks": [{"command": "python3", "cpu_s": 0.8}]}


def quick(times: Mapping[str, float], noise: float) -> list[Record]:
    """Return the runs of three programs with one and two threads on a virtual machine."""
    runs = []
    for number, (app, threads) in enumerate(product(TIMES_S, (1, 2)), 1):
        of_table = {
            "app": app, "size": "quick", "threads": threads, "build": "libgomp",
            "schedule": "static,1" if app == "lu" else "static", "study_file": "quick",
            "governor": "current", "governor_read": None,
        } | {"study": "quick"}  # fmt: skip
        made = Study(times, repetitions=5, noise=noise, seed=number + 20).records()
        gone = [
            left_out(row, "the node has no E-cores") | {"mapping": mapping, "run_id": mapping}
            for row, mapping in ((4, "ecores-set"), (5, "ecores-pin"))
        ]
        for run in in_table(number, [*made, *gone]):
            elapsed_s = run.get("elapsed_s", 0.0) / 40 * TIMES_S[app] / threads**0.9
            measured = {**dict.fromkeys(LACKING), "unavailable": LACKING}
            measured |= {"elapsed_s": elapsed_s, "user_s": elapsed_s}
            runs.append(run | of_table | (measured if run["status"] == "ok" else {}))
    return runs


@pytest.mark.parametrize(
    ("pinned", "noise", "disturbed"),
    [(1.0, 0.03, {}), (0.9, 0.003, {}), (1.0, 0.03, BUSY)],
    ids=["undecided", "decided", "disturbed"],
)
@pytest.mark.parametrize(("width", "most"), [(100, 24), (80, 28)])
def test_a_first_look_fits_on_a_screen(
    tmp_path: Path, pinned: float, noise: float, disturbed: Record, width: int, most: int
) -> None:
    # Of a node that says what it is, in a folder as `run` names it.
    folder = tmp_path / "quick" / "node1"
    runs = quick({"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": pinned}, noise)
    write(folder, [run | {"node_digest": DIGEST} | disturbed for run in runs])
    (folder / "nodes").mkdir()
    (folder / "nodes" / f"{DIGEST}.json").write_text(json.dumps(node()))
    results = open_results(str(folder))
    lines = shown(results, width).replace(str(tmp_path), "RESULTS").splitlines()
    assert len(lines) <= most
    assert max(map(len, lines)) <= width
    for entry in entries_of(results):
        for part in entry.parts:
            assert part.startswith("`") or len(part.split()) <= 25, part
    # On a disturbed node no more repetitions are made.
    assert any("pinstudy tune" in line for line in lines) == bool(disturbed)
