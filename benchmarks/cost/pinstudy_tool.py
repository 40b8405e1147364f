"""pinstudy as one of the tools: a study of one case, by its own command line."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.cost.tools import Used, run_quietly
from benchmarks.lib.one_program import write_study

PINSTUDY = Path(__file__).resolve().parent.parent.parent / "bin" / "pinstudy"


@dataclass(frozen=True)
class Pinstudy:
    """pinstudy under one mapping; its files stay in the folder until its next use."""

    name: str
    what: str
    mapping: str
    folder: Path
    missing: str = ""

    def use(self, command: Sequence[str], runs: int) -> Used:
        """Run the command in a new study with `runs` repetitions, tables included.

        Raises SystemExit when a run was not good.
        """
        line = self.line(command, runs)
        began_s = time.monotonic()
        run_quietly(line)
        ended_s = time.monotonic()
        records = self.records()
        bad = [record["reason"] for record in records if record["status"] != "ok"]
        if bad or len(records) != runs:
            raise SystemExit(f"{len(records)} of {runs} runs were made; not good: {bad}")
        return Used(began_s, ended_s, tuple(record["elapsed_s"] for record in records))

    def line(self, command: Sequence[str], runs: int) -> list[str]:
        """Write the study of a command, delete older results, and return the command line."""
        shutil.rmtree(self.folder, ignore_errors=True)
        study = write_study(self.folder, "cost", command, [self.mapping], runs)
        results = self.folder / "results"
        return [str(PINSTUDY), "run", str(study), "--results", str(results), "--no-report"]

    def records(self) -> list[dict[str, Any]]:
        """Return the records of the last use."""
        (shard,) = self.folder.glob("results/cost/*/records/*.jsonl")
        return [json.loads(line) for line in shard.read_text(encoding="utf-8").splitlines()]


def pinstudies(folder: Path) -> list[Pinstudy]:
    """Return pinstudy without and with a pinned program."""
    return [
        Pinstudy(
            "pinstudy",
            "mapping unpinned: counters, placement, surroundings, a record on the disk each run",
            "unpinned",
            folder / "unpinned",
        ),
        Pinstudy(
            "pinstudy, pinned",
            "the same with pcores-pin: the program on one CPU, pinstudy and perf on others",
            "pcores-pin",
            folder / "pinned",
        ),
    ]
