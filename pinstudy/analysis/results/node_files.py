"""The nodes of results, from the files beside the records: what they are, and lstopo's pictures.

A results folder may come from anybody: nothing in its files is trusted before it is looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pinstudy.analysis.records.files import read_limited, read_node
from pinstudy.analysis.records.runs import MADE_ON
from pinstudy.analysis.results.card_file import NodeFacts, facts_of, sheet_rows
from pinstudy.analysis.results.sources import Results
from pinstudy.base.cpulist import parse_cpulist
from pinstudy.base.text import one_line, plural
from pinstudy.configs.results_folder import picture_path
from pinstudy.runners.records.node_file import KindTable, NodeFile, PowerLimit

_KINDS = re.compile(r"[A-Za-z0-9=,:-]{1,200}")
_NO_PICTURE = "no lstopo picture is beside the records"

_TURBO: dict[bool | None, str] = {True: "on", False: "off"}
_LIMITS = {"long_term": "PL1", "short_term": "PL2"}

Row = tuple[str, str]


@dataclass(frozen=True)
class NodeSheet:
    """One node: `in_short` and `summary` for the first screen, `rows` with all facts.

    `picture` is lstopo's SVG, None where `why_no_picture` says why; `absent` are unknown facts with
    their reasons; `declared` is the value of --kinds.
    """

    name: str
    in_short: str
    summary: tuple[Row, ...]
    rows: tuple[Row, ...]
    picture: bytes | None
    why_no_picture: str
    absent: tuple[Row, ...]
    declared: str


def node_sheets(results: Results) -> list[NodeSheet]:
    """Return the nodes that the records name and whose files are there, or a card's node."""
    if results.card is not None and results.card.node is not None:
        return [_sheet_of_card(results.card.node)]
    if results.runs is None or results.folder is None:
        return []
    frame = results.runs.frame
    nodes = {digest: read_node(results.folder, digest) for digest in results.runs.node_digests}
    return [
        _sheet(node, picture_path(results.folder, digest), _pool(frame, digest))
        for digest, node in nodes.items()
        if node is not None
    ]


def node_facts(results: Results) -> NodeFacts | None:
    """Return what may be said of the results' node to anybody; None where nothing is known.

    Interchangeable nodes agree in it.
    """
    if results.card is not None:
        return results.card.node
    if results.runs is None or results.folder is None:
        return results.published_node
    nodes = (read_node(results.folder, digest) for digest in results.runs.node_digests)
    return next((facts for node in nodes if node and (facts := facts_of(node))), None)


def _sheet_of_card(facts: NodeFacts) -> NodeSheet:
    rows = tuple(sheet_rows(facts))
    in_short = "; ".join(text for _, text in rows[:2])
    why = "cards have none"
    return NodeSheet(f"node {facts.digest}", in_short, rows, rows, None, why, (), "")


def _pool(frame: pd.DataFrame, digest: str) -> str:
    """Return the names of the nodes that share this digest and divide a study; empty for one."""
    if MADE_ON not in frame:
        return ""
    nodes = frame[MADE_ON][frame["node_digest"] == digest].dropna().unique()
    return one_line(", ".join(sorted(map(str, nodes))))


def _sheet(node: NodeFile, path: Path, pool: str) -> NodeSheet:
    cpufreq = node.cpufreq
    kinds = node.topology.kinds if node.topology else []
    summary = [
        ("processor", node.cpu_model),
        ("cores", "; ".join(_kind_of(kind, node) for kind in kinds)),
        ("kernel", node.kernel),
        ("frequency driver", _grouped(cpufreq.drivers) or cpufreq.reason),
        ("memory", _bytes(node.memory_bytes)),
        ("kind of machine", "virtual" if node.virtual_machine else ""),
    ]
    rows = [
        *summary,
        *((f"evidence for {kind.name}-cores", kind.evidence) for kind in kinds),
        *_caches(node),
        ("microcode", node.microcode),
        ("SMT", node.smt),
        ("turbo", _TURBO.get(cpufreq.turbo, "")),
        ("driver's mode", cpufreq.mode),
        ("governors in force", _grouped(cpufreq.governors)),
        *_limits(node.power_limits),
        ("highest frequencies (kHz)", _grouped(cpufreq.highest_khz)),
        ("highest performance (CPPC)", _grouped(node.highest_perf)),
        ("capacities", _grouped(node.cpu_capacity)),
        ("instructions that not all cores have", _by_kind(node.isa_by_kind)),
        ("ranks of preferred cores", _grouped(cpufreq.prefcore_ranking)),
        ("ITMT", _number(node.itmt_enabled)),
        ("autogroups", _number(node.sched_autogroup)),
        ("NMI watchdog", _number(node.nmi_watchdog)),
        ("boot options", node.boot_options),
        ("firmware", node.firmware),
        ("platform profile", node.platform_profile),
        ("product", node.product),
        ("isolated CPUs", node.isolated),
        ("cpuset partitions", _grouped(node.cpuset_partitions)),
        ("transparent huge pages", node.transparent_hugepages),
    ]
    picture, why = _picture(path, node.unavailable)
    return NodeSheet(
        name=pool or node.node_id or "node",
        in_short="; ".join(text for _, text in summary[:2] if text) or "nothing more is known",
        summary=tuple((name, text) for name, text in summary if text),
        rows=tuple((name, text) for name, text in rows if text),
        picture=picture,
        why_no_picture=why,
        absent=tuple(row for row in node.unavailable.items() if row[0] != "picture"),
        declared=_declared(kinds),
    )


