"""Settings that these tests have from those of the command line."""

from __future__ import annotations

from tests.cli.conftest import without_reports

__all__ = ["without_reports"]
