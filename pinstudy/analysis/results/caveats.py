"""Footnotes for every table of results: declared kinds, emulation, instruments, isolation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import get_args

import numpy as np
import pandas as pd

from pinstudy.analysis.format.numbers import in_percent
from pinstudy.analysis.format.table import Column, Table, joined
from pinstudy.analysis.records.files import is_digest, node_problem, read_node
from pinstudy.analysis.records.gathered import SettingsSeen, Values
from pinstudy.analysis.records.keys import BY_KVM, EMULATED
from pinstudy.analysis.records.metrics import MAX_METRICS
from pinstudy.analysis.records.runs import MADE_ON, Runs, good_runs
from pinstudy.analysis.results.case import Case
from pinstudy.base import PINSTUDY
from pinstudy.base.cpulist import named_cpus, parse_cpulist
from pinstudy.base.text import first_of, one_line, plural
from pinstudy.runners.records.instruments import Proof, path_beside, read_proof
from pinstudy.runners.records.kept_facts import variables_between
from pinstudy.runners.records.line import TORN
from pinstudy.runners.records.node_file import NodeFile
from pinstudy.runners.records.settings_of_runs import (
    BATTERY,
    GOVERNOR,
    NOTED_SCHEDULING,
    POWER_SUPPLY,
    SWITCHED,
    PowerSupply,
)
from pinstudy.runners.records.status import OK

RACED = (
    "the cases raced: those that fell behind ended early and have few runs; which case to take is "
    "in advice.md"
)
OF_A_MODEL = "numbers of a virtual node's model, not of hardware"
IN_A_GUEST = (
    "measured in a virtual machine, whose CPUs are what its host makes of them: no evidence about "
    "hardware"
)
DECLARED = "core kinds declared by hand"
# Of repetitions with several records, how many are named.
_MAX_REPEATED = 5
# Of settings that moved, how many are named.
_MAX_MOVED = 6
# Blocks are the samples: the runs of one share what disturbed it.
_MIN_BLOCKS = 2
_LEVEL = 0.05


def folder_footnotes(runs: Runs, folder: Path) -> list[str]:
    """Return the footnotes of every table of a results folder."""
    footnotes = [RACED] if runs.raced else []
    if (runs.frame["node"] == "virtual").any():
        footnotes.append(OF_A_MODEL)
    if divided := pool_footnote(runs.frame):
        footnotes.append(divided)
    digests = runs.node_digests
    nodes = [node for digest in digests if (node := read_node(folder, digest))]
    if any(node.virtual_machine for node in nodes):
        footnotes.append(IN_A_GUEST)
    footnotes += emulated(runs.frame["vm_accelerator"].unique())
    if runs.frame["kinds_declared"].any():
        kinds = joined(map(_declared_kinds, nodes))
        footnotes.append(f"{DECLARED}{': ' if kinds else ''}{kinds}")
    footnotes += map(one_line, _conditions(runs.frame))
    footnotes += map(one_line, _unlike_runs(runs, folder))
    for why, count in runs.refused.items():
        helps = f" (a run that was killed leaves one; `{PINSTUDY} run` makes it again)"
        footnotes.append(
            f"{plural(count, 'line')} of the records {why}, and not used"
            f"{helps if why == TORN.why else ''}"
        )
    footnotes += filter(None, (node_problem(folder, digest) for digest in digests))
    if runs.unusable:
        lines = plural(runs.unusable, "line")
        footnotes.append(f"{lines} of the records without a case, and not used")
    footnotes += _repeated(runs.repeated)
    if runs.more_metrics:
        footnotes.append(
            f"the programs' own metrics: the first {MAX_METRICS} names in the alphabet are used, "
            "and others are in the records"
        )
    return footnotes


def emulated(accelerators: Iterable[object]) -> list[str]:
    """Return what is to be known of emulated guests, and of those beside guests under KVM."""
    by = set(accelerators)
    if EMULATED not in by:
        return []
    also = "; they are not compared where there are runs under KVM" if BY_KVM in by else ""
    return [f"guests were emulated (QEMU TCG), so that their times are not this node's{also}"]


def ran_with(priorities: str) -> str:
    """Return what is to be known of programs with an unusual priority."""
    return (
        f"programs ran with {priorities}, inherited from pinstudy: usual ones are scheduled "
        "otherwise"
    )


def ran_on_battery(supplies: Sequence[str]) -> Iterator[str]:
    """Yield what is to be known of runs that were made on battery."""
    if BATTERY in supplies:
        made = "made" if len(supplies) == 1 else "some runs were made"
        yield f"{made} on battery: limits of power and turbo are often lower than on mains"


def running_meanwhile(daemons: Iterable[str]) -> str:
    """Return which daemons disturbed, or may have."""
    names = ", ".join(daemons)
    return f"running meanwhile, and known to change frequencies, masks or interrupts: {names}"


def daemons_of(frame: pd.DataFrame) -> list[str]:
    """Return the known daemons that ran meanwhile."""
    return sorted({name for names in frame["daemons"].dropna() for name in names})


def power_supplies_of(frame: pd.DataFrame) -> tuple[PowerSupply, ...]:
    """Return what the node ran from, as far as it is known."""
    found = set(frame["power_supply"].dropna())
    return tuple(supply for supply in get_args(PowerSupply) if supply in found)


def _conditions(frame: pd.DataFrame) -> Iterator[str]:
    if len(priorities := frame["priority"].dropna().unique()):
        in_some = " in some runs" if frame["priority"].isna().any() else ""
        yield ran_with(f"{' or '.join(priorities)}{in_some}")
    yield from ran_on_battery(power_supplies_of(frame))
    if daemons := daemons_of(frame):
        yield running_meanwhile(daemons)


def _unlike_runs(runs: Runs, folder: Path) -> Iterator[str]:
    """Say in what the runs differ that are averaged: inherited variables, settings."""
    if changes := _environments(runs.frame, folder):
        yield f"runs of a row inherited unlike variables: {changes}"
    if moved := _moved(runs.settings):
        yield f"settings that were not the same in all runs of a row: {first_of(moved, _MAX_MOVED)}"
    if switched := list(_switched(runs.settings)):
        yield f"settings that were not the same for all rows: {first_of(switched, _MAX_MOVED)}"


def _environments(frame: pd.DataFrame, folder: Path) -> str:
    """Return how the inherited variables of a case's runs differ; empty where they do not.

    `pinstudy run` refuses that; workers that start at the same time do not see each other's runs.
    """
    known = frame[["case_id", "environment_digest"]].dropna().drop_duplicates().astype(str)
    several = known[known["case_id"].duplicated(keep=False)]
    for _, runs in several.groupby("case_id", sort=False):
        first, *later = runs["environment_digest"]
        for other in later:
            if changes := variables_between((folder, first), (folder, other)):
                return changes
    return ""


def _moved(settings: SettingsSeen) -> list[str]:
    """Return each setting that had several values in the runs of a case, with the attempts.

    Governor, two of the scheduler's and power supply have notes of their own.
    """
    moved = {
        f"{name} {_by_attempt(values)}": None
        for of_case in settings
        for name, values in of_case.items()
        if len(values) > 1 and name not in (GOVERNOR, POWER_SUPPLY, *NOTED_SCHEDULING)
    }
    return list(moved)


def _switched(settings: SettingsSeen) -> Iterator[str]:
    """Yield each setting that somebody switched between attempts which made other cases.

    One that had several values within an attempt was switched by the study itself.
    """
    for name in SWITCHED:
        found: dict[str, list[object]] = {}
        for of_case in settings:
            if len(values := of_case.get(name, {})) == 1:
                value, attempts = next(iter(values.items()))
                found[value] = [*dict.fromkeys([*found.get(value, []), *attempts])]
        everywhere = [attempt for attempts in found.values() for attempt in attempts]
        if len(found) > 1 and len(set(everywhere)) == len(everywhere):
            yield f"{name} {_by_attempt(found)}"


def _by_attempt(values: Values) -> str:
    return joined(_in_attempts(*value) for value in values.items())


def _in_attempts(value: str, attempts: Iterable[object]) -> str:
    listed = ", ".join(str(attempt) for attempt in attempts if type(attempt) is int)
    return f"{value} (attempt {listed or 'not known'})"


def _repeated(records: pd.DataFrame) -> Iterator[str]:
    if records.empty:
        return
    runs = records.groupby(["case_id", "warmup", "repetition"], observed=True, sort=False)
    texts = []
    for (_, warmup, repetition), same_run in islice(iter(runs), _MAX_REPEATED):
        first = same_run.iloc[0]
        row = f"#{first['case_number']} {first['mapping']} under {first['governor']}"
        kind = f"{'warm-up run' if warmup else 'repetition'} {repetition:.0f}"
        ends = same_run[["attempt", "status", "elapsed_s"]].itertuples(index=False, name=None)
        listed = "; ".join(_ended(*end) for end in ends)
        texts.append(one_line(f"{row}, {kind} ({listed})"))
    more = f", and {runs.ngroups - len(texts)} more" if runs.ngroups > len(texts) else ""
    yield (
        f"more than one record of {plural(runs.ngroups, 'run')}: {'; '.join(texts)}{more}; the "
        "first one counts, by attempt and then by node, whatever came of it"
    )


def _ended(attempt: float, status: str, elapsed_s: float) -> str:
    end = one_line(status)
    if status == OK:
        end = "time not measured" if math.isnan(elapsed_s) else f"{elapsed_s:.6g} s"
    return f"attempt {'not known' if math.isnan(attempt) else f'{attempt:.0f}'}: {end}"


def _declared_kinds(node: NodeFile) -> str:
    """Return a node's kinds as `P=0-7, E=8-23`; empty when its file does not tell them."""
    kinds = node.topology.kinds if node.topology else ()
    return one_line(", ".join(f"{kind.name}={kind.cpus}" for kind in kinds))


