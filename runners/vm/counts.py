"""Whose counts are whose: the guest counts the program, the host the threads of its CPUs."""

from __future__ import annotations

from typing import Any

from base.reading import Measured
from runners.execution.execute import Observation
from runners.measure.perf.counters import read_counters
from runners.measure.perf.output import parse_perf_output

# What a guest's own kernel counts; all else is counted by the host.
OF_THE_PROGRAM = ("task_clock_s", "page_faults", "context_switches", "migrations")
# What is worth to be known of the virtual CPUs' threads as well.
OF_VCPUS_TOO = ("migrations", "context_switches")


def counted_in_guest(seen: Observation) -> Measured:
    """Return what the guest's kernel counted of the program."""
    if seen.perf_problem:
        return Measured({}, dict.fromkeys(OF_THE_PROGRAM, seen.perf_problem))
    reading = read_counters(parse_perf_output(seen.perf_output), {})
    return Measured(_only_the_programs(reading.fields), _only_the_programs(reading.unavailable))


def named_after_vcpus(measured: Measured) -> Measured:
    """Name what the host counted of QEMU's threads so that it is not taken for the program's."""
    return Measured(_renamed(measured.fields), _renamed(measured.unavailable))


def _only_the_programs(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in OF_THE_PROGRAM if name in fields}


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in fields.items() if name not in OF_THE_PROGRAM}
    return kept | {f"vcpu_{name}": fields[name] for name in OF_VCPUS_TOO if name in fields}
