"""What has to be said under a table: excluded runs, unproved placement, declared core kinds."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.beside_files import read_node
from analysis.fields import MAX_METRICS
from analysis.frame import Runs
from analysis.pool import pool_remark
from analysis.table import joined
from base.text import one_line, plural
from runners.records.disturbances import DISTURBANCES, SEPARATOR
from runners.records.placed_runs import PlacedRuns
from runners.records.values import OK, TORN

RACED = (
    "the cases raced: those that fell behind ended early and have few runs; which case to take is "
    "in advice.md"
)

_MAX_REPEATED = 5


def table_remarks(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what concerns rows of a table, each remark beginning with the row's number."""
    for case in cases:
        row = f"#{case['case_number']}"
        if case["excluded"]:
            yield f"{row}: {_excluded(case)}"
        yield from _placement(case, row)
    yield from _disturbed(cases)
    yield from _governors(cases)
    yield from _numbers_of_several(cases)


def _placement(case: Mapping[str, Any], row: str) -> Iterator[str]:
    """Say in how many of the averaged runs placement was proved, and when that is too few."""
    placed: PlacedRuns = case["placed"]
    for count, of, what in (
        (case["unproved"], "placement", "placement"),
        (case["vcpus_unproved"], "vcpu_placement", "placement of vCPUs"),
    ):
        reasons = joined(case["reasons"].get(of, ()))
        because = f": {reasons}" if reasons else ""
        if count:
            told = PlacedRuns(case["n"] - count, count).summary.removeprefix("placement ")
            yield one_line(f"{row}: {what} {told}, which are averaged{because}")
        elif placed.unseen and of == "placement":
            yield one_line(f"{row}: {placed.summary}{because}")
    if not placed.usable:
        told = f"{placed.summary}; a tenth at most may lack it"
        yield f"{row}: not compared, nor to be recommended: {told}"


