"""Whether a run's average power was at the package's long-term power limit (PL1) or above it.

A processor may draw more than PL1 for seconds (PL2, tau): a short run then measures a burst that a
long one cannot keep up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from base.reading import Measured
from runners.node.power_limits import LONG_TERM, limits_by_domain

# The limiter regulates the average to just below the limit; what is this near is held by it.
AT_LIMIT = 0.97


def power_limit_note(power_w: object, limits: Iterable[Mapping[str, Any]]) -> Measured:
    """Return the field `power_limit_note`: in words, empty when power was below the limit.

    `power_w` is the average power of all packages in watts; `limits` are those of the run's end
    (runners.node.power_limits.read_power_limits). PL1 is the sum over packages of the lowest limit
    on each: the same package may be limited by a register of its own and by one of the memory map
    (intel-rapl-mmio).
    """
    limit_w = _long_term_w(limits)
    if not isinstance(power_w, (int, float)):
        return _unknown("the package's average power was not measured")
    if limit_w is None:
        return _unknown("the package's long-term power limit (PL1) is not known")
    average = f"average package power {power_w:.1f} W"
    if power_w > limit_w:
        note = f"burst above PL1: {average}, PL1 {limit_w:.1f} W; a longer run is slower"
    elif power_w >= AT_LIMIT * limit_w:
        note = f"at PL1: {average}, PL1 {limit_w:.1f} W; the limit may have held the frequency down"
    else:
        note = ""
    return Measured({"power_limit_note": note})


def _long_term_w(limits: Iterable[Mapping[str, Any]]) -> float | None:
    of_packages = [
        limit
        for limit in limits
        if str(limit["domain"]).startswith("package") and limit["name"] == LONG_TERM
    ]
    # What cannot be read is not known, and 0 W is no limit.
    known = limits_by_domain(limit for limit in of_packages if (limit["power_w"] or 0) > 0)
    complete = bool(known) and known.keys() == {limit["domain"] for limit in of_packages}
    return sum(of["pl1_w"] for of in known.values()) if complete else None


def _unknown(reason: str) -> Measured:
    return Measured({}, {"power_limit_note": reason})
