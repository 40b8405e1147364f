"""Eleven results that between them have what a study can find, each a folder as `run` leaves it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from pinstudy.runners.records.disturbances import MIN_SHARE
from tests.analysis.report.made_results import DIGEST, make_results, write_node
from tests.analysis.tables.test_vm_tables import guest
from tests.analysis.verdict.test_slowdowns import runs as beside_another
from tests.support.results import (
    MAPPINGS,
    TWO_THREADS,
    UNPROVED,
    VIOLATED,
    Record,
    Study,
    in_table,
    left_out,
    record,
    spoilt,
    timed,
    without,
    write,
)

# Five mappings, of which confining to P-cores gains and E-cores lose.
TIMES = {
    "unpinned": 1.0,
    "pcores-set": 0.93,
    "pcores-pin": 0.94,
    "ecores-set": 1.7,
    "ecores-pin": 1.72,
}
ENERGIES = {
    "unpinned": 1.0,
    "pcores-set": 0.97,
    "pcores-pin": 0.98,
    "ecores-set": 0.6,
    "ecores-pin": 0.6,
}
ALIKE = {"unpinned": 1.0, "pcores-set": 1.0, "pcores-pin": 1.0}
PLACED = ("vcpu_selection", "vcpu_binding")
NO_COUNTERS = "no hardware PMU in this virtual machine"
COUNTED = ("freq_mean_ghz", "freq_ghz", "cache_misses", "energy_pkg_j")


def hybrid(folder: Path) -> None:
    """Two programs, one without energy, and two governors; one run failed, one is far off."""
    make_results(folder, apps=(("lulesh", 40.0), ("lu", 3.0)), threads=(1,))


def energy(folder: Path) -> None:
    """What is fastest costs least energy nowhere."""
    write(folder, Study(TIMES, ENERGIES).records())


def alike(folder: Path) -> None:
    """Two threads of three mappings that do not differ, on a virtual machine."""
    studies = Study(ALIKE, noise=0.04, repetitions=5).records()
    runs = [without(COUNTED, NO_COUNTERS, number=run["case_number"]) | kept(run) for run in studies]
    e_cores = {"mapping": "ecores-pin", "case_number": 4, "case_id": "case4", "threads": 8}
    write(folder, [*runs, left_out(4, "the node has no E-cores") | e_cores | {"build": "libgomp"}])


def kept(run: Record) -> Record:
    """Return a run without what a virtual machine does not measure."""
    return {name: value for name, value in run.items() if name not in (*COUNTED, "unavailable")}


def threads(folder: Path) -> None:
    """A program at 1, 4 and 8 threads, without energy."""
    runs: list[Record] = []
    for number, count in enumerate((1, 4, 8), 1):
        study = Study(TIMES, seed=number)
        scaled = [run | {"elapsed_s": run["elapsed_s"] / count**0.8} for run in study.records()]
        runs += in_table(number, scaled, threads=count)
    write(folder, runs)


def disturbed(folder: Path) -> None:
    """Another process took CPU time from half of all runs."""
    tasks = [{"command": "python3", "cpu_s": 8.0}]
    share = {"foreign_cpu_s": 20 * MIN_SHARE * 40, "foreign_tasks": tasks}
    runs = Study(TIMES, noise=0.05).records()
    write(folder, [run | (share if run["repetition"] % 2 else {}) for run in runs])


def lost(folder: Path) -> None:
    """Runs that timed out, failed, ran elsewhere, and were not proved."""
    limit = {"status": "timeout", "reason": "the limit of 10 min was reached"}
    failed = {"status": "failed", "reason": "exit status 3", "exit_code": 3}
    runs = spoilt(Study(TIMES), "pcores-set", {2}, **failed)
    runs = spoilt(runs, "pcores-pin", {1, 4, 7}, **VIOLATED)
    runs = spoilt(runs, "ecores-set", {1, 2, 3, 4, 5, 6}, **limit)
    write(folder, spoilt(runs, "ecores-pin", {5}, **UNPROVED))


def modes(folder: Path) -> None:
    """Every third run of a mapping takes a fifth longer."""

    def elapsed_s(run: Record) -> float:
        slow = run["mapping"] == "pcores-set" and run["repetition"] % 3 == 0
        return float(run["elapsed_s"]) * (1.2 if slow else 1.0)

    write(folder, timed(Study(TIMES, repetitions=18), elapsed_s))


def ranks(folder: Path) -> None:
    """One rank of two threads, and two ranks of one."""
    write(folder, TWO_THREADS.records())


def co_runner(folder: Path) -> None:
    """A program alone and beside another, which ran alone, too."""
    write(folder, beside_another())


def guests(folder: Path) -> None:
    """Three mappings of a guest's CPUs."""
    seconds = {1: 45.0, 2: 43.0, 3: 42.5}
    write(
        folder,
        [
            guest(
                number,
                repetition,
                elapsed_s=seconds[number] * (1 + 0.002 * (-1) ** (repetition // number)),
            )
            | dict(zip(PLACED, list(MAPPINGS.values())[number - 1], strict=True))
            for repetition in range(1, 11)
            for number in seconds
        ],
    )


def mixed(folder: Path) -> None:
    """Teams of six and of ten threads with equal shares, and one thread on each kind.

    The speed of an E-core is 0.39 of a P-core's; the team on both takes 5 % more than equal shares
    allow.
    """
    one_p_s, one_e_s = 40.0, 40.0 / 0.39
    teams = {
        "pcores-pin": (6, "0,2,4,6,8,10", one_p_s / 6 * 1.06),
        "cores-pin": (10, "0,2,4,6,8,10,12-15", one_e_s / 10 * 1.05),
        "unpinned": (10, "0-15", one_e_s / 10 * 0.9),
    }
    one = {"pcores-pin": (1, "0", one_p_s), "ecores-pin": (1, "12", one_e_s)}
    rows = [*teams.items(), *one.items()]
    rng = np.random.default_rng(4)
    runs = [
        record(
            number,
            repetition,
            **{
                "order": 5 * repetition + number,
                "started_at": f"2025-03-01T12:{5 * repetition + number:02d}:00Z",
                "case_id": f"case{number}",
                "node_digest": DIGEST,
                "table_number": (6, 10, 1).index(threads) + 1,
                "threads": threads,
                "build": "libgomp",
                "app": "lu",
                "mapping": mapping,
                "selection": {"unpinned": "all"}.get(mapping, mapping.partition("-")[0]),
                "binding": "none" if mapping == "unpinned" else "pin",
                "cpus": cpus,
                "elapsed_s": seconds * (1 + 0.004 * float(rng.normal())),
                # A P-core is done after 0.39 of the time.
                "waited": {"P": 0.61, "E": 0.01} if mapping == "cores-pin" else None,
            },
        )
        for repetition in range(1, 11)
        for number, (mapping, (threads, cpus, seconds)) in enumerate(rows, 1)
    ]
    write(folder, runs)
    write_node(folder)


RESULTS: tuple[Callable[[Path], None], ...] = (
    *(hybrid, energy, alike, threads, disturbed),
    *(lost, modes, ranks, co_runner, guests, mixed),
)
