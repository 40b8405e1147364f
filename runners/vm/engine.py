"""The engine `vm`: a case's runs are made in a guest, by the same runner, under the host's meters.

One guest is up at a time. It is booted for the first case of a mapping of its virtual CPUs and
serves all of that mapping; the run after one that lost it boots another.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from configs.errors import StudyError
from configs.model import Vm
from runners.aside import step_aside
from runners.case import Case
from runners.collect import Collectors
from runners.counters import read_counters
from runners.execute import (
    FIRST_LOOK_S,
    LAST_LOOK_S,
    LOOK_GROWTH,
    Meter,
    Observation,
)
from runners.harness_cost import CostClock, HarnessCost
from runners.judge import CLOCK_DRIFTED, PLACEMENT_VIOLATED
from runners.launch import Launch
from runners.measured import Measured
from runners.perf_output import parse_perf_output
from runners.perf_process import PerfStat
from runners.placement import Proof
from runners.tool_versions import ask_version
from runners.vm.clock import ClockCheck, ClockReading, compare, read_clock
from runners.vm.cpu_time import CpuTime, read_cpu_time
from runners.vm.guest import ANSWER_LIMIT_S, Guest, GuestLostError, GuestPlan, boot_guest
from runners.vm.host import check_memory, find_guest_host
from runners.vm.vcpus import VcpuSampler
from runners.vm.wire import BrokenLineError, launch_message, read_observation
from runners.witness_process import LaunchError

# A host that cannot boot a guest so many times in a row will not do it for the next run.
MOST_BOOTS_LOST = 3

# The runner inside says about once a second that it is alive. An emulated guest's first looks, on a
# host that others use, were seen to take seconds.
SILENCE_LIMIT_S = 60.0

# What a guest's own kernel counts; all else is counted by the host.
_OF_THE_PROGRAM = ("task_clock_s", "page_faults", "context_switches", "migrations")


@dataclass(frozen=True)
class HostView:
    """What the host saw of one run: of QEMU, not of the program."""

    proof: Proof
    placement: dict[str, Any]
    clock: ClockCheck
    cpu_time: CpuTime
    cost: HarnessCost
    perf_output: str
    perf_problem: str
    boot_s: float
    guest_kernel: str


def open_engine(
    vm: Vm, without_kvm: str, collectors: Collectors, consoles: Path, attempt: int
) -> VmEngine:
    """Return the engine for these guests; raises UserError when this node cannot have them."""
    host = find_guest_host(without_kvm)
    check_memory(vm.memory_mib, collectors.root)
    harness = collectors.harness
    plan = GuestPlan(host, host.boot_files(), vm, harness.cores)
    return VmEngine(plan, collectors, harness.witness, consoles, attempt)


class VmEngine:
    """Makes runs in guests; `close` ends the guest that is up."""

    def __init__(
        self, plan: GuestPlan, collectors: Collectors, witness: Path, consoles: Path, attempt: int
    ) -> None:
        """Consoles of guests go to files of the attempt in the folder `consoles`."""
        self._plan, self._collectors, self._witness = plan, collectors, witness
        self._consoles, self._attempt = consoles, attempt
        self._guest: Guest | None = None
        self._qemu = ask_version(plan.host.qemu) or "not known"
        self._boots = self._lost = 0
        self._view: HostView | None = None

    def execute(self, case: Case, launch: Launch) -> Observation:
        """Make one run in the guest of the case's mapping, booted if it is not up.

        Raises LaunchError when the launcher refuses or the guest is lost: one failed run. Raises
        StudyError when guests could not be booted several times in a row.
        """
        self._view = None
        try:
            guest = self._guest_for(case)
            seen, self._view = _Run(guest, self._collectors, self._plan.cores).make(case, launch)
        except GuestLostError:
            self.close()
            raise
        except BrokenLineError as error:
            self.close()
            raise LaunchError(f"the guest was lost: it {error}") from error
        except KeyboardInterrupt:
            self.close()
            raise
        return replace(seen, objection=_objection(self._view))

    def measured(self, case: Case, seen: Observation) -> list[Measured]:
        """Return what host and guest say of the run that was made last."""
        view = self._view
        assert view, "a run was made"
        # Seen from the host the program is QEMU.
        cpu = view.cpu_time
        ending = replace(seen.ending, user_s=cpu.user_s, system_s=cpu.system_s)
        of_qemu = replace(
            seen,
            ending=ending,
            cost=view.cost,
            perf_output=view.perf_output,
            perf_problem=view.perf_problem,
        )
        collected = self._collectors.measured(case, of_qemu)
        return [*map(_as_the_guests, collected), _of_the_program(seen), self._facts(view)]

    def close(self) -> None:
        """End the guest that is up, if any."""
        if self._guest:
            self._guest.close()
        self._guest = None

    def _guest_for(self, case: Case) -> Guest:
        assert case.vcpus
        if self._guest and self._guest.vcpus == case.vcpus:
            return self._guest
        self.close()
        if self._lost >= MOST_BOOTS_LOST:
            raise StudyError(
                f"guests could not be booted {self._lost} times in a row; see their consoles in "
                f"{self._consoles}"
            )
        self._boots += 1
        try:
            self._consoles.mkdir(exist_ok=True)
            console = self._consoles / f"{self._attempt:04d}-{self._boots:03d}.log"
            self._guest = boot_guest(self._plan, case.vcpus, console)
            self._guest.ask(self._setup(), "set up")
        except GuestLostError:
            self._lost += 1
            raise
        except OSError as error:
            raise StudyError(f"a guest cannot be started: {error}; make room") from error
        self._lost = 0
        return self._guest

    def _setup(self) -> dict[str, Any]:
        harness = self._collectors.harness
        perf = shutil.which("perf") if harness.perf_command else None
        return {
            "ask": "setup",
            "uid": os.getuid(),
            "gid": os.getgid(),
            "folder": str(Path.cwd()),
            "witness": str(self._witness),
            "perf": perf,
            "perf_problem": harness.perf_problem,
        }

    def _facts(self, view: HostView) -> Measured:
        host = self._plan.host
        fields: dict[str, Any] = {
            "vm": {
                "accelerator": host.accelerator,
                "kernel": view.guest_kernel,
                "qemu": self._qemu,
                "boot_s": round(view.boot_s, 3),
                "cpu_s": round(view.cpu_time.user_s + view.cpu_time.system_s, 3),
            },
            "vcpu_placement": view.placement,
            "clock": view.clock.fields(),
        }
        reason = {"vcpu_placement": view.proof.reason}
        return Measured(fields, reason if view.proof.verdict == "unproved" else {})


class _Run:
    """One run in a guest, and what the host measures around it."""

    def __init__(
        self, guest: Guest, collectors: Collectors, cores: Iterable[tuple[int, ...]]
    ) -> None:
        self._guest, self._collectors, self._cores = guest, collectors, cores

    def make(self, case: Case, launch: Launch) -> tuple[Observation, HostView]:
        """Return what the guest observed, and the host meanwhile."""
        guest, before = self._guest, self._clock()
        placing = guest.place()
        sampler = VcpuSampler(guest.pid, guest.threads, guest.vcpus, placing)
        perf: PerfStat | None = None
        try:
            with step_aside(guest.vcpus.cpus if placing.apart else (), self._cores) as own_cpus:
                guest.say(_request(case, launch))
                self._expect("starting")
                meters = self._collectors.harness.meters
                for meter in meters:
                    meter.start()
                if counter := self._collectors.thread_counter(guest.threads.values()):
                    perf = PerfStat(counter)
                cpu_before, cost = read_cpu_time(guest.pid), CostClock(own_cpus)
                started = time.monotonic()
                guest.say({"ask": "go"})
                self._watch(sampler, meters, case.app.limit_s)
                elapsed_s, cpu_after = time.monotonic() - started, read_cpu_time(guest.pid)
                if perf:
                    perf.disable()
                used = cost.stop()
                for meter in reversed(meters):
                    meter.stop()
            message = self._expect("observation")
            output = perf.finish() if perf else ""
        finally:
            if perf:
                perf.close()
        seen = read_observation(message["seen"])
        proof = sampler.proof(elapsed_s)
        view = HostView(
            proof=proof,
            placement=sampler.fields(proof),
            clock=compare(before, self._clock()),
            cpu_time=cpu_after - cpu_before,
            cost=used,
            perf_output=output,
            perf_problem=perf.problem if perf else self._collectors.harness.perf_problem,
            boot_s=guest.boot_s,
            guest_kernel=guest.kernel,
        )
        return seen, view

    def _clock(self) -> ClockReading:
        asked = {"ask": "clock"}
        return read_clock(lambda: float(self._guest.ask(asked, "clock")["monotonic_s"]))

    def _expect(self, word: str) -> dict[str, Any]:
        message = self._guest.expect(word, "refused")
        if message["say"] == "refused":
            raise LaunchError(str(message["reason"]))
        return message

    def _watch(self, sampler: VcpuSampler, meters: tuple[Meter, ...], limit_s: float) -> None:
        """Look at QEMU's threads until the guest says that the program has ended."""
        pause, word = FIRST_LOOK_S, ""
        started = heard = time.monotonic()
        while word != "ended":
            message = self._guest.hear(pause)
            now = time.monotonic()
            if message is None and now - heard > SILENCE_LIMIT_S:
                raise self._guest.hanging(now - heard)
            # The guest itself ends a program that is longer than its limit.
            if now - started > limit_s + ANSWER_LIMIT_S:
                raise self._guest.hanging(now - started)
            if message is not None:
                heard, word = now, _word(message)
            sampler.sample()
            if pause >= LAST_LOOK_S:
                for meter in meters:
                    meter.sample()
            pause = min(pause * LOOK_GROWTH, LAST_LOOK_S)