def pool_footnote(frame: pd.DataFrame) -> str:
    """Return over which nodes the runs are divided, and whether these differ; empty for one node.

    Comparisons are made within blocks, and a block is made on one node: a slow node makes no
    mapping look slow. Means and their spread have the nodes' differences in them. `frame` is that
    of `pinstudy.analysis.records.runs.Runs`.
    """
    if MADE_ON not in frame:
        return ""
    good = good_runs(frame)
    blocks = good.groupby(MADE_ON, observed=True)["block"].nunique()
    if blocks.empty:
        return ""
    nodes = ", ".join(
        one_line(f"{node} ({plural(count, 'block')})") for node, count in blocks.items()
    )
    return one_line(f"divided over interchangeable nodes; {nodes}; {_difference(good)}", None)


def _difference(good: pd.DataFrame) -> str:
    means = block_means(good)
    samples = {node: blocks for node, blocks in means.items() if len(blocks) >= _MIN_BLOCKS}
    if len(samples) < 2 or len(samples) < len(means):
        return f"whether they differ needs {_MIN_BLOCKS} blocks on each"
    if any(np.ptp(blocks) == 0 for blocks in samples.values()):
        return "whether they differ cannot be told: blocks took exactly the same time"
    # Imported here: tables of one node are made where there is no scipy.
    from scipy import stats

    p = stats.alexandergovern(*samples.values()).pvalue
    if p >= _LEVEL:
        return f"no difference between them was found (p = {p:.2g}, Alexander-Govern)"
    level = {node: float(np.mean(blocks)) for node, blocks in samples.items()}
    slow, fast = max(level, key=level.__getitem__), min(level, key=level.__getitem__)
    longer = float(np.expm1(level[slow] - level[fast]))
    return (
        f"{slow} took {in_percent(longer, 3)} % longer than {fast} (p = {p:.2g}, "
        "Alexander-Govern), which widens the spread of means, not of comparisons within blocks"
    )


