"""Conditions that fail a command, as in CI: `worse 2%`, `worse 5% energy`, `undecided`.

A condition is an outcome, from which change on it counts, and of which objective.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from pinstudy.analysis.answer import Answer, analyze
from pinstudy.analysis.compare.side_by_side import SideBySide, compare
from pinstudy.analysis.format.numbers import decimals_left, finite, signed, signed_percents
from pinstudy.analysis.objectives import OBJECTIVES, TIME, Objective
from pinstudy.analysis.records.keys import TABLE_KEYS, TableKey
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.statistics.decision import Outcome
from pinstudy.analysis.statistics.difference import Difference
from pinstudy.analysis.verdict.model import TableFindings, objectives_in
from pinstudy.analysis.words import experiments as words
from pinstudy.base.errors import UserError
from pinstudy.base.text import one_line, plural, unknown_word
from pinstudy.configs.values import share_option

NOT_COMPARED = "not compared"
OUTCOMES = (*get_args(Outcome), NOT_COMPARED)
FORM = "expected OUTCOME [MARGIN%] [OBJECTIVE], such as 'worse 2% energy'"
_CHANGES = ("better", "worse")
# In the name of a case whatever else it shares with all others.
_NAMED = ("app", "ranks", "threads", "region")
_WORD = re.compile(r"\S+")
_NOT_COMPARED = re.compile(r"not\s+compared(?!\S)")
# A number, with or without its sign, or what is meant to be one.
_MARGIN = re.compile(r"[-+.,\d]+\s*%\S*|\S*%\S*|[-+]?[.,\d]+(?!\S)")


@dataclass(frozen=True)
class Condition:
    """What `--fail-if` asks for; `text` is as it was typed, but for blanks.

    With a `margin` (a share) that is the equivalence margin, and a better or worse case counts from
    that change on. `objective` is the name of one, empty for the time; `at` is where it stands.
    """

    text: str
    outcome: str
    margin: float | None = None
    objective: str = ""
    at: int = 0

    def objectives_of(self, table: TableFindings) -> list[Objective]:
        """Return what its cases are judged by; of a program of a given time what it prints."""
        if self.objective:
            return [known for known in table.objectives if self.objective in _names(known)]
        return list(table.compared_by) if table.fixed_time else [TIME]

    def judge(
        self,
        results: Results,
        answer: Answer,
        others: Results | None = None,
        baseline: str | None = None,
    ) -> Judgement:
        """Return how its cases are against their baselines, or against the same ones of others.

        `answer` is that of the results. Raises UserError where it asks for an unknown objective.
        """
        if others is None:
            cases = _against_baselines(self, results, answer, baseline)
            return Judgement(self, "against the baseline", cases)
        both = compare(others, results, self.margin or answer.margin, with_edp=True)
        notes = [
            words.UNLIKE.format(fact=unlike.fact, a=unlike.a, b=unlike.b, name=both.name_a)
            for unlike in both.differences
        ]
        return Judgement(self, f"against {others.name}", _side_by_side(self, both), notes)

    def check_objective(self, known: Sequence[Objective]) -> None:
        """Raise UserError where none of the known objectives is meant."""
        names = [name for objective in known for name in _names(objective)]
        if self.objective and self.objective not in names:
            shorts = dict.fromkeys(objective.short for objective in known)
            raise _mistake(self.at, unknown_word("objective", self.objective, shorts))


def _names(objective: Objective) -> tuple[str, str]:
    return objective.short, str(objective)


def condition_of(text: str) -> Condition:
    """Return a condition as it is typed; raises UserError with the place of what is wrong."""
    words = _words_from(text, 0)
    if not words:
        raise _mistake(0, FORM)
    first = _NOT_COMPARED.match(text, words[0].start()) or words[0]
    outcome = " ".join(first[0].split())
    if outcome not in OUTCOMES:
        raise _mistake(first.start(), unknown_word("outcome", outcome, OUTCOMES))
    margin, end = _margin(text, first.end(), outcome)
    rest = _words_from(text, end)
    if len(rest) > 1 and rest[0][0] in OBJECTIVES:
        raise _mistake(rest[1].start(), f"nothing may follow the objective; {FORM}")
    at = rest[0].start() if rest else 0
    return Condition(" ".join(text.split()), outcome, margin, text[at:].strip() if rest else "", at)


def _margin(text: str, start: int, outcome: str) -> tuple[float | None, int]:
    """Return the margin, None without one, and where it ends."""
    words = _words_from(text, start)
    found = _MARGIN.match(text, words[0].start()) if words else None
    if found is None:
        return None, start
    if outcome == NOT_COMPARED:
        raise _mistake(found.start(), f"{NOT_COMPARED!r} has no margin")
    return share_option(_place(found.start()), found[0]), found.end()


def _words_from(text: str, start: int) -> list[re.Match[str]]:
    return list(_WORD.finditer(text, start))


def _place(at: int) -> str:
    return f"--fail-if, character {at + 1}"


def _mistake(at: int, message: str) -> UserError:
    return UserError(f"{_place(at)}: {message}")


@dataclass(frozen=True)
class JudgedCase:
    """A case with its outcome in an objective, and how it differs; None where not compared."""

    case: str
    case_id: str
    objective: Objective
    outcome: str
    difference: Difference | None = None


def _against_baselines(
    condition: Condition, results: Results, answer: Answer, baseline: str | None
) -> list[JudgedCase]:
    condition.check_objective([*OBJECTIVES, *objectives_in(answer.tables)])
    if condition.margin is not None and condition.margin != answer.margin:
        answer = analyze(results, condition.margin, baseline)
    keys = [table.key for table in answer.tables]
    return [
        JudgedCase(
            f"{name} {case.label}",
            case.case_id,
            objective,
            comparison.outcome if comparison else NOT_COMPARED,
            comparison.difference if comparison else None,
        )
        for name, table in zip(short_names(keys), answer.tables, strict=True)
        for objective in condition.objectives_of(table)
        for case in table.cases
        if not (case.is_baseline or case.summary.was_skipped)
        for comparison in (case.comparisons.get(objective),)
    ]


def _side_by_side(condition: Condition, both: SideBySide) -> list[JudgedCase]:
    """Return the cases of both results, as `compare` matches them, and tables of one by title."""
    condition.check_objective([*OBJECTIVES, *both.objectives])
    pairs = [pair for pair in both.pairs if pair.objective in condition.objectives_of(pair.b)]
    names = short_names([pair.b.key for pair in pairs])
    cases = [
        JudgedCase(
            f"{name} {row.case.label}",
            row.case.case_id,
            pair.objective,
            row.outcome or NOT_COMPARED,
            row.direct.difference if row.outcome and row.direct else None,
        )
        for name, pair in zip(names, pairs, strict=True)
        for row in pair.rows
        if not all(side is None or side.case.summary.was_skipped for side in (row.a, row.b))
    ]
    asked = (known for known in both.objectives if condition.objective in _names(known))
    objective = next(asked, TIME)
    alone = (*both.only_a, *both.only_b)
    return [*cases, *(JudgedCase(title, "", objective, NOT_COMPARED) for title in alone)]


def short_names(keys: Sequence[TableKey]) -> list[str]:
    """Return the names of tables: program and team, and in what else the tables differ."""
    varying = [
        name
        for name in TABLE_KEYS
        if name not in _NAMED and len({getattr(key, name) for key in keys}) > 1
    ]
    names = []
    for key in keys:
        program = ":".join(filter(None, (key.app, key.region)))
        more = (str(getattr(key, name)) for name in varying if getattr(key, name))
        names.append(one_line(" ".join((program, key.threads_label, *more))))
    return names


@dataclass(frozen=True)
class Judgement:
    """The cases that were judged by a condition.

    `against` names what they were compared with, `notes` say in what its node differs.
    """

    condition: Condition
    against: str
    cases: Sequence[JudgedCase]
    notes: Sequence[str] = ()

    @property
    def failed(self) -> list[JudgedCase]:
        """The cases that meet the condition."""
        return [case for case in self.cases if self._meets(case)]

    @property
    def compared_any(self) -> bool:
        """Whether the condition could be met or not."""
        return bool(self.failed) or any(case.difference for case in self.cases)

    def _meets(self, case: JudgedCase) -> bool:
        if case.outcome != self.condition.outcome:
            return False
        margin = self.condition.margin
        if margin is None or case.outcome not in _CHANGES or case.difference is None:
            return True
        return abs(case.difference.ratio - 1) >= margin

    @property
    def lines(self) -> list[str]:
        """How many cases fail, then each of these in a line."""
        failed, known = self.failed, (*_CHANGES, "equivalent", self.condition.outcome)
        others = [case.outcome for case in self.cases if case.outcome not in known]
        counts = [f"{others.count(name)} {name}" for name in dict.fromkeys(others)]
        more = f" ({', '.join(counts)})" if counts else ""
        word = "failed" if failed else "passed" if self.compared_any else NOT_COMPARED
        cases = f"{len(failed)} of {plural(len(self.cases), 'case')} {self.against}{more}"
        head = f"--fail-if {self.condition.text!r}: {word}, {cases}"
        rows = [_cells(case) for case in failed]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        aligned = ("  ".join(("", *map(str.ljust, row, widths))).rstrip() for row in rows)
        return [head, *aligned]

    @property
    def data(self) -> list[dict[str, Any]]:
        """The cases that fail by names; changes are shares, None where not compared."""
        return [{"fail_if": self.condition.text} | _as_data(case) for case in self.failed]


def _cells(case: JudgedCase) -> tuple[str, ...]:
    start = case.case, case.objective.short, case.outcome
    if case.difference is None:
        return (*start, "", "")
    change, interval = case.difference.ratio - 1, case.difference.known_interval()
    if interval is None or not math.isfinite(interval.high):
        why = "too wide to tell" if interval else "no spread"
        return (*start, f"{signed(100 * change, decimals_left(0))} %", why)
    shown, (low, high) = signed_percents(change, interval.low - 1, interval.high - 1)
    return (*start, f"{shown} %", f"{low} to {high} %")


def _as_data(case: JudgedCase) -> dict[str, Any]:
    difference = case.difference
    interval = difference.known_interval() if difference else None
    return {
        "case": case.case,
        "case_id": case.case_id or None,
        "objective": case.objective.short,
        "outcome": case.outcome,
        "change": finite(difference.ratio - 1) if difference else None,
        "change_low": finite(interval.low - 1) if interval else None,
        "change_high": finite(interval.high - 1) if interval else None,
    }
