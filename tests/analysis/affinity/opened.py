"""Made-up affinity studies, opened as the commands open them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from analysis.answer import analyze
from analysis.results.sources import Results, open_results
from analysis.verdict.model import Findings
from tests.analysis.affinity.made_results import Affinity, make_affinity
from tests.support.results import write


def opened(folder: Path, study: Affinity | None = None) -> tuple[Results, Findings]:
    """Return the results of a made-up study and what they mean."""
    results = open_results(str(make_affinity(folder, study)))
    return results, analyze(results)


def opened_records(folder: Path, records: Iterable[dict[str, Any]]) -> tuple[Results, Findings]:
    """Return results of these records and what they mean, with the made-up node's file."""
    make_affinity(folder, Affinity(apps=("threadmap",), repetitions=1))
    write(folder, records)
    results = open_results(str(folder))
    return results, analyze(results)
