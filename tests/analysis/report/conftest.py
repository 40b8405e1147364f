"""A browser, and reports of placements that take seconds to draw, for all tests of reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from analysis.report.page import write_report
from tests.analysis.affinity.hostile import make_hostile_affinity
from tests.analysis.affinity.made_results import Affinity, make_affinity
from tests.analysis.latency.made_latency import PLANTED, content_of, write_latency_file
from tests.analysis.report.browser import open_browser


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with open_browser() as started:
        yield started


@pytest.fixture(scope="package")
def affinity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of all experiments with placements, and of a node's latencies."""
    folder = make_affinity(tmp_path_factory.mktemp("affinity"), Affinity(repetitions=5))
    write_latency_file(folder, content_of(PLANTED["smt"]))
    return write_report(str(folder))


@pytest.fixture(scope="package")
def hostile_affinity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of such results whose every text is hostile."""
    return write_report(str(make_hostile_affinity(tmp_path_factory.mktemp("hostile"))))
