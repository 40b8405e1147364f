"""Work in a process of its own, and which modules a reader of results loads."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.results import Study, write
from tests.support.tools import ROOT
from tests.support.wait import HANG_S


def python(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    script = folder / "script.py"
    script.write_text(code)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(script)]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=HANG_S
    )


# Work that never ends, and Ctrl-C.
STOPPED = """
import os, signal
from pinstudy.analysis.processes import in_another

def never_ending():
    os.kill(os.getppid(), signal.SIGINT)
    signal.pause()

if __name__ == "__main__":
    in_another(never_ending)
"""


def test_who_stops_for_a_signal_does_not_wait_for_work(tmp_path: Path) -> None:
    assert "KeyboardInterrupt" in python(tmp_path, STOPPED).stderr


def test_a_reader_of_results_loads_records_and_topology_and_no_bootstrap(tmp_path: Path) -> None:
    results = tmp_path / "results"
    write(results, Study({"unpinned": 1.0, "pcores-pin": 0.9, "ecores-set": 1.4}).records())
    code = (
        "import sys, pinstudy.analysis.records.runs, pinstudy.analysis.results.sources\n"
        "print(*(name for name in sys.modules if name.startswith('pinstudy.runners')))\n"
        "from pinstudy.cli.main import group\n"
        "for command in ('verdict', 'tables'):\n"
        f"    group.main([command, {str(results)!r}], standalone_mode=False)\n"
        "print(*sys.modules)"
    )
    runners, *_, imported = python(tmp_path, code).stdout.splitlines()
    assert "pinstudy.runners.records.reader" in runners.split()
    beside = {"pinstudy.runners", "pinstudy.runners.node", "pinstudy.runners.node.topology"}
    records = {name for name in runners.split() if name.startswith("pinstudy.runners.records")}
    assert set(runners.split()) - records == beside
    assert "pinstudy.analysis.results.sources" in imported.split()
    assert "scipy.stats" not in imported.split()