def _word(message: dict[str, Any]) -> str:
    """Return what the guest says while a program runs; raises LaunchError when it refused it."""
    word = str(message.get("say"))
    if word == "refused":
        raise LaunchError(str(message.get("reason")))
    if word not in ("alive", "ended"):
        raise BrokenLineError(f"said {word!r}, expected 'alive' or 'ended'")
    return word


def _request(case: Case, launch: Launch) -> dict[str, Any]:
    return {
        "ask": "run",
        "launch": launch_message(launch),
        "limit_s": case.app.limit_s,
        "cpus": list(case.mask),
    }


def _objection(view: HostView) -> tuple[str, str] | None:
    if view.proof.verdict == "violated":
        return PLACEMENT_VIOLATED, view.proof.reason
    if problem := view.clock.problem:
        return CLOCK_DRIFTED, problem
    return None


def _of_the_program(seen: Observation) -> Measured:
    """Return what the guest's kernel counted of the program."""
    if seen.perf_problem:
        return Measured({}, dict.fromkeys(_OF_THE_PROGRAM, seen.perf_problem))
    reading = read_counters(parse_perf_output(seen.perf_output), {})
    return Measured(
        {name: reading.fields[name] for name in _OF_THE_PROGRAM if name in reading.fields},
        {
            name: reading.unavailable[name]
            for name in _OF_THE_PROGRAM
            if name in reading.unavailable
        },
    )


def _as_the_guests(measured: Measured) -> Measured:
    """Name what the host counted of QEMU's threads so that it is not taken for the program's."""
    return Measured(_renamed(measured.fields), _renamed(measured.unavailable))


def _renamed(fields: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in fields.items() if name not in _OF_THE_PROGRAM}
    for name in ("migrations", "context_switches"):
        if name in fields:
            kept[f"vcpu_{name}"] = fields[name]
    return kept
