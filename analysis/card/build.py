"""Results to a card: their means and comparisons, and the facts of the node but its identity."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from analysis.answer import Answer, analyze
from analysis.card.picture import picture_of
from analysis.card.privacy import (
    cause_of,
    causes,
    compiler_in,
    footnotes_without_names,
    known_statuses,
    runtime_in,
    version_number,
    without_paths,
)
from analysis.latency.clusters import find_clusters
from analysis.latency.reading import read_latency
from analysis.records.fields import MEASURES
from analysis.records.files import write_file
from analysis.results.card_file import (
    IMPORTED,
    MAX_BYTES,
    MEASURED,
    PUBLISHED,
    SUFFIX,
    Card,
    Instruments,
    NearCpus,
    comparison_content,
    size_problem,
)
from analysis.results.case_summary import CaseSummary
from analysis.results.node_files import node_facts
from analysis.results.sources import Results, open_results
from analysis.tables.means import raw_row
from analysis.verdict.caveats import unclear_in_words
from analysis.verdict.model import CaseFinding, Comparison
from base import PINSTUDY, VERSION
from base.cpulist import format_cpulist
from base.errors import UserError
from base.reading import table_in
from base.text import one_line
from configs.results_folder import LATENCY_FILE
from configs.values import DIRECTIONS
from runners.records.instruments import Proof, counted
from runners.records.placed_runs import PlacedRuns

FILE = f"card{SUFFIX}"
_MAX_LETTERS = 400
_LAUNCHERS = ("perf", "likwid-pin", "taskset", "numactl", "openmpi", "mpich", "srun")
# Of the node, or of other tables than the card's; `slowdown` follows from the means.
_NOT_ON_CARD = ("study", "node_id", "unproved", "elapsed_cv")
# Not as the command was typed: that has a path.
_NOT_PROVED = "not tested; `pinstudy prove` does that"
_NO_LATENCY = "not measured; `pinstudy latency` does that"
_NOT_THERE = {
    MEASURED: "the file of the node is not beside the records",
    IMPORTED: "imported results do not tell their node",
    PUBLISHED: "the publication does not tell its node",
}


def write_card(source: str, into: Path | None = None) -> tuple[Path, Card]:
    """Write the card of a source of results; return the file's path and the card.

    It goes into the results' folder unless `into` names a file. Raises UserError when the source
    cannot be read, raced, does not fit on a card, has no folder, or when it cannot be written.
    """
    results = open_results(source)
    if into is None and results.folder is None:
        raise UserError(f"{source}: has no folder of its own; name a file with --into FILE{SUFFIX}")
    path = into or Path(str(results.folder), FILE)
    if path.suffix != SUFFIX:
        raise UserError(f"{path}: a card's name ends with {SUFFIX}, by which others know it")
    card, text = card_text(results, analyze(results))
    hint = "or name another file with --into"
    return write_file(path, text, hint), card


def card_text(results: Results, answer: Answer) -> tuple[Card, str]:
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
    cases = answer.cases
    if why := size_problem([case.summary for case in cases]):
        raise UserError(f"{results.name}: {why}; make a card of each of its studies")
    fixed = {case.case_id for table in answer.tables if table.fixed_time for case in table.cases}
    card = replace(card_facts(results, answer), picture=picture_of(answer))
    text = _text(card.content(_cases(cases, fixed, card.source)))
    if len(text.encode()) > MAX_BYTES:
        raise UserError(
            f"{results.name}: its card would be larger than {MAX_BYTES >> 20} MiB; make a card of "
            "each of its studies"
        )
    return card, text


def _text(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def card_facts(results: Results, answer: Answer) -> Card:
    """Return what a card of results says beside their cases, without its picture."""
    node = node_facts(results)
    instruments = _instruments(results.proofs.values())
    clusters, why_no_latency = _clusters(results.folder)
    source = _source(results)
    unavailable = {
        "node": "" if node else _NOT_THERE[source],
        "instruments": "" if instruments else _NOT_PROVED,
        "latency": why_no_latency,
    }
    if results.is_published:
        footnotes = answer.footnotes
    else:
        footnotes = tuple(footnotes_without_names(_without_proofs(results)))
    study, title, digest = _study(results)
    return Card(
        source=source,
        study=study,
        title=title,
        study_digest=digest,
        days=results.days,
        versions=_versions(results),
        node=node,
        instruments=instruments,
        clusters=clusters,
        margin=answer.margin,
        look=answer.look.number,
        planned_looks=answer.look.planned,
        footnotes=footnotes,
        unavailable={name: why for name, why in unavailable.items() if why},
    )


def _source(results: Results) -> str:
    if results.is_published:
        return PUBLISHED
    return MEASURED if results.runs is not None else IMPORTED


def _without_proofs(results: Results) -> Iterable[str]:
    """Return the footnotes without those on instruments, which a card has as numbers."""
    ids = {proof.node_id for proof in results.proofs.values()}
    return [
        note
        for note in results.footnotes
        if not any(f" of {one_line(of)} off when it was tested" in note for of in ids)
    ]


def _instruments(proofs: Iterable[Proof]) -> Instruments | None:
    proof = max(proofs, key=lambda of: of.proved_at, default=None)
    if proof is None:
        return None
    counts = counted(proof.findings)
    off = {without_paths(of.name)[:100]: tuple(of.fields) for of in proof.off}
    return Instruments(proof.proved_at[:10], counts["ok"], counts["absent"], off)


def _clusters(folder: Path | None) -> tuple[tuple[NearCpus, ...] | None, str]:
    """Return the clusters of the latencies beside records, or why there are none."""
    path = folder / LATENCY_FILE if folder is not None else None
    if path is None or not path.exists():
        return None, _NO_LATENCY
    try:
        latency = read_latency(path)
    except UserError:
        return None, f"the file {LATENCY_FILE} beside the records cannot be read"
    clusters = find_clusters(latency.both_ways).found
    return tuple(
        NearCpus(
            format_cpulist(latency.cpus[row] for row in of.rows),
            of.level,
            round(of.within_ns, 2),
            round(of.outside_ns, 2),
        )
        for of in clusters
    ), ""


def _study(results: Results) -> tuple[str | None, str | None, str | None]:
    """Return the study's name, its title and its digest; None for what is not known."""
    names = [case.study for case in results.cases if case.study]
    name = without_paths(names[0])[:_MAX_LETTERS] if names else None
    if results.runs is None or results.folder is None:
        return name, None, None
    digests = [str(of) for of in results.runs.frame["study_digest"].dropna().unique()]
    digest = digests[0] if len(digests) == 1 and digests[0].isalnum() else None
    title = without_paths(results.title or "")[:_MAX_LETTERS] or None
    return name, title, digest


