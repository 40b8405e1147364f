"""One study over time: a series for each case, its change points, and which facts changed there.

Results are ordered by when their first run started. Cases are the same by their case_id, which is a
digest of what defines them. What changed is of the node, tools, program, libraries, inherited
variables and settings, as far as both results tell; it stands beside a change, and is no proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path

import numpy as np

from pinstudy.analysis.answer import MARGIN, Answer, analyze
from pinstudy.analysis.compare.conditions import (
    NOT_COMPARED,
    Condition,
    JudgedCase,
    Judgement,
    short_names,
)
from pinstudy.analysis.compare.matching import (
    Unlike,
    differences_of_programs,
    differences_of_results,
    differences_of_settings,
)
from pinstudy.analysis.objectives import Objective
from pinstudy.analysis.records.keys import CaseKey
from pinstudy.analysis.results.sources import Results, has_results, open_results, sources_below
from pinstudy.analysis.statistics.changepoints import (
    ChangePoint,
    change_points,
    levels,
    newest_difference,
)
from pinstudy.analysis.statistics.decision import Outcome
from pinstudy.analysis.statistics.sample import Array, Sample
from pinstudy.analysis.verdict.comparisons import compare_all
from pinstudy.analysis.verdict.model import CaseFinding, TableFindings, unusable
from pinstudy.analysis.words import experiments as words
from pinstudy.base import PINSTUDY
from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line, plural, shown, unknown_word

_AGAINST = "against the level before"
# An archive has a folder a day, and in each `study/node`.
_ARCHIVE = "*/*/*"


@dataclass(frozen=True)
class Entry:
    """One of the results in a history: what it holds, and when its first run started (UTC)."""

    results: Results
    answer: Answer
    started: datetime

    @cached_property
    def cases(self) -> Mapping[str, tuple[TableFindings, CaseFinding]]:
        """Its cases of whole runs, and their tables, by case_id."""
        return {
            case.case_id: (table, case)
            for table in self.answer.tables
            if table.key.region is None
            for case in table.cases
        }

    @cached_property
    def _left_out(self) -> Mapping[tuple[object, ...], CaseFinding]:
        return {
            _row_of(case.summary.key): case
            for _, case in self.cases.values()
            if case.summary.was_skipped
        }

    def case(self, key: CaseKey) -> CaseFinding | None:
        """Return the case; where the node left its row out, which has another case_id, the row."""
        _, case = self.cases.get(key.case_id, (None, None))
        return case or self._left_out.get(_row_of(key))

    @property
    def runs(self) -> int:
        """How many runs are averaged."""
        return sum(case.summary.n or 0 for _, case in self.cases.values())


def _row_of(key: CaseKey) -> tuple[object, ...]:
    """Return what tells a row of a study from others, whatever the node made of it."""
    of_table = key.table._replace(number=None), key.mpi, key.co_runner
    return *of_table, key.full_mapping, key.governor, key.settings


@dataclass(frozen=True)
class Change:
    """A change point between two results, by their positions in the history.

    `facts` are what else changed between.
    """

    before: int
    after: int
    point: ChangePoint
    outcome: Outcome
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Series:
    """A case's values of an objective, in the order of the results.

    `at` has the positions of the results that have a value, `samples` the values; `absent` says by
    position why the others have none. `title` is the table's, `label` that of the row.
    """

    name: str
    label: str
    title: str
    app: str
    key: CaseKey
    objective: Objective
    at: tuple[int, ...]
    samples: tuple[Sample, ...]
    absent: Mapping[int, str]
    changes: tuple[Change, ...] = ()

    @property
    def case_id(self) -> str:
        """The case's."""
        return self.key.case_id

    @property
    def logs(self) -> Array:
        """The logarithms of the typical values."""
        return np.log([sample.centre for sample in self.samples])

    @property
    def levels(self) -> list[tuple[int, int, float]]:
        """The positions in `at` of each level's first value and after its last, and its value."""
        points = [change.point for change in self.changes]
        return [(a, b, float(np.exp(level))) for a, b, level in levels(self.logs, points)]


@dataclass(frozen=True)
class ResultsHistory:
    """A study on a node over time: its results, and a series for each case and objective."""

    study: str
    node: str
    entries: Sequence[Entry]
    series: Sequence[Series] = field(default=())

    @property
    def days(self) -> list[str]:
        """The day of each result, with the minute where two are of one day."""
        days = [f"{entry.started:%Y-%m-%d}" for entry in self.entries]
        if len(set(days)) == len(days):
            return days
        return [f"{entry.started:%Y-%m-%d %H:%M}" for entry in self.entries]

    def changed_before(self, position: int) -> tuple[str, ...]:
        """Return which facts of all cases differ from the results before; none of the first."""
        if position == 0:
            return ()
        before, after = self.entries[position - 1], self.entries[position]
        return facts_between(before, after, after.cases)


