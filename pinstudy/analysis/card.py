"""Results to a card: their means and comparisons, and the facts of the node but its identity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from pinstudy.analysis.answer import Answer, analyze
from pinstudy.analysis.format.numbers import finite
from pinstudy.analysis.latency.findings import latency_findings
from pinstudy.analysis.latency.reading import read_latency
from pinstudy.analysis.measures import MEASURE_OF, SHOWN, Stats
from pinstudy.analysis.records.files import write_file
from pinstudy.analysis.records.keys import TABLE_KEYS, CaseKey
from pinstudy.analysis.records.metrics import METRIC, PLAIN, Metric
from pinstudy.analysis.results.card_file import (
    BAD_LATENCY,
    CAUSES,
    COMPILERS,
    DIGEST,
    FIELD,
    IMPORTED,
    MAX_BYTES,
    MAX_CASES,
    MEASURED,
    NO_LATENCY,
    NO_NODE,
    NOT_PROVED,
    NUMBER_OF_VERSION,
    OTHER_CAUSE,
    PUBLISHED,
    RUNTIMES,
    SHARED,
    STATUSES,
    SUFFIX,
    TOOLS,
    Card,
    CardCase,
    Instruments,
    Mean,
    NearCpus,
    Printed,
    StatedComparison,
    ends_of,
    words_in,
)
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.caveats import daemons_of, power_supplies_of
from pinstudy.analysis.results.node_files import node_facts
from pinstudy.analysis.results.sources import Results, open_results
from pinstudy.analysis.results.summaries import UNKNOWN
from pinstudy.analysis.verdict.model import Comparison
from pinstudy.analysis.words.experiments import modes_that_hide
from pinstudy.base import PINSTUDY, VERSION
from pinstudy.base.cpulist import format_cpulist
from pinstudy.base.decoding import decoded, encoded
from pinstudy.base.errors import UserError
from pinstudy.base.reading import table_in
from pinstudy.base.text import one_line, plural
from pinstudy.configs.daemons import UNITS
from pinstudy.configs.results_folder import CARD_FILE, LATENCY_FILE
from pinstudy.configs.settings import NAMES, Settings
from pinstudy.configs.values import DIRECTIONS
from pinstudy.runners.records.disturbances import DISTURBANCES
from pinstudy.runners.records.instruments import Proof, counted

_MAX_LETTERS = 400
_MAX_VERSIONS = 5
# By which words of a reason each cause is known; the first that fits counts.
_WORDS_OF_CAUSES = (
    r"publication",
    r"no (?:LP-E|[PE])[- ]?(?:cores?|CPUs?)\b|core kind",
    r"more threads than|too few CPUs|has only \d+",
    r"permission|paranoid|not permitted|not allowed|root|privilege|CAP_",
    r"virtual machine|hypervisor|guest",
    r"too short",
    r"multiplex|part of the time",
    r"for whole runs only",
    r"RAPL|powercap|energy",
    r"not supported|no such event|lacks|unknown event|no hardware|not counted|cannot count|PMU",
    r"cpufreq|frequency",
    r"imported|logs?\b",
    r"",
)
_OF_KEY = frozenset(field.name for field in fields(CaseKey))
# Of what else is missing a card does not say why.
_SHOWN = frozenset(measure.field for measure in SHOWN)
_FOLDERS = re.compile(r"[^\s=]*[/\\~]")
_DIGEST = re.compile(DIGEST)
_FIELD = re.compile(FIELD)
_VERSION = re.compile(NUMBER_OF_VERSION)
_COMPILER = re.compile(rf"\b({COMPILERS})(?![\w+])[^\d\n]{{0,20}}({NUMBER_OF_VERSION})")


def write_card(source: str, into: Path | None = None) -> tuple[Path, Card]:
    """Write the card of a source of results; return the file's path and the card.

    It goes into the results' folder unless `into` names a file. Raises UserError when the source
    cannot be read, raced, does not fit on a card, has no folder, or when it cannot be written.
    """
    results = open_results(source)
    if into is None and results.folder is None:
        raise UserError(
            f"{source}: has no folder of its own; name a file with --output FILE{SUFFIX}"
        )
    path = into or Path(str(results.folder), CARD_FILE)
    if path.suffix != SUFFIX:
        raise UserError(f"{path}: a card's name ends with {SUFFIX}, by which others know it")
    card, text = card_text(results, analyze(results))
    hint = "or name another file with --output"
    return write_file(path, text, hint), card


def card_text(results: Results, answer: Answer) -> tuple[Card, bytes]:
    """Return the card of results and its text, which is the same for the same results.

    Raises UserError for results that are on a card already, that raced or do not fit.
    """
    if results.card is not None:
        raise UserError(f"{results.name}: is a card already; copy the file")
    if answer.raced:
        raise UserError(
            f"{results.name}: its cases raced, and a card has no race: those that fell behind "
            f"ended early; `{PINSTUDY} advise` has the answer, a study of the same cases a card"
        )
    smaller = "make a card of each of its studies"
    if (count := len(list(answer.cases))) > MAX_CASES:
        cases = plural(count, "case")
        raise UserError(f"{results.name}: {cases}; a card has at most {MAX_CASES}; {smaller}")
    text = encoded(card_of(results, answer))
    if len(text) > MAX_BYTES:
        raise UserError(
            f"{results.name}: its card would be larger than {MAX_BYTES >> 20} MiB; {smaller}"
        )
    try:
        # The types alone decide what may be on a card.
        return decoded(text, Card), text
    except ValueError as error:
        raise UserError(f"{results.name}: cannot be put on a card: {error}") from None


def card_of(results: Results, answer: Answer) -> Card:
    """Return what a card of results says; texts that are no words of the card's are not checked."""
    frame = results.runs.frame if results.runs is not None else None
    source = _source(results)
    node = node_facts(results)
    instruments = _instruments(results.proofs.values())
    latency, why_no_latency = _near_cpus(results.folder)
    missing: dict[Any, str | None] = {
        "node": None if node else NO_NODE[source],
        "instruments": None if instruments else NOT_PROVED,
        "latency": why_no_latency,
    }
    days = results.days
    return Card(
        schema=1,
        kind="card",
        source=source,
        study=next((_name(case.key.study) for case in results.cases if case.key.study), None),
        study_digest=_study_digest(results),
        days=(date.fromisoformat(days[0]), date.fromisoformat(days[1])) if days else None,
        versions=_versions(results),
        node=node,
        of_a_model=frame is not None and bool((frame["node"] == "virtual").any()),
        power_supplies=() if frame is None else power_supplies_of(frame),
        energy_meter=next(iter(results.meters), None),
        unusual_priority=frame is not None and bool(frame["priority"].notna().any()),
        daemons=() if frame is None else tuple(n for n in daemons_of(frame) if n in UNITS),
        instruments=instruments,
        latency=latency,
        margin=answer.margin,
        look=answer.look.number,
        planned_looks=answer.look.planned,
        notes=answer.footnotes if results.is_published else (),
        unavailable={name: why for name, why in missing.items() if why},
        cases=tuple(_cases(answer, source)),
    )


