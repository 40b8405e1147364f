"""Run the checkout's pinstudy inside a virtual node, and read its records and settings."""

from __future__ import annotations

import base64
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pinstudy.base import ROOT
from pinstudy.runners.records.line import InvalidLine, record_in
from vnode.node import HANG_S, KEPT, Ended, VirtualNode

PINSTUDY = str(ROOT / "bin" / "pinstudy")
STUDIES = ROOT / "vnode" / "studies"
RESULTS = f"{KEPT}/results"
# The folder is named after the host; virtual nodes have different names.
JOURNAL = f"{KEPT}/state/*/study.json"
# An emulated processor takes minutes to draw a report's figures.
ENVIRONMENT = {"PINSTUDY_STATE": f"{KEPT}/state", "COLUMNS": "200", "PINSTUDY_REPORT": "0"}
# Of a case that the host's load keeps from being proved: so many mean that it never is.
MAX_REPETITIONS = 20
# Prints the settings that a study may change and, as `settings.md` promises, puts back.
SETTINGS = (
    "cd /sys/devices/system/cpu; grep -H . cpufreq/policy*/{scaling_governor,"
    "energy_performance_preference,scaling_min_freq,scaling_max_freq} intel_pstate/no_turbo"
)


def pinstudy(node: VirtualNode, *arguments: str, cwd: str = KEPT, timeout: float = HANG_S) -> Ended:
    """Run pinstudy in the guest as root, with its state on the kept disk."""
    return node.run(PINSTUDY, *arguments, cwd=cwd, env=ENVIRONMENT, timeout=timeout)


def study(name: str) -> tuple[str, ...]:
    """Return the arguments that run a study of this folder."""
    return ("run", str(STUDIES / f"{name}.yaml"), "--results", RESULTS)


def start_study(node: VirtualNode, name: str) -> int:
    """Start a study in the guest and return its process number."""
    return node.start(PINSTUDY, *study(name), cwd=KEPT, env=ENVIRONMENT)


def records(node: VirtualNode, name: str) -> list[dict[str, Any]]:
    """Return the complete records of a study, in the order they were written."""
    text = node.shell(f"cat {RESULTS}/{name}/*/records/*.jsonl 2>/dev/null || true")
    return records_in(text)


def records_in(text: str) -> list[dict[str, Any]]:
    """Return the complete records of a shard's text, each reason by the field that lacks it."""
    found = (record_in(line) for line in text.encode().split(b"\n") if line.endswith(b"}"))
    return [record for record in found if not isinstance(record, InvalidLine)]


def decided_runs(
    node: VirtualNode, name: str, run_pinstudy: Callable[..., Ended] = pinstudy
) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Run a study in the guest; return a run of each case by app, build and mapping.

    Cases are repeated while the placement of one is neither proved nor violated. A guest counts
    what the host's other programs use of its CPU as the thread's own, so that a thread may seem to
    have worked for long before it was bound.
    """
    for repetitions in range(1, MAX_REPETITIONS + 1):
        ended = run_pinstudy(node, *study(name), "--repetitions", str(repetitions))
        assert ended.status == 0, ended
        runs: dict[tuple[str, str, str], dict[str, Any]] = {}
        for run in records(node, name):
            case = run["app"], run["build"], run["mapping"]
            if run["status"] != "skipped" and (case not in runs or _is_undecided(runs[case])):
                runs[case] = run
        if not any(map(_is_undecided, runs.values())):
            break
    return runs


def _is_undecided(run: dict[str, Any]) -> bool:
    return "placement" in run and run["placement"]["verdict"] == "unproved"


def packed_results(node: VirtualNode, name: str) -> bytes:
    """Return the results of a study in a tar file, without links and unpacked files of others."""
    text = node.shell(f"busybox tar -C {RESULTS} -cf - {name} | base64 -w 0")
    return base64.b64decode(text)


def read_on_host(packed: bytes, folder: Path, command: str, *arguments: str) -> str:
    """Unpack results in a folder of the host, and return what a command prints of them there."""
    subprocess.run(["tar", "-xC", folder], input=packed, check=True)
    (results,) = folder.glob("*/*")
    called = [sys.executable, "-m", "pinstudy", command, str(results), *arguments]
    return subprocess.run(called, cwd=ROOT, capture_output=True, text=True, check=True).stdout


@contextmanager
def without_pandas(node: VirtualNode) -> Iterator[None]:
    """Let studies in the guest end without tables, as on a compute node without pandas."""
    found = find_spec("pandas")
    assert found and found.origin
    node.shell(f"mount --bind {ROOT}/vnode/guest/no_pandas.py {found.origin}")
    yield
    node.shell(f"umount {found.origin}")


def settings(node: VirtualNode) -> str:
    """Return the settings that a study may change, as the guest's kernel shows them."""
    return node.shell(SETTINGS)


def vary_settings(node: VirtualNode) -> None:
    """Give CPUs settings that differ from the boot's and from each other's."""
    node.shell(
        "cd /sys/devices/system/cpu/cpufreq;"
        "echo power >policy1/energy_performance_preference;"
        "echo balance_power >policy4/energy_performance_preference;"
        "echo 3000000 >policy2/scaling_max_freq; echo 1200000 >policy5/scaling_min_freq;"
        "echo performance >policy3/scaling_governor"
    )


def until(node: VirtualNode, holds: Callable[[], bool], seconds: float = HANG_S) -> None:
    """Wait until a condition holds in the guest."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, node.console.read_text(errors="replace")[-2000:]
        time.sleep(0.2)


def journal_exists(node: VirtualNode) -> bool:
    """Return whether a study's journal exists."""
    return node.run("bash", "-c", f"test -e {JOURNAL}").status == 0
