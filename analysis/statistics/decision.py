"""From corrected p-values to one word: better, worse, equivalent or undecided."""

from __future__ import annotations

from typing import Literal

Word = Literal["better", "worse", "equivalent", "undecided"]
