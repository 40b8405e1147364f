"""Places a guest's virtual CPUs on the host's CPUs, and proves their placement from /proc.

QEMU has one thread for each virtual CPU, a main loop and I/O threads. The main loop and the I/O
threads are kept off the mapping's CPUs where any other CPU is left.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pinstudy.base.cpulist import format_cpulist
from pinstudy.runners.execution.execute import free_cpus
from pinstudy.runners.placement.sampler import PlacementSampler
from pinstudy.runners.placement.thread_placement import Expected, Proof, Samples, prove
from pinstudy.runners.placement.thread_trace import ThreadTrace, seen_fields
from pinstudy.runners.plan.engines.guest import Vcpus


@dataclass(frozen=True)
class Placing:
    """The CPUs of QEMU's other threads; `apart` when the virtual CPUs use none of them."""

    others: tuple[int, ...]
    apart: bool


def place(
    pid: int, threads: Mapping[int, int], vcpus: Vcpus, cores: Iterable[tuple[int, ...]]
) -> Placing:
    """Set the affinity mask of each virtual CPU's thread; QEMU's other threads get what is left.

    `threads` maps a virtual CPU to its host thread; `cores` are the CPUs of each core. Raises
    OSError when the kernel refuses a mask.
    """
    allowed = os.sched_getaffinity(0)
    if vcpus.mapping.binding == "none":
        return Placing(tuple(sorted(allowed)), apart=False)
    for index, thread in enumerate(threads[vcpu] for vcpu in sorted(threads)):
        pinned = vcpus.mapping.binding == "pin"
        os.sched_setaffinity(thread, {vcpus.cpus[index]} if pinned else set(vcpus.cpus))
    free = free_cpus(allowed, vcpus.cpus, cores)
    # Listed for every run: QEMU starts and ends I/O threads as it needs them.
    names = os.listdir(f"/proc/{pid}/task")  # noqa: PTH208 - per run
    for thread in set(map(int, names)).difference(threads.values()):
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(thread, free or allowed)
    return Placing(tuple(sorted(free or allowed)), apart=bool(free))


class VcpuSampler(PlacementSampler):
    """Samples the affinity masks and CPUs of all QEMU threads, to prove their placement.

    `threads` maps a virtual CPU to its host thread; `placing` is the result of `place`.
    """

    def __init__(
        self, pid: int, threads: Mapping[int, int], vcpus: Vcpus, placing: Placing
    ) -> None:
        super().__init__((pid,))
        self._vcpu_of = {thread: vcpu for vcpu, thread in threads.items()}
        self._vcpus, self._placing = vcpus, placing

    def proof(self, elapsed_s: float) -> Proof:
        """Compare the samples with the mapping."""
        samples = Samples(
            self._vcpu_traces(), self.samples, elapsed_s, self.hotplugged_cpus, unmet=0
        )
        expected = Expected(self._vcpus.mapping.binding, self._vcpus.cpus, len(self._vcpu_of))
        proof = prove(samples, expected, long_lived=True)
        if proof.verdict == "violated":
            return Proof("violated", f"virtual CPUs: {proof.reason}")
        if self._placing.apart:
            # Only masks count: a sleeping thread's last CPU may be from before it was moved.
            for trace in self.threads:
                strays = set(trace.allowed) & set(self._vcpus.cpus)
                if strays and trace.tid not in self._vcpu_of:
                    cpus = format_cpulist(strays)
                    reason = f"QEMU's thread {trace.tid}, of no virtual CPU, may use CPU {cpus}"
                    return Proof("violated", reason)
        return proof

    def fields(self, proof: Proof) -> dict[str, Any]:
        """Return the record's field `guest.placement`."""
        return {
            "verdict": proof.verdict,
            "looks": self.samples,
            "threads": [
                {"vcpu": self._vcpu_of[trace.tid]} | seen_fields(trace)
                for trace in self._vcpu_traces()
            ],
            "others_cpus": format_cpulist(self._placing.others),
            "others_apart": self._placing.apart,
        }

    def _vcpu_traces(self) -> list[ThreadTrace]:
        """Return the traces of the virtual CPUs' threads, in the order of their numbers."""
        traces = [trace for trace in self.threads if trace.tid in self._vcpu_of]
        return sorted(traces, key=lambda trace: self._vcpu_of[trace.tid])
