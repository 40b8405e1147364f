"""A made-up study on a made-up hybrid node: what figures and reports have to show, and a bit more.

Its numbers follow a simple model, so that a test can say what must be seen: P-cores are fast,
E-cores take twice as long for half the power, unpinned threads lose a little to migrations.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from tests.support.results import left_out, record, write

DIGEST = "ab12" * 16
MAPPINGS = {
    "unpinned": ("all", "none", "0-15"),
    "pcores-set": ("pcores", "set", "0,2,4,6,8,10"),
    "pcores-pin": ("pcores", "pin", "0,2,4,6,8,10"),
    "ecores-set": ("ecores", "set", "12-15"),
    "ecores-pin": ("ecores", "pin", "12-15"),
}
GOVERNORS = ("performance", "powersave")
NO_ENERGY = "powercap: energy_uj is readable by root only; see pinstudy doctor"
APPS = (("lulesh", 40.0), ("mandelbrot", 12.0), ("lu", 3.0))

STUDY = """# A made-up study of three programs on a hybrid node.
title: To pin or not to pin, made up
apps:
  - {app: lulesh, builds: libgomp, sizes: paper, threads: [1, 4]}
mappings: [unpinned, pcores-set, pcores-pin, ecores-set, ecores-pin]
governors: [performance, powersave]
repetitions: 10
"""


def power_limit(name: str, power_w: float | None, window_s: float | None) -> dict[str, Any]:
    """Return an entry of the node's `power_limits`; one that could not be read has no watts."""
    zone = {"zone": "intel-rapl:0", "domain": "package-0"}
    return zone | {"name": name, "power_w": power_w, "window_s": window_s}


def node() -> dict[str, Any]:
    """Return the node's file: six P-cores with SMT, four E-cores."""
    p_cpus, e_cpus = "0-11", "12-15"
    cores = [{"cpus": f"{2 * n}-{2 * n + 1}", "kind": "P", "package": 0} for n in range(6)]
    cores += [{"cpus": f"{cpu}", "kind": "E", "package": 0} for cpu in range(12, 16)]
    kinds = (("P", p_cpus, "cpu_core/cpus"), ("E", e_cpus, "cpu_atom/cpus"))
    return {
        **{"node_id": "node1", "boot_id": "b", "architecture": "x86_64"},
        **{"cpu_model": "Made-up Core i5-13600K", "kernel": "6.12.0-made-up"},
        **{"microcode": "0x12b", "memory_bytes": 32 * 2**30, "smt": "on"},
        **{"virtual_machine": False, "cpu_capacity": {}, "itmt_enabled": 1, "isolated": ""},
        "highest_perf": {"64": "0-3,6-11", "67": "4-5"},
        "boot_options": "intel_pstate=no_cas",
        "transparent_hugepages": "madvise",
        "power_limits": [
            power_limit("long_term", 125.0, 56.0),
            power_limit("short_term", 181.0, None),
            power_limit("peak_power", None, None),
        ],
        "cpufreq": {
            "mode": "active",
            "turbo": True,
            "drivers": {"intel_pstate": "0-15"},
            "governors": {"performance": "0-15"},
        },
        "topology": {
            **{"online": "0-15", "offline": "", "allowed": "0-15", "notes": []},
            "kinds": [
                {"name": name, "cpus": cpus, "declared": False, "evidence": evidence}
                for name, cpus, evidence in kinds
            ],
            "cores": cores,
            "caches": [
                {"level": 2, "cpus": "0-1", "size_bytes": 2 * 2**20},
                {"level": 2, "cpus": e_cpus, "size_bytes": 4 * 2**20},
                {"level": 3, "cpus": "0-15", "size_bytes": 24 * 2**20},
            ],
            "numa": [{"node": 0, "cpus": "0-15"}],
        },
        "unavailable": {"firmware": "/sys/class/dmi/id/bios_version is missing"},
    }


def make_results(
    folder: Path,
    apps: Sequence[tuple[str, float]] = APPS,
    threads: Sequence[int] = (1, 4),
    repetitions: int = 10,
    seed: int = 1,
    governors: Sequence[str] = GOVERNORS,
) -> Path:
    """Write a results folder with a table an app and thread count; return it.

    A table has five cases under each governor.

    Time drifts up by 2 % from the first run to the last. In the first table one run is an outlier
    and one failed; with 4 threads `ecores-pin` is left out; the last app has no energy.
    """
    write(folder, _records(apps, threads, repetitions, random.Random(seed), governors))
    write_node(folder)
    (folder / "study.yaml").write_text(STUDY)
    return folder


def write_node(folder: Path) -> None:
    """Write the node's file into a results folder."""
    (folder / "nodes").mkdir(exist_ok=True)
    (folder / "nodes" / f"{DIGEST}.json").write_text(json.dumps(node()))


