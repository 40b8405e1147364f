"""Settings that tests of the command line share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def without_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare each study the seconds that a report takes; tests that want one say --report."""
    monkeypatch.setenv("PINSTUDY_REPORT", "0")
