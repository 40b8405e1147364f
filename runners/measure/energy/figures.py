"""The energy fields of a record: joules by domain, and what follows from them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from base.reading import Measured
from runners.host.tree import Absent
from runners.measure.energy.powercap_zones import DOMAINS

FIELDS = {domain: f"energy_{domain}_j".replace("package", "pkg") for domain in DOMAINS}
PACKAGE = FIELDS["package"]
# Only an idle graphics unit uses so little that its counter stands still.
_MAY_STAND_STILL = ("uncore",)


def domain_fields(
    joules: Mapping[str, float], problems: Mapping[str, str], window_s: float, source: str
) -> Measured:
    """Return the energy fields of `window_s` seconds, from the joules or the problem of a domain.

    A domain that has both has no figure, nor has one without joules, which is no 0 that a counter
    of energy can show.
    """
    found = Measured()
    for domain, name in FIELDS.items():
        measured = joules.get(domain)
        if domain in problems or measured is None:
            found.unavailable[name] = problems.get(domain, "not measured")
        elif measured > 0 or domain in _MAY_STAND_STILL:
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


def run_figures(energy: Measured, elapsed_s: float, idle_power_w: float | Absent) -> Measured:
    """Return what a run's package energy says together with its time and the idle power.

    Fields: `power_pkg_w`, the average over the energy's window; `edp_js`, energy x time (Horowitz,
    Indermaur, Gonzalez, "Low-power digital design", 1994); `ed2p_js2`, energy x time squared
    (Martin, Nystroem, Penzes, "ET2: a metric for time and energy efficiency of computation", 2002),
    both of the gross energy and the program's own time; `idle_power_w`; `energy_net_j`, which may
    be negative where the node was busier during the baseline.
    """
    found = Measured()
    if isinstance(idle_power_w, Absent):
        names = ("idle_power_w", "energy_net_j")
        found.unavailable.update(dict.fromkeys(names, idle_power_w.reason))
    else:
        found.fields["idle_power_w"] = idle_power_w
    joules, window_s = energy.fields.get(PACKAGE), energy.fields.get("energy_window_s")
    if joules is None or not window_s:
        reason = energy.unavailable.get(PACKAGE, "the energy's window has no length")
        for name in ("power_pkg_w", "edp_js", "ed2p_js2", "energy_net_j"):
            found.unavailable[name] = reason
        return found
    found.fields["power_pkg_w"] = joules / window_s
    if elapsed_s > 0:
        found.fields["edp_js"] = joules * elapsed_s
        found.fields["ed2p_js2"] = joules * elapsed_s**2
    else:
        for name in ("edp_js", "ed2p_js2"):
            found.unavailable[name] = "the program did not start"
    if not isinstance(idle_power_w, Absent):
        found.fields["energy_net_j"] = joules - idle_power_w * window_s
    return found


def powers(energy: Measured) -> Measured:
    """Return the average power of each domain that has energy: `power_{pkg,core,…}_w`, watts."""
    window_s = energy.fields.get("energy_window_s")
    found = Measured()
    for name in FIELDS.values():
        power = name.replace("energy_", "power_").removesuffix("_j") + "_w"
        if name in energy.fields and window_s:
            found.fields[power] = energy.fields[name] / window_s
        else:
            found.unavailable[power] = energy.unavailable.get(name, "not measured")
    return found
