"""One run in a guest, and what the host observes meanwhile."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from runners.execution.affinity import move_to_housekeeping_cpus
from runners.execution.collectors import Collectors
from runners.execution.execute import Observation
from runners.execution.placement import Proof
from runners.host.processes import CpuTime, read_cpu_time
from runners.measure.conditions.cpu_time import CostClock, HarnessCost
from runners.measure.meter import Meters
from runners.measure.perf.stat import PerfStat, StatBuilder
from runners.plan.case import Case
from runners.plan.command_line import Launch
from runners.vm.clock import ClockCheck, ClockReading, compare, read_clock
from runners.vm.guest import ANSWER_LIMIT_S, Guest
from runners.vm.protocol import BrokenLineError, read_observation
from runners.vm.vcpus import VcpuSampler

# The agent sends `alive` about once a second. In emulated guests on a shared host its first looks
# took seconds.
SILENCE_LIMIT_S = 60.0


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
            clock=compare(before, self._clock()),
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