def open_history(
    folders: Iterable[str], study: str | None = None, node: str | None = None
) -> ResultsHistory:
    """Return the results in these folders by time, without their series.

    Each is a results folder or one above several. `study` and `node` choose among several. Raises
    UserError for results without runs, of a race, of several studies or nodes, with runs in common,
    and for fewer than two.
    """
    sources = {Path(source).resolve(): source for folder in folders for source in _below(folder)}
    opened = [open_results(source) for source in sources.values()]
    for results in opened:
        if results.runs is None:
            raise UserError(f"{results.name}: holds means without runs; a history needs records")
    study, opened = _only("study", study, [(_named(results)[0], results) for results in opened])
    node, opened = _only("node", node, [(_named(results)[1], results) for results in opened])
    entries = sorted(map(_entry, opened), key=lambda entry: (entry.started, entry.results.name))
    if len(entries) < 2:
        raise UserError(
            f"{opened[0].name}: a history needs the results of two days or more; keep each in a "
            f"folder of its own, by `{PINSTUDY} run STUDY --results DIR`"
        )
    _check_apart(entries)
    return ResultsHistory(study, node, entries)


def _below(folder: str) -> list[str]:
    try:
        return sources_below(folder)
    except UserError:
        with suppress(OSError, ValueError):
            if found := sorted(
                str(path) for path in Path(folder).glob(_ARCHIVE) if has_results(path)
            ):
                return found
        raise


def _named(results: Results) -> tuple[str, str]:
    """Return the study and the node of results, which have one of each."""
    key = results.cases[0].key
    return one_line(key.study or ""), one_line(key.node_id or "")


def _only(
    noun: str, wanted: str | None, named: Sequence[tuple[str, Results]]
) -> tuple[str, list[Results]]:
    names = list(dict.fromkeys(name for name, _ in named))
    if wanted is None and len(names) > 1:
        plurals = {"study": "studies", "node": "nodes"}
        raise UserError(
            f"results of several {plurals[noun]} ({', '.join(map(shown, names))}); "
            f"choose with --{noun}"
        )
    if wanted is not None and wanted not in names:
        raise UserError(f"--{noun}: {unknown_word(noun, wanted, names)}")
    name = names[0] if wanted is None else wanted
    return name, [results for its_name, results in named if its_name == name]


def _entry(results: Results) -> Entry:
    assert results.runs is not None
    if results.runs.raced:
        raise UserError(
            f"{results.name}: its cases raced; a history needs a study that repeats all"
        )
    first = results.runs.frame["started_s"].min()
    try:
        started = datetime.fromtimestamp(float(first), timezone.utc)
    except (OverflowError, ValueError, OSError):
        raise UserError(f"{results.name}: no record says when its run started") from None
    return Entry(results, analyze(results), started)


def _check_apart(entries: Sequence[Entry]) -> None:
    """Raise UserError where results share runs: a copy, or a study that was continued."""
    first_with: dict[tuple[str, float], str] = {}
    for entry in entries:
        assert entry.results.runs is not None
        frame = entry.results.runs.frame[["case_id", "started_s"]].dropna()
        runs = set(zip(frame["case_id"].astype(str), frame["started_s"], strict=True))
        for run in runs.intersection(first_with):
            raise UserError(
                f"{entry.results.name}: holds runs of {first_with[run]}, too; name one of both, "
                f"and begin anew each time, by `{PINSTUDY} run STUDY --fresh` or --results DIR"
            )
        first_with |= dict.fromkeys(runs, entry.results.name)


def with_series(history: ResultsHistory, objective: str = "") -> ResultsHistory:
    """Return the history with the series of its cases and their change points.

    `objective` is time, energy, edp or a number that the program prints; empty for the time, and
    for what a program of a given time prints. All series are tested together. Raises UserError for
    an objective that no case has.
    """
    condition = Condition("", NOT_COMPARED, objective=objective)
    known = [
        name for entry in history.entries for t in entry.answer.tables for name in t.objectives
    ]
    condition.check_objective(known)
    series = list(_series(history.entries, condition))
    found = change_points([line.logs for line in series], [line.at for line in series])
    return replace(
        history,
        series=tuple(
            replace(line, changes=tuple(_change(history.entries, line, point) for point in points))
            for line, points in zip(series, found, strict=True)
        ),
    )


def _series(entries: Sequence[Entry], condition: Condition) -> Iterator[Series]:
    newest: dict[str, tuple[TableFindings, CaseFinding]] = {}
    for entry in reversed(entries):
        newest = {**entry.cases, **newest}
    names = short_names([table.key for table, _ in newest.values()])
    for name, (table, case) in zip(names, newest.values(), strict=True):
        for objective in condition.objectives_of(table):
            values: dict[int, Sample] = {}
            absent: dict[int, str] = {}
            for at, entry in enumerate(entries):
                found = _value(entry, case.summary.key, objective)
                if isinstance(found, Sample):
                    values[at] = found
                else:
                    absent[at] = found
            if values:
                yield Series(
                    f"{name} {case.label}", case.label, table.title, table.key.app,
                    case.summary.key, objective, tuple(values), tuple(values.values()), absent,
                )  # fmt: skip


