"""The names of files and folders in the folder of a study's results on a node."""

from __future__ import annotations

from pathlib import Path

# Copies beside the records: the study file of the latest attempt, and the apps that it names.
STUDY_FILE = "study.yaml"
APPS = "apps"
# The rule of a search's race, as `pinstudy advise` was last told it.
RACE_FILE = "race.json"
# One file for each digest that records name: facts of nodes, digests of a program's files, the
# variables that programs inherited.
NODES = "nodes"
PROGRAMS = "programs"
ENVIRONMENTS = "environments"
# What was measured besides the runs: latencies between CPUs, and contended cache lines.
LATENCY_FILE = "latency.json"
# Why there are no latencies, though the study asks for them.
LATENCY_UNAVAILABLE = "latency-unavailable.json"
C2C = "c2c"
# Why cases have no contended cache lines, in the folder C2C.
C2C_UNAVAILABLE = "unavailable.json"
# What commands write there beside tables and verdict.
REPORT_FILE = "report.html"
CARD_FILE = "card.json"
FIGURES_FOLDER = "figures"
# The looks at the threads of each run, one file a run.
TRACES = "traces"


def picture_path(folder: Path, node_digest: str) -> Path:
    """Return the path of a node's picture in a results folder."""
    return folder / NODES / f"{node_digest}.lstopo.svg"
