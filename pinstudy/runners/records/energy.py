"""The energy fields of a record: joules by domain, and figures derived from them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pinstudy.base.reading import Reading, Unavailable, reading_of
from pinstudy.base.units import MAX_POWER_W
from pinstudy.configs.site import METER_SCOPES

DOMAINS = ("package", "core", "uncore", "dram", "psys")
FIELDS = {domain: f"energy_{domain}_j".replace("package", "pkg") for domain in DOMAINS}
PACKAGE = FIELDS["package"]
# What a meter takes in, by the field of its joules: packages, a board or rails of it, a whole node.
# A run has the energy of one scope, by one meter.
SCOPES = dict(zip(METER_SCOPES, (PACKAGE, "energy_board_j", "energy_system_j"), strict=True))
POWERS = {scope: field.replace("energy", "power")[:-1] + "w" for scope, field in SCOPES.items()}
# How many times a meter's value is renewed in a run, at least: each of the ends may be wrong by
# one time, so that at most a twentieth of the run has another power than was read.
LEAST_UPDATES = 20
# powercap's names of domains, and perf's names of events (arch/x86/events/rapl.c).
PERF_EVENTS = {
    "package": "energy-pkg",
    "core": "energy-cores",
    "uncore": "energy-gpu",
    "dram": "energy-ram",
    "psys": "energy-psys",
}
PERF_UNIT = "Joules"


def domain_fields(
    joules: Mapping[str, float], problems: Mapping[str, str], window_s: float, source: str
) -> Reading:
    """Return the energy fields of `window_s` seconds, from joules and problems by domain.

    A domain is unavailable when it has a problem, no joules, (except `uncore`) 0 J, or more than
    any node takes.
    """
    found = Reading()
    for domain, name in FIELDS.items():
        measured = joules.get(domain)
        if domain in problems or measured is None:
            found.unavailable[name] = problems.get(domain, "not measured")
        elif measured < 0 or 0 < window_s * MAX_POWER_W < measured:
            found.unavailable[name] = (
                f"{measured:.3g} J in {window_s:.3g} s, which cannot be: the {domain} energy "
                "counter is wrong"
            )
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


def scope_fields(scope: str, joules: float | Unavailable, window_s: float, source: str) -> Reading:
    """Return the energy fields of a meter that measures one scope, over `window_s` seconds."""
    if isinstance(joules, Unavailable):
        return Reading({}, {SCOPES[scope]: joules.reason})
    if not 0 < joules <= window_s * MAX_POWER_W:
        why = f"{source}: {joules:.3g} J in {window_s:.3g} s, which cannot be: its values are wrong"
        return Reading({}, {SCOPES[scope]: why})
    return Reading({SCOPES[scope]: joules, "energy_window_s": window_s, "energy_source": source})


def scope_of(fields: Mapping[str, Any]) -> str | None:
    """Return the scope of which a record, or some of its fields, have the energy; None of none."""
    return next((scope for scope, name in SCOPES.items() if fields.get(name) is not None), None)


def meter_of(record: Mapping[str, Any]) -> str | None:
    """Return the meter and scope of a record's energy, such as `perf, package`; None without it."""
    scope = scope_of(record)
    return f"{record.get('energy_source') or 'unknown'}, {scope}" if scope else None


def compared_energy(record: Mapping[str, Any]) -> tuple[float | None, str]:
    """Return the joules by which a run is compared, or None and why there are none."""
    if scope := scope_of(record):
        return record[SCOPES[scope]], ""
    absent = record.get("unavailable") or {}
    reasons = (absent[name] for name in (*reversed(SCOPES.values()),) if name in absent)
    return None, next(reasons, "it was not measured")


def run_figures(
    energy: Reading, elapsed_s: float, idle_power_w: float | Unavailable, scope: str = "package"
) -> Reading:
    """Return the figures that follow from a run's energy of a scope, its time and the idle power.

    Fields: `power_{pkg,board,system}_w`, the average over the energy's window; `edp_js`, energy x
    time (Horowitz, Indermaur, Gonzalez, "Low-power digital design", 1994); `ed2p_js2`, energy x
    time squared (Martin, Nystroem, Penzes, "ET2: a metric for time and energy efficiency of
    computation", 2002), both from the gross energy and the program's own time; `idle_power_w`;
    `energy_net_j`, which may be negative if the node was busier during the baseline.
    """
    found: dict[str, object] = {"idle_power_w": idle_power_w}
    name, power = SCOPES[scope], POWERS[scope]
    joules, window_s = energy.fields.get(name), energy.fields.get("energy_window_s")
    if scope != "package":
        found[POWERS["package"]] = Unavailable(energy.unavailable.get(PACKAGE, "not measured"))
    if joules is None or not window_s:
        reason = energy.unavailable.get(name, "the energy's window has no length")
        names = (power, "edp_js", "ed2p_js2", "energy_net_j")
        return reading_of(found | dict.fromkeys(names, Unavailable(reason)))
    found[power] = joules / window_s
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
    known = energy.fields.keys() | energy.unavailable.keys()
    for name in (*FIELDS.values(), *(name for name in SCOPES.values() if name in known)):
        power = name.replace("energy_", "power_").removesuffix("_j") + "_w"
        if name in energy.fields and window_s:
            found.fields[power] = energy.fields[name] / window_s
        else:
            found.unavailable[power] = energy.unavailable.get(name, "not measured")
    return found
