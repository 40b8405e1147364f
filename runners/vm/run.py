"""One run in a guest, and what the host observes meanwhile.

Times are taken in the guest, so its clock is compared with the host's: both are read before and
after the run. The guest reads its clock somewhere between question and answer, so the offset's
uncertainty is half of the shortest round-trip time (Mills, RFC 5905, section 8).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from runners.execution.collectors import Collectors
from runners.execution.execute import Observation, move_to_housekeeping_cpus
from runners.execution.placement import Proof
from runners.host.processes import CpuTime, read_cpu_time
from runners.measure.conditions.cpu_time import CostClock, HarnessCost
from runners.measure.meter import Meters
from runners.measure.perf.stat import PerfStat, StatBuilder
from runners.plan.case import Case
from runners.plan.command_line import Launch
from runners.vm.guest import ANSWER_LIMIT_S, Guest
from runners.vm.protocol import BrokenLineError, read_observation
from runners.vm.vcpus import VcpuSampler

# The agent sends `alive` about once a second. In emulated guests on a shared host its first looks
# took seconds.
SILENCE_LIMIT_S = 60.0
CLOCK_QUESTIONS = 5
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
    """What the host observed during one run: QEMU, not the program."""

    proof: Proof
    placement: dict[str, Any]
    clock: ClockCheck
    cpu_time: CpuTime
    cost: HarnessCost
    perf_output: str
    perf_problem: str
    boot_s: float
    guest_kernel: str


class _ThreadCounter:
    """The meter that counts the virtual CPUs' threads; `builder` is None without perf."""

    def __init__(self, builder: StatBuilder | None, why_not: str) -> None:
        self._builder, self._why_not = builder, why_not
        self._perf: PerfStat | None = None

    def start(self) -> None:
        """Attach perf."""
        self._perf = PerfStat(self._builder) if self._builder else None

    def sample(self) -> None:
        """Do nothing: perf's counters do not wrap."""

    def stop(self) -> None:
        """Stop counting; `finish` returns the counts."""
        if self._perf:
            self._perf.disable()

    def finish(self) -> tuple[str, str]:
        """Return perf's output, and why it could not count (empty when it could)."""
        if self._perf is None:
            return "", self._why_not
        return self._perf.finish(), self._perf.problem

    def close(self) -> None:
        """End perf if it still runs."""
        if self._perf:
            self._perf.close()


class GuestRun:
    """One run in a guest."""

    def __init__(self, guest: Guest, collectors: Collectors) -> None:
        self._guest, self._collectors = guest, collectors
        counter = collectors.thread_counter(guest.threads.values())
        self._counter = _ThreadCounter(counter, collectors.harness.perf_problem)

    def make(self, case: Case, launch: Launch) -> tuple[Observation, HostView]:
        """Make the run; return what the guest and the host observed.

        Raises LaunchError when the launcher refuses, GuestLostError when the guest is lost.
        """
        try:
            return self._make(case, launch)
        except BrokenLineError as error:
            raise self._guest.lost(f"it {error}") from error

    def _make(self, case: Case, launch: Launch) -> tuple[Observation, HostView]:
        guest, before = self._guest, self._clock()
        placing = guest.place()
        sampler = VcpuSampler(guest.pid, guest.threads, guest.vcpus, placing)
        try:
            cores = self._collectors.harness.cores
            with move_to_housekeeping_cpus(
                guest.vcpus.cpus if placing.apart else (), cores
            ) as own_cpus:
                guest.say(_request(case, launch))
                guest.expect("starting")
                elapsed_s, cpu_time, cost = self._measure(sampler, case.app.limit_s, own_cpus)
            seen = read_observation(guest.expect("observation").get("seen"))
            output, problem = self._counter.finish()
        finally:
            self._counter.close()
        proof = sampler.proof(elapsed_s)
        view = HostView(
            proof=proof,
            placement=sampler.fields(proof),
            clock=compare_clocks(before, self._clock()),
            cpu_time=cpu_time,
            cost=cost,
            perf_output=output,
            perf_problem=problem,
            boot_s=guest.boot_s,
            guest_kernel=guest.kernel,
        )
        return seen, view

    def _measure(
        self, sampler: VcpuSampler, limit_s: float, own_cpus: tuple[int, ...]
    ) -> tuple[float, CpuTime, HarnessCost]:
        """Run the program under the host's meters; return its time, QEMU's and pinstudy's own."""
        guest, meters = self._guest, Meters(self._collectors.meters_around(self._counter))
        meters.start()
        before, cost, started = read_cpu_time(guest.pid), CostClock(own_cpus), time.monotonic()
        guest.say({"ask": "go"})
        self._watch(sampler, meters, limit_s)
        elapsed_s, after, used = time.monotonic() - started, read_cpu_time(guest.pid), cost.stop()
        meters.stop()
        return elapsed_s, after - before, used

    def _watch(self, sampler: VcpuSampler, meters: Meters, limit_s: float) -> None:
        """Look at QEMU's threads until the guest reports the program's end."""
        word = ""
        started = heard = time.monotonic()
        while word != "ended":
            message = self._guest.hear(sampler.pause_s)
            now = time.monotonic()
            if message is not None:
                heard, word = now, _word(message)
            # The guest itself ends a program that exceeds its time limit.
            if now - heard > SILENCE_LIMIT_S or now - started > limit_s + ANSWER_LIMIT_S:
                raise self._guest.hanging(now - heard)
            sampler.look()
            meters.sample_if_due(now)
        sampler.sample()

    def _clock(self) -> ClockReading:
        return read_clock(self._guest_time)

    def _guest_time(self) -> float:
        answer = self._guest.ask({"ask": "clock"}, "clock").get("monotonic_s")
        if not isinstance(answer, float):
            raise BrokenLineError(f"said that its clock is at {answer!r}")
        return answer


def _word(message: dict[str, Any]) -> str:
    """Return the message's word: `alive` or `ended`."""
    word = str(message.get("say"))
    if word not in ("alive", "ended"):
        raise BrokenLineError(f"said {word!r}, expected 'alive' or 'ended'")
    return word


def _request(case: Case, launch: Launch) -> dict[str, Any]:
    return {
        "ask": "run",
        "launch": asdict(launch),
        "limit_s": case.app.limit_s,
        "cpus": list(case.mask),
    }


def read_clock(ask_guest: Callable[[], float]) -> ClockReading:
    """Read the guest's monotonic time, in seconds, a few times; return the quickest reading."""
    readings = []
    for _ in range(CLOCK_QUESTIONS):
        before = time.monotonic()
        guest_s = ask_guest()
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
