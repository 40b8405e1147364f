"""The study, the app, its program and the site that tests on a cluster use.

A test controls the program while it runs: it sleeps for the seconds in the file `pace`, and waits
while a file `hold` or `hold.NODE` exists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.studies import write_app, write_program, write_study

STUDY_FILE, SITE_FILE = "waits.yaml", "site.yaml"
PROGRAM = """#!/bin/sh
# Arguments: none. Writes its environment to a file named after the node.
cd "{folder}" || exit
env >"environment.$(hostname)"
sleep "$(cat pace)"
while [ -e hold ] || [ -e "hold.$(hostname)" ]; do sleep 0.05; done
echo "waited = $(cat pace)"
"""
SITE = """# The cluster of the tests.
title: The cluster of the tests
batch_system: slurm
time_limit: {time_limit}
features: [hybrid, homog]
"""
UNPINNED = "unpinned"
SPLIT = ("--spread", "split", "--workers", "2")
PINNED = {"name": "pinned", "selection": "compact", "binding": "pin"}


@dataclass(frozen=True)
class Plan:
    """The keys of a trial's study and site; `mappings` as in a study's file."""

    repetitions: int = 10
    pace_s: float = 0.1
    warmup: int = 0
    mappings: Sequence[object] = (UNPINNED, PINNED)
    governors: Sequence[str] = ("current",)
    time_limit: str = "10 min"
    directives: Sequence[str] = ()

    @property
    def units(self) -> int:
        """The number of runs that one node makes, without warm-up runs."""
        return self.repetitions * len(self.mappings)

    def write(self, folder: Path) -> None:
        """Write study, app, program and site into a folder."""
        metrics = {"waited": {"pattern": "^waited = ([0-9.]+)", "unit": "s"}}
        sizes = {"short": {"arguments": ""}}
        write_app(folder, "wait", folder / "program", sizes, metrics=metrics, timeout="10 min")
        study = {
            "mappings": list(self.mappings),
            "governors": list(self.governors),
            "repetitions": self.repetitions,
            "warmup": self.warmup,
            "collect": "energy",
        }
        write_study(folder, Path(STUDY_FILE).stem, "wait", "short", **study)
        write_program(folder / "program", PROGRAM.format(folder=folder))
        lines = [f"  - '{each}'\n" for each in self.directives]
        directives = "".join(["directives:\n", *lines]) if lines else ""
        (folder / SITE_FILE).write_text(SITE.format(time_limit=self.time_limit) + directives)
