"""Whether a publication's verdicts hold when its deviations are read as standard errors.

perf's "+-" under `-r` is the standard error of the mean, not the standard deviation (Linux,
tools/perf/util/stat.c, stddev_stats). A publication that took its deviations from there has
understated its spread by the square root of its repetitions, and may not say where it took them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.findings import Comparison
from analysis.verdict.comparisons import (
    Case,
    Key,
    compare_all,
    differences_from_baselines,
    questions_by,
)
from base.text import one_line


def other_reading(
    cases: Sequence[Case],
    baselines: Mapping[str, Case],
    comparisons: Mapping[Key, Comparison],
    margin: float,
) -> tuple[str, ...]:
    """Return in a remark which words change under the other reading; nothing without any word."""
    if not comparisons:
        return ()
    differences = differences_from_baselines(cases, baselines, {}, sd_is_error=True)
    other = compare_all(differences, margin, questions_by(baselines))
    rows = {case["case_id"]: case for case in cases}
    changed = [
        f"{_row(rows[key[0]])}: {comparison.word} -> {other[key].word}"
        for key, comparison in comparisons.items()
        if other[key].word != comparison.word
    ]
    start = (
        "deviations are read as standard deviations; read as standard errors, which is what "
        f"perf's +- is, {len(changed)} of {len(comparisons)} words change"
    )
    return (f"{start}: {'; '.join(changed)}" if changed else start,)


def _row(case: Case) -> str:
    return one_line(f"{case['app']} x{case['threads']} #{case['case_number']}")