def _source(results: Results) -> Any:  # noqa: ANN401 - one of three words
    if results.is_published:
        return PUBLISHED
    return MEASURED if results.runs is not None else IMPORTED


def _name(text: str) -> str:
    """Return a name that an author gave, on one line, and of a path the last part."""
    return _FOLDERS.sub("", one_line(text, _MAX_LETTERS - 1)) or "(a path)"


def _instruments(proofs: Iterable[Proof]) -> Instruments | None:
    proof = max(proofs, key=lambda proof: proof.proved_at, default=None)
    if proof is None:
        return None
    counts = counted(proof.findings)
    off = {
        _name(finding.name): tuple(field for field in finding.fields if _FIELD.fullmatch(field))
        for finding in proof.off
    }
    day = date.fromisoformat(proof.proved_at[:10])
    return Instruments(day, counts["ok"], counts["absent"], off)


def _near_cpus(folder: Path | None) -> tuple[tuple[NearCpus, ...] | None, str | None]:
    path = folder / LATENCY_FILE if folder is not None else None
    if path is None or not path.exists():
        return None, NO_LATENCY
    try:
        latency = read_latency(path)
    except UserError:
        return None, BAD_LATENCY
    return tuple(
        NearCpus(
            format_cpulist(group.kernel.cpus),
            round(group.range.median_ns, 2),
            round(group.range.least_ns, 2),
            round(group.range.most_ns, 2),
        )
        for group in latency_findings(latency).groups
        if group.range
    ), None


def _study_digest(results: Results) -> str | None:
    if results.runs is None:
        return None
    digests = results.runs.frame["study_digest"].dropna().astype(str).unique()
    return digests[0] if len(digests) == 1 and _DIGEST.fullmatch(digests[0]) else None


def _versions(results: Results) -> dict[Any, tuple[str, ...]]:
    """Return the versions of what took part, each once: who builds his own appends names."""
    found: dict[str, dict[str, None]] = {}
    for record in results.runs.firsts if results.runs is not None else ():
        known = table_in(record, "versions")
        for tool in TOOLS:
            if number := _VERSION.search(str(known.get(tool, ""))):
                found.setdefault(tool, {})[number[0]] = None
        if compiler := _COMPILER.search(str(record.get("built_with"))):
            found.setdefault("compiler", {})[f"{compiler[1]} {compiler[2]}"] = None
        runtime = table_in(record, "runtime")
        name = next((name for name in RUNTIMES if name in str(runtime.get("name"))), None)
        number = _VERSION.search(str(runtime.get("version")))
        if name and number:
            found.setdefault("OpenMP runtime", {})[f"{name} {number[0]}"] = None
    found.setdefault("pinstudy", {VERSION: None})
    return {tool: tuple(versions)[:_MAX_VERSIONS] for tool, versions in found.items()}


