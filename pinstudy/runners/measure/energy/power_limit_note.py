"""Whether a run's power was at the processor's long-term limit, so that it was a burst. Pure.

A processor may draw more than its long-term power limit (PL1) for seconds (PL2, tau). A short run
then measures a burst that a longer run cannot sustain, so a record notes whether the run's average
power was at PL1 or above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pinstudy.base.reading import Reading
from pinstudy.runners.node.power_limits import LONG_TERM, limits_by_domain

# The limiter keeps the average just below PL1: from this share of PL1 on, it is taken to be active.
AT_LIMIT = 0.97


def power_limit_note(power_w: object, limits: Iterable[Mapping[str, Any]]) -> Reading:
    """Return the field `power_limit_note`: a sentence, empty when power was below the limit.

    Nothing where the power was not measured: `power_pkg_w` has the reason.

    `power_w` is the average power of all packages in watts; `limits` are those at the end of
    the run (runners.node.power_limits.read_power_limits). PL1 is the sum over packages of each
    one's lowest limit: a package may have one limit in a model-specific register and another in a
    memory-mapped one (intel-rapl-mmio).
    """
    limit_w = _long_term_w(limits)
    name = "power_limit_note"
    if not isinstance(power_w, (int, float)):
        return Reading()
    if limit_w is None:
        return Reading({}, {name: "the package's long-term power limit (PL1) is not known"})
    average = f"average package power {power_w:.1f} W"
    if power_w > limit_w:
        note = f"burst above PL1: {average}, PL1 {limit_w:.1f} W; a longer run is slower"
    elif power_w >= AT_LIMIT * limit_w:
        note = f"at PL1: {average}, PL1 {limit_w:.1f} W; the limit may have held the frequency down"
    else:
        note = ""
    return Reading({name: note})


def _long_term_w(limits: Iterable[Mapping[str, Any]]) -> float | None:
    of_packages = [
        limit
        for limit in limits
        if str(limit["domain"]).startswith("package") and limit["name"] == LONG_TERM
    ]
    known = limits_by_domain(of_packages)
    complete = bool(known) and known.keys() == {limit["domain"] for limit in of_packages}
    return sum(of["pl1_w"] for of in known.values()) if complete else None
