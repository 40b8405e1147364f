"""What is compared between mappings: time, package energy, and their product.

Less of each is better. The energy-delay product is that of Gonzalez and Horowitz, "Energy
dissipation in general purpose microprocessors" (IEEE Journal of Solid-State Circuits 31(9), 1996).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Objective = Literal["time", "energy", "edp"]

# The measure of a record that holds each, its noun in sentences, and its unit.
OBJECTIVES: Mapping[Objective, str] = {
    "time": "elapsed_s",
    "energy": "energy_pkg_j",
    "edp": "edp_js",
}
NOUNS: Mapping[Objective, str] = {
    "time": "time",
    "energy": "package energy",
    "edp": "energy-delay product",
}
UNITS: Mapping[Objective, str] = {"time": "s", "energy": "J", "edp": "J s"}
