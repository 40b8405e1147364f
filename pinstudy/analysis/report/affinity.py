"""The report's part on the affinity experiments: their sections, and what was not possible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pinstudy.analysis.affinity.c2c import lines_section
from pinstudy.analysis.affinity.experiments import (
    Affinity,
    contention_sections,
    pingpong_section,
    smt_section,
)
from pinstudy.analysis.affinity.team import team_section
from pinstudy.analysis.affinity.timed_cases import (
    CONTENTION,
    LATENCY,
    PINGPONG,
    SMT,
    Section,
    lacking,
)
from pinstudy.analysis.format.table import Column, Table
from pinstudy.analysis.latency.findings import latency_findings, latency_tables, mappings
from pinstudy.analysis.latency.reading import Latency
from pinstudy.analysis.records.gathered import THREADMAP
from pinstudy.analysis.results.node_files import node_cpus
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.verdict.model import Findings
from pinstudy.analysis.words import experiments as words
from pinstudy.base import PINSTUDY
from pinstudy.base.text import as_typed

# Each experiment's title and introduction, in the order of the page.
TEXTS = {
    CONTENTION: (
        "Contention: threads that share a cache line",
        "Pairs of threads add to one number a pair, again and again. Where the two of a pair are "
        "decides what the cache line between them costs.",
    ),
    SMT: (
        "SMT sharing: a thread beside another one",
        "A thread works through an array of its own, alone or beside another one. Nothing is "
        "shared but what the core, the cache or the CPU is made of.",
    ),
    PINGPONG: (
        "Ping-pong: a cache line from one thread to another",
        "Two threads hand one cache line back and forth, as fast as they can.",
    ),
    LATENCY: (
        "Core-to-core latency: every pair of CPUs",
        "The same for pairs of CPUs, both directions and several cache lines, apart from the "
        "study's cases.",
    ),
    THREADMAP: (
        "Thread map: who ran where",
        "A team of threads that does nothing but to look where it is, as the mapping bound it. The "
        "kernel's own masks and CPUs were read while it ran.",
    ),
}


@dataclass(frozen=True)
class Experiment:
    """One experiment of the page; `app` is its program's name."""

    app: str
    title: str
    introduction: str
    parts: list[Section]
    lacking: list[str]


def experiments(results: Results, affinity: Affinity, findings: Findings) -> list[Experiment]:
    """Return the experiments that results hold or lack, in the order of the page."""
    parts, absent = _parts(results, affinity, findings), _absent(results, affinity, findings)
    return [
        Experiment(app, title, introduction, parts.get(app, []), absent.get(app, []))
        for app, (title, introduction) in TEXTS.items()
        if app in parts or app in absent
    ]


def _parts(results: Results, affinity: Affinity, findings: Findings) -> dict[str, list[Section]]:
    sections = {
        CONTENTION: [
            list(contention_sections(found, findings.margin)) for found in affinity.contention
        ],
        SMT: [[smt_section(found)] for found in affinity.sharing],
        PINGPONG: [[pingpong_section(found)] for found in affinity.exchanges],
        THREADMAP: [[team_section(found)] for found in affinity.teams],
    }
    parts = {name: _numbered(name, found) for name, found in sections.items() if found}
    if affinity.lines is not None and affinity.lines.cases:
        node = node_cpus(results)
        lines = [[lines_section(cases, node)] for cases in affinity.lines.groups()]
        parts.setdefault(CONTENTION, []).extend(_numbered("cache lines", lines))
    if affinity.latency is not None:
        parts[LATENCY] = list(_latency(affinity.latency))
    return parts


def _numbered(name: str, groups: Iterable[Sequence[Section]]) -> list[Section]:
    """Return the sections of all groups; the first of each has its number in its title."""
    numbered = []
    for at, sections in enumerate(groups, 1):
        for letter, section in zip(("", "b"), sections, strict=False):
            title = f"{at}. {section.title}" if section.title else ""
            table = f"{name.capitalize()} {at}{letter}"
            numbered.append(replace(section, title=title, name=table))
    return numbered


def _latency(latency: Latency) -> Iterator[Section]:
    findings = latency_findings(latency)
    for at, table in enumerate(latency_tables(findings), 1):
        yield Section("", table, f"Latency {at}")
    if found := mappings(findings):
        columns = Column("team", right=False), Column("environment", right=False)
        yield Section("", Table("mappings that follow", columns, found), "Mappings")


def _absent(results: Results, affinity: Affinity, findings: Findings) -> dict[str, list[str]]:
    absent = {app: list(lacking(findings, app)) for app in affinity.apps}
    # A card has neither, whatever its study measured.
    if CONTENTION in absent and results.made_here:
        absent[CONTENTION] += _no_lines(affinity)
    if affinity.why_no_latency:
        absent[LATENCY] = [words.NO_LATENCIES.format(why=affinity.why_no_latency)]
    elif affinity.latency is None and results.made_here:
        command = f"{PINSTUDY} latency -o {as_typed(results.name)}"
        absent[LATENCY] = [words.MEASURE_LATENCIES.format(command=command)]
    return absent


def _no_lines(affinity: Affinity) -> Iterator[str]:
    if affinity.lines is None:
        yield words.NO_C2C
        return
    if affinity.lines.unavailable:
        yield words.NO_CACHE_LINES.format(why=affinity.lines.unavailable)
    yield from affinity.lines.passed_over