def _picture(path: Path, absent: Mapping[str, str]) -> tuple[bytes | None, str]:
    data = read_limited(path)
    if data is None:
        return None, absent.get("picture", _NO_PICTURE)
    if b"<svg" not in data[:2000] or not data.rstrip().endswith(b"</svg>"):
        return None, f"{path.name} is no SVG picture"
    return data, ""


def _kind_of(kind: KindTable, node: NodeFile) -> str:
    cores = node.topology.cores if node.topology else ()
    count = sum(core.kind == kind.name for core in cores)
    declared = ", declared by hand" if kind.declared else ""
    return f"{plural(count, f'{kind.name}-core')} (CPUs {kind.cpus}{declared})"


def kinds_option(sheets: Iterable[NodeSheet]) -> str:
    """Return the option that declares core kinds as they were; empty where none were."""
    declared = next((sheet.declared for sheet in sheets if sheet.declared), "")
    return f"--kinds {declared}" if _KINDS.fullmatch(declared) else ""


def _declared(kinds: Sequence[KindTable]) -> str:
    if not any(kind.declared for kind in kinds):
        return ""
    return ",".join(f"{kind.name}={kind.cpus}" for kind in kinds)


def _caches(node: NodeFile) -> Iterator[Row]:
    caches = node.topology.caches if node.topology else ()
    counts = Counter((cache.level, _bytes(cache.size_bytes)) for cache in caches)
    levels: dict[int, list[str]] = {}
    for (level, size), count in counts.items():
        levels.setdefault(level, []).append(f"{count} x {size or 'unknown size'}")
    for level, parts in levels.items():
        yield f"L{level} caches", ", ".join(parts)


def _limits(limits: Iterable[PowerLimit]) -> Iterator[Row]:
    parts: dict[str, list[str]] = {}
    for limit in limits:
        if limit.power_w is not None:
            over = f" over {limit.window_s} s" if limit.window_s is not None else ""
            name = _LIMITS.get(limit.name or "", limit.name or "limit")
            where = f"{limit.domain or 'unknown'} ({limit.zone})"
            parts.setdefault(where, []).append(f"{name} {limit.power_w} W{over}")
    for where, texts in parts.items():
        yield f"power limits of {where}", ", ".join(texts)


def _grouped(values: Mapping[str, str]) -> str:
    return ", ".join(f"{value} (CPUs {cpus})" for value, cpus in values.items())


def _by_kind(values: Mapping[str, str]) -> str:
    return "; ".join(f"{kind}-cores: {value or 'none'}" for kind, value in values.items())


def _bytes(value: int | None) -> str:
    if not value:
        return ""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if value >= size:
            amount = value / size
            return f"{amount:.3g} {unit}" if amount < 999.5 else f"{amount:.0f} {unit}"
    return f"{value} bytes"


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


@dataclass(frozen=True)
class NodeCpus:
    """Which kind each CPU is of; empty where nobody knows.

    `order` has the kinds' names, best first; `allowed` are the CPUs that the study's process had.
    """

    kind: Mapping[int, str]
    order: tuple[str, ...] = ()
    allowed: tuple[int, ...] = ()

    def kinds_of(self, cpus: str | None) -> tuple[str, ...]:
        """Return the kinds of a list of CPUs, best first; empty where one is not known."""
        numbers = cpus_of(cpus)
        if not numbers or not all(cpu in self.kind for cpu in numbers):
            return ()
        names = {self.kind[cpu] for cpu in numbers}
        return tuple(name for name in self.order if name in names)


def node_cpus(results: Results) -> NodeCpus:
    """Return the CPUs of the results' node; nothing of results of several nodes, or of none."""
    if results.runs is None or results.folder is None:
        return NodeCpus({})
    digests = results.runs.node_digests
    if len(digests) != 1:
        return NodeCpus({})
    node = read_node(results.folder, digests[0])
    if node is None or node.topology is None:
        return NodeCpus({})
    kinds = {one_line(kind.name): cpus_of(kind.cpus) for kind in node.topology.kinds}
    of_cpus = {cpu: name for name, cpus in kinds.items() for cpu in cpus}
    return NodeCpus(of_cpus, tuple(kinds), cpus_of(node.topology.allowed))


def cpus_of(text: object) -> tuple[int, ...]:
    """Return the CPUs of a list in a file; nothing for what is no list."""
    try:
        return parse_cpulist(text) if isinstance(text, str) else ()
    except ValueError:
        return ()
