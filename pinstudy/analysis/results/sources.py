"""The sources of results: a results folder with records or summaries, a publication, or a card.

Records of several nodes, studies or programs are refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

import pandas as pd

from pinstudy.analysis.format.table import joined
from pinstudy.analysis.published import publication
from pinstudy.analysis.records.files import read_limited, read_node
from pinstudy.analysis.records.flat import REGION
from pinstudy.analysis.records.frame import METER
from pinstudy.analysis.records.runs import Runs, read_runs
from pinstudy.analysis.results.baselines import OUT_OF_TURN, with_turns
from pinstudy.analysis.results.card_file import PUBLISHED as OF_A_PUBLICATION
from pinstudy.analysis.results.card_file import SUFFIX, Card, NodeFacts, is_card, read_card
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.caveats import (
    folder_footnotes,
    isolation_footnotes,
    off_fields,
    proof_footnotes,
    read_proofs,
)
from pinstudy.analysis.results.summaries import FILE, read_summaries
from pinstudy.analysis.results.summaries import FOOTNOTE as OF_MEANS
from pinstudy.analysis.results.summarise import summarise
from pinstudy.base import PINSTUDY
from pinstudy.base.decoding import converted
from pinstudy.base.errors import UserError
from pinstudy.base.text import first_of, one_line, shown
from pinstudy.configs.results_folder import STUDY_FILE
from pinstudy.runners.records.instruments import Proof
from pinstudy.runners.records.kept_facts import changed_between, files_between
from pinstudy.runners.records.line import InvalidLine
from pinstudy.runners.records.reader import read_lines, shards_of

PUBLISHED = "published:"
# Of the files of a study, how many are named.
_MAX_FILES = 3
_OTHERWISE = (
    "they are not taken together: move the files of one of the two out of records/ into a folder "
    "of their own"
)


@dataclass(frozen=True)
class Results:
    """Results by case, and by run where there are runs.

    `name` is for messages; `folder` holds them and the files about them, None for a publication
    and for a card, which `card` is then. `footnotes` have to stand under each of their tables.
    `proofs` are what was found of the nodes' instruments, by the nodes' digests. `published_node`
    is what a publication says of its node; `deviations_unstated` as of `Publication`.
    """

    name: str
    folder: Path | None
    runs: Runs | None
    cases: Sequence[Case]
    footnotes: tuple[str, ...]
    proofs: Mapping[str, Proof] = field(default_factory=dict)
    card: Card | None = None
    published_node: NodeFacts | None = None
    deviations_unstated: bool = False

    @property
    def off(self) -> dict[str, str]:
        """Why the values of some fields of records are wrong, by field."""
        return self.card.off if self.card else off_fields(self.proofs.values())

    @property
    def is_published(self) -> bool:
        """Whether these are a publication's results."""
        return self.card.source == OF_A_PUBLICATION if self.card else self.folder is None

    @property
    def made_here(self) -> bool:
        """Whether pinstudy made the runs, and their records are here."""
        # A folder has imported runs only, or none.
        return self.runs is not None and not any(
            "imported" in record for record in self.runs.firsts
        )

    @property
    def has_emulated_guests(self) -> bool:
        """Whether any case is of a guest that QEMU emulated."""
        return any(case.key.table.is_emulated for case in self.cases)

    @property
    def fixed_time(self) -> frozenset[str]:
        """The cases of programs whose run time is an argument, by case_id."""
        if self.card is not None:
            return self.card.fixed_time
        if self.runs is None:
            return frozenset()
        frame = self.runs.frame
        return frozenset(map(str, frame["case_id"][frame["fixed_time"]].unique()))

    @property
    def days(self) -> tuple[str, str] | None:
        """The first and the last day of the runs, in UTC; None where nobody knows."""
        if self.card is not None:
            days = self.card.days
            return (days[0].isoformat(), days[1].isoformat()) if days else None
        if self.runs is None or (started := self.runs.frame["started_s"].dropna()).empty:
            return None
        try:
            first, last = (
                datetime.fromtimestamp(at, timezone.utc).date().isoformat()
                for at in (started.min(), started.max())
            )
        except (OverflowError, ValueError, OSError):
            return None
        return first, last

    @property
    def title(self) -> str | None:
        """The title that the study's file beside the records gives it; None where it gives none."""
        # As in analysis.published: most commands print no title.
        from pinstudy.configs.document import parse_yaml

        data = None if self.folder is None else read_limited(self.folder / STUDY_FILE)
        study = None if data is None else parse_yaml(data, STUDY_FILE).value
        title = study.get("title") if isinstance(study, dict) else None
        return one_line(title) or None if isinstance(title, str) else None

    @property
    def meters(self) -> tuple[str, ...]:
        """The meter of the energies with its scope, one or none: runs are never of two."""
        if self.card:
            return (self.card.energy_meter,) if self.card.energy_meter else ()
        return () if self.runs is None else tuple(self.runs.frame[METER].dropna().unique())

    @property
    def days_proved(self) -> list[str]:
        """On which days the nodes' instruments were tested."""
        if self.card:
            return [str(self.card.instruments.day)] if self.card.instruments else []
        return sorted({proof.proved_at[:10] for proof in self.proofs.values()})

    def why_absent(self, cases: Iterable[Case], fields: Collection[str]) -> list[str]:
        """Return why runs of some cases lack fields of a record, each reason once, on one line."""
        of_cases = {case.key.case_id: case for case in cases}
        reasons: list[object] = []
        if self.runs is not None:
            absent = self.runs.reasons
            mine = absent["case_id"].isin(of_cases) & absent["field"].isin(fields)
            reasons += absent["reason"][mine].tolist()
        for case in of_cases.values():
            for name in fields:
                reasons += case.circumstances.reasons.get(name, ())
        return list(dict.fromkeys(one_line(str(reason)) for reason in reasons))


