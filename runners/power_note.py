"""Whether a run's average power was at the package's long-term power limit (PL1) or above it.

A processor may draw more than PL1 for seconds (PL2, tau): a short run then measures a burst that a
long one cannot keep up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runners.measured import Measured

# The limiter regulates the average to just below the limit; what is this near is held by it.
AT_LIMIT = 0.97
LONG_TERM = "long_term"


def power_limit_note(power_w: object, limits: Iterable[Mapping[str, Any]]) -> Measured:
    """Return the field `power_limit_note`: in words, empty when power was below the limit.

    `power_w` is the average power of all packages in watts; `limits` are the node's
    facts `power_limits`. PL1 is the sum over packages of the lowest limit on each: the same package
    may be limited by a register of its own and by one of the memory map (intel-rapl-mmio).
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
    lowest: dict[str, float] = {}
    packages = set()
    for limit in limits:
        domain, power_w = str(limit.get("domain")), limit.get("power_w")
        if not domain.startswith("package") or limit.get("name") != LONG_TERM:
            continue
        packages.add(domain)
        if isinstance(power_w, (int, float)) and power_w > 0:
            lowest[domain] = min(power_w, lowest.get(domain, power_w))
    return sum(lowest.values()) if packages and packages == set(lowest) else None


def _unknown(reason: str) -> Measured:
    return Measured({}, {"power_limit_note": reason})
