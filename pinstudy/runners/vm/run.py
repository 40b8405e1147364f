"""One run in a guest, observed by the host.

Times are taken in the guest, so its clock is compared with the host's: both are read before and
after the run. The guest reads its clock somewhere between request and answer, so the offset's
uncertainty is half of the shortest round-trip time (Mills, RFC 5905, section 8).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from pinstudy.base.channel import ChannelError
from pinstudy.base.decoding import message_of
from pinstudy.runners.execution.collectors import Collectors
from pinstudy.runners.execution.execute import Observation, move_to_housekeeping_cpus
from pinstudy.runners.host.processes import read_cpu_time
from pinstudy.runners.measure.conditions.cpu_time import CostClock
from pinstudy.runners.measure.meter import Meters
from pinstudy.runners.measure.perf.stat import Perf, start_perf
from pinstudy.runners.placement.sampler import Pace
from pinstudy.runners.placement.thread_placement import Proof
from pinstudy.runners.plan.case import Case
from pinstudy.runners.plan.launch import Launch
from pinstudy.runners.vm.guest import ANSWER_LIMIT_S, Guest, read_observation
from pinstudy.runners.vm.vcpus import VcpuSampler

# The agent sends `alive` about once a second. In emulated guests on a shared host its first looks
# took seconds.
SILENCE_LIMIT_S = 60.0
CLOCK_READINGS = 5
# A tenth of the smallest difference that a verdict reports (1%), and more than the 500 ppm by which
# the kernel slews a clock (adjtimex(2)).
MAX_DRIFT = 0.001


@dataclass(frozen=True)
class ClockReading:
    """The host's time, the offset of the guest's clock from it, and the offset's uncertainty."""

    host_s: float
    offset_s: float
    uncertainty_s: float


@dataclass(frozen=True)
class ClockCheck:
    """The drift of the guest's clock against the host's within a window, all in seconds."""

    window_s: float
    drift_s: float
    uncertainty_s: float

    @property
    def problem(self) -> str:
        """Why times of this guest cannot be trusted; empty when they can."""
        if abs(self.drift_s) <= self.uncertainty_s + MAX_DRIFT * self.window_s:
            return ""
        return (
            f"the guest's clock went {self.drift_s:+.4g} s (± {self.uncertainty_s:.2g} s) against "
            f"the host's in {self.window_s:.4g} s"
        )


@dataclass(frozen=True)
class HostView:
    """What the host observed during one run; in `qemu` the program is QEMU, not the user's."""

    qemu: Observation
    proof: Proof
    placement: dict[str, Any]
    clock: ClockCheck


class _ThreadCounter:
    """The meter that counts threads by perf's command, which is None without counters."""

    def __init__(self, command: Sequence[str] | None, threads: Iterable[int]) -> None:
        self._command, self._threads = command, threads
        self.perf: Perf | None = None

    def start(self) -> None:
        """Attach perf."""
        target = ("-t", ",".join(map(str, self._threads)))
        self.perf = start_perf(self._command, target) if self._command else None

    def sample(self) -> None:
        """Do nothing: perf's counters do not wrap."""

    def stop(self) -> None:
        """Stop counting."""
        if self.perf:
            self.perf.disable()

    def close(self) -> None:
        """End perf if it still runs."""
        if self.perf:
            self.perf.close()


def make_run(
    guest: Guest, collectors: Collectors, case: Case, launch: Launch
) -> tuple[Observation, HostView]:
    """Make one run in a guest; return what the guest and the host observed.

    Raises LaunchError when the launcher refuses, GuestLostError when the guest is lost.
    """
    clock_before = read_clock(partial(_guest_time, guest))
    placing = guest.place()
    sampler = VcpuSampler(guest.pid, guest.threads, guest.vcpus, placing)
    used = guest.vcpus.cpus if placing.apart else ()
    harness = collectors.harness
    with closing(_ThreadCounter(harness.perf_command, guest.threads.values())) as counter:
        with move_to_housekeeping_cpus(used, harness.cores) as own_cpus:
            request = {"launch": message_of(launch), "limit_s": case.app.limit_s, "cpus": case.mask}
            guest.request({"ask": "run"} | request, "starting")
            meters = Meters(collectors.meters_around(counter))
            meters.start()
            cpu_before = read_cpu_time(guest.pid)
            cost, began = CostClock(own_cpus), time.monotonic()
            guest.send({"ask": "go"})
            _watch(guest, sampler, meters, case.app.limit_s)
            elapsed_s = time.monotonic() - began
            cpu_time, own_cost = read_cpu_time(guest.pid) - cpu_before, cost.stop()
            meters.stop()
        try:
            observed = read_observation(guest.expect("observation").get("seen"))
        except ChannelError as error:
            raise guest.lost(f"it {error}") from error
        perf_output = counter.perf.finish() if counter.perf else ""
        perf_problem = counter.perf.problem if counter.perf else harness.perf_problem
    proof = sampler.proof(elapsed_s)
    cpu_s = cpu_time.user_s + cpu_time.system_s
    qemu = replace(
        observed,
        ending=replace(
            observed.ending, user_s=cpu_time.user_s, system_s=cpu_time.system_s, cpu_s=cpu_s
        ),
        cost=own_cost,
        perf_output=perf_output,
        perf_problem=perf_problem,
    )
    clock = compare_clocks(clock_before, read_clock(partial(_guest_time, guest)))
    return observed, HostView(qemu, proof, sampler.fields(proof), clock)


def _watch(guest: Guest, sampler: VcpuSampler, meters: Meters, limit_s: float) -> None:
    """Sample QEMU's threads until the guest reports the program's end."""
    started = received = time.monotonic()
    pace = Pace()
    word = "alive"
    while word != "ended":
        message = guest.receive(pace.pause_s)
        now = time.monotonic()
        if message is not None:
            received, word = now, str(message.get("say"))
            if word not in ("alive", "ended"):
                raise guest.lost(f"it said {word!r}, expected 'alive' or 'ended'")
        # The guest itself ends a program that exceeds its time limit.
        if now - received > SILENCE_LIMIT_S or now - started > limit_s + ANSWER_LIMIT_S:
            raise guest.lost(f"it hangs: no answer for {now - received:.0f} s")
        pace.step(sampler)
        meters.sample_if_due(now)
    sampler.sample()


def _guest_time(guest: Guest) -> float:
    answer = guest.request({"ask": "clock"}, "clock").get("monotonic_s")
    if not isinstance(answer, float):
        raise guest.lost(f"it said that its clock is at {answer!r}")
    return answer


def read_clock(read_guest: Callable[[], float]) -> ClockReading:
    """Read the guest's monotonic time, in seconds, a few times; return the quickest reading."""
    readings = []
    for _ in range(CLOCK_READINGS):
        before = time.monotonic()
        guest_s = read_guest()
        after = time.monotonic()
        middle = (before + after) / 2
        readings.append(ClockReading(middle, guest_s - middle, (after - before) / 2))
    return min(readings, key=lambda reading: reading.uncertainty_s)


def compare_clocks(before: ClockReading, after: ClockReading) -> ClockCheck:
    """Return the drift of the guest's clock between two readings."""
    return ClockCheck(
        window_s=after.host_s - before.host_s,
        drift_s=after.offset_s - before.offset_s,
        uncertainty_s=before.uncertainty_s + after.uncertainty_s,
    )