def open_results(source: str) -> Results:
    """Return the results in a folder, on a card (a file *.json), or those of `published:NAME`.

    The folder may be that of a study with one node. Where all runs failed, their cases are results
    as well. Raises UserError when there are no results, not one record of a run that can be used,
    those of several nodes or studies, of a node or program that changed, or when they cannot be
    read.
    """
    only, *more = sources_below(source)
    if more:
        raise UserError(
            f"{source}: holds the results of several nodes or studies; name one of them: "
            f"{', '.join([only, *more])}"
        )
    if only.startswith(PUBLISHED):
        return _published(only.removeprefix(PUBLISHED))
    folder = Path(only)
    if is_card(only) and not folder.is_dir():
        card = read_card(folder)
        return Results(only, None, None, card.all_cases(), card.footnotes, card=card)
    if (folder / FILE).exists():
        return _summaries(folder)
    runs, proofs, footnotes = read_folder(folder)
    cases = with_turns(summarise(runs), runs.frame)
    if not cases:
        why = f" ({joined(footnotes)})" if footnotes else ""
        raise UserError(
            f"{folder}: there is no run in its records{why}; continue the study with "
            f"`{PINSTUDY} run`, or name other results"
        )
    nodes = (read_node(folder, digest) for digest in runs.node_digests)
    footnotes += tuple(isolation_footnotes(filter(None, nodes), cases))
    # Cases that raced are compared by the race's own rules.
    if not runs.raced and any(case.circumstances.out_of_turn for case in cases):
        footnotes += (OUT_OF_TURN,)
    return Results(str(folder), folder, runs, cases, footnotes, proofs)


def read_folder(folder: Path) -> tuple[Runs, dict[str, Proof], tuple[str, ...]]:
    """Return the runs in a folder, what was found of the instruments, and what is to be told.

    Raises UserError as `open_results` does, but not where there is no run among the records.
    """
    runs = read_runs(folder)
    # Runs of another node may all be repetitions that count already, and be in `repeated` alone.
    for records in (runs.frame, runs.repeated):
        check_one_node(records, folder)
        check_one_program(records, folder)
    proofs = read_proofs(folder, runs.node_digests)
    return runs, proofs, (*folder_footnotes(runs, folder), *proof_footnotes(proofs.values()))


def sources_below(source: str) -> list[str]:
    """Return a source of results itself, or those in a folder of studies, nodes or cards, sorted.

    Raises UserError when there are none.
    """
    folder = Path(source)
    if source.startswith(PUBLISHED) or has_results(folder) or _is_card_file(source):
        return [source]
    for depth in ("*", "*/*"):
        found = sorted(str(path) for path in _glob(folder, depth) if has_results(path))
        if found:
            return found
    if cards := sorted(str(path) for path in _glob(folder, f"*{SUFFIX}")):
        return cards
    raise UserError(
        f"{source}: no results here (expected a folder such as results/quick/mynode with "
        f"records/*.jsonl or {FILE}, {PUBLISHED}NAME, or cards, *{SUFFIX}); make some with "
        f"`{PINSTUDY} run quick`"
    )


def has_folder(source: str) -> bool:
    """Return whether a source is a folder, beside whose records files can be written."""
    return not (source.startswith(PUBLISHED) or _is_card_file(source))


def _is_card_file(source: str) -> bool:
    """Return whether a source is named as a card is, and is no folder."""
    try:
        return is_card(source) and not Path(source).is_dir()
    except ValueError:  # a NUL in the name
        return False


def has_results(folder: Path) -> bool:
    """Return whether a folder itself has records, or means."""
    try:
        return (folder / "records").is_dir() or (folder / FILE).is_file()
    except ValueError:  # a NUL in the name
        return False


def _glob(folder: Path, pattern: str) -> list[Path]:
    try:
        return list(folder.glob(pattern))
    except (OSError, ValueError):
        return []


def folders_for(results: str, into: Path | None) -> list[tuple[str, Path | None]]:
    """Return the sources below `results` with where files about each go; None: beside the records.

    Several sources get folders of their own below `into`, named as below `results`. Raises
    UserError when there are no sources.
    """
    sources = sources_below(results)
    if into is None or len(sources) == 1:
        return [(source, into) for source in sources]
    below = (Path(source).relative_to(results) for source in sources)
    return [
        (source, into / (path.with_suffix("") if is_card(source) else path))
        for source, path in zip(sources, below, strict=True)
    ]


