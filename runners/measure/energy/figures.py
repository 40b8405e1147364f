"""The energy fields of a record: joules by domain, and figures derived from them. Pure.

A processor may draw more than its long-term power limit (PL1) for seconds (PL2, tau). A short run
then measures a burst that a longer run cannot sustain, so a record notes whether the run's average
power was at PL1 or above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from base.reading import Reading
from runners.host.tree import Unavailable, reading_of
from runners.node.power_limits import LONG_TERM, limits_by_domain

DOMAINS = ("package", "core", "uncore", "dram", "psys")
FIELDS = {domain: f"energy_{domain}_j".replace("package", "pkg") for domain in DOMAINS}
PACKAGE = FIELDS["package"]
# The limiter keeps the average just below PL1: from this share of PL1 on, it is taken to be active.
AT_LIMIT = 0.97


def domain_fields(
    joules: Mapping[str, float], problems: Mapping[str, str], window_s: float, source: str
) -> Reading:
    """Return the energy fields of `window_s` seconds, from joules and problems by domain.

    A domain is unavailable when it has a problem, no joules, or (except `uncore`) 0 J.
    """
    found = Reading()
    for domain, name in FIELDS.items():
        measured = joules.get(domain)
        if domain in problems or measured is None:
            found.unavailable[name] = problems.get(domain, "not measured")
        # Only an idle graphics unit uses so little that its counter stands still.
        elif measured > 0 or domain == "uncore":
            found.fields[name] = measured
        else:
            found.unavailable[name] = (
                f"the {domain} energy counter did not move in {window_s:.3g} s: the run is too "
                "short for it, or the platform does not fill it"
            )
    if found.fields:
        found.fields["energy_window_s"] = window_s
        found.fields["energy_source"] = source
    return found


def run_figures(energy: Reading, elapsed_s: float, idle_power_w: float | Unavailable) -> Reading:
    """Return the figures that follow from a run's package energy, its time and the idle power.

    Fields: `power_pkg_w`, the average over the energy's window; `edp_js`, energy x time (Horowitz,
    Indermaur, Gonzalez, "Low-power digital design", 1994); `ed2p_js2`, energy x time squared
    (Martin, Nystroem, Penzes, "ET2: a metric for time and energy efficiency of computation", 2002),
    both from the gross energy and the program's own time; `idle_power_w`; `energy_net_j`, which
    may be negative if the node was busier during the baseline.
    """
    found: dict[str, object] = {"idle_power_w": idle_power_w}
    joules, window_s = energy.fields.get(PACKAGE), energy.fields.get("energy_window_s")
    if joules is None or not window_s:
        reason = energy.unavailable.get(PACKAGE, "the energy's window has no length")
        names = ("power_pkg_w", "edp_js", "ed2p_js2", "energy_net_j")
        return reading_of(found | dict.fromkeys(names, Unavailable(reason)))
    found["power_pkg_w"] = joules / window_s
    no_time = None if elapsed_s > 0 else Unavailable("the program did not start")
    found["edp_js"] = no_time or joules * elapsed_s
    found["ed2p_js2"] = no_time or joules * elapsed_s**2
    if isinstance(idle_power_w, Unavailable):
        found["energy_net_j"] = idle_power_w
    else:
        found["energy_net_j"] = joules - idle_power_w * window_s
    return reading_of(found)


def powers(energy: Reading) -> Reading:
    """Return the average power of each domain that has energy: `power_{pkg,core,…}_w`, watts."""
    window_s = energy.fields.get("energy_window_s")
    found = Reading()
    for name in FIELDS.values():
        power = name.replace("energy_", "power_").removesuffix("_j") + "_w"
        if name in energy.fields and window_s:
            found.fields[power] = energy.fields[name] / window_s
        else:
            found.unavailable[power] = energy.unavailable.get(name, "not measured")
    return found


def power_limit_note(power_w: object, limits: Iterable[Mapping[str, Any]]) -> Reading:
    """Return the field `power_limit_note`: a sentence, empty when power was below the limit.

    `power_w` is the average power of all packages in watts; `limits` are those at the end of
    the run (runners.node.power_limits.read_power_limits). PL1 is the sum over packages of each
    one's lowest limit: a package may have one limit in a model-specific register and another in a
    memory-mapped one (intel-rapl-mmio).
    """
    limit_w = _long_term_w(limits)
    name = "power_limit_note"
    if not isinstance(power_w, (int, float)):
        return Reading({}, {name: "the package's average power was not measured"})
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
