"""Results and findings of records, without a folder: for tests of what is made of them.

judged(Study({"unpinned": 1.0, "pcores-pin": 0.9}))    the findings, as of a results folder
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pinstudy.analysis.answer import analyze
from pinstudy.analysis.records.frame import REASONS, FrameBuilder
from pinstudy.analysis.records.gathered import FirstRecords
from pinstudy.analysis.records.runs import Runs, are_good
from pinstudy.analysis.results.baselines import with_turns
from pinstudy.analysis.results.caveats import folder_footnotes
from pinstudy.analysis.results.sources import Results
from pinstudy.analysis.results.summarise import summarise
from pinstudy.analysis.verdict.model import Findings
from tests.support.results import Record, Study, in_groups

# A folder that is not there: only files about a node and a study are looked for in one.
NOWHERE = Path("/nonexistent/study/node1")


def results_of(records: Study | Iterable[Record]) -> Results:
    """Return results of these records, each of another run, and none of a race."""
    builder, firsts = FrameBuilder(), FirstRecords()
    for run in map(in_groups, records.records() if isinstance(records, Study) else records):
        builder.add(run)
        firsts.add(run)
    frame = builder.frame()
    numbers = frame.pop(REASONS)
    good = are_good(frame)
    reasons = builder.reasons.by_case(frame["case_id"][good], numbers[good])
    runs = Runs(frame, reasons, firsts=firsts)
    footnotes = tuple(folder_footnotes(runs, NOWHERE))
    return Results("made", NOWHERE, runs, with_turns(summarise(runs), frame), footnotes)


def judged(records: Study | Iterable[Record], **options: Any) -> Findings:  # noqa: ANN401
    """Return the findings on these records."""
    return analyze(results_of(records), **options)
