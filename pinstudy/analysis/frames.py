"""Results as pandas' frames, for notebooks and scripts: what `pinstudy.load` returns.

import pinstudy

results = pinstudy.load("results/quick")
results.runs        # a row a run: docs/runs.md
results.cases       # a row a case: docs/tables.md
results.compare("time")     # a row a compared case: docs/verdict-json.md
"""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from typing import Any

import pandas as pd

from pinstudy.analysis.answer import MARGIN, Answer, analyze
from pinstudy.analysis.results.case import Case
from pinstudy.analysis.results.sources import Results, has_folder, open_results, sources_below
from pinstudy.analysis.tables.means import raw_row
from pinstudy.analysis.tables.tidy_runs import tidy_runs
from pinstudy.analysis.verdict.data import raw_comparisons
from pinstudy.analysis.verdict.model import baseline_in
from pinstudy.base.errors import UserError
from pinstudy.base.text import unknown_word

# The columns of a comparison's row; those that a frame without rows has, too.
_KEY = (
    *("results", "node_id", "app", "build", "size", "ranks", "threads", "schedule", "wait_policy"),
    *("region", "governor", "settings", "co_runner", "mapping", "case_id"),
)
_COMPARED = ("baseline", "outcome", "ratio", "ratio_low", "ratio_high", "p_different")


class LoadedResults:
    """The results of one folder, of several below one, of cards, or of a publication."""

    def __init__(self, source: str) -> None:
        """Find the sources below a folder; raises UserError when there are none."""
        self._source = source
        self.sources = tuple(sources_below(source))
        # Folders were found; a publication's name or a card may be wrong.
        self._files = {name: open_results(name) for name in self.sources if not has_folder(name)}

    def __repr__(self) -> str:
        """Return how it is made again."""
        return f"pinstudy.load({self._source!r})"

    @cached_property
    def runs(self) -> pd.DataFrame:
        """A row a run, with the columns of `pinstudy runs`; raises UserError where there are none.

        Take those that are `averaged` and have no `region`.
        """
        return tidy_runs(self.sources)[0]

    @cached_property
    def cases(self) -> pd.DataFrame:
        """A row a case, with the columns of `pinstudy tables --json`, and `results`: its source."""
        return pd.DataFrame(
            {"results": source, **raw_row(case)}
            for source, results in self._opened.items()
            for case in results.cases
        )

    def compare(
        self, objective: str = "time", margin: float = MARGIN, baseline: str | None = None
    ) -> pd.DataFrame:
        """Return a row a case that is compared with the baseline of its configuration.

        `objective` is time, energy, edp or a metric of the app; `margin` is the share within which
        times are equivalent, `baseline` a mapping, by default unpinned. Beside the case's own
        columns: outcome, ratio, ratio_low, ratio_high (95 %), p_different and others of
        `pinstudy verdict --json`. Raises UserError for an objective that none of the cases has.
        """
        if not 0 <= margin < 1:
            raise UserError(f"margin {margin:g}: expected a share from 0 to below 1, such as 0.02")
        answers = {s: analyze(results, margin, baseline) for s, results in self._opened.items()}
        known = dict.fromkeys(
            str(name)
            for answer in answers.values()
            for table in answer.tables
            for name in table.objectives
        )
        if objective not in known:
            raise UserError(unknown_word("objective", objective, known))
        rows = (
            {"results": source, **row}
            for source, answer in answers.items()
            for row in _compared(answer, objective)
        )
        found = pd.DataFrame(rows)
        return found if len(found) else pd.DataFrame(columns=[*_KEY, *_COMPARED])

    @cached_property
    def _opened(self) -> dict[str, Results]:
        return {
            source: self._files[source] if source in self._files else open_results(source)
            for source in self.sources
        }


def load(source: str | os.PathLike[str]) -> LoadedResults:
    """Return the results of a folder such as `results/quick`, of a card, or `published:NAME`.

    Raises UserError when there are none.
    """
    return LoadedResults(os.fspath(source))


def _compared(answer: Answer, objective: str) -> list[dict[str, Any]]:
    """Return each compared case's key and its comparison, whose names lose their prefix."""
    prefix = f"{objective}_"
    rows = []
    for table in answer.tables:
        for cases in table.configurations:
            baseline = baseline_in(cases)
            for case in cases:
                # A metric's name may begin as this one's.
                alone = {name: it for name, it in case.comparisons.items() if name == objective}
                asked = [name for name in table.objectives if name == objective]
                found = raw_comparisons(replace(case, comparisons=alone), baseline, asked)
                own = {
                    name.removeprefix(prefix): value
                    for name, value in found.items()
                    if name.startswith(prefix)
                }
                if own and not case.is_baseline:
                    against = {"baseline": baseline.mapping if baseline else None}
                    rows.append(_key(case.summary) | against | own)
    return rows


def _key(case: Case) -> dict[str, Any]:
    row = raw_row(case)
    return {name: row[name] for name in _KEY[1:]}