def block_means(good: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return by node the mean of each of its blocks: of log time less that of its case."""
    timed = good[good["elapsed_s"] > 0]
    log_s = np.log(timed["elapsed_s"])
    rest = log_s - log_s.groupby(timed["case_id"], observed=True).transform("mean")
    of_blocks = rest.groupby([timed[MADE_ON], timed["block"]], observed=True).mean()
    return {
        str(node): blocks.to_numpy() for node, blocks in of_blocks.groupby(level=0, observed=True)
    }


_COLUMNS = (
    Column("state", right=False),
    Column("instrument", right=False),
    Column("known truth", right=False),
    Column("measured", right=False),
    Column("why", right=False),
)


def read_proofs(folder: Path, digests: Iterable[str]) -> dict[str, Proof]:
    """Return what was found of the instruments of each node, by its digest; not all have a file."""
    paths = {digest: path_beside(folder, digest) for digest in digests if is_digest(digest)}
    found = {digest: proof for digest, path in paths.items() if (proof := read_proof(path))}
    return {digest: proof for digest, proof in found.items() if proof.node_digest == digest}


def off_fields(proofs: Iterable[Proof]) -> dict[str, str]:
    """Return why the values of a record's fields are wrong, by field, as far as was found."""
    reasons: dict[str, list[str]] = {}
    for proof in proofs:
        for finding in proof.off:
            why = f"{finding.name}: off on {proof.node_id}, by `pinstudy prove`: {finding.why}"
            for field in finding.fields:
                reasons.setdefault(field, []).append(one_line(why))
    return {field: joined(dict.fromkeys(texts)) for field, texts in reasons.items()}


def proof_footnotes(proofs: Iterable[Proof]) -> list[str]:
    """Return a footnote for each node whose instruments were off."""
    return [
        one_line(
            f"{plural(len(proof.off), 'instrument')} of {proof.node_id} off when it was tested "
            f"({proof.proved_at}): {proof.names_off}"
        )
        for proof in proofs
        if proof.off
    ]


def instrument_tables(proofs: Mapping[str, Proof]) -> list[Table]:
    """Return a table of all findings of each node, the instruments that are off first."""
    tables = []
    for proof in proofs.values():
        rows = sorted(proof.findings, key=lambda finding: finding.state != "off")
        cells = tuple(
            tuple(
                map(
                    one_line,
                    (finding.state, finding.name, finding.truth, finding.measured, finding.why),
                )
            )
            for finding in rows
        )
        tables.append(Table(one_line(f"{proof.node_id}: {proof.summary}"), _COLUMNS, cells))
    return tables


def proof_sentence(proof: Proof) -> str:
    """Return when a node's instruments were tested, and what was off."""
    off = f"; off: {proof.names_off}" if proof.off else "; none was off"
    return one_line(f"The instruments of {proof.node_id} were tested on {proof.proved_at}{off}.")


def isolation_footnotes(nodes: Iterable[NodeFile], cases: Sequence[Case]) -> Iterator[str]:
    """Yield what isolated CPUs and those without a tick did to cases, by the nodes' files.

    Plans leave such cases out; older ones did not.
    """
    isolated, tickless = set[int](), set[int]()
    for node in nodes:
        isolated |= _cpus(node.isolated)
        tickless |= _cpus(node.topology.nohz_full if node.topology else "")
    if isolated:
        are = f"{named_cpus(isolated)} {_are(isolated)} isolated (isolcpus, or a cpuset partition)"
        if stuck := [case.key.mapping for case in cases if _is_stuck(case, isolated)]:
            over = ", ".join(dict.fromkeys(stuck))
            yield (
                f"{are}: the kernel moves no threads onto or between them. So what pinning gains "
                f"over {over} here is the doing of the isolation, too"
            )
        else:
            yield f"{are}: the OS scheduler and sets of CPUs have the others alone"
    if tickless:
        yield (
            f"{named_cpus(tickless)} {_are(tickless)} without the timer's tick where one thread "
            "runs (nohz_full): mappings on these CPUs differ from those on others by that, too"
        )


def _are(cpus: Iterable[int]) -> str:
    return "is" if len(set(cpus)) == 1 else "are"


def _is_stuck(case: Case, isolated: set[int]) -> bool:
    """Whether a case's threads were to move over CPUs of which some are isolated."""
    if case.key.binding not in ("none", "set") or not case.has_runs or case.key.table.guest_size:
        return False
    cpus = _cpus(case.key.cpus)
    return len(cpus) > 1 and not cpus.isdisjoint(isolated)


def _cpus(text: str | None) -> set[int]:
    try:
        return set(parse_cpulist(text or ""))
    except ValueError:
        return set()
