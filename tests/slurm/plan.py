"""The study, the app, its program and the site that tests on a cluster use.

What the program does is in the test's hands while it runs: it waits as many seconds as the file
`pace` says, and as long as a file `hold` or `hold.NODE` is there; it moves to the CPU that the file
`moves` names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

STUDY_FILE, SITE_FILE = "waits.yaml", "site.yaml"
PROGRAM = """#!/bin/sh
# Arguments: none. Says what it was given and where it runs.
cd "{folder}" || exit
env >"environment.$(hostname)"
if [ -e moves ]; then
    taskset --pid --cpu-list "$(cat moves)" $$ >/dev/null
    # Where it only sleeps decides nothing.
    i=0
    while [ $i -lt 200000 ]; do i=$((i + 1)); done
fi
sleep "$(cat pace)"
while [ -e hold ] || [ -e "hold.$(hostname)" ]; do sleep 0.05; done
echo "waited = $(cat pace)"
"""
APP = """# A program that waits.
title: A program that waits
variants:
  serial: {{program: {folder}/program, runtime: none}}
sizes:
  short: {{arguments: ''}}
metrics:
  waited: {{pattern: '^waited = ([0-9.]+)', unit: s}}
limit: 10 min
"""
STUDY = """# Many short runs of a program that waits.
title: Many short runs
apps:
  - {{app: wait, variants: serial, sizes: short, threads: 1}}
mappings:
{mappings}
governors: {governors}
repetitions: {repetitions}
warmup: {warmup}
collect: energy
"""
SITE = """# The cluster of the tests.
title: The cluster of the tests
engine: slurm
time_limit: {time_limit}
features: [hybrid, homog]
"""
SCHEDULER = "scheduler"
SPLIT = ("--spread", "split", "--workers", "2")
PINNED = "{name: pinned, selection: compact, binding: pin}"


@dataclass(frozen=True)
class Plan:
    """What a trial's study asks for; `mappings` are those of a study's file."""

    repetitions: int = 10
    pace_s: float = 0.1
    warmup: int = 0
    mappings: Sequence[str] = (SCHEDULER, PINNED)
    governors: str = "current"
    time_limit: str = "10 min"
    directives: Sequence[str] = ()

    @property
    def units(self) -> int:
        """How many runs one node makes, warm-up runs apart."""
        return self.repetitions * len(self.mappings)

    def write(self, folder: Path) -> None:
        """Write study, app, program and site into a folder."""
        mappings = "\n".join(f"  - {mapping}" for mapping in self.mappings)
        study = STUDY.format(
            mappings=mappings,
            governors=self.governors,
            repetitions=self.repetitions,
            warmup=self.warmup,
        )
        (folder / STUDY_FILE).write_text(study)
        lines = [f"  - '{each}'\n" for each in self.directives]
        directives = "".join(["directives:\n", *lines]) if lines else ""
        (folder / SITE_FILE).write_text(SITE.format(time_limit=self.time_limit) + directives)
        (folder / "apps").mkdir()
        (folder / "apps" / "wait.yaml").write_text(APP.format(folder=folder))
        (folder / "program").write_text(PROGRAM.format(folder=folder))
        (folder / "program").chmod(0o755)
