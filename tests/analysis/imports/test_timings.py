"""Runs by hyperfine, Google Benchmark and likwid become records, with what is not known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pinstudy.analysis.imports.timings import import_timings
from pinstudy.analysis.results.sources import open_results
from pinstudy.base.errors import UserError
from pinstudy.runners.records.reader import read_records
from tests.support.cli import pinstudy
from tests.support.tools import DATA

Options = dict[str, str | int | None]
OPTIONS: Options = {"app": "lulesh", "threads": 8}


def result(mapping: str, times: list[float], **more: object) -> dict[str, Any]:
    """Return what hyperfine writes for a command, by its src/benchmark/benchmark_result.rs."""
    return {
        "command": f"./with {mapping} ./lulesh",
        **{"mean": 1.0, "stddev": 0.1, "median": 1.0, "user": 7.5, "system": 0.1},
        **{"min": min(times, default=0), "max": max(times, default=0)},
        "times": times,
        "exit_codes": [0] * len(times),
        "parameters": {"mapping": mapping, "input": "30"},
        **more,
    }


def repetition(index: int, real_time: float, **more: object) -> dict[str, Any]:
    """Return what Google Benchmark writes for a repetition, by its src/json_reporter.cc."""
    return {
        "name": "BM_solve/1024",
        "family_index": 0,
        "per_family_instance_index": 0,
        "run_name": "BM_solve/1024",
        "run_type": "iteration",
        "repetitions": 2,
        "repetition_index": index,
        "threads": 1,
        "iterations": 40,
        "real_time": real_time,
        "cpu_time": 17.2,
        "time_unit": "ms",
        "items_per_second": 5.9e4,
    } | more


MEAN = repetition(0, 17.0, run_type="aggregate", aggregate_name="mean", aggregate_unit="time")
HYPERFINE = {
    "results": [
        result("unpinned", [1.25, 1.5], memory_usage_byte=[4096, 8192]),
        result("pcores-pin", [0.75, 0.5, 0.6], exit_codes=[0, 3, None]),
    ]
}
BENCHMARK = {
    "context": {"date": "2026-11-29T00:00:00+00:00", "executable": "./build/solve", "num_cpus": 8},
    "benchmarks": [repetition(0, 16.0), repetition(1, 18.5), MEAN],
}


def bring(folder: Path, tool: str, content: object, **options: str | int | None) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / "times.json"
    file.write_text(json.dumps(content))
    import_timings(tool, [file], folder / "results", options)
    return folder / "results"


def records(results: Path) -> list[dict[str, Any]]:
    return list(read_records(results / "records"))


def test_each_run_of_hyperfine_is_a_record_of_the_case_that_its_parameters_tell(
    tmp_path: Path,
) -> None:
    runs = records(bring(tmp_path, "hyperfine", HYPERFINE, **OPTIONS))

    assert [(r["mapping"], r["repetition"], r["status"], r["elapsed_s"]) for r in runs] == [
        ("unpinned", 1, "ok", 1.25),
        ("unpinned", 2, "ok", 1.5),
        ("pcores-pin", 1, "ok", 0.75),
        ("pcores-pin", 2, "failed", 0.5),
        ("pcores-pin", 3, "failed", 0.6),
    ]
    assert [r["reason"] for r in runs[3:]] == ["exit status 3", "it was ended by a signal"]
    assert (runs[1]["max_rss_bytes"], runs[1]["selection"]) == (8192, "all")
    missing, why = runs[0]["unavailable"], "not in the imported hyperfine file"
    assert missing["user_s"] == "in the imported hyperfine file for all runs together only"
    assert missing["placement"] == "imported; nobody looked"
    assert {missing[name] for name in ("energy_pkg_j", "migrations", "governor_read")} == {why}
    assert runs[4]["imported"]["place"] == "results[1].times[2]"


def test_each_repetition_of_google_benchmark_is_a_record_and_aggregates_are_none(
    tmp_path: Path,
) -> None:
    results = bring(tmp_path, "benchmark", BENCHMARK, mapping="unpinned", threads=4)

    assert [(r["app"], r["size"], r["elapsed_s"]) for r in records(results)] == [
        ("solve", "BM_solve/1024", 0.016),
        ("solve", "BM_solve/1024", 0.0185),
    ]
    (case,) = open_results(str(results)).cases
    assert case.stats["elapsed_s"].mean == pytest.approx((0.016 + 0.0185) / 2)


def test_a_run_without_length_is_a_failed_one(tmp_path: Path) -> None:
    content = {"results": [result("unpinned", [0.0, 0.5])]}
    short, run = records(bring(tmp_path, "hyperfine", content, **OPTIONS))
    assert (short["status"], "elapsed_s" in short) == ("failed", False)
    assert (run["status"], run["elapsed_s"]) == ("ok", 0.5)


def test_an_error_in_a_benchmark_is_a_failed_run_without_a_time(tmp_path: Path) -> None:
    bad = repetition(0, 0.0, error_occurred=True, error_message="no input", iterations=0)
    (run,) = records(
        bring(tmp_path, "benchmark", BENCHMARK | {"benchmarks": [bad]}, mapping="x", **OPTIONS)
    )
    assert (run["status"], run["reason"], run["app"]) == ("failed", "no input", "lulesh")
    assert run["unavailable"]["elapsed_s"] == "not in the imported Google Benchmark file"


def test_files_of_real_runs_are_read(tmp_path: Path) -> None:
    """Of short runs beside other work: hyperfine took more off two than they had lasted."""
    timed = json.loads((DATA / "timings" / "hyperfine-1.15.0.json").read_text())
    runs = records(bring(tmp_path / "h", "hyperfine", timed, app="lu"))
    assert [(run["mapping"], run["threads"]) for run in runs[::3]] == [
        *[("unpinned", 1), ("unpinned", 2), ("cores-pin", 1), ("cores-pin", 2)]
    ]
    assert [run["status"] for run in runs] == ["failed"] * 2 + ["ok"] * 10
    assert runs[3]["elapsed_s"] == 2.0695746146

    summed = json.loads((DATA / "timings" / "benchmark-1.7.1.json").read_text())
    options: Options = {"threads": 1, "mapping": "unpinned"}
    runs = records(bring(tmp_path / "b", "benchmark", summed, **options))
    assert [(run["app"], run["size"], run["status"]) for run in runs] == [
        *[("solve", "sum/1000", "ok")] * 2,
        *[("solve", "input", "failed")] * 2,
    ]
    assert runs[0]["elapsed_s"] == pytest.approx(4.2950831421119524e-6)
    assert "no file" in runs[2]["reason"]


@pytest.mark.parametrize(
    ("tool", "content", "options", "problem"),
    [
        ("hyperfine", HYPERFINE, {"threads": 8}, "the logs do not tell their app: give --app"),
        ("hyperfine", HYPERFINE, {"mapping": "x"}, "the file tells the mapping; leave out what"),
        (
            "hyperfine",
            {"results": [result("unpinned", [])]},
            {},
            "times.json: results[0]: has no times of single runs",
        ),
        (
            "hyperfine",
            {"results": [result("m", [1.0], parameters={"threads": "many"})]},
            {},
            "times.json: threads 'many' is no number",
        ),
        (
            "hyperfine",
            {"results": [result("m", [1.0]), result("m", [1.0], parameters={})]},
            {},
            "times.json: results[1].times[0]: does not tell the mapping, as others do",
        ),
        ("hyperfine", {"results": [{"times": [-1]}]}, {}, "times.json: results[0]"),
        ("benchmark", BENCHMARK | {"benchmarks": [MEAN]}, {}, "times.json: has aggregates only"),
        ("benchmark", BENCHMARK, {"mapping": "x", "size": "s"}, "the file tells the size; leave"),
        ("benchmark", HYPERFINE, {}, "expected a file of `--benchmark_out_format=json`"),
    ],
)
def test_what_cannot_be_imported_is_told_in_a_line_and_nothing_is_written(
    tmp_path: Path, tool: str, content: object, options: Options, problem: str
) -> None:
    given = ({} if "app" in problem else OPTIONS) | options
    with pytest.raises(UserError) as refused:
        bring(tmp_path, tool, content, **given)
    assert problem in str(refused.value)
    assert not (tmp_path / "results").exists()


# As likwid 5.2.2 prints it (likwid.lua, printOutput), on two sockets.
LIKWID = """\
STRUCT,Info,3,,,
CPU name:,Intel(R) Xeon(R) Silver 4116 CPU @ 2.10GHz,,,,
CPU type:,Intel Skylake SP processor,,,,
CPU clock:,2.1 GHz,,,,
TABLE,Group 1 Raw,ENERGY,4,,
Event,Counter,HWThread 0,HWThread 1,HWThread 12,
INSTR_RETIRED_ANY,FIXC0,207000000,208000000,-,
PWR_PKG_ENERGY,PWR0,61.25,0,40.5,
PWR_DRAM_ENERGY,PWR3,4.5,0,1.250000e+00,
TABLE,Group 1 Raw STAT,ENERGY,3,,
Event,Counter,Sum,Min,Max,Avg
PWR_PKG_ENERGY STAT,PWR0,101.75,0,61.25,33.9167
TABLE,Group 1 Metric,ENERGY,2,,
Metric,HWThread 0,HWThread 1,HWThread 12,,
Runtime (RDTSC) [s],2.0150,2.0150,2.0150,,
Energy [J],61.25,0,40.5,,
"""


def bring_likwid(folder: Path, text: str) -> Path:
    file = folder / "solve_1.csv"
    file.write_text(text)
    options = OPTIONS | {"mapping": "unpinned", "pattern": "{any}_{repetition}.csv"}
    import_timings("likwid", [file], folder / "results", options)
    return folder / "results"


def test_a_file_of_likwid_has_a_runs_time_and_the_energy_of_all_sockets(tmp_path: Path) -> None:
    (run,) = records(bring_likwid(tmp_path, LIKWID))

    assert run["elapsed_s"] == run["energy_window_s"] == 2.015
    assert run["energy_source"] == "likwid"
    assert (run["energy_pkg_j"], run["energy_dram_j"]) == (61.25 + 40.5, 5.75)
    assert run["power_pkg_w"] == pytest.approx(101.75 / 2.015)
    assert run["edp_js"] == pytest.approx(101.75 * 2.015)
    why = "not in the imported likwid-perfctr file"
    assert {run["unavailable"][name] for name in ("energy_core_j", "migrations", "user_s")} == {why}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("Hello world\n", "has no run time; expected a file of `likwid-perfctr -O -o FILE`"),
        (LIKWID.replace("Group 1 Metric", "Group 2 Metric"), "has 2 groups of events, each of a"),
        (LIKWID.replace("TABLE,", "TABLE,Region solve,"), "solve_1.csv:5: is of a region (-m)"),
    ],
)
def test_likwids_parts_of_runs_are_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(UserError) as refused:
        bring_likwid(tmp_path, text)
    assert problem in str(refused.value)


def test_the_same_file_counts_once(tmp_path: Path) -> None:
    bring(tmp_path, "hyperfine", HYPERFINE, **OPTIONS)
    with pytest.raises(UserError, match=r"the same log as .*, which is imported; a run"):
        bring(tmp_path, "hyperfine", HYPERFINE, **OPTIONS)


def test_both_are_commands_whose_results_every_command_reads(tmp_path: Path) -> None:
    (tmp_path / "h.json").write_text(json.dumps(HYPERFINE))
    (tmp_path / "b.json").write_text(json.dumps(BENCHMARK))
    case = ("--threads", "8", "--governor", "performance")
    done = pinstudy(
        tmp_path, "import", "hyperfine", "h.json", "-o", "h", "--app", "lulesh", *case, status=0
    )
    assert "h: 5 runs of 2 cases" in done.stderr
    mapping = ("--mapping", "unpinned")
    pinstudy(tmp_path, "import", "benchmark", "b.json", "-o", "b", *mapping, *case, status=0)
    assert "pcores-pin" in pinstudy(tmp_path, "tables", "h", status=0).stdout
    assert "solve" in pinstudy(tmp_path, "verdict", "b", status=0).stdout