def _value(entry: Entry, key: CaseKey, objective: Objective) -> Sample | str:
    """Return a case's values in one of the results, or why it has none that counts."""
    case = entry.case(key)
    if case is None:
        return words.NO_SUCH_CASE
    if reason := case.summary.circumstances.skip_reason:
        return one_line(reason)
    if unusable([case], objective):
        return words.LOST.format(lost=plural(case.lost_of(objective).count, "lost run"))
    same = (mine for mine in case.samples if getattr(mine, "identity", "") == objective.identity)
    sample = next((case.samples[mine] for mine in same), None)
    return sample if sample and sample.centre > 0 else words.NO_VALUE.format(of=objective.short)


def labels_in(series: Sequence[Series]) -> list[str]:
    """Return the labels of series, without the settings where all share them."""
    heads, breaks, settings = zip(*(line.label.rpartition(" (") for line in series), strict=True)
    is_shared = all(breaks) and len(set(settings)) == 1
    return list(heads) if is_shared else [line.label for line in series]


def _change(entries: Sequence[Entry], series: Series, point: ChangePoint) -> Change:
    before, after = series.at[point.position - 1], series.at[point.position]
    loss = series.objective.loss(point.difference.log_ratio)
    return Change(
        before,
        after,
        point,
        "worse" if loss > 0 else "better",
        facts_between(entries[before], entries[after], [series.case_id]),
    )


def facts_between(before: Entry, after: Entry, case_ids: Iterable[str]) -> tuple[str, ...]:
    """Return in words which facts differ between two results, of their nodes and these cases."""
    both = before.results, after.results
    unlike = dict.fromkeys((*_studies(before, after), *differences_of_results(*both)))
    tables: set[object] = set()
    for case_id in case_ids:
        if case_id not in before.cases or case_id not in after.cases:
            continue
        (table_a, case_a), (table_b, case_b) = before.cases[case_id], after.cases[case_id]
        if table_b.key not in tables:
            unlike |= dict.fromkeys(differences_of_programs(*both, table_a, table_b))
            tables.add(table_b.key)
        unlike |= dict.fromkeys(differences_of_settings(*both, [(case_a, case_b)]))
    return tuple(dict.fromkeys(map(_in_words, unlike)))


def _studies(before: Entry, after: Entry) -> Iterator[Unlike]:
    digests = []
    for entry in (before, after):
        assert entry.results.runs is not None
        found = entry.results.runs.frame["study_digest"].dropna()
        digests.append(str(found.iloc[0]) if len(found) else "")
    if all(digests) and digests[0] != digests[1]:
        yield Unlike("the study's file", digests[0][:12], digests[1][:12])


def _in_words(unlike: Unlike) -> str:
    if unlike.changes:
        return words.CHANGED.format(fact=unlike.fact, changes=unlike.changes)
    return words.FROM_TO.format(fact=unlike.fact, a=unlike.a, b=unlike.b)


def judge_newest(condition: Condition, history: ResultsHistory) -> Judgement:
    """Return how the newest results are against the level before them, case by case.

    The level is that since the last change point of the results before. All cases are tested
    together (Holm). Raises UserError where the condition asks for an unknown objective.
    """
    series = with_series(history, condition.objective).series
    last = len(history.entries) - 1
    has_newest = [line for line in series if line.at[-1] == last]
    before = change_points(
        [line.logs[:-1] for line in has_newest], [line.at[:-1] for line in has_newest]
    )
    differences = {
        (line.case_id, line.objective): difference
        for line, points in zip(has_newest, before, strict=True)
        if (difference := newest_difference(line.logs, points)) is not None
    }
    compared = compare_all(differences, condition.margin or MARGIN, lambda key: key[1])
    cases = []
    for line in filter(lambda line: _is_judged(history, line.key), series):
        found = compared.get((line.case_id, line.objective))
        outcome = found.outcome if found else NOT_COMPARED
        difference = found.difference if found else None
        cases.append(JudgedCase(line.name, line.case_id, line.objective, outcome, difference))
    facts = history.changed_before(last)
    notes = [words.BEFORE_NEWEST.format(facts="; ".join(facts))] if facts else []
    return Judgement(condition, _AGAINST, cases, notes)


def _is_judged(history: ResultsHistory, key: CaseKey) -> bool:
    """Return whether a case belongs to the newest results, or is missing there.

    One that the node cannot run any more does not, nor one that the study lost earlier.
    """
    before, newest = (entry.case(key) for entry in history.entries[-2:])
    return before is not None if newest is None else not newest.summary.was_skipped
