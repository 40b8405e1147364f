"""How fast and lean `pinstudy tables` and `pinstudy report` are on many records.

Records are like those of a hybrid CPU's runs: counters of two PMUs, eight threads, some fields that
were not measured; about 6 KB each. Every command runs as a process of its own, so that imports
count: seconds from start to end, seconds of CPU (what else runs here does not count in these), and
peak resident memory. The peer only parses the same files, line by line, by `json.loads`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from benchmarks.lib.tables import table
from pinstudy.base import ROOT
from pinstudy.runners.records.line import sealed
from pinstudy.runners.records.record import SCHEMA

RUNS_PER_SHARD = 100_000
# Records, and runs of a case: the usual shape, and the one with most cases.
SHAPES = ((1000, 100), (1000, 10), (100_000, 100), (100_000, 10))
# What pinstudy is to stay under on 2 cores of 2024, by records.
LIMITS = {
    1000: {"tables": "2 s, 1000 MB", "report": "4 s, a file of 3 MB"},
    100_000: {"tables": "6 s, 1000 MB", "report": "10 s, a file of 3 MB"},
}
PEER = """\
import json, sys
for name in sys.argv[1:]:
    with open(name, "rb") as stream:
        for line in stream:
            json.loads(line)
"""
# Of each mapping the selection, the binding, its mechanism and the CPUs.
MAPPINGS = {
    "unpinned": ("all", "none", "none", "0-23"),
    "pcores-set": ("pcores", "set", "taskset", "0-7"),
    "pcores-pin": ("pcores", "pin", "OMP_PLACES", "0-7"),
    "ecores-set": ("ecores", "set", "taskset", "8-15"),
    "ecores-pin": ("ecores", "pin", "OMP_PLACES", "8-15"),
}


@dataclass(frozen=True)
class Cost:
    """The use of a process from its start to its end."""

    seconds: float
    cpu_s: float
    peak_mb: float


def write_records(folder: Path, runs: int, per_case: int) -> None:
    """Write the records of a study of `runs` runs, `per_case` of each case."""
    (folder / "records").mkdir(parents=True)
    for attempt, first in enumerate(range(0, runs, RUNS_PER_SHARD), 1):
        path = folder / "records" / f"hybrid-{attempt:04d}.jsonl"
        with path.open("wb") as stream:
            for run in range(first, min(first + RUNS_PER_SHARD, runs)):
                stream.write(_line(run, attempt, -(-runs // per_case)))


def _line(run: int, attempt: int, cases: int) -> bytes:
    """Return a record: first the fields that differ between runs, then the common ones."""
    varying = json.dumps(_varying(run, attempt, cases), separators=(",", ":"))
    return sealed(f"{varying[:-1]},{_SAME}".encode())


def _varying(run: int, attempt: int, cases: int) -> dict[str, Any]:
    block, case = divmod(run, cases)
    table, row = divmod(case, 10)
    noise = (run * 7919 % 1009) / 1e5
    elapsed_s = (1 + row / 10) * (1 + noise)
    mapping = list(MAPPINGS)[row % 5]
    selection, binding, mechanism, cpus = MAPPINGS[mapping]
    p_share = 0.0 if selection == "ecores" else 1.0
    return {
        "schema": SCHEMA,
        "case_id": f"{case:016x}",
        "table_number": table + 1,
        "case_number": row + 1,
        "repetition": block + 1,
        "block": block + 1,
        "order": run,
        "attempt": attempt,
        "run_id": f"{case:016x}-{block + 1}-{run}",
        "started_at": f"2025-03-{run // 86400 % 28 + 1:02}T{run // 3600 % 24:02}:"
        f"{run // 60 % 60:02}:{run % 60:02}.250+00:00",
        "size": f"s{table}",
        "mapping": mapping,
        "selection": selection,
        "binding": binding,
        "mechanism": mechanism,
        "cpus": cpus,
        "governor": "performance" if row < 5 else "powersave",
        "governor_read": "performance" if row < 5 else "powersave",
        "elapsed_s": elapsed_s,
        "user_s": elapsed_s * 7.9,
        "system_s": 0.01 + noise,
        "max_rss_bytes": 60_000_000 + run % 4096 * 4096,
        "task_clock_s": elapsed_s * 7.95,
        "context_switches": 40 + run % 100,
        "migrations": 8 if binding == "pin" else 2886 + run % 997,
        "cache_misses": 2_612_315_255 + run % 99991,
        "residency": {"P": p_share, "E": 1.0 - p_share},
        "freq_ghz": {"P": 4.877 + noise} if p_share else {"E": 4.1 + noise},
        "freq_mean_ghz": 4.877 + noise,
        "energy_pkg_j": 50.0 * elapsed_s,
        "energy_core_j": 40.0 * elapsed_s,
        "energy_window_s": elapsed_s + 0.01,
        "power_pkg_w": 50.0,
        "edp_js": 50.0 * elapsed_s**2,
        "ed2p_js2": 50.0 * elapsed_s**3,
        "temperature_before_c": {"package 0": 45.0 + run % 50 / 10},
        "temperature_after_c": {"package 0": 65.0 + run % 50 / 10},
    }


def _counters() -> Iterator[dict[str, Any]]:
    events = ("cycles", "instructions", "cache-misses", "branch-misses")
    software = ("task-clock", "context-switches", "cpu-migrations", "page-faults")
    kinds: dict[str, tuple[list[str], Sequence[str]]] = {
        "cpu_core": (["P"], events),
        "cpu_atom": (["E"], events),
        "software": ([], software),
    }
    for pmu, (counted, names) in kinds.items():
        for number, event in enumerate(names, 1):
            yield {
                "pmu": pmu,
                "kinds": counted,
                "event": event,
                "value": 89_123_456_789 // number,
                "enabled_ns": 8_123_456_789,
                "running_ns": 8_100_456_789,
                "multiplexed": False,
            }


def _same() -> dict[str, Any]:
    no_zone = "powercap: the package has no zone of this name (/sys/class/powercap/intel-rapl:0)"
    return {
        "study": "benchmark",
        "study_digest": "d" * 64,
        "seed": 1,
        "node_id": "hybrid",
        "node_digest": "n" * 64,
        "boot_id": "dbd2311a-f295-49db-860d-45c4d1f6f9ab",
        "warmup": False,
        "kinds_declared": False,
        "app": "lulesh",
        "build": "libgomp",
        "threads": 8,
        "schedule": "static",
        "wait_policy": "passive",
        "status": "ok",
        "reason": "",
        "exit_code": 0,
        "signal": None,
        "stderr_tail": "",
        "metrics": {"elapsed": 18.155, "fom": 5012.5, "iterations": 932},
        "command": ["/usr/bin/taskset", "-c", "0-7", "/opt/bin/lulesh-libgomp", "-s", "45"],
        "environment": {
            "set": {
                "LC_ALL": "C",
                "OMP_NUM_THREADS": "8",
                "OMP_DYNAMIC": "false",
                "OMP_SCHEDULE": "static",
                "OMP_WAIT_POLICY": "passive",
            },
            "removed": ["OMP_PROC_BIND"],
        },
        "perf_command": ["/usr/bin/perf", "stat", "-x", ";", "-o", "/proc/self/fd/8", "-e",
                         "task-clock,context-switches,cpu-migrations,page-faults,cycles,"
                         "instructions,cache-misses,branch-misses", "-D", "-1", "--control",
                         "fd:13,16", "-p", "30476"],
        "placement": {
            "verdict": "proved",
            "looks": 31,
            "threads": [
                {"process": 0, "allowed": "0-7", "seen": {str(cpu): 25 + cpu, "7": 3}}
                for cpu in range(8)
            ],
        },
        "driver": "intel_pstate",
        "driver_mode": "active",
        "epp": "performance",
        "min_khz": {"800000": "0-23"},
        "max_khz": {"6000000": "4,5", "5700000": "0-3,6,7", "4400000": "8-23"},
        "turbo": True,
        "power_limits": {"package 0": {"pl1_w": 253.0, "tau_s": 56.0, "pl2_w": 253.0}},
        "smt": "off",
        "kernel": "6.8.0-45-generic",
        "microcode": "0x129",
        "runtime": {
            "name": "libgomp",
            "path": "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0",
            "version": "libgomp1 12.2.0-14+deb12u1",
        },
        "built_with": "lulesh (pinstudy) 0.1.0; build: libgomp; compiler: GNU 12.2.0; flags: -O3 "
        "-DNDEBUG -ffp-contract=fast -fno-math-errno -march=native -fopenmp; openmp: 201511",
        "versions": {
            "taskset": "taskset from util-linux 2.38.1",
            "perf": "perf version 6.8.12",
        },
        "counters": list(_counters()),
        "counted_modes": "user+kernel",
        "page_faults": 4544,
        "cycles": 700_123_456_789,
        "instructions": 990_123_456_789,
        "residency_pmu": {"cpu_core": 1.0, "cpu_atom": 0.0},
        "energy_source": "powercap",
        "throttle": {"core_count": 0, "core_ms": 0, "package_count": 0, "package_ms": 0},
        "power_limit_note": "",
        "foreign_tasks": [{"command": "kworker/0:1-events", "cpu_s": 0.01}],
        "foreign_cpu_s": 0.02,
        "steal_s": 0.0,
        "harness": {"cpu_s": 0.00354, "context_switches": 11, "cpus": "8"},
        "load_1min": 0.62,
        "daemons": ["thermald", "irqbalance"],
        "unavailable": {
            "counters.cpu_atom/branch-misses": "branch-misses: not supported by this PMU",
            **dict.fromkeys(("energy_uncore_j", "energy_dram_j", "energy_psys_j"), no_zone),
            **dict.fromkeys(
                ("idle_power_w", "energy_net_j"), "the study asks for no idle power"
            ),
        },
    }  # fmt: skip


_SAME = json.dumps(_same(), separators=(",", ":"))[1:]


def cost_of(command: Sequence[str | Path]) -> Cost:
    """Run a program and return its cost; SystemExit when it fails."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as stderr:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr
        )
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            stderr.seek(0)
            raise SystemExit(f"{command[0]}: {stderr.read().decode(errors='replace')}")
    return Cost(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6)


