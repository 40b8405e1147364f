"""The affinity experiments: their programs, what each measures by itself, and words for places."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.findings import CaseFinding, Findings
from analysis.verdict.phrases import leaves_all
from base.text import one_line

CONTENTION, SMT, PINGPONG, THREADMAP = "contention", "smt", "pingpong", "threadmap"
# What each program times by itself, by the name of the metric in its records.
TIMES = {CONTENTION: "round_ms", SMT: "thread_ms", PINGPONG: "latency_ns"}
APPS = (*TIMES, THREADMAP)
# Measured by `pinstudy latency` beside the cases.
LATENCY = "latency"

# Where two threads of a pair are, by the mapping's selection: "each pair …".
_PAIRS = {
    "same-cpu": "on one CPU",
    "siblings": "on the SMT siblings of a core",
    "same-cluster": "on two cores that share a cache",
    "pcores": "on two P-cores",
    "ecores": "on two E-cores",
    "lpecores": "on two LP-E-cores",
    "across-kinds": "across core kinds",
    "across-packages": "across packages",
}


def cases_of(findings: Findings, app: str) -> list[CaseFinding]:
    """Return the cases of a program, in the order of the tables."""
    return [case for table in findings.tables for case in table.cases if table.keys["app"] == app]


def where_pairs_are(case: CaseFinding) -> str:
    """Return where a case puts the two threads of a pair: `on one CPU`."""
    facts = case.facts
    if leaves_all(facts):
        return "left to the scheduler"
    selection, binding = str(facts["selection"]), facts["binding"]
    if binding == "pin" and selection in _PAIRS:
        return _PAIRS[selection]
    return one_line(f"under {case.mapping}")


def placed_by(facts: Mapping[str, Any]) -> str:
    """Return what puts a case's threads into their places: a mechanism's word."""
    mechanism = facts.get("mechanism")
    return "nothing" if mechanism is None else one_line(str(mechanism))
