"""The report's part on the affinity experiments: their sections, and what was not possible."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from analysis.affinity.c2c import lines_section
from analysis.affinity.contention import contention_section
from analysis.affinity.experiments import Affinity
from analysis.affinity.pingpong import pingpong_section
from analysis.affinity.section import (
    Section,
    lacking,
    lacking_beside,
    lacking_ranks,
    title_of,
)
from analysis.affinity.smt import smt_section
from analysis.affinity.team import describe_team
from analysis.affinity.timed_cases import (
    CONTENTION,
    LATENCY,
    PINGPONG,
    SMT,
    cases_beside,
    cases_of,
    cases_of_ranks,
)
from analysis.latency.model import Latency
from analysis.latency.report import latency_findings
from analysis.records.team_looks import THREADMAP
from analysis.results.node_files import node_cpus
from analysis.results.sources import Results
from analysis.verdict.model import Findings
from analysis.verdict.phrases import sentence
from base import PINSTUDY
from base.text import as_typed

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
    margin = findings.margin
    sections = {
        CONTENTION: [contention_section(one, margin) for one in affinity.contention],
        SMT: [smt_section(one) for one in affinity.sharing],
        PINGPONG: [pingpong_section(one) for one in affinity.exchanges],
    }
    parts = {name: _numbered(name, of_one) for name, of_one in sections.items() if of_one}
    if affinity.lines is not None and affinity.lines.cases:
        node = node_cpus(results)
        lines = [lines_section(cases, node) for cases in affinity.lines.groups()]
        parts.setdefault(CONTENTION, []).extend(_numbered("cache lines", lines))
    if affinity.teams:
        parts[THREADMAP] = [
            Section(f"{at}. {title_of(teams[0].case)}", tuple(map(describe_team, teams)))
            for at, teams in enumerate(affinity.teams, 1)
        ]
    if affinity.latency is not None:
        parts[LATENCY] = list(_latency(affinity.latency))
    return parts


def _numbered(name: str, sections: Sequence[Section]) -> list[Section]:
    return [
        replace(section, title=f"{at}. {section.title}", name=f"{sentence(name)} {at}")
        for at, section in enumerate(sections, 1)
    ]


def _latency(latency: Latency) -> Iterator[Section]:
    findings = latency_findings(latency)
    yield Section("What the pairs of CPUs say", findings.sentences)
    for at, table in enumerate(findings.tables, 1):
        yield Section("", (), table, f"Latency {at}")
    if findings.mappings:
        pinned = (f"{sentence(what)}: {variables}." for what, variables in findings.mappings)
        yield Section("Mappings that follow", tuple(pinned))


def _absent(results: Results, affinity: Affinity, findings: Findings) -> dict[str, list[str]]:
    absent = {
        app: [
            *lacking(cases_of(findings, app)),
            *lacking_ranks(cases_of_ranks(findings, app)),
            *lacking_beside(cases_beside(findings, app)),
        ]
        for app in affinity.apps
    }
    if CONTENTION in absent:
        absent[CONTENTION] += _no_lines(affinity)
    if affinity.why_no_latency:
        absent[LATENCY] = [f"The latencies cannot be shown: {affinity.why_no_latency}."]
    elif affinity.latency is None:
        absent[LATENCY] = [
            "The latency between CPUs was not measured here; "
            f"`{PINSTUDY} latency --into {as_typed(results.name)}` does that, and the report then "
            "has its heat map and what follows from it."
        ]
    return absent


def _no_lines(affinity: Affinity) -> Iterator[str]:
    """Yield why the cache lines that cores took from each other are not known."""
    if affinity.lines is None:
        yield (
            "Nobody looked which cache lines cores took from each other (HITM): the study does not "
            "collect c2c."
        )
        return
    if affinity.lines.unavailable:
        yield f"Contended cache lines could not be looked for: {affinity.lines.unavailable}."
    yield from (f"{one}." for one in affinity.lines.passed_over)
