"""What a collector adds to a run's record."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Measured:
    """Fields of the record, and for each field that is absent the reason."""

    fields: dict[str, Any] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
