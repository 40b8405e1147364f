"""Rows of tables with the facts that a test asks for, and nothing measured."""

from __future__ import annotations

from typing import Any

from analysis.verdict.model import CaseFinding


def case(number: int, **facts: Any) -> CaseFinding:  # noqa: ANN401
    """Return the row of that number; means are `migrations_mean` and so on."""
    return CaseFinding(
        f"case{number}", number, f"m{number}", "performance", number == 1, facts, {}, {}
    )
