"""The engine `vm`: a case's runs are made in a guest, by the same runner, under the host's meters.

One guest is up at a time. It is booted for the first case of a virtual CPU mapping and serves all
cases of that mapping; after a lost guest the next run boots another. The guest counts the program's
events, the host counts those of the virtual CPUs' threads.
"""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from pinstudy.base.errors import StudyError
from pinstudy.base.reading import Reading
from pinstudy.configs.study import Vm
from pinstudy.runners.execution.collectors import Collectors
from pinstudy.runners.execution.execute import Observation
from pinstudy.runners.execution.imbalance import FIELDS
from pinstudy.runners.host.software import ask_version
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.engines.guest import Vcpus
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.records.perf.counters import read_counters
from pinstudy.runners.records.perf.output import parse_perf_output
from pinstudy.runners.records.status import CLOCK_DRIFTED, PLACEMENT_VIOLATED
from pinstudy.runners.vm.guest import Guest, GuestLostError, GuestPlan, boot_guest
from pinstudy.runners.vm.host import check_memory, find_guest_host
from pinstudy.runners.vm.run import HostView, make_run

# After so many failures in a row the next boot would fail too.
MAX_BOOTS_LOST = 3
# The guest's kernel counts these; the host counts all else.
OF_THE_PROGRAM = ("task_clock_s", "page_faults", "context_switches", "migrations")
# The host counts these for the virtual CPUs' threads as well.
OF_VCPUS_TOO = ("migrations", "context_switches")


class VmEngine:
    """Makes runs in guests; `close` ends the guest that is up."""

    def __init__(
        self, vm: Vm, without_kvm: str, collectors: Collectors, consoles: Path, attempt: int
    ) -> None:
        """Each guest's console goes to a file of the attempt in the folder `consoles`.

        `without_kvm` is why KVM cannot be used, or empty. Raises UserError when this node cannot
        run such guests.
        """
        host = find_guest_host(without_kvm)
        check_memory(vm.memory_mib, collectors.root)
        self._plan = GuestPlan(host, host.boot_files(), vm, collectors.harness.cores)
        self._collectors = collectors
        self._consoles, self._attempt = consoles, attempt
        self._guest: Guest | None = None
        self._qemu = ask_version(host.qemu) or "not known"
        self._boots = self._lost = 0
        self._view: HostView | None = None

    def execute(self, case: Case, launch: Launch) -> Observation:
        """Make one run in the guest of the case's mapping, which is booted if it is not up.

        Raises LaunchError when the launcher refuses or the guest is lost, which is one failed run.
        Raises StudyError when several boots in a row have failed.
        """
        try:
            guest = self._guest_for(case)
            observed, view = make_run(guest, self._collectors, case, launch)
        except GuestLostError:
            self.close()
            raise
        self._view = view
        if view.proof.verdict == "violated":
            return replace(observed, invalid_reason=(PLACEMENT_VIOLATED, view.proof.reason))
        if problem := view.clock.problem:
            return replace(observed, invalid_reason=(CLOCK_DRIFTED, problem))
        return observed

    def measured(self, case: Case, observed: Observation) -> list[Reading]:
        """Return the readings of host and guest for the last run."""
        assert self._view and self._guest, "a run was made"
        collected = self._collectors.measured(case, self._view.qemu)
        facts = self._facts(self._view, self._guest)
        divided = Reading({}, dict.fromkeys(FIELDS, case.engine.lacks["imbalance"]))
        return [*map(named_after_vcpus, collected), counts_in_guest(observed), divided, facts]

    def close(self) -> None:
        """End the guest that is up, if any."""
        if self._guest:
            self._guest.close()
        self._guest = None

    def _guest_for(self, case: Case) -> Guest:
        vcpus = case.engine
        assert isinstance(vcpus, Vcpus)
        if self._guest and self._guest.vcpus == vcpus:
            return self._guest
        self.close()
        if self._lost >= MAX_BOOTS_LOST:
            raise StudyError(
                f"guests could not be booted {self._lost} times in a row; see their consoles in "
                f"{self._consoles}"
            )
        self._boots += 1
        try:
            console = self._consoles / f"{self._attempt:04d}-{self._boots:03d}.log"
            self._guest = boot_guest(self._plan, vcpus, console)
            self._guest.request(self._setup(), "set up")
        except GuestLostError:
            self._lost += 1
            raise
        except OSError as error:
            raise StudyError(f"a guest cannot be started: {error}; make room") from error
        self._lost = 0
        return self._guest

    def _setup(self) -> dict[str, Any]:
        harness, perf = self._collectors.harness, self._collectors.perf
        return {
            "ask": "setup",
            "uid": os.getuid(),
            "gid": os.getgid(),
            "groups": os.getgroups(),
            "folder": str(Path.cwd()),
            "witness": str(harness.witness),
            "perf": perf,
            "hold": bool(perf and self._plan.host.emulated),
            "perf_problem": harness.perf_problem,
        }

    def _facts(self, view: HostView, guest: Guest) -> Reading:
        fields: dict[str, Any] = {
            "guest.kernel": guest.kernel,
            "guest.qemu": self._qemu,
            "guest.boot_s": round(guest.boot_s, 3),
            "guest.cpu_s": round(view.qemu.ending.cpu_s or 0.0, 3),
            "guest.placement": view.placement,
            "guest.clock": asdict(view.clock),
        }
        reason = {"guest.placement": view.proof.reason}
        return Reading(fields, reason if view.proof.verdict == "unproved" else {})


def counts_in_guest(observed: Observation) -> Reading:
    """Return what the guest's kernel counted for the program."""
    if observed.perf_problem:
        return Reading({}, dict.fromkeys(OF_THE_PROGRAM, observed.perf_problem))
    reading = read_counters(parse_perf_output(observed.perf_output), {})
    return Reading(_only_the_programs(reading.fields), _only_the_programs(reading.unavailable))


def named_after_vcpus(measured: Reading) -> Reading:
    """Rename the host's counts of QEMU's threads, which are not the program's."""
    return Reading(_renamed(measured.fields), _renamed(measured.unavailable))


def _only_the_programs(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in OF_THE_PROGRAM if name in fields}


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    others = {name: value for name, value in fields.items() if name not in OF_THE_PROGRAM}
    return others | {f"guest.{name}": fields[name] for name in OF_VCPUS_TOO if name in fields}