def _versions(results: Results) -> dict[str, str]:
    """Return the versions of what took part, as numbers; several of one are joined by commas."""
    found: dict[str, dict[str, None]] = {}
    for record in results.runs.firsts if results.runs is not None else ():
        known = table_in(record, "versions")
        for name, version in (
            ("pinstudy", version_number(known.get("pinstudy"))),
            *((name, version_number(known.get(name))) for name in _LAUNCHERS),
            ("compiler", compiler_in(record.get("build"))),
            ("OpenMP runtime", runtime_in(record.get("runtime"))),
        ):
            if version:
                found.setdefault(name, {})[version] = None
    found.setdefault("pinstudy", {VERSION: None})
    return {name: ", ".join(list(of)[:5]) for name, of in found.items()}


def _cases(cases: Sequence[CaseFinding], fixed: set[str], source: str) -> list[dict[str, Any]]:
    """Return the cases as a card has them: numbered from 1, because their digests tell too much."""
    ids = {case.case_id: str(at) for at, case in enumerate(cases, 1)}
    baselines = {case.summary.setting: case.case_id for case in cases if case.is_baseline}
    return [
        _row(case.summary, ids)
        | ({"disturbed": dict(case.summary.disturbed)} if case.summary.disturbed else {})
        | ({"runs_of": runs_of} if (runs_of := _runs_of(case.summary)) else {})
        | ({"fixed_time": True} if case.case_id in fixed else {})
        | ({"out_of_turn": True} if case.out_of_turn else {})
        | ({"unclear": unclear} if (unclear := unclear_in_words(case)) else {})
        | {
            "placed": asdict(_placed(case, source)),
            "comparisons": [
                _comparison(objective, of, ids[baselines[case.summary.setting]])
                for objective, of in case.comparisons.items()
            ],
        }
        for case in cases
    ]


def _placed(case: CaseFinding, source: str) -> PlacedRuns:
    """Return in how many runs the placement was proved; nothing is known of a publication's."""
    return PlacedRuns() if source == PUBLISHED else case.placed


def _row(case: CaseSummary, ids: Mapping[str, str]) -> dict[str, Any]:
    """Return a case's columns, as tables.csv has them, without what is empty or identifies."""
    skip_reason = cause_of(case.skip_reason) if case.skip_reason is not None else None
    safe = replace(
        case,
        reasons=causes({name: case.reasons[name] for name in _known(case)}),
        excluded=known_statuses(case.excluded),
        skip_reason=skip_reason,
        case_id=ids[case.case_id],
        beside_alone=ids.get(case.beside_alone or ""),
    )
    row = {"table_number": case.table.number} | raw_row(safe)
    # Reasons are causes already, which have no paths, and a row may have many.
    return {
        name: without_paths(value)[:_MAX_LETTERS]
        if isinstance(value, str) and name != "reasons"
        else value
        for name, value in row.items()
        if name not in _NOT_ON_CARD and value is not None and value != ""
    }


def _known(case: CaseSummary) -> list[str]:
    """Return the measures that tables show, and statuses, of which a reason is known."""
    return [name for name in (*MEASURES, *known_statuses(case.excluded)) if name in case.reasons]


def _runs_of(case: CaseSummary) -> dict[str, int]:
    """Return how many runs have each measure, where not all have it."""
    return {
        name: of.n
        for name, of in case.measures.items()
        if of.n is not None and of.n != case.n and of.mean == of.mean
    }


def _comparison(objective: str, of: Comparison, against: str) -> dict[str, Any]:
    named = of.objective
    words = {
        "objective": str(objective),
        "unit": named.unit,
        "better": DIRECTIONS[named.higher],
        "word": of.outcome,
    }
    return comparison_content(against, of.difference, of.across_attempts, words)
