"""Shares as people write them: `1%` is 0.01."""

from __future__ import annotations

import re

from base.text import shown

# Digits are bounded so that no number takes long to convert.
_PERCENTAGE = re.compile(r"(\d{1,3}(?:\.\d{1,6})?)\s*%", re.ASCII)


def parse_share(value: object) -> float | None:
    """Return a percentage between nothing and all as a share; None for what is no percentage.

    Raises ValueError for 0 % and for 100 % and more.
    """
    match = _PERCENTAGE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return None
    percent = float(match[1])
    if not 0 < percent < 100:
        raise ValueError(f"{shown(value)} is not more than 0% and less than 100%")
    return percent / 100