def measure(runs: int, per_case: int) -> Iterator[list[str]]:
    """Yield the costs of tables and report of `runs` records, and the size of the report."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_records(folder, runs, per_case)
        shards = sorted((folder / "records").glob("*.jsonl"))
        peer = cost_of([sys.executable, "-c", PEER, *shards])
        for command, limit in LIMITS[runs].items():
            cost = cost_of([ROOT / "bin" / "pinstudy", command, folder])
            numbers = f"{cost.seconds:.2f}", f"{cost.cpu_s:.2f}", f"{cost.peak_mb:.0f}"
            file = folder / "report.html"
            file_mb = f"{file.stat().st_size / 1e6:.1f}" if file.exists() else ""
            ratio = f"{cost.cpu_s / peer.cpu_s:.2f}"
            yield [command, str(runs), str(per_case), *numbers, ratio, file_mb, limit]


@click.command()
@click.option("--most", default=100_000, show_default=True, help="Of no more records than these.")
def main(most: int) -> None:
    """Print the costs of every number of records and of runs of a case."""
    shapes = [(runs, per_case) for runs, per_case in SHAPES if runs <= most]
    rows = [row for shape in shapes for row in measure(*shape)]
    costs = ("s", "CPU s", "peak MB", "CPU per json.loads's", "file MB", "at most")
    header = ("command", "records", "of a case", *costs)
    click.echo(table(header, rows))


if __name__ == "__main__":
    main()
