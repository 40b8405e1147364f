"""The cores of a virtual node, with QEMU's options and the test module's parameters for them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pinstudy.base import ROOT
from pinstudy.base.cpulist import format_cpulist

IMAGE = ROOT / "build" / "vnode"
OTHER = IMAGE / "other"

# The model name of a hybrid; `vendor` because QEMU's default is AMD's without the CPUID leaf of
# SMT. Without AVX2, which QEMU 7.2 emulates wrongly: numpy's argsort would give another order.
CPU = (
    "max,-avx2,vendor=GenuineIntel,family=6,model=183,stepping=1,"
    "model-id=Intel(R) Core(TM) i9-14900K"
)


@dataclass(frozen=True)
class Shape:
    """Counts of cores of each kind. Only P-cores have SMT siblings; only P is homogeneous.

    With `scheduling` schedulers can be switched, and the kernel's own governors set the clocks.
    `boot_from` is the folder of its kernel, OTHER for another version; `options` are more
    options of the kernel. With `core_energy` each core has a counter of its energy,
    with `board_meter` the board a meter of its power.
    """

    p: int = 2
    e: int = 4
    lpe: int = 0
    smt: bool = True
    scheduling: bool = False
    boot_from: Path = IMAGE
    options: str = "mitigations=off"
    core_energy: bool = False
    board_meter: bool = False

    qemu = "qemu-system-x86_64"
    image = IMAGE

    @property
    def kernel_line(self) -> str:
        """The kernel's options: console, `options`, and the script that the guest starts."""
        start = f"pinstudy.start={ROOT}/vnode/guest/start.sh"
        return f"console=ttyS0 {self.options} {start}"

    def kinds(self) -> dict[str, tuple[int, ...]]:
        """Return each kind's CPUs as the guest's kernel numbers them: by core, P-cores first."""
        threads = self._threads
        first_e, first_lpe = self.p * threads, self.p * threads + self.e
        return {
            "P": tuple(range(first_e)),
            "E": tuple(range(first_e, first_lpe)),
            "LP-E": tuple(range(first_lpe, first_lpe + self.lpe)),
        }

    def boot_options(self, folder: Path) -> list[str]:  # noqa: ARG002 - other shapes write files
        """Return QEMU's options for machine, CPUs and kernel."""
        return [
            *("-M", "q35", *self.qemu_options()),
            *("-kernel", str(self.boot_from / "vmlinux")),
            *("-initrd", str(self.boot_from / "initramfs")),
        ]

    def shares(self) -> dict[str, Path]:
        """Return the folders of this host that the guest mounts, by tag."""
        return {"hostroot": Path("/")}

    def qemu_options(self) -> list[str]:
        """Return the options for these CPUs; QEMU has the first by itself, others are added."""
        # Guests of QEMU 7.2 do not boot with gaps in the numbers and 8 possible CPUs or fewer. With
        # more CPUs, Linux addresses interrupts by APIC number instead of by a mask.
        cores = max(self.p + self.e + self.lpe, 8 // self._threads + 1)
        topology = f"maxcpus={cores * self._threads},sockets=1,dies=1,cores={cores}"
        options = ["-cpu", CPU, "-smp", f"cpus=1,{topology},threads={self._threads}"]
        for core, thread in self._places()[1:]:
            place = f"socket-id=0,die-id=0,core-id={core},thread-id={thread}"
            options += ["-device", f"max-x86_64-cpu,{place}"]
        return options

    def module_parameters(self) -> list[str]:
        """Return the test module's parameters: the CPUs of each kind, and its counters."""
        names = {"P": "pcpus", "E": "ecpus", "LP-E": "lpecpus"}
        kinds = [
            f"{names[kind]}={format_cpulist(cpus)}" for kind, cpus in self.kinds().items() if cpus
        ]
        has = {
            "core_energy": self.core_energy,
            "board_meter": self.board_meter,
            "scheduling": self.scheduling,
        }
        return [*kinds, *(f"{name}=1" for name, is_there in has.items() if is_there)]

    def qemu_indices(self, kind: str) -> list[int]:
        """Return QEMU's numbers of a kind's CPUs; absent SMT siblings leave gaps."""
        places = self._places()
        return [
            core * self._threads + thread
            for core, thread in (places[cpu] for cpu in self.kinds()[kind])
        ]

    @property
    def _threads(self) -> int:
        return 2 if self.smt else 1

    def _places(self) -> list[tuple[int, int]]:
        """Return core and thread of each CPU, in the guest's order."""
        single = range(self.p, self.p + self.e + self.lpe)
        return [(core, thread) for core in range(self.p) for thread in range(self._threads)] + [
            (core, 0) for core in single
        ]