def _records(
    apps: Sequence[tuple[str, float]],
    threads: Sequence[int],
    repetitions: int,
    chance: random.Random,
    governors: Sequence[str],
) -> Iterator[dict[str, Any]]:
    cases = list(_cases(apps, threads, governors))
    yield from (left_out(c["number"], c["left_out"]) | c["fields"] for c in cases if c["left_out"])
    total = len(cases) * repetitions
    order = 0
    for repetition in range(1, repetitions + 1):
        block = [case for case in cases if not case["left_out"]]
        chance.shuffle(block)
        for case in block:
            order += 1
            yield _run(case, repetition, order, order / total, chance)


def _cases(
    apps: Sequence[tuple[str, float]], threads: Sequence[int], governors: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield each case: its row, its identity, and the time and power of the model."""
    tables = [(app, base, count) for app, base in apps for count in threads]
    rows = [(governor, name) for governor in governors for name in MAPPINGS]
    for table, (app, base, count) in enumerate(tables, 1):
        for number, (governor, name) in enumerate(rows, 1):
            selection, binding, cpus = MAPPINGS[name]
            slow = 2.1 if selection == "ecores" else 1.0
            slow *= 1.03 if binding == "none" else 1.0
            slow *= 1.12 if governor == "powersave" and selection != "ecores" else 1.0
            gone = name == "ecores-pin" and count == 4
            yield {
                "number": number,
                "left_out": "4 threads need 4 CPUs; ecores has 3 here" if gone else "",
                "time": base * slow / count**0.9,
                "power": (22.0 if selection == "ecores" else 60.0) + 6.0 * count,
                "energy": app != apps[-1][0] or len(apps) == 1,
                "first": table == 1,
                "fields": {
                    **{"table_number": table, "case_id": f"t{table:02d}c{number:02d}", "app": app},
                    **{"build": "libgomp", "threads": count, "mapping": name, "cpus": cpus},
                    **{"selection": selection, "binding": binding, "governor": governor},
                    **{"driver": "intel_pstate", "governor_read": governor, "schema": 6},
                    **{"node_digest": DIGEST, "kernel": "6.12.0-made-up"},
                    "versions": {"perf": "perf version 6.12"},
                    "runtime": {"name": "libgomp", "version": "14.2.0", "path": "/lib/g"},
                    "built_with": f"{app} (pinstudy) 0.1.0; compiler: GNU 14.2.0",
                    "command": ["taskset", "-c", cpus, f"bin/{app}-libgomp", "-s", "30"],
                    "environment": {
                        "set": {"OMP_NUM_THREADS": str(count)},
                        "removed": ["OMP_PLACES"],
                    },
                },
            }


def _run(
    case: dict[str, Any], repetition: int, order: int, share: float, chance: random.Random
) -> dict[str, Any]:
    fields: dict[str, Any] = case["fields"]
    elapsed = case["time"] * (1 + 0.02 * share) * math.exp(chance.gauss(0, 0.004))
    if case["first"] and case["number"] == 3 and repetition == 4:
        elapsed *= 1.15
    loose = fields["binding"] == "none"
    on_e = 0.031 if loose else 1.0 if fields["selection"] == "ecores" else 0.0
    frequency = (
        {"P": 5.1, "E": 3.9} if fields["governor"] == "performance" else {"P": 4.6, "E": 3.7}
    )
    moved = {"none": 2800, "set": 40, "pin": 0}[fields["binding"]]
    energy = elapsed * case["power"] * math.exp(chance.gauss(0, 0.006))
    started = datetime(2025, 3, 1, 12, tzinfo=timezone.utc) + timedelta(seconds=25 * order)
    made = record(case["number"], repetition) | fields | {
        "order": order,
        "run_id": f"{fields['case_id']}-1-{order}",
        "started_at": started.isoformat(),
        "elapsed_s": elapsed,
        "task_clock_s": elapsed * fields["threads"],
        "freq_ghz": {k: f for k, f in frequency.items() if (on_e if k == "E" else 1 - on_e) > 0},
        "freq_mean_ghz": frequency["P"] * (1 - on_e) + frequency["E"] * on_e,
        "residency": {"P": 1 - on_e, "E": on_e},
        "migrations": max(0, round(chance.gauss(moved, moved / 8))),
        "context_switches": 40 + round(chance.gauss(10, 3)),
        "cache_misses": round(1.3e9 * math.exp(chance.gauss(0, 0.02))),
        "energy_pkg_j": energy,
        "edp_js": energy * elapsed,
        "ed2p_js2": energy * elapsed**2,
        "temperature_before_c": {"package 0": 41 + 14 * share + chance.gauss(0, 0.8)},
    }  # fmt: skip
    if not case["energy"]:
        for name in ("energy_pkg_j", "edp_js", "ed2p_js2"):
            del made[name]
        made["unavailable"] = dict.fromkeys(("energy_pkg_j", "edp_js", "ed2p_js2"), NO_ENERGY)
    if case["first"] and case["number"] == 7 and repetition == 2:
        made |= {"status": "failed", "reason": "exit status 134: mesh volume is negative"}
    if case["first"] and case["number"] == 5 and repetition == 6:
        made |= {"status": "placement-violated", "reason": "thread 3 was seen on CPU 2"}
    return made