def whose_numbers(_cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield which numbers of a guest's row are the guest's, and which are the host's."""
    yield (
        "time, migrations and context switches are the program's in its guest; frequency, "
        "vCPU migrations and cache misses are those of the vCPUs' threads on the host, energy "
        "is the host's"
    )


def drivers(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield why the driver of a governor is not known."""
    for where, told in (("", False), (" in some runs", True)):
        reasons = dict.fromkeys(
            reason
            for case in cases
            if bool(case["drivers"]) is told
            for reason in case["reasons"].get("driver", ())
        )
        if reasons:
            yield one_line(f"driver not known{where}: {joined(reasons)}")


def guest_rows(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield each row's mapping in the guest and governor where they differ; no column has them."""
    if len({(case["mapping"], case["governor"]) for case in cases}) > 1:
        for row, case in enumerate(cases, 1):
            what = f"{case['mapping']} in the guest, governor {case['governor']}"
            yield one_line(f"row {row} is #{case['case_number']}: {what}")


def _excluded(case: Mapping[str, Any]) -> str:
    parts = []
    for status, count in case["excluded"].items():
        reasons = one_line(joined(case["reasons"].get(status, ())))
        parts.append(f"{count} {status}" + (f" ({reasons})" if reasons else ""))
    excluded = sum(case["excluded"].values())
    # The source of imported means may not say how many runs they are of.
    of = "" if math.isnan(case["n"]) else f" of {case['n'] + excluded}"
    return one_line(f"{excluded}{of} runs not averaged: {', '.join(parts)}", None)


def _disturbed(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say how many of the averaged runs something disturbed, a remark for each such thing."""
    measured = [case for case in cases if case["n"] > 0]
    for what in DISTURBANCES:
        rows = [case for case in measured if what in case["disturbed"]]
        if not rows:
            continue
        if all(case["disturbed"].get(what) == case["n"] for case in measured):
            where = "all runs that are averaged"
        else:
            where = ", ".join(
                f"#{case['case_number']}: {case['disturbed'][what]} of {case['n']}" for case in rows
            )
        yield f"runs {what}: {where}"


def _governors(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say which governor was in force where the study asked for the current one."""
    read = {
        governor
        for case in cases
        if case["governor"] == "current"
        for governor in case["governors_read"]
    }
    if read:
        yield one_line(f"governor in force: {', '.join(sorted(read))}")


def _numbers_of_several(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say why a number stands in several rows: other CPUs, or whatever else differs."""
    by_number: dict[int, list[Mapping[str, Any]]] = {}
    for case in cases:
        by_number.setdefault(case["case_number"], []).append(case)
    for number, rows in by_number.items():
        cpus = dict.fromkeys(map(_where, rows))
        if len(rows) > 1 and len(cpus) == len(rows):
            yield one_line(
                f"#{number} stands once for each set of CPUs it was run on: {joined(cpus)}"
            )
        elif len(rows) > 1:
            what = joined(dict.fromkeys(map(_how, rows)))
            yield one_line(f"#{number} stands for several cases: {what}")


def _how(case: Mapping[str, Any]) -> str:
    return (
        f"{case['mapping']} by {case['mechanism']}" if case["mechanism"] else str(case["mapping"])
    )


def _where(case: Mapping[str, Any]) -> str:
    """Return a row's CPUs of the host: a guest's own are always the same ones."""
    if case["vcpu_cpus"]:
        return f"{case['vcpu_cpus']} ({case['vm_accelerator'] or 'unknown accelerator'})"
    return str(case["cpus"] or "unknown CPUs")


def folder_remarks(runs: Runs, folder: Path) -> list[str]:
    """Return what concerns every table of a results folder."""
    remarks = [RACED] if runs.raced else []
    if (runs.frame["node"] == "virtual").any():
        remarks.append("numbers of a virtual node's model, not of hardware")
    if divided := pool_remark(runs.frame):
        remarks.append(divided)
    digests = [str(digest) for digest in runs.frame["node_digest"].dropna().unique()]
    if any((read_node(folder, digest) or {}).get("virtual_machine") is True for digest in digests):
        remarks.append(
            "measured in a virtual machine, whose CPUs are what its host makes of them: no "
            "evidence about hardware"
        )
    if (runs.frame["vm_accelerator"] == "tcg").any():
        remarks.append("guests were emulated (QEMU TCG), so that their times are not this node's")
    if runs.frame["kinds_declared"].any():
        kinds = joined(_declared_kinds(folder, digest) for digest in digests)
        remarks.append(f"core kinds declared by hand{': ' if kinds else ''}{kinds}")
    names = runs.frame["daemons"].dropna().unique()
    if daemons := sorted({name for text in names for name in str(text).split(SEPARATOR)}):
        remarks.append(
            one_line(
                "running meanwhile, and known to change frequencies, masks or interrupts: "
                f"{', '.join(daemons)}"
            )
        )
    for why, count in runs.refused.items():
        helps = " (a run that was killed leaves one; `pinstudy run` makes it again)"
        remarks.append(
            f"{plural(count, 'line')} of the records {why}, and not used"
            f"{helps if why == TORN.why else ''}"
        )
    if runs.unusable:
        lines = plural(runs.unusable, "line")
        remarks.append(f"{lines} of the records without a case, and not used")
    remarks += _repeated(runs.repeated)
    if runs.more_metrics:
        remarks.append(
            f"the programs' own metrics: the first {MAX_METRICS} names in the alphabet are used, "
            "and others are in the records"
        )
    return remarks


def _repeated(records: pd.DataFrame) -> Iterator[str]:
    """Name the repetitions that have several records, with all of these, and which one counts."""
    if records.empty:
        return
    runs = records.groupby(["case_id", "warmup", "repetition"], observed=True, sort=False)
    told = []
    for (_, warmup, repetition), of in islice(iter(runs), _MAX_REPEATED):
        first = of.iloc[0]
        row = f"#{first['case_number']} {first['mapping']} under {first['governor']}"
        which = f"{'warm-up run' if warmup else 'repetition'} {repetition:.0f}"
        ends = of[["attempt", "status", "elapsed_s"]].itertuples(index=False, name=None)
        each = "; ".join(_ended(*end) for end in ends)
        told.append(one_line(f"{row}, {which} ({each})"))
    more = f", and {runs.ngroups - len(told)} more" if runs.ngroups > len(told) else ""
    yield (
        f"more than one record of {plural(runs.ngroups, 'run')}: {'; '.join(told)}{more}; the "
        "first one counts, by attempt and then by node, whatever came of it"
    )


def _ended(attempt: float, status: str, elapsed_s: float) -> str:
    """Return how one of several records of a run says that it ended."""
    end = one_line(status)
    if status == OK:
        end = "time not measured" if math.isnan(elapsed_s) else f"{elapsed_s:.6g} s"
    return f"attempt {'not known' if math.isnan(attempt) else f'{attempt:.0f}'}: {end}"


def _declared_kinds(folder: Path, digest: str) -> str:
    """Return a node's kinds as `P=0-7, E=8-23`; empty when its file does not tell them."""
    node = read_node(folder, digest)
    topology = node.get("topology", node) if node else None
    kinds = topology.get("kinds") if isinstance(topology, dict) else None
    parts = [
        f"{kind.get('name')}={kind.get('cpus')}"
        for kind in (kinds if isinstance(kinds, list) else [])
        if isinstance(kind, dict)
    ]
    return one_line(", ".join(parts))
