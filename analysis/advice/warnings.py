"""Where what a race takes for granted does not hold, so that its advice is to be doubted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pandas as pd

from analysis.advice.trial import trial_runs
from analysis.digits import percent
from analysis.disturbed import DISTURBANCES, SEPARATOR
from analysis.statistics.drift import Drift
from analysis.verdict.drift_words import found_drift
from configs.words import plural
from runners.race.elimination import MOST_NOISE
from runners.race.standing import Standing


def warnings_of(standing: Standing, frame: pd.DataFrame, drift: Drift | None) -> Iterator[str]:
    """Yield what speaks against the advice, a sentence each."""
    if standing.noise is not None and standing.noise > MOST_NOISE:
        yield (
            f"One run differs from the next by {percent(standing.noise)} (standard deviation): the "
            "cut after the first run assumes at most "
            f"{percent(MOST_NOISE)}, so that a good case may have been ruled out by bad luck. A "
            "quieter node, or a longer run, would tell more."
        )
    runs = trial_runs(standing, frame)
    yield from _disturbed(runs)
    attempts = runs["attempt"].dropna().nunique()
    if attempts > 1:
        yield (
            f"The trial's runs were made in {attempts} attempts: what changed on the node between "
            "them is part of the difference."
        )
    for sentence in found_drift(drift):
        yield (
            f"{sentence} The runs of doing nothing are from all of the race, those of the best "
            "case from its end, so that this is part of the difference."
        )


def _disturbed(runs: pd.DataFrame) -> Iterator[str]:
    counts = Counter(
        what
        for text in runs["disturbed"].dropna().astype(str)
        for what in text.split(SEPARATOR)
        if what in DISTURBANCES
    )
    for what, count in counts.items():
        verb = "was" if count == 1 else "were"
        yield f"Of the trial's {plural(len(runs), 'run')}, {count} {verb} {what}."