def _cases(answer: Answer, source: str) -> Iterator[CardCase]:
    """Yield the cases as a card has them: by their places, as digests of cases cover paths."""
    findings = list(answer.cases)
    places = {case.case_id: place for place, case in enumerate(findings, 1)}
    baselines = {
        case.summary.key.configuration: case.case_id for case in findings if case.is_baseline
    }
    fixed = {case.case_id for table in answer.tables if table.fixed_time for case in table.cases}
    for case in findings:
        summary, key, happened = case.summary, case.summary.key, case.summary.circumstances
        # Nothing is known of the placement in a publication.
        placed = {} if source == PUBLISHED else asdict(case.placed)
        against = places[baselines[key.configuration]] if case.comparisons else 0
        yield CardCase(
            **_shared(summary)
            | {
                name: UNKNOWN if value == "" else _with_names(value)
                for name, value in zip(TABLE_KEYS, key.table[1:], strict=True)
            }
            | _numbers(summary)
            | {"n": summary.n}
            | {
                "table_number": key.table.number,
                "case_number": key.number,
                "settings": _settings(key.settings),
                "co_runner_alone": places.get(key.co_runner_alone or ""),
                "drivers": words_in(happened.drivers),
                "governors_read": words_in(happened.governors_read),
                "excluded": _only(STATUSES, happened.excluded),
                "disturbed": _only(DISTURBANCES, happened.disturbed),
                "placed": {name: count for name, count in placed.items() if count},
                "skipped": None if happened.skip_reason is None else _cause(happened.skip_reason),
                "reasons": dict(_reasons(summary)),
                "fixed_time": case.case_id in fixed,
                "out_of_turn": case.out_of_turn,
                "unclear": {
                    _objective(name): one_line(modes_that_hide(case, name)) for name in case.unclear
                },
                "comparisons": {
                    _objective(name): _stated(comparison, against)
                    for name, comparison in case.comparisons.items()
                },
            }
        )


def _shared(case: Case) -> dict[str, Any]:
    return {
        name: _with_names(getattr(case.key if name in _OF_KEY else case.circumstances, name))
        for name in SHARED
    }


def _settings(settings: Settings) -> dict[str, str]:
    return {name: _name(value) for name, value in settings.pairs if name in NAMES}


def _with_names(value: object) -> Any:  # noqa: ANN401 - whatever a case has
    if isinstance(value, str):
        return _name(value) if value else None
    if isinstance(value, (list, tuple)):
        # Left out if empty, as the default is: Python 3.10 may make another empty tuple.
        return tuple(map(_with_names, value)) or ()
    return value


def _only(known: Iterable[str], values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in known}


def _objective(name: str) -> str:
    start = METRIC.format("")
    return METRIC.format(_name(name[len(start) :])) if name.startswith(start) else str(name)


def _numbers(case: Case) -> dict[str, Any]:
    metrics = {metric.field: metric for metric in case.metrics}
    means = {column: _mean(stats, case.n) for column, stats in case.stats.items() if stats.is_known}
    return {
        "measures": _only(MEASURE_OF, means),
        "metrics": {
            _name(metric.name): Printed(
                tuple(map(one_line, metric.units)), _direction(metric), means.get(column)
            )
            for column, metric in metrics.items()
        },
    }


def _mean(stats: Stats, n: int | None) -> Mean:
    """Return the statistics that are known; `n` runs of a case need not be told again."""
    return Mean(
        stats.mean,
        sd=finite(stats.sd),
        median=finite(stats.median),
        min=finite(stats.min),
        max=finite(stats.max),
        n=None if stats.n == n else stats.n or None,
    )


def _direction(metric: Metric) -> Any:  # noqa: ANN401 - one of two words
    return metric.better if metric.better in DIRECTIONS else None


def _reasons(case: Case) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the causes by measure or status; of a run that went wrong none is known."""
    for name, reasons in case.circumstances.reasons.items():
        if name in _SHOWN:
            yield name, tuple(dict.fromkeys(map(_cause, reasons)))
        elif name in STATUSES and name in case.circumstances.excluded:
            yield name, (OTHER_CAUSE,)


def _cause(reason: str) -> str:
    causes = zip(CAUSES, _WORDS_OF_CAUSES, strict=True)
    return next(cause for cause, words in causes if re.search(words, reason, re.IGNORECASE))


def _stated(comparison: Comparison, against: int) -> StatedComparison:
    said = {
        "outcome": comparison.outcome,
        "against": against,
        "unit": one_line(comparison.objective.unit) or PLAIN,
        "better": DIRECTIONS[comparison.objective.higher],
        "across_attempts": comparison.across_attempts,
    }
    numbers = ends_of(comparison.difference) | asdict(comparison.difference)
    # A card has no runs that more boots could be added to.
    del numbers["components"]
    return msgspec.convert(numbers | said, StatedComparison)
