"""What the harness adds to a run: pinstudy against bare `perf stat` and `perf stat -r`.

All three run `true` with the same events, in turn within one session, so that what else the
machine does falls on all alike. pinstudy's time is from the decision to make a run to its record
on the disk, its placement proved. Medians, milliseconds, and ratios to bare perf.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from configs.library import load_study
from runners.case import Case
from runners.order import PlannedRun
from runners.perf_events import event_list
from runners.session import Session
from runners.workplace import open_workplace

APP = """\
title: the shortest program
variants:
  plain: {program: 'true', runtime: none}
sizes:
  only: {arguments: ''}
"""
STUDY = """\
title: the cost of a run
apps:
  - {app: nothing, variants: plain, sizes: only, threads: 1}
mappings: [pcores-pin]
governors: current
repetitions: RUNS
warmup: 3
"""
# perf stat -r runs this many in one process; its limit is 100.
REPEATS = 10


class Stopwatch:
    """A study's progress that times each run and then lets the peers run once."""

    def __init__(self, folder: Path) -> None:
        self._output = str(folder / "perf.csv")
        self._began = 0.0
        self.pinstudy_s: list[float] = []
        self.bare_s: list[float] = []
        self.repeated_s: list[float] = []
        self.proved = 0

    def starting(self, _case: Case, _planned: PlannedRun, _left_s: float | None) -> None:
        """Start the clock."""
        self._began = time.perf_counter()

    def finished(self, record: Mapping[str, Any]) -> None:
        """Stop the clock: the record is on the disk."""
        took_s = time.perf_counter() - self._began
        if record["warmup"]:
            return
        self.pinstudy_s.append(took_s)
        self.proved += record["placement"]["verdict"] == "proved"
        self.bare_s.append(self._perf())
        self.repeated_s.append(self._perf("-r", str(REPEATS)) / REPEATS)

    def skipped(self, case: Case, reason: str) -> None:
        """Nothing may be skipped here."""
        raise SystemExit(f"{case.label}: {reason}")

    def ended(self, case: Case, saved: int) -> None:
        """No case ends early here."""

    def waiting(self, reason: str) -> None:
        """Nothing is waited for here."""

    def warned(self, warning: str) -> None:
        """Say what may disturb the times."""
        print(warning)

    def _perf(self, *options: str) -> float:
        command = ["perf", "stat", "-x", ";", "-o", self._output, "-e", event_list(), *options]
        began = time.perf_counter()
        subprocess.run([*command, "true"], check=True, stdin=subprocess.DEVNULL)
        return time.perf_counter() - began


def measure(runs: int) -> Stopwatch:
    """Return the times of so many runs of each."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "apps").mkdir()
        (folder / "apps" / "nothing.yaml").write_text(APP)
        (folder / "cost.yaml").write_text(STUDY.replace("RUNS", str(runs)))
        workplace = open_workplace(Path("/"), None)
        study = load_study(folder / "cost.yaml")
        stopwatch = Stopwatch(folder)
        Session.begin(workplace, study, folder / "results", fresh=False).run(stopwatch)
        return stopwatch


def main() -> None:
    """Print the medians and the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200, help="of each (default: 200)")
    times = measure(parser.parse_args().runs)
    bare_ms = statistics.median(times.bare_s) * 1e3
    print(f"{'one run of true':24} {'median ms':>10} {'to bare':>8} {'added ms':>9}")
    for name, seconds in (
        ("perf stat", times.bare_s),
        (f"perf stat -r {REPEATS}, a run", times.repeated_s),
        ("pinstudy", times.pinstudy_s),
    ):
        median_ms = statistics.median(seconds) * 1e3
        added = f"{median_ms / bare_ms:8.2f} {median_ms - bare_ms:9.2f}"
        print(f"{name:24} {median_ms:10.2f} {added}")
    print(f"placement proved in {times.proved} of {len(times.pinstudy_s)} runs, records fsynced")


if __name__ == "__main__":
    main()
