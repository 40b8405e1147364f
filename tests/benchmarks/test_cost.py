"""What measuring costs and a user waits for: tools read, costs by clocks, and their bounds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.cost import rounds
from benchmarks.cost.attention import Attention, difference, read_uses
from benchmarks.cost.rounds import PROGRAMS, Cost, cost_of_kernel, cost_of_true
from benchmarks.cost.tools import (
    Peer,
    Used,
    hyperfine_seconds,
    perf_r_seconds,
    perf_seconds,
    pyperf_seconds,
)
from benchmarks.lib.kernel import Span
from benchmarks.waits import Round, broken_bounds, least_cpu_s, runs_table

# What perf 6.1.187, hyperfine 1.15.0 and pyperf 2.10.0 wrote, shortened.
PERF = "855263;ns;duration_time;855263;100.00;1.665;G/sec\n0.48;msec;task-clock;484881;100.00;;\n"
PERF_R = """\
 Performance counter stats for 'true' (3 runs):

              0.64 msec task-clock                       #    0.126 CPUs utilized   ( +- 10.94% )

           0.00506 +- 0.00246 seconds time elapsed  ( +- 48.62% )
"""
HYPERFINE = {
    "results": [
        {"command": "true", "mean": 0.000653, "times": [0.000810596, 0.00063191], "exit_codes": [0]}
    ]
}
PYPERF = {
    "benchmarks": [
        {"runs": [{"warmups": [[1, 0.002]]}, {"values": [0.00094, 0.00105]}, {"values": [0.00091]}]}
    ],
    "version": "1.0",
}


def test_each_tools_times_are_read_from_what_it_writes() -> None:
    assert perf_seconds(PERF) == (855263e-9,)
    assert perf_r_seconds(PERF_R) == (0.00506,)
    assert perf_r_seconds("       0.002895207 seconds time elapsed\n") == (0.002895207,)
    assert hyperfine_seconds(json.dumps(HYPERFINE)) == (0.000810596, 0.00063191)
    assert pyperf_seconds(json.dumps(PYPERF)) == (0.00094, 0.00105, 0.00091)


def test_output_without_a_time_is_no_time_of_zero() -> None:
    with pytest.raises(ValueError, match="duration_time"):
        perf_seconds("0.48;msec;task-clock;484881;100.00;;\n")
    with pytest.raises(ValueError, match="elapsed"):
        perf_r_seconds("0.48 msec task-clock\n")


def test_what_a_tool_wrote_before_is_not_read_again(tmp_path: Path) -> None:
    older = tmp_path / "times"
    older.write_text("1.0")
    idle = Peer("idle", "", "", older, lambda _output, _runs: [], lambda text: (float(text),))
    with pytest.raises(FileNotFoundError):
        idle.use(["true"], 2)


def test_a_tool_that_is_started_for_each_run_reports_each(tmp_path: Path) -> None:
    def options(output: str, runs: int) -> list[str]:
        return ["sh", "-c", f'echo {runs} > "$0"; "$1"', output]

    peer = Peer("sh", "", "", tmp_path / "t", options, lambda text: (float(text),), one_a_run=True)
    assert peer.use(["true"], 3).reported_s == (1, 1, 1)


def test_costs_follow_from_the_programs_own_clock() -> None:
    # A tool of ten seconds that starts two seconds before the first of three runs; a run's end and
    # the next one's start are 0.2 and 0.4 s apart; each run is told 0.1 s longer than it was.
    spans = [Span(2.0, 4.0), Span(4.2, 6.2), Span(6.6, 8.6)]
    found = cost_of_kernel(Used(0.0, 10.0, (2.1, 2.1, 2.1)), spans)
    assert found.a_run_s == pytest.approx(0.3)
    assert found.once_s == pytest.approx(10 - 6 - 3 * 0.3)
    assert found.bias_s == pytest.approx(0.1)


def test_a_tool_that_reports_only_the_mean_is_compared_with_the_mean() -> None:
    spans = [Span(0.0, 1.0), Span(2.0, 5.0)]
    assert cost_of_kernel(Used(0.0, 6.0, (2.5,)), spans).bias_s == pytest.approx(0.5)


def test_a_program_without_a_clock_costs_what_further_runs_take() -> None:
    found = cost_of_true((5, Used(0.0, 2.0)), (45, Used(10.0, 14.0)))
    assert found == Cost(a_run_s=0.05, once_s=1.75)
    assert found.added_s(10) == pytest.approx(0.225)


def test_tables_compare_within_rounds_and_not_across() -> None:
    # The machine is ten times slower in the second round, for both alike.
    costs = {
        (name, program.name): [Cost(a_run, 0.0, 0.0), Cost(10 * a_run, 0.0, 0.0)]
        for program in PROGRAMS
        for name, a_run in (("bare", 0.001), ("ours", 0.004))
    }
    row = rounds.ratios(costs, "ours", ["bare"]).splitlines()[-1]
    assert [cell.strip() for cell in row.split("|")[1:3]] == ["bare", "4.000"]
    row = rounds.added(costs, ["ours"]).splitlines()[-1]
    # 3 ms and 30 ms.
    assert [cell.strip() for cell in row.split("|")[1:3]] == ["ours", "16.50"]


def write_thread(proc: Path, process: int, thread: int, cpu_ns: int, children: str = "") -> None:
    folder = proc / str(process) / "task" / str(thread)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "schedstat").write_text(f"{cpu_ns} 17 3\n")
    (folder / "status").write_text(
        "Name:\tit\nvoluntary_ctxt_switches:\t4\nnonvoluntary_ctxt_switches:\t2\n"
    )
    (folder / "children").write_text(children)


def test_all_of_a_tools_threads_are_looked_at_but_not_the_program(tmp_path: Path) -> None:
    write_thread(tmp_path, 10, 10, 1000, "20 30 ")
    write_thread(tmp_path, 10, 11, 500)
    write_thread(tmp_path, 20, 20, 7)
    write_thread(tmp_path, 30, 30, 10**9)
    before = read_uses(10, 30, tmp_path)
    assert sorted(before) == [10, 11, 20]
    write_thread(tmp_path, 10, 11, 2500)
    write_thread(tmp_path, 20, 21, 100)
    after = read_uses(10, 30, tmp_path)
    # Thread 21 was not there before: all that it has used was meanwhile.
    assert difference(before, after) == Attention(cpu_s=2100e-9, switches=6)


# Start and end take pinstudy 0.2 s, and perf 0.01 s.
GOOD = Round(
    {"bare": Cost(0.001, 0.0), "perf stat": Cost(0.011, 0.01), "pinstudy": Cost(0.015, 0.2)}
)
QUICK = {"verdict": 0.9, "tables": 0.5}


def test_a_run_costs_what_is_beyond_the_program_and_its_start() -> None:
    assert GOOD.further_ms("pinstudy") == pytest.approx(14)
    # A tenth of 0.2 s, and what a further run takes.
    assert GOOD.of_ten_ms("pinstudy") == pytest.approx(34)
    assert GOOD.of_ten_ms("perf stat") == pytest.approx(11)
    table = runs_table([GOOD])
    assert "| each further run " in table
    assert "1.40 |" in table


def test_bounds_are_of_pinstudy_and_of_its_difference_to_perf() -> None:
    assert broken_bounds([GOOD], QUICK) == []
    slow = Round(GOOD.costs | {"pinstudy": Cost(0.017, 0.3)})
    assert broken_bounds([slow], QUICK | {"tables": 0.7}) == [
        "each of 10 runs: 46.00 ms, and at most 40 ms are wanted",
        "each further run, more than perf stat: 6.00 ms, and at most 5 ms are wanted",
        "pinstudy tables: 0.70 s, and at most 0.6 s are wanted",
    ]


def test_a_command_that_fails_is_no_fast_one() -> None:
    with pytest.raises(subprocess.CalledProcessError, match="status 1"):
        least_cpu_s([[sys.executable, "-c", "raise SystemExit(1)"]], times=1)