def _published(name: str) -> Results:
    source = publication(name)
    cases = read_summaries(source.folder / FILE, "the publication does not give it")
    node = converted(source.node, NodeFacts)
    return Results(
        f"{PUBLISHED}{name}",
        None,
        None,
        cases,
        source.footnotes,
        published_node=node,
        deviations_unstated=source.deviations_unstated,
    )


def _summaries(folder: Path) -> Results:
    if any((folder / "records").glob("*.jsonl")):
        raise UserError(
            f"{folder}: holds runs (records/) and means without runs ({FILE}); move one of them to "
            "a folder of its own"
        )
    cases = read_summaries(folder / FILE, f"not in the imported {FILE}")
    of_order = (OUT_OF_TURN,) if any(case.circumstances.out_of_turn for case in cases) else ()
    return Results(str(folder), folder, None, cases, (OF_MEANS, *of_order))


def check_one_node(frame: pd.DataFrame, folder: Path) -> None:
    """Raise UserError when records are of several nodes or studies, or of a node that changed.

    Two studies may have one name. `pinstudy run` refuses to go on then, so somebody has put them
    together. `frame` is one of `pinstudy.analysis.records.runs.Runs`, in which interchangeable
    nodes have one name.
    """
    for noun, name in (("nodes", "node_id"), ("studies", "study")):
        found = sorted(shown(str(value)) for value in frame[name].dropna().unique())
        if len(found) > 1:
            raise UserError(
                f"{folder}: holds runs of several {noun} ({', '.join(found)}); they are not taken "
                "together: move the files of each out of records/ into a folder of its own"
            )
    digests = [str(digest) for digest in frame["study_digest"].dropna().unique()]
    if len(digests) > 1:
        study = shown(next(map(str, frame["study"].dropna()), None))
        raise UserError(
            f"{folder}: holds runs of two studies named {study}, or of before and after it "
            f"changed ({_files_of(folder, *digests[:2])}); {_OTHERWISE}"
        )
    known = frame[["node_id", "node_digest"]].dropna().drop_duplicates().astype(str)
    for node, facts in known.groupby("node_id", sort=False):
        first, *later = facts["node_digest"]
        if later:
            raise UserError(
                f"{folder}: holds runs of before and after node {shown(node)} changed: "
                f"{changed_between(folder, first, later[0])}; {_OTHERWISE}"
            )


def _files_of(folder: Path, first: str, second: str) -> str:
    """Return which files have the runs of two study digests, as far as that can be told."""
    names: dict[str, list[str]] = {first: [], second: []}
    for shard in shards_of(folder / "records"):
        found = {
            str(record.get("study_digest"))
            for record in read_lines(shard)
            if not isinstance(record, InvalidLine)
        }
        for digest in found.intersection(names):
            names[digest].append(one_line(f"records/{shard.name}"))
    both = [first_of(files, _MAX_FILES, ", ") or "a file that is gone" for files in names.values()]
    if both[0] == both[1]:
        return f"both in {both[0]}"
    return "{} of the one, {} of the other".format(*both)


def check_one_program(frame: pd.DataFrame, folder: Path) -> None:
    """Raise UserError when the cases of a table were runs of different programs.

    `pinstudy run` refuses that, too. Sizes and thread counts may name scripts of their own. Of
    records from before schema 4 the program is not known.
    """
    keys = ["app", "build", "size", "ranks", "threads"]
    known = frame[[*keys, "program_digest"]].fillna({"ranks": 0}).astype({"ranks": int})
    known = known.dropna().drop_duplicates()
    for case, programs in known.groupby(keys, sort=False, observed=True):
        first, *later = programs["program_digest"].astype(str)
        if later:
            app, build, size, ranks, threads = (one_line(str(key)) for key in case)
            with_ranks = "" if ranks == "0" else f"ranks {ranks}, "
            raise UserError(
                f"{folder}: holds runs of two programs for {app}-{build}, size {size}, "
                f"{with_ranks}threads {threads}: "
                f"{files_between((folder, first), (folder, later[0]))}; {_OTHERWISE}"
            )


def of_region(results: Results, region: str | None) -> Results:
    """Return the results of one region under the names of its runs' cases; of whole runs for None.

    What was not run at all has no regions, and stays.
    """
    if results.runs is None or REGION not in results.runs.frame:
        return results
    frame, suffix = results.runs.frame, f":{region}" if region else ""
    mine = frame[frame[REGION] == region if region else frame[REGION].isna()]
    names = mine["case_id"].astype(str).str.removesuffix(suffix).astype("category")
    cases = [
        replace(case, key=replace(case.key, case_id=case.key.case_id.removesuffix(suffix)))
        for case in results.cases
        if case.key.table.region == region or (region and case.was_skipped)
    ]
    return replace(
        results, cases=cases, runs=replace(results.runs, frame=mine.assign(case_id=names))
    )
